# SPDX-License-Identifier: Apache-2.0
"""Exports read by parsers that are not ours.

A recorded program (programs/export_workload.c) is exported to every format and read back: Perfetto's by Debian's
protobuf with a hand-written subset of the public schema, Chrome's and speedscope's by speedscope's own importers
from npm, JSON and CSV by Python. What they find is compared with what the program did, with `opscope info`, and
with each other.
"""

import collections
import csv
import decimal
import importlib.util
import io
import json
import os
import pty
import re
import shutil
import subprocess
import tempfile
import unittest

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
SPEEDSCOPE_VERSION = "1.25.0"

# What programs/export_workload.c does.
STEPS, DEPTH, ALLOCATIONS, OPS, CHILD_ZONES = 1500, 12, 50, 20, 100
WORKER_ZONES = {"work": 1, "step": STEPS, "recurse": STEPS * DEPTH}
ZONES = {"main": 1, "work": 2, "step": 2 * STEPS, "recurse": 2 * STEPS * DEPTH, "child work": CHILD_ZONES,
         "matmul": 2 * OPS, "kernel": OPS}
OPEN_ZONES = ["never ends", "nor this"]


def load_perfetto_schema(folder):
    """The subset schema as a Python module, made by Debian's protoc."""
    source = os.path.join(HERE, "perfetto_subset.proto")
    subprocess.run(["protoc", f"--proto_path={HERE}", f"--python_out={folder}", source], check=True)
    spec = importlib.util.spec_from_file_location("perfetto_subset_pb2", os.path.join(folder, "perfetto_subset_pb2.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Event = collections.namedtuple("Event", "ns type track name category notes flows location value")
Slice = collections.namedtuple("Slice", "track name category start end depth begin finish")


class Perfetto:
    """A parsed Perfetto file: tracks by uuid, events in the order of the file with their names resolved."""

    def __init__(self, schema, data):
        self.schema = schema
        self.tracks = {}
        self.duplicate_uuids = []
        self.events = []
        self.sequences = collections.Counter()
        self.problems = []
        self._interned = {}
        trace = schema.Trace()
        trace.ParseFromString(data)
        self.first_flags = trace.packet[0].sequence_flags
        for number, packet in enumerate(trace.packet):
            self._add(number, packet)

    def _add(self, number, packet):
        sequence = packet.trusted_packet_sequence_id
        self.sequences[sequence] += 1
        if sequence == 0:
            self.problems.append(f"packet {number} has no sequence")
        if packet.HasField("interned_data"):
            for kind in ("event_names", "event_categories", "source_locations"):
                for entry in getattr(packet.interned_data, kind):
                    if (sequence, kind, entry.iid) in self._interned or entry.iid == 0:
                        self.problems.append(f"packet {number} defines {kind} {entry.iid} again")
                    self._interned[sequence, kind, entry.iid] = entry
        if packet.HasField("track_descriptor"):
            descriptor = packet.track_descriptor
            if descriptor.uuid in self.tracks:
                self.duplicate_uuids.append(descriptor.uuid)
            self.tracks[descriptor.uuid] = descriptor
        if packet.HasField("track_event"):
            if not packet.sequence_flags & 2:
                self.problems.append(f"packet {number} uses interned data and does not say so")
            self.events.append(self._event(sequence, packet.timestamp, packet.track_event))

    def _event(self, sequence, ns, event):
        name, category, location, value = event.name, None, None, None
        if event.HasField("name_iid"):
            name = self._interned[sequence, "event_names", event.name_iid].name
        if event.category_iids:
            category = self._interned[sequence, "event_categories", event.category_iids[0]].name
        if event.HasField("source_location_iid"):
            location = self._interned[sequence, "source_locations", event.source_location_iid]
        if event.WhichOneof("counter_value_field"):
            value = getattr(event, event.WhichOneof("counter_value_field"))
        notes = {note.name: getattr(note, note.WhichOneof("value")) for note in event.debug_annotations}
        return Event(ns, event.type, event.track_uuid, name, category, notes, tuple(event.flow_ids), location, value)

    def slices(self, events):
        """Pairs begins and ends by track in the order given; fails where they do not nest."""
        kinds = self.schema.TrackEvent
        stacks = collections.defaultdict(list)
        last = collections.Counter()
        slices = []
        for event in events:
            if event.type not in (kinds.TYPE_SLICE_BEGIN, kinds.TYPE_SLICE_END):
                continue
            stack = stacks[event.track]
            if event.ns < last[event.track]:
                raise AssertionError(f"{event} comes after {last[event.track]}")
            last[event.track] = event.ns
            if event.type == kinds.TYPE_SLICE_BEGIN:
                stack.append(event)
            elif not stack:
                raise AssertionError(f"an end without a begin: {event}")
            else:
                begin = stack.pop()
                times = (begin.ns, event.ns)
                slices.append(Slice(event.track, begin.name, begin.category, *times, len(stack), begin, event))
        still_open = [stack for stack in stacks.values() if stack]
        if still_open:
            raise AssertionError(f"begins without an end: {still_open}")
        return slices


class Export(harness.TestCase):
    """One recording for all tests."""

    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp(prefix="opscope-test-")
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.trace = os.path.join(cls.shared, "t.opscope")
        done = harness.opscope("run", "-o", cls.trace, "--", harness.program("export_workload"))
        if done.status != 0:
            raise AssertionError(f"no trace to export: {done}")
        cls.info = harness.opscope_json("info", cls.trace)
        cls.made = {}

    @classmethod
    def export(cls, name, *options):
        """The path of an export of the shared trace, made once."""
        key = (name, options)
        if key not in cls.made:
            path = os.path.join(cls.shared, f"{len(cls.made)}-{name}")
            done = harness.opscope("export", cls.trace, "-o", path, *options)
            if done.status != 0:
                raise AssertionError(f"export failed: {done}")
            cls.made[key] = path
        return cls.made[key]

    def chrome(self, *options):
        with open(self.export("chrome.json", "--format", "chrome", *options), encoding="utf-8") as file:
            return json.load(file, parse_float=decimal.Decimal)

    def csv_rows(self, *options):
        with open(self.export("rows.csv", "--format", "csv", *options), encoding="utf-8", errors="replace",
                  newline="") as file:
            return list(csv.DictReader(file))


class WhatIsThere(Export):
    """The recording itself, so that the comparisons below have something to compare."""

    def test_program_was_recorded(self):
        self.assertEqual(self.info["zones"], sum(ZONES.values()), self.info)
        self.assertEqual(self.info["points"], 3 + 10)
        self.assertEqual(self.info["counters"], 10)
        self.assertEqual(self.info["memory_events"], 2 * ALLOCATIONS)
        self.assertEqual(self.info["ops"], OPS)
        self.assertEqual(self.info["runs"], OPS)
        self.assertEqual(self.info["lost_zones"], 0)


class Csv(Export):
    def test_zones(self):
        rows = self.csv_rows()
        closed = [row for row in rows if not row["open"]]
        still_open = [row["name"] for row in rows if row["open"]]
        self.assertEqual(collections.Counter(row["name"] for row in closed), ZONES)
        self.assertEqual(sorted(still_open), sorted(OPEN_ZONES))
        for row in closed:
            self.assertLessEqual(int(row["self_ns"]), int(row["duration_ns"]))
        texts = [row for row in closed if row["text"]]
        self.assertEqual(len(texts), 2 * STEPS // 100)
        self.assertIn('step 100, "quoted"\n\ttab \\x01 \u00e4 \ufffd;', {row["text"] for row in texts})
        self.assertIn(str(1 << 60 | 100), {row["value"] for row in texts})
        recurse = next(row for row in closed if row["name"] == "recurse")
        self.assertTrue(recurse["file"].endswith("export_workload.c"), recurse)
        self.assertEqual(recurse["function"], "recurse")
        self.assertGreater(int(recurse["line"]), 0)
        self.assertEqual({row["thread"] for row in closed if row["name"] == "work"}, {"worker one", 'worker; "two"'})

    def test_self_times_add_up(self):
        """On each thread, self times sum to the time of the outermost zones."""
        by_thread = collections.defaultdict(lambda: [0, 0])
        for row in self.csv_rows():
            if not row["open"]:
                sums = by_thread[row["pid"], row["thread"]]
                sums[0] += int(row["self_ns"])
                sums[1] += int(row["duration_ns"]) if row["depth"] == "0" else 0
        for thread in ("worker one", 'worker; "two"'):
            own, outermost = next(sums for (_, name), sums in by_thread.items() if name == thread)
            self.assertEqual(own, outermost)

    def test_other_rows(self):
        expected = {"messages": self.info["points"], "counters": self.info["counters"],
                    "memory": self.info["memory_events"], "ops": self.info["ops"], "runs": self.info["runs"],
                    "losses": 0}
        for what, count in expected.items():
            self.assertEqual(len(self.csv_rows("--what", what)), count, what)
        message = next(row for row in self.csv_rows("--what", "messages") if row["kind"] == "message")
        self.assertEqual(message["text"], 'a message, with "quotes" and a\nline break')
        self.assertEqual([row["value"] for row in self.csv_rows("--what", "counters")][:3], ["0", "0.5", "1"])
        op = self.csv_rows("--what", "ops")[0]
        self.assertEqual(op["name"], "matmul")
        self.assertEqual(len(op["inputs"].split(" | ")), 2, op)
        self.assertIn("dtype=BFLOAT16", op["outputs"])
        run = self.csv_rows("--what", "runs")[0]
        self.assertIn("NCRISC=300", run["parts_ticks"])
        calls = {row["call"] for row in self.csv_rows("--what", "ops")}
        self.assertEqual({row["call"] for row in self.csv_rows("--what", "runs")}, calls)


class Chrome(Export):
    def test_rows_have_names(self):
        events = self.chrome()["traceEvents"]
        processes = [event for event in events if event["ph"] == "M" and event["name"] == "process_name"]
        threads = [event for event in events if event["ph"] == "M" and event["name"] == "thread_name"]
        self.assertEqual(len({event["pid"] for event in processes}), len(processes), "a pid with two names")
        rows = [(event["pid"], event["tid"]) for event in threads]
        self.assertEqual(len(set(rows)), len(rows), "a row with two names")
        for event in events:
            if event["ph"] == "X":
                self.assertIn((event["pid"], event["tid"]), rows, event)
            if event["ph"] in "XiC":
                self.assertIn(event["pid"], {known["pid"] for known in processes}, event)
        names = {event["args"]["name"] for event in threads}
        self.assertLessEqual({"worker one", 'worker; "two"', "queue 0", "core 1,2"}, names)
        self.assertTrue(any("chip" in event["args"]["name"] for event in processes))
        for event in processes:
            sort = [other for other in events if other["name"] == "process_sort_index" and other["pid"] == event["pid"]]
            self.assertEqual(len(sort), 1)

    def test_zones_are_those_of_the_csv(self):
        data = self.chrome()
        zones = [event for event in data["traceEvents"] if event["ph"] == "X" and event["cat"] == "zone"]
        closed = [event for event in zones if not event["args"].get("open")]
        self.assertEqual(len(closed), self.info["zones"])
        self.assertEqual(sorted(event["name"] for event in zones if event["args"].get("open")), sorted(OPEN_ZONES))
        # Where zones touch, the last bit of the double is put right: the nanoseconds are what counts.
        ours = collections.Counter((e["name"], round(e["ts"] * 1000), round(e["dur"] * 1000)) for e in closed)
        theirs = collections.Counter(
            (row["name"], int(row["start_ns"]), int(row["duration_ns"]))
            for row in self.csv_rows() if not row["open"]
        )
        self.assertEqual(ours, theirs)
        texts = [event["args"] for event in closed if "text" in event["args"]]
        self.assertEqual(len(texts), 2 * STEPS // 100)
        self.assertEqual({args["value"] for args in texts}, {str(1 << 60 | i) for i in range(0, STEPS, 100)})

    def test_rows_nest(self):
        """As a reader sees them that takes times for doubles and keeps the order of the file for equal ones."""
        rows = collections.defaultdict(list)
        for event in self.chrome()["traceEvents"]:
            if event["ph"] == "X":
                rows[event["pid"], event["tid"]].append((float(event["ts"]), float(event["dur"]), event["name"]))
        for row, spans in rows.items():
            self.assertEqual(spans, sorted(spans, key=lambda span: span[0]), "not in order of begin")
            stack = []
            for start, duration, name in spans:
                end = start + duration
                while stack and stack[-1] <= start and not stack[-1] == start == end:
                    stack.pop()
                self.assertTrue(not stack or end <= stack[-1], f"{name} at {start} on {row} overlaps")
                stack.append(end)

    def test_everything_else(self):
        events = self.chrome()["traceEvents"]
        kinds = collections.Counter(event.get("cat") for event in events if event["ph"] == "i")
        self.assertEqual(kinds, {"signpost": 2, "message": 1, "frame": 10})
        counters = [event for event in events if event["ph"] == "C"]
        queue = [float(event["args"]["value"]) for event in counters if event["name"] == "queue; length"]
        self.assertEqual(queue, [i * 0.5 for i in range(10)])
        memory = [event["args"]["bytes"] for event in sorted(counters, key=lambda event: event["ts"])
                  if event["name"] == "memory: pool"]
        self.assertEqual(memory, [16 * i for i in range(1, ALLOCATIONS + 1)]
                         + [16 * i for i in range(ALLOCATIONS - 1, -1, -1)])
        ops = [event for event in events if event["ph"] == "X" and event["cat"] == "op"]
        runs = [event for event in events if event["ph"] == "X" and event["cat"] == "run"]
        self.assertEqual((len(ops), len(runs)), (OPS, OPS))
        self.assertEqual(ops[0]["args"]["attributes"], ["transpose=false"])
        self.assertEqual({op["args"]["call"] for op in ops}, {run["args"]["call"] for run in runs})
        self.assertEqual({run["args"]["NCRISC ticks"] for run in runs}, {300})


@harness.needs_command("protoc")
@harness.needs_module("google.protobuf")
class PerfettoFormat(Export):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(cls.export("t.pftrace", "--format", "perfetto"), "rb") as file:
            cls.file = Perfetto(load_perfetto_schema(cls.shared), file.read())
        cls.kinds = cls.file.schema.TrackEvent

    def test_tracks(self):
        self.assertEqual(self.file.problems, [])
        self.assertEqual(self.file.duplicate_uuids, [])
        self.assertNotIn(0, self.file.tracks)
        for uuid, track in self.file.tracks.items():
            seen = {uuid}
            while track.HasField("parent_uuid"):
                self.assertIn(track.parent_uuid, self.file.tracks, f"track {uuid} has an unknown parent")
                self.assertNotIn(track.parent_uuid, seen, "parents in a circle")
                seen.add(track.parent_uuid)
                track = self.file.tracks[track.parent_uuid]
            self.assertTrue(track.HasField("process") or track.name, track)
        for event in self.file.events:
            self.assertIn(event.track, self.file.tracks, event)
        pids = [track.process.pid for track in self.file.tracks.values() if track.HasField("process")]
        self.assertEqual(len(pids), len(set(pids)))
        threads = [(track.thread.pid, track.thread.tid) for track in self.file.tracks.values()
                   if track.HasField("thread")]
        self.assertEqual(len(threads), len(set(threads)))
        self.assertEqual({pid for pid, _ in threads} - set(pids), set())
        names = {track.thread.thread_name for track in self.file.tracks.values() if track.HasField("thread")}
        self.assertLessEqual({"worker one", 'worker; "two"'}, names)

    def test_sequences(self):
        """Interned names are valid only on a sequence that says so, from its first packet on."""
        self.assertEqual(self.file.first_flags & 1, 1)
        self.assertEqual(len(self.file.sequences), 1)

    def test_slices(self):
        slices = self.file.slices(self.file.events)
        zones = [s for s in slices if s.category == "zone"]
        is_open = [s for s in zones if s.finish.notes.get("open")]
        self.assertEqual(len(zones) - len(is_open), self.info["zones"])
        self.assertEqual(sorted(s.name for s in is_open), sorted(OPEN_ZONES))
        self.assertEqual(sum(s.category == "op" for s in slices), self.info["ops"])
        self.assertEqual(sum(s.category == "run" for s in slices), self.info["runs"])
        worker = [s for s in zones if self.file.tracks[s.track].thread.thread_name == "worker one"]
        self.assertEqual(collections.Counter(s.name for s in worker), WORKER_ZONES)
        self.assertEqual(max(s.depth for s in worker), DEPTH + 1)
        depths = {"work": {0}, "step": {1}, "recurse": set(range(2, DEPTH + 2))}
        for name, expected in depths.items():
            self.assertEqual({s.depth for s in worker if s.name == name}, expected)

    def test_slices_also_nest_when_sorted(self):
        """Perfetto's trace processor sorts by time and keeps the order of the file for equal times."""
        as_written = self.file.slices(self.file.events)
        by_time = self.file.slices(sorted(self.file.events, key=lambda event: event.ns))
        self.assertEqual(sorted(s[:6] for s in as_written), sorted(s[:6] for s in by_time))

    def test_zones_are_those_of_the_csv(self):
        origin = int(self.chrome()["otherData"]["start_ns"])
        ours = collections.Counter(
            (s.name, s.start - origin, s.end - s.start) for s in self.file.slices(self.file.events)
            if s.category == "zone" and not s.finish.notes.get("open")
        )
        theirs = collections.Counter(
            (row["name"], int(row["start_ns"]), int(row["duration_ns"]))
            for row in self.csv_rows() if not row["open"]
        )
        self.assertEqual(ours, theirs)

    def test_arguments(self):
        slices = self.file.slices(self.file.events)
        texts = [s.finish.notes for s in slices if s.name == "step" and "text" in s.finish.notes]
        self.assertEqual({notes["value"] for notes in texts}, {1 << 60 | i for i in range(0, STEPS, 100)})
        self.assertIn('step 100, "quoted"\n\ttab \x01 \u00e4 \ufffd;', {notes["text"] for notes in texts})
        notes = next(s for s in slices if s.category == "op").begin.notes
        self.assertEqual(notes["attribute transpose"], "false")
        self.assertIn("input 1", notes)
        flows = collections.Counter()
        for s in slices:
            if s.category in ("op", "run"):
                flows.update(s.begin.flows)
        self.assertEqual(set(flows.values()), {2}, "each op is connected with its run")
        self.assertEqual(len(flows), OPS)
        location = next(s for s in slices if s.name == "recurse").begin.location
        self.assertTrue(location.file_name.endswith("export_workload.c"))
        self.assertEqual(location.function_name, "recurse")

    def test_instants_and_counters(self):
        instants = collections.Counter(event.category for event in self.file.events
                                       if event.type == self.kinds.TYPE_INSTANT)
        self.assertEqual(instants, {"signpost": 2, "message": 1, "frame": 10})
        values = collections.defaultdict(list)
        for event in sorted(self.file.events, key=lambda event: event.ns):
            if event.type == self.kinds.TYPE_COUNTER:
                track = self.file.tracks[event.track]
                self.assertTrue(track.HasField("counter"))
                values[track.name].append(event.value)
        self.assertEqual(values["queue; length"], [i * 0.5 for i in range(10)])
        self.assertEqual(max(values["memory: pool"]), 16 * ALLOCATIONS)
        self.assertEqual(values["memory: pool"][-1], 0)

    def test_joined_files(self):
        """Two recordings joined by cat stay apart."""
        other = self.path("other.opscope")
        self.assert_status(self.opscope("run", "-o", other, "--", harness.program("export_workload")))
        self.assert_status(self.opscope("export", other, "-o", self.path("other.pftrace")))
        with open(self.export("t.pftrace", "--format", "perfetto"), "rb") as first, \
                open(self.path("other.pftrace"), "rb") as second:
            joined = Perfetto(self.file.schema, first.read() + second.read())
        self.assertEqual(joined.duplicate_uuids, [])
        self.assertEqual(len(joined.sequences), 2)
        zones = [s for s in joined.slices(joined.events) if s.category == "zone"]
        self.assertEqual(len(zones), 2 * (sum(ZONES.values()) + len(OPEN_ZONES)))


class Speedscope(Export):
    """speedscope's importers, as they are in the npm package."""

    @classmethod
    def setUpClass(cls):
        package = harness.npm_package("speedscope", SPEEDSCOPE_VERSION)
        super().setUpClass()
        files = [cls.export("t.json", "--format", "chrome"),
                 cls.export("t.speedscope.json", "--format", "speedscope"),
                 cls.export("t.collapsed", "--format", "collapsed")]
        done = harness.run(["node", os.path.join(HERE, "speedscope", "import.mjs"), package, *files])
        if done.status != 0:
            raise AssertionError(f"speedscope cannot read them: {done}")
        cls.chrome_import, cls.own_import, cls.collapsed_import = done.json()

    def find(self, imported, pattern):
        found = [profile for profile in imported["profiles"] if re.search(pattern, profile["name"])]
        self.assertEqual(len(found), 1, [profile["name"] for profile in imported["profiles"]])
        return found[0]

    def worker(self, thread):
        """(zones by name, total self ns by name) of a thread, from the CSV."""
        counts, self_ns = collections.Counter(), collections.Counter()
        for row in self.csv_rows():
            if row["thread"] == thread and not row["open"]:
                counts[row["name"]] += 1
                self_ns[row["name"]] += int(row["self_ns"])
        return counts, self_ns

    def check(self, profile, thread, ns):
        counts, self_ns = self.worker(thread)
        calls, weights = collections.Counter(), collections.Counter()
        for name, frame in profile["frames"].items():
            name = re.sub(r" \{.*\}$", "", name, flags=re.S)  # the Chrome importer puts the arguments into the name
            calls[name] += frame["calls"]
            weights[name] += frame["self"] * ns
        self.assertEqual(calls, counts)
        self.assertEqual(profile["calls"], sum(counts.values()))
        self.assertTrue(profile["ordered"])
        self.assertEqual(profile["drawn"], profile["closed"])
        for name, weight in weights.items():
            self.assertAlmostEqual(weight, self_ns[name], delta=1 + 1e-6 * self_ns[name])

    def test_chrome_importer(self):
        self.assertEqual(self.chrome_import["said"], ["Importing as Trace Event Format profile"])
        for thread in ("worker one", 'worker; "two"'):
            profile = self.find(self.chrome_import, re.escape(thread))
            self.check(profile, thread, 1000)
            # It takes a zone that begins in the ns in which one of the same name ends for a child of that one.
            self.assertGreaterEqual(profile["deepest"], DEPTH + 2)
        calls = sum(profile["calls"] for profile in self.chrome_import["profiles"])
        self.assertEqual(calls, self.info["zones"] + len(OPEN_ZONES) + self.info["ops"] + self.info["runs"])

    def test_own_importer(self):
        self.assertEqual(self.own_import["said"], ["Importing as speedscope json file"])
        self.assertEqual(self.own_import["name"], "t.opscope")
        profile = self.find(self.own_import, "worker one")
        self.assertEqual(profile["unit"], "nanoseconds")
        self.check(profile, "worker one", 1)
        self.assertEqual(profile["deepest"], DEPTH + 2)
        calls = sum(profile["calls"] for profile in self.own_import["profiles"])
        self.assertEqual(calls, self.info["zones"] + len(OPEN_ZONES))
        recurse = profile["frames"]["recurse"]
        self.assertTrue(recurse["file"].endswith("export_workload.c"), recurse)

    def test_collapsed_importer(self):
        profile = self.collapsed_import["profiles"][0]
        expected = collections.Counter()
        for row in self.csv_rows():
            if not row["open"]:
                expected[row["name"].replace(";", ":")] += int(row["self_ns"])
        for name in ("step", "recurse", "child work", "kernel"):
            self.assertEqual(profile["frames"][name]["self"], expected[name])
        self.assertEqual(profile["frames"]['worker: "two"']["self"], 0)


class Collapsed(Export):
    def test_lines(self):
        with open(self.export("t.collapsed", "--format", "collapsed"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual(lines, sorted(lines, key=lambda line: line.rsplit(" ", 1)[0].encode().split(b";")))
        stacks = {}
        for line in lines:
            stack, weight = line.rsplit(" ", 1)
            self.assertNotIn(stack, stacks, "two lines for one stack")
            stacks[stack] = int(weight)
        deepest = [stack for stack in stacks if ";worker one;" in stack and stack.count(";recurse") == DEPTH]
        self.assertEqual(len(deepest), 1)
        total = sum(int(row["self_ns"]) for row in self.csv_rows()
                    if not row["open"] and row["thread"] == "worker one")
        self.assertEqual(sum(weight for stack, weight in stacks.items() if ";worker one;" in stack), total)


class Command(Export):
    def window(self):
        """From within one step of a thread to within a later one: something is cut at either end."""
        steps = sorted((int(row["start_ns"]), int(row["duration_ns"]))
                       for row in self.csv_rows("--name", "step", "--thread", "worker one"))
        first, last = steps[len(steps) // 3], steps[len(steps) // 2]
        return first[0] + first[1] // 2, last[0] + last[1] // 2

    def test_filters(self):
        rows = self.csv_rows("--name", "step", "--thread", "worker one")
        self.assertEqual(len(rows), STEPS)
        self.assertEqual({row["thread"] for row in rows}, {"worker one"})
        everything = [row for row in self.csv_rows() if not row["open"]]
        since = self.info["length_ns"] // 4
        until = self.info["length_ns"] // 2
        rows = self.csv_rows("--since", f"{since}ns", "--until", f"{until}ns")
        expected = [row for row in everything if int(row["start_ns"]) < until
                    and int(row["start_ns"]) + int(row["duration_ns"]) > since]
        self.assertEqual(sum(not row["open"] for row in rows), len(expected))
        self.assertLess(len(expected), len(everything))

    def test_window_nests_in_every_format(self):
        """A part of the trace: parents that end after the window are there, and cut."""
        since, until = self.window()
        window = ("--since", f"{since}ns", "--until", f"{until}ns", "--thread", "worker*")
        rows = self.csv_rows(*window)
        with open(self.export("part.speedscope.json", "--format", "speedscope", *window), encoding="utf-8") as file:
            profiles = json.load(file)["profiles"]
        opened = 0
        for profile in profiles:
            stack, last = [], since
            for event in profile["events"]:
                self.assertTrue(last <= event["at"] <= until, event)
                last = event["at"]
                if event["type"] == "O":
                    stack.append(event["frame"])
                    opened += 1
                else:
                    self.assertEqual(stack.pop(), event["frame"])
            self.assertEqual(stack, [])
        self.assertEqual(opened, len(rows))
        spans = sorted((int(row["start_ns"]), int(row["start_ns"]) + int(row["duration_ns"])) for row in rows)
        self.assertEqual((spans[0][0], max(end for _, end in spans)), (since, until))
        events = self.chrome(*window)["traceEvents"]
        zones = [event for event in events if event["ph"] == "X" and event["cat"] == "zone"]
        in_chrome = sorted((round(e["ts"] * 1000), round(e["ts"] * 1000) + round(e["dur"] * 1000)) for e in zones)
        self.assertEqual(in_chrome, spans)
        with open(self.export("part.pftrace", "--format", "perfetto", *window), "rb") as file:
            parsed = Perfetto(load_perfetto_schema(self.shared), file.read())
        origin = int(self.chrome()["otherData"]["start_ns"])
        slices = [s for s in parsed.slices(parsed.events) if s.category == "zone"]
        self.assertEqual(sorted((s.start - origin, s.end - origin) for s in slices), spans)

    def test_csv_of_a_window_has_the_times_of_the_table(self):
        """With a name, too: the self time of a zone that is cut is without all the zones inside it."""
        since, until = self.window()
        window = ("--since", f"{since}ns", "--until", f"{until}ns")
        for options in (window, (*window, "--name", "step")):
            sums = collections.defaultdict(lambda: [0, 0])
            for row in self.csv_rows(*options):
                total = sums[row["name"]]
                total[0] += 1
                total[1] += int(row["self_ns"])
            table = collections.defaultdict(lambda: [0, 0])
            for row in self.opscope_json("zones", self.trace, *options)["rows"]:
                for i, key in enumerate(("count", "self_ns")):
                    table[row["name"]][i] += row[key]
            self.assertTrue(table)
            self.assertEqual(dict(sums), dict(table))

    def test_pipe(self):
        done = self.opscope("export", self.trace, "--format", "csv")
        self.assert_status(done)
        self.assertEqual(list(csv.DictReader(io.StringIO(done.stdout, newline=""))), self.csv_rows())
        same = self.opscope("export", self.trace, "--format", "csv", "-o", "-")
        self.assertEqual(same.stdout_bytes, done.stdout_bytes)
        with open(self.trace, "rb") as file:
            done = self.opscope("export", "-", "--format", "csv", stdin=file.read())
        self.assertEqual(same.stdout_bytes, done.stdout_bytes)

    def test_much_to_a_pipe_is_said(self):
        trace = self.record([harness.program("export_many"), "20000"], "--on-full=wait")
        done = self.opscope("export", trace, "--format", "csv")
        self.assertIn("20,001 zones, ops and runs go to standard output; -o FILE writes a file, -o - says that it is meant", done.stderr)
        for options in (("csv", "-o", "-"), ("collapsed",)):
            self.assertNotIn("standard output", self.opscope("export", trace, "--format", *options).stderr)

    def test_reader_goes_away(self):
        script = '"$0" export "$1" --format chrome -o - | head -c 100 > "$2"; echo "${PIPESTATUS[0]}"'
        done = self.run_command(["bash", "-c", script, harness.OPSCOPE, self.trace, self.path("head")])
        self.assertIn(done.stdout.strip(), ("0", "141"), done)  # 141: by SIGPIPE, as any other filter
        self.assertEqual(done.stderr, "")

    def on_terminal(self, *arguments):
        """Runs opscope with stdout and stderr on a terminal: (status, what the terminal shows)."""
        leader, follower = pty.openpty()
        process = self.start([harness.OPSCOPE, *arguments], stdout=follower, stderr=follower)
        os.close(follower)
        shown = b""
        try:
            while part := os.read(leader, 65536):
                shown += part
        except OSError:  # Linux says EIO when the last writer is gone
            pass
        os.close(leader)
        return process.wait(), shown.decode()

    @harness.needs_pty
    def test_terminal(self):
        trace = self.path("mine.opscope")
        shutil.copy(self.trace, trace)
        status, shown = self.on_terminal("export", trace, "--format", "perfetto", "-o", "-")
        self.assertEqual(status, 2)
        self.assertIn("binary", shown)
        for name, ending in (("chrome", ".json"), ("perfetto", ".pftrace"), ("csv", ".csv"),
                             ("speedscope", ".speedscope.json"), ("collapsed", ".collapsed")):
            status, shown = self.on_terminal("export", trace, "--format", name)
            self.assertEqual(status, 0, shown)
            self.assertIn(self.path("mine" + ending), shown)
            self.assertGreater(os.path.getsize(self.path("mine" + ending)), 0)

    def test_format_from_the_name(self):
        for name, begin in (("a.json", b'{"displayTimeUnit"'), ("a.speedscope.json", b'{"$schema"'),
                            ("a.csv", b"name,file"), ("a.collapsed", b"")):
            self.assert_status(self.opscope("export", self.trace, "-o", self.path(name)))
            with open(self.path(name), "rb") as file:
                self.assertTrue(file.read().startswith(begin), name)

    def test_mistakes(self):
        for arguments, words in (
            ((), "--format"),
            (("-o", self.path("a.unknown")), "--format"),
            (("--format", "perfeto"), "perfetto"),
            (("--format", "chrome", "--what", "ops"), "csv"),
            (("--format", "chrome", "--unit", "us"), "collapsed"),
            (("--format", "csv", "-o", self.path("no", "folder.csv")), "folder.csv"),
            (("--format", "csv", "-o", self.trace), "an input"),
            (("--format", "csv", "--thread", "no such thread"), "no such thread"),
        ):
            done = self.opscope("export", self.trace, *arguments)
            self.assertEqual(done.status, 2, done)
            self.assertIn(words, done.stderr)
        self.assertEqual(os.listdir(self.folder), [], "nothing half-written")
        self.assertEqual(harness.opscope_json("info", self.trace)["zones"], self.info["zones"])

    def test_full_disk(self):
        for name in ("chrome", "perfetto", "csv", "speedscope", "collapsed"):
            done = self.opscope("export", self.trace, "--format", name, "-o", "/dev/full")
            self.assertEqual(done.status, 2, done)
            self.assertIn("No space left", done.stderr)

    def test_left_out_is_said(self):
        for name in ("speedscope", "collapsed"):
            done = self.opscope("export", self.trace, "--format", name, "-o", self.path("x"))
            self.assertRegex(done.stderr, f"no room for: 13 messages.*{OPS} ops, {OPS} runs")


class SeveralTexts(harness.TestCase):
    """A zone may have several texts: every format shows all of them."""

    def export(self, name, *options):
        path = self.path(name)
        trace = self.record([harness.program("everything")])
        self.assert_status(self.opscope("export", trace, "-o", path, *options))
        return path

    def test_chrome(self):
        def no_key_twice(pairs):
            self.assertEqual(len(pairs), len(dict(pairs)), pairs)
            return dict(pairs)

        with open(self.export("t.json", "--format", "chrome"), encoding="utf-8") as file:
            events = json.load(file, object_pairs_hook=no_key_twice)["traceEvents"]
        (scoped,) = [event["args"] for event in events if event["name"] == "scoped"]
        self.assertEqual((scoped["text"], scoped["text 2"]), ("text of scoped", "and more of it"))

    def test_csv(self):
        with open(self.export("t.csv", "--format", "csv"), encoding="utf-8", newline="") as file:
            (scoped,) = [row for row in csv.DictReader(file) if row["name"] == "scoped"]
        self.assertEqual((scoped["text"], scoped["value"]), ("text of scoped\nand more of it", "42"))

    @harness.needs_command("protoc")
    @harness.needs_module("google.protobuf")
    def test_perfetto(self):
        with open(self.export("t.pftrace", "--format", "perfetto"), "rb") as file:
            parsed = Perfetto(load_perfetto_schema(self.folder), file.read())
        (scoped,) = [s.finish.notes for s in parsed.slices(parsed.events) if s.name == "scoped"]
        self.assertEqual((scoped["text"], scoped["text 2"]), ("text of scoped", "and more of it"))


class Losses(harness.TestCase):
    def test_every_format_tells(self):
        """Zones deeper than the trace can hold are lost, always the same number."""
        trace = self.record([harness.program("export_too_deep")])
        info = self.opscope_json("info", trace)
        lost = info["lost_zones"]
        self.assertGreater(lost, 0, info)

        def export(name, *options):
            path = self.path(name)
            done = self.opscope("export", trace, "-o", path, *options)
            self.assert_status(done)
            self.assertIn(f"the recording lost {lost:,} zones", done.stderr)
            with open(path, "rb") as file:
                return file.read()

        events = json.loads(export("t.json"))["traceEvents"]
        losses = [event for event in events if event.get("cat") == "loss"]
        self.assertEqual(sum(int(event["args"]["zones"]) for event in losses), lost)
        self.assertEqual({event["ph"] for event in losses}, {"i"})
        self.assertTrue(all(re.match(r"lost \d+ zones?", event["name"]) for event in losses), losses)
        rows = list(csv.DictReader(io.StringIO(export("t.csv", "--what", "losses").decode())))
        self.assertEqual(sum(int(row["zones"]) for row in rows), lost)
        self.assertIn(f"({lost} zones lost)", json.loads(export("t.speedscope.json"))["name"])
        self.assertIn(b"lost", export("t.pftrace"))
        # Without zones: a line for each of 65,535 stacks that deep would be 10 GB.
        export("t.collapsed", "--name", "no zone at all")


class Size(harness.TestCase):
    def test_memory_does_not_grow_with_the_trace(self):
        """Four million zones, which take 160 MB when they are all in memory, with an address space of 128 MiB."""
        trace = self.record([harness.program("export_many"), "4000000"], "--on-full=wait")
        self.assertEqual(self.opscope_json("info", trace)["zones"], 4000001)
        for name in ("chrome", "perfetto", "csv", "speedscope", "collapsed"):
            command = [harness.OPSCOPE, "export", trace, "--format", name, "-o", "/dev/null"]
            done = self.run_command(["sh", "-c", 'ulimit -v 131072 && exec "$@"', "sh", *command])
            self.assert_status(done)
            self.assertIn("4,000,001 zones", done.stderr)


if __name__ == "__main__":
    unittest.main()
