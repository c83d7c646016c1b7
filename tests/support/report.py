# SPDX-License-Identifier: Apache-2.0
"""Counts individual tests, prints one line per step and the closing summary."""

import threading
import time

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
LOG_TAIL_LINES = 40


class Result:
    def __init__(self, name, status, detail="", log="", text=""):
        self.name = name
        self.status = status
        self.detail = detail
        self.log = log
        self.text = text  # what to print of a failure, instead of the end of its log


class Step:
    """Results of one step; steps add to it, also from several threads."""

    def __init__(self, name, title):
        self.name = name
        self.title = title
        self.results = []
        self.begin = time.monotonic()
        self.seconds = 0.0
        self.lock = threading.Lock()

    def add(self, name, status, detail="", log="", text=""):
        with self.lock:
            self.results.append(Result(f"{self.name}/{name}", status, detail, log, text))

    def passed(self, name):
        self.add(name, PASSED)

    def failed(self, name, detail, log=""):
        self.add(name, FAILED, detail, log)

    def skipped(self, name, detail):
        self.add(name, SKIPPED, detail)

    def count(self, status):
        return sum(1 for result in self.results if result.status == status)


class Report:
    def __init__(self):
        self.steps = []

    def begin(self, name, title):
        step = Step(name, title)
        self.steps.append(step)
        return step

    def end(self, step):
        step.seconds = time.monotonic() - step.begin
        parts = [f"{step.count(status)} {status}" for status in (PASSED, FAILED, SKIPPED) if step.count(status)]
        if step.count(FAILED):
            verdict = "FAIL"
        elif step.count(PASSED):
            verdict = "ok"
        else:
            verdict = "skip"
        print(f"  {verdict:4}  {step.title:44}  {', '.join(parts):32}  {step.seconds:6.1f} s", flush=True)
        for result in step.results:
            if result.status == FAILED:
                print(f"        failed: {result.name}: {result.detail}", flush=True)

    def total(self, status):
        return sum(step.count(status) for step in self.steps)

    def close(self, seconds):
        """Prints skips, failures and the closing line; returns the exit status."""
        results = [result for step in self.steps for result in step.results]
        skipped = [result for result in results if result.status == SKIPPED]
        failed = [result for result in results if result.status == FAILED]
        if skipped:
            print("\nskipped:")
            for result in skipped:
                print(f"  {result.name}: {result.detail}")
        if failed:
            print("\nfailed:")
            for result in failed:
                print(f"  {result.name}: {result.detail}" + (f" (log: {result.log})" if result.log else ""))
            for result in failed:
                if result.text:
                    print_lines(result.name, result.text.splitlines())
            print_tails({result.log for result in failed if result.log and not result.text})
        passed = self.total(PASSED)
        print(f"\n{len(self.steps)} steps in {seconds:.0f} s")
        print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped", flush=True)
        return 1 if failed or not passed else 0


def print_tails(logs):
    """The end of each failed log, so that a run whose files are gone can still be understood."""
    for log in sorted(logs):
        try:
            with open(log, encoding="utf-8", errors="replace") as file:
                lines = file.read().splitlines()
        except OSError:
            continue
        print_lines(log, lines)


def print_lines(title, lines):
    shown = lines[-LOG_TAIL_LINES:]
    print(f"\n--- {title}" + (f", last {len(shown)} of {len(lines)} lines" if len(shown) < len(lines) else ""))
    for line in shown:
        print("    " + line[:300])
