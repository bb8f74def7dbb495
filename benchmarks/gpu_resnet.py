"""On a machine with one GPU: does a model hide the data layer, and how fast is device memory filled?

    python benchmarks/gpu_resnet.py            # needs penstock, torch and torchvision; writes $OUT/gpu_resnet.json

1. ResNet-50 in bfloat16 learns from JPEGs in TFRecords (read, verified, decoded on the CPU or on the GPU, cropped,
   flipped and normalised by the same transform, on THREADS=8 cores) and from tensors that lie on the GPU already, in
   the same loop, in turns: images per second of each, and the share of the time that the GPU waits for data.
2. Records of 64 x 64 floats, as raw bytes, go from files in the page cache to device memory, verified: GB per second,
   compared with a plain copy from pinned memory.

It makes its own data in a temporary folder: about 3 GB, four minutes in all.
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torchvision
from torch.nn import functional

import penstock as ps
from penstock.frameworks import torch as feeds

BATCH = int(os.environ.get("BATCH", 256))
THREADS = int(os.environ.get("THREADS", 8))
STEPS, WARM_UP, TURNS = 60, 15, 3
PICTURES, COPIES = 1024, 32  # distinct JPEGs, and how often each is written
HEIGHT, WIDTH, CROP = 375, 500, 224
DEVICE = torch.device("cuda")
SCHEMA = ps.Schema({"image": ps.Feature("uint8", (None, None, 3), encoding="jpeg"), "label": int})
TRANSFORM = ps.ImageTransform(
    random_resized_crop=CROP,
    flip=True,
    normalize=((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    layout="CHW",
    dtype="float16",
)


def main() -> None:
    results: dict[str, Any] = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "batch": BATCH}
    with tempfile.TemporaryDirectory(prefix="penstock-gpu-") as folder:
        results["device_memory"] = measure_device_memory(Path(folder) / "floats")
        print(json.dumps(results), flush=True)
        results["resnet50"] = measure_resnet(Path(folder) / "jpegs")
    target = Path(os.environ.get("OUT", ".")) / "gpu_resnet.json"
    target.write_text(json.dumps(results, indent=1) + "\n")
    print(target.read_text())


# 1. A model that learns.


def measure_resnet(path: Path) -> dict[str, Any]:
    write_pictures(path)
    torch.backends.cudnn.benchmark = True
    model = torchvision.models.resnet50().to(DEVICE, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    pictures = ps.Dataset(path, threads=THREADS, schema=SCHEMA).shuffle(seed=7)
    on_cpu = pictures.map_images(TRANSFORM, seed=7).batch(BATCH, drop_last=True).repeat()
    on_gpu = pictures.map_images(TRANSFORM, seed=7, decode=False).batch(BATCH, drop_last=True).repeat()
    batches = {
        "decoded on the CPU": learnable(feeds.feed(on_cpu, device=DEVICE, ahead=3)),
        "decoded on the GPU": learnable(feeds.feed(on_gpu, device=DEVICE, ahead=3, images=TRANSFORM)),
        "synthetic": synthetic_batches(),
    }
    for source in batches.values():
        learn(model, optimizer, itertools.islice(source, WARM_UP))
    turns: dict[str, list[tuple[float, float]]] = {name: [] for name in batches}
    for _ in range(TURNS):  # in turns, so that a clock that changes does so to both
        for name, source in batches.items():
            turns[name].append(learn(model, optimizer, itertools.islice(source, STEPS)))
    rates = {name: statistics.median(rate for rate, _ in found) for name, found in turns.items()}
    return {
        "images_per_second": rates,
        "share_of_synthetic": {name: rate / rates["synthetic"] for name, rate in rates.items()},
        "share_of_time_waiting": {name: statistics.median(w for _, w in found) for name, found in turns.items()},
        "turns": turns,
    }


def learn(model: Any, optimizer: Any, batches: Iterable[Any]) -> tuple[float, float]:
    """Take steps; return images per second, and the share of the time in which the GPU had to wait for a batch."""
    waits = []
    torch.cuda.synchronize()
    start, seen = time.perf_counter(), 0
    idle_from = torch.cuda.Event(enable_timing=True)
    idle_from.record()
    for images, labels in batches:
        idle_until = torch.cuda.Event(enable_timing=True)
        idle_until.record()  # after the wait for the batch, on the stream of the model
        waits.append((idle_from, idle_until))
        with torch.autocast("cuda", torch.bfloat16):
            loss = functional.cross_entropy(model(images), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        idle_from = torch.cuda.Event(enable_timing=True)
        idle_from.record()
        seen += len(labels)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    waited = sum(before.elapsed_time(after) for before, after in waits) / 1000
    return seen / seconds, waited / seconds


def synthetic_batches() -> Iterator[Any]:
    images = torch.randn(BATCH, 3, CROP, CROP, device=DEVICE).to(torch.bfloat16, memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (BATCH,), device=DEVICE)
    while True:
        yield images, labels


def learnable(batches: Iterable[Any]) -> Iterator[Any]:
    """Give the model its memory format; half precision holds normalized pixels, and moves half the bytes."""
    for batch in batches:
        yield batch["image"].to(torch.bfloat16, memory_format=torch.channels_last), batch["label"]


def write_pictures(path: Path) -> None:
    """Write JPEGs of about 53 KB: smooth shapes and grain."""

    def jpeg(number: int) -> bytes:
        rng = np.random.default_rng(number)
        coarse = torch.from_numpy(rng.uniform(0, 255, (1, 3, 12, 16)).astype(np.float32))
        smooth = functional.interpolate(coarse, (HEIGHT, WIDTH), mode="bicubic")[0]
        grain = torch.from_numpy(rng.normal(0, 8, (1, HEIGHT, WIDTH)).astype(np.float32))
        pixels = (smooth + grain).clamp(0, 255).to(torch.uint8)
        return torchvision.io.encode_jpeg(pixels, quality=85).numpy().tobytes()

    with ThreadPoolExecutor() as pool:
        files = list(pool.map(jpeg, range(PICTURES)))
    print(f"JPEGs of {sum(map(len, files)) // len(files):,} bytes", flush=True)
    labels = np.random.default_rng(0).integers(0, 1000, PICTURES * COPIES)
    ps.write(path, {"image": files * COPIES, "label": labels}, schema=SCHEMA, shards=16)


# 2. Device memory.


def measure_device_memory(path: Path) -> dict[str, Any]:
    rows = 1 << 16
    images = np.random.default_rng(0).random((rows, 64, 64), np.float32)
    schema = ps.Schema({"image": ps.Feature("float32", (64, 64), encoding="raw"), "label": int})
    ps.write(path, {"image": images, "label": np.arange(rows)}, schema=schema, shards=16)
    found = {}
    for threads, batch, ahead in itertools.product((8, 16), (1024, 4096), (2, 4)):
        dataset = ps.Dataset(path, threads=threads).batch(batch).repeat(6)
        found[f"threads={threads} batch={batch} ahead={ahead}"] = copied(dataset, ahead)
    check_values(path, images)
    return {"pinned_copy": pinned_copy(), "gigabytes_per_second": found, "best": max(found.values())}


def copied(dataset: ps.Dataset, ahead: int) -> float:
    size, start = 0, 0.0
    for step, batch in enumerate(feeds.feed(dataset, device=DEVICE, ahead=ahead)):
        if step == 16:  # memory is there, pinned and warm
            torch.cuda.synchronize()
            size, start = 0, time.perf_counter()
        size += sum(column.nbytes for column in batch.values())
    torch.cuda.synchronize()
    return size / (time.perf_counter() - start) / 1e9


def check_values(path: Path, images: Any) -> None:
    for batch in feeds.feed(ps.Dataset(path).shuffle(seed=1).batch(1024).take(8), device=DEVICE):
        expected = torch.from_numpy(images[batch["label"].cpu().numpy()])
        assert torch.equal(batch["image"].cpu(), expected)


def pinned_copy() -> float:
    host = torch.empty(1 << 28, dtype=torch.uint8, pin_memory=True)
    device = torch.empty_like(host, device=DEVICE)
    device.copy_(host)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(20):
        device.copy_(host, non_blocking=True)
    torch.cuda.synchronize()
    return 20 * host.nbytes / (time.perf_counter() - start) / 1e9


if __name__ == "__main__":
    main()
