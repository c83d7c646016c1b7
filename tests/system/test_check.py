# SPDX-License-Identifier: Apache-2.0
"""opscope check: exit codes, JUnit, budgets and the configuration file, on runs whose changes are known."""

import os
import unittest
import xml.etree.ElementTree

import harness
import views
from test_diff import OVERHEAD_HEAD, DiffCase, Run


class Gate(DiffCase):
    def setUp(self):
        super().setUp()
        with open(self.path("opscope.toml"), "w", encoding="utf-8"):
            pass  # so that none above this folder is found

    def config(self, text, *folders):
        folder = self.path(*folders)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "opscope.toml"), "w", encoding="utf-8") as file:
            file.write(text)

    def check(self, *arguments, status=0, **options):
        done = self.opscope("check", *arguments, **options)
        self.assert_status(done, status)
        return done

    def results(self, *arguments, status=0):
        done = self.check(*arguments, "--json", status=status)
        found = done.json()
        self.assertEqual(found["is_passed"], status == 0)
        return found["rows"]

    def two_versions(self):
        for version in ("before", "after"):
            command = [harness.example("two_versions"), version]
            self.assert_status(self.opscope("run", "-o", self.path(f"{version}.opscope"), "--", *command))
        return self.path("before.opscope"), self.path("after.opscope")


class Regressions(Gate):
    def test_fails_with_junit(self):
        before, after = self.two_versions()
        report = self.path("check.xml")
        done = self.check("--baseline", before, after, "--max-regress", "5%", "--junit", report, status=1)
        self.assertIn("slower: matmul [128x512 BF16, 512x2048 BF16 -> 128x2048 BF16]", done.stdout)
        self.assertIn("new: gelu", done.stdout)
        suite = xml.etree.ElementTree.parse(report).getroot().find("testsuite")
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("1", "1"))
        failure = suite.find("testcase/failure")
        self.assertIn("limit +5%", failure.get("message"))
        self.assertIn("slower: matmul", failure.text)

    def test_results_can_be_read_at_60_columns(self):
        before, after = self.two_versions()
        text = self.check("--no-config", "-b", before, after, "--metric", "total", "--metric", "device-time", status=1,
                          env={"COLUMNS": "60"}).stdout
        rows = [line.split() for line in text.splitlines()[:3]]
        self.assertEqual(rows[0][:3], ["result", "what", "rule"])
        self.assertEqual([row[:3] for row in rows[1:]], [["FAILED", "total", "max-regress"], ["FAILED", "device-time", "max-regress"]])
        text = self.opscope("diff", before, after, env={"COLUMNS": "60"}).stdout
        words = [line.split("  ")[0] for line in text.splitlines()]
        for word in ("device time", "total", "wall clock", "group", "matmul"):
            self.assertIn(word, words, text)

    def test_passes_against_itself(self):
        before, _ = self.two_versions()
        report = self.path("check.xml")
        self.check("--baseline", before, before, "--max-regress", "0%", "--junit", report)
        suite = xml.etree.ElementTree.parse(report).getroot().find("testsuite")
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("1", "0"))

    def test_faster_is_fine(self):
        before, after = self.two_versions()
        self.check("--baseline", after, before)

    def test_metrics(self):
        before, after = self.two_versions()
        rows = self.results(
            "--baseline", before, after, "--metric", "device-time", "--metric", "gap", "--metric", "count",
            "--metric", "op:norm", "--metric", "op:matmul", "--metric", "total", status=1,
        )  # fmt: skip
        found = {(row["subject"], row["name"]): row["result"] for row in rows}
        self.assertEqual(
            found,
            {
                ("device-time", None): "FAILED",
                ("gap", None): "ok",
                ("count", None): "ok",
                ("op", "norm"): "ok",
                ("op", "matmul"): "FAILED",
                ("total", None): "FAILED",
            },
        )
        device = rows[0]
        self.assertAlmostEqual(device["change_percent"], 13.1, delta=0.5)

    def test_noise_does_not_fail_and_says_so(self):
        a, b = Run(), Run()
        for i in range(12):
            a.op("A", 1000 + 500 * (i % 3))
            b.op("A", 1000 + 500 * ((i * 5 + i // 3) % 3) + (1200 if i == 7 else 0))
        self.write("a.csv", a)
        self.write("b.csv", b)
        rows = self.results("--baseline", "a.csv", "b.csv", "--max-regress", "5%", "--metric", "device-time")
        self.assertGreater(rows[0]["change_percent"], 5)
        self.assertEqual(rows[0]["result"], "noise")
        self.assertIn("within the noise", rows[0]["remark"])
        # The same growth of every op is none.
        b = Run()
        for i in range(12):
            b.op("A", (1000 + 500 * (i % 3)) * 1.08)
        self.write("b.csv", b)
        rows = self.results("--baseline", "a.csv", "b.csv", "--metric", "device-time", status=1)
        self.assertIn("more than noise", rows[0]["remark"])

    def test_without_repeats_the_limit_decides(self):
        self.write("a.csv", Run().op("A", 1000).op("B", 1000))
        self.write("b.csv", Run().op("A", 1200).op("B", 1000))
        rows = self.results("--baseline", "a.csv", "b.csv", "--metric", "device-time", status=1)
        self.assertIn("no repeats", rows[0]["remark"])
        self.check("--baseline", "a.csv", "b.csv", "--metric", "device-time", "--max-regress", "15%")

    def test_what_is_not_there(self):
        self.write("a.csv", Run().op("A", 1000))
        self.write("b.csv", Run().op("B", 1000))
        rows = self.results("--baseline", "a.csv", "b.csv", "--metric", "op:A", "--metric", "op:B", "--metric", "op:C", status=1)
        self.assertEqual([row["result"] for row in rows], ["FAILED", "skipped", "FAILED"])
        self.assertEqual(rows[0]["remark"], "this op is gone")
        self.assertIn("neither run", rows[2]["remark"])

    def test_zones(self):
        for version in ("1", "2"):
            done = self.opscope("run", "-o", self.path(f"{version}.opscope"), "--", harness.program("diff_zones"), version)
            self.assert_status(done)
        arguments = ("--baseline", "1.opscope", "2.opscope", "--metric", "zone:slow part", "--max-regress", "50%")
        rows = self.results(*arguments, status=1)
        self.assertIn("rank-sum", rows[0]["remark"])
        self.check("--baseline", "2.opscope", "1.opscope", "--metric", "zone:slow part")
        self.config(
            '[[check.budget]]\nzone = "slow part"\nmax-count = 30\nmax-median = "10s"\n'
            '[[check.budget]]\nzone = "step"\nmax-total = "1us"\n'
        )
        rows = self.results("2.opscope", status=1)
        self.assertEqual([row["result"] for row in rows], ["ok", "ok", "FAILED"])
        zones = {row["name"]: row for row in self.opscope_json("zones", "2.opscope", "--json")["rows"]}
        self.assertEqual(rows[1]["now"], zones["slow part"]["p50_ns"])
        self.assertEqual(rows[2]["now"], zones["step"]["total_ns"])

    def test_overhead_csv(self):
        self.write("a.csv", OVERHEAD_HEAD + "add,200,0.1,0.100,0.2\nmul,200,0.1,0.100,0.2\n")
        self.write("b.csv", OVERHEAD_HEAD + "add,200,0.1,0.100,0.2\nmul,200,0.1,0.150,0.2\n")
        rows = self.results("--baseline", "a.csv", "b.csv", "--metric", "op:mul", "--metric", "op:add", status=1)
        self.assertEqual([row["result"] for row in rows], ["FAILED", "ok"])


MS = 1000000


def training(step_ms, factor=1, steps=14, start_up_ms=7000, first_ms=(), ops=4, frames=True, uneven=0.5, at_step=lambda step: 0):
    """A program that imports for seconds, then takes steps of so many ms, which vary by a tenth and a third of them by
    half (`uneven`), as on a busy machine; the first ones take as long as it says. `factor`: how much longer than that a step takes."""
    yield ("track", "MainThread", 100)
    at, call = start_up_ms * MS, 0
    lines = [("zone", 0, 0, at, "import torch", "<frozen>:1"), ("frame", at, "step")]
    runs = []
    for step in range(steps):
        noise = 1 + (step * 7919 % 11) / 100 + (uneven if step % 3 == 2 else 0)
        length = int(first_ms[step] * MS if step < len(first_ms) else step_ms * factor * noise * MS) + at_step(step)
        for i in range(ops):
            call += 1
            begin = at + i * length // ops
            lines.append(("op", call, begin, begin + length // ops // 2, f"op{i}"))
            runs.append(("run", call, begin + 1000, begin + length // ops // 2, f"op{i}"))
        at += length
        if frames:
            lines.append(("frame", at, "step"))
    yield from lines
    yield ("device", "GPU 0", "made up")
    yield from runs


class Steps(Gate):
    """What a step takes is compared: an import of 7 s, and first steps that compile, are left out."""

    trace = views.ViewCase.trace

    def pair(self, a, b):
        self.trace(*a, name="a.opscope")
        self.trace(*b, name="b.opscope")
        return "a.opscope", "b.opscope"

    def one(self, a, b, *options, status=0):
        rows = self.results("-b", *self.pair(a, b), *options, status=status)
        self.assertEqual(len(rows), 1)
        return rows[0]

    def test_a_slower_step_fails(self):
        """Also where start-up is a hundred times as long, and shorter than before by more than the steps grew."""
        warm = (400, 250)
        for factor, start_up, uneven in ((4, 7000, 0.5), (4, 500, 0.5), (1.3, 7000, 0)):
            row = self.one(training(20, first_ms=warm, uneven=uneven),
                           training(20, factor, first_ms=warm, start_up_ms=start_up, uneven=uneven), status=1)
            self.assertEqual((row["subject"], row["result"]), ("step", "FAILED"))
            self.assertIn("more than noise", row["remark"])
            self.assertAlmostEqual(row["change_percent"], (factor - 1) * 100, delta=5)

    def test_the_same_step_passes(self):
        """Whatever start-up, warm-up and single steps took."""
        warm = (400, 250)
        for b in (training(20, first_ms=warm), training(20, start_up_ms=20000, first_ms=(9000, 700)), training(20, 1.04),
                  training(20, first_ms=warm, at_step=lambda step: 3000 * MS if step == 9 else 0)):
            self.assertIn(self.one(training(20, first_ms=warm), b)["result"], ("ok", "noise"))

    def test_an_outlier_in_the_baseline_hides_nothing(self):
        row = self.one(training(20, at_step=lambda step: 3000 * MS if step == 9 else 0), training(20, 4), status=1)
        self.assertIn("median", row["remark"])
        self.assertGreater(row["change_percent"], 200)

    def test_noise_between_the_runs_is_none_of_the_change(self):
        """All steps are a little slower, and no more than steps of one run differ: a test alone would call it sure."""
        row = self.one(training(20, steps=400), training(20, 1.08, steps=400))
        self.assertEqual(row["result"], "noise")
        self.assertIn("within the noise", row["remark"])

    def test_says_what_was_left_out(self):
        a, b = self.pair(training(20, first_ms=(400,)), training(20, first_ms=(400, 250)))
        done = self.check("-b", a, b, "--json")
        self.assertEqual(done.json()["about"], "about: steps 3 to 14; left out: start-up 7.00 s, steps 1 to 2 as warm-up")
        self.assertIn("left out: start-up 7.00 s", self.check("-b", a, b).stdout)
        self.assertIsNone(self.check("-b", a, b, "--json", "--include-warm-up").json()["about"])
        found = self.opscope_json("diff", a, b, "--json", "--all")
        self.assertEqual((found["about"], found["basis"], found["a_steps"], found["b_steps"]), (done.json()["about"], "step", 12, 12))
        self.assertIn("left out: start-up 7.00 s", self.opscope("diff", a, b).stdout)
        totals = {total["total"]: total for total in found["totals"]}
        self.assertEqual(totals["time per step"]["change"], 0)
        self.assertEqual({row["a_count"] for row in found["rows"] if row["kind"] == "op"}, {12})
        self.assertAlmostEqual(sum(row["a_total_ns"] for row in found["rows"] if row["kind"] == "op"), totals["device time"]["a"])
        self.assertNotIn("import torch", {row["name"] for row in found["rows"]})
        # The summary's and the report's window is the same, as far as one run decides it.
        own = self.opscope_json("summary", b, "--json")
        self.assertIn("steps 3 to 14", str(own))
        self.assertIn("step 3 to 14", self.opscope("report", b).stderr)

    def test_metrics_that_can_be_chosen(self):
        a, b = self.pair(training(20), training(20, 4))
        rows = self.results("-b", a, b, *(word for metric in ("step", "total", "device-time", "op:op1", "zone:import torch", "wall")
                                          for word in ("--metric", metric)), status=1)
        self.assertEqual([row["result"] for row in rows], ["FAILED", "FAILED", "FAILED", "FAILED", "ok", "FAILED"])
        self.assertIn("of the whole run", rows[4]["remark"])

    def test_without_steps_all_is_compared(self):
        row = self.one(training(20, frames=False), training(20, 4, frames=False), status=1)
        self.assertEqual(row["subject"], "total")
        found = self.opscope_json("diff", "a.opscope", "b.opscope", "--json")
        self.assertEqual((found["basis"], found["about"]), ("run", None))
        # One that has steps is compared with one that has none as a whole, too.
        self.pair(training(20), training(20, frames=False))
        self.assertEqual(self.opscope_json("diff", "a.opscope", "b.opscope", "--json")["basis"], "run")

    def test_budgets_are_of_the_whole_run(self):
        self.config('[[check.budget]]\nop = "op1"\nmax-count = 14\n[[check.budget]]\nzone = "import torch"\nmax = "8s"\n'
                    '[[check.budget]]\nmetric = "step"\nmax = "30ms"\n')
        a, b = self.pair(training(20, first_ms=(400,)), training(20, first_ms=(400,)))
        rows = self.results("-b", a, b)
        self.assertEqual([row["result"] for row in rows], ["ok"] * 4)
        self.assertEqual(rows[1]["now"], 14)
        self.assertEqual([row["now"] for row in self.results(b)], [row["now"] for row in rows[1:]])

    def test_several_runs(self):
        for i, factor in enumerate((1, 1.05, 0.98, 1.5, 1.45, 1.55)):
            self.trace(*training(20, factor), name=f"{i}.opscope")
        runs = [f"{i}.opscope" for i in range(6)]
        baselines = [word for path in runs[:3] for word in ("-b", path)]
        self.assertEqual(self.results(*baselines, *runs[3:], status=1)[0]["result"], "FAILED")
        self.assertIn(self.results(*baselines, *runs[:3])[0]["result"], ("ok", "noise"))


class Budgets(Gate):
    def setUp(self):
        super().setUp()
        run = Run()
        for i in range(10):
            run.op("A", 1000 + 100 * i).op("B", 50)
        self.write("run.csv", run)

    def one(self, limit, status=0, subject='op = "A"'):
        self.config(f"[[check.budget]]\n{subject}\n{limit}\n")
        return self.results("run.csv", status=status)[0]

    def test_figures(self):
        for limit, now in (
            ('max = "1.9us"', 1900),
            ('max-mean = "1450ns"', 1450),
            ('max-median = "1450ns"', 1450),
            ('max-p99 = "1.9us"', 1900),
            ('max-total = "14.5us"', 14500),
            ("max-count = 10", 10),
        ):
            row = self.one(limit)
            self.assertEqual((row["result"], row["now"]), ("ok", now), limit)
        for limit in ('max = "1899ns"', 'max-mean = "1449ns"', 'max-total = "1us"', "max-count = 9"):
            self.assertEqual(self.one(limit, status=1)["result"], "FAILED", limit)
        row = self.one('max = "15us"', subject='metric = "device-time"')
        self.assertEqual(row["now"], 15000)
        self.assertEqual(self.one("max = 19", status=1, subject='metric = "count"')["now"], 20)

    def test_missing_names(self):
        row = self.one('max = "1s"', status=1, subject='zone = "nowhere"')
        self.assertEqual(row["remark"], "there is no such zone")
        row = self.one('max = "1s"\noptional = true', subject='op = "nowhere"')
        self.assertEqual(row["result"], "skipped")

    def test_regress_needs_a_baseline(self):
        row = self.one('max-regress = "5%"')
        self.assertEqual((row["result"], row["remark"]), ("skipped", "no baseline was given"))
        self.config('[check]\nbaseline = "run.csv"\n[[check.budget]]\nop = "A"\nmax-regress = "5%"\n')
        self.assertEqual([row["result"] for row in self.results("run.csv")], ["ok", "ok"])

    def test_several_baselines(self):
        self.config('[check]\nbaseline = ["run.csv", "run.csv"]\nmetric = "op:A"\n')
        self.assertEqual([row["result"] for row in self.results("run.csv", "run.csv")], ["ok"])
        self.config('[check]\nbaseline = [1]\n')
        self.assertIn("opscope.toml:2:13: ", self.check("run.csv", status=2).stderr)

    def test_one_that_others_may_have_written(self):
        """Anybody may put one into /tmp: it is not taken, and the one above it is, unless it is named."""
        self.config('[check]\nbaseline = "run.csv"\nmetric = "op:A"\n')
        self.config('[check]\nmax-regress = "99999%"\nbaseline = "../run.csv"\n', "below")
        theirs, below = self.path("below", "opscope.toml"), {"cwd": self.path("below")}
        os.chmod(theirs, 0o666)
        cases = [("others can write it", lambda: None)]
        if os.geteuid() == 0:
            cases.append(("another user's", lambda: (os.chmod(theirs, 0o644), os.chown(theirs, 65534, 65534))))
        for name, make in cases:
            with self.subTest(name):
                make()
                done = self.check("../run.csv", "--json", **below)
                self.assertEqual(done.json()["configuration"], os.path.realpath(self.path("opscope.toml")))
                self.assertIn("below/opscope.toml is ignored: another user may have written it; --config /", done.stderr)
                done = self.check("../run.csv", "--json", "--config", theirs, **below)
                self.assertEqual((done.json()["configuration"], done.stderr), (theirs, ""))

    def test_found_from_below(self):
        self.config('[check]\nbaseline = "run.csv"\nmetric = ["op:A", "gap"]\nmax-regress = 1\n')
        os.makedirs(self.path("deep", "er"))
        done = self.check("../../run.csv", "--json", cwd=self.path("deep", "er"))
        self.assertEqual([row["subject"] for row in done.json()["rows"]], ["op", "gap"])
        self.assertEqual(done.json()["configuration"], os.path.realpath(self.path("opscope.toml")))
        self.check("../../run.csv", "--no-config", cwd=self.path("deep", "er"), status=2)

    def test_mistakes_have_a_place(self):
        for text, message in (
            ("[check]\nmax-regres = 5\n", "opscope.toml:2:1: [check] has no 'max-regres'; did you mean 'max-regress'?"),
            ("[chek]\n", "opscope.toml:1:2: the configuration has no 'chek'; did you mean 'check'?"),
            ('[check]\nmetric = ["speed"]\n', "opscope.toml:2:11: unknown metric 'speed'"),
            ('[check]\nmax-regress = "a lot"\n', "opscope.toml:2:1: 'max-regress' should be a percentage"),
            ('[[check.budget]]\nmax = "1ms"\n', "opscope.toml:1:3: this budget does not say what it is for"),
            ('[[check.budget]]\nzone = "a"\n', "opscope.toml:1:3: this budget has no limit"),
            ('[[check.budget]]\nzone = "a"\nop = "b"\nmax = "1s"\n', "opscope.toml:3:1: a budget is about one thing"),
            ('[[check.budget]]\nzone = "a"\nmax = 2\n', "opscope.toml:3:1: 'max' should be a time with its unit"),
            ('[[check.budget]]\nzone = "a"\nmax-count = "x"\n', "opscope.toml:3:1: 'max-count' should be a whole number"),
            ('[[check.budget]]\nzone = "a"\nmaximum = "2s"\n', "opscope.toml:3:1: a budget has no 'maximum'"),
            ('[[check.budget]]\nmetric = "gap"\nmax-p99 = "2s"\n', "opscope.toml:3:1: 'max-p99' is for zones and ops"),
            ('[check]\nbudget = "x"\n', "opscope.toml:2:1: budgets are written as [[check.budget]]"),
            ("check = 1\n", "opscope.toml:1:1: 'check' should be a table"),
            ("[check\n", "opscope.toml:1:7: the header should end with ]"),
        ):
            self.config(text)
            done = self.check("run.csv", status=2)
            self.assertIn(message, done.stderr)
            self.assertEqual(done.stdout, "")

    def test_usage(self):
        for arguments, message in (
            (("run.csv",), "there is nothing to check"),
            (("run.csv", "--metric", "gap"), "compare with --baseline"),
            (("run.csv", "--baseline", "run.csv", "--metric", "speed"), "--metric 'speed'"),
            (("run.csv", "--baseline", "run.csv", "--max-regress", "x"), "--max-regress"),
            (("run.csv", "--baseline", "none.csv"), "none.csv"),
            (("run.csv", "--config", "none.toml"), "none.toml"),
            ((), "B"),
        ):
            done = self.check(*arguments, status=2)
            self.assertIn(message, done.stderr)

    def test_junit_of_odd_names(self):
        self.config('[[check.budget]]\nop = "a<b>\\u001b&\\""\nmax = "1s"\n')
        self.check("run.csv", "--junit", self.path("j.xml"), status=1)
        case = xml.etree.ElementTree.parse(self.path("j.xml")).getroot().find("testsuite/testcase")
        self.assertIn("a<b>", case.get("name"))


if __name__ == "__main__":
    unittest.main()
