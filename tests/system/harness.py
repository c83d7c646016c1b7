# SPDX-License-Identifier: Apache-2.0
"""What every system test needs: where the program and the test programs are, how to run them, when to skip.

A system test is a unittest case in tests/system/test_*.py. It starts real programs and real processes and
looks at what a person would see. Standard library only.

    import harness

    class ExitStatus(harness.TestCase):
        def test_passes_through(self):
            done = self.opscope("run", "-o", self.path("t.opscope"), "--", "sh", "-c", "exit 7")
            self.assertEqual(done.status, 7, done)

Each case has a temporary folder of its own (self.folder) and one for its sessions, is run with an environment in which no OPSCOPE_*
variable of the caller's is left, and must leave no process behind: what it starts with self.start() is
killed, with its whole process group, when the test ends. Nothing here waits for a fixed time; wait_until()
polls a condition and fails after a generous limit.
"""

import fcntl
import functools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

# A shell starts background jobs with these ignored, nohup all of them; the programs under test would inherit it.
for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("OPSCOPE_TEST_BUILD", os.path.join(SOURCE, "build")))
OPSCOPE = os.path.join(BUILD, "opscope")
PROGRAMS = os.path.join(BUILD, "tests", "programs")
EXAMPLES = os.path.join(BUILD, "examples")
# How often a stress test repeats itself: 1 in `make test`, more in `make test-long`.
PUPPETEER_VERSION = "24.43.1"  # drives the browser in tests and benchmarks
REPEAT = int(os.environ.get("OPSCOPE_TEST_REPEAT", "1"))
# A limit against hanging, not a measurement: far above what any test needs on a loaded machine.
TIMEOUT_S = 600

# Where the sessions of the running test are. A session that is left behind shows in every later run that looks into the
# same folder, so each test has one of its own.
_sessions = None

KEPT_VARIABLES = ("OPSCOPE_REFERENCE_DATA", "OPSCOPE_NO_INSTALL")


def environment(extra=None):
    """The environment for a program under test: the caller's, less what would change opscope's behaviour."""
    env = {
        name: value
        for name, value in os.environ.items()
        if name in KEPT_VARIABLES or not name.startswith(("OPSCOPE_", "XDG_RUNTIME_DIR", "NO_COLOR", "COLUMNS"))
    }
    env.update(LC_ALL="C.UTF-8", TZ="UTC")
    if _sessions:
        env["OPSCOPE_DIR"] = _sessions
    env.update(extra or {})
    return env


class Done:
    """A finished command: status (negative signal number when killed), stdout and stderr as text."""

    def __init__(self, command, status, stdout, stderr, seconds):
        self.command = command
        self.status = status
        self.stdout_bytes = stdout
        self.stderr_bytes = stderr
        self.stdout = stdout.decode("utf-8", "replace")
        self.stderr = stderr.decode("utf-8", "replace")
        self.seconds = seconds

    def json(self):
        return json.loads(self.stdout)

    def __str__(self):
        return (
            f"\n$ {' '.join(map(str, self.command))}\nstatus {self.status} after {self.seconds:.2f} s"
            f"\n--- stdout\n{self.stdout[-4000:]}\n--- stderr\n{self.stderr[-4000:]}"
        )

    __repr__ = __str__


def kill_group(process, sig=signal.SIGKILL):
    """Ends a process that was started in a group of its own, with all its children."""
    try:
        os.killpg(process.pid, sig)
    except ProcessLookupError:
        pass


def run(command, timeout=TIMEOUT_S, env=None, cwd=None, stdin=None, merge=False):
    """Runs a command to its end and captures everything; kills its whole group and fails when it hangs.

    stdin: bytes for its standard input (none by default). merge: stderr goes where stdout goes.
    """
    begin = time.monotonic()
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if merge else subprocess.PIPE,
        env=environment(env),
        cwd=cwd,
        start_new_session=True,
    )
    try:
        stdout, stderr = process.communicate(stdin, timeout)
    except subprocess.TimeoutExpired:
        kill_group(process)
        stdout, stderr = process.communicate()
        done = Done(command, process.returncode, stdout, stderr or b"", time.monotonic() - begin)
        raise AssertionError(f"still running after {timeout} s: {done}") from None
    return Done(command, process.returncode, stdout, stderr or b"", time.monotonic() - begin)


def opscope(*arguments, **options):
    """build/opscope with these arguments."""
    return run([OPSCOPE, *map(str, arguments)], **options)


def opscope_json(*arguments, **options):
    """What build/opscope ... --json prints, parsed; fails when the status is not 0."""
    done = opscope(*arguments, "--json", **options)
    if done.status != 0:
        raise AssertionError(f"opscope failed: {done}")
    return done.json()


def program(name):
    """Path of a test program (tests/system/programs/NAME.c); a missing one is an error, not a skip."""
    path = os.path.join(PROGRAMS, name)
    if not os.path.exists(path):
        raise AssertionError(f"{path} is not built")
    return path


def example(name):
    """Path of a built example (examples/NAME/)."""
    path = os.path.join(EXAMPLES, name)
    if not os.path.exists(path):
        raise AssertionError(f"{path} is not built")
    return path


def wait_until(condition, what, timeout=TIMEOUT_S):
    """Polls condition() until it is true and returns its value; fails, saying what was waited for."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {timeout} s for {what}")
        time.sleep(0.005)


def process_is_alive(pid):
    """True while the process exists and is not a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class TestCase(unittest.TestCase):
    """A test with a folder of its own, whose processes end with it."""

    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="opscope-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.use_sessions(tempfile.mkdtemp(prefix="opscope-sessions-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))

    def use_sessions(self, folder):
        """Programs that this test starts from now on have their sessions there, unless it says otherwise."""
        global _sessions
        before, _sessions = _sessions, folder

        def put_back():
            global _sessions
            _sessions = before
            shutil.rmtree(folder, ignore_errors=True)

        self.addCleanup(put_back)

    def path(self, *names):
        """A path in the test's own folder."""
        return os.path.join(self.folder, *names)

    def run_command(self, command, **options):
        options.setdefault("cwd", self.folder)
        return run([str(part) for part in command], **options)

    def opscope(self, *arguments, **options):
        options.setdefault("cwd", self.folder)
        return opscope(*arguments, **options)

    def opscope_json(self, *arguments, **options):
        options.setdefault("cwd", self.folder)
        return opscope_json(*arguments, **options)

    def record(self, command, *run_options, **options):
        """Profiles a command with `opscope run`, expects status 0, and returns the trace's path."""
        trace = self.path("t.opscope")
        done = self.opscope("run", "-o", trace, *run_options, "--", *command, **options)
        self.assertEqual(done.status, 0, done)
        return trace

    def start(self, command, env=None, **options):
        """Starts a command in a process group of its own; the group is killed when the test ends."""
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        options.setdefault("cwd", self.folder)
        process = subprocess.Popen(
            [str(part) for part in command], env=environment(env), start_new_session=True, **options
        )
        self.addCleanup(self._end, process)
        return process

    @staticmethod
    def _end(process):
        kill_group(process)
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()

    def assert_status(self, done, status=0):
        self.assertEqual(done.status, status, done)

    def mount_tmpfs(self, size, name="tmpfs"):
        """Mounts a tmpfs of this size ("64m") in the test's folder; needs_tmpfs says where that works."""
        folder = self.path(name)
        os.mkdir(folder)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0777", "tmpfs", folder], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", folder], check=True)
        return folder


class Cgroup:
    """A memory cgroup with a limit, v1 or v2. Commands enter it through a shell: cgroup.wrap(command)."""

    def __init__(self, test, limit_bytes):
        root, self.version = memory_cgroup_root()
        self.folder = os.path.join(root, f"opscope-test-{os.getpid()}")
        os.mkdir(self.folder)
        test.addCleanup(self._remove)
        limit_name = "memory.max" if self.version == 2 else "memory.limit_in_bytes"
        self._write(limit_name, limit_bytes)
        swap_name = "memory.swap.max" if self.version == 2 else "memory.memsw.limit_in_bytes"
        if os.path.exists(os.path.join(self.folder, swap_name)):
            self._write(swap_name, 0 if self.version == 2 else limit_bytes)

    def wrap(self, command):
        procs = os.path.join(self.folder, "cgroup.procs")
        return ["sh", "-c", 'echo $$ > "$0" && exec "$@"', procs, *command]

    def oom_kills(self):
        name = "memory.events" if self.version == 2 else "memory.oom_control"
        with open(os.path.join(self.folder, name), encoding="ascii") as file:
            for line in file:
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
        return 0

    def _write(self, name, value):
        with open(os.path.join(self.folder, name), "w", encoding="ascii") as file:
            file.write(str(value))

    def _remove(self):
        def try_remove():
            try:
                os.rmdir(self.folder)
            except OSError:
                return False
            return True

        wait_until(try_remove, "the cgroup to become empty", 20)


@functools.lru_cache(None)
def memory_cgroup_root():
    """(folder, version) below which a memory cgroup can be made, or (None, reason)."""
    v2 = "/sys/fs/cgroup/cgroup.controllers"
    if os.path.exists(v2):
        with open(v2, encoding="ascii") as file:
            if "memory" not in file.read().split():
                return None, "cgroup v2 without the memory controller"
        root, version, limit = "/sys/fs/cgroup", 2, "memory.max"
    elif os.path.isdir("/sys/fs/cgroup/memory"):
        root, version, limit = "/sys/fs/cgroup/memory", 1, "memory.limit_in_bytes"
    else:
        return None, "no memory cgroup mounted"
    probe = os.path.join(root, f"opscope-probe-{os.getpid()}")
    try:
        os.mkdir(probe)
    except OSError as error:
        return None, f"cannot make a cgroup: {error.strerror}"
    usable = os.path.exists(os.path.join(probe, limit))
    os.rmdir(probe)
    if not usable:
        return None, "the memory controller is not enabled for child cgroups"
    return root, version


@functools.lru_cache(None)
def tmpfs_problem():
    """Why no tmpfs can be mounted here, or None."""
    if os.geteuid() != 0:
        return "mounting a tmpfs needs root"
    folder = tempfile.mkdtemp(prefix="opscope-probe-")
    try:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            return "cannot mount a tmpfs: " + done.stderr.strip()
        subprocess.run(["umount", folder], check=True)
        return None
    finally:
        os.rmdir(folder)


@functools.lru_cache(None)
def own_mounts_problem():
    """Why a command cannot have mounts of its own (unshare -m) here, or None."""
    if not shutil.which("unshare"):
        return "unshare is not installed"
    done = subprocess.run(["unshare", "-m", "true"], capture_output=True, text=True, check=False)
    return "no mounts of its own: " + done.stderr.strip() if done.returncode != 0 else None


@functools.lru_cache(None)
def pty_problem():
    """Why there are no terminals here (a chroot without /dev/pts), or None."""
    try:
        for descriptor in os.openpty():
            os.close(descriptor)
    except OSError as error:
        return f"no pseudo-terminal can be opened: {error}"
    return None


def needs_pty(test):
    return unittest.skipIf(pty_problem() is not None, str(pty_problem()))(test)


def needs_root(test):
    return unittest.skipUnless(os.geteuid() == 0, "needs root")(test)


def needs_tmpfs(test):
    return unittest.skipIf(tmpfs_problem() is not None, str(tmpfs_problem()))(test)


def needs_memory_cgroup(test):
    root, reason = memory_cgroup_root()
    return unittest.skipIf(root is None, str(reason))(test)


def needs_command(name):
    return unittest.skipUnless(shutil.which(name), f"{name} is not installed")


def needs_module(name):
    try:
        __import__(name)
    except ImportError:
        return unittest.skip(f"Python module {name} is not installed")
    return lambda test: test


def npm_package(name, version):
    """Folder of a package from npm, installed once into the build folder; skips where it cannot be had. Modules run beside
    each other: one installs, the others wait, and a package is there when all that it needs is."""
    for tool in ("node", "npm"):
        if not shutil.which(tool):
            raise unittest.SkipTest(f"{tool} is not installed")
    root = os.path.join(BUILD, "test-npm", f"{name.replace('/', '+')}-{version}")
    complete = os.path.join(root, "complete")
    if not os.path.exists(complete):
        if os.environ.get("OPSCOPE_NO_INSTALL", "0") not in ("", "0"):
            raise unittest.SkipTest(f"{name} {version} from npm is not there, and OPSCOPE_NO_INSTALL is set")
        os.makedirs(root, exist_ok=True)
        with open(root + ".lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.exists(complete):
                install_from_npm(name, version, root)
                open(complete, "w", encoding="ascii").close()
    return os.path.join(root, "node_modules", name)


def install_from_npm(name, version, root):
    options = ["--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1", "--fetch-timeout=30000"]
    done = run(["npm", "install", *options, "--prefix", root, f"{name}@{version}"], cwd=root)
    if done.status != 0:
        lines = [line for line in done.stderr.splitlines() if "err" in line.lower()]
        raise unittest.SkipTest(f"npm cannot install {name} {version}: {lines[0] if lines else done.status}")


def reference_data(*names):
    """Path below $OPSCOPE_REFERENCE_DATA; skips the test where it is not there."""
    root = os.environ.get("OPSCOPE_REFERENCE_DATA")
    if not root:
        raise unittest.SkipTest("OPSCOPE_REFERENCE_DATA is not set")
    path = os.path.join(root, *names)
    if not os.path.exists(path):
        raise unittest.SkipTest(f"no {'/'.join(names)} in OPSCOPE_REFERENCE_DATA")
    return path
