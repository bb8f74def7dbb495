"""TensorFlow: the pipeline of tutorials."""

from __future__ import annotations

import os

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}

import tensorflow as tf
from label_sums import label_sum
from tutorial_code import labels


def tutorial(path: str, workload: str, label: str) -> int:
    return label_sum(labels(tf, path, workload, label))
