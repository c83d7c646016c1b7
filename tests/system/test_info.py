# SPDX-License-Identifier: Apache-2.0
"""What `opscope info` says of processes, threads and counts."""

import signal
import unittest

import facts
import harness
import tenstorrent_logs


class Info(harness.TestCase):
    def test_exit_status(self):
        for step, status, number in (("exit=5", 5, None), ("exit=0", 0, None),
                                     (f"raise={signal.SIGKILL.value}", None, signal.SIGKILL)):
            _, trace = facts.record_script(self, "zones=1", step)
            row = trace.processes[0]
            self.assertEqual((row["exit_status"], row["signal"]), (status, number), step)

    def test_children_have_ended(self):
        """Their status is their parent's to know: neither a number nor a guess."""
        _, trace = facts.record_script(self, "zones=1", "fork=2,10", "exit=5")
        rows = [(row["status"], row["exit_status"], row["signal"]) for row in trace.processes]
        self.assertEqual(rows, [("exit 5", 5, None)] + [("ended", None, None)] * 2)

    def test_imported_cores_have_their_coordinates(self):
        run = tenstorrent_logs.Run(cores=((1, 2), (7, 4)))
        run.op("Matmul", program=11)
        trace = self.path("t.opscope")
        self.assert_status(self.opscope("import", "tenstorrent", run.write(self.path("run")), "-o", trace))
        tracks = facts.Trace(trace).tracks
        cores = [track["name"] for track in tracks if track["kind"] == "core"]
        self.assertEqual(cores, ["core 1,2", "core 7,4"])
        processors = [(track["parent"], track["name"]) for track in tracks if track["kind"] == "processor"]
        names = [name for name, _ in tenstorrent_logs.ZONES]
        self.assertEqual(processors, [(core, name) for core in cores for name in names])
        text = self.opscope("info", trace, "--wide").stdout
        for core in cores:
            for name in names:
                self.assertIn(f" {core} {name} ", text)
        self.assertIn(" device 0 wormhole_b0 ", text)
        self.assertNotIn("(wormhole_b0)", text)

    def test_exec(self):
        """One process, however many images: the newest has its status, the others say what became of them."""
        done, trace = facts.record_script(self, "zones=1", "exec", "zones=2", "exec", "zones=3", "exit=5")
        self.assert_status(done, 5)
        self.assertEqual([row["status"] for row in trace.processes], ["called exec", "called exec", "exit 5"])
        self.assertEqual([row["exit_status"] for row in trace.processes], [None, None, 5])
        self.assertEqual(len({row["pid"] for row in trace.processes}), 1)
        self.assertIn("6 zones, 1 process, ", done.stderr)
        starts = [row["start_ns"] for row in trace.processes]
        self.assertEqual(sorted(starts), starts)
        self.assertTrue(all(row["length_ns"] for row in trace.processes))

    def test_main_thread_first(self):
        _, trace = facts.record_script(self, "threads=5,100", "zones=1", "fork=2,10")
        by_process = {}
        for track in trace.tracks:
            by_process.setdefault(track["pid"], []).append(track["number"])
        self.assertEqual(len(by_process), 3)
        self.assertEqual([row["pid"] for row in trace.processes], list(by_process))
        for pid, threads in by_process.items():
            self.assertEqual(threads[0], pid)
            self.assertEqual(threads[1:], sorted(threads[1:]))

    def test_kinds_of_points(self):
        _, trace = facts.record_script(self, "message=once", "others=1")
        self.assertEqual([trace.info[key] for key in ("points", "messages", "frames", "signposts")], [3, 2, 1, 0])
        text = self.opscope("info", trace.path).stdout
        self.assertIn("2 messages, 1 frame, 1 counter value", text)

    def test_one_length(self):
        """The summary of the run and info say the same."""
        done, trace = facts.record_script(self, "slow=100")
        line = next(line for line in self.opscope("info", trace.path).stdout.splitlines() if line.startswith("length"))
        self.assertIn(" ".join(line.split()[1:]) + ",", done.stderr)


if __name__ == "__main__":
    unittest.main()
