# SPDX-License-Identifier: Apache-2.0
"""Files that have the page of `opscope view` in them, taken apart."""

import functools
import html.parser
import json

import harness

NOT_BUILT = "this build has no page (npm)"


@functools.cache
def are_built():
    """Whether this opscope was built with its page."""
    done = harness.run([harness.OPSCOPE, "view", "/dev/null", "--html", "-"])
    return "built without its page" not in done.stderr


def of(case, *arguments):
    """The page that a command writes with --html, taken apart; the case is skipped where there is none."""
    if not are_built():
        case.skipTest(NOT_BUILT)
    path = case.path("page.html")
    case.assert_status(case.opscope(*arguments, "--html", path))
    return read(path)


def read(path):
    with open(path, encoding="utf-8") as file:
        return Parts(file.read())


class Parts(html.parser.HTMLParser):
    """What a browser would run, show or fetch, and the answers, by what was asked."""

    def __init__(self, text):
        super().__init__()
        self.fetched, self.tags, self.answers, self.scripts, self.styles, self.policy = [], [], {}, [], [], None
        self.inside = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append(tag)
        self.fetched += [value for name, value in attrs.items() if name in ("src", "href", "action") and value != "data:,"]
        if attrs.get("http-equiv") == "Content-Security-Policy":
            self.policy = attrs["content"]
        self.inside = (tag, attrs)

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        tag, attrs = self.inside or (None, {})
        if tag == "style":
            self.styles.append(data)
        elif tag == "script" and "data-ask" in attrs:
            kept = self.answers.setdefault(attrs["data-ask"], "")
            self.answers[attrs["data-ask"]] = kept + data
        elif tag == "script":
            self.scripts.append(data)

    def json(self, question):
        return json.loads(self.answers[question])

    def chosen(self, question):
        """The answer of the window that the page opens with."""
        return self.json(f"{question}{'&' if '?' in question else '?'}warmup=leave-out")

    def trace(self, index=0):
        """What the file says of a trace that it has."""
        return self.json("traces")["traces"][index]
