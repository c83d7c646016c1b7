# SPDX-License-Identifier: Apache-2.0
"""Deaths and hostility: killed processes, a stopped collector, a deleted session folder, segments that their own
program destroys. The program is never harmed by us, and what was recorded is in the trace or counted."""

import os
import shutil
import signal
import unittest

import facts
import harness


class Copies(harness.TestCase):
    def test_a_copy_of_a_live_segment(self):
        """Somebody copies a segment within the session folder: reported as a loss, and nothing else changes."""
        run = facts.Run(self, ["threads=5,1000", "zones=1000", "say=ready", "read", "zones=1000", "threads=5,1000"],
                        env={"OPSCOPE_DIR": self.folder})
        run.expect("ready")
        session = facts.session_folders(self.folder)[0]
        segment = next(name for name in os.listdir(session) if name.endswith(".seg"))
        shutil.copyfile(os.path.join(session, segment), os.path.join(session, ".copy"))
        os.rename(os.path.join(session, ".copy"), os.path.join(session, "1-0123456789abcdef.seg"))
        facts.wait_for_polls(session)
        run.go_on()
        done = run.finish()
        self.assert_status(done)
        trace = run.trace()
        self.assertEqual((trace.zones, trace.lost_zones), (12000, 0))
        self.assertIn("1 segment of the session could not be read", done.stderr)


class Death(harness.TestCase):
    """What a process had recorded before it died is in the trace; the zones it was in are shown as open."""

    def check_text_of_commands(self, trace, name):
        for command in ("info", "zones", "tree"):
            done = self.opscope(command, trace.path)
            self.assert_status(done)
            self.assertIn(name, done.stdout, f"{command} does not tell of the open zone")
        self.assertIn(name, [zone["name"] for zone in self.opscope_json("zones", trace.path)["open_zones"]])

    def test_sigkill(self):
        run = facts.Run(self, ["zones=5000", "open=outer", "open=inner", "zones=7", "message=last", "say=ready", "read"])
        run.expect("ready")
        os.kill(run.child_pid(), signal.SIGKILL)
        done = run.finish()
        self.assert_status(done, -signal.SIGKILL)
        trace = run.trace()
        self.assertEqual((trace.zones, trace.lost_zones), (5007, 0))
        self.assertEqual(trace.open_names(), ["outer", "inner"])
        self.assertEqual([zone["depth"] for zone in trace.info["open_zones"]], [0, 1])
        running = [zone["running_ns"] for zone in trace.info["open_zones"]]
        self.assertGreater(running[1], 0)
        self.assertGreater(running[0], running[1], "until the process ended, not until its last record")
        self.assertEqual([row["text"] for row in trace.messages()], ["last"])
        self.check_text_of_commands(trace, "inner")

    def test_sigkill_of_a_process_with_threads(self):
        """Threads that are alive and idle when they die: every one has recorded what it said it had."""
        run = facts.Run(self, ["sleepers=50,700", "open=outer", "say=ready", "read"])
        run.expect("ready")
        os.kill(run.child_pid(), signal.SIGKILL)
        self.assert_status(run.finish(), -signal.SIGKILL)
        trace = run.trace()
        self.assertEqual((trace.zones, trace.lost_zones, trace.open_names()), (50 * 700, 0, ["outer"]))
        self.assertEqual(len(trace.tracks), 51)

    def test_sigkill_at_any_moment(self):
        """Killed while it records as fast as it can: whole zones, at most one open, and no damage."""
        for _ in range(5 * harness.REPEAT):
            run = facts.Run(self, ["say=ready", "zones=1000000000"], options=["--on-full=wait"])
            run.expect("ready")
            harness.wait_until(
                lambda: os.path.exists(run.output + ".partial") and os.path.getsize(run.output + ".partial") > 20000,
                "some zones to be in the file",
            )
            os.kill(run.child_pid(), signal.SIGKILL)
            self.assert_status(run.finish(), -signal.SIGKILL)
            trace = run.trace()
            self.assertEqual(trace.losses(), [])
            self.assertGreater(trace.zones, 0)
            self.assertIn(trace.open_names(), ([], ["work"]))
            self.assertEqual(trace.counts(), {"work": trace.zones})

    def test_sigkill_of_a_child_while_the_parent_goes_on(self):
        program = harness.program("script")
        script = f"{program} zones=3000 open=outer raise=9; {program} zones=20; exit 6"
        done = self.opscope("run", "-o", self.path("t.opscope"), "--", "sh", "-c", script)
        self.assert_status(done, 6)
        trace = facts.Trace(self.path("t.opscope"))
        self.assertEqual((trace.zones, trace.open_names()), (3020, ["outer"]))

    def test_segmentation_fault(self):
        for step in ("segv", "raise=11"):
            # In a build with ASan, which would report the signal and exit, the program is to die of it, too.
            env = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":handle_segv=0"}
            done, trace = facts.record_script(self, "threads=4,1000", "zones=100", "open=outer", step, env=env)
            self.assert_status(done, -signal.SIGSEGV)
            self.assertTrue(trace.info["is_complete"])
            self.assertEqual((trace.zones, trace.lost_zones, trace.open_names()), (4100, 0, ["outer"]))
            self.assertIn("signal 11", trace.processes[0]["status"])

    def test_exit_without_handlers(self):
        done, trace = facts.record_script(self, "zones=100", "open=outer", "_exit=5")
        self.assert_status(done, 5)
        self.assertEqual((trace.zones, trace.open_names()), (100, ["outer"]))
        self.check_text_of_commands(trace, "outer")  # though it began after the last zone that ended


class StoppedCollector(harness.TestCase):
    """A collector that stands still costs the program neither its life nor more memory than agreed."""

    def test_memory_stays_within_the_cap(self):
        run = facts.Run(
            self, ["zones=10", "say=ready", "read", "zones=3000000", "others=1000", "memory", "read", "exit=4"],
            options=["--buffer-size", "4M"],
        )
        run.expect("ready")
        run.stop()
        run.go_on()
        words = run.read_line().split()
        self.assertEqual(words[0], "memory")
        self.assertLess(int(words[1]), 4096 + 1024, "KiB of shared memory")
        run.resume()
        done = run.finish()
        self.assert_status(done, 4)
        self.assertIn("lost", done.stderr)
        trace = run.trace()
        self.assertEqual(trace.zones + trace.lost_zones, 3000010)
        self.assertGreater(trace.lost_zones, 2000000)
        others = trace.info["points"] + trace.info["counters"]
        self.assertEqual(others + trace.lost_records, 3000)

    def test_wait_gives_up_on_a_stale_heartbeat(self):
        run = facts.Run(
            self, ["zones=10", "say=ready", "read", "threads=3,100000", "zones=100000", "say=over", "exit=4"],
            options=["--buffer-size", "1M", "--on-full=wait"],
        )
        run.expect("ready")
        run.stop()
        run.go_on()
        run.expect("over")  # it ends though nobody makes room
        child = run.child_pid()
        harness.wait_until(lambda: facts.process_state(child) == "Z", "the program to end")
        run.resume()
        self.assert_status(run.finish(), 4)
        trace = run.trace()
        self.assertEqual(trace.zones + trace.lost_zones, 400010)
        self.assertGreater(trace.lost_zones, 0)
        self.assertTrue(trace.info["is_complete"])

    def test_wait_waits_for_a_collector_that_is_slow(self):
        run = facts.Run(
            self, ["zones=10", "say=ready", "read", "zones=500000", "exit=4"],
            options=["--buffer-size", "64K", "--on-full=wait"],
        )
        run.expect("ready")
        run.go_on()
        self.assert_status(run.finish(), 4)
        self.assertEqual((run.trace().zones, run.trace().lost_zones), (500010, 0))


class DeletedFolder(harness.TestCase):
    def test_the_session_folder_is_deleted_under_the_program(self):
        run = facts.Run(
            self,
            ["zones=1000", "say=ready", "read", "zones=100000", "fork=2,500", "threads=2,5000", "spawn=zones=50",
             "zones=10", "exit=4"],
            options=["--on-full=wait"], env={"OPSCOPE_DIR": self.folder},
        )
        run.expect("ready")
        (session,) = facts.session_folders(self.folder)
        facts.wait_for_polls(session)
        shutil.rmtree(session)
        run.go_on()
        done = run.finish()
        self.assert_status(done, 4)
        trace = run.trace()
        self.assertTrue(trace.info["is_complete"])
        # What maps its memory goes on; a process that starts later finds no session and is not recorded.
        self.assertEqual((trace.zones, trace.lost_zones), (1000 + 100000 + 1000 + 10000 + 10, 0), done)

    def test_the_folder_is_deleted_before_the_first_zone(self):
        run = facts.Run(self, ["say=ready", "read", "zones=1000", "exit=4"], env={"OPSCOPE_DIR": self.folder})
        run.expect("ready")
        (session,) = facts.session_folders(self.folder)
        shutil.rmtree(session)
        run.go_on()
        self.assert_status(run.finish(), 4)
        self.assertEqual(run.trace().zones, 0)


class Hostile(harness.TestCase):
    """One program destroys the memory it shares with us; the collector and everybody else's data survive."""

    def check(self, *arguments):
        gate = self.path("gate-" + "-".join(arguments))
        other, hostile = harness.program("script"), harness.program("hostile")
        # The other program records before, while and after the hostile one does its worst.
        script = (
            f"{other} zones=20000 touch={gate}.1 await={gate}.2 zones=30000 open=outer & other=$!; "
            f"while [ ! -e {gate}.1 ]; do sleep 0.01; done; {hostile} {' '.join(arguments)}; status=$?; "
            f"touch {gate}.2; wait $other; exit $status"
        )
        trace = self.path("t.opscope")
        done = self.opscope("run", "-o", trace, "--", "sh", "-c", script, env={"OPSCOPE_DIR": self.folder})
        self.assert_status(done)
        for command in ("info", "zones", "tree", "messages", "ops"):
            self.assert_status(self.opscope(command, trace))
        rows = self.opscope_json("zones", trace, "--by", "process")["rows"]
        counts = {row["program"]: row["count"] for row in rows if row["name"] == "work"}
        self.assertEqual(counts.get("script"), 50000, (arguments, done))
        self.assertIn("outer", facts.Trace(trace).open_names())
        self.assertEqual(facts.session_folders(self.folder), [])
        return done, facts.Trace(trace)

    def test_noise(self):
        for seed in range(1, 4 * harness.REPEAT + 1):
            self.check("noise", str(seed))

    def test_huge_numbers(self):
        self.check("huge")

    def test_truncation(self):
        done, trace = self.check("truncate")
        self.assertIn("could not be read", done.stderr)
        self.assertIn("damaged data", [loss["reason"] for loss in trace.losses()])

    def test_wrong_descriptors(self):
        self.check("descriptors")

    def test_litter_in_the_folder(self):
        done, trace = self.check("files")
        self.assertEqual(trace.count("hostile"), 3000)
        self.assertIn("could not be read", done.stderr)


if __name__ == "__main__":
    unittest.main()
