# SPDX-License-Identifier: Apache-2.0
"""Damaged and odd input of estimate, annotate and diff: a message that names the file and says what to do, or an estimate
of what is left that says what is missing. Never silence, never a crash."""

import re
import unittest

import test_estimate
import test_estimate_models

TOSA = """module {
  func.func @main(%%a: %s) -> %s {
    %%0 = tosa.abs %%a : (%s) -> %s
    return %%0 : %s
  }
}
"""


class Case(test_estimate.Case):
    def fails(self, *arguments):
        done = self.opscope(*arguments)
        self.assert_status(done, 2)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        return done.stderr

    def notes(self, *arguments):
        return " | ".join(self.opscope_json(*arguments, "--json")["notes"])


class Models(Case):
    def test_a_hundred_megabytes_on_one_line_with_a_million_ops(self):
        op = ' "a.b"() {note = "' + "x" * 68 + '"} : () -> ()'
        self.write("line.mlir", "module {" + op * 1000000 + " }")
        done = self.opscope("estimate", "line.mlir")
        self.assert_status(done)
        self.assertIn("no op of this model costs anything", done.stdout)
        self.write("cut.mlir", "module {" + op * 100000)
        self.assertIn("cut.mlir:1:8: the region", self.fails("estimate", "cut.mlir"))

    def test_many_ops_that_cost_something(self):
        count = 100000
        body = "".join(f"  %{i} = tosa.abs %a : (tensor<4xf32>) -> tensor<4xf32>\n" for i in range(count))
        self.write("many.mlir", f"func.func @main(%a: tensor<4xf32>) {{\n{body}  return\n}}\n")
        found = self.estimate("many.mlir", "--target", "cpu")
        self.assertEqual(len(found["rows"]), count)

    def test_a_hundred_thousand_levels(self):
        inner = "%0 = tosa.abs %a : (tensor<4096xf32>) -> tensor<4096xf32>\n"
        deep = "func.func @main(%a: tensor<4096xf32>) {\n" + "scf.execute_region {\n" * 100000 + inner
        self.write("deep.mlir", deep + "}\n" * 100001)
        row, = self.estimate("deep.mlir", "--target", "cpu")["rows"]
        self.assertEqual(row["op"], "tosa.abs")
        self.write("open.mlir", deep)
        self.assertIn("is never closed", self.fails("estimate", "open.mlir"))
        for command in ("diff", "annotate"):
            self.write("run.csv", test_estimate.EVENTS)
            self.assertIn("open.mlir", self.fails(command, "open.mlir", "run.csv"))

    def test_aliases_in_circles_and_of_nothing(self):
        kind = "tensor<8xf32>"
        good = TOSA % (kind, kind, kind, kind, kind)
        for loc in ("#a", "#gone"):
            self.write("alias.mlir", "#a = loc(#b)\n#b = loc(#a)\n" + good.replace("-> tensor<8xf32>\n", f"-> tensor<8xf32> loc({loc})\n"))
            row, = self.estimate("alias.mlir", "--target", "cpu")["rows"]
            self.assertEqual((row["op"], row["read_bytes"]), ("tosa.abs", 32))

    def test_locations_that_are_absent(self):
        self.write("m.mlir", test_estimate.model((1000, 500)))
        self.assertEqual({row["location"] for row in self.estimate("m.mlir")["rows"]}, {"loc(unknown)"})
        self.estimate("m.mlir", "-o", "m.opscope")
        self.write("old.csv", "id;time_since_open;time_since_start;location\n0;110;10;\n")
        self.assertIn("no dispatch in common, no place in the source and no name", self.fails("diff", "m.opscope", "old.csv"))

    def test_dialects_and_types_that_nobody_knows(self):
        for kind in ("!their.tensor<4x!x>", "tensor<8x!their.number>", "tensor<8xf8E4M3B11FNUZ>", "vector<[4]xi3>", "none"):
            with self.subTest(kind=kind):
                self.write("m.mlir", TOSA.replace("tosa.abs", "their.op") % (kind, kind, kind, kind, kind))
                found = self.estimate("m.mlir", "--target", "cpu")
                self.assertTrue(found["notes"])
                if "tensor<8x" in kind and "!" not in kind:
                    self.assertIn("their.op", " ".join(found["notes"]))

    def test_dynamic_shapes(self):
        kind = "tensor<?x8xf32>"
        self.write("m.mlir", TOSA % (kind, kind, kind, kind, kind))
        notes = " ".join(self.estimate("m.mlir", "--target", "cpu")["notes"])
        self.assertRegex(notes, r"tosa\.abs.*--dim gives it a value")
        for dim in ("16", "0:0=16"):
            found = self.estimate("m.mlir", "--target", "cpu", "--dim", dim)
            self.assertEqual(found["rows"][0]["read_bytes"], 16 * 8 * 4)
            self.assertNotIn("--dim", " ".join(found["notes"]))
        for dim in ("x", "0:0=", "0:0=-1", "0:9999999999=1"):
            self.assertIn(dim, self.fails("estimate", "m.mlir", "--dim", dim))

    def test_bytecode_that_was_cut(self):
        head = b"ML\xefR\x0dLLVM22\x00"
        for length in (4, 6, len(head)):
            with open(self.path("cut.mlirb"), "wb") as file:
                file.write(head[:length])
            self.assertIn("cut.mlirb", self.fails("estimate", "cut.mlirb"))
            self.write("run.csv", test_estimate.EVENTS)
            self.assertIn("cut.mlirb", self.fails("diff", "cut.mlirb", "run.csv"))


class Profiles(Case):
    def setUp(self):
        super().setUp()
        self.phase = self.write("m.10.executable-targets.mlir", test_estimate.model((1000, 500), (2000, 700)))
        self.estimate(self.phase, "-o", "m.opscope")

    def both(self, name, text, says):
        """The same of the profile with its IR and with the trace of the estimate."""
        self.write(name, text)
        notes = self.notes("annotate", self.phase, name)
        self.assertIn(says, notes)
        self.assertIn(says, self.notes("diff", self.phase, name))

    def test_actions_that_are_missing(self):
        lines = [line for line in test_estimate.EVENTS.splitlines() if not line.startswith("d0_main,2,0,")]
        self.both("part.csv", "\n".join(lines) + "\n", "of the IR without times")
        found = self.opscope_json("diff", self.phase, "part.csv", "--json")
        self.assertIn("of the estimate not measured: 1 program", found["notes"])
        self.assertEqual([row["measured_ns"] for row in found["rows"]], [5000])

    def test_time_that_goes_backwards(self):
        text = test_estimate.EVENTS.replace("d0_main,2,1,2010,", "d0_main,2,1,1500,")
        self.both("back.csv", text, "1 event of the profile with the end before the begin")
        found = self.opscope_json("diff", "m.opscope", "back.csv", "--json")
        self.assertEqual([(row["dispatch"], row["measured_ns"]) for row in found["rows"]], [("d1_main", 5000)])
        self.assertIn("1 row or record of the profile cannot be used", " ".join(found["notes"]))

    def test_dispatches_of_another_model(self):
        text = test_estimate.EVENTS.replace("d0_main", "x_main")
        self.both("some.csv", text, "dispatches that the IR does not have (x_main)")
        found = self.opscope_json("diff", "m.opscope", "some.csv", "--json")
        self.assertRegex(" ".join(found["notes"]), "1 of 2 dispatches of the run are not in the model")
        self.write("other.csv", text.replace("d1_main", "y_main"))
        self.assertIn("its dispatches are others (x_main)", self.fails("annotate", self.phase, "other.csv"))
        self.assertIn("its dispatches are others (x_main)", self.fails("diff", self.phase, "other.csv"))
        self.assertIn("they have no dispatch in common", self.fails("diff", "m.opscope", "other.csv"))

    def test_profiles_that_were_cut(self):
        text = test_estimate.EVENTS
        for length in range(0, len(text), 37):
            self.write("cut.csv", text[:length])
            done = self.opscope("annotate", self.phase, "cut.csv")
            self.assertIn(done.status, (0, 2), done)
            self.assertIn(self.opscope("diff", "m.opscope", "cut.csv").status, (0, 2))
            if done.status == 2:
                self.assertIn("cut.csv" if length < 60 else "of the profile", done.stderr)

    def test_locations_with_commas(self):
        place = 'loc(fused["a, b; c.mlir":7:3, "x":1:1])'
        self.write("p.csv", f"actionIndex, elapsed_time(us), timestamp(us), event, location\n0,1,100,start,{place}\n1,9,101,wait,{place}\n")
        self.estimate(self.phase, "-o", "m.opscope", "--default-location", 'loc("a, b; c.mlir":7:3)', "--csv", "t.csv")
        for model in ("m.opscope", "t.csv"):
            found = self.opscope_json("diff", model, "p.csv", "--json")
            self.assertEqual(sum(row["measured_ns"] for row in found["rows"]), 10000)
            self.assertEqual({row["location"] for row in found["rows"]}, {'loc("a, b; c.mlir":7:3)'})

    def test_the_wrong_phase(self):
        self.write("m.6.flow.mlir", test_estimate_models.FLOW.format(n=64))
        self.write("m.1.input.mlir", TOSA % (("tensor<8xf32>",) * 5))
        self.write("run.csv", test_estimate.EVENTS)
        for name, phase in (("m.6.flow.mlir", "flow"), ("m.1.input.mlir", "input")):
            self.assertIn(f"{name} holds no schedule: its phase is {phase}", self.fails("annotate", name, "run.csv"))
            says = self.fails("diff", name, "run.csv")
            self.assertIn(f"{name} (phase: {phase})", says)
            self.assertIn("needed is the phase executable-targets", says)
        self.assertIn("m.6.flow.mlir a model (MLIR)", self.fails("diff", "run.csv", "m.6.flow.mlir"))


class DeviceProfiles(Case):
    def setUp(self):
        super().setUp()
        self.write("m.mlir", test_estimate_models.FLOW.format(n=4096))
        self.text = test_estimate_models.profile(900, 700, 500)

    def test_records_that_are_damaged(self):
        lines = self.text.splitlines()
        lines[2] = re.sub(r'"end_host_time_ns": \d+', '"end_host_time_ns": 5', lines[2])  # before it began
        self.write("r.jsonl", "\n".join(lines) + "\n")
        found = self.opscope_json("diff", "m.mlir", "r.jsonl", "--json")
        row, = found["rows"]
        self.assertEqual((row["least_ns"], row["runs"]), (500, 2))
        self.assertIn("1 row or record of the profile cannot be used", " ".join(found["notes"]))

    def test_profiles_and_traces_that_were_cut(self):
        self.write("r.jsonl", self.text)
        self.assert_status(self.opscope("import", "iree", "r.jsonl", "-o", "r.opscope"))
        self.assert_status(self.opscope("estimate", "m.mlir", "--target", "cpu", "-o", "m.opscope"))
        for name in ("r.jsonl", "r.opscope", "m.opscope"):
            with open(self.path(name), "rb") as file:
                whole = file.read()
            for length in range(0, len(whole), max(len(whole) // 23, 1)):
                with open(self.path("cut"), "wb") as file:
                    file.write(whole[:length])
                pair = ("cut", "r.jsonl") if name == "m.opscope" else ("m.mlir", "cut")
                done = self.opscope("diff", *pair)
                self.assertIn(done.status, (0, 2), done)
                if done.status:
                    self.assertIn("cut", done.stderr)


if __name__ == "__main__":
    unittest.main()
