# SPDX-License-Identifier: Apache-2.0
"""opscope overhead --check: the gate.

What the gate makes of times is tested with times that were made up (python/made_up_machine.py): a quiet machine, a busy
one, another one, an op that does 30 % more work. So nothing here depends on what else the machine that runs the tests
does. Only `Real` measures, and expects no more than any machine at any load can give. How sure the gate is on a real
machine under load is a figure of bench/suite_overhead.py.
"""

import csv
import os
import unittest
import xml.etree.ElementTree

import harness
import pages
from test_overhead import needs, needs_extension

LIBRARY = os.path.join(harness.PROGRAMS, "overhead_gate_plugin.so")
MACHINE = os.path.join(harness.SOURCE, "tests", "system", "python", "made_up_machine.py")
MADE_UP = ("--ops", "made_up.py", "--python", MACHINE, "--seed", "1")
OPS = ["gate.add", "gate.allocate", "gate.branch", "gate.copy", "gate.long", "gate.multiply", "gate.print"]
MIN_MS = "python min dispatch time (ms)"
MIN_NS = "min (ns)"
FLOOR_NS = "floor (ns)"
LIMIT_S = 900
needs_page = unittest.skipUnless(pages.are_built(), pages.NOT_BUILT)


class GateCase(harness.TestCase):
    ops = MADE_UP

    def overhead(self, *words, **options):
        options.setdefault("timeout", LIMIT_S)
        return self.opscope("overhead", *self.ops, "-q", *words, **options)

    def make_reference(self, name="ref.csv", *words, **options):
        done = self.overhead("--check", name, "--update", *words, **options)
        self.assertEqual(done.status, 0, done)
        self.assertIn("is the reference now", done.stderr)
        return self.path(name)

    def check(self, *words, status=0, reference="ref.csv", **options):
        """The gate's JSON."""
        done = self.overhead("--check", reference, "--json", *words, **options)
        self.assertEqual(done.status, status, done)
        return done.json()

    def verdicts(self, gate):
        return {row["op"]: row["verdict"] for row in gate["rows"]}

    def read(self, name="ref.csv"):
        with open(self.path(name), encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        return rows

    def write(self, name, rows):
        with open(self.path(name), "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    def scale(self, rows, factor, which):
        """The same rows with the times of some ops changed."""
        changed = [dict(row) for row in rows]
        for row in changed:
            if which(row["op"]):
                row[MIN_NS] = str(float(row[MIN_NS]) * factor)
                row[FLOOR_NS] = str(float(row[FLOOR_NS]) * factor)
                row[MIN_MS] = str(round(float(row[MIN_NS]) / 1e6, 3))
        return changed


def is_calibration(op):
    return op.startswith("calibration.")


def is_op(op):
    return not is_calibration(op)


@needs_extension
class Figures(GateCase):
    """What is made of given figures; the reference is made once."""

    made = None

    def setUp(self):
        super().setUp()
        if Figures.made is None:
            self.make_reference()
            Figures.made = self.read()
        self.write("ref.csv", Figures.made)

    def test_reference_has_what_the_gate_needs(self):
        rows = self.read()
        self.assertEqual([row["op"] for row in rows if is_op(row["op"])], OPS)
        self.assertGreaterEqual(len([row for row in rows if is_calibration(row["op"])]), 4)
        self.assertEqual(sorted(row["op"] for row in rows), [row["op"] for row in rows])
        for row in rows:
            self.assertGreater(float(row[MIN_NS]), 0, row)
            self.assertGreater(int(row["repeats"]), 20, "a reference comes from several processes")
        shown = self.opscope_json("overhead", "--show", "ref.csv")
        self.assertEqual(sorted(row["op"] for row in shown["rows"]), OPS)
        self.assertEqual(shown["calibration_ops"], len(rows) - len(OPS))

    def test_twice_the_time_is_slower(self):
        rows = self.read()
        self.write("half.csv", self.scale(rows, 0.5, lambda op: op in ("gate.add", "gate.print")))
        gate = self.check("--patience", "10min", reference="half.csv", status=1)
        verdicts = self.verdicts(gate)
        self.assertEqual([op for op in OPS if verdicts[op] == "slower"], ["gate.add", "gate.print"], gate)
        self.assertFalse(gate["passes"])
        self.assertEqual(gate["slower"], 2)
        for row in gate["rows"]:
            if row["verdict"] == "slower":
                self.assertGreaterEqual(row["rounds"], 7)
                self.assertRegex(row["reason"], r"in all of \d+ rounds; 1\.\d\d is allowed")
        # The bound can be moved.
        gate = self.check("--tolerance", "4", reference="half.csv")
        self.assertEqual(gate["slower"], 0)

    def test_another_machine_is_taken_out(self):
        """All was half as long there, the calibration ops too: a machine twice as fast, not slower ops."""
        self.write("fast.csv", self.scale(self.read(), 0.5, lambda op: True))
        gate = self.check(reference="fast.csv")
        self.assertEqual(gate["slower"], 0)
        self.assertTrue(gate["is_normalised"])
        self.assertTrue(1.5 < gate["factor"] < 3.5, gate["factor"])
        # As they are, all are slower.
        gate = self.check("--absolute", "--patience", "10min", reference="fast.csv", status=1)
        self.assertFalse(gate["is_normalised"])
        self.assertEqual(gate["slower"], len(OPS), gate)

    def test_reference_without_calibration_is_absolute(self):
        rows = [row for row in self.read() if is_op(row["op"])]
        self.write("plain.csv", self.scale(rows, 2.5, is_op))
        done = self.overhead("--check", "plain.csv", "--all")
        self.assertEqual(done.status, 0, done)
        self.assertIn("absolute times: the reference has no calibration ops", done.stdout)
        self.assertIn("faster", done.stdout)

    def test_calibration_that_disagrees_decides_nothing(self):
        """One calibration op ten times as long: nothing is known about the machine, so nothing is slower."""
        rows = self.scale(self.read(), 10, lambda op: op == "calibration.integer")
        self.write("odd.csv", self.scale(rows, 0.7, lambda op: op == "gate.add"))
        done = self.overhead("--check", "odd.csv", "--patience", "1s")
        self.assertEqual(done.status, 0, done)
        self.assertIn("the calibration ops do not agree", done.stdout)
        self.assertIn("undecided", done.stdout)
        done = self.overhead("--check", "odd.csv", "--patience", "1s", "--strict")
        self.assertEqual(done.status, 1, done)

    def test_missing_new_and_failed(self):
        rows = [row for row in self.read() if row["op"] != "gate.copy"]
        self.write("ref.csv", rows)
        gate = self.check(
            "--patience", "10min", env={"GATE_HIDE_OP": "gate.add", "GATE_FAIL_OP": "gate.print"}, status=1
        )
        verdicts = self.verdicts(gate)
        self.assertEqual(verdicts["gate.add"], "missing")
        self.assertEqual(verdicts["gate.copy"], "new")
        self.assertEqual(verdicts["gate.print"], "failed")
        reasons = {row["op"]: row["reason"] for row in gate["rows"]}
        self.assertIn("No such device", reasons["gate.print"])
        gate = self.check("--allow-missing", env={"GATE_HIDE_OP": "gate.add"})
        self.assertEqual(gate["missing"], 1)
        # Only what was asked for can be missing.
        gate = self.check("--op", "gate.b*", env={"GATE_HIDE_OP": "gate.add"})
        self.assertEqual(list(self.verdicts(gate)), ["gate.branch"])
        self.assertEqual(self.overhead("--check", "ref.csv", "--op", "gate.copy").status, 2)

    @needs_page
    def test_junit_and_page(self):
        rows = [row for row in self.read() if row["op"] != "gate.copy"]
        self.write("half.csv", self.scale(rows, 0.5, lambda op: op == "gate.branch"))
        gate = self.check(
            "--patience", "10min", "--junit", "out.xml", "--html", "out.html", reference="half.csv", status=1
        )
        suite = xml.etree.ElementTree.parse(self.path("out.xml")).getroot().find("testsuite")
        self.assertEqual(suite.get("tests"), str(len(OPS)))
        self.assertEqual(suite.get("failures"), "1")
        self.assertEqual(suite.get("skipped"), str(gate["undecided"]))
        failed = [case for case in suite.findall("testcase") if case.find("failure") is not None]
        self.assertEqual([case.get("name") for case in failed], ["gate.branch"])
        self.assertRegex(failed[0].find("failure").get("message"), r"slower, [\d.]+ times the reference: in all of")
        properties = {item.get("name"): item.get("value") for item in suite.find("properties")}
        self.assertEqual(properties["reference"], "half.csv")
        page = pages.read(self.path("out.html"))
        self.assertEqual((page.json("traces")["panel"], page.json("traces")["traces"]), ("dispatch", []))
        shown = page.json("dispatch")
        self.assertEqual(sorted(op["name"] for op in shown["ops"]), sorted(OPS))
        for op in shown["ops"]:
            self.assertGreaterEqual(len(op["repeats_ns"]), 2, op)
            self.assertAlmostEqual(min(op["repeats_ns"]), op["min_ns"], delta=0.06)
        self.assertFalse(shown["gate"]["passes"])
        self.assertEqual(shown["gate"]["reference"], "half.csv")
        self.assertEqual({row["name"]: row["verdict"] for row in shown["gate"]["rows"]}, self.verdicts(gate))
        self.assertEqual(page.fetched, [])
        self.assertIn("sha256-", page.policy)

    @needs_page
    def test_the_page_says_whether_the_gate_passed(self):
        """With the options that decide it: a missing op that is allowed does not fail the page either."""
        for words, status in (((), 1), (("--allow-missing",), 0)):
            self.check(*words, "--html", "out.html", env={"GATE_HIDE_OP": "gate.add"}, status=status)
            gate = pages.read(self.path("out.html")).json("dispatch")["gate"]
            self.assertEqual(gate["passes"], status == 0)
            self.assertIn("missing", [row["verdict"] for row in gate["rows"]])


@needs_extension
class Files(GateCase):
    """References that cannot be used, and writing them."""

    def refused(self, text, message):
        with open(self.path("bad.csv"), "w", encoding="utf-8") as file:
            file.write(text)
        for words in ((*MADE_UP, "--check", "bad.csv"), ("--show", "bad.csv")):
            done = self.opscope("overhead", *words)
            self.assertEqual(done.status, 2, done)
            self.assertIn(message, done.stderr)
            self.assertEqual(done.stdout, "")

    def test_bad_references(self):
        heading = "op,count,python min dispatch time (ms)\n"
        self.refused("", "bad.csv: empty")
        self.refused("op,count\n", 'bad.csv:1: no column "python min dispatch time (ms)"')
        self.refused("name\n", 'bad.csv:1: no column "op"')
        self.refused(heading + "a,1,x\n", "bad.csv:2:3: python min dispatch time (ms): not a number")
        self.refused(heading + "a,1,-1\n", "bad.csv:2:3: python min dispatch time (ms): a negative value")
        self.refused(heading + "a,1,1\na,1,1\n", 'bad.csv:3:1: op "a" was there on line 2 already')
        self.refused(heading + "a,1\n", 'no time for op "a"')
        self.refused("\x7fELF\0\1\2", 'no column "op"')

    def test_usage(self):
        done = self.overhead("--check", "none.csv")
        self.assertEqual(done.status, 2, done)
        self.assertIn("no reference yet (--check none.csv --update makes one)", done.stderr)
        done = self.overhead("--junit", "x.xml")
        self.assertEqual(done.status, 2, done)
        self.assertIn("--junit is for the gate", done.stderr)
        for tolerance in ("0.9", "x", "", "nan", "13%"):
            done = self.overhead("--check", "none.csv", "--update", "--tolerance", tolerance)
            self.assertEqual(done.status, 2, done)
            self.assertIn("a factor of 1 or more was expected", done.stderr)
        self.assertFalse(os.path.exists(self.path("none.csv")))
        done = self.overhead("--check", "none.csv", "--update", "--trace")
        self.assertEqual(done.status, 2, done)

    def test_update(self):
        """Whole or not at all; never with fewer ops than it had, unseen."""
        words = ("--op", "gate.add", "--op", "gate.print")
        self.make_reference("part.csv", *words)
        self.assertEqual([row["op"] for row in self.read("part.csv") if is_op(row["op"])], ["gate.add", "gate.print"])
        before = self.read("part.csv")
        done = self.overhead("--check", "part.csv", "--update", "--op", "gate.add")
        self.assertEqual(done.status, 2, done)
        self.assertIn("part.csv has 1 op not asked for now", done.stderr)
        self.assertEqual(self.read("part.csv"), before)
        # A slower op is said, and becomes the reference.
        self.write("part.csv", self.scale(before, 0.5, lambda op: op == "gate.add"))
        done = self.overhead("--check", "part.csv", "--update", "--patience", "10min", *words)
        self.assertEqual(done.status, 0, done)
        self.assertIn("1 slower", done.stdout)
        after = {row["op"]: float(row[MIN_NS]) for row in self.read("part.csv")}
        self.assertGreater(after["gate.add"], 0.75 * float(dict((r["op"], r) for r in before)["gate.add"][MIN_NS]))
        self.assertEqual([name for name in os.listdir(self.folder) if "tmp" in name], [])

    def test_what_cannot_be_written_is_said_before_measuring(self):
        reference = self.make_reference()
        with open(self.path("file"), "w", encoding="utf-8"):
            pass
        before = os.path.getsize(self.path("made_up_processes"))
        for words, path in (
            (("--check", "no/such/ref.csv", "--update"), "no/such"),
            (("--check", "file/ref.csv", "--update"), "file is not a folder"),
            (("--check", reference, "--junit", "no/junit.xml"), "no/junit.xml"),
            (("--check", reference, "--html", "no/page.html"), "no/page.html" if pages.are_built() else "without its page"),
            (("--html", "no/page.html"), "no/page.html" if pages.are_built() else "without its page"),
        ):
            with self.subTest(words):
                done = self.overhead(*words)
                self.assertEqual(done.status, 2, done)
                self.assertIn(path, done.stderr)
        self.assertEqual(os.path.getsize(self.path("made_up_processes")), before, "a worker was started")

    def test_show_every_form(self):
        with open(self.path("v.csv"), "w", encoding="utf-8") as file:
            file.write(
                "op,count,python min dispatch time (ms),python mean dispatch time(ms),"
                "python mean dispatch + sync time (ms),C++ mean dispatch time (ms)\n"
                "ttnn.add,800,0.021,0.024,0.11,0.009\n<b>&\x1b,1,0.5,0.5,0.6,\n"
            )
        done = self.opscope("overhead", "--show", "v.csv")
        self.assertEqual(done.status, 0, done)
        self.assertIn("21.000 us", done.stdout)
        self.assertIn("no calibration ops", done.stdout)
        self.assertNotIn("\x1b", done.stdout)
        rows = self.opscope_json("overhead", "--show", "v.csv")["rows"]
        self.assertEqual([row["op"] for row in rows], ["<b>&\x1b", "ttnn.add"])
        self.assertEqual(rows[1]["native_ns"], 9000)
        page = pages.of(self, "overhead", "--show", "v.csv") if pages.are_built() else None
        if page:
            shown = page.json("dispatch")
            self.assertEqual({op["name"]: op["native_ns"] for op in shown["ops"]}, {"<b>&\x1b": None, "ttnn.add": 9000})
            self.assertIsNone(shown["gate"])
            self.assertNotIn("b", page.tags)
        done = self.opscope("overhead", "--show", "v.csv", "--csv")
        self.assertEqual(done.stdout.count("\n"), 3)

    def test_the_vendors_reference(self):
        path = harness.reference_data("tenstorrent", "host_overhead_reference.txt")
        shown = self.opscope_json("overhead", "--show", path)
        self.assertEqual(shown["ops"], 383)
        gate = self.check(reference=path, status=1)
        self.assertEqual(gate["missing"], 383)
        self.assertEqual(gate["new"], len(OPS))
        self.assertFalse(gate["is_normalised"])
        self.assertEqual(gate["compared"], "absolute times: the reference has no calibration ops")


@needs_extension
class Load(GateCase):
    """A busy machine, against a reference that was made on a quiet one."""

    def test_unchanged_ops_pass(self):
        for load in ("0.2", "0.8"):
            for seed in range(1, 4 if harness.REPEAT == 1 else 20):
                with self.subTest(load=load, seed=seed):
                    self.make_reference(f"{seed}.csv", env={"GATE_SEED": str(seed)})
                    env = {"GATE_LOAD": load, "GATE_SEED": str(seed + 100)}
                    gate = self.check(reference=f"{seed}.csv", env=env)
                    self.assertEqual((gate["slower"], gate["failed"], gate["missing"]), (0, 0, 0), gate)
                    self.assertTrue(gate["passes"])

    def test_a_slow_op_is_named_alone(self):
        self.make_reference()
        for load in ("0", "0.5"):
            for op in OPS:
                with self.subTest(load=load, op=op):
                    env = {"GATE_SLOW_OP": op, "GATE_LOAD": load}
                    gate = self.check("--patience", "10min", env=env, status=1)
                    named = [name for name, verdict in self.verdicts(gate).items() if verdict == "slower"]
                    self.assertEqual(named, [op], gate)

    def test_a_slow_op_on_a_slow_machine(self):
        self.make_reference()
        env = {"GATE_SLOW_OP": "gate.copy", "GATE_SPEED": "3", "GATE_LOAD": "0.5"}
        gate = self.check("--patience", "10min", env=env, status=1)
        self.assertEqual([row["op"] for row in gate["rows"] if row["verdict"] == "slower"], ["gate.copy"], gate)
        self.assertAlmostEqual(gate["factor"], 3, delta=0.1)


class Real(GateCase):
    """This machine, whatever else it does."""

    ops = ("--ops", LIBRARY)

    def test_reference_and_check(self):
        self.make_reference()
        rows = self.read()
        self.assertEqual([row["op"] for row in rows if is_op(row["op"])], OPS)
        for row in rows:
            self.assertGreater(float(row[MIN_NS]), 0, row)
        done = self.overhead("--check", "ref.csv", "--json", "--patience", "1s")
        self.assertIn(done.status, (0, 1), done)
        gate = done.json()
        self.assertEqual((gate["failed"], gate["missing"], gate["new"]), (0, 0, 0), gate)
        self.assertEqual(sorted(self.verdicts(gate)), OPS)

    def test_ten_times_the_work_never_passes_for_the_same(self):
        self.make_reference("ref.csv", "--op", "gate.[ab]*")
        env = {"GATE_SLOW_OP": "gate.branch", "GATE_SLOW_PERCENT": "900"}
        done = self.overhead("--check", "ref.csv", "--json", "--patience", "1s", "--op", "gate.[ab]*", env=env)
        self.assertIn(self.verdicts(done.json())["gate.branch"], ("slower", "undecided"), done)


class Pytest(GateCase):
    """The ways in through pytest, with the real one."""

    def pytest(self, *words, **env):
        env.setdefault("PATH", os.pathsep.join([harness.BUILD, os.environ["PATH"]]))
        command = ["/usr/bin/python3", "-m", "pytest", "-p", "no:cacheprovider", "-q", *words]
        return self.run_command(command, env=env, timeout=LIMIT_S)

    @needs("pytest")
    @needs("numpy")
    def test_entry_with_the_vendors_options(self):
        entry = os.path.join(harness.SOURCE, "python", "opscope", "host_overhead", "profile_host_overhead.py")
        done = self.pytest(entry, "--input-method", "cli", "--cli-input", "out::numpy.add")
        self.assertEqual(done.status, 0, done)
        rows = self.read("out/host_overhead_numpy.add.csv")
        self.assertEqual([row["op"] for row in rows], ["numpy.add"])
        done = self.pytest(entry, "--input-method", "cli", "--cli-input", "all", "--ops", LIBRARY)
        self.assertEqual(done.status, 0, done)
        self.assertEqual([row["op"] for row in self.read("all/host_overhead_profiler_output.csv")], OPS)
        done = self.pytest(entry, "--input-method", "cli", "--cli-input", "out::numpy.no_such")
        self.assertEqual(done.status, 1, done)
        self.assertIn("none of the", done.stdout)

    @needs("pytest")
    def test_example_for_users(self):
        """The example takes the Python that runs it; a program of the same name on PATH puts our machine in its place."""
        example = os.path.join(harness.SOURCE, "examples", "ci", "test_host_overhead.py")
        os.mkdir(self.path("bin"))
        with open(self.path("bin", "opscope"), "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec "{harness.OPSCOPE}" "$@" --python "{MACHINE}"\n')
        os.chmod(self.path("bin", "opscope"), 0o755)
        env = {
            "PATH": os.pathsep.join([self.path("bin"), os.environ["PATH"]]),
            "OVERHEAD_REFERENCE": self.path("ref.csv"),
            "OVERHEAD_OPS": "made_up.py",
        }
        done = self.pytest(example, **env)
        self.assertIn("1 skipped", done.stdout)
        self.make_reference()
        done = self.pytest(example, **env)
        self.assertEqual(done.status, 0, done)
        self.assertIn("7 passed", done.stdout)
        self.write("ref.csv", self.scale(self.read(), 0.4, lambda op: op == "gate.print"))
        done = self.pytest(example, **env)
        self.assertEqual(done.status, 1, done)
        self.assertIn("1 failed", done.stdout)
        self.assertIn("gate.print is slower", done.stdout)


if __name__ == "__main__":
    unittest.main()
