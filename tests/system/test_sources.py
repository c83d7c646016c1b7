# SPDX-License-Identifier: Apache-2.0
"""Source lines in traces: what a recording takes along, what it never takes, and that nobody who looks opens a file that a
trace names."""

import json
import os
import signal
import time
import unittest

import harness
import test_mcp
from serving import ServerCase

SECRET = "MYSECRETKEY=12345"
HELD = "not recorded"


class SourceCase(ServerCase):
    def write_lines(self, name, count=40, word="line"):
        return self.write(name, "".join(f"{word} {i}\n" for i in range(1, count + 1)))

    def record_places(self, *places, options=(), **more):
        return self.record([harness.program("script"), *[f"place={place}" for place in places]], *options, **more)

    def source(self, file, line, lines=24):
        return self.get(f"/api/t/0/source?file={file}&line={line}&lines={lines}")

    def lines_of(self, trace, file, line, *options):
        self.serve(trace, *options)
        answer = self.source(file, line)
        self.stop()
        return answer["source"]["lines"] if answer["source"] else answer["state"]


class Taken(SourceCase):
    def test_lines_around_places(self):
        path = self.write_lines("a.c", 100)
        trace = self.record_places(f"{path}:30", f"{path}:90", f"{path}:4000")
        os.remove(path)
        self.serve(trace)
        answer = self.source(path, 30)
        self.assertEqual((answer["state"], answer["line_count"], answer["source"]["first_line"]), ("read", 100, 22))
        self.assertEqual(answer["source"]["lines"], [f"line {i}" for i in range(22, 46)])
        self.assertEqual(self.source(path, 90)["source"]["lines"], [f"line {i}" for i in range(82, 101)])
        between = self.source(path, 60)
        self.assertEqual((between["state"], between["source"]), (HELD, None))
        zone = self.get("/api/t/0/zone?track=0&depth=0&at=0")
        self.assertEqual(zone["source"]["lines"][8], "line 30")

    def test_a_function_of_python_to_its_end(self):
        path = self.write("a.py", "@wrapped\ndef f(\n    a,\n):\n" + "".join(f"    a += {i}\n\n" for i in range(20)) + "done = 1\n" * 30)
        self.serve(self.record_places(f"{path}:1"))
        found = self.source(path, 1, 100)["source"]["lines"]
        self.assertEqual((found[1], found[-1], len(found)), ("def f(", "    a += 19", 43))

    def test_a_relative_path_is_in_the_folder_of_the_program(self):
        self.write_lines("a.c")
        os.mkdir(self.path("other"))
        for folder, expected in (self.folder, "line 3"), (self.path("other"), HELD):
            trace = self.record_places("a.c:3", cwd=folder)
            self.assertIn(expected, self.lines_of(trace, "a.c", 3))

    def test_nothing_where_nobody_wants_it(self):
        path = self.write_lines("a.c")
        for options, more in ((("--no-source",), {}), ((), {"env": {"OPSCOPE_NO_SOURCE": "1"}})):
            trace = self.record_places(f"{path}:3", options=options, **more)
            self.assertEqual(self.lines_of(trace, path, 3), HELD)
            with open(trace, "rb") as file:
                self.assertNotIn(b"line 3", file.read())
        self.assertIn("line 3", self.lines_of(trace, path, 3, "--source", self.folder))

    def test_a_file_newer_than_the_recording(self):
        path = self.write_lines("a.c")
        later = time.time() + 100
        os.utime(path, (later, later))
        self.assertEqual(self.lines_of(self.record_places(f"{path}:3"), path, 3), "changed while it was recorded")

    def test_a_thousand_places_are_200_kilobytes(self):
        names = [self.write("%d.cpp" % k, "".join(f"    result[{i * k % 97}] += transform_{i % 89}(weights[{i}], "
                                                  f"bias_{i * 7 % 101}, {i * k} * scale);\n" for i in range(1, 1001))) for k in range(1, 21)]
        places = [f"{name}:{line}" for name in names for line in range(10, 1000, 20)]
        self.assertEqual(len(places), 1000)
        sizes = [os.path.getsize(self.record_places(*places, options=options)) for options in ((), ("--no-source",))]
        self.assertLessEqual(sizes[0] - sizes[1], 200000)
        self.assertGreater(sizes[0] - sizes[1], 20000)
        trace = self.record_places(*places)
        self.assertEqual(len(self.lines_of(trace, names[19], 990)), 12, "the last place has its lines, too")

    def test_a_flight_recorder_keeps_them(self):
        path = self.write_lines("a.c")
        trace = self.record([harness.program("script"), "noisy=500000", f"place={path}:3"], "--max-size", "512K")
        self.assertIn("line 3", self.lines_of(trace, path, 3))

    def test_recover_takes_them(self):
        path, trace = self.write_lines("a.c"), self.path("k.opscope")
        run = self.start([harness.OPSCOPE, "run", "-o", trace, "--", harness.program("script"), f"place={path}:3", "say=ready", "read"],
                         stdin=-1)
        self.assertEqual(run.stdout.readline().strip(), b"ready")
        harness.wait_until(lambda: self.opscope("info", trace + ".partial", "--json").json().get("zones"), "the zone to be in the file")
        self.serve(trace + ".partial")
        self.assertEqual(self.source(path, 3)["advice"], "source lines come into a trace when its recording ends")
        self.stop()
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
        run.stdin.close()
        done = self.opscope("recover", "--list")
        sessions = [word for word in done.stdout.split() if word.startswith("/")]
        self.assertTrue(sessions, done)
        self.assert_status(self.opscope("recover", sessions[0]))
        self.assertIn("line 3", self.lines_of(trace, path, 3))


class Refused(SourceCase):
    """What a hostile program names: nothing of it is in the trace, nothing of it is opened, and nothing waits for a pipe."""

    def setUp(self):
        super().setUp()
        for name in ("secret.txt", ".env", "id_rsa", "nul.c"):
            self.write(name, SECRET + ("\0" if name == "nul.c" else "") + "\n")
        os.symlink("secret.txt", self.path("link.c"))
        os.symlink("/dev/zero", self.path("zero.c"))
        os.symlink("/etc/passwd", self.path("passwd.py"))
        os.symlink("/proc/self/environ", self.path("environ.c"))
        os.mkfifo(self.path("fifo"))
        os.mkfifo(self.path("fifo.c"))
        os.mkdir(self.path("folder.c"))
        self.named = [self.path(name) for name in ("secret.txt", ".env", "id_rsa", "nul.c", "link.c", "zero.c", "passwd.py", "environ.c",
                                                   "fifo", "fifo.c", "folder.c")]
        self.named += ["/etc/passwd", "/etc/shadow", "/proc/self/environ", "/dev/zero", "/dev/ptmx", "/proc/kmsg"]

    def check(self, trace, *options):
        """The server, the page as a file, and MCP."""
        self.serve(trace, *options)
        for file in self.named:
            answer = self.source(file, 1)
            self.assertEqual((answer["state"], answer["source"]), (HELD, None), file)
            self.assertIn("--source DIR", answer["advice"])
        self.stop()
        html = self.path("page.html")
        self.assert_status(self.opscope("view", trace, *options, "--html", html))
        with open(html, encoding="utf-8") as file:
            page = file.read()
        asked = [test_mcp.message("tools/call", {"name": "source", "arguments": {"file": file, "line": 1}}, i) for i, file in enumerate(self.named)]
        lines = "".join(json.dumps(one) + "\n" for one in (test_mcp.handshake(), *asked))
        answers = self.opscope("mcp", *options, trace, stdin=lines.encode()).stdout
        self.assertEqual(answers.count(HELD), len(self.named))
        for text in page, answers:
            self.assertFalse(SECRET in text or "root:x:" in text)

    def test_a_recording_of_them(self):
        trace = self.record_places(*[f"{file}:1" for file in self.named])
        with open(trace, "rb") as file:
            data = file.read()
        self.assertNotIn(SECRET.encode(), data)
        self.assertNotIn(b"root:x:", data)
        self.check(trace)

    def test_not_with_a_folder_either(self):
        trace = self.record_places(*[f"{file}:1" for file in self.named])
        self.check(trace, "--source", self.folder, "--source", "/", "--source", "/etc")

    def test_a_trace_that_names_what_is_here_opens_nothing(self):
        """Somebody else's trace: source files of the viewer are not opened, either, unless a folder of them is named."""
        path = self.write("mine.c", SECRET + "\n")
        trace = self.trace(("track", "main"), *[("zone", 0, at, at + 5, "z", f"{file}:1") for at, file in zip(range(0, 9999, 10), (path, *self.named))])
        self.named.append(path)
        self.check(trace)
        os.mkdir(self.path("elsewhere"))
        self.assertEqual(self.lines_of(trace, path, 1, "--source", self.path("elsewhere")), HELD)
        self.assertEqual(self.lines_of(trace, path, 1, "--source", self.folder), [SECRET])


class Folders(SourceCase):
    def test_the_longest_end_of_a_path_inside_the_folder(self):
        os.makedirs(self.path("tree/src/b"))
        self.write("tree/src/b/x.c", "whole\n")
        self.write("tree/x.c", "short\n")
        self.write("outside.c", "outside\n")
        os.symlink("../outside.c", self.path("tree/out.c"))
        trace = self.trace(("track", "main"), ("zone", 0, 0, 5, "z", "/build/src/b/x.c:1"), ("zone", 0, 10, 15, "z", "/build/x.c:1"),
                           ("zone", 0, 20, 25, "z", "/build/out.c:1"), ("zone", 0, 30, 35, "z", "/build/../outside.c:1"))
        self.serve(trace, "--source", self.path("none"), "--source", self.path("tree"))
        found = [self.source(file, 1) for file in ("/build/src/b/x.c", "/build/x.c", "/build/out.c", "/build/../outside.c")]
        self.assertEqual([one["source"]["lines"] if one["source"] else one["state"] for one in found], [["whole"], ["short"], HELD, HELD])

    def test_another_version_of_a_file_is_not_taken(self):
        """The trace knows some of its lines: a file that has others there is not the one that ran."""
        path = self.write_lines("a.c", 60)
        trace = self.record_places(f"{path}:30")
        self.assertEqual(len(self.lines_of(trace, path, 50, "--source", self.folder)), 19)
        self.write_lines("a.c", 60, "other")
        self.assertEqual(self.lines_of(trace, path, 50, "--source", self.folder), HELD)
        self.assertIn("line 30", self.lines_of(trace, path, 30, "--source", self.folder))


if __name__ == "__main__":
    unittest.main()
