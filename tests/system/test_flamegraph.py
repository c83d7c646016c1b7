# SPDX-License-Identifier: Apache-2.0
"""opscope export --format flamegraph: what is in the picture, for traces whose every time is known, and what a browser does
with it."""

import html
import os
import re
import shutil
import unittest
import xml.etree.ElementTree

import harness
from views import ViewCase

SVG = "{http://www.w3.org/2000/svg}"
WIDTH = 1200
# Run in the page after its own script: the answers go to the title, which --dump-dom prints.
DRIVE = """
<script>
window.addEventListener("load", () => {
    const svg = document.querySelector("svg.opscope-flame"), seen = [];
    const frame = (name) => [...svg.querySelectorAll(".f")].find((g) => g.querySelector("title").textContent.startsWith(name + "\\n"));
    const shown = () => [...svg.querySelectorAll(".f")].filter((g) => g.style.display !== "none")
        .map((g) => g.querySelector("title").textContent.split("\\n")[0]).join();
    const click = (g) => g.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    const key = (g, name) => g.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
    const width = (name) => Math.round(Number(frame(name).querySelector("rect").getAttribute("width")) / svg.clientWidth * 100);
    seen.push(shown(), width("inner"));
    frame("inner").dispatchEvent(new PointerEvent("pointermove", { bubbles: true }));
    seen.push(svg.querySelector(".detail").textContent);
    click(frame("inner"));
    seen.push(shown(), width("inner"), width("outer"), frame("inner").querySelector("text").textContent);
    click(frame("inner"));
    seen.push(shown());
    key(svg, "Escape");
    seen.push(shown());
    const field = svg.querySelector("input");
    field.value = "INN";
    field.dispatchEvent(new Event("input", { bubbles: true }));
    seen.push(svg.querySelectorAll(".hit").length, svg.querySelector(".found").textContent);
    key(frame("all"), "ArrowDown");
    seen.push(document.activeElement.querySelector("title").textContent.split("\\n")[0]);
    key(frame("other"), "Enter");
    seen.push(shown());
    document.title = JSON.stringify(seen);
});
</script>
"""


class FlameCase(ViewCase):
    def made(self):
        return self.trace(("track", "main", 7), ("zone", 0, 0, 1000, "outer", "/a/b.c:3"), ("zone", 1, 100, 400, "inner", "/a/c.c:9"),
                          ("zone", 1, 500, 800, "inner", "/a/c.c:9"), ("zone", 0, 1000, 1400, "other"), name="t.opscope")

    def picture(self, trace, *options, name="x.svg"):
        done = self.opscope("export", trace, "-o", self.path(name), *options)
        self.assert_status(done)
        return xml.etree.ElementTree.parse(self.path(name)).getroot()

    def frames(self, root):
        """(name, rest of the title, x and width in shares of the whole, depth) of each frame, in the order of the file."""
        found = []
        for group in root.iter(SVG + "g"):
            rect = group.find(SVG + "rect")
            name, said = group.find(SVG + "title").text.split("\n", 1)
            x, width = float(rect.get("x")) / WIDTH, float(rect.get("data-w")) / WIDTH
            found.append((name, said, round(x, 4), round(width, 4), (int(rect.get("y")) - 58) // 18))
        return found

    def boxes(self, *arguments):
        return [(name, x, width, depth) for name, _, x, width, depth in self.frames(self.picture(*arguments))]


class Pictures(FlameCase):
    def test_wall(self):
        self.assertEqual(self.frames(self.picture(self.made())), [
            ("all", "1.40 µs, 100.0%", 0, 1, 0), ("outer", "1.00 µs, 71.4%; own 400 ns; 1 call\n/a/b.c:3", 0, 0.7143, 1),
            ("inner", "600 ns, 42.9%; 2 calls\n/a/c.c:9", 0, 0.4286, 2), ("other", "400 ns, 28.6%; 1 call", 0.7143, 0.2857, 1)])

    def test_self_has_callers_below(self):
        self.assertEqual(self.boxes(self.made(), "--flame-by", "self"), [
            ("all", 0, 1, 0), ("inner", 0, 0.4286, 1), ("outer", 0, 0.4286, 2), ("other", 0.4286, 0.2857, 1), ("outer", 0.7143, 0.2857, 1)])

    def test_count(self):
        self.assertEqual(self.boxes(self.made(), "--flame-by", "count"), [
            ("all", 0, 1, 0), ("outer", 0, 0.75, 1), ("inner", 0, 0.5, 2), ("other", 0.75, 0.25, 1)])

    def test_device_time_is_below_the_code_that_launched_it(self):
        trace = self.trace(("track", "main"), ("zone", 0, 0, 1000, "step"), ("zone", 1, 100, 400, "layer"), ("device", "chip"),
                           ("op", 1, 150, 160, "Matmul"), ("run", 1, 2000, 2600, "Matmul"), ("op", 2, 200, 210, "Matmul"),
                           ("run", 2, 2600, 2700, "Matmul"), ("op", 3, 500, 510, "Add"), ("run", 3, 2700, 2900, "Add"),
                           ("op", 4, 1500, 1510, "Late"), ("run", 4, 2900, 2950, "Late"), ("run", 99, 2950, 3000, "Lonely"))
        self.assertEqual(self.boxes(trace, "--flame-by", "device"), [
            ("all", 0, 1, 0), ("main", 0, 0.95, 1), ("step", 0, 0.9, 2), ("layer", 0, 0.7, 3), ("Matmul", 0, 0.7, 4), ("Add", 0.7, 0.2, 3),
            ("Late", 0.9, 0.05, 2), ("chip", 0.95, 0.05, 1), ("Lonely", 0.95, 0.05, 2)])
        said = {name: said for name, said, *_ in self.frames(self.picture(trace, "--flame-by", "device"))}
        self.assertEqual(said["Matmul"], "700 ns, 70.0%; 2 runs")

    def test_threads_are_frames_where_there_are_several(self):
        trace = self.trace(("track", "one", 7), ("zone", 0, 0, 100, "a"), ("track", "two", 7), ("zone", 0, 0, 300, "a"))
        self.assertEqual([name for name, *_ in self.boxes(trace)], ["all", "two", "a", "one", "a"])

    def test_a_window_and_a_filter(self):
        self.assertEqual(self.boxes(self.made(), "--since", "0ns", "--until", "400ns"), [
            ("all", 0, 1, 0), ("outer", 0, 1, 1), ("inner", 0, 0.75, 2)])
        self.assertEqual([name for name, *_ in self.boxes(self.made(), "--name", "inner")], ["all", "inner"])

    def test_device_time_of_a_window(self):
        """Runs are cut at its borders, and stand below the code that launched them, which may have ended before."""
        trace = self.trace(("track", "main", 7, 70), ("zone", 0, 0, 1000, "early"), ("op", 1, 150, 160, "A"), ("track", "two", 7, 71),
                           ("zone", 0, 1500, 9000, "late"), ("op", 2, 1600, 1610, "B"), ("device", "chip"),
                           ("run", 1, 2000, 3000, "A"), ("run", 2, 4000, 8000, "B"), ("run", 2, 8500, 8600, "B"))
        window = ("--since", "2.5us", "--until", "6us")
        self.assertEqual(self.boxes(trace, "--flame-by", "device", *window), [
            ("all", 0, 1, 0), ("two", 0, 0.8, 1), ("late", 0, 0.8, 2), ("B", 0, 0.8, 3), ("main", 0.8, 0.2, 1), ("early", 0.8, 0.2, 2), ("A", 0.8, 0.2, 3)])
        rows = harness.opscope_json("tree", "--by", "device-time", trace, *window)["rows"]
        self.assertEqual({row["name"]: (row["thread"], row["total_ns"]) for row in rows},
                         {"late": ("two", 2000), "B": ("two", 2000), "early": ("main", 500), "A": ("main", 500)})
        for thread, names in (("main", {"early", "A"}), ("chip", {"early", "A", "late", "B"})):
            rows = harness.opscope_json("tree", "--by", "device-time", trace, "--thread", thread)["rows"]
            self.assertEqual({row["name"] for row in rows}, names, thread)

    def test_small_frames_and_losses_are_said(self):
        lines = [("zone", 0, 10 * i, 10 * i + 1, f"small {i}") for i in range(50)] + [("zone", 0, 1000, 10001000, "large"), ("lost", 3)]
        root = self.picture(self.trace(("track", "t"), *lines))
        self.assertEqual([name for name, *_ in self.frames(root)], ["all", "large"])
        (note,) = [text.text for text in root.iter(SVG + "text") if text.get("class") == "note"]
        self.assertRegex(note, "^wall time of zones, callers above: 10.0 ms in all; 50 frames too small to be drawn; the recording lost 3 zones$")

    def test_many_frames_are_bounded(self):
        lines = [("zone", 0, 10 * i, 10 * i + 9, f"name {i}") for i in range(30000)]
        root = self.picture(self.trace(("track", "t"), *lines))
        self.assertLess(len(self.frames(root)), 10001)

    def test_deep_stacks(self):
        depth = 190
        trace = self.trace(("track", "t"), *[("zone", i, i, 1000 - i, f"level {i}") for i in range(depth)])
        self.assertEqual([box[3] for box in self.boxes(trace)], list(range(depth + 1)))

    def test_names_are_never_markup(self):
        hostile = "</title><script>alert(1)</script>&\"'\u202e\x1b ]]>"
        trace = self.trace(("track", "</svg>"), ("zone", 0, 0, 100, hostile), ("track", "two"), ("zone", 0, 0, 50, "b"), name="<b>.opscope")
        root = self.picture(trace)
        names = [name for name, *_ in self.frames(root)]
        self.assertIn("</svg>", names)
        self.assertIn("</title><script>alert(1)</script>&\"'\\u202e\\x1b ]]>", names)
        self.assertEqual(len(list(root.iter(SVG + "script"))), 1)
        with open(self.path("x.svg"), encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn("alert(1)</script>", text)
        self.assertNotRegex(text.replace("http://www.w3.org/", ""), "https?:")  # nothing from outside

    def test_html(self):
        self.assert_status(self.opscope("export", self.made(), "-o", self.path("x.html")))
        self.picture(self.made())
        with open(self.path("x.html"), encoding="utf-8") as file, open(self.path("x.svg"), encoding="utf-8") as picture:
            page, svg = file.read(), picture.read()
        self.assertTrue(page.startswith("<!DOCTYPE html>"))
        self.assertIn(svg[svg.index("<svg"):], page)

    def test_standard_output(self):
        done = self.opscope("export", self.made(), "--format", "flamegraph")
        self.assert_status(done)
        self.assertTrue(done.stdout.startswith("<?xml"))

    def test_nothing_to_draw(self):
        empty = self.trace(("track", "t"), ("message", 5, "x"), name="empty.opscope")
        for options, said in (((), "no zones"), (("--flame-by", "device"), "no run on a device")):
            done = self.opscope("export", empty, "-o", self.path("x.svg"), *options)
            self.assert_status(done, 2)
            self.assertIn(said, done.stderr)
            self.assertFalse(os.path.exists(self.path("x.svg")))
        done = self.opscope("export", self.made(), "--format", "collapsed", "--flame-by", "device", "-o", self.path("x.txt"))
        self.assert_status(done, 2)
        self.assertIn("no run on a device", done.stderr)
        self.assertFalse(os.path.exists(self.path("x.txt")))
        done = self.opscope("export", self.made(), "--format", "csv", "--flame-by", "self")
        self.assert_status(done, 2)

    def test_colours_are_those_of_the_page(self):
        def colours(*names):
            with open(os.path.join(harness.SOURCE, *names), encoding="utf-8") as file:
                return dict(re.findall(r"--(n\d): (#[0-9a-f]{6})", file.read()))
        page = colours("web", "src", "app.css")
        self.assertEqual(len(page), 10)
        self.assertEqual(colours("src", "present", "assets", "flame.css"), page)


@unittest.skipUnless(shutil.which("chromium"), "chromium is not installed")
class Browser(FlameCase):
    def test_zoom_details_search_and_keys(self):
        self.assert_status(self.opscope("export", self.made(), "-o", self.path("x.html")))
        with open(self.path("x.html"), encoding="utf-8") as file:
            page = file.read()
        with open(self.path("driven.html"), "w", encoding="utf-8") as file:
            file.write(page.replace("</body>", DRIVE + "</body>"))
        done = self.run_command(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={self.path('profile')}",
                                 "--window-size=1000,600", "--dump-dom", "file://" + self.path("driven.html")])
        self.assert_status(done)
        title = html.unescape(re.search(r"<title>(\[.*?)</title>", done.stdout).group(1))
        everything = "all,outer,inner,other"
        self.assertEqual(harness.json.loads(title), [
            everything, 43, "inner   600 ns, 42.9%; 2 calls   /a/c.c:9",  # as drawn; hovered
            "all,outer,inner", 100, 100, "inner", "all,outer,inner", everything,  # zoomed in; out by one; all
            1, "42.9% matches", "outer", "all,other"])  # searched; arrow keys; Enter


if __name__ == "__main__":
    unittest.main()
