# SPDX-License-Identifier: Apache-2.0
"""The command `opscope` of an installed package: the program that lies in the package."""

import os
import sys


def main() -> int:
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "opscope")
    try:
        os.execv(path, ["opscope"] + sys.argv[1:])
    except OSError as error:
        sys.stderr.write("opscope: cannot run %s: %s\n" % (path, error.strerror))
        return 127
