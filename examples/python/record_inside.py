# SPDX-License-Identifier: Apache-2.0
"""A program that records itself, one trace for each part that matters: no `opscope run` around it.

    python3 examples/python/record_inside.py [FOLDER]
    opscope zones sort.opscope
"""

import os
import random
import sys

import opscope


def insertion_sort(values):
    done = []
    for value in values:
        done.insert(place_of(done, value), value)
    return done


def place_of(done, value):
    low, high = 0, len(done)
    while low < high:
        middle = (low + high) // 2
        if done[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "."
    values = random.Random(7).sample(range(10000), 500)  # not recorded

    with opscope.record(os.path.join(folder, "sort.opscope")) as recording:
        found = insertion_sort(values)
    print("sorted: %s, zones: %d, lost: %d" % (found == sorted(values), recording.zones, recording.lost_zones))

    opscope.start(os.path.join(folder, "again.opscope"), max_depth=1)  # without what insertion_sort calls
    insertion_sort(values)
    recording = opscope.stop()
    print("zones with max_depth=1: %d" % recording.zones)


if __name__ == "__main__":
    main()
