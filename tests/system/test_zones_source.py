# SPDX-License-Identifier: Apache-2.0
"""opscope zones --source: times of lines beside their text, on the first interpreter of the build."""

import csv
import io
import os
import time
import unittest

import harness
from test_python import PACKAGE, interpreters

SCRIPT = '''\
import json

def helper(n):
    total = 0
    for i in range(n):
        total += i
    return total

def never():
    return 1

def main():
    first = helper(3)
    if first < 0:
        print("never")

    second = [helper(i) for i in range(2)]
    twice = lambda n: helper(n)
    return first, second, twice(1), json.loads("[1]")

main()
'''


class ZonesSource(harness.TestCase):
    def setUp(self):
        super().setUp()
        if not interpreters():
            self.skipTest("the build has no Python extension: no Python 3.9 or later with its headers was found")
        self.python = interpreters()[0]

    def record_lines(self, data, name="lines.py"):
        with open(self.path(name), "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return self.record([self.python, self.path(name)], "--python-trace", "lines")

    def lines(self, trace, *words):
        """{line: row} of the script."""
        answer = self.opscope_json("zones", "--source", *words, trace)
        self.answer = answer
        return {row["line"]: row for row in answer["rows"] if row["file"].startswith(self.folder)}

    def test_hits_times_and_text(self):
        trace = self.record_lines(SCRIPT)
        found = self.lines(trace)
        text = SCRIPT.split("\n")
        expected = {4: 4, 7: 4, 13: 1, 14: 1, 18: 1, 21: 1}
        self.assertEqual({line: found[line]["hits"] for line in expected}, expected)
        for line, row in found.items():
            self.assertEqual(row["source"], text[line - 1])
            self.assertLessEqual(row["self_ns"], row["total_ns"])
        for line in (10, 15):  # not reached
            self.assertNotIn(line, found)
        helper = [row for row in found.values() if row["function"] == "helper"]
        self.assertEqual({row["function_line"] for row in helper}, {3})
        self.assertAlmostEqual(sum(row["share_percent"] for row in helper), 100.0)
        self.assertGreater(found[13]["total_ns"], found[13]["self_ns"])  # has a call inside
        functions = {row["function"].split(".")[-1] for row in self.answer["rows"]}
        self.assertIn("<lambda>", functions)
        self.assertNotIn("loads", functions)
        self.assertIn("of libraries left out", " ".join(self.answer["notes"]))

    def test_for_people(self):
        shown = self.opscope("zones", "--source", "-n", "main", self.record_lines(SCRIPT)).stdout
        lines = shown.split("\n")
        self.assertRegex(lines[0], r"^main  .*/lines\.py:12  1 call, ")
        self.assertRegex(shown, r"(?m)^ +15 +print\(\"never\"\)$")  # not reached: no figures
        self.assertRegex(shown, r"(?m)^ +13 +1 .*     first = helper\(3\)$".replace("     first", "  +first"))
        self.assertNotIn("def helper", shown)

    def test_chosen_by_function_and_by_line(self):
        trace = self.record_lines(SCRIPT)
        self.assertEqual({row["function"] for row in self.lines(trace, "-n", "helper").values()}, {"helper"})
        self.assertEqual(set(self.lines(trace, "-n", "helper:7")), {7})
        self.assertEqual(self.lines(trace, "-n", "nothing"), {})
        self.assertEqual(len({row["function"] for row in self.lines(trace, "--top", "1").values()}), 1)
        names = {row["function"] for row in self.opscope_json("zones", "--source", "-n", "*", trace)["rows"]}
        self.assertIn("loads", names)

    def test_csv(self):
        done = self.opscope("zones", "--source", "--csv", "-n", "helper", self.record_lines(SCRIPT))
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        self.assertEqual([(row["line"], row["hits"]) for row in rows][0], ("4", "4"))
        self.assertEqual(rows[0]["source"], "    total = 0")

    def test_utf8_and_latin1(self):
        for encoding, cookie, word in (
            ("latin-1", "latin-1", "Maß"),
            ("utf-8", "utf-8", "ünï"),
            ("utf-8-sig", "utf-8", "mit Marke ü"),
        ):
            with self.subTest(encoding):
                text = "# -*- coding: %s -*-\ndef f():\n    return '%s'\nf()\n" % (cookie, word)
                found = self.lines(self.record_lines(text.encode(encoding)))
                self.assertEqual(found[3]["source"], "    return '%s'" % word)

    def test_another_encoding(self):
        """Bytes are kept as if they were Latin-1, rather than the line lost."""
        found = self.lines(self.record_lines(b"# coding: mac_iceland\ndef f():\n    return '\xfc'\nf()\n"))
        self.assertEqual(found[3]["source"], "    return '\xfc'")

    def test_line_ends_and_tabs(self):
        found = self.lines(self.record_lines(b"def f(a):\r\n\tif a:\r\n\t  return 1\r\nf(1)\r\n"))
        self.assertEqual(found[2]["source"], "        if a:")
        self.assertEqual(found[3]["source"], "          return 1")

    def test_a_file_that_was_changed(self):
        with open(self.path("lines.py"), "w", encoding="utf-8") as file:
            file.write(SCRIPT)
        later = time.time() + 100
        os.utime(self.path("lines.py"), (later, later))
        found = self.lines(self.record([self.python, self.path("lines.py")], "--python-trace", "lines"))
        self.assertEqual((found[4]["hits"], found[4]["source"]), (4, None))
        self.assertIn("lines.py was changed while it was recorded", " ".join(self.answer["notes"]))

    def test_a_file_that_is_gone(self):
        """The trace has its lines, unless it was not to have them; then a folder may."""
        trace = self.record_lines(SCRIPT)
        os.unlink(self.path("lines.py"))
        self.assertEqual(self.lines(trace)[4]["source"], "    total = 0")
        with open(self.path("lines.py"), "w", encoding="utf-8") as file:
            file.write(SCRIPT)
        trace = self.record([self.python, self.path("lines.py")], "--python-trace", "lines", "--no-source")
        found = self.lines(trace)
        self.assertEqual((found[4]["hits"], found[4]["source"]), (4, None))
        self.assertIn("lines.py was recorded without source lines", " ".join(self.answer["notes"]))
        self.assertIn("--source-dir DIR", " ".join(self.answer["notes"]))
        self.assertEqual(self.lines(trace, "--source-dir", self.folder)[4]["source"], "    total = 0")
        self.assert_status(self.opscope("zones", "--source-dir", self.folder, trace), 2)

    def test_a_trace_without_lines(self):
        with open(self.path("lines.py"), "w", encoding="utf-8") as file:
            file.write(SCRIPT)
        done = self.opscope("zones", "--source", self.record([self.python, self.path("lines.py")]))
        self.assert_status(done)
        self.assertIn("no lines in this trace: record them with", done.stdout)
        self.assert_status(self.opscope("zones", "--source", "--sort", "self", self.path("t.opscope")), 2)

    def test_partial_lines_around_one_call(self):
        with open(self.path("p.py"), "w", encoding="utf-8") as file:
            file.write(SCRIPT.replace("\nmain()", "\nimport opscope\nmain()\nwith opscope.Profiler():\n    helper(5)"))
        env = {"PYTHONPATH": os.path.dirname(PACKAGE)}
        command = [self.python, "-m", "opscope", "-q", "-p", "-l", "-o", self.path("t.opscope"), "p.py"]
        self.assert_status(self.run_command(command, env=env))
        found = self.lines(self.path("t.opscope"))
        self.assertEqual({row["function"] for row in found.values()}, {"helper"})
        self.assertEqual({line: row["hits"] for line, row in found.items()}, {4: 1, 5: 6, 6: 5, 7: 1})


if __name__ == "__main__":
    unittest.main()
