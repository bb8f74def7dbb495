"""Penstock: the pipeline of tutorials."""

from __future__ import annotations

from label_sums import label_sum
from tutorial_code import labels

import penstock.tf as tf


def tutorial(path: str, workload: str, label: str) -> int:
    return label_sum(labels(tf, path, workload, label))
