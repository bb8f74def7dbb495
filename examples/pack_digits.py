"""Pack scikit-learn's handwritten digits into shards: what the training examples read.

python examples/pack_digits.py data/digits
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.datasets import load_digits

import penstock as ps


def main(path: str) -> None:
    digits = load_digits()
    columns = {"image": digits.images.astype(np.uint8), "label": digits.target.astype(np.int64)}
    ps.write(path, columns, shards=4, shuffle=0, replace=True)  # what one person wrote stands together
    print(f"{len(digits.target)} digits in {path}-*.tfrecord")


if __name__ == "__main__":
    main(*sys.argv[1:])
