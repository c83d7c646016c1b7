# SPDX-License-Identifier: Apache-2.0
"""opscope view on traces that are damaged before or while they are looked at, on traces of extreme shape, and against clients
that ask for the impossible or for too much."""

import contextlib
import http.client
import json
import os
import resource
import socket
import time
import unittest

import harness
import pages
from serving import LiveCase, ServerCase, noisy_zones
from test_hardening import cache

# Every question, with what it needs; {w} is where a window goes.
QUESTIONS = ("trace", "names?page=0", "rows?tracks=0:0-3{w}", "zone?track=0&depth=0&at=5", "run?track=0&at=5", "points?{w}",
             "counter?track=0&name=0{w}", "memory?{w}", "zones?{w}", "find?name=0{w}", "range?{w}", "flame?{w}", "search?q=z",
             "overview?{w}", "gaps?{w}", "ops?{w}", "roofline?{w}")
# Of a trace without runs, runs are not found.
MAY_BE_MISSING = ("run?", "zone?", "find?", "counter?")


class Damaged(ServerCase):
    TRACKS, ZONES = 3, 12000

    def setUp(self):
        super().setUp()
        counters = [("counter", 1000 * i, i, "queue") for i in range(500)]
        self.file = self.trace(*noisy_zones(self.TRACKS, self.ZONES), *counters)
        with open(self.file, "rb") as file:
            self.data = file.read()

    def damage(self, position, path):
        with open(path, "r+b") as file:
            file.seek(position)
            file.write(bytes(byte ^ 0xA5 for byte in self.data[position:position + 48]))

    def positions(self):
        return range(600, len(self.data) - 600, (len(self.data) - 1200) // 12)

    def look(self):
        """Everything is answered, and what is missing is said; how many zones are there."""
        for name in QUESTIONS:
            status, _, body = self.ask("/api/t/0/" + name.replace("{w}", ""))
            self.assertIn(status, (200, 404) if name.startswith(MAY_BE_MISSING) else (200,), (name, body[:300]))
        trace = self.get("/api/t/0/trace")
        zones = self.get("/api/t/0/zones")["zones"]
        self.assertEqual(trace["zones"], zones)
        drawn = sum(row[4] for section in self.sections("px=16&tracks=" + ",".join(f"{t['id']}:0" for t in trace["tracks"]))
                    for row in section.rows)
        self.assertEqual(drawn, zones)
        if zones < self.TRACKS * self.ZONES:
            self.assertTrue(trace["salvaged"] and trace["damaged_blocks"], "it is said")
            self.assertEqual(self.get("/api/traces")["traces"][0]["state"], "damaged")
        return zones, trace

    def test_before_it_is_opened(self):
        placed = 0
        for position in self.positions():
            with open(self.file, "wb") as file:
                file.write(self.data)
            self.damage(position, self.file)
            self.serve(self.file)
            zones, trace = self.look()
            placed += self.check_losses(zones, trace)
            self.stop()
        self.assertGreater(placed, 3, "blocks of zones were hit, and shown where they are missing")

    def check_losses(self, zones, trace):
        """Where the head of the block is whole, the place of what is lost is known."""
        lost = sum(loss["zones"] for loss in trace["losses"])
        if not lost:
            return 0
        self.assertEqual((zones + lost, trace["lost_zones"]), (self.TRACKS * self.ZONES, lost))
        for loss in trace["losses"]:
            self.assertEqual(loss["reason"], "damaged data")
            self.assertTrue(0 <= loss["from"] < loss["to"] <= trace["duration_ns"], loss)
        return 1

    def test_while_it_is_looked_at(self):
        """In place, with the size and the time of the file as before: only what is read can show it."""
        before = os.stat(self.file)
        for position in self.positions():
            with open(self.file, "wb") as file:
                file.write(self.data)
            os.utime(self.file, ns=(before.st_atime_ns, before.st_mtime_ns))
            self.serve(self.file)
            self.assertEqual(self.get("/api/traces")["traces"][0]["zones"], self.TRACKS * self.ZONES)
            self.damage(position, self.file)
            os.utime(self.file, ns=(before.st_atime_ns, before.st_mtime_ns))
            self.look()
            self.stop()

    def test_after_it_was_deleted(self):
        """What is whole of it is read from the file that is open."""
        self.serve(self.file)
        for position in self.positions():
            self.damage(position, self.file)
        os.unlink(self.file)
        self.assertIn(self.ask("/api/t/0/zones")[0], (200, 500))
        self.assertEqual(self.get("/api/traces")["traces"][0]["state"], "deleted")

    def test_from_standard_input(self):
        self.damage(self.positions()[len(self.positions()) // 2], self.file)
        with open(self.file, "rb") as file:
            self.serve("-", stdin=file)
        self.look()

    def test_cut_short(self):
        for length in (len(self.data) // 2, len(self.data) - 100):
            with open(self.file, "wb") as file:
                file.write(self.data[:length])
            self.serve(self.file)
            zones, _ = self.look()
            self.assertGreater(zones, 0)
            self.stop()

    def test_nothing_of_it_is_whole(self):
        for data in (b"", b"no trace at all", self.data[:80], bytes(range(256)) * 20):
            with open(self.file, "wb") as file:
                file.write(data)
            done = self.opscope("view", self.file)
            self.assert_status(done, 2)
            self.assertIn(os.path.basename(self.file), done.stderr)


class Extremes(ServerCase):
    def test_a_million_names(self):
        count = 1000000
        self.serve(self.trace(("track", "main", 1), *(("zone", 0, 10 * i, 10 * i + 5, f"name{i}") for i in range(count))))
        self.assertEqual(self.get("/api/t/0/trace")["zones"], count)
        first = self.get("/api/t/0/names?page=0")
        self.assertEqual((first["count"], len(first["names"])), (count, 1024))
        last = self.get(f"/api/t/0/names?page={count // 1024}")
        self.assertEqual(len(last["names"]), count % 1024)
        section, = self.sections("px=1000&tracks=0:0")
        self.assertEqual(sum(row[4] for row in section.rows), count)
        found = self.get("/api/t/0/search?q=name99999&limit=50")["names"]
        self.assertEqual(sorted(row["text"] for row in found), sorted(["name99999"] + [f"name99999{i}" for i in range(10)]))
        self.assertEqual(len(self.get("/api/t/0/zones?top=20")["rows"]), 20)
        self.assertLessEqual(len(self.ask("/api/t/0/overview")[2]), 1 << 20)
        self.assertEqual(self.ask("/api/t/0/flame")[0], 200)
        self.assertLessEqual(len(self.ask("/api/t/0/zones")[2]), 64 << 20, "an answer has a bound")

    def test_losses_have_their_place(self):
        self.serve(self.trace(("track", "main", 1), ("zone", 0, 0, 10000, "all"), ("lost", 12, 2000, 4000),
                              ("lost", 30, 5000, 9000, 1), ("track", "nothing left", 1), ("lost", 7, 100, 200)))
        trace = self.get("/api/t/0/trace")
        self.assertEqual([(loss["track"], loss["zones"], loss["from"], loss["to"], loss["reason"]) for loss in trace["losses"]],
                         [(0, 12, 2000, 4000, "buffer full"), (None, 30, 5000, 9000, "buffer full"),
                          (1, 7, 100, 200, "buffer full")])
        self.assertEqual(trace["lost_zones"], 49)
        self.assertIn("nothing left", [track["name"] for track in trace["tracks"]])


class Impossible(ServerCase):
    def setUp(self):
        super().setUp()
        self.serve(self.small_trace())

    def test_windows_of_every_question(self):
        big = "9" * 30
        windows = (("-5", "99"), ("-1e300", "1e300"), (f"-{big}", big), ("0", "0"), ("4000", "4000"), ("99999", "999999"),
                   ("18446744073709551615", "18446744073709551615"), ("-0", "1"), ("3", "2"), ("nan", "1"), ("inf", "-inf"),
                   ("", ""), ("0x10", "20"), ("1e999", "1e999"))
        for since, until in windows:
            for name in QUESTIONS:
                path = "/api/t/0/" + name.replace("{w}", f"&from={since}&to={until}&px=50")
                status, _, body = self.ask(path)
                self.assertIn(status, (200, 400, 404), (path, body[:300]))
                if not name.startswith("rows") or status != 200:
                    json.loads(body)

    def test_numbers_of_every_question(self):
        for value in ("-1", "4294967295", "4294967296", "18446744073709551616", "1e400", "x", "%00", "9" * 400):
            for path in (f"rows?tracks={value}:0", f"rows?tracks=0:{value}", f"rows?px={value}&tracks=0:0", f"names?page={value}",
                         f"zone?track={value}&depth=0&at=1", f"zone?track=0&depth={value}&at=1", f"zone?track=0&depth=0&at={value}",
                         f"run?track={value}&at=1", f"run?track=0&at={value}&lane={value}", f"points?limit={value}",
                         f"counter?track={value}&name={value}", f"memory?pool={value}&px={value}", f"zones?top={value}", f"zones?track={value}", f"zones?process={value}",
                         f"find?name={value}&limit={value}", f"flame?min={value}", f"search?q=a&limit={value}",
                         f"gaps?limit={value}", f"ops?group={value}", f"overview?warmup={value}"):
                status, _, body = self.ask(f"/api/t/0/{path}")
                self.assertIn(status, (200, 400, 404), (path, body[:300]))
        self.get("/api/t/0/trace")


class Floods(LiveCase):
    def test_requests_that_nobody_reads(self):
        """A client sends as much as the server takes and reads nothing: it is not read from any more, and the others are served."""
        self.serve(self.small_trace())
        flooding = self.connect()
        flooding.setblocking(False)
        request = self.signed(b"GET /api/t/0/zones HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000)
        sent = 0
        with contextlib.suppress(BlockingIOError):
            while sent < 1 << 30:
                sent += flooding.send(request)
        self.assertLess(sent, 1 << 30, "the server stops reading")
        self.assertEqual(self.get("/api/t/0/zones")["zones"], 4)
        before = self.memory()
        for _ in range(50):
            with contextlib.suppress(BlockingIOError):
                flooding.send(request)
            self.get("/api/t/0/zones")
        self.assertLess(self.memory() - before, 64 << 20)

    def memory(self):
        with open(f"/proc/{self.server.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def test_pages_that_send_frames_and_read_nothing(self):
        self.serve(self.small_trace())
        pages = [self.handshake()[0] for _ in range(20)]
        for page in pages:
            page.setblocking(False)
            with contextlib.suppress(BlockingIOError, ConnectionError):
                for _ in range(100000):
                    page.send(self.frame(9, b"x" * 100) * 20)
        self.assertEqual(self.get("/api/t/0/zones")["zones"], 4)

    def test_long_questions_of_clients_that_are_gone(self):
        lines = [("track", "main", 1)] + [("zone", 0, 20 * i, 20 * i + 10, f"z{i % 9}") for i in range(60000)]
        self.serve(self.trace(*lines))
        for _ in range(200):
            connection = socket.create_connection(self.address, timeout=harness.TIMEOUT_S)
            with contextlib.closing(connection):
                connection.sendall(self.signed(b"GET /api/t/0/flame HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        self.assertEqual(self.get("/api/t/0/zones")["zones"], 60000)

    def test_no_descriptor_is_left(self):
        """More connections than it may have open: it neither serves nor spins until some are closed."""
        self.serve(self.small_trace(), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40)))
        began = time.monotonic()
        connections = [self.connect() for _ in range(80)]
        time.sleep(1)  # in which it would try again as often as it can
        for connection in connections:
            connection.close()
        harness.wait_until(lambda: self.is_served(), "connections are taken again")
        pauses = self.metric("opscope_accept_pauses_total")
        self.assertGreaterEqual(pauses, 1)
        self.assertLess(pauses, 80 + 10 * (time.monotonic() - began))

    def is_served(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.ask("/api/traces")[0] == 200
        return False

    @unittest.skipIf(cache().get("OPSCOPE_SANITIZE"), "a sanitizer takes more than any limit")
    def test_an_answer_that_needs_too_much_memory(self):
        lines = [("track", "main", 1), ("zone", 0, 0, 300, "z")]
        self.serve(self.trace(*lines, *(("message", i, "x" * 2500) for i in range(40000))), "--memory", "64M")
        answer = self.get("/api/t/0/points", 503)
        self.assertIn("more memory than this server may take", answer["error"])
        self.assertIn("--memory", answer["error"])
        self.assertEqual(self.get("/api/t/0/points?from=0&to=3")["total"], 4)
        self.assertEqual(self.get("/api/t/0/zones")["zones"], 1)


class NoFiles(ServerCase):
    """What is no file is neither waited for nor read."""

    def test_a_served_trace_is_replaced_by_something_else(self):
        for number, (kind, make) in enumerate((("a FIFO (named pipe)", os.mkfifo), ("a device", lambda path: os.symlink("/dev/zero", path)),
                                               ("a folder", os.mkdir), ("a socket", self.bind))):
            path = self.small_trace(f"made{number}.opscope")
            self.serve(path)
            self.get("/api/t/0/zones")
            make(path + ".new")
            os.unlink(path)
            os.rename(path + ".new", path)
            harness.wait_until(lambda: self.get("/api/traces")["traces"][0]["state"] == "replaced", "it is seen")
            self.assertIn(f"is {kind}, not a file", self.get("/api/traces")["traces"][1]["error"])
            self.assertIn(self.ask("/api/t/1/trace")[0], (404, 500))
            self.assertEqual(self.get("/api/t/0/zones")["zones"], 4)  # what was open stays
            self.stop()

    def bind(self, path):
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path)

    def test_commands_say_what_it_is(self):
        os.mkfifo(self.path("t.opscope"))
        os.mkfifo(self.path("machine.json"))
        of_page = [("view", "--html", self.path("x.html"))] if pages.are_built() else []
        for words in (("summary",), ("info",), ("zones",), ("ops",), *of_page, ("view",), ("export", "--format", "csv", "-o", self.path("x"))):
            done = self.opscope(*words, self.path("t.opscope"))
            self.assert_status(done, 2)
            self.assertIn(f"{self.path('t.opscope')} is a FIFO (named pipe), not a file", done.stderr)
        self.assertIn("is a device, not a file", self.opscope("summary", "/dev/zero").stderr)
        done = self.opscope("report", "--machine", self.path("machine.json"), self.small_trace())
        self.assertIn(f"{self.path('machine.json')} is a FIFO (named pipe), not a file", done.stderr)


if __name__ == "__main__":
    unittest.main()
