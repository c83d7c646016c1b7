# SPDX-License-Identifier: Apache-2.0
"""The page on traces of extreme shape and with losses, in a real browser. Its pictures are in BUILD/test-logs/page/."""

import os
import unittest

from browsing import STATE, PageCase
from serving import noisy_zones

DAY = 86400 * 10**9
LOSS = "#c2214a"  # the frame of a loss, which nothing else has on the stage

COLOURS = """(() => {
    const canvas = document.querySelector(".plot canvas");
    const item = document.querySelector('[data-node="%s"]');
    if (!item) return null;
    const box = item.getBoundingClientRect(), stage = canvas.getBoundingClientRect();
    const from = Math.round(canvas.width * %f), width = Math.max(1, Math.round(canvas.width * %f) - from);
    const data = canvas.getContext("2d").getImageData(from, Math.round(box.top - stage.top), width, Math.round(box.height)).data;
    const found = {};
    for (let at = 0; at < data.length; at += 4) {
        const colour = "#" + [0, 1, 2].map((i) => data[at + i].toString(16).padStart(2, "0")).join("");
        found[colour] = (found[colour] ?? 0) + 1;
    }
    return found;
})()"""


class Faults(PageCase):
    def colours(self, node, since, until):
        """How many points of the node have which colour, between two shares of the width of the stage."""
        return self.page("ask", COLOURS % (node, since, until))

    def until_colour(self, node, since, until, colour):
        self.page("until", f"(({COLOURS % (node, since, until)}) ?? {{}})['{colour}'] > 0")

    def until_filled(self, node, since, until):
        """A fifth of it is some zone's colour."""
        self.page("until", f"Object.entries(({COLOURS % (node, since, until)}) ?? {{}}).reduce((s, [c, n]) => "
                           "[s[0] + n, s[1] + (/^#(f[a-f0-9]){3}$/.test(c) ? 0 : n)], [0, 0]).reduce((a, b) => b > a / 5)")

    def show(self, *lines, fragment="#timeline"):
        self.open(self.serve(self.trace(*lines)) + fragment)
        self.page("wait", "[role=treeitem]", ".")

    def test_losses_are_hatched_where_they_are(self):
        self.show(("track", "main", 1), ("zone", 0, 0, 10000, "all"), ("lost", 1204, 2000, 4000), ("lost", 30, 6000, 7000, 1),
                  ("track", "nothing left", 1), ("lost", 7, 8000, 9000))
        self.until_colour("t0", 0.19, 0.41, LOSS)
        self.assertNotIn(LOSS, self.colours("t0", 0.5, 0.95), "only there")
        self.assertIn(LOSS, self.colours("p0", 0.59, 0.71), "of no known thread: on the process")
        self.assertNotIn(LOSS, self.colours("p0", 0.1, 0.5))
        self.assertIn(LOSS, self.colours("t1", 0.79, 0.91), "a track that has nothing else")
        self.page("wait", ".pill.loss", r"^1,241 zones lost$")
        self.page("picture", "fault-losses")
        self.page("click", "[data-node=p0]", "")
        self.page("until", "!document.querySelector('[data-node=t0]')")
        self.until_colour("p0", 0.19, 0.41, LOSS)
        self.page("picture", "fault-losses-folded")
        self.page("click", ".pill.loss", "lost")
        self.page("wait", "aside", "buffer full")

    def test_a_damaged_block_is_hatched(self):
        path = self.trace(*noisy_zones(1, 40000))
        with open(path, "r+b") as file:
            place = os.path.getsize(path) // 2  # most of the file is blocks of zones
            file.seek(place)
            file.write(b"damaged" * 7)
        self.open(self.serve(path) + "#timeline")
        self.page("wait", STATE, "^complete$")  # as far as anything was asked for: the sums of each block are whole
        self.page("open", self.link + "#timeline&v=20ms..20.1ms")  # the zones of the second block
        self.page("ask", "location.reload(); 0")
        self.page("wait", STATE, r"^1 damaged block$")
        self.page("press", "0")
        self.page("wait", ".pill.loss", r"zones lost$")
        self.until_colour("t0", 0, 1, LOSS)
        self.page("picture", "fault-damaged")

    def test_ten_thousand_tracks(self):
        lines = []
        for i in range(10000):
            lines += [("track", f"worker {i}", 1), ("zone", 0, i, i + 5000, "work")]
        self.show(*lines)
        self.page("wait", "[role=treeitem]", "worker")
        self.until_filled("t5", 0.1, 0.3)
        self.assertLess(self.page("ask", "document.querySelectorAll('[role=treeitem]').length"), 200, "only what is seen is there")
        self.page("picture", "fault-10000-tracks")
        self.page("ask", "document.querySelector('.plot').dispatchEvent(new WheelEvent('wheel', "
                         "{ deltaY: 1e7, bubbles: true, cancelable: true })); 0")
        self.page("wait", "[role=treeitem]", "worker 9999|worker 0")
        self.page("until", "document.querySelectorAll('[role=treeitem]').length < 200")
        last = self.page("ask", "[...document.querySelectorAll('[role=treeitem]')].at(-1).dataset.node")
        self.until_filled(last, 0, 1)
        self.page("picture", "fault-10000-tracks-end")

    def test_two_hundred_deep(self):
        self.show(("track", "main", 1), *(("zone", d, 10 + d, 1000 - d, f"level {d}") for d in range(200)))
        self.page("click", ".deeper", "deeper")
        self.page("wait", ".deeper", r"^1 to \d+ of 200$")
        self.page("ask", "(() => { const box = document.querySelector('[data-node=t0]').getBoundingClientRect();"
                         "document.querySelector('.plot').dispatchEvent(new WheelEvent('wheel', { deltaY: 1e5, clientX: box.right + 300,"
                         "clientY: box.top + 50, bubbles: true, cancelable: true })); return 0; })()")
        self.page("wait", ".deeper", r"^\d+ to 200 of 200$")
        self.until_filled("t0", 0.4, 0.6)
        self.page("picture", "fault-200-deep")

    def test_three_days_beside_five_nanoseconds(self):
        self.show(("track", "main", 1), ("zone", 0, 0, 3 * DAY, "days"), ("zone", 1, DAY, DAY + 5, "short"),
                  ("zone", 1, DAY + 10, DAY + 15, "short"), fragment=f"#timeline&v={DAY - 5}ns..{DAY + 20}ns")
        self.page("wait", "[role=treeitem]", "main")
        # 25 ns over the stage: two zones of 5 ns begin at 5 and 15 of them
        row = "(() => { const c = document.querySelector('.plot canvas'); const t = document.querySelector('[data-node=t0]')" \
              ".getBoundingClientRect().top - c.getBoundingClientRect().top; const g = c.getContext('2d');" \
              "return [0.1, 0.3, 0.5, 0.7, 0.9].map((s) => [...g.getImageData(Math.round(c.width * s), Math.round(t + 2 + 16 + 4), 1, 1)" \
              ".data].slice(0, 3).every((v) => v === 255)); })()"
        self.page("until", f"({row})[1] === false && ({row})[3] === false")
        self.assertEqual(self.page("ask", row), [True, False, True, False, True])
        self.page("picture", "fault-three-days")
        self.page("press", "0")
        self.page("wait", ".ruler-row, .map-row", "3 d|72 h")
        self.page("picture", "fault-three-days-whole")

    def test_names_that_would_be_markup(self):
        name = "<img src=x onerror=window.ran=1>\u202egnp.exe\x1b[31m"
        self.show(("track", "<b>bold</b>\u2066", 1), ("zone", 0, 0, 1000, name, "<i>.c:1"), ("message", 10, "<script>window.ran=1</script>"))
        self.page("wait", "[role=treeitem]", r"<b>bold</b>\\u2066")
        self.assertEqual(self.page("ask", "[document.images.length, typeof window.ran, "
                                          "[...document.querySelectorAll('b, i')].some((one) => /bold|\\.c/.test(one.textContent))]"),
                         [0, "undefined", False])
        text = self.page("ask", "document.body.innerHTML")
        for character in ("\u202e", "\u2066", "\x1b"):
            self.assertNotIn(character, text)
        self.page("picture", "fault-names")

    def test_the_context_fits_a_narrow_window(self):
        """What is left out of the numbers gives way: the state of the trace was beyond the window's edge."""
        ms = 10**6
        lines = [("track", "main", 1), ("zone", 0, 0, 190 * ms, "main")]
        for time in (0, 50, 70, 90, 110, 130, 150, 170, 190):
            lines.append(("frame", time * ms, "step of a loop with a long name"))
        self.show(*lines, fragment="")
        self.page("wait", ".context .shrinks", " left out as warm-up")
        for width in (1440, 1024, 780):
            self.page("size", width, 800)
            self.page("until", f"innerWidth === {width} && [...document.querySelectorAll('.context > *')].every("
                               "(one) => one.getBoundingClientRect().right <= innerWidth)")
        self.page("picture", "context-narrow")

    def test_a_crash_leaves_open_zones(self):
        self.show(("track", "main", 1), ("open", 0, 0, 9000, "main"), ("open", 1, 2000, 9000, "step"), ("zone", 2, 3000, 5000, "load"))
        self.page("wait", "[role=treeitem]", "main")
        self.page("until", f"Object.keys(({COLOURS % ('t0', 0.3, 0.9)}) ?? {{}}).length > 2")
        self.page("picture", "fault-open-zones")


if __name__ == "__main__":
    unittest.main()
