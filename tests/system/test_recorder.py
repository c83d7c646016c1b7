# SPDX-License-Identifier: Apache-2.0
"""The recorder where it is not at home: small stacks, strict filters, little address space, plug-ins that go away,
files that others have put in its place, no collector. The program runs as it would without us."""

import glob
import os
import signal
import struct
import unittest

import facts
import harness


class Stacks(harness.TestCase):
    """The first event of a process, on as little stack as there can be."""

    def record_on(self, kind):
        path = self.path(kind + ".opscope")
        done = self.opscope("run", "-o", path, "--", harness.program("small_stack"), kind)
        self.assert_status(done)
        self.assertEqual(facts.Trace(path).count("on a small stack"), 1)
        return done

    def test_smallest_thread(self):
        self.record_on("thread")

    def test_signal_stack(self):
        self.record_on("handler")

    def test_no_path_takes_more_than_2_kib(self):
        done = self.opscope("run", "-o", self.path("m.opscope"), "--", harness.program("small_stack"), "measure",
                            env={"LD_BIND_NOW": "1"})
        self.assert_status(done)
        self.assertLess(int(done.stdout), 2048 + 1024, "the program's own part of it is below 1 KiB")


class Jumps(harness.TestCase):
    """Signal handlers that leave by siglongjmp, also out of the recorder."""

    AFTER = 20000
    LOST_BY_A_JUMP = 4096

    def record(self, jumps, microseconds):
        path = self.path("jumps.opscope")
        done = self.opscope("run", "-o", path, "--buffer-size", "256M", "--", harness.program("jumps"), jumps, microseconds,
                            self.AFTER)
        self.assert_status(done)
        begun, ended = map(int, done.stdout.split())
        trace = facts.Trace(path)
        lost = trace.lost_zones
        overrun = sum(loss["zones"] for loss in trace.losses("buffer full"))  # the collector of a loaded machine
        # A jump may leave a zone, or its end, that the recorder had not been told of, or had not written.
        told = trace.count("outer") + len(trace.open_names()) + trace.count("after") + lost
        self.assertTrue(ended - jumps <= told - self.AFTER <= begun, (begun, ended, told, trace.losses()))
        self.assertGreaterEqual(trace.count("after"), self.AFTER - self.LOST_BY_A_JUMP - overrun, "it goes on recording")
        self.assertLessEqual(lost - overrun, jumps * self.LOST_BY_A_JUMP)
        reasons = {loss["reason"] for loss in trace.losses()}
        self.assertLessEqual(reasons, {"signal handler during a chunk switch", "buffer full"})

    def test_many(self):
        for _ in range(3 * harness.REPEAT):
            self.record(1000, 500)

    def test_few(self):
        for _ in range(2 * harness.REPEAT):
            self.record(30, 5000)


class StrictFilter(harness.TestCase):
    def test_eager_needs_no_system_call_later(self):
        path = self.path("t.opscope")
        done = self.opscope("run", "-o", path, "--", harness.program("sealed_off"), 20000, 1000, env={"OPSCOPE_EAGER": "1"})
        if done.status == 77:
            self.skipTest("no seccomp filters here")
        self.assert_status(done)
        trace = facts.Trace(path)
        self.assertEqual((trace.count("sealed off"), trace.zones, trace.lost_zones), (20000, 21000, 0))
        self.assertEqual(len(trace.rows), 1001, "every name found room")


class AddressSpace(harness.TestCase):
    LIMIT_KIB = 120000

    def test_most_of_it_is_left_to_the_program(self):
        def limited(command):
            return ["sh", "-c", f'ulimit -v {self.LIMIT_KIB} && exec "$0" "$@"', *command]

        run = facts.Run(self, ["zones=1000", "say=ready", "read", "zones=500"], wrap=limited)
        run.expect("ready")
        with open(f"/proc/{run.child_pid()}/status", encoding="utf-8") as file:
            size = next(int(line.split()[1]) for line in file if line.startswith("VmSize:"))
        self.assertLess(size, self.LIMIT_KIB // 2)
        run.go_on()
        self.assert_status(run.finish())
        self.assertEqual((run.trace().zones, run.trace().lost_zones), (1500, 0))

    def test_with_next_to_none_it_is_not_recorded_and_said(self):
        command = [harness.program("script"), "zones=10", "exit=3"]
        done = self.opscope("run", "-o", self.path("t.opscope"), "--", "sh", "-c", 'ulimit -v 16000 && exec "$0" "$@"', *command)
        self.assert_status(done, 3)
        self.assertIn("could not be recorded", done.stderr)

    def test_it_is_not_locked(self):
        done = self.opscope("run", "-o", self.path("t.opscope"), "--", harness.program("small_stack"), "locked")
        if done.status == 77:
            self.skipTest("mlockall is not permitted")
        self.assert_status(done)
        self.assertLess(int(done.stdout), 32 * 1024, "KiB: the whole segment has 200 MiB")
        self.assertEqual(facts.Trace(self.path("t.opscope")).count("on a small stack"), 1)


class Plugin(harness.TestCase):
    def test_unloaded_while_a_thread_lives_that_it_recorded(self):
        path = self.path("t.opscope")
        plugin = harness.program("own_copy_static_plugin.so")
        self.assert_status(self.opscope("run", "-o", path, "--", harness.program("thread_plugin_host"), plugin))
        self.assertEqual(facts.Trace(path).count("zone of a plug-in"), 10)


class Neighbours(harness.TestCase):
    """What another process of the same user does to the session."""

    def start_run(self, *steps):
        run = facts.Run(self, ["zones=10", "say=ready", "read", *steps], env={"OPSCOPE_DIR": self.folder})
        run.expect("ready")
        (session,) = facts.session_folders(self.folder)
        facts.wait_for_polls(session)
        (segment,) = glob.glob(os.path.join(session, "*.seg"))
        return run, session, segment

    def test_a_fifo_as_control_file_stops_nobody(self):
        os.mkfifo(self.path("control"))
        session = f"{self.folder}:{'0' * 15}1"
        done = self.run_command([harness.program("script"), "zones=5", "exit=4"], env={"OPSCOPE_SESSION": session}, timeout=60)
        self.assert_status(done, 4)

    def test_opening_and_closing_a_segment_ends_nothing(self):
        run, session, segment = self.start_run("zones=20", "say=more", "read", "zones=5")
        with open(segment, "r+b"):
            pass
        facts.wait_for_polls(session)
        run.go_on()
        run.expect("more")
        run.go_on()
        self.assert_status(run.finish())
        self.assertEqual((run.trace().zones, run.trace().lost_zones), (35, 0))

    def test_garbage_in_a_segment_does_not_kill_the_program(self):
        run, _, segment = self.start_run("open=a name", "close", "open=another", "close", "zones=5000", "message=text", "exit=6")
        with open(segment, "r+b", buffering=0) as file:
            os.pwrite(file.fileno(), b"\xff" * 4096, 3 * 4096)  # name table, level 0
            os.pwrite(file.fileno(), struct.pack("<I", 0xFFFFFFFF), 192)  # chunks_committed
            os.pwrite(file.fileno(), struct.pack("<Q", 2**64 - 8), 208)  # names_used
        run.go_on()
        self.assert_status(run.finish(), 6)


class NoCollector(harness.TestCase):
    def test_ends_without_room_are_known(self):
        """With --on-full=wait and a dead collector the last ends find no chunk: they ended all the same."""
        run = facts.Run(
            self, ["open=outer", "open=inner", "say=ready", "read", "zones=60000", "close", "close", "say=over", "read"],
            options=["--on-full=wait", "--buffer-size", "512K"], env={"OPSCOPE_DIR": self.folder},
        )
        run.expect("ready")
        pid = run.child_pid()
        os.kill(run.pid, signal.SIGKILL)
        run.process.wait()
        run.go_on()
        run.expect("over")
        run.go_on()
        harness.wait_until(lambda: not harness.process_is_alive(pid), "the program to end")
        (session,) = facts.session_folders(self.folder)
        self.assert_status(self.opscope("recover", session, env={"OPSCOPE_DIR": self.folder}))
        trace = facts.Trace(run.output)
        self.assertEqual(trace.open_names(), [])
        self.assertEqual(trace.zones + trace.lost_zones, 60002)


if __name__ == "__main__":
    unittest.main()
