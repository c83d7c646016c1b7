#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every test of opscope: `make test` calls it after installing packages and building.

A step is a function below; each prints one line. Tests are counted one by one (cmocka cases, Python tests,
golden cases, fuzz targets, builds), a skip names what is missing, and the last line is
"N passed, M failed, K skipped". Logs are in BUILD/test-logs/, the extra builds in BUILD/test-*/.

    tests/run.py --list                  which steps there are
    tests/run.py --only unit,system      run these
    tests/run.py --only system --match fork
"""

import argparse
import concurrent.futures
import glob
import json
import os
import shutil
import subprocess
import sys
import time

from support import build, cmocka, fuzz, fuzz_coverage, golden, mutants
from support.process import run_logged
from support.report import Report

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Limits are against hanging, on a machine that does other things as well; nothing is expected to come near them.
SYSTEM_FILE_LIMIT_S = 3600
EMULATOR_SLOWDOWN = 5
SANITIZER_SLOWDOWN = 3
# System tests that are run on the build with ASan as well: what reads files and segments that others wrote.
SANITIZED_SYSTEM_TESTS = ("test_damage", "test_faults", "test_mcp", "test_report_damaged", "test_run_view", "test_tenstorrent",
                          "test_tracy_live", "test_tracy_ops", "test_tracy_streams", "test_tracy_tools", "test_view_compare",
                          "test_view_faults", "test_view_runs", "test_view_server")


class Context:
    """What every step needs to know."""

    def __init__(self, options):
        self.source = SOURCE
        self.build = os.path.abspath(options.build)
        self.logs = os.path.join(self.build, "test-logs")
        self.jobs = options.jobs
        self.long = options.long
        self.match = options.match
        self.update = options.update
        self.fuzz_seconds = options.fuzz_seconds  # None: a fixed number of runs; 0: as long as each target deserves
        kept = ("OPSCOPE_REFERENCE_DATA", "OPSCOPE_NO_INSTALL")
        self.env = {
            name: value
            for name, value in os.environ.items()
            if name in kept or not name.startswith(("OPSCOPE_", "NO_COLOR", "COLUMNS", "MAKE", "MFLAGS"))
        }
        self.env.update(
            ASAN_OPTIONS="detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1",
            UBSAN_OPTIONS="print_stacktrace=1",
            TSAN_OPTIONS="halt_on_error=1:second_deadlock_stack=1",
        )

    def folder(self, name):
        return os.path.join(self.build, "test-" + name)


def step_unit(step, context):
    """unit tests, default build"""
    if not shutil.which("ctest") or not cmocka.list_tests(context.build):
        step.skipped("all", "the build has no unit tests: cmocka is missing")
        return
    cmocka.run_tests(step, context.build, context.logs, context.jobs, context.env)


def step_lint(step, context):
    """lint"""
    finished = run_logged([os.path.join(SOURCE, "scripts", "lint.sh")], log_path(step, context), 1800, env=context.env)
    for line in finished.text().splitlines():
        if line.startswith("lint: skipped: "):
            step.skipped(line.split()[2], line[len("lint: skipped: ") :])
    if finished.status == 0:
        step.passed("sources")
    else:
        step.failed("sources", finished.reason(), finished.log)


def step_docs(step, context):
    """documents: links, files, rooms, pages, variables"""
    checker = os.path.join(SOURCE, "scripts", "check_docs.py")
    for check in ("links", "files", "rooms", "commands", "coming-from", "environment"):
        log = os.path.join(context.logs, f"docs-{check}.log")
        finished = run_logged([sys.executable, checker, "--build", context.build, check], log, 600, env=context.env)
        if finished.status == 0:
            step.passed(check)
        else:
            step.failed(check, finished.reason(), log)


def build_and_unit_test(step, context, compiler, flags, **options):
    """A build of its own with this compiler, and its unit tests."""
    if not shutil.which(compiler):
        step.skipped("build", f"{compiler} is not installed")
        return
    cxx = {"gcc": "g++", "clang": "clang++"}[compiler]
    flags = [f"-DCMAKE_C_COMPILER={compiler}", *flags]
    if shutil.which(cxx):
        flags.append(f"-DCMAKE_CXX_COMPILER={cxx}")
    folder = context.folder(step.name)
    if build.build(step, context, folder, flags):
        if not cmocka.list_tests(folder):
            step.skipped("unit", "cmocka is missing")
            return
        cmocka.run_tests(step, folder, context.logs, context.jobs, context.env, **options)


def step_gcc(step, context):
    """gcc, Release, no warnings; unit tests"""
    build_and_unit_test(step, context, "gcc", ["-DCMAKE_BUILD_TYPE=Release"])


def step_clang(step, context):
    """clang, no warnings; unit tests"""
    build_and_unit_test(step, context, "clang", [])


def step_asan(step, context):
    """unit tests and damaged inputs under ASan and UBSan"""
    problem = build.sanitizer_problem("gcc", "address,undefined") if shutil.which("gcc") else "gcc is not installed"
    if problem:
        step.skipped("build", problem)
        return
    flags = ["-DOPSCOPE_SANITIZE=address,undefined"]
    wrapper = build.steady_addresses()
    build_and_unit_test(step, context, "gcc", flags, wrapper=wrapper, slower=SANITIZER_SLOWDOWN)
    if os.path.exists(os.path.join(context.folder(step.name), "opscope")):
        paths = [os.path.join(SOURCE, "tests", "system", f"{name}.py") for name in SANITIZED_SYSTEM_TESTS]
        run_system_files(step, context, paths, context.folder(step.name), wrapper, SANITIZER_SLOWDOWN)


def step_tsan(step, context):
    """recorder's unit tests under TSan"""
    problem = build.sanitizer_problem("gcc", "thread") if shutil.which("gcc") else "gcc is not installed"
    if problem:
        step.skipped("build", problem)
        return
    sources = glob.glob(os.path.join(SOURCE, "tests", "unit", "test_record*.c"))
    targets = [os.path.splitext(os.path.basename(path))[0] for path in sources]
    if not targets:
        step.failed("tests", "no tests/unit/test_record*.c found")
        return
    if not os.path.exists(os.path.join(context.build, targets[0])):
        step.skipped("unit", "cmocka is missing")
        return
    folder = context.folder("tsan")
    flags = ["-DCMAKE_C_COMPILER=gcc", "-DOPSCOPE_SANITIZE=thread"]
    if build.build(step, context, folder, flags, targets):
        cmocka.run_tests(
            step,
            folder,
            context.logs,
            context.jobs,
            context.env,
            only=lambda name: name.split("/")[-1] in targets,
            wrapper=build.steady_addresses(),
            slower=SANITIZER_SLOWDOWN,
        )


def step_minimal(step, context):
    """build with gcc, cmake and zstd alone"""
    folder = context.folder("minimal")
    if not build.build(step, context, folder, ["-DOPSCOPE_MINIMAL=ON"]):
        return
    program = os.path.join(folder, "opscope")
    for name, command, expected in (
        ("version", [program, "--version"], "opscope"),
        ("doctor names what is missing", [program, "doctor"], "cmocka"),
        ("run", [program, "run", "-o", os.path.join(folder, "t.opscope"), "--", "sh", "-c", "echo ran"], "ran"),
    ):
        log = os.path.join(context.logs, f"minimal-{name.split()[0]}.log")
        finished = run_logged(command, log, 600, env=context.env)
        output = finished.text().split("\n", 1)[-1]
        if expected in output and (finished.status == 0 or name.startswith("doctor")):
            step.passed(name)
        else:
            step.failed(name, f"{finished.reason()}, or no '{expected}' in its output", log)


def step_aarch64(step, context):
    """aarch64 cross build; unit tests under qemu-user"""
    for tool in ("aarch64-linux-gnu-gcc", "qemu-aarch64"):
        if not shutil.which(tool):
            step.skipped("build", f"{tool} is not installed")
            return
    folder = context.folder("aarch64")
    sysroot = os.path.join(folder, "sysroot")
    log = os.path.join(context.logs, "aarch64-sysroot.log")
    script = os.path.join(SOURCE, "scripts", "aarch64-sysroot.sh")
    if run_logged([script, sysroot], log, 1800, env=context.env).status != 0:
        step.skipped("build", f"Debian's arm64 packages of zstd and cmocka could not be had (log: {log})")
        return
    toolchain = os.path.join(SOURCE, "cmake", "aarch64.cmake")
    flags = [f"-DCMAKE_TOOLCHAIN_FILE={toolchain}", f"-DOPSCOPE_SYSROOT={sysroot}"]
    if build.build(step, context, folder, flags):
        cmocka.run_tests(step, folder, context.logs, context.jobs, context.env, slower=EMULATOR_SLOWDOWN)


def run_system_file(step, context, path, folder, wrapper=(), slower=1):
    """One file of system tests against the build in `folder`."""
    child = os.path.join(SOURCE, "tests", "support", "unittest_child.py")
    name = os.path.splitext(os.path.basename(path))[0]
    log = os.path.join(context.logs, f"{step.name}-{name}.log")
    results = os.path.join(context.logs, f"{step.name}-{name}.json")
    env = dict(context.env, OPSCOPE_TEST_BUILD=folder, PYTHONDONTWRITEBYTECODE="1")
    env["OPSCOPE_TEST_REPEAT"] = "10" if context.long else "1"
    if os.path.exists(results):
        os.remove(results)
    limit = SYSTEM_FILE_LIMIT_S * (10 if context.long else 1) * slower
    command = [*wrapper, sys.executable, child, path, results, *([context.match] if context.match else [])]
    finished = run_logged(command, log, limit, env=env)
    count = add_unittest_results(step, name, results, log)
    if finished.status != 0:
        step.failed(name, finished.reason(), log)
    elif not count and not context.match:
        step.failed(name, "ran no test", log)


def needs_quiet(path):
    """Does a file of system tests say (NEEDS_QUIET = "why") that nothing else may run beside it?"""
    with open(path, encoding="utf-8") as file:
        return any(line.startswith("NEEDS_QUIET = ") for line in file)


def run_system_files(step, context, paths, folder, wrapper=(), slower=1):
    """Several files: as many at a time as there are jobs, then those that need quiet, one by one."""
    alone = [path for path in paths if needs_quiet(path)]

    def run(path):
        run_system_file(step, context, path, folder, wrapper, slower)

    with concurrent.futures.ThreadPoolExecutor(context.jobs) as pool:
        for future in [pool.submit(run, path) for path in paths if path not in alone]:
            future.result()
    for path in alone:
        run(path)


def step_system(step, context):
    """system tests"""
    files = sorted(glob.glob(os.path.join(SOURCE, "tests", "system", "test_*.py")))
    if not files:
        step.failed("tests", "no tests/system/test_*.py found")
    run_system_files(step, context, files, context.build)


def add_unittest_results(step, name, path, log):
    """Counts the results that unittest_child.py wrote; returns how many there are."""
    if not os.path.exists(path):
        return 0
    with open(path, encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    for record in records:
        failed_log = log if record["status"] == "failed" else ""
        step.add(f"{name}.{record['name']}", record["status"], record["detail"], failed_log, record["text"])
    return len(records)


def step_golden(step, context):
    """golden tests"""
    golden.run_golden(step, context, context.update)


def step_fuzz(step, context):
    """fuzz targets"""
    problem = build.sanitizer_problem("clang", "address") if shutil.which("clang") else "clang is not installed"
    if problem:
        step.skipped("build", problem)
        return
    names = fuzz.target_names(context)
    if not names:
        step.failed("targets", "no fuzz target found")
        return
    folder = context.folder("fuzz")
    if build.build(step, context, folder, ["-DCMAKE_C_COMPILER=clang", "-DOPSCOPE_FUZZ=ON"], names):
        fuzz.run_fuzz(step, context, folder, names)


def step_mutants(step, context):
    """damaged traces through every command under ASan and UBSan"""
    problem = build.sanitizer_problem("gcc", "address,undefined") if shutil.which("gcc") else "gcc is not installed"
    if problem:
        step.skipped("build", problem)
        return
    folder = context.folder("asan")
    flags = ["-DCMAKE_C_COMPILER=gcc", "-DOPSCOPE_SANITIZE=address,undefined"]
    if build.build(step, context, folder, flags, ["mutants"]):
        mutants.run_mutants(step, context, folder, build.steady_addresses())


def step_fuzz_coverage(step, context):
    """lines that each fuzz target reaches, and what none does"""
    problem = fuzz_coverage.missing()
    if problem:
        step.skipped("build", problem)
        return
    names = fuzz.target_names(context)
    folder = context.folder("fuzz-coverage")
    flags = ["-DCMAKE_C_COMPILER=clang", "-DOPSCOPE_FUZZ=ON", "-DOPSCOPE_FUZZ_COVERAGE=ON"]
    if build.build(step, context, folder, flags, names):
        fuzz_coverage.run_coverage(step, context, folder, names)


STEPS = {
    "unit": step_unit,
    "lint": step_lint,
    "docs": step_docs,
    "golden": step_golden,
    "system": step_system,
    "asan": step_asan,
    "tsan": step_tsan,
    "gcc": step_gcc,
    "clang": step_clang,
    "minimal": step_minimal,
    "aarch64": step_aarch64,
    "fuzz": step_fuzz,
    "mutants": step_mutants,
}
# Steps that are run when they are asked for.
MORE_STEPS = {"fuzz-coverage": step_fuzz_coverage}


# Steps that look at the default build; the others make their own.
NEED_THE_BUILD = {"unit", "docs", "golden", "system", "tsan"}


def log_path(step, context):
    return os.path.join(context.logs, f"{step.name}.log")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(SOURCE, "build"), help="build folder (build)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, help="how many at a time")
    parser.add_argument("--only", default="", help="comma-separated steps")
    parser.add_argument("--match", default="", help="system tests and fuzz targets whose name contains this")
    parser.add_argument("--long", action="store_true", help="fuzz longer, repeat stress tests, all of CPython's suite")
    parser.add_argument(
        "--fuzz-seconds", type=int, help="look for news for so long a fuzz target (0: as long as each deserves) instead of a fixed test"
    )
    parser.add_argument("--update", action="store_true", help="golden: rewrite the expectations that opscope wrote")
    parser.add_argument("--list", action="store_true", help="name the steps and end")
    options = parser.parse_args()
    options.steps = [name for name in options.only.split(",") if name] or list(STEPS)
    unknown = [name for name in options.steps if name not in {**STEPS, **MORE_STEPS}]
    if unknown:
        parser.error(f"no step {', '.join(unknown)}; there are {', '.join({**STEPS, **MORE_STEPS})}")
    return options


def main():
    options = parse_arguments()
    if options.list:
        for name, function in {**STEPS, **MORE_STEPS}.items():
            print(f"{name:13} {function.__doc__}")
        return 0
    context = Context(options)
    if NEED_THE_BUILD & set(options.steps):
        if not os.path.exists(os.path.join(context.build, "CMakeCache.txt")):
            print(f"{context.build} is not a build folder: run make first", file=sys.stderr)
            return 2
        subprocess.run(["cmake", "--build", context.build, "-j", str(context.jobs)], check=True, env=context.env)
    os.makedirs(context.logs, exist_ok=True)

    begin = time.monotonic()
    report = Report()
    print(f"testing in {context.build}, logs in {context.logs}", flush=True)
    for name in options.steps:
        function = STEPS.get(name) or MORE_STEPS[name]
        step = report.begin(name, function.__doc__)
        try:
            function(step, context)
        except (OSError, subprocess.SubprocessError) as error:
            step.failed("step", str(error))
        report.end(step)
    return report.close(time.monotonic() - begin)


if __name__ == "__main__":
    sys.exit(main())
