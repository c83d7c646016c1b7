#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far off estimates for this CPU are: compiles and runs every model of a folder, and compares each dispatch.

    examples/iree/accuracy.py [-o FOLDER] [--fit FOLDER] [--target-option KEY=VALUE] MODELS

MODELS is a folder of MLIR files, also in folders below it. What IREE cannot compile or run is counted. The table has
the median and the 90th percentile of the factor between estimate and measurement by class of op: of the target as it
is, of the target fitted to the models of --fit (those beside this script), and of each model by factors from all the
others. Needs IREE (pip install iree-base-compiler iree-base-runtime); without it says so and ends with status 77.
Models whose TOSA is of an older spelling are read by way of mlir-opt where that is installed. OPSCOPE_PROGRAM names
opscope where it is not on the PATH. What is written goes to FOLDER (iree-accuracy); what is there already is not
measured again.
"""

import argparse
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys

TOOLS = ("iree-compile", "iree-benchmark-module")
COMPILE = ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
           "--iree-llvmcpu-target-cpu=host", "--mlir-print-debuginfo")
RUN = ("--device=local-sync", "--benchmark_min_time=40x", "--device_profiling_mode=host-execution,executable-metadata")
SECONDS = 120  # for one step of one model
DYNAMIC = "16"  # the size of dimensions that a model leaves open
FUNCTION = re.compile(r"func\.func\s+(?:public\s+)?@([\w$.-]+)\s*\(")
ARGUMENT = re.compile(r"%\w+\s*:\s*(?:tensor<([^<>]*)>|!torch\.v?tensor<\[([\d,?]*)\],(\w+)>|(i\d+|f\d+|index))")


def run(command, **options):
    """Standard output, or None where it failed."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS, **options).stdout
    except (subprocess.SubprocessError, UnicodeDecodeError):
        return None


def call_of(text):
    """The options that call the first function of a model."""
    function = FUNCTION.search(text)
    if not function:
        return None
    depth, end = 1, function.end()
    while depth and end < len(text):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    options = ["--function=" + function[1]]
    for shape, sizes, kind, scalar in ARGUMENT.findall(text[function.end():end]):
        parts = [part for part in sizes.split(",") if part] + [kind] if kind else shape.split("x")
        parts = [DYNAMIC if part == "?" else re.sub(r"^[su]i", "i", part) for part in parts]
        options.append("--input=1" if scalar else f"--input={'x'.join(parts)}=1")
    return options


def compiled(model, source, folder):
    phases = os.path.join(folder, "phases")
    shutil.rmtree(phases, ignore_errors=True)
    done = run(["iree-compile", *COMPILE, f"--dump-compilation-phases-to={phases}", source, "-o", model])
    flow = glob.glob(os.path.join(phases, "*.flow.mlir"))
    if done is not None and flow:
        shutil.copy(flow[0], os.path.join(folder, "flow.mlir"))
    shutil.rmtree(phases, ignore_errors=True)
    return done is not None and bool(flow)


def measured(source, folder):
    """What became of a model; its flow phase and profile are in the folder."""
    os.makedirs(folder)
    model, profile = os.path.join(folder, "model.vmfb"), os.path.join(folder, "run.ireeprof")
    with open(source, encoding="utf-8") as file:
        text = file.read()
    if not compiled(model, source, folder):
        generic = run(["mlir-opt", "--mlir-print-op-generic", source]) if shutil.which("mlir-opt") else None
        rewritten = os.path.join(folder, "generic.mlir")
        if generic is None:
            return "not compiled"
        with open(rewritten, "w", encoding="utf-8") as file:
            file.write(generic)
        if not compiled(model, rewritten, folder):
            return "not compiled"
    with open(os.path.join(folder, "flow.mlir"), encoding="utf-8") as file:
        if "flow.dispatch @" not in file.read():
            return "no dispatch"
    call = call_of(text)
    if call is None or run(["iree-benchmark-module", f"--module={model}", *call, *RUN,
                            f"--device_profiling_output={profile}"]) is None:
        return "not run"
    return "measured"


def measure_all(models, folder):
    """The pairs of flow phase and profile, and how many models ended how."""
    pairs, ends = [], collections.Counter()
    for source in sorted(glob.glob(os.path.join(models, "**", "*.mlir"), recursive=True)):
        place = os.path.join(folder, os.path.relpath(source, models)[:-len(".mlir")])
        note = os.path.join(place, "end.txt")
        if not os.path.exists(note):
            shutil.rmtree(place, ignore_errors=True)
            end = measured(source, place)
            with open(note, "w", encoding="utf-8") as file:
                file.write(end)
        with open(note, encoding="utf-8") as file:
            end = file.read()
        ends[end] += 1
        if end == "measured":
            pairs += [os.path.join(place, "flow.mlir"), os.path.join(place, "run.ireeprof")]
    return pairs, ends


def calibrate(pairs, *options):
    opscope = os.environ.get("OPSCOPE_PROGRAM", "opscope")
    done = subprocess.run([opscope, "calibrate", *pairs, "--dim", DYNAMIC, "--json", *options], stdout=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", metavar="MODELS")
    parser.add_argument("-o", "--output", default="iree-accuracy", metavar="FOLDER")
    parser.add_argument("--fit", default=os.path.dirname(os.path.abspath(__file__)), metavar="FOLDER")
    parser.add_argument("--target-option", action="append", default=["engines=1"], metavar="KEY=VALUE")
    asked = parser.parse_args()
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        print(f"accuracy.py: skipped: {missing[0]} is not installed (pip install iree-base-compiler iree-base-runtime)",
              file=sys.stderr)
        return 77
    own, _ = measure_all(asked.fit, os.path.join(asked.output, "fit"))
    pairs, ends = measure_all(asked.models, os.path.join(asked.output, "models"))
    print(f"{sum(ends.values())} models: " + ", ".join(f"{count} {end}" for end, count in ends.most_common()))
    if not own or not pairs:
        sys.exit("accuracy.py: nothing to compare: no model of one of the two folders was measured")
    target = [option for value in asked.target_option for option in ("--target-option", value)]
    fitted = os.path.join(asked.output, "fitted.json")
    calibrate(own, *target, "-o", fitted)
    plain, after = calibrate(pairs, *target), calibrate(pairs, "--target", fitted)
    print(f"{'class':8}{'sites':>6}  {'as it is':>14}  {'fitted to others':>16}  {'each left out':>14}   median, p90")
    fitted_rows = {row["class"]: row for row in after["rows"]}
    for row in plain["rows"]:
        other = fitted_rows.get(row["class"], {"before_median": float("nan"), "before_p90": float("nan")})
        print(f"{row['class']:8}{row['sites']:6}  {row['before_median']:7.2f}{row['before_p90']:7.2f}"
              f"  {other['before_median']:9.2f}{other['before_p90']:7.2f}"
              f"  {row['after_median']:7.2f}{row['after_p90']:7.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
