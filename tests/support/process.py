# SPDX-License-Identifier: Apache-2.0
"""Commands of the test run: each with a log of its own and a limit after which its whole group is killed."""

import os
import signal
import subprocess
import time


class Finished:
    def __init__(self, status, log, seconds, timed_out):
        self.status = status
        self.log = log
        self.seconds = seconds
        self.timed_out = timed_out

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def reason(self):
        """Why it counts as failed, in a few words."""
        if self.timed_out:
            return f"stopped after {self.seconds:.0f} s"
        if self.status < 0:
            return f"killed by {signal.Signals(-self.status).name}"
        return f"exit status {self.status}"


def run_logged(command, log, timeout, env=None, cwd=None, append=False):
    """Runs a command with its output in a log file; the log begins with the command line."""
    os.makedirs(os.path.dirname(log), exist_ok=True)
    begin = time.monotonic()
    timed_out = False
    with open(log, "ab" if append else "wb") as file:
        file.write(("$ " + " ".join(command) + "\n").encode())
        file.flush()
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=env, cwd=cwd, start_new_session=True
            )
        except OSError as error:
            file.write(f"{error}\n".encode())
            return Finished(127, log, 0.0, False)
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
            status = -signal.SIGKILL
        except KeyboardInterrupt:
            end_group(process)
            raise
        end_group(process)
    return Finished(status, log, time.monotonic() - begin, timed_out)


def end_group(process):
    """Ends what a command left running, so that it cannot disturb the next test."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    process.wait()
