# SPDX-License-Identifier: Apache-2.0
"""The lint refuses a planted violation of each of its rules, and lets the same file pass without it."""

import os
import shutil
import subprocess
import sys
import unittest

import harness

LICENCE = "/* SPDX-License-Identifier: Apache-2.0 */\n"
SCRIPT_LICENCE = "# SPDX-License-Identifier: Apache-2.0\n"
# Who may include whom, as the architecture has it: written down here once more, so that the lint cannot be loosened
# unseen. A folder may always include its own headers; the public ones are for what is in the program, or starts it.
MAY_INCLUDE = {
    "src/base": "",
    "src/text": "base",
    "src/session": "base",
    "src/record": "session base",
    "src/trace": "base",
    "src/collect": "session trace text base",
    "src/ops": "trace text base",
    "src/import": "ops trace text base",
    "src/analyze": "ops trace text base",
    "src/load": "import analyze ops trace text base",
    "src/present": "analyze ops trace text base",
    "src/compat": "analyze/report present text base",
    "src/measure": "analyze/overhead text base",
    "src/doctor": "present collect session text base",
    "src/serve": "load doctor present analyze import ops collect session trace text base",
    "src/cli": "load doctor serve measure compat present analyze import ops collect session trace record text base",
    "python/src": "record/fast.h base",
}
PUBLIC_HEADERS_IN = ("src/record", "src/measure", "src/cli", "python/src")
ROOMS = ("base text session record trace collect ops import load analyze analyze/report analyze/diff analyze/overhead present "
         "compat doctor measure serve cli").split()


def function(lines):
    return "static void f(void)\n{\n" + "    g();\n" * (lines - 2) + "}\n"


def inside(line):
    return f"static void f(void)\n{{\n    {line}\n}}\n"


def include(name):
    return f'#include "{name}"\n'


HARDENING = ("-fstack-protector-strong -fstack-clash-protection -fcf-protection=full -D_FORTIFY_SOURCE=3 -Wl,-z,relro -Wl,-z,now "
             "-ffile-prefix-map=\n")

# (rule, file, what is planted, what is fine, a part of the message)
RULES = [
    ("licence", "src/base/x.c", None, "", "no SPDX-License-Identifier line"),
    ("licence of a script", "scripts/x.py", None, "", "no SPDX-License-Identifier line"),
    ("file length", "src/base/x.c", "int a;\n" * 800, "int a;\n" * 799, "801 lines, 800 is the limit"),
    ("line length", "src/base/x.c", "// " + "x" * 118 + "\n", "// " + "x" * 117 + "\n", "line of 121 columns"),
    ("function length", "src/base/x.c", function(101), function(80), "function of 101 lines, 100 is the limit"),
    ("unfinished", "docs/x.md", "TO" + "DO: later\n", "to do: later\n", "mark of unfinished work"),
    ("machine's path", "docs/x.md", "see /ho" + "me/me/x\n", "see ~/x\n", "path of one machine"),
    ("folder of an include", "src/base/x.c", include("bytes.h"), include("base/bytes.h"), '"bytes.h" names no folder'),
    ("folder of an include, by a way around", "src/base/x.c", include("base/../cli/view.h"), "", "names no folder"),
    ("a header of ours in brackets", "src/base/x.c", "#include <cli/view.h>\n", "#include <sys/types.h>\n",
     "<cli/view.h> is a header of ours: quote it"),
    ("internal header", "src/collect/x.c", include("trace/reader/internal.h"), include("trace/reader.h"),
     "trace/reader/internal.h is for its own folder only"),
    ("internal header of a parent", "src/analyze/report/x.c", include("analyze/internal.h"), "",
     "analyze/internal.h is for its own folder only"),
    ("a vendor's room", "src/import/x.c", include("import/tenstorrent/host.h"), include("import/file_map.h"),
     "import/tenstorrent/host.h is for"),
    ("a vendor's room from the commands", "src/cli/command/x.c", include("import/tenstorrent/host.h"), "", "is for"),
    ("separate rooms", "src/analyze/report/x.c", include("analyze/diff/diff.h"), include("analyze/machine.h"),
     "src/analyze/report must not include analyze/diff/diff.h"),
    ("separate rooms, their exception", "src/analyze/diff/x.c", include("analyze/report/report.h"),
     include("analyze/report/class.h"), "src/analyze/diff must not include analyze/report/report.h"),
    ("a layer from a sub-folder", "src/analyze/report/x.c", include("present/table.h"), include("ops/ops.h"),
     "src/analyze must not include present/table.h"),
    ("a vendor's word", "src/ops/x.c", "/* worm" + "hole */\n", "/* a chip */\n", "a vendor's word outside its rooms"),
    ("static object in a function", "src/present/x.c", inside("static int calls;"), inside("static const int calls = 1;"),
     "mutable object inside a function outlives the call"),
    ("static pointer in a function", "src/present/x.c", inside("static const char *last;"),
     inside('static const char *const last = "";'), "mutable object inside a function outlives the call"),
    ("static table of pointers in a function", "src/present/x.c", inside('static const char *names[] = {"a"};'),
     inside('static const char *const names[] = {"a"};'), "mutable object inside a function outlives the call"),
    ("static object of a thread", "src/present/x.c", inside("static _Thread_local int calls;"),
     inside("static const struct { const char *name; } calls[1];"), "mutable object inside a function outlives the call"),
    ("static object in a macro", "src/present/x.c", "#define X(n) \\\n    static int n = 1; \\\n    f(n)\n",
     "#define X(n) \\\n    static int *n(int a) \\\n    {}\n", "mutable object inside a function outlives the call"),
    ("elements counted by hand", "src/ops/x.c", "int n = sizeof a / sizeof a[0];\n", "int n = COUNT_OF(a);\n",
     "COUNT_OF (base/count_of.h) counts elements"),
    ("elements counted by hand, in brackets", "python/src/x.c", "int n = (int)(sizeof(a) / sizeof(a[0]));\n",
     "int n = sizeof(a) / sizeof(b[0]);\n", "COUNT_OF (base/count_of.h) counts elements"),
    ("no part of a command", "src/cli/x.c", include("present/table.h"), include("cli/view.h"),
     "includes neither cli/command/command.h nor cli/view.h"),
    ("a test that runs nothing by itself", "tests/system/test_x.py", "import unittest\n", "unittest.main()\n",
     "started by itself it tests nothing"),
    ("a protection taken back", "cmake/X.cmake", "add_compile_options(-fno-stack-protector)\n",
     "add_compile_options(-fno-plt)\n", "takes a protection back"),
    ("a protection gone", "cmake/Hardening.cmake", "", HARDENING, "-fstack-protector-strong is gone"),
    ("static array in a function", "src/cli/command/x.c", inside("static char text[80];"), inside("char text[80];"),
     "mutable object inside a function outlives the call"),
]  # fmt: skip
GENERATED = "src/cli/run/python_options.def"
BANNED = "strcpy strcat sprintf vsprintf strtok gets atoi atol atoll atof alloca mktemp tmpnam".split()
BANNED_IN_LIBRARIES = "exit abort printf puts putchar perror".split()


class Lint(harness.TestCase):
    """Files of their own in a scratch folder, beside a copy of the linter."""

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("scripts"))
        for name in ("lint_sources.py", "tree.py"):
            if os.path.exists(os.path.join(harness.SOURCE, "scripts", name)):
                shutil.copy(os.path.join(harness.SOURCE, "scripts", name), self.path("scripts"))

    def lint(self, files):
        """What the linter says of {path: text}; the licence line is put in front, unless the text is None."""
        for path, text in files.items():
            os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
            with open(self.path(path), "w", encoding="utf-8") as file:
                licence = SCRIPT_LICENCE if path.endswith(".py") else "" if path.endswith(".md") else LICENCE
                file.write("int a;\n" if text is None else licence + text)
        done = self.run_command([sys.executable, "scripts/lint_sources.py", *files])
        self.assertIn(done.status, (0, 1), done)
        self.assertEqual(done.stderr, "", done)
        return done

    def test_each_rule(self):
        for rule, path, bad, good, message in RULES:
            with self.subTest(rule):
                done = self.lint({path: bad})
                self.assert_status(done, 1)
                self.assertIn(message, done.stdout)
                self.assertTrue(done.stdout.startswith(path + ":"), done)
                done = self.lint({path: good})
                self.assert_status(done, 0)
                self.assertEqual(done.stdout, "")

    def test_banned_functions(self):
        for name in BANNED:
            done = self.lint({"src/cli/command/x.c": inside(f"{name}(a);")})
            self.assert_status(done, 1)
            self.assertIn(f"{name}() is banned here", done.stdout)
        for name in BANNED_IN_LIBRARIES:
            done = self.lint({"src/analyze/x.c": inside(f"{name}(a);")})
            self.assert_status(done, 1)
            self.assertIn(f"{name}() is banned here", done.stdout)
            self.assert_status(self.lint({"src/cli/command/x.c": inside(f"{name}(a);")}), 0)
        fine = inside('my_strcpy(a); s->printf(a); say("strcpy(a)"); /* sprintf(a) */')
        self.assert_status(self.lint({"src/analyze/x.c": fine}), 0)

    def test_a_command_in_two_files(self):
        """The header of a file counts as part of it."""
        part, header = include("cli/part.h"), include("cli/command/command.h")
        self.assert_status(self.lint({"src/cli/part.h": "", "src/cli/part.c": part}), 1)
        self.assert_status(self.lint({"src/cli/part.h": header, "src/cli/part.c": part}), 0)

    def test_a_folder_of_many_files(self):
        done = self.lint({f"src/ops/x{i}.c": "" for i in range(31)})
        self.assert_status(done, 1)
        self.assertEqual(done.stdout, "src/ops:0: 31 files, 30 is the limit: split it by subject\n")
        self.assert_status(self.lint({f"src/ops/x{i}.c": "" for i in range(30)} | {"src/ops/README.md": ""}), 0)
        self.assert_status(self.lint({f"src/cli/x{i}.c": include("cli/command/command.h") for i in range(31)}), 0)

    def test_files_of_one_prefix(self):
        five = {f"src/ops/time_{i}.c": "" for i in range(4)} | {"src/ops/time.c": "", "src/ops/time.h": ""}
        done = self.lint(five)
        self.assert_status(done, 1)
        self.assertEqual(done.stdout, "src/ops:0: 5 sources called time...: give them a folder time/, and drop the prefix\n")
        del five["src/ops/time_3.c"]
        self.assert_status(self.lint(five), 0)
        self.assert_status(self.lint({f"src/cli/x_{i}.c": include("cli/command/command.h") for i in range(5)}), 0)

    def test_only_one_file_reads_an_internal_header_of_others(self):
        internal = include("trace/reader/internal.h")
        self.assert_status(self.lint({"src/trace/writer/resume.c": internal}), 0)
        self.assert_status(self.lint({"src/trace/writer/file.c": internal}), 1)

    def test_every_pair_of_folders(self):
        """Each include of a room's header from each other room, all in one run of the linter."""
        files, refused = {}, set()
        for room, allowed in MAY_INCLUDE.items():
            own = room.removeprefix("src/")
            folder = "src/cli/command" if room == "src/cli" else room
            for other in ROOMS:
                path, name = f"{folder}/{other.replace('/', '_')}.c", f"{other}/fast.h"
                files[path] = include(name)
                if not any((name + "/").startswith(folder + "/") for folder in [*allowed.split(), own]):
                    refused.add(f"{path}:2: {room} must not include {name}")
        done = self.lint(files)
        self.assertEqual(set(done.stdout.splitlines()), refused)
        self.assertGreater(len(refused), 100)

    def test_public_headers_are_for_those_that_record(self):
        files = {f"{room}/sub/x.c": include("opscope/opscope.h") for room in MAY_INCLUDE}
        refused = {f"{room}/sub/x.c:2: {room} must not include opscope/opscope.h" for room in MAY_INCLUDE
                   if room not in PUBLIC_HEADERS_IN}  # fmt: skip
        self.assertEqual(set(self.lint(files).stdout.splitlines()), refused)


@unittest.skipUnless(shutil.which("clang-format") and shutil.which("shellcheck"), "needs clang-format and shellcheck")
class Whole(harness.TestCase):
    def test_script(self):
        """scripts/lint.sh on a small tree: formatting, sources, generated options and shell scripts, all of them named."""
        shutil.copytree(os.path.join(harness.SOURCE, "scripts"), self.path("scripts"))
        for name in (".clang-format", "python/opscope/_start.py", GENERATED):
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            shutil.copy(os.path.join(harness.SOURCE, name), self.path(name))
        os.makedirs(self.path("src", "base"))

        def write(name, text):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)

        write("src/base/x.c", LICENCE + "int a;\n")
        write("scripts/x.sh", "#!/bin/sh\n" + SCRIPT_LICENCE + "echo fine\n")
        if shutil.which("git"):  # without git the scripts list the folder themselves
            subprocess.run(["git", "init", "-q"], cwd=self.folder, check=True)
        done = self.run_command(["scripts/lint.sh"])
        self.assert_status(done, 0)
        self.assertIn("fine", done.stdout)
        write("src/base/x.c", LICENCE + "int  a ;\n")
        write("src/base/y.c", LICENCE + "int gets(a);\n")
        write("scripts/x.sh", "#!/bin/sh\n" + SCRIPT_LICENCE + "for x in $(ls); do echo $x; done\n")
        with open(self.path(GENERATED), "a", encoding="utf-8") as file:
            file.write("/* edited */\n")
        done = self.run_command(["scripts/lint.sh"])
        self.assert_status(done, 1)
        for part in (GENERATED, "code should be clang-formatted", "gets() is banned here", "SC2086"):
            self.assertIn(part, done.stdout + done.stderr)


@unittest.skipUnless(shutil.which("git") and shutil.which("clang-format"), "needs git and clang-format")
class PreCommit(harness.TestCase):
    """scripts/pre-commit.sh as git's hook, in a repository of its own."""

    def git(self, *arguments):
        names = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        return self.run_command(["git", *arguments], cwd=self.folder, env={**os.environ, **names})

    def test_what_is_staged_counts(self):
        shutil.copytree(os.path.join(harness.SOURCE, "scripts"), self.path("scripts"), ignore=shutil.ignore_patterns("*.pyc", "__pycache__"))
        for name in (".clang-format", "python/opscope/_start.py", GENERATED):
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            shutil.copy(os.path.join(harness.SOURCE, name), self.path(name))
        os.makedirs(self.path("src", "base"))

        def stage(text):
            with open(self.path("src", "base", "x y.c"), "w", encoding="utf-8") as file:
                file.write(LICENCE + text)
            self.assert_status(self.git("add", "."), 0)

        self.assert_status(self.git("init", "-q"), 0)
        os.symlink("../../scripts/pre-commit.sh", self.path(".git", "hooks", "pre-commit"))
        stage("int a;\n")
        self.assert_status(self.git("commit", "-qm", "fine"), 0)
        for bad, message in (("int  b ;\n", "code should be clang-formatted"), ("int gets(b);\n", "gets() is banned here")):
            stage(bad)
            with open(self.path("src", "base", "x y.c"), "w", encoding="utf-8") as file:
                file.write(LICENCE + "int b;\n")  # put right, but not staged
            done = self.git("commit", "-qm", "bad")
            self.assert_status(done, 1)
            self.assertIn(message, done.stdout + done.stderr)
        stage("int b;\n")
        with open(self.path("src", "base", "x y.c"), "a", encoding="utf-8") as file:
            file.write("int  c ;\n")  # not staged
        self.assert_status(self.git("commit", "-qm", "fine, too"), 0)
        self.assertEqual(self.git("log", "--format=%s").stdout.splitlines(), ["fine, too", "fine"])


class Tree(harness.TestCase):
    def test_the_same_files_with_and_without_git(self):
        """Nothing that was built or installed: a machine without git has no list of what is ignored."""
        shutil.copytree(os.path.join(harness.SOURCE, "scripts"), self.path("scripts"), ignore=shutil.ignore_patterns("*.pyc", "__pycache__"))
        shutil.copy(os.path.join(harness.SOURCE, ".gitignore"), self.path(".gitignore"))
        names = ("README.md", "docs/a.md", "docs/building.md", "web/node_modules/x/README.md", "build/a.md", "build-2/a.md", "a.c")
        for name in names:
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write("[a link](that/leads/nowhere)\n")
        wanted = ["README.md", "docs/a.md", "docs/building.md"]
        command = [sys.executable, self.path("scripts", "tree.py"), "*.md"]
        env = {**os.environ, "PATH": self.folder}
        self.assertEqual(self.run_command(command, env=env).stdout.split(), wanted)
        if shutil.which("git"):
            subprocess.run(["git", "init", "-q"], cwd=self.folder, check=True)
            self.assertEqual(self.run_command(command).stdout.split(), wanted)


class NamedFiles(harness.TestCase):
    """scripts/check_docs.py files, on a small tree: what a page calls by name is there."""

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("scripts"))
        for name in ("check_docs.py", "tree.py"):
            shutil.copy(os.path.join(harness.SOURCE, "scripts", name), self.path("scripts"))
        for name in ("src/base/bytes.c", "tests/README.md", "web/src/main.tsx"):
            self.write(name, "")

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def named_in_vain(self, page, text):
        self.write(page, text)
        done = self.run_command([sys.executable, "scripts/check_docs.py", "files"])
        os.remove(self.path(page))
        found = [line.removeprefix(f"{page}: no such file: ") for line in done.stdout.splitlines()]
        self.assert_status(done, 1 if found else 0)
        return found

    def test_a_name_that_is_there(self):
        fine = "`src/base/bytes.c`, `src/base/`, `src/base/{bytes.c,bytes.c}`, `make -C web/src/main.tsx:3`\n```\ncat src/base/bytes.c\n```\n"
        for page in ("docs/a.md", "README.md", "CONTRIBUTING.md", "tests/README.md"):
            self.assertEqual(self.named_in_vain(page, fine), [])
            self.write("tests/README.md", "")

    def test_a_name_of_nothing(self):
        for page in ("docs/internals/a.md", "README.md", "CONTRIBUTING.md"):
            self.assertEqual(self.named_in_vain(page, "see `src/base/byte.c`\n"), ["src/base/byte.c"])
            self.assertEqual(self.named_in_vain(page, "run `sh scripts/gone.sh` now\n"), ["scripts/gone.sh"])
            self.assertEqual(self.named_in_vain(page, "`src/base/{bytes,slice}.c`\n"), ["src/base/slice.c"])
            self.assertEqual(self.named_in_vain(page, "```\nnpm --prefix web/page test\n```\n"), ["web/page"])
            self.assertEqual(self.named_in_vain(page, "`docs/README.md`\n"), ["docs/README.md"])

    def test_the_end_of_a_path_is_enough_beside_the_mechanisms(self):
        self.assertEqual(self.named_in_vain("docs/internals/a.md", "`bytes.c`, `base/bytes.c`, `../../src/base/bytes.c`\n"), [])
        self.assertEqual(self.named_in_vain("docs/internals/a.md", "`slice.c`, `text/bytes.c`\n"), ["slice.c", "text/bytes.c"])
        self.assertEqual(self.named_in_vain("docs/a.md", "your `train.c`, `python3 train.py`\n"), [])

    def test_a_function_is_in_the_file_named_after_it(self):
        self.write("src/base/bytes.c", "static int grow(struct bytes *b,\n                size_t size)\n{\n    return take(b);\n}\n")
        self.write("web/src/main.tsx", "export async function start<T>(at: T): Promise<T> {\n}\nclass A {\n    private draw(): void {\n")
        fine = "`grow` (`src/base/bytes.c`), `start`\n(`web/src/main.tsx`), `draw` (`web/src/main.tsx`)\n"
        self.assertEqual(self.named_in_vain("docs/internals/README.md", fine), [])
        self.write("docs/internals/README.md", "`take` (`src/base/bytes.c`), `stop` (`web/src/main.tsx`)\n")
        done = self.run_command([sys.executable, "scripts/check_docs.py", "files"])
        self.assert_status(done, 1)
        self.assertEqual(done.stdout.splitlines(), ["docs/internals/README.md: no such function: take in src/base/bytes.c",
                                                    "docs/internals/README.md: no such function: stop in web/src/main.tsx"])

    def test_the_page_of_a_room_names_its_files_from_there(self):
        self.write("src/text/csv/cell.h", "")
        fine = "`bytes.c`, `src/base/bytes.c`, `src/text/`, `struct bytes`, `/api/t/0`\n"
        self.assertEqual(self.named_in_vain("src/base/README.md", fine), [])
        self.assertEqual(self.named_in_vain("src/base/README.md", "`main.tsx`, `cell.h`, `csv/`\n"), ["main.tsx", "cell.h", "csv"])
        self.assertEqual(self.named_in_vain("src/text/README.md", "`csv/cell.h`, `csv/`, `csv/row.h`\n"), ["csv/row.h"])

    def rooms(self):
        done = self.run_command([sys.executable, "scripts/check_docs.py", "rooms"])
        self.assert_status(done, 1 if done.stdout else 0)
        return done.stdout.splitlines()

    def test_a_room_has_a_short_page(self):
        self.assertEqual(self.rooms(), ["src/base/ has no README.md"])
        self.write("src/base/README.md", "line\n" * 10)
        self.assertEqual(self.rooms(), [])
        self.write("web/src/README.md", "line\n" * 11)
        self.assertEqual(self.rooms(), ["web/src/README.md: 11 lines, 10 is the limit: the rest belongs in docs/internals/"])

    def test_what_is_no_name_of_ours(self):
        others = "`tests/unit/test_NAME.c`, `src/**.c`, `docs/…`, `web/dist/app.js`, `~/src/x.c`, `their/src/x.c`, `examples/N/`, src/x.c\n"
        self.assertEqual(self.named_in_vain("docs/a.md", others), [])


if __name__ == "__main__":
    unittest.main()
