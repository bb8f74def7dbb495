"""Train a small network on digits with torch. Killed at any step and started again, it goes on as if nothing was.

python examples/pack_digits.py data/digits
python examples/train_torch.py data/digits digits.pt
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch
from torch import nn

import penstock as ps
from penstock.frameworks import torch as feeds

EPOCHS, BATCH, HELD_OUT, SAVE_EVERY = 8, 64, 297, 20


def main(data: str, checkpoint: str) -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    digits = ps.Dataset(data)
    train, test = digits[:-HELD_OUT], digits[-HELD_OUT:]
    feed = feeds.feed(train.shuffle(seed=7).batch(BATCH).repeat(EPOCHS), device=device)

    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    step = 0
    if Path(checkpoint).exists():
        saved = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        feed.load_state_dict(saved["data"])
        step = saved["step"]

    for batch in feed:
        loss = nn.functional.cross_entropy(model(batch["image"] / 16), batch["label"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        print(step, loss.item(), flush=True)
        if step % SAVE_EVERY == 0:
            states = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "data": feed.state_dict()}
            torch.save(states | {"step": step}, f"{checkpoint}.new")
            os.replace(f"{checkpoint}.new", checkpoint)

    with torch.no_grad():
        (batch,) = feeds.feed(test.batch(HELD_OUT), device=device)
        right = model(batch["image"] / 16).argmax(1) == batch["label"]
    print("accuracy", right.float().mean().item())


if __name__ == "__main__":
    main(*sys.argv[1:])
