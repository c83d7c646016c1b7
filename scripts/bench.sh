#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# scripts/bench.sh BUILD [words for bench/run.py] prints the speed table: --quick for a tenth of the data, --only WORD for
# one suite, --write docs/benchmarks.md for the document.
set -eu

build=${1:-build}
[ $# -eq 0 ] || shift
python=/usr/bin/python3
[ -x $python ] || python=python3
exec $python bench/run.py --build "$build" "$@"
