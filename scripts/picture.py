#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws a command's real terminal output as an SVG, for docs/c.md.

    scripts/picture.py OUT.svg WIDTH COMMAND [ARGUMENT]...

Runs the command with COLUMNS=WIDTH (give it --color always) and turns text, bold, dim and the eight colours into SVG."""

import html
import os
import re
import subprocess
import sys

COLOURS = {31: "#e06c75", 32: "#98c379", 33: "#e5c07b", 34: "#61afef", 35: "#c678dd", 36: "#56b6c2"}
CELL, LINE, MARGIN = 8.4, 18, 16


def spans(line):
    """The pieces of a line with the style of each: (column, text, style)."""
    style, column = {}, 0
    for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
        if piece.startswith("\x1b["):
            for code in (int(c or 0) for c in piece[2:-1].split(";")):
                if code == 0:
                    style = {}
                elif code == 1:
                    style = {**style, "font-weight": "bold"}
                elif code == 2:
                    style = {**style, "opacity": "0.6"}
                elif code in COLOURS:
                    style = {**style, "fill": COLOURS[code]}
        elif piece:
            yield column, piece, style
            column += len(piece)


def main():
    out, width, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    text = subprocess.run(
        command, env={**os.environ, "COLUMNS": str(width)}, stdout=subprocess.PIPE, check=True
    ).stdout.decode()
    prompt = "$ " + " ".join(c for c in command if not c.startswith("--color"))
    prompt = re.sub(r"\S*/(opscope)\b", r"\1", prompt)
    lines = [prompt] + text.rstrip("\n").split("\n")
    columns = max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in lines)
    w, h = columns * CELL + 2 * MARGIN, len(lines) * LINE + 2 * MARGIN
    with open(out, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{w:.0f}" height="{h:.0f}" font-family="monospace" font-size="14">')
        file.write('<rect width="100%" height="100%" rx="8" fill="#1e2127"/><g fill="#dcdfe4" xml:space="preserve">\n')
        for i, line in enumerate(lines):
            y = MARGIN + (i + 0.8) * LINE
            for column, piece, style in spans(line):
                attributes = "".join(f' {key}="{value}"' for key, value in style.items())
                length = len(piece) * CELL
                file.write(f'<text x="{MARGIN + column * CELL:.1f}" y="{y:.1f}" textLength="{length:.1f}"{attributes}>{html.escape(piece).replace(" ", "&#160;")}</text>')
            file.write("\n")
        file.write("</g></svg>\n")


if __name__ == "__main__":
    main()
