# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium on a running `opscope view`, told what to do step by step (tests/page/follow.mjs)."""

import json
import os
import shutil
import subprocess

import harness
from serving import LiveCase
from test_page import PICTURES, PUPPETEER_VERSION

STATE = ".context > span.wide"


class PageCase(LiveCase):
    def setUp(self):
        super().setUp()
        self.browser = self.start_browser()

    def start_browser(self):
        chromium = shutil.which("chromium")
        if not chromium:
            self.skipTest("chromium is not installed")
        puppeteer = harness.npm_package("puppeteer-core", PUPPETEER_VERSION)
        driver = os.path.join(harness.SOURCE, "tests", "page", "follow.mjs")
        browser = self.start(["node", driver, puppeteer, chromium, PICTURES], stdin=subprocess.PIPE, stderr=None)
        self.addCleanup(self.close_browser, browser)
        return browser

    def close_browser(self, browser):
        """The browser is in a process group of its own: the driver has to end it."""
        browser.stdin.close()
        browser.wait(harness.TIMEOUT_S)

    def page(self, *command, browser=None):
        browser = browser or self.browser
        browser.stdin.write(json.dumps(command).encode() + b"\n")
        browser.stdin.flush()
        answer = json.loads(browser.stdout.readline() or b'{"error": "the browser is gone"}')
        self.assertNotIn("error", answer, answer)
        return answer["value"]

    def open(self, link):
        self.use(link.split("#")[0])
        if b"app.js" not in self.ask("/")[2]:
            self.skipTest("this build has no page (npm)")
        self.page("open", link)
