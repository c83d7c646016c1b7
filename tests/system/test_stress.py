# SPDX-License-Identifier: Apache-2.0
"""Handlers that record at 50 kHz, forks by the hundred, more threads than chunks: every zone is in the trace or
counted, to the last one. `make test-long` repeats these."""

import unittest

import facts
import harness

NEEDS_QUIET = "handlers at 50 kHz and hundreds of processes"
NESTED = "signal handler during a chunk switch"


class Stress(harness.TestCase):
    def run_program(self, name, *arguments, options=()):
        trace = self.path("t.opscope")
        done = self.opscope("run", "-o", trace, *options, "--", harness.program(name), *arguments)
        self.assert_status(done)
        return done, facts.Trace(trace)

    def check_signals(self, options, main, handler):
        done, trace = self.run_program("signals", main, handler, options=options)
        made = [int(word) for word in done.stdout.split()]
        self.assertGreaterEqual(made[1], handler)
        self.assertEqual(trace.zones + trace.lost_zones, sum(made), trace.losses())
        self.assertEqual(trace.open_names(), [])
        for name, count in zip(("main", "handler"), made):
            self.assertLessEqual(trace.count(name), count)
        return trace

    def test_signal_handlers_that_record(self):
        for _ in range(harness.REPEAT):
            trace = self.check_signals(["--on-full=wait"], 3000000, 20000)
            # What is lost is a handler that met a chunk switch, or the main flow waiting for a chunk.
            self.assertLessEqual({loss["reason"] for loss in trace.losses()}, {NESTED, "buffer full"})
            self.assertGreater(trace.count("main"), 1500000)  # how many depends on how long it had to wait

    def test_signal_handlers_while_the_buffer_overflows(self):
        for _ in range(harness.REPEAT):
            self.check_signals(["--buffer-size", "64K"], 1000000, 10000)

    def test_200_raw_forks_of_which_67_are_killed(self):
        for _ in range(harness.REPEAT):
            for at_once in (1, 16):
                done, trace = self.run_program(
                    "forks", 200, 2000, at_once, options=["--buffer-size", "1M", "--on-full=wait"]
                )
                self.assertEqual(done.stdout, "67\n")
                self.assertEqual((trace.zones, trace.lost_zones), (400001, 0))
                self.assertEqual(trace.open_names(), ["killed in here"] * 67)
                self.assertEqual((trace.count("child"), trace.count("parent")), (400000, 1))
                self.assertEqual(len(trace.processes), 201)
                self.assertEqual(len({process["pid"] for process in trace.processes}), 201)

    def test_forks_that_drop(self):
        done, trace = self.run_program("forks", 100, 5000, 50, options=["--buffer-size", "256K"])
        self.assertEqual(done.stdout, "34\n")
        # An open zone of a killed child is in the trace as open, or was lost.
        self.assertEqual(trace.zones + trace.lost_zones + len(trace.open_names()), 100 * 5000 + 1 + 34)

    def test_more_threads_than_chunks(self):
        """64 chunks for 200 threads at once: with wait nothing is lost, with drop everything is counted."""
        done, trace = facts.record_script(
            self, "threads=200,5000", options=["--buffer-size", "1M", "--on-full=wait"]
        )
        self.assert_status(done)
        self.assertEqual((trace.zones, trace.lost_zones), (1000000, 0))
        done, trace = facts.record_script(self, "threads=200,5000", options=["--buffer-size", "64K"])
        self.assert_status(done)
        self.assertEqual(trace.zones + trace.lost_zones, 1000000)

    def test_threads_that_sleep_on_all_chunks(self):
        """Nobody will give a chunk back: a thread that waits for one must notice and go on without."""
        run = facts.Run(self, ["sleepers=8,10", "zones=2000", "say=done", "read"],
                        options=["--buffer-size", "64K", "--on-full=wait"])
        run.expect("done")
        self.assert_status(run.finish())
        trace = run.trace()
        self.assertEqual(trace.zones + trace.lost_zones, 8 * 10 + 2000)
        self.assertGreater(trace.lost_zones, 0)

    def test_processes_that_come_and_go(self):
        """Segments by the hundred, each closed and removed while the run goes on."""
        program = harness.program("script")
        loop = f"i=0; while [ $i -lt 150 ]; do {program} zones=300 & i=$((i+1)); [ $((i%10)) = 0 ] && wait; done; wait"
        done = self.opscope("run", "-o", self.path("t.opscope"), loop, env={"OPSCOPE_DIR": self.folder})
        self.assert_status(done)
        trace = facts.Trace(self.path("t.opscope"))
        self.assertEqual((trace.zones, trace.lost_zones), (150 * 300, 0))
        self.assertEqual(facts.session_folders(self.folder), [])


if __name__ == "__main__":
    unittest.main()
