# SPDX-License-Identifier: Apache-2.0
"""Where the program of this package is, and the command `opscope` of an installed package, which is that program."""

import os
import shutil
import sys

# In a wheel; in a build folder; in an installation (lib/opscope/python/opscope).
PLACES = ("bin/opscope", "../../opscope", "../../../../bin/opscope")


def find_program() -> "str | None":
    """OPSCOPE_BIN, the program of this package, or the one on the PATH."""
    named = os.environ.get("OPSCOPE_BIN")
    if named:
        return named if os.path.isfile(named) and os.access(named, os.X_OK) else None
    return path_of_program() or shutil.which("opscope")


def path_of_program() -> "str | None":
    package = os.path.realpath(os.path.dirname(os.path.abspath(__file__)))
    for place in PLACES:
        path = os.path.normpath(os.path.join(package, place))
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def main() -> int:
    path = path_of_program()
    try:
        if path is not None:
            # Under the name of another tool it takes that tool's arguments.
            os.execv(path, [os.path.basename(sys.argv[0])] + sys.argv[1:])
        sys.stderr.write("opscope: the program is not in the package: it has to be installed again\n")
    except OSError as error:
        sys.stderr.write("opscope: cannot run %s: %s\n" % (path, error.strerror))
    return 127
