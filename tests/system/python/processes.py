# SPDX-License-Identifier: Apache-2.0
"""Children made in every way: fork, spawn, forkserver, subprocess, os.fork in the middle of a zone."""

import multiprocessing
import os
import subprocess
import sys


def square(n):
    return n * n


def forked():
    square(1)
    pid = os.fork()
    if pid == 0:
        square(2)
        os._exit(0)
    os.waitpid(pid, 0)


def main():
    forked()
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        with context.Pool(1) as pool:
            print(method, pool.map(square, [3]))
            pool.close()
            pool.join()
    code = "def in_subprocess(): pass\nin_subprocess()"
    print("subprocess", subprocess.run([sys.executable, "-c", code], check=False).returncode)


if __name__ == "__main__":
    main()
