# SPDX-License-Identifier: Apache-2.0
"""Recorded streams of programs built with Tracy, against what is known of them; and damaged ones of our own."""

import csv
import gzip
import io
import os
import shutil
import struct
import unittest

import harness
import tracy_stream

LOCK_COLUMNS = ("event", "name", "lock", "shared", "thread", "start_ns", "duration_ns", "open")


class Recorded(harness.TestCase):
    """The streams of the reference data: counts as its README has them."""

    def import_stream(self, name, *options):
        source = harness.reference_data("tracy", f"stream-{name}.bin.gz")
        stream, trace = self.path("stream.bin"), self.path("t.opscope")
        with gzip.open(source) as packed, open(stream, "wb") as plain:
            shutil.copyfileobj(packed, plain)
        return self.opscope_json("import", "tracy", stream, "-o", trace, "--json", *options), trace

    def zones(self, trace):
        out = self.path("zones.csv")
        self.assert_status(self.opscope("export", "--format", "csv", trace, "-o", out))
        with open(out, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def test_iree(self):
        counts, trace = self.import_stream("iree-p72", "--protocol", "72")
        self.assertTrue(counts["whole"], counts)
        expected = {"frames": 10, "decoded_bytes": 47264, "items": 2778, "zones": 693, "open_zones": 0, "threads": 4, "not_shown": 0,
                    "lost_zones": 0, "lost_records": 0, "unnamed": 0}
        self.assertEqual({name: counts[name] for name in expected}, expected)
        records = {"SOURCE_LOCATION": 238, "STRING_DATA": 328, "MEM_ALLOC": 88, "MEM_FREE": 87, "ZONE_VALUE": 35, "ZONE_TEXT": 31,
                   "ZONE_NAME": 17, "SYS_TIME_REPORT": 1, "PLOT_DATA_FLOAT": 17}
        self.assertEqual({name: counts["records"].get(name) for name in records}, records)
        zones = self.zones(trace)
        self.assertEqual(sum(int(zone["duration_ns"]) for zone in zones), 259232146)
        threads = {}
        for zone in zones:
            threads[zone["thread"]] = threads.get(zone["thread"], 0) + 1
        self.assertEqual(threads, {"Main thread": 595, "iree-worker-0": 92, "iree-worker-1": 4, "iree-pro": 2})
        # zone by zone, as the vendor's exporter has them; its times count from the start of the program
        with gzip.open(harness.reference_data("tracy", "stream-iree-p72.zones.csv.gz"), "rt", encoding="utf-8") as file:
            theirs = [(row["name"], row["src_file"], int(row["src_line"]), int(row["start_ns"]), int(row["duration_ns"]))
                      for row in csv.DictReader(file)]
        start = min(row[3] for row in theirs)
        first = min(int(zone["start_ns"]) for zone in zones)
        ours = [(zone["name"], zone["file"], int(zone["line"]), int(zone["start_ns"]) - first + start, int(zone["duration_ns"]))
                for zone in zones]
        self.assertEqual(sorted(row[1:] for row in ours), sorted(row[1:] for row in theirs))
        # theirs is the name of the source location: 17 zones have one of their own
        self.assertEqual(sum(row not in set(theirs) for row in ours), 17)
        memory = self.opscope_json("memory", trace, "--json")
        self.assertIn("68507039", str(memory))

    def check_features(self, name, items, total_ns, *options, zones=330, locations=7, strings=11):
        counts, trace = self.import_stream(name, *options)
        self.assertTrue(counts["whole"], counts)
        expected = {"items": items, "zones": zones, "gpu_zones": 4, "lock_zones": 600, "open_zones": 0, "threads": 4, "lost_zones": 0,
                    "lost_records": 0, "unnamed": 0}
        self.assertEqual({key: counts[key] for key in expected}, expected)
        records = {"SOURCE_LOCATION": locations, "STRING_DATA": strings, "LOCK_WAIT": 150, "LOCK_OBTAIN": 150, "LOCK_MARK": 150,
                   "LOCK_RELEASE": 150, "LOCK_SHARED_WAIT": 150, "LOCK_SHARED_OBTAIN": 150, "LOCK_SHARED_RELEASE": 150,
                   "MEM_ALLOC": 150, "MEM_FREE": 150, "MEM_ALLOC_NAMED": 150, "MEM_FREE_NAMED": 150, "PLOT_DATA_DOUBLE": 30,
                   "PLOT_DATA_INT": 24, "MESSAGE_LITERAL": 6, "MESSAGE_COLOR": 6, "MESSAGE_APP_INFO": 1, "FRAME_MARK_MSG": 10,
                   "FRAME_MARK_MSG_START": 10, "FRAME_MARK_MSG_END": 10, "GPU_NEW_CONTEXT": 1, "GPU_TIME": 8}
        self.assertEqual({key: counts["records"].get(key) for key in records}, records)
        rows = self.zones(trace)
        ours = ("worker 0", "worker 1", "worker 2", "Main thread", "fiber 1", "fiber 2")
        own = [row for row in rows if row["thread"] in ours and not row["name"].startswith("fiber ")]
        self.assertEqual(len(own), zones)
        self.assertEqual(sum(int(row["duration_ns"]) for row in own), total_ns)
        self.check_zones(rows)
        self.check_others(trace)
        return counts, rows

    def check_zones(self, rows):
        def named(name):
            return [row for row in rows if row["name"] == name]

        for worker in ("worker 0", "worker 1", "worker 2"):
            self.assertEqual(sum(row["thread"] == worker for row in named("work")), 50)
            leaves = [row for row in rows if row["thread"] == worker and (row["name"] == "leaf zone" or row["name"].startswith("item "))]
            self.assertEqual(sorted(int(row["value"]) for row in leaves), list(range(50)))
            self.assertEqual(sorted(row["name"] for row in leaves if row["text"]), sorted(f"item {n}" for n in range(0, 50, 10)))
            self.assertEqual({row["text"] for row in leaves if row["text"]} - {row["name"] for row in leaves}, set())
        self.assertEqual([row["text"] for row in named("c zone")], ["c text"] * 10)
        self.assertEqual({(row["function"], row["file"], row["line"]) for row in named("dyn name")}, {("pyfunc", "gen.py", "123")})
        self.assertEqual(len(named("named mutex")), 150)
        self.assertEqual({row["value"] for row in named("named mutex")}, {row["tid"] for row in named("work")})  # the owner
        self.assertEqual(len(named("wait for named mutex")), 150)
        kernels = sorted((row for row in rows if row["name"].startswith("kernel ")), key=lambda row: int(row["start_ns"]))
        self.assertEqual(len(kernels), 4)
        self.assertEqual({(row["function"], row["file"], row["line"]) for row in kernels}, {("kern", "k.cl", "7")})
        # 100 ticks apart, 50 long, of 2 ns
        starts = [int(row["start_ns"]) for row in kernels]
        self.assertEqual([start - starts[0] for start in starts], [0, 200, 400, 600])
        self.assertEqual({row["duration_ns"] for row in kernels}, {"100"})

    def check_others(self, trace):
        counters = {row["name"]: row for row in self.opscope_json("counters", trace, "--json")["rows"]}
        self.assertEqual((counters["my plot"]["count"], counters["my plot"]["max"]), (30, 22.5))
        self.assertEqual(counters["int plot"]["count"], 24)
        messages = self.opscope_json("messages", trace, "--json")["rows"]
        texts = [row["text"] for row in messages if row["kind"] == "message"]
        self.assertEqual(sorted(texts), ["app info text"] + ["dynamic msg"] * 6 + ["literal msg"] * 6)
        memory = str(self.opscope_json("memory", trace, "--json"))
        for amount in ("pool A", "1500", "18675"):
            self.assertIn(amount, memory)
        info = self.opscope_json("info", trace, "--json")
        self.assertIn("my gpu", str(info))
        locks = {row["name"]: (row["holds"], row["waits"]) for row in self.opscope_json("locks", trace, "--json")["rows"]}
        self.assertEqual(locks["named mutex"], (150, 150))
        self.assertEqual(sorted(locks.values()), [(150, 150), (150, 150)])

    def test_version_72(self):
        self.check_features("features-p72", 3070, 24352498, "--protocol", "72")

    def test_version_76(self):
        self.check_features("features-p76", 3069, 33235807)

    def test_version_82(self):
        counts, rows = self.check_features("features-p82", 3085, 35665008)
        self.assertEqual(counts["own_messages"], 3)
        self.assertEqual({row["name"] for row in rows if row["thread"] == "sections"}, {"sec 1", "sec two"})

    def test_wide_contexts(self):
        counts, _ = self.check_features("features-tt66", 3070, 37611182)
        self.assertEqual((counts["protocol"], counts["wide_contexts"]), (66, True))
        self.check_features("features-tt66", 3070, 37611182, "--protocol", "tt66")

    def test_fibers(self):
        _, rows = self.check_features("fibers-p82", 3125, 36874560, zones=332, locations=9, strings=13)
        self.assertEqual(sum(row["thread"] == "fiber 1" for row in rows), 1)
        self.assertEqual(sum(row["name"] == "fiber 1" for row in rows), 2)  # its turns on the thread


class MadeCase(harness.TestCase):
    """Streams of our own."""

    def import_bytes(self, data, *options):
        with open(self.path("stream.bin"), "wb") as file:
            file.write(data)
        return self.opscope("import", "tracy", self.path("stream.bin"), "-o", self.path("t.opscope"), *options)


class Made(MadeCase):
    """What the recorded ones do not have."""

    def test_pool_is_emptied(self):
        client = tracy_stream.Client(82)
        pool, thread = tracy_stream.u64(0x601000), tracy_stream.u32(7)
        records = client.thread(7)
        for step in range(5):
            records += client.record("MEM_NAME_PAYLOAD", pool)
            records += client.record("MEM_ALLOC_NAMED", tracy_stream.u64(2000 if step == 0 else 10), thread,
                                     tracy_stream.u64(0x7000 + step * 16), tracy_stream.u32(100), tracy_stream.u16(0))
            if step == 3:
                records += client.record("MEM_DISCARD", tracy_stream.u64(10), thread, pool)
        records += client.answer("STRING_DATA", 0x601000, b"arena") + client.answer("THREAD_NAME", 7, b"main")
        stream = tracy_stream.welcome(82) + tracy_stream.frame(records) + tracy_stream.frame(client.record("TERMINATE"))
        self.assert_status(self.import_bytes(stream))
        (row,) = self.opscope_json("memory", self.path("t.opscope"), "--json")["rows"]
        self.assertEqual((row["pool"], row["allocations"], row["releases"]), ("arena", 5, 4))
        self.assertEqual((row["peak_bytes"], row["live_bytes"]), (400, 100))


    def test_locks(self):
        """Thread 8 waits twice, for 7 and then for 9, while 7 holds another lock of the same name; 9 still holds a lock at the end, that 7
        and 8 share; a zone that is only called as one who waits is none."""
        client = tracy_stream.Client(72)
        now = 0

        def step(kind, time, lock, thread=None):
            nonlocal now
            delta, now = tracy_stream.u64(time - now), time
            if kind == "LOCK_RELEASE":
                return client.record(kind, tracy_stream.u32(lock), delta)
            if kind == "LOCK_SHARED_RELEASE":
                return client.record(kind, tracy_stream.u32(lock), delta, tracy_stream.u32(thread))
            return client.record(kind, tracy_stream.u32(thread), tracy_stream.u32(lock), delta)

        records = b""
        for lock, name in ((1, b"queue"), (2, b"log"), (3, b"queue"), (4, b"table")):
            text = client.record("SINGLE_STRING_DATA", tracy_stream.u16(len(name)), name)
            records += client.record("LOCK_ANNOUNCE", tracy_stream.u32(lock), tracy_stream.u64(1500), tracy_stream.u64(0), b"\0")
            records += text + client.record("LOCK_NAME", tracy_stream.u32(lock))
        records += step("LOCK_WAIT", 2000, 1, 7) + step("LOCK_OBTAIN", 2001, 1, 7) + step("LOCK_WAIT", 2010, 1, 8)
        records += step("LOCK_RELEASE", 2100, 1) + step("LOCK_OBTAIN", 2101, 1, 8) + step("LOCK_RELEASE", 2110, 1)
        records += step("LOCK_OBTAIN", 2900, 3, 7) + step("LOCK_WAIT", 3000, 1, 9) + step("LOCK_OBTAIN", 3000, 1, 9) + step("LOCK_WAIT", 3100, 1, 8)
        records += step("LOCK_RELEASE", 3450, 1) + step("LOCK_OBTAIN", 3500, 1, 8) + step("LOCK_RELEASE", 3510, 1) + step("LOCK_RELEASE", 3590, 3)
        records += step("LOCK_WAIT", 3600, 2, 9) + step("LOCK_OBTAIN", 3600, 2, 9)
        for thread in (7, 8):
            records += step("LOCK_SHARED_OBTAIN", 3700, 4, thread)
        records += step("LOCK_SHARED_RELEASE", 3750, 4, 8) + step("LOCK_SHARED_RELEASE", 3800, 4, 7) + step("LOCK_WAIT", 3900, 2, 8)
        payload = struct.pack("<II", 0, 5) + b"main\0main.c\0wait for rain"
        records += client.thread(7) + client.record("SOURCE_LOCATION_PAYLOAD", tracy_stream.u64(0), tracy_stream.u16(len(payload)), payload)
        records += client.record("ZONE_BEGIN_ALLOC_SRCLOC", tracy_stream.u64(4000)) + client.end(100)
        for thread in (7, 8, 9):
            records += client.answer("THREAD_NAME", thread, b"thread " + b"%d" % thread)
        stream = tracy_stream.welcome(72) + tracy_stream.frame(records) + tracy_stream.frame(client.record("TERMINATE"))
        self.assert_status(self.import_bytes(stream, "--protocol", "72"))
        queue, log, table = self.opscope_json("locks", self.path("t.opscope"), "--json")["rows"]
        self.assertEqual((queue["name"], queue["locks"], queue["holds"]), ("queue", 2, 5))
        self.assertEqual((queue["held_ns"], queue["longest_hold_ns"]), (99 + 9 + 450 + 10 + 690, 690))
        self.assertEqual((queue["waits"], queue["waited_ns"], queue["longest_wait_ns"]), (4, 1 + 91 + 0 + 400, 400))
        self.assertEqual((queue["longest_wait_at_ns"], queue["waiter"], queue["holder"]), (1100, "thread 8", "thread 9"))
        self.assertEqual((log["name"], log["holds"], log["waits"], log["open_waits"], log["held_ns"]), ("log", 1, 2, 1, 500))
        self.assertEqual((log["waiter"], log["holder"], log["waited_ns"]), ("thread 8", "thread 9", 200))
        self.assertEqual((table["name"], table["holds"], table["shared_holds"], table["held_ns"]), ("table", 2, 2, 50 + 100))
        self.assertEqual((queue["shared_holds"], queue["open_waits"]), (0, 0))
        early = self.opscope_json("locks", self.path("t.opscope"), "--until", "500ns", "--json")["rows"]
        self.assertEqual([(row["name"], row["waiter"], row["holder"]) for row in early], [("queue", "thread 8", "thread 7")])
        self.assertIn("queue", self.opscope("locks", self.path("t.opscope"), "--name", "q*").stdout)
        done = self.opscope("export", self.path("t.opscope"), "--format", "csv", "--what", "locks", "--name", "log", "--name", "table")
        self.assert_status(done)
        rows = [tuple(row[key] for key in LOCK_COLUMNS) for row in csv.DictReader(io.StringIO(done.stdout))]
        self.assertEqual(sorted(rows), [("hold", "log", "2", "0", "thread 9", "1600", "500", "1"), ("hold", "table", "4", "1", "thread 7", "1700", "100", "0"),
                                        ("hold", "table", "4", "1", "thread 8", "1700", "50", "0"), ("wait", "log", "2", "0", "thread 8", "1900", "200", "1"),
                                        ("wait", "log", "2", "0", "thread 9", "1600", "0", "0")])
        self.assertEqual(self.opscope_json("locks", self.path("t.opscope"), "--name", "nothing", "--json")["rows"], [])

    def test_counter_of_a_device_begins_again(self):
        """With 32 bits: the zones after that come after the ones before."""
        client = tracy_stream.Client(72)
        context = struct.pack("<qqIfBBB", 2000, 0, 7, 1.0, 3, 0, 7)
        records = client.record("GPU_NEW_CONTEXT", context)
        wire_time, cpu = 0, 2000
        payload = struct.pack("<II", 0, 5) + b"main\0main.c\0kernel"
        for number, (start, end) in enumerate(((2**32 - 1000, 2**32 - 500), (100, 300), (2**32 - 100, 2**32 - 50), (50, 60))):
            records += client.record("SOURCE_LOCATION_PAYLOAD", tracy_stream.u64(0), tracy_stream.u16(len(payload)), payload)
            for kind, query in (("GPU_ZONE_BEGIN_ALLOC_SRCLOC_SERIAL", 2 * number), ("GPU_ZONE_END_SERIAL", 2 * number + 1)):
                records += client.record(kind, tracy_stream.u64(cpu), tracy_stream.u32(7), tracy_stream.u16(query), b"\3")
                cpu = 10
            for query, time in ((2 * number, start), (2 * number + 1, end)):
                records += client.record("GPU_TIME", tracy_stream.u64(time - wire_time), tracy_stream.u16(query), b"\3")
                wire_time = time
        stream = tracy_stream.welcome(72) + tracy_stream.frame(records) + tracy_stream.frame(client.record("TERMINATE"))
        self.assert_status(self.import_bytes(stream, "--protocol", "72"))
        out = self.path("zones.csv")
        self.assert_status(self.opscope("export", "--format", "csv", self.path("t.opscope"), "-o", out))
        with open(out, encoding="utf-8", newline="") as file:
            zones = sorted((int(row["start_ns"]), int(row["duration_ns"])) for row in csv.DictReader(file))
        self.assertEqual([(start - zones[0][0], length) for start, length in zones],
                         [(0, 500), (1100, 200), (2**32 + 900, 50), (2**32 + 1050, 10)])


class Damaged(MadeCase):
    """Streams that are cut, wrong or hostile: what came before is in the trace, and a line says so."""

    def test_every_cut(self):
        whole = tracy_stream.small(72)
        for length in range(0, len(whole), 41):
            done = self.import_bytes(whole[:length], "--protocol", "72")
            self.assertIn(done.status, (0, 2), done)
            self.assertTrue(done.stderr, done)
        self.assert_status(self.import_bytes(whole, "--protocol", "72"))
        zones = self.opscope_json("zones", self.path("t.opscope"), "--json")["rows"]
        self.assertEqual([(zone["name"], zone["count"]) for zone in zones], [("outer", 1), ("inner", 2)])

    def test_open_zones_are_kept(self):
        done = self.import_bytes(tracy_stream.small(82, is_open=True))
        self.assert_status(done)
        self.assertIn("ends before its program did", done.stderr)
        self.assertIn("outer", self.opscope("zones", self.path("t.opscope")).stdout)

    def test_not_a_stream(self):
        for data in (b"", b"\2", b"\3", b"hello world" * 400, bytes(5000)):
            done = self.import_bytes(data)
            self.assertEqual(done.status, 2, done)
            self.assertIn("stream.bin", done.stderr)
            self.assertFalse(os.path.exists(self.path("t.opscope")))

    def test_wrong_protocol_is_named(self):
        done = self.import_bytes(tracy_stream.small(72), "--protocol", "82")
        self.assertIn("protocol", done.stderr)
        done = self.import_bytes(tracy_stream.small(72), "--protocol", "83")
        self.assertEqual(done.status, 2, done)
        self.assertIn("63 to 82", done.stderr)


if __name__ == "__main__":
    unittest.main()
