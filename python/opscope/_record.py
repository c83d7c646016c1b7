# SPDX-License-Identifier: Apache-2.0
"""Recording that a program starts itself, in a plain `python3`: opscope.record(), start() and stop().

`opscope collect` is started beside the process: it makes the session, collects, and writes the trace. It is not a child of
this process (os.wait() of the program must not meet it) and in no process group of the terminal's. It stops when it is
asked to, or when this process has ended, however that was; so a program that is killed has its trace, too.

While it records, the environment has what `opscope run` would have put there: children are recorded with it."""

import atexit
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

from . import _devices, _start
from ._program import find_program

PACKAGE = os.path.dirname(os.path.abspath(__file__))
BOOT = os.path.join(os.path.realpath(PACKAGE), "_boot")
FIGURES = ("zones", "open_zones", "ops", "lost_zones", "lost_records", "processes", "threads", "size_bytes")
LIMIT_S = 60  # for the collector to write what it has, after it was asked to stop

lock = threading.RLock()
active = None  # the Recording of this process
is_registered = False


class Recording:
    """One recording: where its trace is and, once it has been stopped, what is in it.

    path         of the trace; None where the process was being recorded already (opscope run), into that trace
    zones        how many; also open_zones (begun, never ended), ops, lost_zones, lost_records
    processes    how many recorded something; also threads
    seconds      how long it took
    size_bytes   of the trace
    """

    def __init__(self, path):
        self.path = path
        self.pid = os.getpid()
        self.seconds = None
        self._is_written = False  # nothing to write, it could not be written, or not known
        for name in FIGURES:
            setattr(self, name, None)

    def __fspath__(self):
        if self.path is None:
            raise TypeError("this recording has no trace of its own: it went into that of `opscope run`")
        return self.path

    def __repr__(self):
        if self.path is None:
            return "<opscope recording, in the trace of the run>"
        if self.zones is None:
            return "<opscope recording into %s>" % self.path
        lost = ", %d lost" % self.lost_zones if self.lost_zones else ""
        return "<opscope recording %s: %d zones%s, %.3f s>" % (self.path, self.zones, lost, self.seconds)


    def _repr_html_(self):
        """As the value of a notebook's cell: a table and a flame graph."""
        if self.path is None or not self.zones:  # without zones, an older trace of this name was kept
            return None
        from ._notebook import Shown

        return Shown(self.path, self)._repr_html_()


def ending_of(path):
    """".json" of a name that promises a file of that kind; None: no ending."""
    found = re.search(r"[^/](\.(?=[0-9]*[A-Za-z])[A-Za-z0-9]{1,12})$", path)
    return found and found.group(1)


def check_name(path, option="-o "):
    """Raises ValueError for a name with another ending than a trace's; src/cli/run/output.c has the same rule."""
    ending = ending_of(path)
    if ending in (None, ".opscope"):
        return
    stem = path[: -len(ending)]
    formats = {".json": "chrome", ".csv": "csv", ".pftrace": "perfetto"}
    text = "%s%s: a trace is called NAME.opscope: %s%s.opscope" % (option, path, option, stem)
    if ending in formats:
        text += ", then `opscope export --format %s %s.opscope -o %s`" % (formats[ending], stem, path)
    raise ValueError(text)


def free_name(folder, stem):
    """No trace is overwritten, nor one that another run is writing, nor what has the name of its op table. As in
    src/cli/run.c."""
    found, number = os.path.join(folder, stem), 2
    while any(os.path.exists(found + ending) for ending in (".opscope", ".opscope.partial", ".ops.csv")):
        found, number = os.path.join(folder, "%s.%d" % (stem, number)), number + 1
    return found + ".opscope"


def path_of_trace(path):
    """The file; a folder, or nothing, gets one that is named after the program."""
    path = "" if path is None else os.fspath(path)
    if path and not os.path.isdir(path) and not path.endswith(os.sep):
        check_name(path, "")
        return os.path.abspath(path)
    program = os.path.splitext(os.path.basename((getattr(sys, "argv", None) or [""])[0]))[0]
    os.makedirs(path or ".", exist_ok=True)
    return os.path.abspath(free_name(path, program if program not in ("", "-c", "-m") else "python"))


def words_of(options):
    """Arguments of record() as words of OPSCOPE_PYTHON_TRACE, by the table of _start.py."""
    words = []
    for word, _, kind, _, _ in _start.OPTIONS:
        value = options.pop(word.replace("-", "_"), None)
        if value is None or value is False:
            continue
        if kind == "":
            words.append(word)
        elif kind == "LIST":
            values = [value] if isinstance(value, (str, os.PathLike)) else value
            words += [_start.word_of(word, os.fspath(one)) for one in values]
        elif kind == "N" and not (isinstance(value, int) and 0 < value < 2**32):
            raise ValueError("%s takes a number from 1 on, not %r" % (word.replace("-", "_"), value))
        else:
            words.append(_start.word_of(word, str(value)))
    return words


class Collector:
    """The process beside this one."""

    OPTIONS = ("min_duration", "buffer_size", "on_full", "max_size")

    def __init__(self, program, path, options):
        command = [program, "collect", "--detach", "-q", "--json", "--pid", str(os.getpid()), "-o", path]
        for name in self.OPTIONS:
            value = options.pop(name, None)
            if value is not None:
                command += ["--" + name.replace("_", "-"), str(value)]
        if options:
            raise TypeError("opscope: no such option: " + ", ".join(sorted(options)))
        pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.process = subprocess.Popen(command, start_new_session=True, **pipes)
        first = self.process.stdout.readline().decode("utf-8", "surrogateescape").strip()
        self.process.wait()  # what goes on is the child of nobody here
        if not first.startswith("OPSCOPE_SESSION="):
            text = self.process.stderr.read().decode("utf-8", "replace").strip()
            self.close()
            text = text.replace("opscope collect: ", "").replace(" (see opscope collect --help)", "")
            raise RuntimeError("opscope: " + (text or "%s does not start" % program))
        self.session = first.partition("=")[2]
        self.folder = self.session.rpartition(":")[0]
        self.pid = int(self.process.stdout.readline().partition(b"=")[2])

    def stop(self):
        """Waits until the trace is written; its figures, or {} where they are not known."""
        try:
            self.process.stdin.write(b"stop\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
            messages = self.process.stderr.read()
        except (OSError, ValueError):  # the program has closed all its descriptors
            answer, messages = b"", b""
            self.stop_by_signal()
        self.close()
        if messages:
            sys.stderr.write(messages.decode("utf-8", "replace"))
        return json.loads(answer) if answer else {}

    def stop_by_signal(self):
        until = time.monotonic() + LIMIT_S
        try:
            os.kill(self.pid, signal.SIGTERM)
            while time.monotonic() < until:
                os.kill(self.pid, 0)
                time.sleep(0.01)
        except ProcessLookupError:
            pass

    def close(self):
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                pipe.close()
            except OSError:
                pass


class Environment:
    """What children need to be recorded, for as long as we record."""

    def __init__(self, session, words, devices):
        path = os.environ.get("PYTHONPATH", "")
        self.boot = BOOT if os.pathsep not in BOOT else ""
        new = {"OPSCOPE_SESSION": session, "OPSCOPE_PYTHON_TRACE": ",".join(words)}
        if self.boot and path.split(os.pathsep)[0] != self.boot:
            new["PYTHONPATH"] = self.boot + (os.pathsep + path if path else "")
        new.update(devices)
        self.before = {name: os.environ.get(name) for name in new}
        os.environ.update(new)

    def restore(self):
        path = os.environ.get("PYTHONPATH")
        for name, value in self.before.items():
            if name == "PYTHONPATH" and path and path.startswith(self.boot + os.pathsep):
                os.environ[name] = path[len(self.boot) + 1 :]  # the program may have added to it
            elif value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def is_in_session(native):
    return "OPSCOPE_SESSION" in os.environ and native.has_session()


def native_or_raise(native):
    if native is None:
        raise RuntimeError("opscope: nothing can be recorded: " + _start.why_no_native())
    return native


def begin(native, path, options):
    """A Recording, with the collector running and this process in its session; the hook is the caller's to start."""
    program = find_program()
    if program is None:
        raise RuntimeError(
            "opscope: the opscope program is found neither beside the package nor on the PATH; OPSCOPE_BIN may name it"
        )
    words = words_of(options)
    adapters = _devices.wanted(options.pop("devices", None) or os.environ.get("OPSCOPE_DEVICES") or "auto")
    recording = Recording(path_of_trace(path))
    recording.collector = Collector(program, recording.path, options)
    devices = _devices.variables(adapters)
    recording.environment = Environment(recording.collector.session, ["calls"] + words, devices)
    try:
        native.join()
        _devices.attach(devices)
        _start.native = native
        _start.configure(words)
        _start.watch_modules(PACKAGE, words, lambda text: sys.stderr.write("opscope: %s\n" % text))
    except BaseException:
        finish(native, recording)
        raise
    return recording


def finish(native, recording):
    if "opscope._torch" in sys.modules:
        sys.modules["opscope._torch"].stop()
    native.leave()
    recording.environment.restore()
    found = recording.collector.stop()
    if not found and os.path.exists(recording.collector.folder):  # its last deed is to remove that
        sys.stderr.write(
            "opscope: the collector has ended before its time: %s is incomplete; `opscope recover %s` finishes it\n"
            % (recording.path, recording.collector.folder)
        )
    recording.collector = recording.environment = None  # their end is not part of a later recording
    for name in FIGURES:
        setattr(recording, name, found.get(name))
    recording.seconds = found.get("elapsed_ns", 0) / 1e9
    recording._is_written = bool(found.get("trace"))
    if found.get("error"):
        sys.stderr.write("opscope: %s\n" % found["error"])
    return recording


def forget_in_child():
    """A forked child is in its parent's recording, which is not its own to stop."""
    global active
    if active is not None:
        active.collector.close()
    active = None


def at_exit(stop):
    """stop() is called at the end of the process when it has not been before."""
    global is_registered
    is_registered = True

    def finish_recording():
        if active is not None and active.pid == os.getpid():
            stop()

    atexit.register(finish_recording)


os.register_at_fork(after_in_child=forget_in_child)
