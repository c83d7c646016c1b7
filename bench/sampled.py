#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/sampled.py PROGRAM SAMPLES: names what bench/sampler.c has sampled, functions and then single lines."""

import bisect
import collections
import subprocess
import sys

program, path = sys.argv[1:3]
symbols = []
for line in subprocess.run(["nm", "-C", program], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines():
    words = line.split(None, 2)
    if len(words) == 3 and words[1] in "tTwW":
        symbols.append((int(words[0], 16), words[2]))
symbols.sort()
starts = [address for address, _ in symbols]
end = starts[-1] + 65536 if starts else 0
functions, places = collections.Counter(), collections.Counter()
with open(path, encoding="ascii") as file:
    lines = file.read().splitlines()
for line in lines:
    if " " in line:
        library, name = line.split()
        functions[library.split("/")[-1] + ": " + name] += 1
        continue
    offset = int(line, 16)
    at = bisect.bisect_right(starts, offset) - 1
    name = symbols[at][1] if 0 <= at and offset < end else "(a library)"
    functions[name] += 1
    if name != "(a library)":
        places[offset] += 1
total = len(lines) or 1
print(f"{len(lines)} samples")
for name, count in functions.most_common(16):
    print(f"  {100 * count / total:5.1f} % {name}")
top = places.most_common(24)
if top:
    done = subprocess.run(["addr2line", "-e", program] + [hex(a) for a, _ in top], stdout=subprocess.PIPE, text=True, check=False)
    for (address, count), line in zip(top, done.stdout.splitlines()):
        print(f"    {100 * count / total:5.1f} % {address:x} {line.split('/')[-1]}")
