# SPDX-License-Identifier: Apache-2.0
"""Every call of opscope.h and opscope.hpp, seen in the trace of a program that makes it."""

import json
import os
import subprocess
import unittest

import facts
import harness


class Api(harness.TestCase):
    def record_program(self, name, *arguments, options=(), status=0):
        path = self.path(name + ".opscope")
        done = self.opscope("run", "-q", "-o", path, *options, "--", harness.program(name), *arguments)
        self.assert_status(done, status)
        return facts.Trace(path)

    def export(self, trace):
        """The trace as Chrome events: the one view that shows every kind of record."""
        done = self.opscope("export", trace.path, "--format", "chrome", "-o", self.path("out.json"))
        self.assert_status(done)
        with open(self.path("out.json"), encoding="utf-8") as file:
            data = json.load(file)
        return data["traceEvents"] if isinstance(data, dict) else data


class C(Api):
    def test_zones(self):
        trace = self.record_program("everything")
        counts = trace.counts()
        expected = {
            "zones": 1, "scoped": 1, "coloured": 1, "explicit": 1, "in the loader": 1, "inside the op": 1,
            "matmul": 2, "tokenize": 1, "gelu": 1, "outer kernel": 1, "inner kernel": 1, "": 2,
        }
        expected.update({f"made at run time {i}": 1 for i in range(3)})
        self.assertEqual(counts, expected)
        self.assertEqual((trace.lost_zones, trace.lost_records, trace.open_names()), (0, 0, []))

    def test_source_locations(self):
        trace = self.record_program("everything")
        rows = {row["name"]: row for row in self.opscope_json("zones", trace.path, "--by", "location")["rows"]}
        self.assertEqual(rows["scoped"]["function"], "zones")
        self.assertTrue(rows["scoped"]["file"].endswith("everything.c"), rows["scoped"])
        with open(os.path.join(harness.SOURCE, "tests/system/programs/everything.c"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertIn('"scoped"', lines[rows["scoped"]["line"] - 1])
        self.assertEqual(rows["zones"]["function"], "zones")

    def test_nesting(self):
        trace = self.record_program("everything")
        rows = self.opscope_json("tree", trace.path)["rows"]
        by_node = {row["node"]: row for row in rows}
        parents = {row["name"]: by_node[row["parent"]]["name"] for row in rows if row["parent"] in by_node}
        self.assertEqual(parents.get("scoped"), "zones")
        self.assertEqual(parents.get("explicit"), "zones")
        self.assertEqual(parents.get("made at run time 1"), "explicit")
        self.assertEqual(parents.get("inside the op"), "matmul")

    def test_text_value_colour(self):
        trace = self.record_program("everything")
        events = {event["name"]: event for event in self.export(trace) if event.get("ph") == "X"}
        self.assertEqual((events["scoped"]["args"]["value"], events["scoped"]["args"]["colour"]), (42, "#00ff00"))
        self.assertEqual([events[f"made at run time {i}"]["args"]["value"] for i in range(3)], [0, 1, 2])
        with open(self.path("out.json"), encoding="utf-8") as file:
            text = file.read()
        for piece in ("text of scoped", "and more of it"):
            self.assertIn(piece, text)

    def test_messages_signposts_frames(self):
        trace = self.record_program("everything")
        rows = trace.messages()
        signposts = [(row["header"], row["text"] or "") for row in rows if row["kind"] == "signpost"]
        self.assertEqual(
            [(header or "", text) for header, text in signposts],
            [("start of training", "epoch 1"), ("bare", ""), ("", "no header")],
        )
        messages = [row["text"] or "" for row in rows if row["kind"] == "message"]
        self.assertEqual(messages[:3], ["hello", "", ""])
        self.assertTrue(messages[3].startswith('\u00e4 "quoted"\ttab\nline '), messages[3])
        self.assertEqual([row["header"] for row in rows if row["kind"] == "frame"], ["frame"] * 4)
        self.assertEqual(trace.info["points"], 3 + 4 + 4)

    def test_counters_and_memory(self):
        trace = self.record_program("everything")
        self.assertEqual((trace.info["counters"], trace.info["memory_events"]), (4, 9))
        events = [event for event in self.export(trace) if event.get("ph") == "C"]
        values = [event["args"]["value"] for event in events if event["name"] == "queue length"]
        self.assertEqual(values[:2], [3, -1.5])  # the third is not a number, for which JSON has no word
        self.assertEqual([event["args"]["value"] for event in events if event["name"] == "at run time"], [1e300])
        self.assertTrue(any("pool" in event["name"] for event in events), events)

    def test_memory_pools(self):
        trace = self.record_program("everything")
        rows = {row["pool"]: row for row in self.opscope_json("memory", trace.path)["rows"]}
        arena, other = rows["arena"], rows["other"]
        self.assertEqual([arena[key] for key in ("allocations", "releases", "allocated_bytes", "live_bytes", "live_count",
                                                 "unmatched_releases", "lost_releases")], [3, 2, 600, 300, 1, 0, 0])
        self.assertEqual((other["live_bytes"], other["lost_releases"]), (1, 0))
        done = self.opscope("export", trace.path, "--format", "csv", "--what", "memory", "-o", "-")
        self.assert_status(done)
        self.assertIn("release of all,arena,", done.stdout)

    def test_threads(self):
        trace = self.record_program("everything")
        threads = {track["name"]: track["zones"] for track in trace.tracks if track["kind"] == "thread"}
        self.assertEqual(threads["loader \u00e4"], 1)
        self.assertEqual(len(threads), 2)

    def test_ops(self):
        trace = self.record_program("everything")
        rows = {row["name"]: row for row in self.opscope_json("ops", trace.path)["rows"]}
        ops = {name: row["type"] for name, row in rows.items() if row["type"] != "signpost"}
        self.assertEqual(ops, {"matmul": "device", "tokenize": "host", "gelu": "fallback"})
        matmul = rows["matmul"]
        self.assertEqual((matmul["device"], matmul["cores"], matmul["runs"]), (3, 64, 1))
        self.assertEqual(matmul["device_time_ns"], 500)
        for piece in ("1x32x64", "BFLOAT16", "TILE", "DRAM", "FLOAT32"):
            self.assertIn(piece, matmul["inputs"])
        self.assertIn("1x32", matmul["outputs"])
        self.assertIn("fidelity", matmul["attributes"])
        self.assertIn("HiFi4", matmul["attributes"])
        self.assertIn("matmul_kernel.cpp", matmul["kernels"])

    def test_device_feed(self):
        trace = self.record_program("everything")
        tracks = {track["name"]: track for track in trace.tracks}
        self.assertEqual({tracks[name]["kind"] for name in ("queue 0", "core 1-2", "chip")}, {"queue", "core", "device"})
        self.assertEqual(tracks["core 1-2"]["zones"], 2)
        self.assertEqual(tracks["core 1-2"]["depth"], 2, "the inner kernel lies in the outer one")
        self.assertEqual(trace.info["runs"], 1)
        self.assertEqual((tracks["chip"]["architecture"], tracks["queue 0"]["architecture"]), ("chip_b0", None))
        self.assertIn("chip_b0", self.opscope("info", trace.path, "--show", "tracks").stdout)
        clocks = {clock["clock"]: clock for clock in trace.info["clocks"]}
        self.assertEqual((clocks["chip"]["kind"], clocks["chip"]["points"]), ("device", 1))
        rows = {row["name"]: row for row in trace.rows}
        # one sync point: the device's own statement of its speed counts
        self.assertEqual((rows["outer kernel"]["total_ns"], rows["inner kernel"]["total_ns"]), (400, 100))


    def test_tasks(self):
        trace = self.record_program("fibers")
        self.assertEqual(trace.counts(), {"schedule": 6, "first": 3, "second": 3, "work": 6})
        self.assertEqual((trace.lost_zones, trace.open_names()), (0, []))
        tracks = self.opscope_json("info", trace.path)["tracks"]
        found = sorted((t["kind"], t["name"], t["zones"]) for t in tracks)
        self.assertEqual(found, [("task", "first", 3), ("task", "second", 3), ("thread", "fibers", 12)])
        rows = self.opscope_json("messages", trace.path)["rows"]
        shown = [(row["thread"], row["text"]) for row in rows]
        self.assertEqual(shown, [("first", "first"), ("second", "second")] * 3 + [("fibers", "no task")])


class Cpp(Api):
    def test_twins(self):
        if not os.path.exists(os.path.join(harness.PROGRAMS, "twins")):
            self.skipTest("built without a C++ compiler")
        trace = self.record_program("twins")
        expected = {
            "left by an exception": 1, "object left by an exception": 1, "returns 1": 1, "returns 2": 1,
            "in a lambda": 3, "generic": 2, "in a std::thread": 1, "conv2d": 1, "a task": 2,
        }
        self.assertEqual(trace.counts(), expected)
        self.assertEqual(trace.open_names(), [])
        tasks = [t for t in self.opscope_json("info", trace.path)["tracks"] if t["kind"] == "task"]
        self.assertEqual([(t["name"], t["number"], t["zones"]) for t in tasks], [("a task", 3, 2)])
        (op,) = self.opscope_json("ops", trace.path)["rows"]
        self.assertEqual((op["name"], op["device"]), ("conv2d", 1))
        self.assertIn("1x3x224x224", op["inputs"])
        self.assertIn("1x64x112x112", op["outputs"])
        self.assertIn("stride", op["attributes"])


class Places(Api):
    """Where in a program's life the calls may stand."""

    def test_before_main_and_at_exit(self):
        trace = self.record_program("early_late")
        names = ("before main", "in main", "in the thread", "at the end of a thread", "at exit", "in a destructor")
        self.assertEqual(trace.counts(), {name: 1 for name in names})
        self.assertEqual(trace.open_names(), [])

    def test_names_of_a_plug_in_outlive_it(self):
        trace = self.record_program("plugin_host", harness.program("sample_plugin.so"), 3)
        self.assertEqual(trace.counts(), {"plugin_work": 3, "zone of a plug-in": 30, "after dlclose": 1})

    def test_a_plug_in_with_inline_members_is_unloaded(self):
        plugin = harness.program("inline_member_plugin.so")
        trace = self.record_program("plugin_host", plugin, 3)
        self.assertEqual(trace.count("inline member"), 30)
        self.assertEqual(trace.lost_zones, 0)

    def test_a_static_program(self):
        if not os.path.exists(os.path.join(harness.PROGRAMS, "hello_static")):
            self.skipTest("sanitizers do not link statically")
        trace = self.record_program("hello_static")
        expected = {"static main": 1, "static zone": 1000, "in a thread of a static program": 1}
        self.assertEqual(trace.counts(), expected)

    def test_without_a_session(self):
        """Every program does its work, prints and leaves nothing, when nobody records."""
        names = ("everything", "early_late", "texts", "hello_static", "twins")
        for name in names:
            path = os.path.join(harness.PROGRAMS, name)
            if os.path.exists(path):
                done = self.run_command([path])
                self.assertEqual((done.status, done.stdout, done.stderr), (0, "", ""), done)
        self.assertEqual(os.listdir(self.folder), [])

    def test_compiled_to_nothing(self):
        done = self.opscope("run", "-o", self.path("t.opscope"), "--", harness.program("disabled"))
        self.assert_status(done)
        self.assertEqual(done.stdout, "0 0 0\n")
        self.assertIn("nothing was recorded", done.stderr)

    @harness.needs_command("nm")
    def test_compiled_to_nothing_needs_no_symbol(self):
        done = self.run_command(["nm", "-u", harness.program("disabled")])
        self.assert_status(done)
        self.assertNotIn("opscope", done.stdout)

    def test_eager(self):
        """OPSCOPE_EAGER makes the segment at start: for programs that enter seccomp before their first zone."""
        path = self.path("t.opscope")
        done = self.opscope("run", "-o", path, "--", harness.program("script"), "exit=3", env={"OPSCOPE_EAGER": "1"})
        self.assert_status(done, 3)
        trace = facts.Trace(path)
        self.assertEqual(len(trace.processes), 1)
        done = self.opscope("run", "-o", path, "--", harness.program("script"), "zones=5", env={"OPSCOPE_EAGER": "1"})
        self.assert_status(done)
        self.assertEqual(facts.Trace(path).zones, 5)

    def test_fork_inside_zones(self):
        """A zone that is open across a fork ends in the parent; the child's end of it is nobody's."""
        done, trace = facts.record_script(self, "open=outer", "fork=3,10", "clone=3,10", "close", "zones=1")
        self.assert_status(done)
        self.assertEqual(trace.counts(), {"outer": 1, "work": 61})
        self.assertEqual((trace.open_names(), trace.losses()), ([], []))

    def test_too_many_ends(self):
        done, trace = facts.record_script(self, "close", "close", "open=a", "close", "close", "zones=3")
        self.assert_status(done)
        self.assertEqual(trace.counts(), {"a": 1, "work": 3})
        self.assertEqual(trace.losses(), [])


class Compiling(harness.TestCase):
    """The headers, on their own, with the warnings people use."""

    def compile(self, compiler, *flags, text):
        source = self.path("x.cpp" if "++" in compiler else "x.c")
        with open(source, "w", encoding="ascii") as file:
            file.write(text)
        include = os.path.join(harness.SOURCE, "include")
        return self.run_command([compiler, *flags, "-Werror", "-I", include, "-c", source, "-o", self.path("x.o")])

    def test_headers_are_self_contained_and_clean(self):
        c_text = '#include <opscope/opscope.h>\nvoid f(void);\nvoid f(void) { OPSCOPE_FUNCTION(); OPSCOPE_ZONE("x"); }\n'
        cpp_text = '#include <opscope/opscope.hpp>\nvoid f();\nvoid f() { OPSCOPE_ZONE("x"); opscope::Zone z("y"); }\n'
        warnings = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion"]
        found = 0
        for compiler in ("gcc", "clang"):
            if subprocess.run(["which", compiler], capture_output=True, check=False).returncode:
                continue
            found += 1
            for standard in ("c11", "gnu11", "c17"):
                for extra in ([], ["-DOPSCOPE_DISABLE"]):
                    self.assert_status(self.compile(compiler, f"-std={standard}", *warnings, *extra, text=c_text))
        for compiler in ("g++", "clang++"):
            if subprocess.run(["which", compiler], capture_output=True, check=False).returncode:
                continue
            found += 1
            for standard in ("c++11", "c++17", "c++20"):
                for extra in ([], ["-DOPSCOPE_DISABLE"]):
                    self.assert_status(self.compile(compiler, f"-std={standard}", *warnings, *extra, text=cpp_text))
        if not found:
            self.skipTest("no compiler is installed")

    THREADS = """
#include <opscope/opscope.h>
#include <pthread.h>
static void *work(void *name)
{
    opscope_thread_name((const char *)name);
    for (int i = 0; i < 3000; i++) {
        OPSCOPE_ZONE("outer");
        OPSCOPE_ZONE_COLOUR("inner", 0x112233);
        if (i % 100 == 0)
            opscope_message("a message that is longer than one slot");
        OPSCOPE_COUNTER("i", i);
    }
    return NULL;
}
int main(void)
{
    for (int round = 0; round < 20; round++) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, work, (void *)(i % 2 ? "odd" : "even"));
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
    }
    return 0;
}
"""

    def test_thread_sanitizer_of_a_user(self):
        """Threads have one another's chunks and cursors, in an order that the sanitizer does not see."""
        flags = ["-std=gnu11", "-g", "-O1", "-fsanitize=thread", "-pthread"]
        found = 0
        for compiler in ("gcc", "clang"):
            program = self.path("empty")
            source = self.path("empty.c")
            with open(source, "w", encoding="ascii") as file:
                file.write("int main(void) { return 0; }\n")
            works = self.run_command(["sh", "-c", '"$@" && ./empty', "sh", compiler, *flags, source, "-o", program], cwd=self.folder)
            if works.status:
                continue
            found += 1
            self.assert_status(self.compile(compiler, *flags, text=self.THREADS))
            library = os.path.dirname(harness.OPSCOPE)
            linked = [compiler, *flags, self.path("x.o"), "-L", library, "-lopscope", f"-Wl,-rpath,{library}", "-o", program]
            self.assert_status(self.run_command(linked))
            path = self.path("tsan.opscope")
            done = self.opscope("run", "-o", path, "--buffer-size", "1M", "--on-full=wait", "--", program)
            self.assertNotIn("ThreadSanitizer", done.stdout + done.stderr)
            self.assert_status(done)
            self.assertEqual(facts.Trace(path).count("inner"), 20 * 4 * 3000)
        if not found:
            self.skipTest("no compiler with ThreadSanitizer works here")

    def test_a_name_must_be_a_literal(self):
        text = "#include <opscope/opscope.h>\nvoid f(const char *p);\nvoid f(const char *p) { OPSCOPE_ZONE(p); }\n"
        done = self.compile("cc", "-std=gnu11", text=text)
        self.assertNotEqual(done.status, 0)


if __name__ == "__main__":
    unittest.main()
