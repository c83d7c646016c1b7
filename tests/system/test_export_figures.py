# SPDX-License-Identifier: Apache-2.0
"""Every source of ops, every export: each figure that `opscope ops --json` shows is in the export with its value.

Sources are a program that records figures of every kind, a folder of device logs, a trace made of it, and an ops CSV.
Exports that hold ops are chrome, perfetto, and csv (ops and runs). A figure that comes out as another number (the bits
of a double, a name's id, ticks for nanoseconds) fails here, whatever the source calls it.
"""

import csv
import importlib.util
import io
import json
import os
import re
import subprocess
import unittest

import harness
import ops_csv
from tenstorrent_logs import Run

HERE = os.path.dirname(os.path.abspath(__file__))


def number(text):
    """A number for what reads as one, so that 3 and 3.0 are alike; else the text."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return text


def split_pairs(text):
    """"a=1;b=2" or "a=1 | b=2" as pairs; a value may hold ';' when no '=' follows before the next one."""
    pairs, key = {}, None
    for piece in re.split(r";| \| ", text):
        name, equals, value = piece.partition("=")
        if equals:
            key = name
            pairs[key] = value
        elif key is not None:
            pairs[key] += ";" + piece
    return pairs


class Figures(harness.TestCase):
    # --- sources ---

    def recorded(self):
        trace = self.path("recorded.opscope")
        self.assert_status(self.opscope("run", "-o", trace, "--", harness.program("everything")))
        return trace

    def logs(self):
        run = Run()
        for name in ("Matmul", "Add", "Matmul"):
            run.op(name, program=len(name))
        run.trace(4, ["Softmax", "Add"], replays=2)
        run.write(self.path("logs"))
        return self.path("logs")

    def imported(self, source):
        trace = self.path("imported.opscope")
        self.assert_status(self.opscope("import", "tenstorrent", source, "-o", trace))
        return trace

    def table(self):
        path = self.path("ops.csv")
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(ops_csv.text_of(ops_csv.good_rows()))
        return path

    # --- exports: a dict of named values for each op and run ---

    def exported_chrome(self, trace):
        with self.export("chrome", trace, "out.json") as file:
            events = json.load(file)
        events = events["traceEvents"] if isinstance(events, dict) else events
        return [event["args"] for event in events if event.get("cat") in ("op", "run")]

    def exported_perfetto(self, trace):
        source = os.path.join(HERE, "perfetto_subset.proto")
        subprocess.run(["protoc", f"--proto_path={HERE}", f"--python_out={self.folder}", source], check=True)
        made = self.path("perfetto_subset_pb2.py")
        spec = importlib.util.spec_from_file_location("perfetto_subset_pb2", made)
        schema = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(schema)
        parsed = schema.Trace()
        with self.export("perfetto", trace, "out.pftrace", "rb") as file:
            parsed.ParseFromString(file.read())
        return [{note.name: getattr(note, note.WhichOneof("value")) for note in packet.track_event.debug_annotations}
                for packet in parsed.packet if packet.HasField("track_event")]

    def exported_csv(self, trace):
        rows = []
        for what in ("ops", "runs"):
            with self.export("csv", trace, f"{what}.csv", "r", "--what", what) as file:
                for row in csv.DictReader(file):
                    pairs = {}
                    for cell in row.values():
                        pairs.update(split_pairs(cell or ""))
                    rows.append({**row, **pairs})
        return rows

    def export(self, form, trace, name, mode="r", *options):
        out = self.path(name)
        self.assert_status(self.opscope("export", "-f", form, trace, "-o", out, *options))
        return open(out, mode, **({} if "b" in mode else {"encoding": "utf-8", "newline": ""}))

    # --- what must be there ---

    def check(self, trace, wanted):
        """wanted: pairs of name and value that some op or run of each export must have."""
        self.assertTrue(wanted)
        for export in (self.exported_chrome, self.exported_perfetto, self.exported_csv):
            with self.subTest(export.__name__):
                found = set()
                for row in export(trace):
                    for key, value in row.items():
                        for text in value if isinstance(value, list) else [value]:
                            found.add((key, number(text)))
                            if isinstance(text, str) and "=" in text:
                                name, _, rest = text.partition("=")
                                found.add((name, number(rest)))
                # a unit that the name does not say stands after it: "BRISC ticks", "DRAM read bytes"
                found |= {(re.sub(r"^attribute | (ticks|ns|bytes|%)$", "", key), value) for key, value in found}
                for name, value in sorted(wanted, key=str):
                    self.assertIn((name, number(value)), found)

    def test_recorded(self):
        trace = self.recorded()
        wanted = set()
        for row in self.opscope_json("ops", trace)["rows"]:
            wanted |= set(split_pairs(row["figures"] or "").items())
        self.assertEqual(wanted, {("BRISC", "400"), ("NCRISC", "300"), ("DRAM read", "4096"), ("stalled", "77"),
                                  ("tiles", "9"), ("intensity", "3.0"), ("busy", "62.5"),
                                  ("kernel", "matmul, 2 cores; fast")})
        self.check(trace, wanted)

    def rows_of(self, source):
        done = self.opscope("ops", source, "--csv", "-")
        self.assert_status(done)
        return list(csv.DictReader(io.StringIO(done.stdout, newline="")))

    def test_folder_and_its_trace(self):
        self.check_folder(self.logs())

    def test_counters(self):
        """Reals: utilisation from a device's counters."""
        self.check_folder(harness.reference_data("tenstorrent", "two_devices_counters"))

    def check_folder(self, folder):
        trace = self.imported(folder)
        figures = re.compile(r"DEVICE .*DURATION|FPU|Util|UTIL|BW|CYCLE|^PM ")
        for source in (folder, trace):
            rows = self.rows_of(source)
            wanted = {(name, cell) for row in rows for name, cell in row.items()
                      if cell and figures.search(name) and name != "PM FPU UTIL (%)"}  # the ratio of two others
            self.assertGreater(len(wanted), 20)
            self.check(trace, wanted)

    def test_table(self):
        table = self.table()
        trace = self.imported(table)
        wanted = {(name, cell) for row in self.rows_of(table) for name, cell in row.items()
                  if cell and ("DURATION" in name or "UTIL" in name or "COUNT" in name)}
        self.check(trace, wanted)


if __name__ == "__main__":
    unittest.main()
