# SPDX-License-Identifier: Apache-2.0
"""Programs that are marked up for Tracy and are built with opscope's headers in place of Tracy's."""

import collections
import itertools
import json
import os
import re
import shutil
import unittest

import facts
import harness

PROGRAMS = os.path.join(harness.SOURCE, "tests", "system", "programs", "tracy")
COMPAT = os.path.join(harness.SOURCE, "include", "opscope", "compat")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
MODES = {"off": [], "on": ["-DTRACY_ENABLE", "-DTRACY_FIBERS"]}
NAME = re.compile(r"(?:Zone|Frame|Tracy|Lock|SharedLock)[A-Za-z]")
COMPILERS = {"c": ("gcc", "clang"), "cpp": ("g++", "clang++")}
LOCK_KEYS = ("locks", "holds", "shared_holds", "waits")
STANDARDS = {"c": ("c99", "c17"), "cpp": ("c++11", "c++20")}


def read(name):
    with open(os.path.join(PROGRAMS, name), encoding="utf-8") as file:
        return file.read()


def documented():
    """{header: [names]}"""
    headers = {}
    for line in read("documented.txt").splitlines():
        if re.fullmatch(r"Tracy\w*\.\w+", line):
            names = headers.setdefault(line, [])
        elif line and not line.startswith("#"):
            names += line.split()
    return headers


def compilers(language):
    return [name for name in COMPILERS[language] if shutil.which(name)]


class Case(harness.TestCase):
    def source(self, name, text):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def build_program(self, name, text):
        """A C++ program with TRACY_ENABLE."""
        source, program = self.source(f"{name}.cpp", text), self.path(name)
        done = self.run_command(["g++", *WARNINGS, "-pthread", "-DTRACY_ENABLE", f"-I{COMPAT}", source, "-o", program,
                                 f"-L{harness.BUILD}", "-lopscope", f"-Wl,-rpath,{harness.BUILD}"])
        self.assert_status(done)
        return program


class Recorded(Case):
    """Every macro once; what is to be in the trace was written down by hand."""

    def check(self, language, mode):
        expected = json.loads(read(f"macros.{language}.json"))
        path = self.path("t.opscope")
        done = self.opscope("run", "-q", "-o", path, "--", harness.program(f"macros_{language}_{mode}"))
        self.assert_status(done)
        self.assertEqual(done.stdout, expected["prints"])
        trace = facts.Trace(path)
        self.assertEqual((trace.lost_zones, trace.lost_records, trace.open_names()), (0, 0, []))
        self.assertEqual(self.zones(trace, language, expected["main thread"]), self.wanted_zones(expected))
        messages = [row["text"] for row in trace.messages() if row["kind"] == "message"]
        self.assertEqual(messages, expected["messages"])
        rows = self.opscope_json("frames", path)["rows"]
        self.assertEqual({row["name"]: row["count"] for row in rows}, expected["frames"])
        rows = self.opscope_json("counters", path)["rows"]
        counters = {row["name"]: [row["count"], row["min"], row["max"], row["last"]] for row in rows}
        self.assertEqual(counters, expected["counters"])
        rows = self.opscope_json("memory", path)["rows"]
        pools = {row["pool"]: [row["allocations"], row["releases"], row["allocated_bytes"]] for row in rows}
        self.assertEqual(pools, expected["memory"])
        locks = self.opscope_json("locks", path)["rows"]
        self.assertEqual({row["name"]: [row[key] for key in LOCK_KEYS] for row in locks}, expected["locks"])
        self.assertEqual([row["open_waits"] for row in locks], [0] * len(locks))
        for row in rows:
            self.assertEqual([row["live_bytes"], row["unmatched_releases"], row["lost_releases"]], [0, 0, 0], row)

    def wanted_zones(self, expected):
        rows = [row if len(row) == 4 else row + [{}] for row in expected["zones"]]
        return collections.Counter((track, name, line, str(sorted(more.items()))) for track, name, line, more in rows)

    def zones(self, trace, language, main):
        """Every zone with its track, the text of the line it is at, and its texts, value and colour."""
        done = self.opscope("export", trace.path, "--format", "chrome", "-o", self.path("out.json"))
        self.assert_status(done)
        with open(self.path("out.json"), encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        tracks = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
        lines = read(f"macros.{language}").splitlines()
        found = collections.Counter()
        for event in events:
            if event["ph"] == "X":
                more = dict(event["args"])
                more.pop("function", None)
                at = more.pop("at", None)
                place = re.search(rf"macros\.{language}:(\d+)$", at or "")
                text = lines[int(place.group(1)) - 1].strip() if place else at
                track = tracks[event["tid"]]
                track = "main" if track == main else track
                found[track, event["name"], text, str(sorted(more.items()))] += 1
        return found

    def test_c(self):
        self.check("c", "on")

    def test_c_on_demand(self):
        self.check("c", "demand")

    def test_cpp(self):
        self.check("cpp", "on")

    def test_cpp_on_demand(self):
        self.check("cpp", "demand")

    def test_without_a_session(self):
        for language, mode in itertools.product(("c", "cpp"), ("on", "demand")):
            with self.subTest(language=language, mode=mode):
                done = self.run_command([harness.program(f"macros_{language}_{mode}")])
                self.assert_status(done)
                self.assertEqual(done.stdout, json.loads(read(f"macros.{language}.json"))["prints without a session"])

    @harness.needs_command("g++")
    def test_fork_and_kill(self):
        """What Tracy's client loses: the zones of a forked child, and those of a program that is killed."""
        text = (
            "#include <tracy/Tracy.hpp>\n#include <csignal>\n#include <sys/wait.h>\n#include <unistd.h>\n"
            'static void work(const char *name)\n{\n    ZoneScopedN("work");\n    TracyMessageL(name);\n}\n'
            'int main()\n{\n    work("before");\n    if (fork() == 0) {\n        work("child");\n        return 0;\n    }\n'
            '    while (wait(nullptr) > 0)\n        ;\n    work("after");\n    return raise(SIGKILL);\n}\n'
        )
        program = self.build_program("fork", text)
        path = self.path("fork.opscope")
        self.opscope("run", "-q", "-o", path, "--", program)
        trace = facts.Trace(path)
        self.assertEqual((trace.counts(), len(trace.processes), trace.lost_zones), ({"work": 3}, 2, 0))
        self.assertEqual(sorted(row["text"] for row in trace.messages()), ["after", "before", "child"])

    @harness.needs_command("g++")
    def test_locks(self):
        """Main waits for the first of two locks of one name, which "holder" has until main waits; "other" has the second all the time. What
        begins while paused is not recorded, what ends then has ended. The last lock is waited for, for ever."""
        text = (
            "#include <tracy/Tracy.hpp>\n#include <atomic>\n#include <chrono>\n#include <thread>\n"
            "static std::atomic<int> step(0);\n"
            "static void until(int wanted)\n{\n    while (step < wanted)\n        std::this_thread::yield();\n}\n"
            'static tracy::LockableCtx first("queue", "q.cpp", 1), second("queue", "q.cpp", 2), paused("paused", "p.cpp", 3), last("last", "l.cpp", 4);\n'
            'static void other()\n{\n    tracy::SetThreadName("other");\n    second.AfterTryLock(true);\n    step = 1;\n    until(4);\n    second.AfterUnlock();\n}\n'
            'static void holder()\n{\n    tracy::SetThreadName("holder");\n    until(1);\n    first.AfterTryLock(true);\n    step = 2;\n    until(3);\n'
            "    std::this_thread::sleep_for(std::chrono::milliseconds(1));\n    first.AfterUnlock();\n}\n"
            'int main()\n{\n    tracy::SetThreadName("the main thread");\n    std::thread a(other), b(holder);\n    until(2);\n    first.BeforeLock();\n'
            "    step = 3;\n    b.join();\n    first.AfterLock();\n    first.AfterUnlock();\n    step = 4;\n    a.join();\n"
            "    paused.BeforeLock();\n    paused.AfterLock();\n    opscope_pause();\n    paused.AfterUnlock();\n"
            "    paused.BeforeLock();\n    paused.AfterLock();\n    opscope_resume();\n    paused.AfterUnlock();\n"
            "    paused.BeforeLock();\n    opscope_pause();\n    paused.AfterLock();\n    opscope_resume();\n    paused.AfterUnlock();\n"
            "    last.BeforeLock();\n    return 0;\n}\n"
        )
        path = self.path("locks.opscope")
        self.assert_status(self.opscope("run", "-q", "-o", path, "--", self.build_program("locks", text)))
        rows = {row["name"]: row for row in self.opscope_json("locks", path)["rows"]}
        found = {name: [row[key] for key in (*LOCK_KEYS, "open_waits")] for name, row in rows.items()}
        self.assertEqual(found, {"queue": [2, 3, 0, 1, 0], "paused": [1, 1, 0, 2, 0], "last": [1, 0, 0, 1, 1]})
        self.assertEqual((rows["queue"]["waiter"], rows["queue"]["holder"]), ("the main thread", "holder"))
        trace = facts.Trace(path)
        self.assertEqual((trace.open_names(), trace.lost_records), (["wait for last"], 0))
        self.assertEqual(self.opscope_json("info", path)["lock_events"], 4 + 4)

    @harness.needs_command("nm")
    def test_off_is_nothing(self):
        for language in ("c", "cpp"):
            with self.subTest(language):
                program = harness.program(f"macros_{language}_off")
                path = self.path(f"{language}.opscope")
                done = self.opscope("run", "-q", "-o", path, "--", program)
                self.assert_status(done)
                wanted = json.loads(read(f"macros.{language}.json"))["prints without TRACY_ENABLE"]
                self.assertEqual(done.stdout, wanted)
                trace = facts.Trace(path)
                self.assertEqual((trace.zones, trace.messages()), (0, []))
                names = self.run_command(["nm", program]).stdout
                self.assertIn(" main", names)
                self.assertNotIn("opscope", names)


class Headers(Case):
    """The headers as compilers see them."""

    def preprocess(self, compiler, header, flags):
        language = "c" if header.endswith(".h") else "c++"
        path = os.path.join(COMPAT, "tracy", header)
        done = self.run_command([compiler, "-x", language, *flags, "-dM", "-E", path])
        self.assert_status(done)
        return {name for name in re.findall(r"^#define (\w+)", done.stdout, re.M) if NAME.match(name)}

    def compile(self, compiler, source, *flags):
        return self.run_command([compiler, "-fsyntax-only", f"-I{COMPAT}", *flags, source])

    @harness.needs_command("g++")
    def test_every_documented_macro_is_defined_on_and_off(self):
        switches = {"TracyFunction", "TracyFile", "TracyLine"}  # to be set by the program, where it is recorded
        for header, names in documented().items():
            with self.subTest(header):
                on = self.preprocess("g++", header, MODES["on"])
                off = self.preprocess("g++", header, MODES["off"])
                self.assertEqual(set(names) - off, set())
                self.assertEqual(on - switches, off)

    @harness.needs_command("g++")
    def test_every_macro_is_in_the_programs(self):
        for header, program in (("Tracy.hpp", "macros.cpp"), ("TracyC.h", "macros.c")):
            with self.subTest(header):
                used = set(re.findall(r"\w+", read(program)))
                self.assertEqual(self.preprocess("g++", header, MODES["off"]) - used, set())

    @harness.needs_command("g++")
    def test_gpu_macros_evaluate_nothing(self):
        for header, mode in itertools.product(documented(), MODES):
            if header in ("Tracy.hpp", "TracyC.h"):
                continue
            with self.subTest(header=header, mode=mode):
                names = sorted(self.preprocess("g++", header, MODES[mode]))
                text = "".join(
                    f"    {name};\n" if name in ("TracyGpuContext", "TracyGpuCollect")
                    else f"    (void)({name}(not_declared, nowhere));\n" if re.search(r"Context(\w*Calibrated)?$", name)
                    else f"    {name}(not_declared, nowhere);\n"
                    for name in names
                )
                path = self.source("gpu.cpp", f"#include <tracy/{header}>\nvoid f()\n{{\n{text}}}\n")
                self.assert_status(self.compile("g++", path, "-std=c++11", *WARNINGS, *MODES[mode]))

    def test_both_compilers_and_all_standards(self):
        for language in ("c", "cpp"):
            for compiler, standard, mode in itertools.product(compilers(language), STANDARDS[language], MODES):
                with self.subTest(compiler=compiler, standard=standard, mode=mode):
                    flags = [f"-std={standard}", *WARNINGS, *MODES[mode]]
                    if language == "cpp":
                        flags += ["-fno-exceptions", "-fno-rtti"]
                    self.assert_status(self.compile(compiler, os.path.join(PROGRAMS, f"macros.{language}"), *flags))

    @harness.needs_command("g++")
    def test_either_include_path(self):
        """Tracy's manual offers both: the folder above tracy/ and that folder itself."""
        path = self.source("client.cpp", '#include "Tracy.hpp"\n#include "TracyC.h"\nvoid f()\n{\n    ZoneScoped;\n}\n')
        done = self.compile("g++", path, f"-I{os.path.join(COMPAT, 'tracy')}", *WARNINGS, *MODES["on"])
        self.assert_status(done)

    @harness.needs_command("g++")
    def test_shadowing_is_told_only_on_request(self):
        text = "#include <tracy/Tracy.hpp>\nvoid f()\n{\n    ZoneScoped;\n    {\n        ZoneScoped;\n    }\n}\n"
        path = self.source("shadow.cpp", text)
        for compiler in compilers("cpp"):
            with self.subTest(compiler):
                self.assert_status(self.compile(compiler, path, *WARNINGS, "-DTRACY_ENABLE"))
                done = self.compile(compiler, path, *WARNINGS, "-DTRACY_ENABLE", "-DTRACY_ALLOW_SHADOW_WARNING")
                self.assertIn("shadow", done.stderr)

    @harness.needs_command("g++")
    def test_disabled_recorder_means_off(self):
        path = os.path.join(PROGRAMS, "macros.cpp")
        text = self.run_command(["g++", f"-I{COMPAT}", "-E", "-P", "-DTRACY_ENABLE", "-DOPSCOPE_DISABLE", path]).stdout
        self.assertIn("int main()", text)
        self.assertNotIn("opscope_zone_begin_", text)

    @harness.needs_command("g++")
    def test_place_can_be_set(self):
        text = (
            "#define TracyFunction __PRETTY_FUNCTION__\n#define TracyFile \"other.cpp\"\n#define TracyLine 77\n"
            "#include <tracy/Tracy.hpp>\nnamespace space\n{\nint f(int a)\n{\n    ZoneScoped;\n    return a;\n}\n}\n"
            "int main()\n{\n    return space::f(0);\n}\n"
        )
        trace = self.record([self.build_program("place", text)])
        rows = self.opscope_json("zones", trace, "--by", "location")["rows"]
        self.assertEqual([(row["name"], row["file"], row["line"]) for row in rows], [("int space::f(int)", "other.cpp", 77)])


if __name__ == "__main__":
    unittest.main()
