# SPDX-License-Identifier: Apache-2.0
"""opscope view: its answers on traces whose every time is known, and what it does to slow, wrong and hostile clients."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import stat
import struct
import subprocess
import unittest

import harness
from serving import OPEN, SUMMARY, WAIT, LiveCase, ServerCase, parse_rows


class Answers(ServerCase):
    def test_trace(self):
        self.serve(self.small_trace())
        listed = self.get("/api/traces")["traces"]
        self.assertEqual([(t["id"], t["name"], t["state"], t["zones"], t["duration_ns"]) for t in listed],
                         [(0, "made.opscope", "complete", 4, 4000)])
        trace = self.get("/api/t/0/trace")
        self.assertEqual((trace["duration_ns"], trace["zones"], trace["points"], trace["memory_events"], trace["lock_events"]),
                         (4000, 4, 2, 2, 0))
        track, = trace["tracks"]
        self.assertEqual((track["name"], track["kind"], track["depths"], track["zones"], track["busy_ns"]),
                         ("main", "thread", 2, 4, 2500))
        self.assertTrue(track["has_counters"] and track["has_memory"])
        counter, = trace["counters"]
        self.assertEqual((counter["samples"], counter["min"], counter["max"]), (2, 3, 7))
        pool, = trace["pools"]
        self.assertEqual((pool["name"], pool["peak_bytes"], pool["events"]), (None, 100, 2))

    def names(self):
        return {row[1]: row for row in self.get("/api/t/0/names")["names"]}

    def test_names(self):
        self.serve(self.small_trace())
        names = self.names()
        self.assertEqual(names["outer"][2:4], ["a.c", 1])
        self.assertAlmostEqual(names["outer"][5], 0.7)
        self.assertEqual((names["inner"][5], names["sleep"][6], names["outer"][6]), (1, 1, 0))
        self.assertTrue(all(0 <= row[4] <= 9 for row in names.values()))
        self.assertEqual(self.get("/api/t/0/names?page=7")["names"], [])

    def test_rows(self):
        self.serve(self.small_trace())
        names = self.names()
        outer, inner = self.sections("px=4000&tracks=0:0-9")
        self.assertEqual((outer.track, outer.kind, outer.depth), (0, 0, 0))
        self.assertEqual([(row[0], row[1], row[2], row[3], row[4], row[5]) for row in outer.rows],
                         [(0, 1000, 1, names["outer"][0], 1, 0), (2000, 2500, 1, names["sleep"][0], 1, WAIT),
                          (3000, 4000, 1, names["unfinished"][0], 1, OPEN)])
        self.assertEqual([(row[0], row[1]) for row in inner.rows], [(100, 300), (500, 600)])
        only, = self.sections("px=4000&from=450&to=700&tracks=0:1")
        self.assertEqual([(row[0], row[1]) for row in only.rows], [(500, 600)])

    def test_moving_a_window_does_not_change_rows(self):
        lines = [("track", "main", 1)]
        lines += [("zone", 0, 1000 + 37 * i, 1000 + 37 * i + 11 + i * i % 20, f"z{i % 7}") for i in range(5000)]
        self.serve(self.trace(*lines))
        width = 64000
        seen = {}
        for since in range(0, 100000, 3571):
            section, = self.sections(f"from={since}&to={since + width}&px=500&tracks=0:0")
            self.assertTrue(section.rows[1][5] & SUMMARY)
            for row in section.rows[1:-1]:
                self.assertEqual(seen.setdefault(row[0], row), row)
            for before, after in zip(section.rows, section.rows[1:]):
                self.assertLessEqual(before[1], after[0])
        whole, = self.sections("px=10&tracks=0:0")
        self.assertEqual(sum(row[4] for row in whole.rows), 5000)

    def test_zone(self):
        source = self.write("program.c", "".join(f"line {i}\n" for i in range(1, 40)))
        self.serve(self.trace(("source", source), ("track", "main", 1), ("zone", 0, 1000, 2000, "outer", f"{source}:20"),
                              ("zone", 1, 1100, 1300, "inner", "gone.c:2"), ("zone", 1, 1500, 1600, "inner", "gone.c:2"),
                              ("open", 0, 4000, 5000, "unfinished")))
        zone = self.get("/api/t/0/zone?track=0&depth=0&at=50")
        self.assertEqual((zone["start"], zone["duration"], zone["self"], zone["children"], zone["parents"]),
                         (0, 1000, 700, 2, []))
        inner = self.get("/api/t/0/zone?track=0&depth=1&at=550")
        self.assertEqual((inner["start"], inner["duration"], inner["source"]), (500, 100, None))
        self.assertEqual([(p["start"], p["duration"], p["depth"]) for p in inner["parents"]], [(0, 1000, 0)])
        self.assertTrue(self.get("/api/t/0/zone?track=0&depth=0&at=3500")["open"])
        self.assertIn("no zone", self.get("/api/t/0/zone?track=0&depth=0&at=2000", 404)["error"])
        self.assertIn("no track", self.get("/api/t/0/zone?track=9&depth=0&at=2000", 404)["error"])
        self.get("/api/t/0/zone?depth=0&at=2000", 400)

    def test_events(self):
        self.serve(self.small_trace())
        points = self.get("/api/t/0/points")
        self.assertEqual([(p["kind"], p["time"], p["header"] or p["text"]) for p in points["points"]],
                         [("signpost", 1500, "half"), ("message", 1600, "hello <b>")])
        self.assertEqual(self.get("/api/t/0/points?kind=message")["total"], 1)
        thinned = self.get("/api/t/0/points?limit=1")
        self.assertEqual((thinned["total"], len(thinned["points"])), (2, 1))
        name = self.get("/api/t/0/trace")["counters"][0]["name"]
        self.assertEqual(self.get(f"/api/t/0/counter?track=0&name={name}&px=100"),
                         {"time": [200, 1200], "min": [3, 7], "max": [3, 7], "last": [3, 7], "peak_at": 1200})
        self.assertEqual(self.get(f"/api/t/0/counter?track=0&name={name}&px=10&from=500&to=1000")["last"], [3])
        self.assertIsNone(self.get(f"/api/t/0/counter?track=0&name={name}&px=10&from=500&to=1000")["peak_at"])
        self.assertEqual(self.get("/api/t/0/memory?px=100"),
                         {"time": [300, 1300], "min": [100, 0], "max": [100, 0], "last": [100, 0], "peak_at": 300})

    def test_statistics(self):
        path = self.small_trace()
        self.serve(path)
        rows = {row["text"]: row for row in self.get("/api/t/0/zones")["rows"]}
        for expected in self.opscope_json("zones", path)["rows"]:
            row = rows[expected["name"]]
            self.assertEqual((row["count"], row["total"], row["self"], row["p90"]),
                             (expected["count"], expected["total_ns"], expected["self_ns"], expected["p90_ns"]))
        self.assertEqual([row["text"] for row in self.get("/api/t/0/zones?sort=count&top=1")["rows"]], ["inner"])
        self.assertEqual([row["text"] for row in self.get("/api/t/0/zones?q=INN")["rows"]], ["inner"])
        self.get("/api/t/0/zones?sort=colour", 400)

    def test_zones_of_a_thread_and_of_a_process(self):
        self.serve(self.trace(("track", "main", 1), ("zone", 0, 0, 100, "outer"), ("zone", 1, 10, 40, "both"),
                              ("task", "job"), ("zone", 0, 50, 60, "turn"), ("track", "helper", 1), ("zone", 0, 0, 30, "both"),
                              ("track", "main", 2), ("zone", 0, 0, 70, "other")))
        tracks = {(track["process"], track["name"]): track["id"] for track in self.get("/api/t/0/trace")["tracks"]}

        def found(question):
            return {row["text"]: row["total"] for row in self.get(f"/api/t/0/zones?{question}")["rows"]}
        self.assertEqual(found(f"track={tracks[0, 'main']}"), {"outer": 100, "both": 30, "turn": 10}, "with its task")
        self.assertEqual(found(f"track={tracks[0, 'helper']}"), {"both": 30})
        self.assertEqual(found("process=0"), {"outer": 100, "both": 60, "turn": 10})
        self.assertEqual(found("process=1"), {"other": 70})
        self.assertEqual(found(""), {"outer": 100, "both": 60, "turn": 10, "other": 70})
        self.get("/api/t/0/zones?process=2", 404)
        self.get("/api/t/0/zones?track=x", 400)

    def test_range_is_clipped(self):
        self.serve(self.small_trace())
        found = self.get("/api/t/0/range?from=250&to=550")
        names = {row["name"]: row for row in found["names"]}
        outer, inner = (names[self.names()[name][0]] for name in ("outer", "inner"))
        self.assertEqual((found["length"], found["reach_out"]), (300, 3))
        self.assertEqual((outer["total"], outer["self"], inner["total"], inner["count"]), (300, 200, 100, 2))
        self.assertLessEqual(sum(row["self"] for row in found["names"]), 300)
        self.assertEqual(found["tracks"], [{"track": 0, "busy": 300}])

    def test_find(self):
        self.serve(self.small_trace())
        found = self.get(f"/api/t/0/find?name={self.names()['inner'][0]}")
        self.assertEqual((found["count"], found["total"], found["min"], found["max"]), (2, 300, 100, 200))
        self.assertEqual([(c["start"], c["end"]) for c in found["calls"]], [(100, 300), (500, 600)])
        self.assertEqual(sum(b["count"] for b in found["histogram"]), 2)
        self.get("/api/t/0/find?name=99999", 404)
        self.get("/api/t/0/find", 400)

    def test_flame(self):
        self.serve(self.small_trace())
        names = self.names()
        down = self.get("/api/t/0/flame")
        outer = next(c for c in down["children"] if c["name"] == names["outer"][0])
        self.assertEqual((outer["total"], outer["self"], outer["count"]), (1000, 700, 1))
        self.assertEqual([(c["name"], c["total"], c["count"]) for c in outer["children"]], [(names["inner"][0], 300, 2)])
        up = self.get("/api/t/0/flame?direction=up")
        inner = next(c for c in up["children"] if c["name"] == names["inner"][0])
        self.assertEqual((inner["total"], [c["name"] for c in inner["children"]]), (300, [names["outer"][0]]))
        self.assertEqual(up["total"], down["total"])
        folded = self.get("/api/t/0/flame?min=0.5")
        self.assertTrue(folded["children"][-1]["other"])
        self.assertEqual(sum(c["total"] for c in folded["children"]), folded["total"])

    def test_search(self):
        self.serve(self.small_trace())
        found = self.get("/api/t/0/search?q=In")
        self.assertEqual([row["text"] for row in found["names"]], ["unfinished", "inner"])
        self.assertEqual([row["text"] for row in found["tracks"]], ["main"])
        self.assertEqual([row["text"] for row in self.get("/api/t/0/search?q=ell")["messages"]], ["hello <b>"])
        self.get("/api/t/0/search", 400)
        self.get("/api/t/0/search?longest=0", 400)

    def test_the_innermost_zone(self):
        self.serve(self.small_trace())

        def ask(at):
            zone = self.get(f"/api/t/0/zone?track=0&depth=innermost&at={at}")
            return zone["depth"], zone["start"]

        self.assertEqual([ask(at) for at in (50, 150, 550, 2100)], [(0, 0), (1, 100), (1, 500), (0, 2000)])
        self.get("/api/t/0/zone?track=0&depth=innermost&at=1500", 404)
        self.get("/api/t/0/zone?track=0&depth=outermost&at=50", 400)

    def test_search_with_wildcards_files_and_lengths(self):
        self.serve(self.trace(("track", "main", 1), ("zone", 0, 0, 900, "load_batch", "train.py:1"),
                              ("zone", 1, 0, 300, "load_file", "io.py:1"), ("zone", 1, 400, 410, "unload", "io.py:9"),
                              ("message", 5, "loaded")))
        def ask(query):
            return [row["text"] for row in self.get(f"/api/t/0/search?{query}")["names"]]

        self.assertEqual(ask("q=LOAD*at"), ["load_batch"])
        self.assertEqual(ask("q=load*"), ["load_batch", "load_file", "unload"])
        self.assertEqual(ask("q=*load*zz"), [])
        self.assertEqual(ask("file=io.py"), ["load_file", "unload"])
        self.assertEqual(ask("file=io&longest=300"), ["load_file"])
        self.assertEqual(ask("q=load&longest=301"), ["load_batch"])
        self.assertEqual(self.get("/api/t/0/search?q=load&file=io")["messages"], [])

    def test_several_traces(self):
        first, second = self.small_trace("a.opscope"), self.trace(("track", "t", 1), ("zone", 0, 0, 9, "z"),
                                                                  name="b.opscope")
        self.serve(first, second)
        self.assertEqual([t["name"] for t in self.get("/api/traces")["traces"]], ["a.opscope", "b.opscope"])
        self.assertEqual(self.get("/api/t/1/trace")["zones"], 1)

    def test_folder(self):
        old, new = self.small_trace("old.opscope"), self.small_trace("new.opscope")
        os.utime(old, (1000, 1000))
        os.utime(new, (2000, 2000))
        self.serve(cwd=self.folder)
        self.assertEqual([t["name"] for t in self.get("/api/traces")["traces"]], ["new.opscope", "old.opscope"])
        self.small_trace("later.opscope")
        self.assertEqual([t["name"] for t in self.get("/api/traces")["traces"]],
                         ["new.opscope", "old.opscope", "later.opscope"])
        self.assertEqual(self.get("/api/t/2/trace")["zones"], 4)

    def test_empty_folder(self):
        folder = self.path("empty")
        os.mkdir(folder)
        self.serve(cwd=folder)
        self.assertEqual(self.get("/api/traces")["traces"], [])
        self.assertEqual(self.ask("/")[0], 200)

    def test_standard_input(self):
        with open(self.small_trace(), "rb") as file:
            process = subprocess.Popen([harness.OPSCOPE, "view", "-"], stdin=file, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, env=harness.environment(),
                                       start_new_session=True)
        self.server = process
        self.addCleanup(self.stop)
        self.use(process.stdout.readline().strip())
        self.assertEqual(self.get("/api/t/0/trace")["zones"], 4)


class Names(ServerCase):
    def test_names_are_never_markup(self):
        name, message = "<script>alert(1)</script>\"'&\u202e", "</script>\x1b[31m"
        self.serve(self.trace(("track", "main<i>", 1), ("zone", 0, 0, 10, name), ("message", 5, message)))
        for path in ("/api/t/0/names", "/api/t/0/zones", "/api/t/0/trace", "/api/t/0/points", "/api/t/0/search?q=script"):
            status, headers, body = self.ask(path)
            self.assertEqual((status, headers["X-Content-Type-Options"]), (200, "nosniff"))
            self.assertTrue(headers["Content-Type"].startswith("application/json"))
            self.assertNotIn("\u202e".encode(), body)
            self.assertNotIn(b"\x1b", body)
            json.loads(body)
        self.assertEqual(self.get("/api/t/0/names")["names"][0][1], name)
        self.assertEqual(self.get("/api/t/0/zones")["rows"][0]["text"], name)


class Requests(ServerCase):
    def setUp(self):
        super().setUp()
        self.serve(self.small_trace())

    def test_headers(self):
        _, headers, _ = self.ask("/")
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        self.assertNotIn("unsafe", headers["Content-Security-Policy"])
        self.assertEqual((headers["X-Content-Type-Options"], headers["Referrer-Policy"]), ("nosniff", "no-referrer"))
        self.assertIsNone(headers["Access-Control-Allow-Origin"])
        self.assertEqual(self.ask("/api/traces")[1]["Cache-Control"], "no-store")

    def test_methods(self):
        status, headers, body = self.ask("/api/traces", "HEAD")
        self.assertEqual((status, body), (200, b""))
        self.assertEqual(int(headers["Content-Length"]), len(self.ask("/api/traces")[2]))
        status, headers, _ = self.ask("/api/traces", "POST")
        self.assertEqual((status, headers["Allow"]), (405, "GET, HEAD"))
        self.assertEqual(self.ask("/api/t/0/zones", "HEAD")[2], b"")

    def test_paths(self):
        for path in ("/nothing", "/api", "/api/t/0", "/api/t/0/nothing", "/api/t/9/trace", "/api/t/-1/trace",
                     "/api/t/18446744073709551616/trace", "/api/t//trace", "/../../etc/passwd", "/..%2f..%2fetc/passwd",
                     "//etc/passwd", "/index.html/..", "/api/t/0/../0/trace", "/%00", "/app.js%00"):
            self.assertIn(self.ask(path)[0], (400, 404), path)

    def test_bad_parameters(self):
        for query in ("from=x", "from=", "px=nan", "from=5&to=1", "tracks=0:x", "tracks=x:1", "tracks=0", "tracks=0:1-",
                      "from=%zz", "from=%", "a=1%00", "&".join(f"p{i}=1" for i in range(40))):
            body = self.get(f"/api/t/0/rows?{query}", 400)
            self.assertEqual(list(body), ["error"], query)
        self.get("/api/t/0/rows?tracks=99:0", 404)

    def test_ranges_are_cut_to_the_trace(self):
        for query in ("from=-5", "to=99999999999999999999999999", "from=-1e300&to=1e300", "px=0", "px=99999999999",
                      "px=-4", "from=4000&to=4000", "tracks=0:0-4294967290,0:7-3"):
            status, _, body = self.ask(f"/api/t/0/rows?{query}" + ("" if "tracks" in query else "&tracks=0:0-1"))
            self.assertEqual(status, 200, (query, body[:200]))
            (since, until), _ = parse_rows(body)
            self.assertTrue(0 <= since <= until <= 4000, (query, since, until))
        self.assertEqual(self.get("/api/t/0/zones?from=-1&to=1e30"), self.get("/api/t/0/zones"))

    def test_damaged_requests(self):
        good = b"GET /api/traces HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        self.assertEqual(self.send_raw(good)[0], "HTTP/1.1 200 OK")
        self.assertEqual(self.send_raw(b"\r\n" + good)[0], "HTTP/1.1 200 OK")
        for data, status in (
                (b"GET / HTTP/1.1\r\n\r\n", 400),
                (b"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n", 505),
                (b"GET /\r\n\r\n", 400),
                (b"GET  / HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
                (b"nonsense\r\n\r\n", 400),
                (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400),
                (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: other\r\n\r\n", 400),
                (b"GET / HTTP/1.1\r\nHost: localhost\r\n folded: x\r\n\r\n", 400),
                (b"GET / HTTP/1.1\r\nHost : localhost\r\n\r\n", 400),
                (b"GET / HTTP/1.1\r\nHost: local\x00host\r\n\r\n", 400),
                (b"GET /\x80 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
                (b"GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 400),
                (b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello", 413),
                (b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 413),
                (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
                (b"GET /" + b"a" * 9000, 414),
                (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 40000 + b"\r\n\r\n", 431),
                (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 200 + b"\r\n", 431)):
            self.assertEqual(int(self.send_raw(data)[0].split()[1]), status, data[:80])

    def test_requests_one_after_the_other(self):
        request = b"GET /api/t/0/%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n"
        data = b"".join(request % (name, b"") for name in (b"trace", b"rows", b"zones", b"names"))
        _, answer = self.send_raw(data + request % (b"trace", b"Connection: close\r\n"))
        self.assertEqual(answer.count(b"HTTP/1.1 200 OK"), 5)

    def test_a_request_in_pieces(self):
        connection = self.connect()
        for byte in self.signed(b"GET /api/traces HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"):
            connection.sendall(bytes([byte]))
        self.assertIn(b'"traces"', self.read_all(connection))

    def test_half_closed(self):
        connection = self.connect()
        connection.sendall(self.signed(b"GET /api/t/0/zones HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        connection.shutdown(socket.SHUT_WR)
        self.assertIn(b'"rows"', self.read_all(connection))

    def test_other_hosts(self):
        for host in ("evil.example", "evil.example:7950", "localhost.evil.example", "127.0.0.1.nip.io", "127.0.0.1:x",
                     "[::1", ""):
            self.assertEqual(self.ask("/api/traces", headers={"Host": host})[0], 421, host)
        for host in ("localhost", "LOCALHOST:1", "127.0.0.1:7950", "[::1]:80"):
            self.assertEqual(self.ask("/api/traces", headers={"Host": host})[0], 200, host)

    def test_flood(self):
        for _ in range(500):
            self.assertEqual(self.ask("/api/t/0/rows?px=100&tracks=0:0-1")[0], 200)
        self.assertGreaterEqual(self.metric('opscope_requests_total{class="rows"}'), 500)
        self.assertEqual(self.metric("opscope_connections_refused_total"), 0)

    def test_progress(self):
        self.get("/api/t/0/zones")
        idle = self.get("/api/progress")
        self.assertEqual(idle, {"question": None, "trace": None, "zones_read": 0, "zones": 0})
        self.get("/api/progress/x", 404)

    def test_metrics(self):
        self.get("/api/t/0/zones")
        self.get("/api/t/0/zones?sort=x", 400)
        self.assertEqual(self.metric('opscope_requests_total{class="zones"}'), 2)
        self.assertEqual(self.metric('opscope_responses_total{status="4xx"}'), 1)
        self.assertGreater(self.metric('opscope_response_bytes_total{class="zones"}'), 0)


class Connections(ServerCase):
    def test_two_hundred(self):
        self.serve(self.small_trace())
        connections = [self.connect() for _ in range(200)]
        for connection in connections:
            connection.sendall(self.signed(b"GET /api/t/0/zones HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
        for connection in connections:
            self.assertIn(b"HTTP/1.1 200 OK", self.read_all(connection))

    def test_too_many(self):
        self.serve(self.small_trace())
        connections = [self.connect() for _ in range(256)]
        harness.wait_until(lambda: b"503" in self.read_all(self.connect()), "the 257th connection is refused")
        connections.pop().close()
        harness.wait_until(lambda: self.is_served(), "a place is free again")

    def is_served(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.ask("/api/traces")[0] == 200
        return False

    def test_slow_and_idle_clients_are_closed(self):
        self.serve(self.small_trace(), "--timeout", "100ms")
        idle, slow = self.connect(), self.connect()
        slow.sendall(b"GET / HTTP/1.1\r\nHost: ")
        self.assertEqual(self.read_all(idle), b"")
        self.assertEqual(self.read_all(slow), b"")
        self.assertGreaterEqual(self.metric("opscope_connections_timed_out_total"), 2)

    def test_a_client_that_does_not_read(self):
        lines = [("track", "main", 1)] + [("zone", 0, 20 * i, 20 * i + 10, f"z{i % 9}") for i in range(60000)]
        self.serve(self.trace(*lines), "--timeout", "200ms")
        request = b"GET /api/t/0/rows?px=16384&tracks=%s HTTP/1.1\r\nHost: localhost\r\n\r\n"
        connection = socket.socket()
        self.addCleanup(connection.close)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(self.address)
        connection.sendall(self.signed(request % b",".join([b"0:0"] * 40)))
        harness.wait_until(lambda: self.metric("opscope_connections_timed_out_total") >= 1, "it is closed")
        self.assertEqual(self.ask("/api/traces")[0], 200)  # the others were served all the while

    def test_a_client_that_vanishes(self):
        self.serve(self.small_trace())
        for _ in range(50):
            connection = self.connect()
            connection.sendall(self.signed(b"GET /api/t/0/zones HTTP/1.1\r\nHost: localhost\r\n\r\n"))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()  # with a reset
        self.assertEqual(self.ask("/api/t/0/zones")[0], 200)

    def test_busy_ports(self):
        trace = self.small_trace()
        self.serve(trace)
        done = self.opscope("view", trace, "--port", self.address[1])
        self.assertEqual(done.status, 2)
        self.assertIn(f"port {self.address[1]} is in use by opscope (process {self.server.pid})", done.stderr)
        first, first_link, first_address = self.server, self.link, self.address
        self.serve(trace)  # the default port: the next that is free
        self.assertNotEqual(self.address, first_address)
        self.stop()
        self.server = first
        self.use(first_link)

    def test_any_port(self):
        self.serve(self.small_trace(), "--port", 0)
        self.assertGreater(self.address[1], 0)
        self.assertEqual(self.get("/api/traces")["traces"][0]["zones"], 4)

    def test_ends_well(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self.serve(self.small_trace())
            connection = self.connect()
            connection.sendall(b"GET / HTTP/1.1\r\nHo")
            self.server.send_signal(number)
            _, errors = self.server.communicate(timeout=harness.TIMEOUT_S)
            self.assertEqual((self.server.returncode, errors), (0, ""))


EVERYTHING = ("/", "/app.js", "/app.css", "/worker.js", "/licenses.txt", "/index.html", "/metrics", "/nothing", "/api/traces",
              "/api/live", "/api/progress", "/api/compare?a=0&b=0", "/api/overlay?a=0&b=0", "/api/nothing", "/api/t/9/trace",
              *(f"/api/t/0/{name}" for name in (
                  "trace", "names", "rows", "zone", "run", "launched", "points", "counter", "memory", "allocations", "zones",
                  "find", "range", "flame", "search", "overview", "gaps", "ops", "op", "roofline", "steps", "overhead", "report",
                  "source", "export")))


class Tokens(LiveCase):
    """Any user of this machine can connect to its ports: without the link nobody is answered, on loopback either."""

    def setUp(self):
        super().setUp()
        self.serve(self.small_trace())
        self.token = self.headers.pop("Authorization").split()[1]

    def check_every_request_needs_it(self):
        for path in (*EVERYTHING, "/api/traces?token=x", "/api/traces?token=", f"/api/traces?token={self.token[:-1]}",
                     f"/api/traces?token={self.token}0"):
            for method in ("GET", "HEAD", "POST"):
                status, headers, body = self.ask(path, method)
                self.assertEqual((status, headers["WWW-Authenticate"]), (401, "Bearer"), path)
            self.assertNotIn(self.token.encode(), body)
        self.assertIn(b"needs the link", self.ask("/")[2])
        self.assertIn("Authorization: Bearer TOKEN", self.get("/api/traces", 401)["error"])
        self.assertIn(" 401 ", self.handshake()[1])
        for headers in ({"Authorization": "Bearer x"}, {"Authorization": f"Basic {self.token}"}, {"Authorization": self.token},
                        {"Cookie": f"opscope={self.token}"}):
            self.assertEqual(self.ask("/api/traces", headers=headers)[0], 401, headers)
        self.assertEqual(self.ask(f"/api/traces?token={self.token}")[0], 200)
        self.assertEqual(self.ask("/api/traces", headers={"Authorization": f"Bearer {self.token}"})[0], 200)

    def test_every_request_needs_it(self):
        self.check_every_request_needs_it()

    def test_every_request_needs_it_from_elsewhere_too(self):
        self.stop()
        self.serve(self.small_trace(), "--listen", "0.0.0.0")
        self.address = ("127.0.0.1", self.address[1])
        self.token = self.headers.pop("Authorization").split()[1]
        self.check_every_request_needs_it()

    def test_the_first_visit_moves_it_to_a_cookie(self):
        status, headers, _ = self.ask(f"/?token={self.token}")
        self.assertEqual((status, headers["Location"]), (303, "/"))
        cookie = headers["Set-Cookie"]
        self.assertIn("HttpOnly", cookie)
        self.assertIn("SameSite=Lax", cookie)  # a link in a terminal that is a web page leads here from another site
        pair = cookie.split(";")[0]
        self.assertEqual(self.ask("/api/traces", headers={"Cookie": f"a=b; {pair}"})[0], 200)
        self.assertEqual(self.ask("/", headers={"Cookie": pair})[0], 200)
        self.assertEqual(self.ask("/", headers={"Cookie": pair[:-1]})[0], 401)
        self.assertIn(" 101 ", self.handshake({"Cookie": pair})[1])

    def test_tokens_differ(self):
        self.stop()
        first = self.token
        self.serve(self.small_trace())
        self.assertNotIn(first, self.link)
        self.assertEqual(len(first), 32)

    def test_one_of_a_file(self):
        self.stop()
        path, trace = self.path("token"), self.small_trace()
        self.serve(trace, "--token-file", path)  # which makes it
        with open(path, encoding="ascii") as file:
            made = file.read().strip()
        self.assertEqual((stat.S_IMODE(os.stat(path).st_mode), self.headers["Authorization"]), (0o600, f"Bearer {made}"))
        self.stop()
        self.serve(trace, "--token-file", path)
        self.assertEqual(self.headers["Authorization"], f"Bearer {made}")
        with open(f"/proc/{self.server.pid}/cmdline", "rb") as line:
            self.assertNotIn(made.encode(), line.read())
        os.chmod(path, 0o640)
        self.assertIn("other users can read it", self.opscope("view", "--token-file", path, trace).stderr)
        for text in ("short", "x" * 129, "a b c d e f g h i j", "0123456789abcdef&x=1"):
            self.write("bad", text)
            os.chmod(self.path("bad"), 0o600)
            self.assertIn("a token is 16 to 128", self.opscope("view", "--token-file", self.path("bad"), trace).stderr)
        os.mkfifo(self.path("pipe"), 0o600)
        self.assertIn("not a regular file", self.opscope("view", "--token-file", self.path("pipe"), trace).stderr)

    def test_one_of_the_environment(self):
        self.stop()
        self.serve(self.small_trace(), extra={"OPSCOPE_VIEW_TOKEN": "chosen-by-a-script"})
        self.assertTrue(self.link.endswith("/?token=chosen-by-a-script"))
        self.get("/api/traces")

    def test_the_browser_is_opened_without_it_on_the_command_line(self):
        """What programs are started with is everybody's to read."""
        self.stop()
        asked = self.path("asked")
        self.write("xdg-open", f"#!/bin/sh\nprintf '%s' \"$1\" > {asked}.new\nmv {asked}.new {asked}\n")
        os.chmod(self.path("xdg-open"), 0o755)
        self.serve(self.small_trace(), "--open",
                   extra={"PATH": f"{self.folder}:{os.environ['PATH']}", "XDG_RUNTIME_DIR": self.folder})
        harness.wait_until(lambda: os.path.exists(self.path("asked")), "the browser is opened")
        with open(self.path("asked"), encoding="utf-8") as file:
            door = file.read()
        self.assertEqual((os.path.dirname(door), stat.S_IMODE(os.stat(door).st_mode)), (self.folder, 0o600))
        with open(door, encoding="utf-8") as file:
            self.assertIn(f'content="0;url={self.link}"', file.read())
        self.stop()
        self.assertFalse(os.path.exists(door))


class Live(LiveCase):
    def test_handshake(self):
        self.serve(self.small_trace())
        connection, answer = self.handshake()
        self.assertIn("101 Switching Protocols", answer)
        self.assertIn("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", answer)  # the example of RFC 6455
        self.assertEqual(self.state(connection), {"trace": 0, "state": "complete", "generation": 0, "end_ns": 4000,
                                                  "zones": 4, "lost_zones": 0})

    def test_refusals(self):
        self.serve(self.small_trace())
        host = f"{self.address[0]}:{self.address[1]}"
        for headers, status in (({"Origin": "http://evil.example"}, 403), ({"Origin": "null"}, 403),
                                ({"Origin": f"https://{host}"}, 403), ({"Origin": f"http://{host}.evil.example"}, 403),
                                ({"Origin": f"http://{host}"}, 101), ({"Sec-WebSocket-Key": "short"}, 400),
                                ({"Sec-WebSocket-Key": None}, 400), ({"Sec-WebSocket-Version": "8"}, 426),
                                ({"Upgrade": None}, 426), ({"Connection": "close"}, 426), ({"Host": "evil.example"}, 421)):
            self.assertEqual(int(self.handshake(headers)[1].split()[1]), status, headers)

    def test_frames(self):
        self.serve(self.small_trace())
        connection, _ = self.handshake()
        self.state(connection)
        connection.sendall(self.frame(9, b"are you there") + self.frame(1, b"ignored") + self.frame(10))
        self.assertEqual(self.receive(connection), (10, b"are you there"))
        connection.sendall(self.frame(8, struct.pack(">H", 1000)))
        self.assertEqual(self.receive(connection), (8, struct.pack(">H", 1000)))
        self.assertEqual(connection.recv(1), b"")

    def test_broken_frames(self):
        self.serve(self.small_trace())
        for data, code in ((self.frame(1, b"x", masked=False), 1002), (self.frame(3), 1002), (self.frame(1, first=0xc0), 1002),
                           (self.frame(9, first=0), 1002), (self.frame(9, b"x" * 126), 1002),
                           (self.frame(1, b"", length=5000), 1009),
                           (b"\x82\xff" + struct.pack(">Q", 1 << 62), 1009)):
            connection, _ = self.handshake()
            self.state(connection)
            connection.sendall(data)
            self.assertEqual(self.receive(connection), (8, struct.pack(">H", code)), data)
            self.assertEqual(connection.recv(1), b"")

    def test_silent_clients_are_pinged_then_closed(self):
        self.serve(self.small_trace(), "--timeout", "300ms")
        connection, _ = self.handshake()
        self.state(connection)
        self.assertEqual(self.receive(connection)[0], 9)
        self.read_all(connection)  # until it is closed
        self.assertEqual(self.metric("opscope_connections_timed_out_total"), 1)

    def test_changes_are_told_to_every_page(self):
        path = self.small_trace("a.opscope")
        self.serve(path)
        pages = [self.handshake()[0] for _ in range(5)]
        for page in pages:
            self.assertEqual(self.state(page)["generation"], 0)
        bigger = self.trace(("track", "t", 1), *[("zone", 0, 10 * i, 10 * i + 5, "z") for i in range(100)], name="b.opscope")
        with open(bigger, "rb") as source, open(path, "r+b") as file:
            file.write(source.read())
            file.truncate()
        for page in pages:
            while (state := self.state(page))["zones"] != 100:
                pass
            self.assertEqual(state["state"], "complete")
        os.unlink(path)
        while self.state(pages[0])["state"] != "deleted":
            pass

    def test_a_program_that_runs(self):
        self.serve(cwd=self.folder)
        page, _ = self.handshake()
        program = self.start([harness.OPSCOPE, "run", "-q", "-o", self.path("live.opscope"), "--", harness.program("script"),
                              "zones=3", "read", "zones=4", "read", "zones=5"], stdin=subprocess.PIPE)
        for zones in (3, 7):
            while (state := self.state(page))["zones"] < zones:
                self.get(f"/api/t/{state['trace']}/trace")  # a page looks at it: from now on it is followed
            self.assertEqual((state["state"], state["zones"]), ("growing", zones))
            program.stdin.write(b"on\n")
            program.stdin.flush()
        while (state := self.state(page))["state"] != "complete":
            pass
        self.assertEqual((state["zones"], self.get(f"/api/t/{state['trace']}/trace")["zones"]), (12, 12))


class Files(ServerCase):
    def state(self, trace=0):
        return self.get("/api/traces")["traces"][trace]

    def test_deleted(self):
        path = self.small_trace()
        self.serve(path)
        os.unlink(path)
        harness.wait_until(lambda: self.state()["state"] == "deleted", "it is seen")
        self.assertEqual(self.get("/api/t/0/zones")["zones"], 4)
        self.assertEqual(len(self.sections("tracks=0:0")), 1)

    def test_replaced(self):
        path = self.small_trace()
        self.serve(path)
        other = self.trace(("track", "t", 1), ("zone", 0, 0, 9, "z"), name="b.opscope")
        os.rename(other, path)
        harness.wait_until(lambda: self.state()["state"] == "replaced", "it is seen")
        self.assertEqual(self.get("/api/t/0/trace")["zones"], 4)
        self.assertEqual(self.get("/api/t/1/trace")["zones"], 1)
        self.assertEqual(len(self.get("/api/traces")["traces"]), 2)

    def test_truncated(self):
        path = self.small_trace()
        self.serve(path)
        with open(path, "r+b") as file:
            file.truncate(100)
        harness.wait_until(lambda: self.state()["state"] == "damaged", "it is seen")
        self.assertTrue(self.state()["error"])
        for name in ("trace", "zones", "rows?tracks=0:0", "flame", "points"):
            self.assertIn(self.ask(f"/api/t/0/{name}")[0], (200, 500))

    def test_damaged_from_the_start(self):
        path = self.small_trace()
        size = os.path.getsize(path)
        with open(path, "r+b") as file:
            file.seek(size // 3)
            file.write(b"\xff" * 40)
        self.serve(path)  # test_view_faults.py has more of these
        self.assertEqual(self.ask("/api/t/0/trace")[0], 200)

    def test_not_a_trace(self):
        path = self.write("x.opscope", "no trace")
        self.assertEqual(self.opscope("view", path).status, 2)
        self.serve(cwd=self.folder)  # in a folder it does not keep the others from being shown
        self.assertEqual(self.state()["state"], "damaged")
        self.assertIn(self.ask("/api/t/0/trace")[0], (404, 500))
        self.small_trace("good.opscope")
        self.assertEqual(self.state(1)["state"], "complete")

    def test_growing(self):
        whole = self.small_trace()
        target = self.path("g.opscope.partial")
        shutil.copy(whole, target)
        self.serve(target)
        self.assertEqual(self.state()["generation"], 0)
        bigger = self.trace(*[("track", "t", 1)] + [("zone", 0, 10 * i, 10 * i + 5, "z") for i in range(100)],
                            name="bigger.opscope")
        with open(bigger, "rb") as source, open(target, "r+b") as file:  # in place: the same file, longer
            file.write(source.read())
            file.truncate()
        harness.wait_until(lambda: self.state()["generation"] == 1, "it was opened again")
        self.assertEqual(self.get("/api/t/0/trace")["zones"], 100)
        self.assertEqual(self.get("/api/t/0/zones")["zones"], 100)
        os.rename(target, self.path("g.opscope"))  # complete: it has its name
        harness.wait_until(lambda: self.state()["path"] == self.path("g.opscope"), "it is followed")
        self.assertEqual(self.state()["state"], "complete")


class Large(ServerCase):
    def test_ten_thousand_tracks(self):
        lines = []
        for i in range(10000):
            lines += [("track", f"t{i}", i + 1), ("zone", 0, i, i + 5, "z")]
        self.serve(self.trace(*lines))
        trace = self.get("/api/t/0/trace")
        self.assertEqual(len(trace["tracks"]), 10000)
        specs = ",".join(f"{i}:0" for i in range(1000))
        self.assertEqual(len(self.sections(f"tracks={specs}")), 1000)

    def test_two_hundred_deep(self):
        lines = [("track", "main", 1)] + [("zone", d, 10 + d, 1000 - d, f"z{d}") for d in range(200)]
        self.serve(self.trace(*lines))
        self.assertEqual(len(self.sections("tracks=0:0-199")), 200)
        zone = self.get("/api/t/0/zone?track=0&depth=199&at=400")
        self.assertEqual(len(zone["parents"]), 199)
        node, depth = self.get("/api/t/0/flame?min=0"), 0
        while node["children"]:
            node, depth = node["children"][0], depth + 1
        self.assertEqual(depth, 200)

    def test_three_days_beside_five_nanoseconds(self):
        day = 86400 * 10**9
        self.serve(self.trace(("track", "main", 1), ("zone", 0, 0, 3 * day, "days"), ("zone", 1, day, day + 5, "short"),
                              ("zone", 1, day + 10, day + 15, "short")))
        section, = self.sections(f"from={day - 10}&to={day + 30}&px=1000&tracks=0:1")
        self.assertEqual([(row[0], row[1]) for row in section.rows], [(day, day + 5), (day + 10, day + 15)])
        section, = self.sections("px=1000&tracks=0:1")
        self.assertEqual([(row[0], row[4]) for row in section.rows], [(day, 2)])

    def test_too_much_at_once(self):
        lines = [("track", "main", 1)] + [("zone", 0, 20 * i, 20 * i + 10, f"z{i % 9}") for i in range(60000)]
        self.serve(self.trace(*lines))
        error = self.get("/api/t/0/rows?px=16384&tracks=" + ",".join(["0:0"] * 1500), 400)["error"]
        self.assertIn("fewer", error)


if __name__ == "__main__":
    unittest.main()
