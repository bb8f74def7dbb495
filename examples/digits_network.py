"""A network of two layers in NumPy, enough to read digits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


class Network:
    """Learns by gradient descent with momentum on the cross-entropy."""

    def __init__(self, *, inputs: int, hidden: int, classes: int, seed: int, rate: float = 0.05) -> None:
        rng = np.random.default_rng(seed)
        self._rate = rate
        self._weights = [
            rng.normal(0, inputs**-0.5, (inputs, hidden)).astype(np.float32),
            np.zeros(hidden, np.float32),
            rng.normal(0, hidden**-0.5, (hidden, classes)).astype(np.float32),
            np.zeros(classes, np.float32),
        ]
        self._momenta = [np.zeros_like(weight) for weight in self._weights]

    def learn(self, images: Floats, labels: NDArray[np.int64]) -> float:
        """Take one step; return the mean loss before it."""
        pixels, hidden, scores = self._forward(images)
        chances = np.exp(scores - scores.max(1, keepdims=True))
        chances /= chances.sum(1, keepdims=True)
        rows = np.arange(len(labels))
        loss = -np.log(chances[rows, labels] + 1e-9).mean()
        chances[rows, labels] -= 1
        output = chances / len(labels)
        inner = (output @ self._weights[2].T) * (hidden > 0)
        gradients = [pixels.T @ inner, inner.sum(0), hidden.T @ output, output.sum(0)]
        for weight, momentum, gradient in zip(self._weights, self._momenta, gradients, strict=True):
            momentum *= 0.9
            momentum += gradient
            weight -= self._rate * momentum
        return float(loss)

    def predict(self, images: Floats) -> NDArray[np.int64]:
        """Return the likeliest class of each image."""
        return self._forward(images)[2].argmax(1)

    def _forward(self, images: Floats) -> tuple[Floats, Floats, Floats]:
        pixels = images.reshape(len(images), -1)
        hidden = np.maximum(pixels @ self._weights[0] + self._weights[1], 0)
        return pixels, hidden, hidden @ self._weights[2] + self._weights[3]
