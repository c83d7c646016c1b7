#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# scripts/bench.sh BUILD prints the speed table: bench/run.py where there is one, else every program in
# BUILD/bench/ in turn.
set -eu

build=${1:-build}
python=/usr/bin/python3
[ -x $python ] || python=python3
if [ -f bench/run.py ]; then
    exec $python bench/run.py --build "$build"
fi
found=0
for program in "$build"/bench/bench_*; do
    [ -x "$program" ] || continue
    found=1
    "$program"
done
if [ $found = 0 ]; then
    echo "bench: nothing was built in $build/bench" >&2
    exit 1
fi
