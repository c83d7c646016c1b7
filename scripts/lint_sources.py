#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what no compiler does: licence lines, banned functions, lengths, layering, leftovers.

Works on the text of the files: comments and string literals are blanked where code is meant. A function is
what lies between a "{" and a "}" in the first column, which is how .clang-format leaves it. Prints
file:line: message, and ends with status 1 when there was an error; warnings do not count.
"""

import os
import re
import shutil
import subprocess
import sys

LINE_COLUMNS_MAX = 120  # clang-format holds code to 110 and leaves comments alone
FILE_LINES_MAX = 800
FUNCTION_LINES_MAX = 100
FUNCTION_LINES_WANTED = 80

BANNED = {
    "strcpy": "memcpy with a known length",
    "strcat": "bytes_append or snprintf",
    "sprintf": "snprintf",
    "vsprintf": "vsnprintf",
    "strtok": "strcspn",
    "gets": "fgets",
    "atoi": "strtol with checks",
    "atol": "strtol with checks",
    "atoll": "strtoll with checks",
    "atof": "strtod with checks",
    "alloca": "a fixed array or malloc",
    "mktemp": "mkstemp",
    "tmpnam": "mkstemp",
}
# Libraries return errors; only the program talks and ends.
BANNED_IN_LIBRARIES = {
    "exit": "return an error",
    "abort": "return an error",
    "printf": "only src/cli prints",
    "puts": "only src/cli prints",
    "putchar": "only src/cli prints",
    "perror": "fill struct error",
}
# Which folder below src/ may include headers of which other (docs: the architecture's table).
LAYERS = {
    "base": set(),
    "session": {"base"},
    "record": {"session", "base"},
    "trace": {"base"},
    "collect": {"session", "trace", "base"},
    "import": {"trace", "base"},
    "analyze": {"trace", "base"},
    "present": {"analyze", "trace", "base"},
    "serve": {"present", "analyze", "trace", "base"},
}
SOURCE_ENDINGS = (".c", ".h", ".cpp", ".hpp")
SCRIPT_ENDINGS = (".py", ".sh", ".cmake")
TEXT_ENDINGS = SOURCE_ENDINGS + SCRIPT_ENDINGS + (".md", ".in", ".txt", ".map", ".json")
# Paths of somebody's machine, and marks of unfinished work. Built from pieces so that this file passes.
MACHINE_FOLDERS = ["wo" + "rk", "ro" + "ot", "ho" + "me/[a-z]+", "Us" + "ers"]
MACHINE_PATH = re.compile(r"(?<![\w.$}])/(?:" + "|".join(MACHINE_FOLDERS) + r")/")
UNFINISHED_MARKS = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]
LEFTOVER = re.compile(r"\b(?:" + "|".join(UNFINISHED_MARKS) + r")\b")

CODE_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([a-z]+)/', re.M)


def tree_files():
    """Files of the work tree: tracked ones and new ones that are not ignored; without git, all but what is built."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    listing = subprocess.run(command, capture_output=True, check=False) if shutil.which("git") else None
    if listing and listing.returncode == 0:
        names = listing.stdout.decode().split("\0")
    else:
        names = []
        for folder, folders, files in os.walk("."):
            ignored = (".git", "__pycache__", "node_modules")
            folders[:] = [
                name for name in folders if name not in ignored and not (folder == "." and name.startswith("build"))
            ]
            names += [os.path.normpath(os.path.join(folder, name)) for name in files]
    return sorted(name for name in names if name and os.path.isfile(name))


def blank(match):
    """A comment or literal, replaced by spaces: line numbers stay right, words in it do not count."""
    return re.sub(r"[^\n]", " ", match.group(0))


class Linter:
    def __init__(self):
        self.errors = 0
        self.warnings = 0

    def error(self, path, line, message):
        self.errors += 1
        print(f"{path}:{line}: {message}")

    def warn(self, path, line, message):
        self.warnings += 1
        print(f"{path}:{line}: warning: {message}")

    def check_text(self, path, text):
        for number, line in enumerate(text.split("\n"), 1):
            if MACHINE_PATH.search(line):
                self.error(path, number, "path of one machine: " + line.strip())
            if LEFTOVER.search(line):
                self.error(path, number, "mark of unfinished work: " + line.strip())

    def check_licence(self, path, text):
        head = "\n".join(text.split("\n")[:3])
        if "SPDX-License-Identifier: Apache-2.0" not in head:
            self.error(path, 1, "no SPDX-License-Identifier line at the top")

    def check_length(self, path, text):
        lines = text.count("\n")
        if lines > FILE_LINES_MAX:
            self.error(path, FILE_LINES_MAX, f"{lines} lines, {FILE_LINES_MAX} is the limit: split it by subject")
        for number, line in enumerate(text.split("\n"), 1):
            if path.endswith(SOURCE_ENDINGS) and len(line) > LINE_COLUMNS_MAX:
                self.error(path, number, f"line of {len(line)} columns, {LINE_COLUMNS_MAX} is the limit")

    def check_functions(self, path, code):
        start = None
        for number, line in enumerate(code.split("\n"), 1):
            if line.startswith("{"):
                start = number
            elif line.startswith("}") and start is not None:
                lines = number - start + 1
                if lines > FUNCTION_LINES_MAX:
                    self.error(path, start, f"function of {lines} lines, {FUNCTION_LINES_MAX} is the limit")
                elif lines > FUNCTION_LINES_WANTED:
                    self.warn(path, start, f"function of {lines} lines, {FUNCTION_LINES_WANTED} is enough")
                start = None

    def check_calls(self, path, code, banned):
        pattern = re.compile(r"(?<![\w.>])(" + "|".join(banned) + r")\s*\(")
        for number, line in enumerate(code.split("\n"), 1):
            for call in pattern.findall(line):
                self.error(path, number, f"{call}() is banned here: {banned[call]}")

    def check_layers(self, path, text):
        parts = path.split("/")
        if len(parts) != 3 or parts[0] != "src" or parts[1] not in LAYERS:
            return
        allowed = LAYERS[parts[1]] | {parts[1], "opscope"}
        for match in INCLUDE.finditer(text):
            if match.group(1) not in allowed:
                line = text.count("\n", 0, match.start(1)) + 1
                self.error(path, line, f"src/{parts[1]} must not include from {match.group(1)}/")

    def check_file(self, path):
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            text = file.read()
        self.check_text(path, text)
        if path.endswith(SOURCE_ENDINGS + SCRIPT_ENDINGS) or path in ("CMakeLists.txt", "Makefile", ".ci/run"):
            self.check_licence(path, text)
            self.check_length(path, text)
        if path.endswith(SOURCE_ENDINGS):
            code = CODE_TOKEN.sub(blank, text)
            self.check_functions(path, code)
            self.check_calls(path, code, BANNED)
            if path.startswith("src/") and not path.startswith("src/cli/"):
                self.check_calls(path, code, BANNED_IN_LIBRARIES)
            self.check_layers(path, text)


def main():
    linter = Linter()
    named = sys.argv[1:]
    for path in named or tree_files():
        if path.endswith(TEXT_ENDINGS) or path in ("Makefile", ".ci/run"):
            linter.check_file(path)
    return 1 if linter.errors else 0


if __name__ == "__main__":
    sys.exit(main())
