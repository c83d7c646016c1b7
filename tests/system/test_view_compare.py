# SPDX-License-Identifier: Apache-2.0
"""/api/compare of `opscope view`: the figures of `opscope diff`, windows, and what it does to questions nobody can answer."""

import os
import re
import unittest

import test_estimate_models
from serving import ServerCase
from test_check import training

MS = 1000000
HOSTILE = "<img src=x>\u202e\"'"


def steps(slower, zones=True, op="matmul"):
    """Ten steps of 20 ms in which the device runs for 10 ms; fetching takes `slower` ms longer."""
    yield ("track", "MainThread", 100)
    length = 20 + slower
    for step in range(10):
        at = step * length * MS
        yield ("signpost", at, f"step {step}")
        if zones:
            yield ("zone", 0, at, at + length * MS, "step", "train.py:1")
            yield ("zone", 1, at, at + (5 + slower) * MS, "fetch", "train.py:2")
            yield ("zone", 1, at + (6 + slower) * MS, at + (7 + slower) * MS, HOSTILE, "train.py:3")
    yield ("device", "GPU 0", "made up")
    for step in range(10):
        at = (step * length + 8 + slower) * MS
        yield ("op", step + 1, at - MS, at - MS // 2, op)
        yield ("run", step + 1, at, at + 10 * MS, op)


class Compare(ServerCase):
    def setUp(self):
        super().setUp()
        self.a = self.trace(*steps(0), name="a.opscope")
        self.b = self.trace(*steps(3), name="b.opscope")

    def compare(self, query="a=0&b=1", status=200):
        return self.get(f"/api/compare?{query}", status)

    def test_has_the_figures_of_the_command(self):
        self.serve(self.a, self.b)
        answer = self.compare("a=0&b=1&warmup=include")
        done = self.opscope("diff", self.a, self.b, "--json", "--all", "--include-warm-up")
        self.assert_status(done)
        said = done.json()
        for key in ("totals", "groups", "rows", "matched_ops", "threshold_percent"):
            self.assertEqual(answer["diff"][key], said[key], key)
        self.assertEqual(answer["kind"], "runs")
        total = {row["total"]: row for row in said["totals"]}
        self.assertEqual(total["total"]["change"], 27 * MS)
        sentence = "".join(part["text"] for part in answer["sentence"])
        self.assertRegex(sentence, r"^B takes 27\.0 ms longer for ops and the gaps between them \(\+14% ± [^)]+\): gaps \+27\.0 ms\.$")
        self.assertIn(HOSTILE, [row["name"] for row in answer["diff"]["rows"]])

    def test_steps_add_up(self):
        self.serve(self.a, self.b)
        for pair in ("a=0&b=1", "a=1&b=0", "a=0&b=0", "a=0&b=1&a_to=100000000"):
            waterfall = self.compare(pair)["waterfall"]
            changes = sum(step["change_ns"] for step in waterfall["steps"]) + waterfall["rest_ns"]
            self.assertAlmostEqual(waterfall["a_ns"] + changes, waterfall["b_ns"], places=3, msg=pair)

    def test_both_overviews(self):
        self.serve(self.a, self.b)
        answer = self.compare("a=0&b=1&a_to=100000000&warmup=include")
        self.assertEqual([(answer[side]["id"], answer[side]["name"]) for side in "ab"], [(0, "a.opscope"), (1, "b.opscope")])
        self.assertEqual((answer["a"]["from"], answer["a"]["to"]), (0, 100 * MS))
        for index, side in enumerate("ab"):
            window = {"from": answer[side]["from"], "to": answer[side]["to"], "warmup": "include"}
            query = "&".join(f"{key}={value}" for key, value in window.items())
            self.assertEqual(answer[side]["overview"], self.get(f"/api/t/{index}/overview?{query}"))
            parts = answer[side]["overview"]["partition"]
            self.assertEqual(sum(part["ns"] for part in parts["parts"]), parts["total_ns"])

    def test_what_nobody_asked_for_is_what_the_summary_is_about(self):
        """The steps that both have after their warm-up, and in all figures what one of them takes; else the part between
        signposts that matters."""
        self.serve(self.trace(*training(20, first_ms=(400,), uneven=0), name="c.opscope"),
                   self.trace(*training(20, 1.5, first_ms=(400, 250), uneven=0), name="d.opscope"), self.a, self.b)
        own = self.get("/api/t/1/overview")
        answer = self.compare()
        self.assertEqual([(answer[side]["from"], answer[side]["to"]) for side in "ab"][1], (own["window"]["from"], own["window"]["to"]))
        self.assertEqual((answer["diff"]["basis"], answer["diff"]["a_steps"], answer["diff"]["b_steps"]), ("step", 12, 12))
        self.assertEqual(answer["diff"]["about"], "about: steps 3 to 14; left out: start-up 7.00 s, steps 1 to 2 as warm-up")
        sentence = "".join(part["text"] for part in answer["sentence"])
        found = re.fullmatch(r"A step takes (.*) ms instead of (.*) ms: \+(.*) ms \(\+50% ± .*\); device \+.*, gaps \+.*\.", sentence)
        self.assertTrue(found, sentence)
        # The bars, the waterfall and the totals are of the same step.
        waterfall = answer["waterfall"]
        for side, text in (("b", found[1]), ("a", found[2])):
            bar = answer[side]["overview"]["partition"]["total_ns"] / answer["diff"][f"{side}_steps"]
            total = next(row for row in answer["diff"]["totals"] if row["total"] == "time per step")
            for ns in (bar, waterfall[f"{side}_ns"], total[side]):
                self.assertAlmostEqual(ns / MS, float(text), delta=0.06)
        self.assertEqual((waterfall["basis"], answer["diff"]["is_noise"]), ("time of a step", False))
        self.assertFalse(any(step["noise"] for step in waterfall["steps"]))
        changes = sum(step["change_ns"] for step in waterfall["steps"]) + waterfall["rest_ns"]
        self.assertAlmostEqual(waterfall["a_ns"] + changes, waterfall["b_ns"], places=3)
        # One that is as fast: nothing of it is said to be slower.
        same = self.compare("a=0&b=0")
        self.assertTrue(same["diff"]["is_noise"])
        self.assertRegex("".join(part["text"] for part in same["sentence"]), r"^A step takes as long as before, [0-9.]+ ms\.$")
        signposts = self.compare("a=2&b=3")
        self.assertEqual((signposts["a"]["from"], signposts["b"]["from"]), (180 * MS, 207 * MS))
        self.assertEqual(signposts["a"]["from"], self.get("/api/t/2/overview")["window"]["from"])
        self.assertEqual(self.compare(f"a=2&b=3&a_from=0&b_from=0")["diff"]["matched_ops"], 10, "all of both, where it is asked for")

    def test_a_window_on_each_side(self):
        self.serve(self.a, self.b)
        answer = self.compare(f"a=0&b=1&a_from={20 * MS}&a_to={60 * MS}&b_from={23 * MS}&b_to={92 * MS}")
        rows = {row["name"]: row for row in answer["diff"]["rows"]}
        self.assertEqual((rows["fetch"]["a_count"], rows["fetch"]["b_count"]), (2, 3))
        self.assertEqual((rows["matmul"]["a_count"], rows["matmul"]["b_count"]), (2, 3))
        self.assertEqual((rows["step"]["a_total_ns"], rows["step"]["b_total_ns"]), (40 * MS, 69 * MS))
        wall = next(row for row in answer["diff"]["totals"] if row["total"] == "wall clock")
        self.assertEqual((wall["a"], wall["b"]), (40 * MS, 69 * MS))

    def test_places_to_align_by(self):
        self.serve(self.a, self.b)
        anchors = self.compare()["anchors"]
        self.assertIn({"name": "step 2", "a": 40 * MS, "b": 46 * MS}, anchors["signposts"])
        self.assertEqual(anchors["ops"], [{"name": "matmul", "a": 8 * MS, "b": 11 * MS}])

    def test_zones_alone(self):
        names = [self.trace(("track", "main", 1), ("zone", 0, 0, 9 * MS, "work", "a.c:1"),
                            ("zone", 1, 0, inner * MS, "inner", "a.c:2"), name=f"zones{inner}.opscope") for inner in (2, 6)]
        self.serve(*names)
        answer = self.compare()
        self.assertEqual(answer["waterfall"]["basis"], "own time of zones")
        self.assertEqual({step["name"]: step["change_ns"] for step in answer["waterfall"]["steps"]},
                         {"inner": 4 * MS, "work": -4 * MS})
        self.assertEqual(answer["anchors"], {"signposts": [], "ops": []})

    def test_refuses_what_nobody_can_mean(self):
        self.serve(self.a, self.b)
        for query, status in (("", 400), ("a=0", 400), ("a=0&b=", 400), ("a=-1&b=0", 400), ("a=0&b=x", 400), ("a=0&b=2", 404),
                              ("a=0&b=18446744073709551616", 400), ("a=0&b=1&a_from=2&a_to=1", 400), ("a=0&b=1&group=x", 400),
                              ("a=0&b=1&only=x", 400), ("a=0&b=1&top=x", 400), ("a=0&b=1&b_from=%zz", 400)):
            self.assertTrue(self.compare(query, status)["error"], query)
        self.assertEqual(self.ask("/api/compare?a=0&b=1", method="POST")[0], 405)
        self.assertEqual(self.get("/api/t/0/compare", 404)["error"], "there is no such question (docs/http-api.md)")
        wide = self.compare("a=0&b=1&a_from=-7&b_to=99999999999999999999999&top=1")
        self.assertEqual((wide["a"]["from"], wide["b"]["to"], len(wide["diff"]["rows"])), (0, 230 * MS, 1))

    def test_says_when_there_is_nothing_to_compare(self):
        empty = self.trace(("track", "main", 1), ("message", 5, "hello"), name="empty.opscope")
        self.serve(self.a, empty)
        self.assertRegex(self.compare(status=400)["error"], r"empty\.opscope .* has neither ops nor zones")
        self.assertRegex(self.compare("a=0&b=0&a_from=1&a_to=2", 400)["error"], "nothing to compare")

    def test_a_trace_that_is_damaged_or_deleted(self):
        self.write("bad.opscope", "this is not a trace")
        os.mkdir(self.path("folder"))
        for name in ("a.opscope", "b.opscope", "bad.opscope"):
            os.rename(self.path(name), os.path.join(self.path("folder"), name))
        self.serve(cwd=self.path("folder"))
        numbers = {trace["name"]: trace["id"] for trace in self.get("/api/traces")["traces"]}
        a, b, bad = (numbers[name] for name in ("a.opscope", "b.opscope", "bad.opscope"))
        before = self.compare(f"a={a}&b={b}")
        self.assertTrue(self.compare(f"a={a}&b={bad}", 500)["error"])
        os.unlink(os.path.join(self.path("folder"), "b.opscope"))
        self.assertEqual(self.compare(f"a={a}&b={b}")["diff"]["rows"], before["diff"]["rows"], "what is open stays")

    def test_goes_on_drawing_beside_it(self):
        self.serve(self.a, self.b)
        sockets = [self.connect() for _ in range(8)]
        for one in sockets:
            one.sendall(self.signed(b"GET /api/compare?a=0&b=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        for one in sockets[:4]:
            one.close()
        self.assertTrue(self.sections("tracks=0:0-1&px=100"))
        for one in sockets[4:]:
            self.assertTrue(one.recv(15).startswith(b"HTTP/1.1 200"))
        text = self.ask("/metrics")[2].decode()
        self.assertRegex(text, re.compile(r'^opscope_requests_total\{class="compare"\} [4-8]$', re.M))


class Estimates(ServerCase):
    def setUp(self):
        super().setUp()
        self.write("m.mlir", test_estimate_models.FLOW.format(n=1 << 20))
        self.write("run.jsonl", test_estimate_models.profile(9000000, 1 << 20, 2 << 20))
        options = ("--target", "cpu", *test_estimate_models.ONE_CORE)
        self.assert_status(self.opscope("estimate", self.path("m.mlir"), *options, "-o", self.path("m.opscope")))
        self.assert_status(self.opscope("import", "iree", self.path("run.jsonl"), "-o", self.path("run.opscope")))
        self.other = self.trace(*steps(0), name="other.opscope")
        self.serve(self.path("m.opscope"), self.path("run.opscope"), self.other)

    def test_an_estimate_against_a_run(self):
        answer = self.get("/api/compare?a=0&b=1")
        done = self.opscope("diff", self.path("m.opscope"), self.path("run.opscope"), "--json")
        self.assert_status(done)
        said = done.json()
        self.assertEqual(answer["kind"], "estimate")
        self.assertNotIn("diff", answer)
        for key in ("rows", "estimate_ns", "measured_ns", "bias_percent", "median_factor", "p90_factor"):
            self.assertEqual(answer["estimate"][key], said[key], key)
        sentence = "".join(part["text"] for part in answer["sentence"])
        factor = said["measured_ns"] / said["estimate_ns"]
        self.assertIn(f"Measured {factor:.3g} × the estimate; f is off by ", sentence)
        self.assertEqual((answer["a"]["overview"]["kind"], answer["b"]["overview"]["kind"] == "estimate"), ("estimate", False))

    def test_an_estimate_is_laid_over_the_run(self):
        answer = self.get("/api/overlay?a=0&b=1")
        said = self.get("/api/compare?a=0&b=1")["estimate"]
        self.assertEqual((answer["a"], answer["b"], answer["name"], answer["what"]), (0, 1, "m.opscope", said["what"]))
        [box], [pair] = answer["boxes"], answer["pairs"]
        self.assertEqual((box["name"], box["lane"], box["pair"], answer["lanes"]), ("f", 0, 0, 1))
        self.assertAlmostEqual(box["end"] - box["start"], said["rows"][0]["estimate_ns"], delta=1)
        self.assertEqual((pair["estimate_ns"], pair["measured_ns"], pair["run_count"]),
                         tuple(said["rows"][0][key] for key in ("estimate_ns", "measured_ns", "runs")))
        first = pair["runs"][0]
        self.assertTrue(first["beside"])
        self.assertEqual((box["start"], first["end"] - first["start"]), (first["start"], 1 << 20), "it begins with the shortest run")
        self.assertEqual(len(pair["runs"]), 3)
        for run in pair["runs"]:
            shown = self.get(f"/api/t/1/run?track={run['track']}&lane={run['lane']}&at={run['start']}")
            self.assertEqual((shown["start"], shown["duration"]), (run["start"], run["end"] - run["start"]))
            self.assertEqual(answer["track"], run["track"])
        listed = {trace["name"]: (trace["estimated"], trace["measured"]) for trace in self.get("/api/traces")["traces"]}
        self.assertEqual(listed, {"m.opscope": (True, False), "run.opscope": (False, True), "other.opscope": (False, True)})

    def test_refuses_to_lay_what_is_no_estimate(self):
        self.assertRegex(self.get("/api/overlay?a=1&b=0", 400)["error"], "run.opscope is not an estimate: a is the estimate, b the run")
        for run in (0, 2):  # nobody measured it there
            other = self.get(f"/api/overlay?a=0&b={run}")
            self.assertEqual((other["what"], other["boxes"], [pair for pair in other["pairs"] if pair["runs"]]), (None, [], []))
        for query, status in (("", 400), ("a=0", 400), ("a=0&b=x", 400), ("a=0&b=9", 404)):
            self.assertTrue(self.get(f"/api/overlay?{query}", status)["error"], query)

    def test_the_estimate_comes_first(self):
        self.assertRegex(self.get("/api/compare?a=1&b=0", 400)["error"], "m.opscope is an estimate: it comes first, as A")
        self.assertEqual(self.get("/api/compare?a=0&b=0")["kind"], "runs", "two estimates are two runs")


if __name__ == "__main__":
    unittest.main()
