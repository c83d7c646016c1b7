# SPDX-License-Identifier: Apache-2.0
"""tt-metal's real-time profiler: the CSV of its example, and its callback in a recorded program. No device is at hand: the
callback is called by a module of ours in ttnn's place, with records as the header of the runtime declares them, in the
form of today (batches) and of before (single records)."""

import os
import unittest

import harness

CSV = """\
runtime_id,chip_id,start_timestamp,end_timestamp,duration_cycles,duration_ns,frequency_ghz,kernel_sources
1,0,1000000,1027000,27000,20000,1.35,"k/reader.cpp;k/matmul_compute.cpp"
1,1,5000000,5013500,13500,10000,1.35,"k/reader.cpp;k/matmul_compute.cpp"
2,0,1040500,1054000,13500,10000,1.35,"k/eltwise.cpp"
2,1,5040500,5067500,27000,20000,1.35,"k/eltwise.cpp"
"""
TTNN = '''
import types

callbacks = {}


class device:
    @staticmethod
    def RegisterProgramRealtimeProfilerCallback(callback):
        callbacks[7] = callback
        return 7

    @staticmethod
    def UnregisterProgramRealtimeProfilerCallback(handle):
        del callbacks[handle]
        print("unregistered", handle)


def send(batch):
    callbacks[7](batch)


def record(number, start, end, chip=0, **more):
    return types.SimpleNamespace(chip_id=chip, start_timestamp=start, end_timestamp=end, frequency=1.0,
                                 kernel_sources=["k/reader.cpp", "k/matmul_compute.cpp"], **{"runtime_id": number, **more})


def batch(records, dropped=0):
    return types.SimpleNamespace(records=records, dropped=dropped)
'''
PROGRAM = """
import ttnn
for step in range(10):
    ttnn.send(ttnn.batch([ttnn.record(2 * step, 1000 * step, 1000 * step + 600), ttnn.record(2 * step + 1, 1000 * step, 1000 * step + 300, 1)],
                         3 if step == 5 else 0))
"""


def module_problem():
    path = os.path.join(harness.BUILD, "python", "opscope")
    return None if os.path.isdir(path) else "the build has no Python extension"


class Table(harness.TestCase):
    def write(self, text):
        with open(self.path("realtime_profiler_records.csv"), "w", encoding="utf-8") as file:
            file.write(text)
        return "realtime_profiler_records.csv"

    def test_programs_are_ops_with_times_by_their_clock(self):
        rows = self.opscope_json("report", self.write(CSV), "--no-merge-devices")["rows"]
        self.assertEqual([row["op"] for row in rows], ["matmul_compute", "matmul_compute", "eltwise", "eltwise"])
        self.assertEqual([row["time_us"] for row in rows], [20, 10, 10, 20])

    def test_it_becomes_a_trace_with_a_track_for_each_chip(self):
        self.assert_status(self.opscope("import", "tenstorrent", self.write(CSV), "-o", "t.opscope"))
        info = self.opscope_json("info", "t.opscope")
        self.assertEqual((info["ops"], info["runs"]), (4, 4))
        self.assertEqual(info["length_ns"], 50000)  # by a clock of 1.35 GHz, not by one of 1
        done = self.opscope("summary", "t.opscope")
        self.assertIn("2 devices", done.stdout)

    def test_headers_of_other_releases_and_damaged_cells(self):
        old = CSV.replace("runtime_id", "program_id").replace("frequency_ghz", "frequency_cycles_per_ns")
        self.assertEqual(len(self.opscope_json("report", self.write(old), "--no-merge-devices")["rows"]), 4)
        damaged = CSV + '3,0,x,5,0,0,1.35,""\n4,0,9,5,0,0,1.35,"a"\n5,0,1,2,1,1,0,"b"\n6,zero,1,2,1,1,inf,"b'
        done = self.opscope("report", self.write(damaged))
        self.assert_status(done)
        self.assertIn("start and end are no times", done.stderr)
        self.assertIn("no clock", done.stderr)
        done = self.opscope("report", self.write(CSV.replace("runtime_id", "other")))
        self.assert_status(done, 1 if done.status == 1 else 2)
        self.assertIn("runtime_id", done.stderr)


@unittest.skipIf(module_problem(), module_problem() or "")
class Callback(harness.TestCase):
    def run_program(self, program, *options):
        for name, text in (("ttnn.py", TTNN), ("program.py", program)):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)
        done = self.opscope("run", "-o", "t.opscope", *options, "--", "/usr/bin/python3", "program.py")
        self.assert_status(done)
        return done

    def runs(self):
        return self.opscope_json("report", "t.opscope", "--no-merge-devices")["rows"]

    def test_each_record_is_a_run_of_its_device(self):
        done = self.run_program(PROGRAM)
        self.assertIn("unregistered 7", done.stdout)
        rows = self.runs()
        self.assertEqual(len(rows), 20)
        self.assertEqual({row["op"] for row in rows}, {"matmul_compute"})
        self.assertEqual(sorted({round(row["time_us"] * 1000) for row in rows}), [300, 600])
        self.assertEqual({row["device"] for row in rows}, {0, 1})
        self.assertIn("lost", done.stderr)
        losses = self.opscope_json("info", "t.opscope")
        self.assertEqual(losses["lost_records"], 3, done)

    def test_single_records_of_older_releases(self):
        program = PROGRAM.split("for step")[0] + "ttnn.send(ttnn.record(None, 10, 25, program_id=4))\n"
        self.run_program(program)
        self.assertEqual([round(row["time_us"] * 1000) for row in self.runs()], [15])

    def test_a_record_that_is_not_understood_ends_nothing(self):
        program = PROGRAM.split("for step")[0] + "ttnn.send(object())\nttnn.send(ttnn.record(1, 2, 3))\nprint('went on')\n"
        done = self.run_program(program)
        self.assertIn("went on", done.stdout)
        self.assertIn("not understood", done.stderr)

    def test_it_can_be_left_out(self):
        done = self.run_program("import ttnn\nprint('callbacks', len(ttnn.callbacks))\n", "--python-no-ttnn")
        self.assertIn("callbacks 0", done.stdout)


if __name__ == "__main__":
    unittest.main()
