#!/usr/bin/env python3
"""Writes digits-train.h5 and digits-test.h5 (datasets x and y) from the digits that scikit-learn ships.

Usage: make_digits.py [FOLDER]

1,437 samples to train with and 360 to test with: drawn at random with NumPy's generator PCG64, seed 0, for each class by itself
(stratified), so that both parts have the ten classes in the same proportions. x: (n, 8, 8, 1) uint8 in 0..16; y: (n,) int64.
"""

import pathlib
import sys

import h5py
import numpy as np
from sklearn.datasets import load_digits

TEST_SAMPLES = 360


def test_counts(counts):
    """How many samples of each class go to the test part: the shares of TEST_SAMPLES, by largest remainder."""
    exact = counts * TEST_SAMPLES / counts.sum()
    whole = np.floor(exact).astype(int)
    for c in np.argsort(whole - exact, kind="stable")[: TEST_SAMPLES - whole.sum()]:
        whole[c] += 1
    return whole


def split(y):
    """Indices of the training and of the test part, each in the source's order."""
    generator = np.random.Generator(np.random.PCG64(0))
    test = np.zeros(len(y), dtype=bool)
    for c, count in enumerate(test_counts(np.bincount(y))):
        test[generator.permutation(np.flatnonzero(y == c))[:count]] = True
    return np.flatnonzero(~test), np.flatnonzero(test)


def write(path, x, y):
    with h5py.File(path, "w", track_order=False) as file:
        file.create_dataset("x", data=x, chunks=x.shape, compression="gzip", compression_opts=9, track_times=False)
        file.create_dataset("y", data=y, chunks=y.shape, compression="gzip", compression_opts=9, track_times=False)
        file.attrs["source"] = "UCI Optical Recognition of Handwritten Digits (its test set), by way of scikit-learn"


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    digits = load_digits()
    x = digits.images.astype(np.uint8)[..., np.newaxis]
    y = digits.target.astype(np.int64)
    for name, part in zip(("digits-train.h5", "digits-test.h5"), split(y)):
        write(folder / name, x[part], y[part])
        print(f"{folder / name}: {len(part)} samples, classes {np.bincount(y[part]).tolist()}")


if __name__ == "__main__":
    main()
