# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin: a zone for each test, each of its phases (setup, call, teardown) and each fixture.

In a run of opscope it is loaded by itself, also in the workers of xdist. Outside, `pytest --opscope` starts the run:
the session is begun again under `opscope run`, before pytest has read a conftest.py. Nothing here changes what pytest
prints or how it ends. `-p no:opscope` turns it off.

Zones are known by the function of their place in the source ("pytest test", "pytest setup" ...), which is what
`opscope zones --by-test` looks for; the outcome is their text.

PYTEST_DONT_REWRITE: there are no assertions here, and pytest must not warn when this was imported before."""

import inspect
import os
import sys

import pytest

import opscope

PER_TEST_VARIABLE = "OPSCOPE_PYTEST_PER_TEST"  # set in the session whose trace will be split
STARTED_VARIABLE = "OPSCOPE_PYTEST_STARTED"  # set in a session that was begun again, also where nothing is recorded


# --- options, and the session begun again under opscope run ---


def pytest_addoption(parser):
    group = parser.getgroup("opscope", "profile the tests with opscope")
    group.addoption("--opscope", action="store_true", help="record this session, as `opscope run pytest ...` would")
    group.addoption(
        "--opscope-output", metavar="FILE", help="with --opscope: the trace to write (default: pytest.opscope, numbered when there is one)"
    )
    group.addoption(
        "--opscope-per-test",
        metavar="DIR",
        help="record this session, and write a trace for each test into this folder (and session.opscope for all)",
    )


def command_line():
    """How this process was started."""
    words = getattr(sys, "orig_argv", None)
    if words is None:  # 3.9
        with open("/proc/self/cmdline", "rb") as file:
            words = [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]
    return [sys.executable] + list(words[1:])


def runner_command(options):
    """python3 -m opscope, from wherever this package lies, around this very command line; None: nothing to do."""
    if options.opscope_per_test:
        words = ["--per-test", os.path.abspath(options.opscope_per_test)]
    elif options.opscope:
        words = ["-o", os.path.abspath(options.opscope_output)] if options.opscope_output else []
    else:
        return None
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    code = "import sys; sys.path.insert(0, %r); from opscope.__main__ import main; sys.exit(main(sys.argv[1:]))"
    return [sys.executable, "-c", code % package] + words + ["--"] + command_line()


@pytest.hookimpl(tryfirst=True, hookwrapper=True)
def pytest_load_initial_conftests(early_config):
    options = early_config.known_args_namespace
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    is_in_run = "OPSCOPE_SESSION" in os.environ
    if options.opscope_per_test and PER_TEST_VARIABLE not in os.environ:
        is_in_run = False  # the run around this one gets no zones of ours
    if STARTED_VARIABLE not in os.environ and not is_worker and not is_in_run and not early_config.pluginmanager.is_blocked("opscope"):
        command = runner_command(options)
        if command is not None:
            sys.stdout.flush()
            sys.stderr.flush()
            os.environ[STARTED_VARIABLE] = "1"
            os.execv(command[0], command)
    yield


# --- zones ---


def begin(name, kind, place):
    native = opscope._native
    if native is None:
        return 0
    file, line = place
    return native.zone_begin_at(opscope._plain(name), "pytest " + kind, opscope._plain(file), line)


def end(number, text=None):
    if number:
        if text:
            opscope._native.zone_text(opscope._plain(text))
        opscope._native.scope_end(number)


def outcome_of(result):
    """Of a phase, from what its hook has raised: pytest's own exceptions say skipped and the like."""
    if not result.excinfo:
        return "passed"
    kind = result.excinfo[0]
    if issubclass(kind, pytest.skip.Exception):
        return "skipped"
    return "xfailed" if kind.__name__ == "XFailed" else "failed: " + kind.__name__


def place_of_item(item):
    """Its file, and its line counted from 1; pytest counts from 0."""
    file, line, _ = item.location
    path = getattr(item, "path", None) or getattr(item, "fspath", file)
    return str(path), (line or 0) + 1


def place_of_function(function):
    code = getattr(inspect.unwrap(function), "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code is not None else ("", 0)


class Reports:
    """What the reports of one test say together."""

    def __init__(self):
        self.outcome = None

    def add(self, report):
        if hasattr(report, "wasxfail"):
            found = {"skipped": "xfailed", "passed": "xpassed"}.get(report.outcome, report.outcome)
        elif report.failed and report.when != "call":
            found = "error"
        else:
            found = report.outcome
        if self.outcome is None or report.when == "setup":  # of a test that is run again, the last counts
            self.outcome = found
        elif found == "error" or (report.when == "call" and self.outcome == "passed"):
            self.outcome = found


class Recorder:
    """Registered only where something is recorded."""

    def __init__(self):
        self.reports = {}
        self.known_folders = set()
        self.teardowns = {}

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection(self):
        number = begin("pytest collection", "collection", ("", 0))
        yield
        end(number)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector):
        number = 0
        if isinstance(collector, pytest.Module):
            path = str(getattr(collector, "path", None) or collector.fspath)
            self.own_code_is_in(os.path.dirname(path))
            number = begin("collect " + collector.nodeid, "collect", (path, 1))
        yield
        end(number)

    def own_code_is_in(self, folder):
        """Tests are shown wherever they lie, also in a package that is installed."""
        native = opscope._native
        if native is not None and folder not in self.known_folders:
            self.known_folders.add(folder)
            native.add_folder(opscope._plain(folder), native.PROGRAM)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        reports = self.reports[item.nodeid] = Reports()
        number = begin(item.nodeid, "test", place_of_item(item))
        yield
        self.reports.pop(item.nodeid, None)
        end(number, reports.outcome)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item):
        result = yield
        reports = self.reports.get(item.nodeid)
        if reports is not None and not result.excinfo:
            reports.add(result.get_result())

    def phase(self, item, name):
        number = begin(item.nodeid + " " + name, name, place_of_item(item))
        result = yield
        end(number, outcome_of(result))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item):
        yield from self.phase(item, "setup")

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item):
        yield from self.phase(item, "call")

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item):
        yield from self.phase(item, "teardown")

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef, request):
        if getattr(fixturedef.func, "__name__", "") == "get_direct_param_fixture_func":
            yield  # an argument of parametrize, which pytest keeps as a fixture: nobody wrote it
            return
        place = place_of_function(fixturedef.func)
        name = "fixture " + fixturedef.argname
        number = begin(name, "fixture", place)
        result = yield
        end(number, fixturedef.scope + ("" if not result.excinfo else ", failed"))
        if inspect.isgeneratorfunction(fixturedef.func) and not result.excinfo:
            # The last finalizer that is added runs first, right before the one that goes on after the yield.
            fixturedef.addfinalizer(lambda: self.teardown_begins(fixturedef, name + " teardown", place))

    def teardown_begins(self, fixturedef, name, place):
        self.teardowns[id(fixturedef)] = begin(name, "fixture", place)

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_post_finalizer(self, fixturedef):
        number = self.teardowns.pop(id(fixturedef), 0)
        end(number, fixturedef.scope if number else None)


def pytest_configure(config):
    if config.pluginmanager.is_blocked("opscope") or not opscope.is_recording():
        return
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        opscope.thread_name("pytest " + worker["workerid"])
    config.pluginmanager.register(Recorder(), "opscope recorder")


# --- fixtures ---


@pytest.fixture
def opscope_profile():
    """Python calls are recorded from here to the end of this test, where the run was started with -p."""
    with opscope.Profiler() as profiler:
        yield profiler


@pytest.fixture
def tracy_profile(opscope_profile):
    """opscope_profile, for tests that were written for `python -m tracy`."""
    return opscope_profile
