# SPDX-License-Identifier: Apache-2.0
"""NVTX programs, recorded as they are: ranges, marks, domains, names, right and wrong. The programs have a stand-in for
NVIDIA's header (examples/nvtx/nvtx_minimal.h); where the header itself is found, they are built with it and must give the
same."""

import collections
import glob
import os
import shutil
import sys
import unittest

import facts
import harness
import serving


def include_folders():
    """Where the packages of PyPI (nvidia-nvtx, torch's CUDA wheels) have NVTX's headers."""
    roots = ["/usr/local/cuda/include"]
    for folder in sys.path + glob.glob("/usr/local/lib/python3*/dist-packages"):
        roots += sorted(glob.glob(os.path.join(glob.escape(folder), "nvidia", "*", "include")))
    return [root for root in roots if os.path.exists(os.path.join(root, "nvtx3", "nvToolsExt.h"))]


class Ranges(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.program = harness.program("nvtx_ranges")

    def record(self, case, *options):
        self.trace = self.path(case + ".opscope")
        done = self.opscope("run", "-o", self.trace, *options, "--", self.program, case)
        self.assert_status(done)
        return done

    def counts(self):
        return {row["name"]: row["count"] for row in facts.Trace(self.trace).rows}

    def events(self):
        return self.opscope_json("export", "--format", "chrome", "-o", "-", self.trace)["traceEvents"]

    def opscope_json(self, *arguments):
        done = self.opscope(*arguments)
        self.assert_status(done)
        return done.json()

    def test_nested(self):
        done = self.record("nested")
        self.assertEqual(done.stdout, "0110\n" * 3)
        self.assertEqual(self.counts(), {"outer": 3, "inner 0": 1, "inner 1": 1, "inner 2": 1})

    def test_attributes(self):
        self.record("attributes")
        zones = [event for event in self.events() if event["ph"] == "X"]
        arguments = [(zone["name"], zone["args"]) for zone in zones]
        plain = {"function": "domain library, category 7 (io)", "value": 42}
        real = {"function": "domain library", "text": "payload -1.5"}
        self.assertEqual(
            arguments,
            [("with all", plain), ("with all", plain), ("registered", real), ("(no message)", real), ("(no message)", {})],
        )
        rows = self.opscope_json("messages", "--json", self.trace)["rows"]
        self.assertEqual(
            [(row["kind"], row["header"], row["text"]) for row in rows],
            [
                ("signpost", "a mark", "domain library, category 7 (io)"),
                ("signpost", "plain mark", None),
                ("message", None, "CUDA stream 0x123 is called copies"),
            ],
        )

    def test_ops_of_torch(self):
        """Names are those of ops, however often these are called; the numbers of a call are its text."""
        self.record("torch")
        self.assertEqual(self.counts(), {"aten::linear": 3, "aten::t": 3, "a, seq = of something else": 1})
        texts = {event["args"]["text"] for event in self.events() if event["ph"] == "X" and event["name"].startswith("aten::")}
        expected = {f"seq = {i}, op_id = {10 * i}, sizes = [[2, 3], [4, 3]]" for i in range(3)}
        self.assertEqual(texts, expected | {f"op_id = {10 * i + 1}" for i in range(3)})

    def test_texts(self):
        self.record("texts")
        names = list(self.counts())
        self.assertEqual(len(names), 4)
        self.assertIn("gr\u00f6\u00dfe \u65e5\u672c", names)
        self.assertIn("(no message)", names)
        self.assertIn("latin \ufffd\ufffd", names)
        self.assertGreater(max(map(len, names)), 10000)

    def test_without_messages(self):
        done = self.record("without_messages")
        self.assertEqual(done.stdout, "00" * 6 + "\n")
        self.assertEqual(self.counts(), {"(no message)": 6})

    def test_marks_begin_and_end_a_capture(self):
        self.record("marks", "--capture", "signpost:go..stop")
        self.assertEqual(self.counts(), {"step": 2})
        self.assertEqual([row["header"] for row in facts.Trace(self.trace).messages()], ["go", "stop"])

    def test_unbalanced(self):
        done = self.record("unbalanced")
        self.assertEqual(done.stdout.splitlines(), ["nothing to pop", "00", "nothing to pop"])
        trace = facts.Trace(self.trace)
        self.assertEqual(trace.open_names(), ["left open"] * 3)
        # popped from below another domain's: that one is ended and begun again
        self.assertEqual(self.counts(), {"left open": 3, "first": 1, "second": 2})

    def test_ranges_that_end_on_other_threads(self):
        for _ in range(harness.REPEAT):
            self.record("threads")
            trace = facts.Trace(self.trace)
            self.assertEqual(trace.open_names(), [])
            self.assertEqual(self.counts(), {"crossing": 1, "handed over": 20, "on the other": 20})
            names = collections.Counter(track["name"] for track in trace.info["tracks"])
            self.assertEqual(names["the other"], 20)

    def test_thread_that_another_one_names(self):
        self.record("names")
        self.assertEqual(self.counts(), {"work": 2})
        self.assertIn("loader", [track["name"] for track in facts.Trace(self.trace).info["tracks"]])

    def test_forks(self):
        self.record("forks")
        self.assertEqual(self.counts(), {"before the fork": 1, "in the child": 2})
        self.assertEqual(facts.Trace(self.trace).open_names(), [])

    def test_without_a_session_nothing_happens(self):
        library = os.path.join(harness.BUILD, "libopscope_nvtx.so")
        done = self.run_command([self.program, "nested"], env={"NVTX_INJECTION64_PATH": library})
        self.assert_status(done)
        self.assertEqual(done.stdout, "-2-2-2-2\n" * 3)



class Page(serving.ServerCase):
    def test_domains_are_places(self):
        trace = self.record([harness.program("nvtx_ranges"), "attributes"])
        self.serve(trace)
        wanted = ["domain library", "domain library, category 7 (io)"]
        for path, key in (("/api/t/0/zones", "rows"), ("/api/t/0/search?q=domain", "names")):
            places = {row["file"] for row in self.get(path)[key]}
            self.assertEqual(sorted(place for place in places if place), wanted, path)
        names = self.get("/api/t/0/names")["names"]
        self.assertEqual(sorted({name[2] for name in names if name[2]}), wanted)


class RealHeader(Ranges):
    """The same, built with NVIDIA's header."""

    def setUp(self):
        super().setUp()
        found = include_folders()
        if not found or not shutil.which("cc"):
            self.skipTest("NVIDIA's NVTX headers are not here (PyPI: nvidia-nvtx)")
        self.include = found[0]
        self.program = self.path("real")
        source = os.path.join(harness.SOURCE, "tests", "system", "programs", "nvtx_ranges.c")
        included = "cuda_runtime_api.h", os.path.join("crt", "host_defines.h")
        runtime = [folder for folder in found if all(os.path.exists(os.path.join(folder, name)) for name in included)]
        if not runtime:
            self.skipTest("CUDA's headers, which NVTX's include, are not here (PyPI: nvidia-cuda-runtime, nvidia-cuda-crt)")
        done = self.run_command(
            ["cc", "-DREAL_NVTX", "-D_GNU_SOURCE", "-I", runtime[0], source, "-o", self.program, "-ldl", "-lpthread"]
        )
        self.assert_status(done)

    def test_declarations(self):
        source = os.path.join(harness.SOURCE, "tests", "system", "abi", "nvtx.c")
        include = os.path.join(harness.SOURCE, "src")
        self.assert_status(self.run_command(["cc", "-fsyntax-only", "-I", self.include, "-I", include, source]))


class Example(harness.TestCase):
    def test_example(self):
        trace = self.path("t.opscope")
        done = self.opscope("run", "-o", trace, "--", os.path.join(harness.BUILD, "examples", "nvtx"))
        self.assert_status(done)
        counts = {row["name"]: row["count"] for row in facts.Trace(trace).rows}
        self.assertEqual(counts, {"step": 5, "load batch": 5, "forward": 5, "request": 1, "answer": 1})


class Python(harness.TestCase):
    def test_package_nvtx(self):
        code = "import nvtx\nwith nvtx.annotate('outer', domain='mine', category='c', color='green'):\n  nvtx.mark('m')\n"
        probe = self.run_command([sys.executable, "-c", "import nvtx"])
        if probe.status:
            raise unittest.SkipTest("the Python package nvtx is not here (PyPI: nvtx)")
        trace = self.path("t.opscope")
        self.assert_status(self.opscope("run", "-o", trace, "--python-trace", "off", "--", sys.executable, "-c", code))
        self.assertEqual({row["name"]: row["count"] for row in facts.Trace(trace).rows}, {"outer": 1})


if __name__ == "__main__":
    unittest.main()
