# SPDX-License-Identifier: Apache-2.0
"""`%load_ext opscope`, then `%%opscope` above a cell or `%opscope statement`: records it, and shows in the notebook where
the time went, as a table and a flame graph. Also what a Recording looks like as the value of a cell.

The table is made of what `opscope zones` says as JSON, the picture is that of `opscope export --format flamegraph`, without
its script; nothing comes from outside. Where only text can be shown there is the table alone."""

import html
import json
import os
import shlex
import shutil
import subprocess
import tempfile

from . import _record, _start

FRAMES_OF_IPYTHON = ("IPython", "ipykernel", "traitlets", "tornado", "zmq", "decorator")
USAGE = """usage: %%opscope [options], or %opscope [options] statement

  -o FILE.opscope   keep the trace (it is thrown away otherwise)
  --top N           rows of the table (default 15)
  --by self|total   what the table is sorted by (default: self)
  and those of python3 -m opscope that say what is recorded: --lines, --c-calls, --mine, --include ..."""


class UsageError(Exception):
    """The text says what is wrong."""


def ask(path, command, *words):
    """The rows that a command of the opscope program prints."""
    done = subprocess.run(
        [_record.find_program(), command, "--json", *words, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode("utf-8", "replace").strip())
    return json.loads(done.stdout)["rows"]


def time_text(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return "%.3f %s" % (ns / size, unit)
    return "%d ns" % ns


# --- the flame graph ---


def svg_of(path):
    """What `opscope export --format flamegraph` draws, as a part of a page: without its script, which a notebook would not run."""
    words = [_record.find_program(), "export", "--format", "flamegraph", path]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        return "<p>no zones</p>"
    svg = done.stdout.decode("utf-8")
    svg = svg[svg.index("<svg") :]
    for tag in ("script", "foreignObject"):
        begin, end = svg.index("<" + tag), svg.index("</%s>" % tag) + len(tag) + 3
        svg = svg[:begin] + svg[end:]
    return svg


# --- the table ---


class Shown:
    """A recording as the value of a cell: the table and, where HTML can be shown, the flame graph."""

    def __init__(self, path, recording, top=15, by="self"):
        self.recording, self.by = recording, by
        rows = sorted(ask(path, "zones"), key=lambda row: -row[by + "_ns"])
        self.rows, self.left_out = rows[:top], len(rows) - top
        self.all_ns = sum(row["self_ns"] for row in rows) or 1  # of every thread: shares add up to 100 %
        self.svg = svg_of(path)

    def cells(self):
        for row in self.rows:
            place = "%s:%s" % (os.path.basename(row["file"]), row["line"]) if row["file"] else ""
            share = "%.1f %%" % (100 * row["self_ns"] / self.all_ns)
            yield row["name"], place, str(row["count"]), time_text(row["self_ns"]), share, time_text(row["total_ns"])

    HEADS = ("function", "where", "calls", "self", "", "total")

    def foot(self):
        more = "%d more function%s; " % (self.left_out, "s"[: self.left_out != 1]) if self.left_out > 0 else ""
        lost = ", %d lost" % self.recording.lost_zones if self.recording.lost_zones else ""
        return "%s%d zones%s in %.3f s" % (more, self.recording.zones or 0, lost, self.recording.seconds or 0)

    def __repr__(self):
        table = [self.HEADS] + list(self.cells())
        widths = [max(len(row[i]) for row in table) for i in range(len(self.HEADS))]
        align = [str.ljust, str.ljust, str.rjust, str.rjust, str.rjust, str.rjust]
        lines = ["  ".join(align[i](row[i], widths[i]) for i in range(len(row))).rstrip() for row in table]
        return "\n".join(lines + [self.foot()])

    def _repr_html_(self):
        def cells(row, tag):
            style = ' style="text-align: %s"'
            return "".join("<%s%s>%s</%s>" % (tag, style % ("left" if i < 2 else "right"), html.escape(text), tag)
                           for i, text in enumerate(row))  # fmt: skip

        body = "".join("<tr>%s</tr>" % cells(row, "td") for row in self.cells())
        head = "<tr>%s</tr>" % cells(self.HEADS, "th")
        return "<div>%s<table><thead>%s</thead><tbody>%s</tbody></table><p>%s</p></div>" % (
            self.svg, head, body, html.escape(self.foot()),
        )  # fmt: skip


# --- the magics ---


def parse(line, takes_statement):
    """(options of record(), file to keep or None, rows, order, what is left of the line)"""
    rest, options, keep, top, by = line.strip(), {}, None, 15, "self"
    table = {"--" + row[0]: row for row in _start.OPTIONS}
    table.update({"-" + row[1]: row for row in _start.OPTIONS if row[1]})
    while rest.startswith("-"):
        lexer = shlex.shlex(rest, posix=True)
        lexer.whitespace_split, lexer.commenters = True, ""
        word = lexer.get_token()
        kind = table[word][2] if word in table else None
        value = lexer.get_token() if kind or word in ("-o", "--top", "--by") else None
        rest = lexer.instream.read().lstrip()
        if (kind or word in ("-o", "--top", "--by")) and value is None:
            raise UsageError("%s needs a value" % word)
        if word == "-o":
            keep = value
        elif word == "--top" and value.isdigit():
            top = int(value)
        elif word == "--by" and value in ("self", "total"):
            by = value
        elif kind is None:
            raise UsageError("no option %s" % word if value is None else "%s takes no %s" % (word, value))
        elif kind == "LIST":
            options.setdefault(table[word][0].replace("-", "_"), []).append(value)
        else:
            options[table[word][0].replace("-", "_")] = (int(value) if value.isdigit() else value) if kind else True
    if rest and not takes_statement:
        raise UsageError("what is recorded is the cell, not %s" % rest)
    return options, keep, top, by, rest


def run_magic(shell, line, cell=None):
    from IPython.display import display

    if line.strip() in ("-h", "--help"):
        print(USAGE)
        return
    try:
        options, keep, top, by, statement = parse(line, cell is None)
        if cell is None and not statement:
            raise UsageError("no statement given")
    except UsageError as error:
        print("%%opscope: %s\n%s" % (error, USAGE))
        return
    from . import _frameworks, _native, record

    folder = tempfile.mkdtemp(prefix="opscope-")
    path = os.path.abspath(keep) if keep else os.path.join(folder, "cell.opscope")
    if _native is not None:
        _frameworks.hide_frames(_native, FRAMES_OF_IPYTHON)
    try:
        with record(path, **options) as recording:
            shell.run_cell(statement if cell is None else cell)
        if recording.path is None:
            print("opscope: recorded into the trace of the run that this process belongs to")
            return
        if recording.zones:
            display(Shown(path, recording, top, by))
        else:  # the trace of this name may be an older one, which was kept
            print("opscope: no zones were recorded, so there is nothing to show")
        if keep and recording._is_written:
            print("opscope: wrote %s" % path)
    except (RuntimeError, ValueError, TypeError, OSError) as error:
        print(error)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def load(shell):
    def opscope(line, cell=None):
        run_magic(shell, line, cell)

    opscope.__doc__ = USAGE
    shell.register_magic_function(opscope, "line_cell", "opscope")


def unload(shell):
    for magics in shell.magics_manager.magics.values():
        magics.pop("opscope", None)
