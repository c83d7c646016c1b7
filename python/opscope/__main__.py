# SPDX-License-Identifier: Apache-2.0
"""python3 -m opscope [options] script.py [argument]... | -m module [argument]... | -c code | program [argument]...

Records a Python program, or any other. This module only puts a command line together and replaces itself with it:
outside a run with `opscope run ... python3 script.py ...`, inside one with `python3 script.py ...`. So the program is
started by the interpreter itself, with the interpreter's own options (-X, -W, -O ...) kept.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys

from . import _tenstorrent

PACKAGE = os.path.dirname(os.path.abspath(__file__))
BOOT = os.path.join(os.path.realpath(PACKAGE), "_boot")
USAGE = """usage: python3 -m opscope [options] script.py | -m module | -c code | program [argument]...

  -p                 partial: Python calls only while opscope.Profiler is enabled
  -l                 each line as well
  --c-calls          calls of C functions as well
  -o DIR             folder of the trace; DIR/NAME.opscope names the file
  -n NAME            added to the trace's name
  -r                 afterwards, the op report: of the device logs in DIR/.logs, or of the trace's own ops
  -v                 say what is run
  -q                 no summary
  --process-logs-only   only the report of -r
  -h, --help

Every option of `python -m tracy` is accepted: those that concern the device set the variables of its runtime, and one
that means nothing here says so."""


class UsageError(Exception):
    """The text says what is wrong."""


class Options:
    def __init__(self):
        self.partial = self.lines = self.c_calls = False
        self.report = self.verbose = self.quiet = self.logs_only = False
        self.output = self.name = None
        self.is_module = False
        self.code = None
        self.command = []
        self.vendor = _tenstorrent.Flags()


def note(text):
    sys.stderr.write("opscope: " + text + "\n")


FLAGS = {
    "-p": "partial",
    "-l": "lines",
    "--c-calls": "c_calls",
    "-r": "report",
    "-v": "verbose",
    "-q": "quiet",
    "--process-logs-only": "logs_only",
}
VALUES = {"-o": "output", "--output-folder": "output", "-n": "name", "--name-append": "name"}


def split_letters(argument):
    """-prv is -p -r -v; -oDIR is -o DIR."""
    if argument.startswith("--") or len(argument) <= 2 or not argument.startswith("-"):
        return [argument]
    if argument[1] in "onatmc":
        return [argument[:2], argument[2:]]
    return ["-" + argument[1]] + split_letters("-" + argument[2:])


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
        if has_value:
            rest.insert(0, value)
        pieces = split_letters(word)
        word, rest[:0] = pieces[0], pieces[1:]
        if word in ("-h", "--help"):
            print(USAGE)
            raise SystemExit(0)
        if word == "-m":
            options.is_module = True
            rest.insert(0, value_of(word))
            break
        if word == "-c":
            options.code = value_of(word)
            break
        if word in FLAGS:
            setattr(options, FLAGS[word], True)
        elif word in VALUES:
            setattr(options, VALUES[word], value_of(word))
        elif not options.vendor.take(word, value_of, note):
            raise UsageError("no option %s" % word)
    options.command = rest
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


def program_command(options):
    """What to run, and a name for its trace."""
    if options.code is not None:
        return interpreter() + ["-c", options.code] + options.command, "python"
    if not options.command:
        raise UsageError("what shall be run?")
    first = options.command[0]
    if options.is_module:
        words = shlex.split(first) if any(c.isspace() for c in first) else [first]
        return interpreter() + ["-m"] + words + options.command[1:], words[0]
    if is_other_program(first):
        return list(options.command), os.path.basename(first)
    return interpreter() + options.command, os.path.splitext(os.path.basename(first.rstrip("/")))[0]


def find_program():
    for place in ("bin/opscope", "../../opscope", "../../../../bin/opscope"):
        path = os.path.normpath(os.path.join(PACKAGE, place))
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return shutil.which("opscope")


def trace_path(options, stem):
    """None: where opscope run puts it."""
    if options.output and options.output.endswith(".opscope"):
        return options.output
    if not options.output and not options.name:
        return None
    folder = options.output or "."
    os.makedirs(folder, exist_ok=True)
    name = stem + ("_" + options.name if options.name else "")
    path, number = os.path.join(folder, name + ".opscope"), 2
    while os.path.exists(path):
        path, number = os.path.join(folder, "%s.%d.opscope" % (name, number)), number + 1
    return path


def environment(options):
    env = dict(os.environ)
    words = ["lines" if options.lines else "calls"]
    words += ["partial"] * options.partial + ["c-calls"] * options.c_calls
    env["OPSCOPE_PYTHON_TRACE"] = ",".join(words)
    folder = options.output if options.output and not options.output.endswith(".opscope") else None
    options.vendor.set_variables(env, options.report, folder)
    return env


def put_boot_on_path(env):
    """opscope run does it for what it starts; inside a run of another opscope we do."""
    entries = env.get("PYTHONPATH", "")
    if entries.split(os.pathsep)[0] != BOOT:
        env["PYTHONPATH"] = BOOT + (os.pathsep + entries if entries else "")


def replace_process(command, env, verbose):
    sys.stdout.flush()
    sys.stderr.flush()
    if verbose:
        note("running " + " ".join(shlex.quote(word) for word in command))
    try:
        os.execvpe(command[0], command, env)
    except OSError as error:
        note("cannot run %s: %s" % (command[0], error.strerror))
        return 127 if isinstance(error, FileNotFoundError) else 126


def end_as(status):
    if status >= 0:
        return status
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
    return 128 - status


def make_report(program, folder, trace):
    """The op report of the run; what goes wrong here never changes the status of the run."""
    logs = os.path.join(folder, ".logs")
    if os.path.isdir(logs):
        csv = os.path.join(folder, "ops_perf_results.csv")
        subprocess.call([program, "ops", folder, "--csv", "-o", csv])
        source = csv if os.path.exists(csv) else folder
    elif trace and os.path.exists(trace[: -len(".opscope")] + ".ops.csv"):
        source = trace
    else:
        note("no op report: there is no %s, and the program recorded no ops itself" % logs)
        return
    subprocess.call([program, "report", source])


def run_with_report(program, command, trace, folder, env, verbose):
    if verbose:
        note("running " + " ".join(shlex.quote(word) for word in command))
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run's own affair; it ends, then we do
    try:
        status = subprocess.call(
            command, env=env, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
        )
    finally:
        signal.signal(signal.SIGINT, previous)
    make_report(program, folder, trace)
    return end_as(status)


def main(arguments):
    try:
        options = parse(arguments)
        options.vendor.check(options.report)
        program = find_program()
        if options.logs_only:
            if not program:
                raise UsageError("the opscope program is not found: neither beside the package nor on the PATH")
            make_report(program, _tenstorrent.folder(options.output), None)
            return 0
        command, stem = program_command(options)
    except UsageError as error:
        note("%s (python3 -m opscope --help)" % error)
        return 2
    except _tenstorrent.FlagError as error:
        note(str(error))
        return error.status
    env = environment(options)
    if "OPSCOPE_SESSION" in env or not program:
        if not program and "OPSCOPE_SESSION" not in env:
            note("nothing is recorded: the opscope program is neither beside the package nor on the PATH")
        put_boot_on_path(env)
        return replace_process(command, env, options.verbose)
    trace = trace_path(options, stem)
    if not trace and options.report:
        trace = trace_path(options, stem) or os.path.join(os.getcwd(), stem + ".opscope")
    run = [program, "run"] + (["-o", trace] if trace else []) + (["-q"] if options.quiet else [])
    command = run + ["--"] + command
    if options.report:
        return run_with_report(program, command, trace, _tenstorrent.folder(options.output), env, options.verbose)
    return replace_process(command, env, options.verbose)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
