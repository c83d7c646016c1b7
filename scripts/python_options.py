#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the options of `opscope run` for Python programs from the table in python/opscope/_start.py.

    scripts/python_options.py            checks that src/cli/run/python_options.def is what the table says
    scripts/python_options.py --write    writes it
"""

import ast
import os
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLE = os.path.join(SOURCE, "python", "opscope", "_start.py")
OUTPUT = os.path.join(SOURCE, "src", "cli", "run", "python_options.def")
LEFT_OUT = ("lines", "profile")  # --python-trace lines; only for tests
HEAD = """\
/* SPDX-License-Identifier: Apache-2.0 */
/* Made by scripts/python_options.py from the table in python/opscope/_start.py: change that, then run it with --write.
 * Included several times by run_python.c and run_python.h. OPTION(field, word, kind, argument, help) */
/* clang-format off */
"""
KINDS = {"": ("FLAG", "NULL"), "LIST": ("LIST", '"WHAT"'), "N": ("NUMBER", '"N"')}


def options():
    with open(TABLE, encoding="utf-8") as file:
        for node in ast.parse(file.read()).body:
            if isinstance(node, ast.Assign) and node.targets[0].id == "OPTIONS":
                return ast.literal_eval(node.value)
    raise SystemExit("python_options: no table OPTIONS in " + TABLE)


def text():
    lines = [HEAD]
    for word, _, kind, _, meaning in options():
        if word not in LEFT_OUT:
            name, argument = KINDS.get(kind, ("TEXT", '"%s"' % kind))
            field = word.replace("-", "_")
            lines.append('OPTION(%s, "%s", %s, %s, "%s")\n' % (field, word, name, argument, meaning))
    return "".join(lines)


def main():
    if sys.argv[1:] == ["--write"]:
        with open(OUTPUT, "w", encoding="utf-8") as file:
            file.write(text())
        return 0
    with open(OUTPUT, encoding="utf-8") as file:
        if file.read() == text():
            return 0
    sys.stderr.write("src/cli/run/python_options.def is not what python/opscope/_start.py says: "
                     "scripts/python_options.py --write\n")  # fmt: skip
    return 1


if __name__ == "__main__":
    sys.exit(main())
