# SPDX-License-Identifier: Apache-2.0
"""python3 -m opscope [options] script.py [argument]... | -m module [argument]... | -c code | program [argument]...

Records a Python program, or any other. This module only puts a command line together and replaces itself with it:
outside a run with `opscope run ... python3 script.py ...`, inside one with `python3 script.py ...`. So the program is
started by the interpreter itself, with the interpreter's own options (-X, -W, -O ...) kept.
"""

import os
import shlex
import shutil
import subprocess
import sys
import textwrap

from . import _report, _start, _tenstorrent
from ._process import note, replace_process, run_and_then
from ._program import find_program
from ._record import BOOT, check_name, free_name

USAGE = """usage: python3 -m opscope [options] script.py | -m module | -c code | program [argument]...

What is recorded:
%s

The rest:
  -o FILE.opscope        the trace
  -o DIR                 its folder; anything without an ending is one, and any other ending an error
  -n NAME                added to the trace's name
  --min-duration T       zones shorter than T (10us, 1ms) are not in the trace
  --devices NAMES        which devices are recorded: auto (the default), cuda, opencl, nvtx, none (opscope run --help)
  -r                     afterwards, the op report: of the device logs in DIR/.logs joined with what was recorded,
                         or of the trace's own ops
  --per-test DIR         a trace for each test of a pytest session, and session.opscope for all of it, in this
                         folder
  -v                     say what is run
  -q                     no summary
  --process-logs-only    only the report of -r
  -h, --help, --version

Every option of `python -m tracy` is accepted: those that concern the device set the variables of its runtime, and one
that means nothing here says so."""


def usage():
    lines = []
    for word, letter, kind, _, meaning in _start.OPTIONS:
        name = "-%s, --%s" % (letter, word) if letter else "--" + word
        name += " " + {"LIST": "WHAT"}.get(kind, kind) if kind else ""
        lines += textwrap.wrap(meaning, 92, initial_indent="  %-22s " % name, subsequent_indent=" " * 25)
    return USAGE % "\n".join(lines)


class UsageError(Exception):
    """The text says what is wrong."""


class Options:
    def __init__(self):
        self.words = []  # of OPSCOPE_PYTHON_TRACE: _start.py
        self.min_duration = self.devices = None
        self.report = self.verbose = self.quiet = self.logs_only = False
        self.output = self.name = self.per_test = None
        self.is_module = self.is_version = False
        self.code = None
        self.command = []
        self.vendor = _tenstorrent.Flags()


FLAGS = {
    "-r": "report",
    "-v": "verbose",
    "-q": "quiet",
    "--process-logs-only": "logs_only",
}
VALUES = {
    "-o": "output",
    "--output-folder": "output",
    "-n": "name",
    "--name-append": "name",
    "--min-duration": "min_duration",
    "--devices": "devices",
    "--per-test": "per_test",
}
WORDS = {"--" + row[0]: row for row in _start.OPTIONS}
WORDS.update({"-" + row[1]: row for row in _start.OPTIONS if row[1]})


def word_of(option, value_of):
    """--include src/ as a word of OPSCOPE_PYTHON_TRACE."""
    word, _, kind, _, _ = WORDS[option]
    value = value_of(option) if kind else None
    if kind == "N" and not (value.isascii() and value.isdigit() and 0 < int(value) < 2**32):
        raise UsageError("%s takes a number from 1 on, not %s" % (option, value))
    return _start.word_of(word, value)


def split_letters(argument):
    """-prv is -p -r -v; -oDIR is -o DIR."""
    if argument.startswith("--") or len(argument) <= 2 or not argument.startswith("-"):
        return [argument]
    if argument[1] in "onatmc":
        return [argument[:2], argument[2:]]
    return ["-" + argument[1]] + split_letters("-" + argument[2:])


LONG = [word for table in (FLAGS, VALUES, WORDS) for word in table if word.startswith("--")]
LONG += _tenstorrent.LONG + ["--async", "--help", "--version"]


def whole_option(word):
    """--output for --output-folder, as where the command line comes from."""
    found = [option for option in LONG if option.startswith(word)] if word.startswith("--") else []
    if word in found or not found:
        return word
    if len(found) > 1:
        raise UsageError("%s may be %s" % (word, " or ".join(sorted(found))))
    return found[0]


def parse(arguments):
    """Our options end at the first word that is none; from there on everything is the program's, as it is."""
    options = Options()
    rest = list(arguments)

    def value_of(flag):
        if not rest:
            raise UsageError("%s needs a value" % flag)
        return rest.pop(0)

    while rest:
        if rest[0] == "--":
            rest.pop(0)
            break
        if not rest[0].startswith("-") or rest[0] == "-":
            break
        word, has_value, value = rest.pop(0).partition("=")
        if has_value and not word.startswith("--"):
            word, has_value = word + has_value + value, ""
        word = whole_option(word)
        if has_value:
            rest.insert(0, value)
        pieces = split_letters(word)
        word, rest[:0] = pieces[0], pieces[1:]
        if word in ("-h", "--help"):
            print(usage())
            raise SystemExit(0)
        if word == "--version":
            options.is_version = True
            return options
        if word == "-m":
            options.is_module = True
            rest.insert(0, value_of(word))
            if not rest[0].startswith("-"):
                break
            continue  # -m -v pytest: for python -m tracy it is a flag like the others
        if word == "-c":
            options.code = value_of(word)
            break
        if word in FLAGS:
            setattr(options, FLAGS[word], True)
        elif word in VALUES:
            setattr(options, VALUES[word], value_of(word))
        elif word in WORDS:
            options.words.append(word_of(word, value_of))
        elif word == "--async":
            pass  # the default
        elif not options.vendor.take(word, value_of, note):
            raise UsageError("no option %s" % word)
    options.command = rest
    options.name = options.name and options.name.replace(os.sep, "_")  # a part of file names
    return options


def interpreter():
    """This Python with the options that it was started with."""
    started = list(getattr(sys, "orig_argv", []))
    for i in range(1, len(started)):
        if started[i] == "-m" and started[i + 1 : i + 2] == ["opscope"]:
            return [sys.executable] + started[1:i]
        if started[i] == "-mopscope":
            return [sys.executable] + started[1:i]
    return [sys.executable] + subprocess._args_from_interpreter_flags()


def is_other_program(path):
    """A file that is not for Python: a binary, or a script that names another interpreter."""
    try:
        with open(path, "rb") as file:
            head = file.read(256)
    except OSError:
        return os.sep not in path and not os.path.exists(path) and shutil.which(path) is not None
    if head.startswith(b"\x7fELF"):
        return True
    return head.startswith(b"#!") and b"python" not in head.split(b"\n", 1)[0]


def words_of(text):
    """A whole command line in one word, as python -m tracy takes it."""
    try:
        return (shlex.split(text) if any(c.isspace() for c in text) else [text]) or [text]
    except ValueError as error:
        raise UsageError("%s: %s" % (text, error))


def program_command(options):
    """What to run, and a name for its trace."""
    if options.code is not None:
        return interpreter() + ["-c", options.code] + options.command, "python"
    if not options.command:
        raise UsageError("no program given")
    first = options.command[0]
    if options.is_module:
        words = words_of(first)
        return interpreter() + ["-m"] + words + options.command[1:], words[0]
    if not os.path.exists(first):
        options.command[:1] = words_of(first)
        first = options.command[0]
    if first == "-":
        return interpreter() + options.command, "python"
    if is_other_program(first):
        return list(options.command), os.path.basename(first)
    return interpreter() + options.command, os.path.splitext(os.path.basename(first.rstrip("/")))[0]


def is_folder(output):
    """-o names the folder of the trace, or the trace? As `python -m tracy -o FOLDER`: a name without an ending, an
    existing folder and what ends in a slash are folders."""
    return not output.endswith(".opscope") or output.endswith(os.sep) or os.path.isdir(output)


def check_output(output):
    if output and is_folder(output) and not output.endswith(os.sep) and not os.path.isdir(output):
        try:
            check_name(output)
        except ValueError as error:
            raise UsageError("%s; %s/ is a folder" % (error, output))


def trace_path(options, stem):
    """None: where opscope run puts it."""
    if options.output and not is_folder(options.output):
        return options.output
    if not options.output and not options.name and not options.report:
        return None
    folder = options.output or "."
    os.makedirs(folder, exist_ok=True)
    return free_name(folder, stem + ("_" + options.name if options.name else ""))


def environment(options):
    env = dict(os.environ)
    env["OPSCOPE_PYTHON_TRACE"] = ",".join(options.words or ["calls"])
    folder = options.output if options.output and is_folder(options.output) else None
    options.vendor.set_variables(env, options.report, folder)
    return env


def put_boot_on_path(env):
    """opscope run does it for what it starts; inside a run of another opscope we do."""
    entries = env.get("PYTHONPATH", "")
    if entries.split(os.pathsep)[0] != BOOT:
        env["PYTHONPATH"] = BOOT + (os.pathsep + entries if entries else "")


def run_options(options):
    """What `opscope run` takes as it is, option by option."""
    given = {"--min-duration": options.min_duration, "--devices": options.devices}
    return [word for option, value in given.items() if value for word in (option, value)]


def run_per_test(options, program, command, env):
    """Always a run of its own, also inside another: its trace is taken apart when it has ended."""
    folder = os.path.abspath(options.per_test)
    trace = os.path.join(folder, _report.SESSION)
    try:
        _report.remove_earlier_session(folder)
    except OSError as error:
        note("--per-test %s: %s" % (folder, error.strerror))
        return 2
    env["OPSCOPE_PYTEST_PER_TEST"] = "1"  # pytest_plugin.py: this is the session that --opscope-per-test asks for
    run = [program, "run", "-o", trace] + (["-q"] if options.quiet else [])
    run += run_options(options)
    run += ["--"] + command
    return run_and_then(run, env, options.verbose, lambda status: _report.split_by_test(program, folder))


def join_run(options, command, env):
    """In a run that is going on; or without any, where the program is missing."""
    if "OPSCOPE_SESSION" not in env:
        note("nothing is recorded: the opscope program is neither beside the package nor on the PATH (OPSCOPE_BIN)")
    given = {"-o": options.output, "-n": options.name, "-r": options.report}
    words = [word for word, value in given.items() if value]
    if words and "OPSCOPE_SESSION" in env:
        note("%s: without effect, as this joins a run that is going on" % ", ".join(words))
    for option in run_options(options)[::2] if "OPSCOPE_SESSION" in env else []:
        note("%s: without effect here; give it to the run that this joins (opscope run %s)" % (option, option))
    put_boot_on_path(env)
    return replace_process(command, env, options.verbose)


def start_run(options, program, command, stem, env):
    try:
        trace = trace_path(options, stem)
    except OSError as error:
        note("-o %s: %s" % (options.output, error.strerror))
        return 125
    run = [program, "run"] + (["-o", trace] if trace else []) + (["-q"] if options.quiet else [])
    run += run_options(options)
    command = run + ["--"] + command
    if not options.report:
        return replace_process(command, env, options.verbose)
    report = _report.OpReport(program, _tenstorrent.folder(options.output), options.name)

    def finish(status):
        if status and "--check-exit-code" in options.vendor.given:
            note("no op report: the program failed, and --check-exit-code was given")
        else:
            report.make(trace)

    return run_and_then(command, env, options.verbose, finish)


def main(arguments):
    try:
        options = parse(arguments)
        options.vendor.check(options.report)
        check_output(options.output)
        program = find_program()
        if options.logs_only or options.is_version:
            if not program:
                raise UsageError("the opscope program is not found: neither beside the package nor on the PATH")
            if options.is_version:
                return replace_process([program, "--version"], os.environ, False)
            _report.OpReport(program, _tenstorrent.folder(options.output), options.name).make_of_logs()
            return 0
        command, stem = program_command(options)
    except UsageError as error:
        note("%s (python3 -m opscope --help)" % error)
        return 2
    except _tenstorrent.FlagError as error:
        note(str(error))
        return error.status
    env = environment(options)
    if options.per_test and program:
        return run_per_test(options, program, command, env)
    if "OPSCOPE_SESSION" in env or not program:
        return join_run(options, command, env)
    return start_run(options, program, command, stem, env)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
