#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# scripts/demo.sh BUILD profiles the matrix multiplication of examples/tiled_matmul (a loader process and
# worker threads), prints its zones and says what to do next. The trace stays in the build folder.
set -eu

build=${1:-build}
opscope=$build/opscope
trace=$build/demo.opscope

rm -f "$trace"
echo "\$ $opscope run -o $trace -- $build/examples/tiled_matmul"
"$opscope" run -o "$trace" -- "$build/examples/tiled_matmul"
echo
echo "\$ $opscope zones --by thread $trace"
"$opscope" zones --by thread "$trace"
cat <<EOT

What next:
  $opscope zones $trace                      the same by name alone
  $opscope tree $trace                       the call tree with totals
  $opscope info $trace                       processes, threads, losses, clock
  $opscope export --format perfetto $trace   a file for ui.perfetto.dev
  $opscope run -- YOUR PROGRAM                            record a program of yours
  $opscope doctor                                         what works on this machine
EOT
