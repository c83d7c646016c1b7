# SPDX-License-Identifier: Apache-2.0
"""opscope report --compat 1.2.4 and 1.4.1 against what tt-perf-report of that release printed, byte for byte.

The goldens of 1.2.4 hold the op table, the stacked report and the CSV files of some 270 command lines. The texts around
them (headings, advice, messages) are ours, so that the test cuts the tables out of our output and drops the
Advice column of our CSV before it compares.
"""

import csv
import glob
import importlib.metadata
import importlib.util
import io
import os
import shlex
import sys
import unittest

import harness
from compat_1_4_1 import make
import ops_csv

TABLE_HEAD = "ID "
STACKED_HEADING = "\U0001f4ca Stacked report \U0001f4ca\n====================\n"


def table_of(text):
    """The op table: from its header to the line below the second rule."""
    lines = text.splitlines(keepends=True)
    start = next((i for i, line in enumerate(lines) if line.startswith(TABLE_HEAD) and "OP Code" in line), None)
    if start is None:
        return ""
    rules = [i for i in range(start, len(lines)) if lines[i].startswith("----")]
    return "".join(lines[start : rules[1] + 2])


def stacked_of(text):
    at = text.find(STACKED_HEADING)
    return "" if at < 0 else text[at + len(STACKED_HEADING) :]


def without_advice(data):
    rows = list(csv.reader(io.StringIO(data.decode("utf-8"), newline="")))
    if rows and "Advice" in rows[0]:
        column = rows[0].index("Advice")
        rows = [row[:column] + row[column + 1 :] for row in rows]
    out = io.StringIO(newline="")
    csv.writer(out).writerows(rows)
    return out.getvalue().encode("utf-8")


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Compat(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.data = harness.reference_data("tt-perf-report")
        self.inputs = os.path.join(self.data, "inputs")
        self.compared = self.equal = 0
        self.different = []

    def compare(self, name, got, golden):
        self.compared += 1
        expected = read(golden)
        if got == expected:
            self.equal += 1
            return
        ours, theirs = got.splitlines(), expected.splitlines()
        at = next((i for i, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]), min(len(ours), len(theirs)))
        self.different.append(
            f"{name}, line {at + 1}:\n  expected {theirs[at : at + 1]}\n  got      {ours[at : at + 1]}"
        )

    def arguments_of(self, command):
        """The golden's command line as ours: inputs by path, outputs in the test's folder."""
        words = shlex.split(command)[1:]
        out = []
        for i, word in enumerate(words):
            path = os.path.join(self.inputs, word)
            is_value = i > 0 and words[i - 1] in ("--csv", "--stacked-csv", "--summary-file")
            out.append(path if not is_value and os.path.exists(path) else word)
        return out

    def check_case(self, base):
        with open(base + ".cmd", encoding="utf-8") as file:
            command = file.read().strip()
        name = os.path.basename(base)
        done = self.opscope("report", "--compat", "1.2.4", *self.arguments_of(command))
        expected_status = int(read(base + ".rc"))
        dies = name.endswith("__ignsp_nomerge_groupcat")  # a traceback after the table: ours goes on
        self.assertEqual(done.status, 0 if dies else expected_status, done)
        if dies:
            self.assertIn("Op Count", stacked_of(done.stdout), done)
        for path in sorted(glob.glob(glob.escape(base) + ".*")):
            kind = path[len(base) :]
            if kind == ".table.txt":
                self.compare(name + kind, table_of(done.stdout).encode(), path)
            elif kind == ".stacked.txt":
                self.compare(name + kind, stacked_of(done.stdout).encode(), path)
            elif kind == ".out.csv":
                self.compare(name + kind, without_advice(read(self.path(name + kind))), path)
            elif kind not in (".cmd", ".rc"):
                self.compare(name + kind, read(self.path(name + kind)), path)

    def test_every_golden(self):
        cases = sorted(glob.glob(os.path.join(self.data, "golden", "*.cmd")))
        self.assertGreater(len(cases), 200)
        for case in cases:
            self.check_case(case[: -len(".cmd")])
        print(f"report --compat 1.2.4: {self.equal} of {self.compared} files equal, {len(cases)} command lines")
        self.assertFalse(self.different, "\n" + "\n".join(self.different[:10]))

    def test_width_counts_the_mark_of_a_signpost(self):
        """A column is as wide as the longest name in it, where a signpost's ends in " (signpost)" before its sign
        replaces that."""
        rows = ops_csv.good_rows()
        name = "a signpost whose name is longer than that of any op"
        rows.append({"OP CODE": name, "OP TYPE": "signpost", "HOST START TS": "1999999"})
        with open(self.path("s.csv"), "w", encoding="utf-8", newline="") as file:
            file.write(ops_csv.text_of(rows))
        done = self.opscope("report", "--compat", "1.2.4", "s.csv", "--ignore-signposts", "--no-advice")
        head = table_of(done.stdout).splitlines()[0]
        self.assertEqual(head.index("Device") - head.index("OP Code") - 2, len(name + " (signpost)"), done)


class Compat141(harness.TestCase):
    """--compat 1.4.1 against what that release wrote of inputs of our own (compat_1_4_1/make.py)."""

    goldens = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compat_1_4_1")

    def check(self, name, command, words):
        base = os.path.join(self.goldens, f"{name}-{command}")
        arguments = ("report", "--compat", "1.4.1", f"{name}.csv", *words, "--no-advice", "--no-color")
        shown = self.opscope(*arguments)
        self.assert_status(shown)
        self.assert_status(self.opscope(*arguments, "--csv", "t.csv"))
        text = table_of(shown.stdout) + "\n" + stacked_of(shown.stdout).strip() + "\n"
        self.assertEqual(text.encode(), read(base + ".txt"), f"{name}, {command}")
        for ending in (".csv", "_stacked.csv"):
            self.assertEqual(read(self.path("t" + ending)), read(base + ending), f"{name}, {command}, {ending}")

    def test_every_golden(self):
        make.write_inputs(self.folder)
        compared = 0
        for name, commands in make.COMMANDS.items():
            for command, words in commands.items():
                with self.subTest(f"{name} {command}"):
                    self.check(name, command, words)
                    compared += 1
        files = [name for name in os.listdir(self.goldens) if name.endswith((".txt", ".csv"))]
        self.assertEqual(compared * 3, len(files))

    def test_advice_on_sparse_matmuls_and_grids(self):
        make.write_inputs(self.folder)
        done = self.opscope("report", "--compat", "1.4.1", "matmuls.csv", "--ignore-signposts")
        self.assertIn("--active-experts K", done.stdout)
        done = self.opscope("report", "--compat", "1.4.1", "matmuls.csv", "--ignore-signposts", "--active-experts", "3")
        self.assertNotIn("--active-experts K", done.stdout)

    def test_an_unknown_version_is_refused(self):
        done = self.opscope("report", "--compat", "1.3", "x.csv")
        self.assert_status(done, 2)
        self.assertIn("1.2.4 and 1.4.1", done.stderr)

    def test_reference_captures_by_the_tool_itself(self):
        """Where its package is installed beside this Python, on every reference input."""
        if importlib.util.find_spec("tt_perf_report") is None:
            self.skipTest("the package tt-perf-report is not installed")
        if importlib.metadata.version("tt_perf_report") != "1.4.1" or sys.version_info < (3, 12):
            self.skipTest("it takes release 1.4.1 on CPython 3.12 or later, whose sum() is compensated")
        for path in sorted(glob.glob(os.path.join(harness.reference_data("tt-perf-report"), "inputs", "*.csv"))):
            words = [path, "--ignore-signposts", "--no-color", "--no-advice", "--csv"]
            self.run_command([sys.executable, "-m", "tt_perf_report.perf_report", *words, "theirs.csv"])
            self.assert_status(self.opscope("report", "--compat", "1.4.1", *words, "ours.csv"))
            self.assertEqual(read(self.path("ours.csv")), read(self.path("theirs.csv")), path)


if __name__ == "__main__":
    unittest.main()
