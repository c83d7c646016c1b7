# SPDX-License-Identifier: Apache-2.0
"""What the fuzz targets reach: each is run over its seeds, and over what `make fuzz` found, with clang's counters of
source lines. Prints the lines that each target reaches, and the files of src/ that no target reaches all of."""

import glob
import json
import os
import shutil
import subprocess

from .process import run_logged


def find_tool(name):
    """llvm-cov, or llvm-cov-14 as Debian calls it; None."""
    versioned = sorted(glob.glob(f"/usr/bin/{name}-[0-9]*"))
    return shutil.which(name) or (versioned[-1] if versioned else None)


def missing():
    """Why there is no coverage here, or None."""
    for tool in ("clang", "llvm-profdata", "llvm-cov"):
        if not find_tool(tool):
            return f"{tool} is not installed"
    return None


def run_target(step, context, folder, name):
    short = name[len("fuzz_") :]
    log = os.path.join(context.logs, f"coverage-{short}.log")
    raw = os.path.join(folder, f"{short}.profraw")
    folders = [os.path.join(context.source, "tests", "fuzz", "corpus", short)]
    folders += [path for path in (os.path.join(context.folder("fuzz"), "corpus", short),) if os.path.isdir(path)]
    env = dict(context.env, LLVM_PROFILE_FILE=raw)
    command = [os.path.join(folder, name), "-runs=0", "-timeout=300", "-rss_limit_mb=4096", *folders]
    finished = run_logged(command, log, 3600, env=env)
    if finished.status != 0:
        step.failed(short, finished.reason(), log)
        return None
    profile = os.path.join(folder, f"{short}.profdata")
    subprocess.run([find_tool("llvm-profdata"), "merge", "-sparse", raw, "-o", profile], check=True)
    return profile


def summary(context, profile, programs):
    """{file below the source folder: (lines, reached)}"""
    objects = [word for program in programs[1:] for word in ("-object", program)]
    command = [find_tool("llvm-cov"), "export", "-summary-only", f"-instr-profile={profile}", programs[0], *objects]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    files = {}
    for file in json.loads(done.stdout)["data"][0]["files"]:
        path = os.path.relpath(file["filename"], context.source)
        if path.startswith("src" + os.sep):
            files[path] = (file["summary"]["lines"]["count"], file["summary"]["lines"]["covered"])
    return files


def run_coverage(step, context, folder, names):
    profiles = {}
    for name in names:
        profile = run_target(step, context, folder, name)
        if profile:
            profiles[name] = profile
    if not profiles:
        return
    programs = [os.path.join(folder, name) for name in profiles]
    everything = os.path.join(folder, "all.profdata")
    subprocess.run([find_tool("llvm-profdata"), "merge", "-sparse", *profiles.values(), "-o", everything], check=True)
    print("\nlines of src/ that each target reaches:")
    for name, profile in profiles.items():
        files = summary(context, profile, [os.path.join(folder, name)])
        lines, reached = (sum(values[i] for values in files.values()) for i in (0, 1))
        print(f"  {name[len('fuzz_'):]:18} {reached:7,} of {lines:7,}")
        step.passed(name[len("fuzz_") :])
    files = summary(context, everything, programs)
    lines, reached = (sum(values[i] for values in files.values()) for i in (0, 1))
    print(f"  {'all of them':18} {reached:7,} of {lines:7,}  {100 * reached / max(lines, 1):.1f} %")
    print("\nlines that no target reaches, by file:")
    for path, (count, covered) in sorted(files.items(), key=lambda item: item[1][1] - item[1][0]):
        if covered < count:
            print(f"  {count - covered:6,} of {count:6,}  {path}")
