"""RLDS: episodes of robots and other agents, as TFDS stores them, read step by step and without TensorFlow.

>>> import penstock as ps
>>> episodes = ps.rlds.open("robot/1.0.0", split="train")
>>> for batch in episodes.steps(window=2, horizon=4).shuffle(seed=7).batch(16):
...     batch["observation/camera"], batch["action"]  # doctest: +SKIP
"""

from __future__ import annotations

from penstock.rlds.episodes import Episodes, mix
from penstock.rlds.episodes import open_episodes as open
from penstock.rlds.statistics import DatasetStatistics, FeatureStatistics

__all__ = ["DatasetStatistics", "Episodes", "FeatureStatistics", "mix", "open"]
