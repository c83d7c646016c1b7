# SPDX-License-Identifier: Apache-2.0
"""The page of a recording that runs, in a real browser: followed, paused, ended, without a connection, replaced and deleted.
The program goes on when the page has shown what came before; nothing here depends on time."""

import os
import signal
import subprocess
import unittest

import harness
from browsing import STATE, PageCase


class Followed(PageCase):
    def record(self, *steps, options=("-q",), output="live.opscope"):
        return self.start([harness.OPSCOPE, "run", *options, "-o", self.path(output), "--", harness.program("script"), *steps],
                          stdin=subprocess.PIPE)

    def go_on(self, program):
        program.stdin.write(b"on\n")
        program.stdin.flush()

    def wait_for_count(self, count):
        """Until the Zones table has counted so many calls."""
        self.page("until", r"/^work\s+script\.c:\d+\s+%d\s/.test(document.querySelector('.drawer tbody tr')?.innerText ?? '')" % count)

    def test_a_run_from_its_start_to_its_end(self):
        program = self.record("zones=3", "read", "zones=4", "read", "zones=5", "read", "exit=3", options=("-q", "--view"))
        self.open(program.stderr.readline().decode().split("live page: ")[1].strip())
        self.page("wait", STATE, r"^recording, .*, 3 zones$")
        self.page("wait", ".follow", "^Pause$")
        self.wait_for_count(3)
        self.page("picture", "live-recording")
        self.go_on(program)
        self.page("wait", STATE, r"^recording, .*, 7 zones$")
        self.page("wait", "[role=treeitem]", "main|script")
        self.page("click", ".follow", "Pause")
        paused = self.page("wait", ".paused", r"^Paused at .*\. Recording goes on: .* behind\.$")
        self.go_on(program)
        self.page("wait", STATE, r"^recording, .*, 12 zones$")
        behind = self.page("wait", ".paused", r"^Paused at .*\. Recording goes on: .* behind\.$")
        self.assertEqual(behind.split(". ")[0], paused.split(". ")[0], "nothing moves while it is paused")
        self.page("picture", "live-paused")
        self.page("click", ".follow", "Follow")
        self.page("wait", ".follow", "^Pause$")
        self.go_on(program)
        self.page("wait", ".notice", r"^The program ended at .*, exit 3\. Trace complete\.")
        self.page("wait", STATE, "^complete, exit 3$")
        self.wait_for_count(12)
        self.assertFalse(self.page("ask", "!!document.querySelector('.follow')"))
        self.assertIn("live.opscope:", self.page("ask", "document.title"))
        self.page("picture", "live-ended")
        program.send_signal(signal.SIGINT)
        self.assertEqual(program.wait(harness.TIMEOUT_S), 3)
        self.page("wait", ".context", r"Connection lost \d+ s ago; trying again\. What you see is up to ")
        self.assertTrue(self.page("ask", "!!document.querySelector('#sentence')"), "nothing is cleared")
        self.page("picture", "live-disconnected")

    def test_a_recording_that_grows_all_the_time(self):
        """The address follows the view, tracks are asked for once a second, and it is never said to be incomplete."""
        program = self.record("zones=3", "read", "zones=20000000", "read", options=("-q", "--view", "--on-full=wait"))
        self.open(program.stderr.readline().decode().split("live page: ")[1].strip())
        self.page("wait", STATE, r"^recording, .*, 3 zones$")
        self.page("ask", """window.seen = { texts: new Set(), hashes: new Set(), began: performance.now() };
            window.look = () => {
                seen.texts.add([...document.querySelectorAll("%s")].map((one) => one.textContent).pop());
                seen.hashes.add(location.hash);
            };
            new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
            setInterval(look, 20); 0""" % STATE)
        self.go_on(program)
        self.page("wait", STATE, r"^recording, .*, 20\.0 M zones$")
        self.page("wait", ".drawer tbody tr", "^work")
        asked = self.page("ask", "({ hashes: seen.hashes.size, seconds: (performance.now() - seen.began) / 1000, "
                                 "asked: performance.getEntriesByType('resource').filter((one) => /\\/trace$/.test(one.name) && one.startTime > seen.began).length })")
        self.assertGreaterEqual(asked["hashes"], 3, asked)
        self.assertLessEqual(asked["asked"], asked["seconds"] + 2, asked)
        self.go_on(program)
        self.page("wait", ".notice", r"^The program ended at .*, exit 0\. Trace complete\.")
        self.page("wait", STATE, "^complete, exit 0$")
        texts = self.page("ask", "[...seen.texts]")
        self.assertEqual([text for text in texts if not text.startswith(("recording", "complete"))], [])
        program.send_signal(signal.SIGINT)
        self.assertEqual(program.wait(harness.TIMEOUT_S), 0)

    def test_a_server_with_another_token(self):
        program = self.record("zones=3", "say=ready", "read")
        self.assertIn(b"ready", program.stdout.readline())
        self.open(self.serve(self.path("live.opscope.partial"), "--port", 0))
        self.page("wait", STATE, r"^recording, .*, 3 zones$")
        port = self.address[1]
        self.stop()
        self.serve(self.path("live.opscope.partial"), "--port", port)
        self.page("wait", ".context", r"The server was started anew, with another token: open the link that it printed\.")
        self.page("open", self.link)
        self.page("wait", STATE, r"^recording, .*, 3 zones$")

    def test_two_viewers_agree(self):
        other = self.start_browser()
        program = self.record("zones=3", "read", "zones=4", "read", options=("-q", "--view"))
        link = program.stderr.readline().decode().split("live page: ")[1].strip()
        self.open(link)
        self.page("open", link, browser=other)
        for browser in (self.browser, other):
            self.page("wait", STATE, r"^recording, .*, 3 zones$", browser=browser)
        self.page("click", ".follow", "Pause", browser=other)
        self.go_on(program)
        for browser in (self.browser, other):
            self.page("wait", STATE, r"^recording, .*, 7 zones$", browser=browser)
        self.page("wait", ".follow", "^Pause$")  # the pause is the other's alone
        self.go_on(program)
        ends = [self.page("wait", ".notice", r"^The program ended at .*, exit 0\. Trace complete\.", browser=browser)
                for browser in (self.browser, other)]
        self.assertEqual(ends[0], ends[1])
        sentences = [self.page("wait", "#sentence", "worked", browser=browser) for browser in (self.browser, other)]
        self.assertEqual(sentences[0], sentences[1])

    def test_a_connection_that_comes_back(self):
        program = self.record("zones=3", "say=ready", "read", "zones=4", "read")
        self.assertIn(b"ready", program.stdout.readline())
        chosen = {"OPSCOPE_VIEW_TOKEN": "the-same-for-both"}
        self.open(self.serve(self.path("live.opscope.partial"), "--port", 0, extra=chosen))
        self.page("wait", STATE, r"^recording, .*, 3 zones$")
        port = self.address[1]
        self.stop()
        self.page("wait", ".context", "Connection lost")
        self.go_on(program)
        self.page("ask", "window.back = new Promise((done) => new MutationObserver(() => "
                         "document.querySelector('.context').textContent.includes('Connected again.') && done(true))"
                         ".observe(document.body, { subtree: true, childList: true, characterData: true })); 0")
        self.serve(self.path("live.opscope.partial"), "--port", port, extra=chosen)
        self.assertTrue(self.page("ask", "window.back"))
        self.page("wait", STATE, r"^recording, .*, 7 zones$")

    def test_waits_for_a_program_and_follows_it(self):
        self.small_trace("old.opscope")
        self.open(self.serve(cwd=self.folder))
        self.page("wait", ".trace-list", r"Waiting for a program: .* This page follows it when it starts\.")
        self.page("wait", "table", "old.opscope")
        self.page("picture", "live-waiting")
        program = self.record("zones=3", "read")
        self.page("wait", STATE, r"^recording, .*, 3 zones$")
        self.page("wait", ".follow", "^Pause$")
        self.go_on(program)
        self.page("wait", ".notice", r"^The program ended at .*, exit 0\. Trace complete\.")

    def test_recordings_are_listed_first(self):
        self.small_trace("old.opscope")
        program = self.record("zones=3", "say=ready", "read")
        self.assertIn(b"ready", program.stdout.readline())
        self.open(self.serve(cwd=self.folder))
        self.page("wait", "table", "live.opscope")
        tables = self.page("ask", "[...document.querySelectorAll('table')].map((one) => one.ariaLabel ?? one.getAttribute('aria-label'))")
        self.assertEqual(tables, ["Recording now", "Traces"])
        self.page("click", "td button", "live.opscope")
        self.page("wait", STATE, r"^recording, .*, 3 zones$")

    def test_links_and_the_list_of_traces(self):
        """A link names its trace by its content, whatever the server's list is; two of the list are ticked and compared."""
        first, second = self.small_trace("a.opscope"), self.trace(("track", "t", 1), ("zone", 0, 0, 9, "z"), name="b.opscope")
        self.open(self.serve(second, first))
        self.page("wait", ".trace-list tbody tr", r"a\.opscope.*program")
        self.assertTrue(self.page("ask", "document.querySelector('.compare-two').disabled"))
        self.page("click", "td button", "a.opscope")
        self.page("until", "/[#&]t=[0-9a-f]{8},a\\.opscope/.test(location.hash)")
        self.assertEqual(self.page("ask", "location.search"), "", "the token is in no link")
        link = self.page("ask", "location.hash")
        self.page("click", ".back", "all 2 traces")
        for name in ("a.opscope", "b.opscope"):
            self.page("ask", f"document.querySelector('[aria-label=\"Compare {name}\"]').click()")
        self.page("click", ".compare-two", "Compare the two")
        self.page("until", "/^#compare.*&b=[0-9a-f]{8},a\\.opscope/.test(location.hash)")
        compared = self.page("ask", "location.hash")
        self.stop()
        self.page("open", self.serve(first, second) + link)
        self.page("wait", "h1", r"^a\.opscope$")
        self.page("open", "about:blank")
        self.page("open", self.link + compared)
        self.page("wait", "h1", r"^b\.opscope$")
        self.page("until", "/^#compare.*&b=[0-9a-f]{8},a\\.opscope/.test(location.hash)")
        self.page("open", "about:blank")
        self.page("open", self.link + "#overview&t=1")  # as links were, and as people write them
        self.page("wait", "h1", r"^b\.opscope$")
        self.stop()
        self.page("open", self.serve(second) + link)
        self.page("wait", ".notice", r"^This link is about a\.opscope \([0-9a-f]{8}\), which is not among the traces here: opscope view a\.opscope serves it\.")

    def test_a_file_that_is_replaced_and_deleted(self):
        path = self.small_trace("a.opscope")
        other = self.trace(("track", "t", 1), ("zone", 0, 0, 9, "z"), name="b.opscope")
        self.open(self.serve(cwd=self.folder))
        self.page("click", "td button", "a.opscope")
        self.page("wait", STATE, "^complete")
        os.rename(other, path)
        self.page("wait", ".notice", r"^This trace was replaced on disk at \d\d:\d\d\.")
        self.page("picture", "live-replaced")
        self.page("click", ".notice button", "Reload")
        self.page("until", "!document.querySelector('.notice')")
        os.unlink(path)
        self.page("wait", ".notice", r"^This trace was deleted on disk\. What you see stays")
        self.page("click", ".notice button", "Keep this one")
        self.page("until", "!document.querySelector('.notice')")
        self.page("wait", STATE, "^deleted on disk$")


if __name__ == "__main__":
    unittest.main()
