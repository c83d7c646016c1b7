# SPDX-License-Identifier: Apache-2.0
"""How `python3 -m opscope` turns into the run: in its place, or as a child when there is something to do afterwards. As
a child it gets every signal that somebody sends to us, and we end as it does."""

import os
import shlex
import signal
import subprocess
import sys

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


def note(text):
    sys.stderr.write("opscope: " + text + "\n")


def announce(command, is_wanted):
    if is_wanted:
        note("running " + " ".join(shlex.quote(word) for word in command))
    sys.stdout.flush()
    sys.stderr.flush()


def replace_process(command, env, verbose):
    announce(command, verbose)
    for name in ("SIGPIPE", "SIGXFSZ"):  # the interpreter ignores them for itself; what it turns into would, too
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execvpe(command[0], command, env)
    except OSError as error:
        note("cannot run %s: %s" % (command[0], error.strerror))
        return 127 if isinstance(error, FileNotFoundError) else 126


def end_as(status):
    if status >= 0:
        return status
    if -status != signal.SIGKILL:
        signal.signal(-status, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [-status])
    os.kill(os.getpid(), -status)
    return 128 - status


def wait_and_pass_on(child):
    """Signals are blocked: they are taken one by one. One from the terminal has reached the child by itself."""
    while child.poll() is None:
        info = signal.sigwaitinfo(PASSED_ON + (signal.SIGCHLD,))
        is_ours = info.si_code <= 0 or (info.si_signo == signal.SIGHUP and os.getsid(0) == os.getpid())
        if info.si_signo != signal.SIGCHLD and is_ours:
            child.send_signal(info.si_signo)
    return child.returncode


def run_and_then(command, env, verbose, finish):
    """The run as a child, then finish(its status); ends as the run did."""
    announce(command, verbose)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # the child must not inherit that it is ignored, unless it is
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # else nobody would hear how the child ended
    before = signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON + (signal.SIGCHLD,))
    try:
        child = subprocess.Popen(
            command, env=env, preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before)
        )
    except OSError as error:
        note("cannot run %s: %s" % (command[0], error.strerror))
        return 127
    status = wait_and_pass_on(child)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    finish(status)
    return end_as(status)
