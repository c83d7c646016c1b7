# SPDX-License-Identifier: Apache-2.0
"""Where things run out: buffers, disks, tmpfs, memory cgroups, file sizes; many threads and many names. What does
not fit is counted exactly, and neither the program nor the machine is harmed."""

import os
import resource
import subprocess
import sys
import unittest

import facts
import harness


class FullBuffer(harness.TestCase):
    """Zones that found no room are counted, placed and shown; the program's status is its own."""

    def overflow(self):
        run = facts.Run(
            self,
            ["message=before", "open=outer", "zones=10", "say=ready", "read", "zones=100000", "close", "say=full",
             "read", "zones=200", "message=after", "exit=7"],
            options=["--buffer-size", "1M"], env={"OPSCOPE_DIR": self.folder},
        )
        run.expect("ready")
        run.stop()
        run.go_on()
        run.expect("full")
        run.resume()
        # The collector makes room again: what comes after the loss is recorded.
        facts.wait_for_polls(facts.session_folders(self.folder)[0])
        run.go_on()
        done = run.finish()
        self.assert_status(done, 7)
        return done, run.trace()

    def test_loss_is_exact_located_and_shown(self):
        done, trace = self.overflow()
        made = 10 + 100000 + 1 + 200
        self.assertEqual(trace.zones + trace.lost_zones, made)
        self.assertGreater(trace.lost_zones, 50000)
        self.assertIn("lost", done.stderr)
        self.assertIn(f"{trace.lost_zones:,} zones", done.stderr)
        losses = trace.losses()
        self.assertEqual({loss["reason"] for loss in losses}, {"buffer full"})
        length = trace.info["length_ns"]
        for loss in losses:
            self.assertEqual((loss["pid"], loss["thread"]), (trace.processes[0]["pid"], "script"))
            self.assertLessEqual(0, loss["from_ns"])
            self.assertLessEqual(loss["from_ns"], loss["to_ns"])
            self.assertLessEqual(loss["to_ns"], length)
        self.assertEqual(sum(track["lost_zones"] for track in trace.tracks), trace.lost_zones)
        for command in ("info", "zones", "tree", "messages", "ops"):
            shown = self.opscope(command, trace.path)
            self.assert_status(shown)
            self.assertIn("lost", shown.stdout, command)
            if command != "info":
                self.assertIn(f"{trace.lost_zones:,} zones", shown.stdout, command)
        for name in ("chrome", "perfetto", "csv", "speedscope", "collapsed"):
            exported = self.opscope("export", trace.path, "--format", name, "-o", self.path("out." + name))
            self.assert_status(exported)
            self.assertIn("lost", exported.stderr, name)

    def test_whole_zones_are_lost(self):
        """The zone around the loss has its end, and nothing is paired with what it does not belong to."""
        _, trace = self.overflow()
        self.assertEqual(trace.count("outer"), 1)
        self.assertEqual(trace.open_names(), [])
        rows = {row["name"]: row for row in trace.rows}
        self.assertGreaterEqual(rows["outer"]["total_ns"], rows["work"]["max_ns"])

    def test_threads_that_never_got_a_chunk(self):
        run = facts.Run(
            self, ["zones=10", "say=ready", "read", "threads=400,100", "say=over", "read"],
            options=["--buffer-size", "1M"],
        )
        run.expect("ready")
        run.stop()
        run.go_on()
        run.expect("over")
        run.resume()
        self.assert_status(run.finish())
        trace = run.trace()
        self.assertEqual(trace.zones + trace.lost_zones, 40010)
        self.assertGreater(trace.lost_zones, 20000)

    def test_deep_stacks_in_a_small_buffer(self):
        for depth in (400, 3000, 60000):
            done, trace = facts.record_script(self, f"nest={depth}", "zones=100", options=["--buffer-size", "1M"])
            self.assert_status(done)
            # Ends that found no room are reported with the next chunk, so that some may seem open at the very end.
            self.assertEqual(trace.zones + trace.lost_zones + len(trace.open_names()), depth + 100, depth)
            done, trace = facts.record_script(
                self, f"nest={depth}", "zones=100", options=["--buffer-size", "1M", "--on-full=wait"]
            )
            self.assert_status(done)
            self.assertEqual((trace.zones, trace.lost_zones, trace.open_names()), (depth + 100, 0, []))


class FullDisk(harness.TestCase):
    """The file ends whole and readable; zones that did not fit are counted; the program goes on."""

    def check(self, done, trace, made):
        self.assert_status(done, 5)
        self.assertTrue(trace.info["is_complete"])
        self.assertGreater(trace.zones, 0)
        self.assertGreater(trace.lost_zones, 0)
        self.assertEqual(trace.zones + trace.lost_zones, made)
        self.assertIn("disk full", {loss["reason"] for loss in trace.losses()})
        self.assertRegex(done.stderr, r"No space left|File too large")
        self.assertIn("lost", done.stderr)
        self.assertIn(f" {trace.zones:,} zone", done.stderr)  # what the summary says was written is in the file

    @harness.needs_tmpfs
    def test_a_full_disk(self):
        for size in ("2m", "4m"):
            folder = self.mount_tmpfs(size, "disk-" + size)
            done, trace = facts.record_script(
                self, "noisy=2500000", "exit=5", options=["--on-full=wait"], output=f"disk-{size}/t.opscope"
            )
            self.check(done, trace, 2500000)
            self.assertEqual(os.listdir(folder), ["t.opscope"])

    @harness.needs_tmpfs
    def test_a_disk_that_is_full_from_the_start(self):
        folder = self.mount_tmpfs("64k")
        with open(os.path.join(folder, "filler"), "wb") as file:
            try:
                file.write(b"x" * 65536)
            except OSError:
                pass
        done, trace = facts.record_script(self, "zones=1000", "exit=5", output="tmpfs/t.opscope")
        # Either there is no trace, which opscope says before it starts anything, or there is one that is whole.
        self.assertIn(done.status, (5, 125), done)
        self.assertIn("No space left", done.stderr)
        if os.path.exists(trace.path):
            self.assertEqual(trace.zones + trace.lost_zones, 1000)

    def test_a_file_size_limit(self):
        limit = 2 << 20
        path = self.path("t.opscope")
        steps = ["lift-file-size-limit", "noisy=2500000", "exit=5"]
        process = self.start(
            [harness.OPSCOPE, "run", "--on-full=wait", "-o", path, "--", harness.program("script"), *steps],
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY)),
        )
        stdout, stderr = process.communicate(timeout=harness.TIMEOUT_S)
        done = harness.Done(["run"], process.returncode, stdout, stderr, 0)
        self.check(done, facts.Trace(path), 2500000)
        self.assertLessEqual(os.path.getsize(path), limit)

    def test_a_caller_whose_file_size_limit_no_trace_fits_into(self):
        """The command runs all the same, and words say what is not recorded: not even the trace's header (1 KiB); the program's
        memory (8 KiB)."""
        for limit, words in (1, "File too large; running the program without recording"), (8, "ulimit -f, is too low"):
            trace = self.path(f"{limit}.opscope")
            run = f"ulimit -f {limit * 1024 // 512}; exec {harness.OPSCOPE} run -o {trace} {harness.program('script')} zones=9 say=hello exit=6"
            done = self.run_command(["sh", "-c", run])
            self.assert_status(done, 6)
            self.assertEqual(done.stdout, "hello\n")
            self.assertIn(words, done.stderr)
            self.assertEqual((os.path.exists(trace), os.path.exists(trace + ".partial")), (limit == 8, False))

    def test_a_program_with_a_file_size_limit(self):
        """Our shared memory is a file, too: the program must not get SIGXFSZ because of it."""
        script = f"ulimit -f 100; exec {harness.program('script')} zones=1000 exit=6"
        done = self.opscope("run", "-o", self.path("t.opscope"), "--", "sh", "-c", script)
        self.assert_status(done, 6)
        trace = facts.Trace(self.path("t.opscope"))
        if trace.zones != 1000:
            self.assertIn("could not be recorded", done.stderr)
            self.assertIn("process not recorded", [loss["reason"] for loss in trace.losses()])


@harness.needs_tmpfs
class FullTmpfs(harness.TestCase):
    """A session on a small tmpfs, as a container's /dev/shm: no SIGBUS, and losses are counted."""

    def run_with_stopped_collector(self, size, processes, zones):
        """Programs that record more than the tmpfs holds while nobody makes room."""
        folder = self.mount_tmpfs(size, f"shm-{size}-{processes}")
        gate = os.path.join(self.folder, f"gate-{size}-{processes}")
        program = harness.program("script")
        one = f"{program} zones=10 touch={gate}.$i await={gate}.go zones={zones} touch={gate}.done.$i await={gate}.end"
        script = (
            f"for i in {' '.join(map(str, range(processes)))}; do {one} & pids=\"$pids $!\"; done; "
            "for pid in $pids; do wait $pid || exit; done"
        )
        run = facts.Run(
            self, [], command=["sh", "-c", script], options=["--buffer-size", "512M"],
            env={"OPSCOPE_DIR": folder}, output=f"{size}-{processes}.opscope",
        )

        def all_there(prefix):
            return all(os.path.exists(f"{gate}{prefix}.{i}") for i in range(processes))

        harness.wait_until(lambda: all_there(""), "the programs to start")
        run.stop()
        with open(gate + ".go", "w", encoding="ascii"):
            pass
        harness.wait_until(lambda: all_there(".done"), "the programs to record")
        run.resume()
        with open(gate + ".end", "w", encoding="ascii"):
            pass
        done = run.finish()
        self.assert_status(done)
        trace = run.trace()
        self.assertEqual(len([row for row in trace.processes if "script" in row["command"]][1:]), processes)
        self.assertEqual(trace.zones + trace.lost_zones, processes * (10 + zones), done)
        return trace

    def test_64_mib(self):
        trace = self.run_with_stopped_collector("64m", 4, 1000000)
        self.assertGreater(trace.lost_zones, 0)
        self.assertEqual({loss["reason"] for loss in trace.losses()}, {"no memory for the session"})
        self.assertGreater(trace.zones, 1000000)

    def test_4_mib(self):
        trace = self.run_with_stopped_collector("4m", 2, 500000)
        self.assertGreater(trace.lost_zones, 0)

    def test_no_room_for_a_segment(self):
        folder = self.mount_tmpfs("16k")
        done, trace = facts.record_script(self, "zones=1000", "fork=3,100", "exit=5", env={"OPSCOPE_DIR": folder})
        self.assert_status(done, 5)
        self.assertEqual(trace.zones, 0)
        self.assertIn("could not be recorded", done.stderr)
        self.assertIn("No space left", done.stderr)

    def test_no_room_for_the_session(self):
        folder = self.mount_tmpfs("4k")
        with open(os.path.join(folder, "filler"), "wb") as file:
            file.write(b"x" * 4096)
        done, _ = facts.record_script(self, "zones=1000", "exit=5", env={"OPSCOPE_DIR": folder})
        self.assert_status(done, 5)
        self.assertIn("without recording", done.stderr)
        self.assertEqual(os.listdir(folder), ["filler"])

    def test_any_size(self):
        """Whatever step of growth it is that finds no room."""
        for kib in (64, 128, 160, 192, 224, 256, 320, 400, 512, 700):
            folder = self.mount_tmpfs(f"{kib}k", f"shm-{kib}")
            made = 2000 + 100 * 50 + 20 * 500
            done, trace = facts.record_script(
                self, "zones=2000", "fork=100,50", "threads=20,500", "others=300", "exit=5",
                env={"OPSCOPE_DIR": folder}, output=f"{kib}.opscope",
            )
            self.assert_status(done, 5)
            if "could not be recorded" in done.stderr:
                self.assertEqual(trace.zones, 0)
            else:
                self.assertEqual(trace.zones + trace.lost_zones, made, (kib, trace.losses()))
                others = trace.info["points"] + trace.info["counters"]
                self.assertEqual(others + trace.lost_records, 900, kib)

    def test_names_without_room(self):
        """Zones are recorded all the same; a name that found no room is called so."""
        folder = self.mount_tmpfs("3m")
        done = self.opscope(
            "run", "--on-full=wait", "-o", self.path("t.opscope"), "--", harness.program("names"), "100000",
            env={"OPSCOPE_DIR": folder},
        )
        self.assert_status(done)
        trace = facts.Trace(self.path("t.opscope"))
        self.assertEqual(trace.zones + trace.lost_zones, 200000)
        self.assertGreater(trace.count("(no room for this name)"), 0)


@harness.needs_memory_cgroup
class MemoryCgroup(harness.TestCase):
    """Shared memory is charged to the cgroup; a full cgroup brings the OOM killer, so we stay below."""

    def test_a_program_in_a_small_cgroup(self):
        cgroup = harness.Cgroup(self, 32 << 20)
        run = facts.Run(
            self, ["zones=10", "say=ready", "read", "zones=3000000", "threads=4,100000", "say=over", "read", "exit=5"],
            options=["--buffer-size", "512M"], wrap=cgroup.wrap,
        )
        run.expect("ready")
        run.stop()  # 108 MB of records for a cgroup of 32 MiB, and nobody makes room
        run.go_on()
        run.expect("over")
        run.resume()
        done = run.finish()
        self.assert_status(done, 5)
        self.assertEqual(cgroup.oom_kills(), 0)
        trace = run.trace()
        self.assertEqual(trace.zones + trace.lost_zones, 3400010)
        self.assertGreater(trace.lost_zones, 0)
        self.assertEqual({loss["reason"] for loss in trace.losses()}, {"no memory for the session"})

    def test_everything_in_a_small_cgroup(self):
        cgroup = harness.Cgroup(self, 96 << 20)
        command = [harness.OPSCOPE, "run", "--on-full=wait", "-o", self.path("t.opscope"), "--"]
        command += [harness.program("script"), "noisy=1500000", "threads=8,50000", "exit=5"]
        done = self.run_command(cgroup.wrap(command))
        self.assert_status(done, 5)
        self.assertEqual(cgroup.oom_kills(), 0)
        trace = facts.Trace(self.path("t.opscope"))
        self.assertEqual(trace.zones + trace.lost_zones, 1900000)


class LongPath(harness.TestCase):
    def session_in(self, length):
        """Records in a session folder whose path has that many bytes."""
        folder, name = self.path("long"), len("/opscope-%d-XXXXXX" % os.getuid())
        while (left := length - name - len(folder)) > 0:
            folder += "/" + "x" * ((left if left <= 202 else 101) - 1)
        os.makedirs(folder)
        self.assertEqual(len(folder) + name, length)
        command = ["run", "-o", f"{length}.opscope", "--", harness.program("script"), "zones=1000", "exit=5"]
        done = self.opscope(*command, env={"OPSCOPE_DIR": folder})
        self.assert_status(done, 5)
        return done

    def test_the_longest_and_one_more(self):
        self.session_in(1023)
        self.assertEqual(facts.Trace(self.path("1023.opscope")).zones, 1000)
        self.assertIn("running the program without recording", self.session_in(1024).stderr)
        self.assertFalse(os.path.exists(self.path("1024.opscope")))


class Crowds(harness.TestCase):
    """Many threads, many names, long texts, and how much memory they cost the program."""

    def test_1000_live_threads_and_10000_short_ones(self):
        done = self.opscope(
            "run", "--on-full=wait", "-o", self.path("t.opscope"), "--", harness.program("crowd"), 1000, 10000, 20
        )
        self.assert_status(done)
        trace = facts.Trace(self.path("t.opscope"))
        self.assertEqual((trace.zones, trace.lost_zones), (11000 * 21, 0))
        self.assertEqual(trace.open_names(), [])
        self.assertEqual(len(trace.tracks), 11000)
        live, more, own = map(int, done.stdout.split())
        self.assertLess(live + more, 32768 + 1024, "KiB of shared memory: the default of --buffer-size")
        self.assertLess(own, 4096, "KiB of own memory for 10,000 short threads")

    def test_memory_of_an_import_does_not_follow_the_rows(self):
        head = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,ATTRIBUTES,HOST START TS,DEVICE KERNEL DURATION [ns]"
        table, trace = self.path("ops.csv"), self.path("t.opscope")
        with open(table, "w", encoding="utf-8") as file:
            file.write(head + "\n")
            for i in range(100000):
                file.write(f"op {i % 50},tt_dnn_device,{i + 1},0,{'{'}'a': '{i % 50:0600}'{'}'},{1000 + i},{i % 977}\n")
        script = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=sys.stderr); "
                  "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        command = [harness.OPSCOPE, "import", "tenstorrent", table, "-o", trace]
        done = subprocess.run([sys.executable, "-c", script, *command], capture_output=True, text=True, check=True)
        self.assertLess(int(done.stdout), 48 * 1024, "KiB for 67 MB of cells")
        self.assertEqual(self.opscope_json("info", trace)["ops"], 100000)

    def test_100000_names(self):
        done = self.opscope(
            "run", "--on-full=wait", "-o", self.path("t.opscope"), "--", harness.program("names"), "100000"
        )
        self.assert_status(done)
        trace = facts.Trace(self.path("t.opscope"))
        self.assertEqual((trace.zones, trace.lost_zones), (200000, 0))
        counts = trace.counts()
        self.assertEqual(len(counts), 100000)
        self.assertEqual(set(counts.values()), {2})
        self.assertIn("name number 99999 of many", counts)

    def test_texts_up_to_1_mib(self):
        done = self.opscope(
            "run", "--on-full=wait", "-o", self.path("t.opscope"), "--", harness.program("texts")
        )
        self.assert_status(done)
        trace = facts.Trace(self.path("t.opscope"))

        def text(length, seed):
            block = "".join(chr(97 + (i + seed) % 26) for i in range(26))
            return (block * (length // 26 + 1))[:length]

        most = 1 << 20
        expected = [text(length, i) for i, length in enumerate((0, 1, 15, 16, 17, 4079, 4080, 4081, 65536, 1000003))]
        expected += [text(most, 3), text(most - 6, 4), text(most, 5)]
        found = [row["text"] or "" for row in trace.messages()]
        self.assertEqual([len(one) for one in found], [len(one) for one in expected])
        self.assertTrue(found == expected, "texts differ")
        self.assertEqual(trace.lost_records, 1)  # what was cut off the last one

    def test_memory_of_a_long_run_is_bounded(self):
        """20 million zones pass through; the program's shared memory stays at the size of the buffer."""
        run = facts.Run(
            self, ["zones=10", "memory", "zones=20000000", "memory"], options=["--on-full=wait", "--buffer-size", "8M"]
        )
        first = run.read_line().split()
        last = run.read_line().split()
        self.assert_status(run.finish())
        self.assertLess(int(last[1]) - int(first[1]), 8192 + 512)
        self.assertLess(int(last[2]) - int(first[2]), 512)
        self.assertEqual((run.trace().zones, run.trace().lost_zones), (20000010, 0))


if __name__ == "__main__":
    unittest.main()
