# SPDX-License-Identifier: Apache-2.0
"""opscope report --compat 1.2.4 against what tt-perf-report 1.2.4 printed, byte for byte.

The goldens hold the op table, the stacked report and the CSV files of some 270 command lines. The texts around
them (headings, advice, messages) are ours, so that the test cuts the tables out of our output and drops the
Advice column of our CSV before it compares.
"""

import csv
import glob
import io
import os
import shlex
import unittest

import harness
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


if __name__ == "__main__":
    unittest.main()
