#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the documents agree with the tree: check_docs.py [--build DIR] [--write] [CHECK...].

links        every relative link in a Markdown file leads to a file, and its #anchor to a heading
commands     docs/commands/*.md are what the program writes itself (opscope help --markdown-all DIR)
coming-from  a row of docs/coming-from.md says "later" just where the command that it names is not there
files        every file or folder of the tree that a page names in backquotes exists; in the map for developers, the
             function named before it, too
rooms        every folder directly below src/ has a README, and a README beside code has at most ten lines
environment  every variable that the program, the recorder or the scripts read is in docs/environment.md

--write rewrites docs/commands/ instead of comparing.
"""

import argparse
import filecmp
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tree import SOURCE, tree_files

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)|!\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.M | re.S)
CODE = re.compile(r"`[^`\n]+`")
# How a variable is read: by name, or through a macro that holds the name; scripts and tests use their own forms.
READ_BY_NAME = re.compile(r'\b(?:secure_)?getenv\(\s*"(\w+)"')
NAMED_IN_A_STRING = re.compile(r'"(OPSCOPE_[A-Z_]+)(?:=|")')
READ_IN_SHELL = re.compile(r"\$\{?(OPSCOPE_[A-Z_]+)")
READ_IN_PYTHON = re.compile(r"environ(?:\.get\(|\[)\s*[\"'](\w+)[\"']")
# What the tests hand on to the runtime of the sanitizer: nothing here reads them.
READ_BY_OTHERS = {"ASAN_OPTIONS", "UBSAN_OPTIONS"}
# Pages whose words for files are held to the tree, and the folders that such a word may begin with.
PAGES_OF_FILES = re.compile(r"docs/.*|README\.md|CONTRIBUTING\.md|tests/README\.md|(?:src|python|web)/.*/README\.md")
NAMED_FILE = re.compile(r"(?<![\w./$~-])(?:\.github|bench|cmake|docs|examples|include|machines|python|scripts|src|tests|web)/(?:[^\s`'\"();:,|={}]|\{[^{}]*\})*")
# A page of docs/internals may call a source file by the end of its path; of the pages for users only those above are ours.
NAMED_SOURCE = re.compile(r"(?:\.\./)*([\w/.{},-]+\.(?:c|h|hpp|cpp|ts|tsx|py|sh|mjs|def|cmake))")
# The page of a room calls files and folders as its own files see them: from the room, or in full.
ROOM_PAGE = re.compile(r"(?:src|python|web)/.*/README\.md")
NAMED_IN_ROOM = re.compile(NAMED_SOURCE.pattern + r"|([\w/.-]+/)")
ROOM_LINES_MAX = 10
MAP = "docs/internals/README.md"
# There, `function` (`file`): the file has the function. In C a definition, in TypeScript a function or a method.
NAMED_FUNCTION = re.compile(r"`(\w+)`\s+\(`([\w/.-]+)`\)")
# What stands for any name: a word in capitals, a pattern, an ellipsis.
ANY_NAME = re.compile(r"[A-Z]{2,}|\bv?[A-Z]\b|[*<>$?\[…]|\.\.\.")
# What the build writes into the tree.
WRITTEN_BY_THE_BUILD = ("web/dist", "web/node_modules", "web/build")


def read(name):
    with open(os.path.join(SOURCE, name), encoding="utf-8", errors="replace") as file:
        return file.read()


def anchors(text):
    """The #names that a heading gets on the usual hosts."""
    found = set()
    for heading in re.findall(r"^#+\s+(.*?)\s*#*$", FENCE.sub("", text), re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
        name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        number = 1
        while (name if number == 1 else f"{name}-{number - 1}") in found:
            number += 1
        found.add(name if number == 1 else f"{name}-{number - 1}")
    return found | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def check_links():
    problems = []
    for name in tree_files("*.md"):
        text = CODE.sub("", FENCE.sub("", read(name)))
        for match in LINK.finditer(text):
            target = match.group(1) or match.group(2)
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            full = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            if not os.path.exists(os.path.join(SOURCE, full)):
                problems.append(f"{name}: no such file: {target}")
            elif anchor and full.endswith(".md") and anchor not in anchors(read(full)):
                problems.append(f"{name}: no such heading: {target}")
    return problems


def spellings(word):
    """`src/{a,b}.c` is src/a.c and src/b.c."""
    group = re.search(r"\{([^{}]*)\}", word)
    if not group:
        return [word]
    return [name for part in group.group(1).split(",") for name in spellings(word[: group.start()] + part + word[group.end() :])]


def names_of_files(page, code, there, ends):
    """(the names of files in a piece of code of a page, the names that there are)"""
    if ROOM_PAGE.fullmatch(page):
        source, folder = NAMED_IN_ROOM.fullmatch(code.strip("`")), os.path.dirname(page) + "/"
        ends = there | {name.removeprefix(folder) for name in there if name.startswith(folder)}
    else:
        source = NAMED_SOURCE.fullmatch(code.strip("`")) if page.startswith("docs/internals/") else None
    words = filter(None, source.groups()) if source else NAMED_FILE.findall(code)
    return [name for word in words for name in spellings(word)], ends if source else there


def check_files():
    files = tree_files()
    there = {name[:end] for name in files for end in [len(name), *(at.start() for at in re.finditer("/", name))]}
    ends = there | {name[at.end() :] for name in files for at in re.finditer("/", name)}
    problems = []
    for page in filter(PAGES_OF_FILES.fullmatch, tree_files("*.md")):
        text = read(page)
        for code in [block.group(0) for block in FENCE.finditer(text)] + CODE.findall(FENCE.sub("", text)):
            names, known = names_of_files(page, code, there, ends)
            for name in names:
                name = name.rstrip("/.")
                placeholder = ANY_NAME.search(name.replace("README.md", "")) or name.startswith(WRITTEN_BY_THE_BUILD)
                if name not in known and not placeholder:
                    problems.append(f"{page}: no such file: {name}")
        for function, name in NAMED_FUNCTION.findall(text) if page == MAP else ():
            if name in files and not re.search(rf"^[^\n;=]*\b{function}(?:<\w+>)?\([^;]*?\)[^;]*?\{{", read(name), re.M):
                problems.append(f"{page}: no such function: {function} in {name}")
    return problems


def check_rooms():
    pages = set(tree_files("README.md"))
    rooms = sorted({"/".join(name.split("/")[:2]) for name in tree_files("*.[ch]") if re.match(r"src/[^/]+/", name)})
    problems = [f"{room}/ has no README.md" for room in rooms if f"{room}/README.md" not in pages]
    for page in sorted(filter(ROOM_PAGE.fullmatch, pages)):
        lines = len(read(page).splitlines())
        if lines > ROOM_LINES_MAX:
            problems.append(f"{page}: {lines} lines, {ROOM_LINES_MAX} is the limit: the rest belongs in docs/internals/")
    return problems


def write_pages(program, folder):
    if not os.path.exists(program):
        return [f"{program} is not built"]
    done = subprocess.run([program, "help", "--markdown-all", folder], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return [f"opscope help --markdown-all: exit status {done.returncode}: {done.stderr.strip()}"]
    return []


def check_commands(build, write):
    program = os.path.join(build, "opscope")
    folder = os.path.join(SOURCE, "docs", "commands")
    if write:
        for path in glob.glob(os.path.join(folder, "*.md")):
            os.remove(path)
        os.makedirs(folder, exist_ok=True)
        return write_pages(program, folder)
    with tempfile.TemporaryDirectory() as fresh:
        problems = write_pages(program, fresh)
        if problems:
            return problems
        names = sorted({*os.listdir(fresh), *(n for n in os.listdir(folder) if n.endswith(".md"))})
        if not names:
            return ["the program wrote no page"]
        for name in names:
            ours, theirs = os.path.join(folder, name), os.path.join(fresh, name)
            if not os.path.exists(ours):
                problems.append(f"docs/commands/{name} is missing (make docs writes it)")
            elif not os.path.exists(theirs):
                problems.append(f"docs/commands/{name} is of no command (make docs removes it)")
            elif not filecmp.cmp(ours, theirs, shallow=False):
                problems.append(f"docs/commands/{name} is not what the program says (make docs rewrites it)")
        return problems


def check_coming_from(build):
    """The last cell is "later" where a row names a command that the program lacks, and only such a row names one."""
    done = subprocess.run([os.path.join(build, "opscope"), "--help"], capture_output=True, text=True, check=False)
    commands = set(re.findall(r"^  ([a-z-]+)  ", done.stdout, re.M))
    if not commands:
        return ["opscope --help names no command"]
    problems = []
    for row in re.findall(r"^\|(.*)\|\s*$", read("docs/coming-from.md"), re.M):
        cells = re.split(r"(?<!\\)\|", row)
        for command in set(re.findall(r"`opscope ([a-z-]+)", " ".join(cells[1:]))) - commands:
            if "later" not in cells[-1]:
                problems.append(f"docs/coming-from.md: no command {command}:{cells[0]}")
    return problems


def variables_read():
    """{variable: file that reads it}"""
    found = {}
    for name in tree_files("*.c", "*.h", "*.hpp", "*.sh", "*.py", "Makefile", ".ci/run"):
        text = read(name)
        if name.startswith(("src/", "include/")):
            names = READ_BY_NAME.findall(text) + NAMED_IN_A_STRING.findall(text)
        elif name.endswith(".py"):
            names = READ_IN_PYTHON.findall(text)
        elif name.endswith(".sh") or name in ("Makefile", ".ci/run"):
            names = READ_IN_SHELL.findall(text)
        else:
            names = []
        for variable in set(names) - READ_BY_OTHERS:
            found.setdefault(variable, name)
    return found


def check_environment():
    page = read("docs/environment.md")
    found = variables_read()
    if not found:
        return ["no variable found in the sources: this check is broken"]
    return [
        f"docs/environment.md says nothing of {variable} ({name})"
        for variable, name in sorted(found.items())
        if f"`{variable}`" not in page
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(SOURCE, "build"))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("checks", nargs="*", choices=["links", "files", "rooms", "commands", "coming-from", "environment", []])
    options = parser.parse_args()
    if options.write:
        problems = check_commands(os.path.abspath(options.build), True)
    else:
        checks = options.checks or ["links", "files", "rooms", "commands", "coming-from", "environment"]
        problems = []
        if "links" in checks:
            problems += check_links()
        if "files" in checks:
            problems += check_files()
        if "rooms" in checks:
            problems += check_rooms()
        if "commands" in checks:
            problems += check_commands(os.path.abspath(options.build), False)
        if "coming-from" in checks:
            problems += check_coming_from(os.path.abspath(options.build))
        if "environment" in checks:
            problems += check_environment()
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
