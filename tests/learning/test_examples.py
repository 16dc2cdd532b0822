#!/usr/bin/env python3
"""The examples learn what they say: digits reach 98 % of their test part with three seeds."""

from stoker_testing import SOURCE, add_case, main, metrics, stoker

# examples/digits/README.md says which 360 of the 1,797 images are the test part, and how they were drawn.
WANTED = 0.98


def check_digits(seed, folder):
    stoker("train", "--config", "examples/digits/train.cfg", "--seed", seed, "--threads", 1, "--output", folder / "run",
           ranks=2, cwd=SOURCE)
    accuracy = metrics(folder / "run", "validation")[-1]["accuracy"]
    print(f"# seed {seed}: {accuracy:.4f} of the test part")
    assert accuracy >= WANTED, accuracy


for number in (0, 1, 2):
    add_case(f"digits, seed {number}", lambda folder, seed=number: check_digits(seed, folder))

if __name__ == "__main__":
    main()
