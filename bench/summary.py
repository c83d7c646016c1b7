#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What matters of a speed table, in some lines of plain text, made from the table itself.

    bench/summary.py [--short] FILE.md      rewrites the lines at the head of a document that bench/run.py --write made

In a line, {what|column} stands for a cell of the row of that name; `*` in the name stands for anything, and several
rows give "least to most". A line with a row that was not measured is left out."""

import argparse
import fnmatch
import re
import sys

COLUMNS = ("what", "median", "best", "floor", "ratio", "budget", "verdict")
PLACE = re.compile(r"\{([^{}|]+)\|(\w+)\}")

# key, text. SHORT names those that fit where few rows were measured.
LINES = (
    ("zone", "**A zone** costs {zone pair, * thread*|median}, {zone pair, * thread*|ratio} the two clock reads and two stores that it "
             "consists of; without a session it costs {zone pair, no session|median}."),
    ("lost", "**Lost zones**: {paced producer: zones lost|median} {paced producer: zones lost|floor} at "
             "{paced producer: rate reached|median}, and {back to back, --on-full=wait: lost|median} "
             "{back to back, --on-full=wait: lost|floor} at {back to back, --on-full=wait: rate|median} when the program waits for room."),
    ("trace", "**A trace** takes {trace size, uniform|median} when all zones take the same time and {trace size, random|median} when their "
              "times are random; the collector needs {collector memory at 100 M zones|median} for 100 M zones."),
    ("commands", "**50 M zones**: `opscope zones` takes {opscope zones, 50 M zones|median}, `summary` "
                 "{opscope summary, 50 M zones|median}, `info` {opscope info, 50 M zones|median}."),
    ("page", "**The page** shows 50 M zones in a new browser after {50 M zones, *: zones on the screen of a new browser|median} and draws "
             "frames at {50 M zones, *: frames while panning, no GPU|median} while panning; the row of a zone that just ended is there after "
             "{live: until its row is there to draw|median}."),
    ("python", "**Python** with its calls recorded takes {Python *, mixed: calls|ratio} the time of a mixed program and "
               "{Python *, fib(27): calls|ratio} that of fib(27), which does nothing but call: "
               "{Python *, fib(27): one event, call or return|median} a call or return."),
    ("torch", "**PyTorch**: an op recorded with its tensors takes {torch: an op with its tensors, CPU time|median} of CPU time, for comparison "
              "{torch: an op with its tensors, CPU time|floor}."),
    ("cuda", "**CUDA** is measured on a GPU by `make test-gpu`: [cuda.md](cuda.md#what-it-costs). An NVTX range adds "
             "{NVTX push and pop, *: over no tool|median} to the program."),
    ("reports", "**Reports**: `report` of 1 M ops takes {report of 1,000,000 ops, *: CPU|median}, `diff` of two traces of 1 M ops "
                "{diff of two traces of 1,000,000 ops: time|median}, `ops` of a Tenstorrent log of 1 GB {device log of 1.* GB: ops|median}."),
)
SHORT = ("zone", "lost", "trace", "commands", "python")


def number_of(cell):
    return float(cell.split()[0].replace(",", ""))


def span(cells):
    """One text for the cells of several rows."""
    if len(set(cells)) == 1:
        return cells[0]
    least, most = min(cells, key=number_of), max(cells, key=number_of)
    if least.split()[1:] == most.split()[1:]:
        least = least.split()[0]
    return f"{least} to {most}"


def filled(text, rows):
    """The text with its cells; None where one was not measured."""
    missing = []

    def cell(match):
        column = COLUMNS.index(match.group(2))
        cells = [row[column] for row in rows if fnmatch.fnmatchcase(row[0], match.group(1)) and row[column]]
        if not cells:
            missing.append(match.group(1))
            return ""
        return span(cells)

    whole = PLACE.sub(cell, text)
    return None if missing else whole


def budgets(rows):
    missed = [row[0] for row in rows if row[6] == "MISSED"]
    names = f": {'; '.join(missed)}" if missed else ""
    return f"**Budgets**: {sum(row[6] == 'met' for row in rows)} met, {len(missed)} missed{names}."


def summary(rows, is_short=False):
    """Markdown for the head of the document. A row is the cells of one line of its tables."""
    texts = [filled(text, rows) for key, text in LINES if not is_short or key in SHORT]
    if not is_short:
        texts.append(budgets(rows))
    return "".join(f"- {text}\n" for text in texts if text)


def rows_of(markdown):
    cells = [[cell.strip() for cell in line.strip()[1:-1].split("|")] for line in markdown.splitlines() if line.startswith("| ")]
    return [row for row in cells if len(row) == len(COLUMNS) and row[0] not in ("what", "---")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="five lines")
    parser.add_argument("file")
    options = parser.parse_args()
    with open(options.file, encoding="utf-8") as file:
        text = file.read()
    match = re.match(r"(# [^\n]*\n\n)(?:- [^\n]*\n)*\n*", text)
    lines = summary(rows_of(text), options.short)
    with open(options.file, "w", encoding="utf-8") as file:
        file.write(match.group(1) + lines + "\n" + text[match.end() :])


if __name__ == "__main__":
    sys.exit(main())
