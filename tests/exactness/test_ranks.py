#!/usr/bin/env python3
"""The same bits on any number of ranks up to V, and the input's threads do not matter."""

from everything import check_same, options
from stoker_testing import add_case, main, stoker

STEPS = 50


def check_ranks(virtual_ranks, ranks, folder):
    stoker(*options(folder / "run", virtual_ranks, STEPS), ranks=ranks)
    check_same(folder / "run", virtual_ranks, STEPS)


for leaves, rank_counts in ((8, (1, 2, 3, 4, 8)), (12, (1, 2, 4, 5))):
    for count in rank_counts:
        add_case(f"V = {leaves} on {count} ranks",
                 lambda folder, v=leaves, n=count: check_ranks(v, n, folder))

if __name__ == "__main__":
    main()
