#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what no compiler does: licence lines, banned functions, lengths, layering, leftovers.

Works on the text of the files: comments and string literals are blanked where code is meant. A function is
what lies between a "{" and a "}" in the first column, which is how .clang-format leaves it. Prints
file:line: message, and ends with status 1 when there was an error; warnings do not count.
"""

import os
import re
import sys

from tree import tree_files

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
# Which folder may include headers of which others. The longest folder that contains a file decides; what it allows
# covers the sub-folders of what is named. A folder may always include from itself; "opscope" is include/opscope.
LAYERS = {
    "src/base": [],
    "src/text": ["base"],
    "src/session": ["base"],
    "src/record": ["session", "base", "opscope"],
    "src/trace": ["base"],
    "src/collect": ["session", "trace", "text", "base"],
    "src/ops": ["trace", "text", "base"],
    "src/import": ["ops", "trace", "text", "base"],
    "src/analyze": ["ops", "trace", "text", "base"],
    "src/load": ["import", "analyze", "ops", "trace", "text", "base"],
    "src/present": ["analyze", "ops", "trace", "text", "base"],
    "src/compat": ["analyze/report", "present", "import/op_rows.h", "text", "base"],
    "src/doctor": ["present", "collect", "session", "text", "base"],
    "src/measure": ["analyze/overhead", "text", "base", "opscope"],
    "src/serve": ["load", "doctor", "present", "analyze", "import", "ops", "collect", "session", "trace", "text", "base"],
    "src/cli": ["load", "serve", "doctor", "measure", "compat", "present", "analyze", "import", "ops", "collect", "session", "trace",
                "record", "text", "base", "opscope"],
    "python/src": ["record/fast.h", "base", "opscope"],
}
# A file of src/cli/ is part of a command: it, or its own header, includes one of these. Else it is in the wrong room.
COMMAND_HEADERS = ("cli/command/command.h", "cli/view.h")
# Folders stay small enough to be read at a glance. src/cli/ has one file per command.
FOLDER_FILES_MAX = 30
LARGE_FOLDERS = ("src/cli",)
# What takes a protection of cmake/Hardening.cmake back; the file itself must go on naming what it gives.
SOFTENING = re.compile(r"-fno-stack-protector|-fno-stack-clash-protection|-fcf-protection=none|-z,(?:norelro|lazy|execstack)|"
                       r"-no-pie|FORTIFY_SOURCE=0")
HARDENING = ("-fstack-protector-strong", "-fstack-clash-protection", "-fcf-protection=full", "-D_FORTIFY_SOURCE=3", "-Wl,-z,relro",
             "-Wl,-z,now", "-ffile-prefix-map=")
PREFIX_FILES_MAX = 4  # sources whose names begin with the same word: a fifth makes them a folder, without the word
# Rooms that only the named files may look into, whatever their folder allows.
PRIVATE_ROOMS = {
    "import/tenstorrent": ["src/import/tenstorrent/", "src/import/open.c", "src/cli/device_stats.c",
                           "src/cli/ops_per_core.c"],
}
# The sub-folders of these never include each other, with the exceptions named.
SEPARATE_ROOMS = {"analyze": {("diff", "report/class.h"), ("overview", "report/report.h"), ("overview", "events/frames.h"),
                             ("overview", "zones/stats.h"), ("overview", "zones/waiting.h")}}
# One vendor's words stay in these rooms: the rest of the tree knows ops, not whose they are.
VENDOR_WORDS = re.compile(r"tt_(?!perf_report/)|tenstorrent|\"OP CODE\"|wormhole", re.I)
VENDOR_ROOMS = ("src/import/tenstorrent/", "src/import/open.c", "src/import/ops_csv", "src/compat/",
                "src/present/report/ops_csv_tt", "src/cli/device_stats.c", "src/cli/ops_per_core.c",
                "src/cli/import.c")  # whose argument is the name of the vendor
# An internal header is for its own folder; the one file that continues what another folder's code opens is named here.
INTERNAL_READERS = {("src/trace/writer/resume.c", "trace/reader/internal.h")}
# Where an object that outlives the call may be declared inside a function: once per process, by design.
STATIC_ROOMS = ("src/record/", "src/session/", "src/measure/", "src/base/calibration.h")
GENERATED_HEADERS = ("build_config.h",)
SOURCE_ENDINGS = (".c", ".h", ".cpp", ".hpp")
SCRIPT_ENDINGS = (".py", ".sh", ".cmake")
TEXT_ENDINGS = SOURCE_ENDINGS + SCRIPT_ENDINGS + (".md", ".in", ".txt", ".map", ".json")
# Paths of somebody's machine, and marks of unfinished work. Built from pieces so that this file passes.
MACHINE_FOLDERS = ["wo" + "rk", "ro" + "ot", "ho" + "me/[a-z]+", "Us" + "ers"]
MACHINE_PATH = re.compile(r"(?<![\w.$}])/(?:" + "|".join(MACHINE_FOLDERS) + r")/")
UNFINISHED_MARKS = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]
LEFTOVER = re.compile(r"\b(?:" + "|".join(UNFINISHED_MARKS) + r")\b")

CODE_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
OWN_IN_BRACKETS = re.compile(r"^\s*#\s*include\s+<((?:" + "|".join(name.split("/")[1] for name in LAYERS) + r"|opscope)/[^>]+)>", re.M)
# What reads traces, and a table that grows until an id of one fits.
TRACE_ID_ROOMS = ("src/ops/", "src/analyze/", "src/load/", "src/present/", "src/serve/", "src/cli/")
GROWS_TO_ID = re.compile(r"array_reserve\([^;{]*\(size_t\)(\w+(->|\.))*(track|name|process|clock|description|frame)(_id)? \+ 1\b")
OWN_COUNT_OF = re.compile(r"sizeof\b\W*(\w+)\W*/\s*sizeof\b\W*\1\b")
INNER_STATIC = re.compile(r"^\s+(?:_Thread_local\s+)?static\s+(.*)")
FUNCTION_HEAD = re.compile(r"(?:inline\s+|[\w:]+\s+|const\s+|\*\s*)+\w+\(")


def blank(match):
    """A comment or literal, replaced by spaces: line numbers stay right, words in it do not count."""
    return re.sub(r"[^\n]", " ", match.group(0))


def outlives_its_call(line):
    """Whether this line within a function declares a static object that can change. A pointer to what is constant can."""
    match = INNER_STATIC.match(line)
    if not match or FUNCTION_HEAD.match(match.group(1)):
        return False
    declared = re.split(r"[={;]", match.group(1))[0]
    return not re.search(r"\*\s*const\b[^*]*$" if "*" in declared else r"\bconst\b", declared)


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
        """Every quoted include names its folder, and the folder is one that the table allows."""
        room = max((room for room in LAYERS if path.startswith(room + "/")), key=len, default=None)
        if room is None:
            return
        own = room.removeprefix("src/")
        for match in OWN_IN_BRACKETS.finditer(text):
            line = text.count("\n", 0, match.start(1)) + 1
            self.error(path, line, f"<{match.group(1)}> is a header of ours: quote it")
        for match in INCLUDE.finditer(text):
            name = match.group(1)
            line = text.count("\n", 0, match.start(1)) + 1
            if "/" not in name and name not in GENERATED_HEADERS or ".." in name.split("/"):
                self.error(path, line, f'"{name}" names no folder')
                continue
            allowed = LAYERS[room] + [own]
            if "/" in name and not any(name == folder or name.startswith(folder + "/") for folder in allowed):
                self.error(path, line, f"{room} must not include {name}")
            is_own = os.path.dirname("src/" + name) == os.path.dirname(path) or (path, name) in INTERNAL_READERS
            if name.endswith("internal.h") and not is_own:
                self.error(path, line, f"{name} is for its own folder only")
            self.check_rooms(path, line, name)

    def check_command(self, path, text):
        """What a page, a server or a test would need as well does not live among the commands."""
        if os.path.dirname(path) not in ("src/cli", "src/cli/run") or not path.endswith(".c"):
            return
        header = os.path.splitext(path)[0] + ".h"
        if os.path.isfile(header):
            with open(header, encoding="utf-8", errors="replace") as file:
                text += file.read()
        if not any(name in COMMAND_HEADERS for name in INCLUDE.findall(text)):
            self.error(path, 1, f"includes neither {' nor '.join(COMMAND_HEADERS)}: no part of a command")

    def check_folders(self, paths):
        counts, prefixes = {}, {}
        for path in paths:
            folder, name = os.path.split(path)
            if not folder.startswith("src/") or folder in LARGE_FOLDERS or name.endswith(".md"):
                continue
            counts[folder] = counts.get(folder, 0) + 1
            if name.endswith((".c", ".cpp")):
                prefix = folder, os.path.splitext(name)[0].split("_")[0]
                prefixes[prefix] = prefixes.get(prefix, 0) + 1
        for folder, count in sorted(counts.items()):
            if count > FOLDER_FILES_MAX:
                self.error(folder, 0, f"{count} files, {FOLDER_FILES_MAX} is the limit: split it by subject")
        for (folder, prefix), count in sorted(prefixes.items()):
            if count > PREFIX_FILES_MAX:
                self.error(folder, 0, f"{count} sources called {prefix}...: give them a folder {prefix}/, and drop the prefix")

    def check_rooms(self, path, line, name):
        for room, readers in PRIVATE_ROOMS.items():
            if name.startswith(room + "/") and not path.startswith(tuple(readers)):
                self.error(path, line, f"{name} is for {', '.join(readers)} only")
        for parent, exceptions in SEPARATE_ROOMS.items():
            inside = path.removeprefix(f"src/{parent}/")
            if inside == path or "/" not in inside or not name.startswith(parent + "/"):
                continue
            room, target = inside.split("/")[0], name.removeprefix(parent + "/")
            if "/" in target and target.split("/")[0] != room and (room, target) not in exceptions:
                self.error(path, line, f"src/{parent}/{room} must not include {name}")

    def check_vendor_words(self, path, text):
        if not path.startswith("src/") or path.startswith(VENDOR_ROOMS):
            return
        for number, line in enumerate(text.split("\n"), 1):
            if VENDOR_WORDS.search(line):
                self.error(path, number, "a vendor's word outside its rooms: " + line.strip())

    def check_statics(self, path, code):
        if not path.startswith("src/") or path.startswith(STATIC_ROOMS):
            return
        for number, line in enumerate(code.split("\n"), 1):
            if outlives_its_call(line):
                self.error(path, number, "mutable object inside a function outlives the call: " + line.strip())

    def check_counts(self, path, code):
        if not path.startswith(("src/", "python/src/")) or path == "src/base/count_of.h":
            return
        for number, line in enumerate(code.split("\n"), 1):
            if OWN_COUNT_OF.search(line):
                self.error(path, number, "COUNT_OF (base/count_of.h) counts elements: " + line.strip())

    def check_ids(self, path, code):
        """A flipped bit in an id must not ask for a table of gigabytes."""
        if not path.startswith(TRACE_ID_ROOMS):
            return
        for match in GROWS_TO_ID.finditer(code):
            number = code.count("\n", 0, match.start()) + 1
            self.error(path, number, "a table by an id is as long as the trace has such things (trace/ids.h)")

    def check_hardening(self, path, text):
        if path == "cmake/Hardening.cmake":
            for flag in HARDENING:
                if flag not in text:
                    self.error(path, 1, f"{flag} is gone")
        elif path == "CMakeLists.txt" or path.endswith(".cmake"):
            for number, line in enumerate(text.split("\n"), 1):
                if SOFTENING.search(line):
                    self.error(path, number, "takes a protection back: " + line.strip())

    def check_test(self, path, text):
        """Without it a file that is started by itself runs no test, and says nothing."""
        name = os.path.basename(path)
        if os.path.dirname(path) == "tests/system" and name.startswith("test_") and "unittest.main()" not in text:
            self.error(path, text.count("\n"), "does not end with unittest.main(): started by itself it tests nothing")

    def check_file(self, path):
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            text = file.read()
        self.check_text(path, text)
        if path.endswith(SOURCE_ENDINGS + SCRIPT_ENDINGS) or path in ("CMakeLists.txt", "Makefile", ".ci/run"):
            self.check_licence(path, text)
            self.check_length(path, text)
            self.check_test(path, text)
            self.check_hardening(path, text)
        if path.endswith(SOURCE_ENDINGS):
            code = CODE_TOKEN.sub(blank, text)
            self.check_functions(path, code)
            self.check_calls(path, code, BANNED)
            if path.startswith("src/") and not path.startswith("src/cli/"):
                self.check_calls(path, code, BANNED_IN_LIBRARIES)
            self.check_layers(path, text)
            self.check_command(path, text)
            self.check_statics(path, code)
            self.check_ids(path, code)
            self.check_counts(path, code)
            self.check_vendor_words(path, text)


def main():
    linter = Linter()
    named = sys.argv[1:]
    for path in named or tree_files(root=os.getcwd()):
        if path.endswith(TEXT_ENDINGS) or path in ("Makefile", ".ci/run"):
            linter.check_file(path)
    linter.check_folders(named or tree_files(root=os.getcwd()))
    return 1 if linter.errors else 0


if __name__ == "__main__":
    sys.exit(main())
