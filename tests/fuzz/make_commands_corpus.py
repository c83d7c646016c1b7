#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of fuzz_commands into tests/fuzz/corpus/commands/: traces of corpus/trace with the byte in front that
says "all steps"."""

import os

TRACES = ("cpu_ops", "growing.partial", "imported", "model", "packed", "rows")


def main():
    corpus = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")
    os.makedirs(os.path.join(corpus, "commands"), exist_ok=True)
    for name in TRACES:
        with open(os.path.join(corpus, "trace", name), "rb") as file:
            data = file.read()
        with open(os.path.join(corpus, "commands", name), "wb") as file:
            file.write(b"\xff" + data)
    print(f"{len(TRACES)} seeds")


if __name__ == "__main__":
    main()
