# SPDX-License-Identifier: Apache-2.0
"""opscope view --html: what is in the file, and what is refused. How it looks in a browser is in test_page.py."""

import base64
import hashlib
import os
import struct
import unittest

import harness
import pages
import views

MS = 1000000
ROWS_MAX = 200000
HOSTILE = ("</script><script>window.ran=true</script>", "<!--<script>", "\u202eelif", "</title><img src=x onerror=alert(1)>")


def sections(rows):
    """The binary answer of /rows: of each section track, kind, depth and count, and start, end, busy, zones of its rows."""
    at, found = 24, []
    for _ in range(struct.unpack_from("<I", rows, 4)[0]):
        head = struct.unpack_from("<4I", rows, at)
        count, at = head[3], at + 16
        start, end = (struct.unpack_from(f"<{count}d", rows, at + shift * count) for shift in (0, 8))
        busy, zones = struct.unpack_from(f"<{count}f", rows, at + 16 * count), struct.unpack_from(f"<{count}I", rows, at + 24 * count)
        found.append((head, list(zip(start, end, busy, zones))))
        at += 28 * count + (count + 7) // 8 * 8
    return found


class HtmlCase(views.ViewCase):
    def setUp(self):
        super().setUp()
        self.small = self.trace(("track", "MainThread", 100), ("zone", 0, 0, 9 * MS, "work", "a.py:1"), name="small.opscope")
        if not pages.are_built():
            self.skipTest(pages.NOT_BUILT)

    def page(self, trace, *arguments):
        done = self.opscope("view", trace, "--html", "page.html", *arguments)
        self.assertEqual((done.status, done.stdout, done.stderr), (0, "", ""))
        with open(self.path("page.html"), encoding="utf-8") as file:
            self.text = file.read()
        return pages.Parts(self.text)


class WithoutThePage(harness.TestCase):
    def test_says_what_to_do_and_writes_nothing(self):
        if pages.are_built():
            self.skipTest("this build has the page")
        for command in (["view", "t.opscope"], ["estimate", "m.mlir"], ["annotate", "m.mlir", "r.csv"], ["report", "t.csv"]):
            done = self.opscope(*command, "--html", "none.html")
            self.assertEqual((done.status, done.stdout), (2, ""), done)
            self.assertIn("install npm and build in a new folder", done.stderr)
            self.assertFalse(os.path.exists(self.path("none.html")))


class Html(HtmlCase):
    def test_is_whole_and_fetches_nothing(self):
        parts = self.page(self.small)
        self.assertEqual(parts.fetched, [])
        self.assertEqual((len(parts.scripts), len(parts.styles)), (1, 1))

    def test_the_policy_allows_these_by_their_hashes_alone(self):
        parts = self.page(self.small)
        def allowed(text):
            return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
        rules = dict(rule.strip().split(" ", 1) for rule in parts.policy.split(";"))
        self.assertEqual(rules, {"default-src": "'none'", "script-src": allowed(parts.scripts[0]),
                                 "style-src": allowed(parts.styles[0]), "img-src": "data: blob:", "worker-src": "blob:",
                                 "base-uri": "'none'", "form-action": "'none'"})
        self.assertLess(self.text.index("Content-Security-Policy"), self.text.index("<style>"))

    def test_names_do_not_leave_their_place(self):
        lines = [("track", HOSTILE[0], 100)]
        for at, name in enumerate(HOSTILE):
            lines += [("zone", 0, at * MS, (at + 1) * MS, name, "a.py:1"), ("message", at * MS, name)]
        plain, parts = self.page(self.small), self.page(self.trace(*lines, name="</script>.opscope".replace("/", "_")))
        self.assertEqual({tag: parts.tags.count(tag) for tag in set(parts.tags) - {"script"}},
                         {tag: plain.tags.count(tag) for tag in set(plain.tags) - {"script"}})
        self.assertEqual(parts.scripts, plain.scripts)
        names = [row[1] for row in parts.json("names?page=0")["names"]]
        for name in HOSTILE:
            self.assertIn(name, names)
        for question, answer in parts.answers.items():
            self.assertNotIn("<", answer, question)

    def test_has_the_answers_of_the_api(self):
        parts = self.page(self.small)
        summary = self.opscope("summary", self.small, "--json").json()
        said = parts.chosen("overview")
        self.assertEqual("".join(part["text"] for part in said["sentence"]), "".join(part["text"] for part in summary["sentence"]))
        self.assertEqual(parts.json("zones?from=0&to=9000000&sort=self&top=5000")["rows"][0]["text"], "work")
        self.assertEqual(parts.json("trace")["zones"], 1)
        self.assertEqual(parts.json("traces")["panel"], "overview")
        rows = base64.b64decode(parts.answers["rows"])
        self.assertEqual(struct.unpack_from("<II", rows), (0x3152504F, 1))
        self.assertEqual(struct.unpack_from("<4I2d", rows, 24), (parts.json("trace")["tracks"][0]["id"], 0, 0, 1, 0.0, 9e6))

    def test_has_steps_and_what_calls_cost(self):
        lines = [("track", "main"), ("zone", 0, 1, 1 + 80 * MS, "train"), ("device", "GPU 0")]
        for call in range(1, 5):
            start = 1 + (call - 1) * 20 * MS
            lines += [("frame", start, "step"), ("op", call, start + 1, start + 2 * MS, "gelu"), ("run", call, start + 3 * MS, start + 15 * MS, "gelu")]
        parts = self.page(self.trace(*lines, ("frame", 1 + 80 * MS, "step")))
        steps = parts.chosen("steps")
        self.assertEqual((steps["count"], [step["ns"] for step in steps["steps"]]), (4, [[12 * MS]] * 4))
        [row] = parts.chosen("overhead?limit=1000")["rows"]
        self.assertEqual((row["name"], row["count"], row["min_ns"]), ("gelu", 4, 2 * MS - 1))
        self.assertFalse([question for question in parts.answers if question.startswith("overlay")])

    def device(self, ops, runs):
        """So many ops, each with so many runs, all from one line."""
        yield from (("track", "main"), ("zone", 0, 0, (ops * runs + 1) * MS, "train", "a.py:7"), ("device", "GPU 0"))
        for call in range(ops * runs):
            at = (call + 1) * MS
            yield ("op", call + 1, at - MS + 1, at - MS + 100, f"op{call % ops}")
            yield ("run", call + 1, at, at + 1000 + call % ops, f"op{call % ops}")

    def test_has_the_runs_of_ops_and_what_launched_them(self):
        parts = self.page(self.trace(*self.device(2, 3), name="ops.opscope"))
        for group in ("op%2Bshape", "op"):
            found = {op["name"]: op for op in parts.chosen(f"op?group={group}")}
            self.assertEqual((found["op1"]["count"], found["op1"]["place_count"]), (3, 1))
            self.assertEqual([(run["start"], round(run["duration"])) for run in found["op1"]["runs"]], [(at * MS, 1001) for at in (2, 4, 6)])
            self.assertEqual(found["op1"]["places"], [{"text": "a.py:7", "file": "a.py", "line": 7, "function": "train", "library": None, "count": 3, "device_ns": 3003}])
        self.assertEqual(parts.json("runs")[0]["launched_from"]["text"], "a.py:7")
        self.assertEqual(parts.trace()["left_out"], [])

    def test_of_many_ops_the_costliest_have_their_runs(self):
        parts = self.page(self.trace(*self.device(500, 1), name="ops.opscope"))
        found = [op["name"] for op in parts.chosen("op?group=op")]
        self.assertEqual(found, [f"op{number}" for number in range(499, 99, -1)])
        self.assertIn("the runs of ops that took less time", parts.trace()["left_out"])

    def write_source(self, name, lines):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        return path

    def test_has_the_source_of_places_in_its_tables(self):
        lines = [f"line {number} {HOSTILE[0]}" for number in range(1, 41)]
        ours, long = self.write_source("ours.py", lines), self.write_source("long.js", ["x" * 5000])
        made = [("source", ours), ("source", long), ("track", "main"), ("zone", 0, 0, 90 * MS, "train", f"{ours}:20"), ("zone", 1, 10 * MS, 50 * MS, "load", f"{ours}:3"),
                ("zone", 1, 60 * MS, 61 * MS, "a", f"{long}:1"),
                ("zone", 1, 64 * MS, 65 * MS, "c", self.path("gone.py") + ":1"), ("zone", 1, 66 * MS, 67 * MS, "d", f"{ours}:99"),
                ("device", "GPU 0"), ("op", 1, 1 * MS, 2 * MS, "matmul"), ("run", 1, 3 * MS, 9 * MS, "matmul")]
        parts = self.page(self.trace(*made, name="sources.opscope"))
        found = {(answer["file"], answer["source"]["line"]): answer["source"] for answer in parts.json("sources")}
        self.assertEqual(set(found), {(ours, 20), (ours, 3)}, "what was not taken along, or is one long line, is not there")
        source = found[ours, 20]
        self.assertEqual((source["first_line"], source["lines"]), (16, lines[15:27]))
        self.assertEqual((found[ours, 3]["first_line"], found[ours, 3]["lines"]), (1, lines[:12]))
        self.assertNotIn("<", parts.answers["sources"])
        self.assertEqual(parts.trace()["left_out"], [])

    def test_without_source(self):
        """Nothing of the code is in the file, wherever the page has it from."""
        ours = self.write_source("ours.py", [f"secret = {number}" for number in range(1, 41)])
        trace = self.trace(("source", ours), ("track", "main"), ("zone", 0, 0, 90 * MS, "train", f"{ours}:20"), ("device", "GPU 0"),
                           ("op", 1, 1 * MS, 2 * MS, "matmul"), ("run", 1, 3 * MS, 9 * MS, "matmul"), name="sources.opscope")
        for command, has_some in (("view",), True), (("view", "--no-source"), False), (("report", "--no-source"), False):
            html = self.path("page.html")
            self.assert_status(self.opscope(*command, trace, "--html", html))
            with open(html, encoding="utf-8") as file:
                self.assertEqual("secret = 20" in file.read(), has_some, command)
        for command in "view", "report":
            done = self.opscope(command, trace, "--no-source")
            self.assert_status(done, 2)
            self.assertIn("--no-source goes with --html", done.stderr)

    def test_of_many_places_the_costliest_have_their_source(self):
        ours = self.write_source("ours.py", [f"line {number}" for number in range(1, 501)])
        made = [("source", ours), ("track", "main")] + [("zone", 0, at * MS, at * MS + 1000 + at, f"f{at}", f"{ours}:{at}") for at in range(1, 501)]
        parts = self.page(self.trace(*made, name="many.opscope"))
        self.assertEqual({answer["source"]["line"] for answer in parts.json("sources")}, set(range(101, 501)))
        self.assertEqual(parts.trace()["left_out"], ["source lines of code that took less time"])

    def test_does_not_say_where_the_trace_was(self):
        self.page(self.small)
        self.assertNotIn(self.folder, self.text)

    def test_every_short_zone_is_in_it(self):
        """Also where a server would sum them up: the file is drawn at all scales."""
        lines = [("track", "t", 100)]
        lines += [("zone", 0, at * 100, at * 100 + 3, "tick", "a.c:1") for at in range(2000)]
        lines += [("zone", 0, 1000 * MS, 2000 * MS, "long", "a.c:2")]
        rows = base64.b64decode(self.page(self.trace(*lines, name="short.opscope")).answers["rows"])
        self.assertEqual(struct.unpack_from("<I", rows, 24 + 12), (2001,))

    def test_of_many_zones_the_shortest_are_summed_up(self):
        """And no time is lost by that; what is long stays as it is."""
        lines = [("track", "long", 100), ("zone", 0, 0, 4 * MS, "all", "a.c:2"), ("track", "short", 100)]
        lines += [("zone", 0, at * 10, at * 10 + 5, "z", "a.c:1") for at in range(ROWS_MAX + 1)]
        parts = self.page(self.trace(*lines, name="large.opscope"))
        start = parts.trace()
        self.assertEqual((start["summed_ns"], start["left_out"]), (16, []))
        (_, long), (_, short) = sections(base64.b64decode(parts.answers["rows"]))
        self.assertEqual(long, [(0.0, 4.0 * MS, 1.0, 1)])
        self.assertLessEqual(len(short), ROWS_MAX)
        self.assertEqual(sum(row[3] for row in short), ROWS_MAX + 1)
        self.assertAlmostEqual(sum((end - start) * busy for start, end, busy, _ in short), 5 * (ROWS_MAX + 1), delta=1)

    def test_a_report_of_many_runs_is_written(self):
        lines = [("track", "t", 100), ("device", "GPU", "made up")]
        lines += [("run", at, at * 100, at * 100 + 50 + at % 20, f"op{at % 5}") for at in range(ROWS_MAX + 1)]
        self.assert_status(self.opscope("report", self.trace(*lines, name="many.opscope"), "--html", "many.html", "--top", 1))
        parts = pages.read(self.path("many.html"))
        self.assertEqual(parts.trace()["summed_ns"], 128)
        self.assertIn("details of the shorter runs", parts.trace()["left_out"])
        groups = parts.chosen("ops?group=op&limit=5000")["groups"]
        self.assertEqual(sum(group["count"] for group in groups), ROWS_MAX + 1)
        one_by_one = parts.chosen("ops?group=none&limit=5000")
        self.assertEqual((one_by_one["count"], len(one_by_one["groups"])), (ROWS_MAX + 1, 5000))

    def test_a_file_without_all_says_so(self):
        start = self.page(self.small).trace()
        self.assertEqual((start["summed_ns"], start["left_out"]), (0, []))
        lines = [("device", "GPU", "made up")] + [("run", at, at * 1000, at * 1000 + 100 + at % 3, f"op{at % 7}") for at in range(4001)]
        parts = self.page(self.trace(*lines, name="runs.opscope"))
        self.assertEqual(parts.trace()["left_out"], ["details of the shorter runs"])
        lengths = [run["duration"] for run in parts.json("runs")]
        self.assertEqual((len(lengths), lengths), (4000, sorted(lengths, reverse=True)))
        ops = parts.chosen("ops?group=none&limit=5000")
        self.assertEqual((ops["count"], len(ops["groups"])), (4001, 4001))

    def test_usage(self):
        for words, says in ((["--port", "8000"], "--html writes a file"), (["--open"], "--html writes a file"),
                            ([self.small], "--html takes one trace")):
            done = self.opscope("view", self.small, "--html", "x.html", *words)
            self.assertEqual(done.status, 2, done)
            self.assertIn(says, done.stderr)
        done = self.opscope("view", "--html", "x.html")
        self.assertIn("--html takes one trace", done.stderr)
        self.assertFalse(os.path.exists(self.path("x.html")))

    def test_reads_standard_input_and_writes_standard_output(self):
        with open(self.small, "rb") as file:
            done = harness.run([harness.OPSCOPE, "view", "-", "--html", "-"], stdin=file.read())
        self.assertEqual((done.status, done.stderr), (0, ""))
        self.assertEqual(pages.Parts(done.stdout).json("traces")["traces"][0]["name"], "standard input")

    def test_damaged_and_empty_traces(self):
        parts = self.page(self.trace(("track", "t", 100), name="empty.opscope"))
        self.assertEqual(parts.chosen("overview")["kind"], "empty")
        self.write_bytes("bad.opscope", b"not a trace")
        done = self.opscope("view", "bad.opscope", "--html", "bad.html")
        self.assertEqual(done.status, 2)
        self.assertFalse(os.path.exists(self.path("bad.html")))

    def write_bytes(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)


if __name__ == "__main__":
    unittest.main()
