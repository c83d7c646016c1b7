# SPDX-License-Identifier: Apache-2.0
"""What the page offers to take along: pictures of the view, the window for Perfetto. Also the question behind it, /export."""

import os
import shutil
import unittest
import xml.etree.ElementTree

import harness
from test_page import PICTURES, PUPPETEER_VERSION
from test_view_server import ServerCase


class Export(ServerCase):
    def made(self):
        return self.trace(("track", "main", 7), ("zone", 0, 0, 1000, "outer", "/a/b.c:3"), ("zone", 1, 100, 400, "inner"),
                          ("zone", 0, 2000, 2400, "other"), ("device", "chip"), ("op", 1, 150, 160, "Matmul"),
                          ("run", 1, 300, 500, "Matmul"), name="t.opscope")

    def body(self, query, status=200):
        found, headers, body = self.ask(f"/api/t/0/export{query}")
        self.assertEqual(found, status, body[:500])
        return body

    def test_is_what_the_command_writes(self):
        trace = self.made()
        self.serve(trace)
        for name in ("perfetto", "chrome", "csv", "speedscope", "collapsed", "flamegraph"):
            self.assert_status(self.opscope("export", trace, "--format", name, "-o", self.path("x")))
            with open(self.path("x"), "rb") as file:
                self.assertEqual(self.body(f"?format={name}"), file.read(), name)
        self.assertEqual(self.body(""), self.body("?format=perfetto"))

    def test_a_window(self):
        self.serve(self.made())
        lines = self.body("?format=collapsed&from=0&to=1000").decode()
        self.assertIn("outer;inner 300\n", lines)
        self.assertNotIn("other", lines)
        root = xml.etree.ElementTree.fromstring(self.body("?format=flamegraph&flame_by=device&to=1000"))
        self.assertIn("Matmul\n200 ns, 100.0%; 1 run", [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")])

    def test_refusals(self):
        self.serve(self.made())
        self.assertIn(b"not one of chrome, perfetto", self.body("?format=nothing", 400))
        self.assertIn(b"not one of wall, self", self.body("?format=flamegraph&flame_by=x", 400))
        self.assertIn(b"no zones", self.body("?format=flamegraph&from=1500&to=1600", 400))
        self.assertIn(b"from is after to", self.body("?from=9&to=3", 400))


class TakeAlong(ServerCase):
    def test_menu(self):
        chromium = shutil.which("chromium")
        if not chromium:
            self.skipTest("chromium is not installed")
        puppeteer = harness.npm_package("puppeteer-core", PUPPETEER_VERSION)
        trace = Export.made(self)
        self.serve(trace)
        if b"/app.js" not in self.ask("/")[2]:
            self.skipTest("this build has no page (npm)")
        driver = os.path.join(harness.SOURCE, "tests", "page", "take.mjs")
        done = self.run_command(["node", driver, puppeteer, chromium, self.link, os.path.join(PICTURES, "taken")])
        self.assertEqual(done.status, 0, done)
        seen = done.json()
        self.assertEqual(seen["console"], [])
        self.assertEqual(seen["menu"], ["Copy link", "PNG of this view", "SVG of this view", "CSV of the table", "Open in Perfetto",
                                        "Perfetto trace of the window", "Flame graph of the window", "Print"])
        self.assertEqual([file["name"] for file in seen["saved"].values()], ["t.png", "t.svg", "t.pftrace", "t.flame.svg"])
        self.assertEqual((seen["png"]["width"], seen["png"]["height"]), (2560, 1656))
        self.assertEqual((seen["svg"]["width"], seen["svg"]["height"]), (1280, 828))
        self.assertGreater(min(seen["png"]["colours"], seen["svg"]["colours"]), 30)
        xml.etree.ElementTree.fromstring(seen["svgText"])
        self.assertIn("opscope 0.", seen["svgText"], "the caption")
        self.assertIn(">main<", seen["svgText"], "names of tracks")
        self.assertNotIn("<script", seen["svgText"])
        self.assert_status(self.opscope("export", trace, "-o", self.path("whole.pftrace")))
        self.assertIn("<title>outer\n", seen["flame"])
        size = os.path.getsize(self.path("whole.pftrace"))
        self.assertEqual(seen["saved"]["Perfetto trace of the window"]["size"], size)
        handed = seen["perfetto"]["handed"]
        self.assertEqual(seen["perfetto"]["opened"], "https://ui.perfetto.dev")
        self.assertEqual({one["origin"] for one in handed}, {"https://ui.perfetto.dev"})
        self.assertEqual([one["data"] for one in handed if one["data"] != "PING"],
                         [{"buffer": size, "title": "t", "fileName": "t.pftrace"}])
        self.assertGreaterEqual(len(handed), 3, "asked until it answers")


if __name__ == "__main__":
    unittest.main()
