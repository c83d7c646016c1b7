# SPDX-License-Identifier: Apache-2.0
"""The collector is killed: `opscope recover` finishes the trace from the file and the session, and every zone is found
or counted as lost. Sessions that were left behind are listed, named by the next run, and removed."""

import fcntl
import json
import os
import random
import signal
import struct
import time
import unittest

import facts
import harness


RECORD_KINDS = ("points", "counters", "memory_events", "ops", "runs")


def lock(file):
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def has_open(pid, path):
    try:
        return any(os.path.samefile(f"/proc/{pid}/fd/{fd}", path) for fd in os.listdir(f"/proc/{pid}/fd"))
    except OSError:  # it closed that, or has ended
        return False


class Killed(harness.TestCase):
    """`opscope run` in a session folder of the test's own, killed at a moment that the test chooses."""

    def start_run(self, steps, options=(), **more):
        return facts.Run(self, steps, options=options, env={"OPSCOPE_DIR": self.folder}, **more)

    def kill(self, run):
        os.kill(run.pid, signal.SIGKILL)
        run.process.wait()

    def session(self):
        (session,) = facts.session_folders(self.folder)
        return session

    def wait_for_zones_in_file(self, run, zones, part=".partial"):
        """The growing file can be read; blocks are written when they are two seconds old."""

        def has_them():
            done = self.opscope("info", run.output + part, "--json")
            return done.status == 0 and done.json()["zones"] >= zones

        harness.wait_until(has_them, f"{zones} zones in the file")

    def let_end(self, run, pid):
        """The program goes on without a collector, and ends."""
        run.go_on()
        harness.wait_until(lambda: not harness.process_is_alive(pid), "the program to end")

    def recover(self, run, *options, status=0):
        done = self.opscope("recover", self.session(), *options, env={"OPSCOPE_DIR": self.folder})
        self.assert_status(done, status)
        return done, facts.Trace(run.output)

    def assert_exact(self, trace, made, records=None):
        """Zones, and where they are given all other records, are found or lost."""
        self.assertEqual(trace.zones + trace.lost_zones, made, trace.losses())
        if records is not None:
            found = sum(trace.info[kind] for kind in RECORD_KINDS)
            self.assertEqual(found + trace.lost_records, records, trace.losses())


class Recover(Killed):
    def test_nothing_was_written_yet(self):
        run = self.start_run(["zones=1000", "message=one", "say=ready", "read", "threads=3,5000", "zones=10", "message=two"])
        run.expect("ready")
        pid = run.child_pid()
        self.kill(run)
        self.let_end(run, pid)
        done, trace = self.recover(run)
        self.assertIn(run.output, done.stdout)
        self.assertTrue(trace.info["is_complete"])
        self.assertTrue(trace.info["is_recovered"])
        self.assert_exact(trace, 16010)
        # A slow machine's collector may have taken the first chunk into its own memory before it was killed. Then it is
        # lost, and counted.
        messages = [row["text"] for row in trace.messages()]
        self.assertEqual(messages, ["one", "two"] if "one" in messages or not trace.lost_zones else ["two"])
        self.assertEqual(sorted(os.listdir(self.folder)), ["t.opscope"])

    def test_what_is_in_the_file_is_not_told_twice(self):
        """An idle thread's chunk was taken and written, but is still its own: recover meets it again."""
        run = self.start_run(
            ["open=outer", "zones=300", "message=one", "others=5", "open=inner", "say=ready", "read",
             "close", "zones=40", "message=two", "close"],
        )
        run.expect("ready")
        pid = run.child_pid()
        self.wait_for_zones_in_file(run, 300)
        self.kill(run)
        self.let_end(run, pid)
        _, trace = self.recover(run)
        self.assertEqual((trace.zones, trace.lost_zones, trace.open_names()), (342, 0, []))
        self.assertEqual(trace.counts(), {"outer": 1, "inner": 1, "work": 340})
        texts = [row["text"] for row in trace.messages() if row["kind"] == "message"]
        self.assertEqual(texts.count("one"), 1)
        self.assertEqual(texts.count("two"), 1)
        self.assertEqual(texts.count("a message"), 5)
        self.assertEqual(trace.info["counters"], 5)

    def test_threads_that_ended(self):
        """Their chunks were given back: only the collector knew their zones, and its ledger tells how many."""
        run = self.start_run(["threads=20,1000", "short-threads=50,100", "fork=5,30", "others=400", "say=ready", "read"])
        run.expect("ready")
        pid = run.child_pid()
        facts.wait_for_polls(self.session())
        self.kill(run)
        self.let_end(run, pid)
        done, trace = self.recover(run)
        self.assert_exact(trace, 20000 + 5000 + 150, records=3 * 400)
        self.assertLessEqual({loss["reason"] for loss in trace.losses()}, {"collector died"})
        self.assertIn(f"{trace.lost_zones:,} zones", done.stdout)

    def test_processes_that_ended(self):
        """Their segments were removed while the collector lived."""
        ready, release = self.path("ready"), self.path("release")
        program = harness.program("script")
        script = f"{program} zones=700; {program} zones=800 threads=4,100; {program} zones=5 touch={ready} await={release}"
        run = self.start_run([], command=["sh", "-c", script])
        pid = run.child_pid()
        harness.wait_until(lambda: os.path.exists(ready), "the last program")
        facts.wait_for_polls(self.session())
        self.kill(run)
        with open(release, "w", encoding="ascii"):
            pass
        harness.wait_until(lambda: not harness.process_is_alive(pid), "the shell to end")
        _, trace = self.recover(run)
        self.assert_exact(trace, 700 + 800 + 400 + 5)
        self.assertGreaterEqual(trace.zones, 5)

    def test_zones_around_the_death(self):
        """A zone that began in a chunk that is gone: its end is in a later one, and nesting stays right."""
        run = self.start_run(
            ["open=outer", "zones=5000", "say=ready", "read", "zones=100", "close", "zones=1", "open=last"]
        )
        run.expect("ready")
        pid = run.child_pid()
        facts.wait_for_polls(self.session())
        self.kill(run)
        self.let_end(run, pid)
        _, trace = self.recover(run)
        self.assert_exact(trace, 5102)
        self.assertEqual(trace.open_names(), ["last"])
        counts = trace.counts()
        self.assertEqual(counts.get("outer", 0) + counts.get("(begun before the collector died)", 0), 1, counts)

    def test_killed_at_any_moment(self):
        """While two threads and a hundred forks record as fast as they can, after a while that is different each time."""
        noise = random.Random(7)
        for _ in range(4 * harness.REPEAT):
            run = self.start_run(
                ["say=ready", "threads=2,300000", "others=20000", "short-threads=100,200", "fork=30,200", "zones=100000",
                 "others=20000", "read"],
                options=["--buffer-size", "8M"],
            )
            run.expect("ready")
            pid = run.child_pid()
            time.sleep(noise.random() * 0.15)  # any moment will do: the sum must hold at each
            self.kill(run)
            self.let_end(run, pid)
            _, trace = self.recover(run)
            self.assert_exact(trace, 600000 + 20000 + 6000 + 100000, records=3 * 40000)
            os.unlink(run.output)

    def kill_program(self, pid):
        """And what it has forked."""
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            pids = [pid, *map(int, file.read().split())]
        for one in pids:
            os.kill(one, signal.SIGKILL)
        harness.wait_until(lambda: not any(map(harness.process_is_alive, pids)), "the program to be gone")

    def test_threads_that_wait_for_a_chunk(self):
        """They have none when the collector is stopped and killed, and the program soon after."""
        noise = random.Random(5)
        file = self.path("counts")
        for _ in range(10 * harness.REPEAT):
            threads, processes = noise.choice([1, 2, 3]), noise.choice([1, 2])
            run = self.start_run([file, str(threads), str(processes)], command=[harness.program("owed")],
                                 options=["--on-full=wait", "--buffer-size", "1M"])

            def counts():
                with open(file, "rb") as data:
                    words = struct.unpack(f"<{8 * threads * processes}Q", data.read())
                return sum(words[0::8]), sum(words[1::8])

            harness.wait_until(lambda: os.path.exists(file) and os.path.getsize(file) and counts()[1] > 200000, "many zones")
            pid = run.child_pid()
            time.sleep(noise.random() * 0.05)  # any moment will do, here and below: the sum must hold at each
            run.stop()
            time.sleep(noise.random() * 0.1)
            self.kill(run)
            time.sleep(noise.random() * 0.05)
            self.kill_program(pid)
            begun, ended = counts()
            _, trace = self.recover(run)
            told = trace.zones + trace.lost_zones
            self.assertTrue(ended <= told <= begun, f"{ended} <= {told} <= {begun}: {trace.losses()}")
            os.unlink(run.output)
            os.unlink(file)

    def test_losses_of_the_program_and_of_the_collector(self):
        """The buffer overflowed before, while and after the collector lived."""
        run = self.start_run(
            ["zones=10", "say=ready", "read", "zones=200000", "others=1000", "say=full", "read", "zones=5000", "say=going",
             "read", "zones=200000", "others=1000"],
            options=["--buffer-size", "1M"],
        )
        run.expect("ready")
        pid = run.child_pid()
        run.stop()
        run.go_on()
        run.expect("full")
        run.resume()
        facts.wait_for_polls(self.session())
        run.go_on()
        run.expect("going")
        facts.wait_for_polls(self.session())
        self.kill(run)
        self.let_end(run, pid)
        _, trace = self.recover(run)
        self.assert_exact(trace, 405010)
        self.assertIn("buffer full", {loss["reason"] for loss in trace.losses()})

    def test_recover_while_the_program_runs(self):
        run = self.start_run(["zones=1000", "open=outer", "say=ready", "read", "zones=100000", "say=over", "exit=3"])
        run.expect("ready")
        pid = run.child_pid()
        self.kill(run)
        _, trace = self.recover(run)
        self.assert_exact(trace, 1000)
        self.assertEqual(trace.open_names(), ["outer"])
        run.go_on()
        run.expect("over")
        harness.wait_until(lambda: not harness.process_is_alive(pid), "the program to end")
        self.assertEqual(facts.session_folders(self.folder), [])

    def test_flight_recorder(self):
        run = self.start_run(
            ["noisy=600000", "say=ready", "read", "noisy=1000", "message=last"],
            options=["--max-size", "512K", "--on-full=wait"],
        )
        run.expect("ready")
        pid = run.child_pid()
        facts.wait_for_polls(self.session())
        self.kill(run)
        self.let_end(run, pid)
        _, trace = self.recover(run)
        self.assertTrue(trace.info["is_complete"])
        self.assertLessEqual(os.path.getsize(run.output), 512 << 10)
        self.assertIn("last", [row["text"] for row in trace.messages()])
        self.assertIn("collector died", {loss["reason"] for loss in trace.losses()})
        self.assertGreater(trace.zones, 1000)
        self.assertEqual(os.listdir(self.folder), ["t.opscope"])

    def test_a_hostile_segment_in_a_dead_session(self):
        program = harness.program("script")
        ready, release = self.path("ready"), self.path("release")
        script = f"{program} zones=3000 touch={ready} await={release} & {harness.program('hostile')} descriptors; wait"
        run = self.start_run([], command=["sh", "-c", script])
        pid = run.child_pid()
        harness.wait_until(lambda: os.path.exists(ready), "the program to record")
        self.kill(run)
        with open(release, "w", encoding="ascii"):
            pass
        harness.wait_until(lambda: not harness.process_is_alive(pid), "the shell to end")
        _, trace = self.recover(run)
        self.assertTrue(trace.info["is_complete"])


class Commands(Killed):
    """Listing, removing, and what recover refuses."""

    def leave_behind(self):
        run = self.start_run(["zones=100", "say=ready", "read"])
        run.expect("ready")
        pid = run.child_pid()
        self.kill(run)
        self.let_end(run, pid)
        return run

    def leave_behind_in_file(self, options=()):
        """400 zones in the unfinished file, 100 more in the memory of the session."""
        run = self.start_run(["zones=400", "say=ready", "read", "zones=100", "say=more", "read"], options)
        run.expect("ready")
        self.wait_for_zones_in_file(run, 400, ".partial.000" if options else ".partial")
        pid = run.child_pid()
        self.kill(run)
        run.go_on()
        run.expect("more")
        self.let_end(run, pid)
        return run

    def alone(self, *words):
        """opscope where it sees no sessions of others on this machine."""
        problem = harness.tmpfs_problem() or harness.own_mounts_problem()
        if problem:
            self.skipTest(problem)
        script = 'mount -t tmpfs tmpfs /dev/shm && exec "$@"'
        command = ["unshare", "-m", "sh", "-c", script, "sh", harness.OPSCOPE, *words]
        return self.run_command(command, env={"OPSCOPE_DIR": self.folder, "TMPDIR": self.folder})

    def list_sessions(self):
        rows = self.opscope_json("recover", "--list", env={"OPSCOPE_DIR": self.folder})["rows"]
        return {row["session"]: row for row in rows if row["session"].startswith(self.folder)}

    def test_list(self):
        self.assertEqual(self.list_sessions(), {})
        run = self.leave_behind()
        left = self.session()
        alive = self.start_run(["say=ready", "read"], output="alive.opscope")
        alive.expect("ready")
        rows = self.list_sessions()
        self.assertEqual(len(rows), 2)
        self.assertEqual((rows[left]["state"], rows[left]["trace"], rows[left]["pid"]), ("left behind", run.output, run.pid))
        self.assertIn("zones=100", rows[left]["command"])
        del rows[left]
        ((_, other),) = rows.items()
        self.assertEqual((other["state"], other["pid"]), ("running", alive.pid))
        self.assert_status(alive.finish())
        done = self.opscope("recover", "--list", "--csv", env={"OPSCOPE_DIR": self.folder})
        self.assertIn(left, done.stdout)

    def test_the_next_run_names_it(self):
        self.leave_behind()
        done = self.alone("run", "-o", self.path("next.opscope"), "--", "true")
        self.assert_status(done)
        self.assertIn(f"opscope recover {self.session()}", done.stderr)
        self.assertIn("opscope recover --clean", done.stderr)

    def test_clean_removes_what_is_dead_and_nothing_else(self):
        self.leave_behind()
        dead = self.session()
        alive = self.start_run(["say=ready", "read", "zones=10"], output="alive.opscope")
        alive.expect("ready")
        done = self.alone("recover", "--clean")
        self.assert_status(done)
        self.assertIn(dead, done.stdout)
        self.assertFalse(os.path.exists(dead))
        self.assertEqual(len(facts.session_folders(self.folder)), 1)
        alive.go_on()
        self.assert_status(alive.finish())
        self.assertEqual(alive.trace().zones, 10)

    def test_a_run_that_is_alive_is_left_alone(self):
        run = self.start_run(["zones=10", "say=ready", "read", "zones=10"])
        run.expect("ready")
        done = self.opscope("recover", self.session())
        self.assert_status(done, 2)
        self.assertIn(str(run.pid), done.stderr)
        run.go_on()
        self.assert_status(run.finish())
        self.assertEqual(run.trace().zones, 20)

    def test_a_child_of_the_collector_still_has_its_lock(self):
        """As it has until it runs its own program."""
        run = self.leave_behind()
        session = self.session()
        path = os.path.join(session, "control")
        with open(path, "rb") as control:
            harness.wait_until(lambda: lock(control), "the lock")
            recover = self.start([harness.OPSCOPE, "recover", session], env={"OPSCOPE_DIR": self.folder})
            harness.wait_until(lambda: recover.poll() is not None or has_open(recover.pid, path), "it to look at the session")
        self.assertEqual(recover.wait(harness.TIMEOUT_S), 0, recover.stderr.read())
        self.assertEqual(run.trace().zones, 100)

    def test_what_is_no_session(self):
        for path in (self.path("nowhere"), self.folder, "/dev/null"):
            done = self.opscope("recover", path)
            self.assertEqual((done.status, done.stdout), (2, ""), done)
            self.assertIn(path, done.stderr)
        self.assert_status(self.opscope("recover"), 2)

    def test_recover_twice(self):
        run = self.leave_behind()
        session = self.session()
        self.recover(run)
        done = self.opscope("recover", session)
        self.assert_status(done, 2)
        self.assertIn(session, done.stderr)

    def test_elsewhere_and_kept(self):
        run = self.leave_behind()
        other = self.path("other.opscope")
        self.recover(run, "-o", other, "--keep-session")
        self.assertFalse(os.path.exists(run.output))
        self.assert_exact(facts.Trace(other), 100)
        self.assertEqual(len(facts.session_folders(self.folder)), 1)

    def test_a_finished_trace_is_not_overwritten(self):
        """The file of the dead run is gone, and another run has written one of that name."""
        run = self.leave_behind()
        os.unlink(run.output + ".partial")
        done, _ = facts.record_script(self, "zones=7")
        self.assert_status(done)
        done, trace = self.recover(run)
        self.assertEqual(trace.zones, 7)
        self.assertIn(run.output + ".recovered", done.stdout)
        self.assert_exact(facts.Trace(run.output + ".recovered"), 100)

    def test_the_next_run_of_that_name_keeps_what_was_written(self):
        """Where the session is gone, the unfinished file is finished beside the new trace."""
        for options, kept in (((), "t.killed.opscope"), (("--max-size", "1M"), "t.killed.2.opscope")):
            with self.subTest(kept):
                run = self.leave_behind_in_file(options)
                self.assert_status(self.opscope("recover", "--clean", env={"OPSCOPE_DIR": self.folder}))
                done, trace = facts.record_script(self, "zones=7", env={"OPSCOPE_DIR": self.folder})
                self.assert_status(done)
                self.assertEqual(trace.zones, 7)
                self.assertIn(f"what it had written is kept as {self.path(kept)}\n", done.stderr)
                self.assertEqual(facts.Trace(self.path(kept)).zones, 400)
                self.assertEqual([name for name in os.listdir(self.folder) if "partial" in name], [])
                os.unlink(run.output)

    def test_the_next_run_of_that_name_leaves_the_session_recoverable(self):
        self.leave_behind_in_file()
        session, kept = self.session(), self.path("t.killed.opscope")
        done, trace = facts.record_script(self, "zones=7", env={"OPSCOPE_DIR": self.folder})
        self.assert_status(done)
        self.assertIn(f"`opscope recover {session} -o {kept}` finishes it", done.stderr)
        self.assertNotIn("an earlier run left a session behind", done.stderr)
        done = self.opscope("recover", session, "-o", kept, env={"OPSCOPE_DIR": self.folder})
        self.assert_status(done)
        self.assert_exact(facts.Trace(kept), 500)
        self.assertEqual(trace.zones, 7)
        self.assertEqual([name for name in os.listdir(self.folder) if "partial" in name], [])

    def test_a_foreign_file_in_the_way_is_kept(self):
        with open(self.path("t.opscope.partial"), "w", encoding="ascii") as file:
            file.write("not a trace")
        done, trace = facts.record_script(self, "zones=7", env={"OPSCOPE_DIR": self.folder})
        self.assert_status(done)
        self.assertEqual(trace.zones, 7)
        self.assertIn("is kept as " + self.path("t.killed.opscope.partial"), done.stderr)
        with open(self.path("t.killed.opscope.partial"), encoding="ascii") as file:
            self.assertEqual(file.read(), "not a trace")

    def test_a_living_run_is_left_alone(self):
        run = self.start_run(["zones=400", "say=ready", "read", "zones=1"])
        run.expect("ready")
        self.wait_for_zones_in_file(run, 400)
        done, _ = facts.record_script(self, "zones=7", env={"OPSCOPE_DIR": self.folder})
        self.assert_status(done, 125)
        self.assertIn("t.opscope.partial: another opscope is writing it", done.stderr)
        run.go_on()
        self.assert_status(run.finish())
        self.assertEqual(run.trace().zones, 401)

    def test_a_damaged_control_file(self):
        self.leave_behind()
        session = self.session()
        with open(os.path.join(session, "control"), "r+b") as file:
            file.write(b"nonsense")
        done = self.opscope("recover", session)
        self.assert_status(done, 2)
        self.assertIn(session, done.stderr)
        self.assertEqual(self.list_sessions()[session]["state"], "unreadable")

    def test_a_growing_trace_can_be_read(self):
        run = self.start_run(["zones=400", "say=ready", "read", "zones=1"])
        run.expect("ready")
        self.wait_for_zones_in_file(run, 400)
        shown = self.opscope_json("zones", run.output + ".partial")
        self.assertEqual((shown["zones"], shown["is_complete"]), (400, False))
        self.assertTrue(any("unfinished" in note for note in shown["notes"]), json.dumps(shown["notes"]))
        run.go_on()
        self.assert_status(run.finish())
        self.assertEqual(run.trace().zones, 401)


if __name__ == "__main__":
    unittest.main()
