#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The whole loop with a real compiler and runtime: estimate each op, compile, run and record, annotate, report, compare.
#
#     examples/iree/loop.sh [-o FOLDER] [MODEL...]      models: mlp, cnn, block, int8 (all unless given)
#
# Needs IREE (pip install iree-base-compiler iree-base-runtime); without it says so and ends with status 77. OPSCOPE_PROGRAM
# names opscope where it is not on the PATH. What is written goes to FOLDER (iree-loop).
set -eu

models_folder=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
opscope=${OPSCOPE_PROGRAM:-opscope}
folder=iree-loop
if [ "${1:-}" = -o ]; then
  folder=$2
  shift 2
fi
[ $# -gt 0 ] || set -- mlp cnn block int8

for tool in iree-compile iree-run-module iree-benchmark-module; do
  if ! command -v "$tool" > /dev/null; then
    echo "loop.sh: skipped: $tool is not installed (pip install iree-base-compiler iree-base-runtime)" >&2
    exit 77
  fi
done

# One core, so that the estimate need not guess how work is shared out.
device="--device=local-sync"
target="--target cpu --target-option engines=1"
profiling="--device_profiling_mode=host-execution,executable-metadata"
compile="--iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host"

step() {
  printf '\n== %s: %s\n' "$model" "$1"
}

mkdir -p "$folder"
cd "$folder"
pairs=""
for model in "$@"; do
  cp "$models_folder/$model.mlir" .
  inputs=$(sed -n 's|^// input: |--input=|p' "$model.mlir")

  step "estimate of each op, before anything is compiled"
  # shellcheck disable=SC2086
  "$opscope" estimate "$model.mlir" $target --json="$model.estimate.json"
  # shellcheck disable=SC2086
  "$opscope" estimate "$model.mlir" $target --top 5

  step "compile, with the IR after each phase"
  # shellcheck disable=SC2086
  iree-compile $compile --mlir-print-debuginfo --dump-compilation-phases-to="$model.phases" "$model.mlir" -o "$model.vmfb"

  step "run and record: host and device in one trace"
  # shellcheck disable=SC2086
  "$opscope" run -o "$model.run.opscope" --device-profile "$model.run.ireeprof" -- iree-run-module $device \
    --module="$model.vmfb" --function=main $inputs $profiling --device_profiling_output="$model.run.ireeprof" \
    > "$model.result.txt"

  step "20 more runs: the shortest of each dispatch is compared"
  # shellcheck disable=SC2086
  iree-benchmark-module $device --module="$model.vmfb" --function=main $inputs --benchmark_min_time=20x $profiling \
    --device_profiling_output="$model.ireeprof" > "$model.benchmark.txt" 2>&1

  step "annotated: what each dispatch computes, how long it took, at what rate"
  # shellcheck disable=SC2086
  "$opscope" annotate "$model.phases" "$model.ireeprof" "$model.annotated.csv" -o "$model.opscope" $target

  step "report: rooflines and advice"
  "$opscope" report "$model.run.opscope" > "$model.run.report.txt"
  "$opscope" report "$model.opscope" --group-by op --no-host-ops

  step "estimate against run"
  # shellcheck disable=SC2086
  "$opscope" diff "$model.phases/$model.6.flow.mlir" "$model.ireeprof" $target --html "$model.diff.html" --top 5
  pairs="$pairs $model.phases/$model.6.flow.mlir $model.ireeprof"
done

if [ $# -gt 1 ]; then
  model="all models"
  step "how far off the estimates are, before and after fitting the target to the other models"
  # shellcheck disable=SC2086
  "$opscope" calibrate $pairs --target cpu --target-option engines=1 -o fitted.json
fi
printf '\nWritten to %s: traces (*.opscope), tables (*.csv), pages (*.diff.html)\n' "$folder"
