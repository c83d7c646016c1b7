# SPDX-License-Identifier: Apache-2.0
"""CPython's own test suite, with and without opscope, compared test by test. test_python_suite.py does that for the
modules below; by hand, with a line for each module:

    tests/system/cpython_suite.py --build build [--python /usr/bin/python3] [--trace lines] [test_generators ...]
"""

import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import harness

CHILD = os.path.join(harness.SOURCE, "tests", "system", "python", "suite_child.py")
LIMIT_S = 900

# What `make test` has time for.
QUICK = "test_generators test_coroutines test_contextlib test_exceptions test_code test_sys_setprofile test_monitoring".split()

MODULES = QUICK + """test_asyncgen test_yield_from test_raise test_with test_contextlib_async test_functools test_descr
    test_class test_super test_types test_frame test_inspect test_traceback test_gc test_weakref test_finalization
    test_pickle test_copy test_dataclasses test_sys_settrace test_cprofile test_profile test_trace test_bdb test_pdb
    test_tracemalloc test_faulthandler test_thread test_threading test_threading_local test_queue test_context
    test_atexit test_signal test_fork1 test_runpy test_cmd_line test_cmd_line_script test_site test_sys test_import
    test_unittest test_doctest test_interpreters test__interpreters test_crossinterp
    test_multiprocessing_main_handling test_asyncio.test_base_events
    test_asyncio.test_futures test_asyncio.test_locks test_asyncio.test_pep492 test_asyncio.test_queues
    test_asyncio.test_runners test_asyncio.test_taskgroups test_asyncio.test_timeouts""".split()

# Up to minutes each.
SLOW = """test_importlib test_subprocess test_asyncio.test_subprocess test_asyncio.test_tasks
    test_asyncio.test_unix_events test_concurrent_futures test_multiprocessing_fork test_multiprocessing_spawn
    test_multiprocessing_forkserver""".split()


class Outcome:
    """What became of one module: the status of the process, and of each test the words for how it ended."""

    def __init__(self, status, text, seconds, zones):
        self.status, self.text, self.seconds = status, text, seconds
        self.zones = zones  # in the trace
        self.tests, self.details = {}, {}

    def failures(self):
        return sorted(name for name, words in self.tests.items() if set(words) & {"failed", "error", "not ended"})


def read_results(path, outcome):
    """Of suite_child.py. A test that began and never ended was running when the process died."""
    if not os.path.exists(path):
        return
    begun = []
    with open(path, encoding="ascii") as file:
        for line in file:
            record = json.loads(line)
            if "begin" in record:
                begun.append(record["begin"])
                continue
            outcome.tests.setdefault(record["test"], []).append(record["outcome"])
            if record["detail"]:
                outcome.details[record["test"]] = record["detail"]
    for name in begun:
        outcome.tests.setdefault(name, ["not ended"])


def zones_of(trace):
    """How many zones a trace has; 0 when there is none."""
    done = harness.opscope("info", "--json", trace)
    return done.json()["zones"] if done.status == 0 else 0


BARE_TOOL_FOLDER = os.path.join(os.path.dirname(CHILD), "bare_tool")


def run_module(python, module, folder, trace=None, limit_s=LIMIT_S, is_bare=False):
    """Runs one module: plain, under `opscope run` with OPSCOPE_PYTHON_TRACE = trace, or under a sys.monitoring tool that
    does nothing and gets the same events."""
    work = tempfile.mkdtemp(prefix="suite-", dir=folder)
    results, out = os.path.join(work, "results"), os.path.join(work, "t.opscope")
    command = [python, CHILD, results, "--timeout", str(limit_s), module]
    env, begin = {"OPSCOPE_PYTHON_TRACE": trace} if trace else {}, time.monotonic()
    if is_bare:
        env["PYTHONPATH"] = BARE_TOOL_FOLDER
    elif trace:
        command = [harness.OPSCOPE, "run", "-q", "-o", out, "--", *command]
    try:
        done = harness.run(command, timeout=limit_s + 30, env=env, cwd=work, merge=True)
        status, text = done.status, done.stdout
    except AssertionError as error:  # hangs
        status, text = "still running after %d s" % (limit_s + 30), str(error)
    outcome = Outcome(status, text, time.monotonic() - begin, zones_of(out) if trace else 0)
    read_results(results, outcome)
    shutil.rmtree(work, ignore_errors=True)
    return outcome


def present(python, modules):
    """Those of the modules that this interpreter's suite has: Debian leaves some out, so do some releases."""
    code = (
        "import importlib.util as u, sys\n"
        "def has(name):\n"
        "    try: return u.find_spec('test.' + name) is not None\n"
        "    except ImportError: return False\n"
        "print(*filter(has, sys.argv[1:]))"
    )
    return harness.run([python, "-c", code, *modules]).stdout.split()


def differences(plain, traced):
    """[(test, how it ended untraced, how it ended under opscope, text)]; the module itself is a test called "exit status"."""
    found = []
    for name in sorted(set(plain.tests) | set(traced.tests)):
        before, after = sorted(plain.tests.get(name, ["not run"])), sorted(traced.tests.get(name, ["not run"]))
        if before != after:
            found.append((name, " ".join(before), " ".join(after), traced.details.get(name, "")))
    missing = [row for row in found if row[2] == "not run"]
    if len(missing) > 1:  # the process died before them
        found = [row for row in found if row not in missing]
        found.append(("tests that were never reached", "none", str(len(missing)), f"from {missing[0][0]} on\n{traced.text[-1500:]}"))
    if plain.status != traced.status and not found:
        found.append(("exit status", str(plain.status), str(traced.status), traced.text[-2000:]))
    return found


class Comparison:
    """One module on one interpreter, untraced and under opscope. Some of these tests fail now and then on a busy machine,
    with or without a profiler; what is opscope's doing differs whenever it is tried (found). What CPython itself does
    differently as soon as there is any sys.monitoring tool is listed apart (of_any_tool): on 3.13.0 pdb.set_trace() then
    stops a line later."""

    def __init__(self, python, module, folder, trace, repeats=2):
        self.python, self.module, self.folder, self.trace = python, module, folder, trace
        with concurrent.futures.ThreadPoolExecutor(2) as pool:  # both at once, in folders of their own
            plain, traced = (pool.submit(run_module, python, module, folder, each) for each in (None, trace))
        self.plain, self.traced = plain.result(), traced.result()
        self.found, self.of_any_tool = differences(self.plain, self.traced), []
        for _ in range(repeats):
            if self.found:
                self.keep(differences(run_module(python, module, folder), run_module(python, module, folder, trace)))
        if self.found and self.has_monitoring():
            self.compare_with_bare_tool()

    def has_monitoring(self):
        return harness.run([self.python, "-c", "import sys; sys.monitoring"]).status == 0

    def keep(self, again):
        names = {row[0] for row in again}
        self.found = [row for row in self.found if row[0] in names]

    def compare_with_bare_tool(self):
        bare = differences(self.plain, run_module(self.python, self.module, self.folder, self.trace, is_bare=True))
        same = {(name, after) for name, _, after, _ in bare}
        self.of_any_tool = [row for row in self.found if (row[0], row[2]) in same]
        self.found = [row for row in self.found if (row[0], row[2]) not in same]

    def text(self):
        plain, traced = self.plain, self.traced
        return (
            f"{len(plain.tests)} tests, {len(plain.failures())} fail untraced, {len(traced.failures())} under opscope, "
            f"{len(self.found)} differ, {len(self.of_any_tool)} under any monitoring tool; "
            f"{plain.seconds:.1f} and {traced.seconds:.1f} s, {traced.zones:,} zones"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", help="build folder", default=harness.BUILD)
    parser.add_argument("--python", action="append", help="interpreter (default: those of the build)")
    parser.add_argument("--trace", default="calls", help="calls, lines or calls,c-calls")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("modules", nargs="*")
    options = parser.parse_args()
    harness.OPSCOPE = os.path.join(os.path.abspath(options.build), "opscope")
    pythons = options.python
    if not pythons:
        with open(os.path.join(options.build, "python", "interpreters.txt"), encoding="utf-8") as file:
            pythons = file.read().split()
    status = 0
    with tempfile.TemporaryDirectory(prefix="opscope-suite-") as folder:
        for python in pythons:
            print(python, subprocess.check_output([python, "-V"], text=True).strip(), flush=True)
            modules = options.modules or MODULES + SLOW
            there = present(python, modules)
            print("  not in this suite:", " ".join(name for name in modules if name not in there) or "(nothing is missing)")
            for module in there:
                comparison = Comparison(python, module, folder, options.trace, options.repeats)
                print(f"  {module:36} {comparison.text()}", flush=True)
                for name, before, after, text in comparison.found:
                    status = 1
                    print(f"    {name}: {before} -> {after}\n      " + "\n      ".join(text.splitlines()[-12:]), flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
