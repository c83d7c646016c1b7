# SPDX-License-Identifier: Apache-2.0
"""Dispatch cores in Tenstorrent's device log: how long the commands of an op took, and its go signal.

The logs are made here and the expected values computed by hand from the description of the vendor's analysis; no
output of the vendor's tool was at hand to compare with.
"""

import csv
import io
import unittest

import harness
from tenstorrent_logs import Run

TOTAL = "DISPATCH TOTAL CQ CMD OP TIME [ns]"
GO = "DISPATCH GO SEND WAIT TIME [ns]"
NOTIFY = "CQ_DISPATCH_NOTIFY_SUBORDINATE_GO_SIGNAL"
SEND_GO = "CQ_DISPATCH_CMD_SEND_GO_SIGNAL"
SET_OFFSET = "CQ_DISPATCH_CMD_SET_WRITE_OFFSET"
WRITE = "CQ_DISPATCH_CMD_WRITE_PACKED"
WAIT = "CQ_DISPATCH_CMD_WAIT"
CORE = (9, 9)


class DispatchRun(Run):
    """A run whose dispatch core was profiled as well."""

    frequency_mhz = 1000

    def mark(self, processor, time, zone, kind, meta="", device=0, core=CORE, run=0):
        number = ("BRISC", "NCRISC", "TRISC_0", "ERISC").index(processor)
        line = f"{device},{core[0]},{core[1]},{processor},77,{time},0,{run},,,{zone},{kind},5,cq.cpp,{meta}"
        self.log.append((device, core, number, time, line))

    def command(self, processor, start, end, command, call=None, **place):
        """A zone with what its meta data tell between its start and its end."""
        self.mark(processor, start, "CQ-DISPATCH", "ZONE_START", **place)
        if command is not None:
            meta = f"{{'dispatch_command_type': '{command}'}}"
            self.mark(processor, start + 1, "process_cmd", "TS_DATA", meta, **place)
        if call is not None:
            self.mark(processor, start + 2, "runtime_id", "TS_DATA", f"{{'workers_runtime_id': {call}}}", **place)
        self.mark(processor, end, "CQ-DISPATCH", "ZONE_END", **place)

    def dispatch(self, begin, call, total, wait, **place):
        """The commands of one op: `total` cycles on the master, `wait` cycles for the go signal."""
        self.command("BRISC", begin, begin + 10, SET_OFFSET, call, **place)
        self.command("BRISC", begin + 20, begin + 40, WRITE, **place)
        self.command("BRISC", begin + total - 15, begin + total, NOTIFY, **place)
        self.command("NCRISC", begin + 30, begin + 30 + wait, SEND_GO, **place)

    def log_text(self):
        return super().log_text().replace("CHIP_FREQ[MHz]: 1000", f"CHIP_FREQ[MHz]: {self.frequency_mhz}")


class Dispatch(harness.TestCase):
    def ops(self, source, *options):
        done = self.opscope("ops", source, "--csv", *options)
        self.assert_status(done)
        return list(csv.DictReader(io.StringIO(done.stdout, newline=""))), done.stderr

    def times(self, source, *options):
        return [(row["GLOBAL CALL COUNT"], row[TOTAL], row[GO]) for row in self.ops(source, *options)[0]]

    def stats(self, folder):
        rows = self.opscope_json("device-stats", folder)["rows"]
        return {(row["device"], row["analysis"]): row for row in rows}

    def two_ops(self):
        run = DispatchRun()
        (first,), (second,) = run.op("Matmul", 11), run.op("Add", 12)
        run.dispatch(900_000, first, total=500, wait=700)
        run.dispatch(1_900_000, second, total=800, wait=100)
        return run

    def test_columns(self):
        folder = self.two_ops().write(self.path("run"))
        self.assertEqual(self.times(folder), [("1024", "500", "700"), ("2048", "800", "100")])
        self.assertEqual(self.times(folder, "--device-only"), [("1024", "500", "700"), ("2048", "800", "100")])
        self.assertEqual(self.ops(folder)[1], "")

    def test_through_a_trace(self):
        folder, trace = self.two_ops().write(self.path("run")), self.path("run.opscope")
        self.assert_status(self.opscope("import", "tenstorrent", folder, "-o", trace))
        self.assertEqual(self.times(trace), [("1024", "500", "700"), ("2048", "800", "100")])

    def test_frequency(self):
        run = self.two_ops()
        run.frequency_mhz = 500
        self.assertEqual(self.times(run.write(self.path("run"))), [("1024", "1000", "1400"), ("2048", "1600", "200")])

    def test_statistics(self):
        stats = self.stats(self.two_ops().write(self.path("run")))
        names = [name for _, name in stats]
        self.assertEqual(names[-2:], ["dispatch_total_cq_cmd_op_time", "dispatch_go_send_wait_time"])
        total, wait = stats[0, names[-2]], stats[0, names[-1]]
        keys = ("count", "average_cycles", "median_cycles", "min_cycles", "max_cycles", "range_cycles", "sum_cycles")
        self.assertEqual([total[key] for key in keys], [2, 650, 650, 500, 800, 300, 1300])
        self.assertEqual([wait[key] for key in keys], [2, 400, 400, 100, 700, 600, 800])

    def test_statistics_text(self):
        done = self.opscope("device-stats", self.two_ops().write(self.path("run")), "--text")
        self.assert_status(done)
        expected = "\n=================== dispatch_go_send_wait_time ===================\n"
        expected += "       Count          =          2\n     Average [cycles] =        400\n"
        self.assertIn(expected, done.stdout)

    def test_without_dispatch_cores(self):
        run = DispatchRun()
        run.op("Matmul", 11)
        folder = run.write(self.path("run"))
        self.assertEqual(self.times(folder), [("1024", "", "")])
        self.assertFalse([name for _, name in self.stats(folder) if name.startswith("dispatch")])

    def test_what_belongs_to_an_op(self):
        """Its id's zone up to the notification; zones of no command, no program or other names do not count."""
        run = DispatchRun()
        (call,) = run.op("Matmul", 11)
        run.command("BRISC", 100, 200, WAIT)  # before any id
        run.command("BRISC", 1000, 1100, None, call)  # reported in a zone of no command
        run.command("BRISC", 1200, 1300, WRITE)
        run.mark("BRISC", 1310, "PROFILER-NOC-QUICK-PUSH", "ZONE_START")
        run.mark("BRISC", 1390, "PROFILER-NOC-QUICK-PUSH", "ZONE_END")
        run.command("BRISC", 1400, 1450, NOTIFY)
        run.command("BRISC", 1500, 1900, WAIT)  # after its end
        run.command("BRISC", 2000, 2100, WRITE, 0)  # of no program
        run.command("NCRISC", 1300, 1350, WAIT)
        run.command("NCRISC", 1360, 1500, SEND_GO)
        self.assertEqual(self.times(run.write(self.path("run"))), [("1024", "250", "140")])

    def test_meta_data_on_the_zone_itself(self):
        run = DispatchRun()
        (call,) = run.op("Matmul", 11)
        both = f'{{"workers_runtime_id":{call};"dispatch_command_type":"{WRITE}"}}'
        run.mark("BRISC", 1000, f"CQ-DISPATCH:{call}:{WRITE}", "ZONE_START", both)
        run.mark("BRISC", 1080, f"CQ-DISPATCH:{call}:{WRITE}", "ZONE_END")
        run.mark("BRISC", 1100, "CQ-DISPATCH", "ZONE_START")
        run.mark("BRISC", 1175, "CQ-DISPATCH", "ZONE_END", f'{{"dispatch_command_subtype":"{NOTIFY}"}}')
        self.assertEqual(self.times(run.write(self.path("run"))), [("1024", "175", "")])

    def test_replays_count_once(self):
        run = DispatchRun()
        (first,), (second,) = run.trace(4, ["Add", "Softmax"], replays=2)
        for number, (call, total, wait) in enumerate(
            ((first, 100, 11), (second, 200, 22), (first, 300, 33), (second, 400, 44))
        ):
            run.dispatch(1_000_000 * number + 500_000, call, total, wait)
        folder = run.write(self.path("run"))
        rows, _ = self.ops(folder)
        self.assertEqual(
            [(row["OP CODE"], row["METAL TRACE REPLAY SESSION ID"], row[TOTAL], row[GO]) for row in rows],
            [("Add", "", "", ""), ("Softmax", "", "", ""), ("Add", "1", "100", "11"), ("Softmax", "1", "200", "22"),
             ("Add", "2", "", ""), ("Softmax", "2", "", "")],
        )
        self.assertEqual(self.stats(folder)[0, "dispatch_total_cq_cmd_op_time"]["sum_cycles"], 300)

    def test_ids_of_programs(self):
        """The device is sent the program alone; two devices, each with a dispatch core of its own."""
        run = DispatchRun(devices=(0, 3))
        run.op("Matmul", 11)
        run.op("Add", 12)
        for device, core in ((0, (9, 9)), (3, (8, 9))):
            run.dispatch(900_000, 1, 100 + device, 60 + device, device=device, core=core)
            run.dispatch(1_900_000, 2, 200 + device, 70 + device, device=device, core=core)
        folder = run.write(self.path("run"))
        self.assertEqual(
            self.times(folder),
            [("1024", "100", "60"), ("1027", "103", "63"), ("2048", "200", "70"), ("2051", "203", "73")],
        )
        self.assertEqual(self.stats(folder)[3, "dispatch_go_send_wait_time"]["sum_cycles"], 136)

    def test_dispatch_core_runs_no_op(self):
        """Firmware of a dispatch core has no end while it is read: it must not leave ops open."""
        run = self.two_ops()
        for call in (1024, 1 << 20):
            run.mark("BRISC", 500, "BRISC-FW", "ZONE_START", run=call)
        rows, errors = self.ops(run.write(self.path("run")))
        self.assertEqual([(row[TOTAL], row["CORE COUNT"]) for row in rows], [("500", "2"), ("800", "2")])
        self.assertEqual(errors, "")

    def test_zones_of_ethernet_cores(self):
        """CQ zones of an ERISC make no dispatch core: what runs there still counts."""
        run = DispatchRun()
        (call,) = run.op("Matmul", 11)
        run.command("ERISC", 1000, 1100, WRITE, call, core=run.cores[0])
        rows, _ = self.ops(run.write(self.path("run")))
        self.assertEqual([(row["CORE COUNT"], row[TOTAL], row[GO]) for row in rows], [("2", "", "")])

    def test_what_does_not_fit(self):
        run = self.two_ops()
        run.dispatch(2_900_000, 9 << 10, total=50, wait=60)  # no core recorded it
        run.command("BRISC", 3_900_000, 3_900_100, NOTIFY, 8 << 10)  # its go signal was dropped
        run.command("BRISC", 4_900_000, 4_900_100, WRITE, "none")
        run.mark("BRISC", 5_900_000, "CQ-DISPATCH", "ZONE_START")
        folder = run.write(self.path("run"))
        rows, errors = self.ops(folder)
        self.assertEqual([(row[TOTAL], row[GO]) for row in rows], [("500", "700"), ("800", "100")])
        self.assertIn("op 8192 was dispatched on device 0, which did not record it", errors)
        self.assertIn("asked for 4 go signals and sent 3", errors)
        self.assertIn("workers_runtime_id none is not an id", errors)
        self.assertEqual(self.stats(folder)[0, "dispatch_total_cq_cmd_op_time"]["count"], 4)


if __name__ == "__main__":
    unittest.main()
