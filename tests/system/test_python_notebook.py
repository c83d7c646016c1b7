# SPDX-License-Identifier: Apache-2.0
"""%load_ext opscope, %%opscope and %opscope in a real IPython; and what of it works without IPython."""

import os
import re
import unittest
import xml.etree.ElementTree

import harness
from test_python import PACKAGE, Tools, interpreters

HEAD = """
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils import capture
shell = InteractiveShell.instance()
def show(cell):
    with capture.capture_output(True, True, True) as caught:
        shell.run_cell(cell)
    html = "".join(output.data.get("text/html", "") for output in caught.outputs)
    plain = "".join(output.data.get("text/plain", "") for output in caught.outputs)
    return html, plain, caught.stdout
shell.run_cell("%load_ext opscope")
shell.run_cell("def fib(n):\\n    return n if n < 2 else fib(n - 1) + fib(n - 2)")
"""


class Notebook(Tools, harness.TestCase):
    def setUp(self):
        super().setUp()
        self.has_ipython = [
            path for path in interpreters() if harness.run([path, "-c", "import IPython"]).status == 0
        ]
        if not self.has_ipython:
            self.skipTest("no interpreter has IPython (Debian: python3-ipython)")
        self.python = self.has_ipython[0]

    def ipython(self, text):
        path = self.path("session.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(HEAD + text)
        env = {"PYTHONPATH": os.path.dirname(PACKAGE), "HOME": self.folder, "IPYTHONDIR": self.path("ipython")}
        done = self.run_command([self.python, path], env=env)
        self.assertEqual((done.status, done.stderr), (0, ""), done)
        return done.stdout

    def test_a_cell(self):
        out = self.ipython("""
html, plain, text = show("%%opscope\\nx = fib(10)\\nx")
print(html)
print("-----")
print(plain)
print(shell.user_ns["x"], text)
""")
        page, plain = out.split("-----\n")
        svg = xml.etree.ElementTree.fromstring(page[page.index("<svg") : page.index("</svg>") + 6])
        space = "{http://www.w3.org/2000/svg}"
        titles = [title.text for title in svg.iter(space + "title")]
        self.assertTrue(any(title.startswith("fib\n") and "1 call" in title for title in titles), titles)
        for rect in svg.iterfind(f".//{space}g/{space}rect"):
            self.assertLessEqual(float(rect.get("x")) + float(rect.get("width")), 1200.5)
        self.assertRegex(page, r"<td[^>]*>fib</td><td[^>]*>[^<]*:1</td><td[^>]*>177</td>")
        self.assertNotRegex(page, "<script|http://(?!www.w3.org)|https://|IPython")
        self.assertRegex(plain, r"function +where +calls +self +total\n(.*\n)*fib +\S*:1 +177 ")
        self.assertIn("55", plain)

    def test_a_line_and_options(self):
        out = self.ipython("""
print(show("%opscope fib(5)")[1])
print(show("%opscope -o kept.opscope --by total --top 1 --c-calls fib(5)")[2])
print(show("%%opscope --exclude __main__ --max-depth 5\\nfib(5)")[1])
for line in ("%opscope", "%opscope --no-such x", "%%opscope --top\\nfib(3)", "%%opscope fib(3)\\n1"):
    print(show(line)[2].splitlines()[0])
print(show("%%opscope\\nraise KeyError('mine')")[2].count("KeyError"))
""")
        self.assertRegex(out, r"fib +\S*:1 +15 ")
        self.assertNotIn("contextlib", out)  # what IPython calls for itself
        self.assertIn("opscope: wrote " + self.path("kept.opscope"), out)
        self.assertEqual(self.opscope_json("info", self.path("kept.opscope"))["lost_zones"], 0)
        for text in ("no statement given", "no option --no-such", "--top needs a value", "what is recorded is the cell"):
            self.assertIn("opscope: " + text, out)
        self.assertNotEqual(out.splitlines()[-1], "0")

    def test_nothing_recorded_shows_nothing(self):
        """Least of all the trace of that name that is there and was kept."""
        out = self.ipython("""
shell.run_cell("%opscope -o kept.opscope fib(5)")
html, plain, text = show("%%opscope -o kept.opscope --include no_such_module\\nfib(5)")
print("-----", [html, plain], text)
html, plain, text = show("%%opscope -o new.opscope --include no_such_module\\nfib(5)")
print("-----", [html, plain], text)
show("import opscope\\nwith opscope.record('kept.opscope', include='no_such_module') as r:\\n    fib(5)\\n")
print("-----", shell.user_ns["r"]._repr_html_())
""")
        _, kept, new, value = out.split("-----")
        for text in (kept, new):
            self.assertIn("['', '']", text)
            self.assertIn("opscope: no zones were recorded, so there is nothing to show", text)
        self.assertNotIn("wrote", kept)
        self.assertIn("opscope: wrote %s" % self.path("new.opscope"), new)
        self.assertEqual(value.strip(), "None")
        rows = self.opscope_json("zones", self.path("kept.opscope"))["rows"]
        self.assertEqual({row["name"]: row["count"] for row in rows}["fib"], 15)

    def test_the_extension_loaded_again(self):
        out = self.ipython("""
show("%opscope fib(5)")
shell.run_cell("%reload_ext opscope")
for _ in range(2):
    print(show("%opscope fib(5)")[1])
""")
        self.assertEqual(len(re.findall(r"^fib +\S*:1 +15 ", out, re.MULTILINE)), 2, out)

    def test_a_recording_as_a_value(self):
        out = self.ipython("""
html, plain, text = show("import opscope\\nwith opscope.record('v.opscope') as r:\\n    fib(5)\\n")
print(type(shell.user_ns["r"]._repr_html_()), "<svg" in shell.user_ns["r"]._repr_html_())
""")
        self.assertIn("<class 'str'> True", out)


class WithoutIPython(Tools, harness.TestCase):
    def test_the_picture_and_the_table(self):
        if not interpreters():
            self.skipTest("the build has no Python extension")
        path = self.write("plain.py", """
            import sys
            sys.modules["IPython"] = None
            import opscope
            def fib(n):
                return n if n < 2 else fib(n - 1) + fib(n - 2)
            with opscope.record("x.opscope") as recording:
                fib(5)
            from opscope._notebook import Shown
            print(Shown(recording.path, recording))
            print(recording._repr_html_().count("<rect"))
            """)
        done = self.run_command([interpreters()[0], path], env={"PYTHONPATH": os.path.dirname(PACKAGE)})
        self.assertEqual((done.status, done.stderr), (0, ""), done)
        self.assertRegex(done.stdout, r"fib +plain.py:5 +15 ")
        self.assertGreaterEqual(int(done.stdout.splitlines()[-1]), 5)

    def test_shares_add_up_whatever_runs_beside(self):
        """A kernel has threads of its own: of the time of one thread they would be more than 100 %."""
        if not interpreters():
            self.skipTest("the build has no Python extension")
        path = self.write("beside.py", """
            import sys, threading
            sys.modules["IPython"] = None
            import opscope
            over = threading.Event()
            begun = threading.Event()
            def beside():
                begun.set()
                over.wait()
            def work():
                thread = threading.Thread(target=beside)
                thread.start()
                begun.wait()
                for _ in range(100000):
                    pass
                over.set()
                thread.join()
            with opscope.record("x.opscope") as recording:
                work()
            from opscope._notebook import Shown
            shown = Shown(recording.path, recording, top=1000)
            print(shown.left_out, sum(float(cells[4].split()[0]) for cells in shown.cells()))
            """)
        done = self.run_command([interpreters()[0], path], env={"PYTHONPATH": os.path.dirname(PACKAGE)})
        self.assertEqual((done.status, done.stderr), (0, ""), done)
        left_out, total = done.stdout.split()
        self.assertLessEqual(int(left_out), 0)
        self.assertAlmostEqual(float(total), 100, delta=3)  # each is rounded


if __name__ == "__main__":
    unittest.main()
