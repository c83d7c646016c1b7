// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { Embedded, NotHere } from "../src/model/embedded";
import { decodeRows, encodeRows, FLAG_GAP, FLAG_SUMMARY, FLAG_WAIT, rowKey, summarise, type Section } from "../src/model/rows";
import type { FindResult, Launched, OpRuns, RangeStats, SearchResult, SourceAnswer, ZoneDetail } from "../src/model/types";

type Row = [start: number, end: number, name: number, flags?: number];

function section(track: number, runs: boolean, depth: number, rows: Row[]): Section {
    return {
        key: rowKey(track, runs, depth), track, runs, depth, count: rows.length,
        start: Float64Array.from(rows, (row) => row[0]), end: Float64Array.from(rows, (row) => row[1]),
        busy: new Float32Array(rows.length).fill(1), name: Uint32Array.from(rows, (row) => row[2]),
        zones: new Uint32Array(rows.length).fill(1), flags: Uint8Array.from(rows, (row) => row[3] ?? 0),
    };
}

const listed = (of: Section) => Array.from({ length: of.count }, (_, at) =>
    [of.start[at], of.end[at], of.name[at], of.zones[at], of.flags[at]]);

test("what is encoded is decoded, also at odd counts", () => {
    const sections = [section(1, false, 0, [[0, 9, 4], [9, 10, 5, FLAG_WAIT], [11, 12, 4]]), section(2, true, 3, [[5, 6, 7]])];
    const back = decodeRows(encodeRows(sections, 3, 99));
    assert.deepEqual(back.map((one) => one.key), ["1z0", "2r3"]);
    assert.deepEqual(back.map(listed), sections.map(listed));
});

test("rows shorter than a cell are summed up by cell, longer ones stay", () => {
    const of = section(0, false, 0, [[0, 1, 1], [1, 3, 2, FLAG_WAIT], [4, 6, 3], [8, 32, 4], [33, 34, 5]]);
    const drawn = summarise(of, 0, 64, 3);
    assert.deepEqual(listed(drawn), [[0, 6, 2, 3, FLAG_SUMMARY | FLAG_WAIT], [8, 32, 4, 1, 0], [33, 34, 5, 1, 0]]);
    assert.ok(Math.abs((drawn.busy[0] as number) - 5 / 6) < 1e-6, "one of six is empty");
    assert.deepEqual(listed(summarise(of, 0, 64, 0)), listed(of), "all of them at the finest level");
    assert.deepEqual(listed(summarise(of, 9, 20, 0)), [[8, 32, 4, 1, 0]], "what reaches in keeps its times");
});

test("gaps shorter than a cell are left out", () => {
    const of = section(0, true, 0, [[0, 8, 1], [8, 9, 0xffffffff, FLAG_GAP], [9, 17, 1], [17, 30, 0xffffffff, FLAG_GAP]]);
    assert.deepEqual(listed(summarise(of, 0, 64, 3)).map((row) => row[4]), [0, 0, FLAG_GAP]);
});

const base64 = (buffer: ArrayBuffer) => Buffer.from(buffer).toString("base64");

function file(more: Record<string, string> = {}, changed?: Section[]): Embedded {
    const rows = changed ?? [section(0, false, 0, [[0, 100, 0], [100, 200, 0]]), section(0, false, 1, [[10, 40, 1], [50, 60, 1], [150, 250, 1]]),
        section(1, true, 0, [[0, 50, 2], [50, 80, 0xffffffff, FLAG_GAP], [80, 90, 2]]), section(1, true, 1, [[40, 60, 2]])];
    const zoneRow = { name: 1, text: "Inner", file: "a.py", count: 3, total: 140 };
    const answers: Record<string, string> = {
        traces: JSON.stringify({ version: "1", panel: "ops", traces: [{ series_px: 16, summed_ns: 0, left_out: [] }] }),
        trace: JSON.stringify({ duration_ns: 300, tracks: [{ id: 0, name: "main", runs: 0 }, { id: 1, name: "GPU", runs: 3 }] }),
        "names?page=0": JSON.stringify({ count: 3, names: [[0, "Outer", "", 0, 1, 0, 0], [1, "Inner", "a.py", 1, 1, 1, 0], [2, "k", "", 0, 1, 1, 0]] }),
        "zones?from=0&to=300&sort=self&top=5000": JSON.stringify({ rows: [zoneRow] }),
        "points?limit=1000": JSON.stringify({ points: [{ time: 5, track: 0, header: "", text: "an inner thought" }] }),
        "ops?group=op%2Bshape&limit=5000&warmup=leave-out": JSON.stringify({ groups: [] }),
        runs: "[]",
        ...more,
        rows: base64(encodeRows(rows, 0, 300)),
    };
    return new Embedded((question) => answers[question] ?? null);
}

test("a zone is found with what it is in and its own time", () => {
    const zone = file().answer("/t/0/zone", { track: 0, depth: 1, at: 12 }) as ZoneDetail;
    assert.deepEqual([zone.name, zone.start, zone.duration, zone.self], [1, 10, 30, 30]);
    assert.deepEqual(zone.parents, [{ name: 0, depth: 0, start: 0, duration: 100 }]);
    const outer = file().answer("/t/0/zone", { track: 0, depth: 0, at: 0 }) as ZoneDetail;
    assert.deepEqual([outer.self, outer.children], [60, 2]);
    assert.throws(() => file().answer("/t/0/zone", { track: 0, depth: 1, at: 45 }), NotHere);
});

test("all zones of a name, cut to the window", () => {
    const found = file().answer("/t/0/find", { name: 1, from: 0, to: 200, limit: 2 }) as FindResult;
    assert.deepEqual([found.count, found.total, found.min, found.max, found.p50], [3, 90, 10, 50, 30]);
    assert.deepEqual(found.calls.map((call) => call.start), [150, 10], "longest first");
    assert.equal(found.histogram.reduce((sum, bin) => sum + bin.count, 0), 3);
});

test("a range is clipped, and lanes that overlap count once", () => {
    const range = file().answer("/t/0/range", { from: 50, to: 150 }) as RangeStats;
    assert.deepEqual(range.names.map(({ name, count, self, total }) => [name, count, self, total]), [[0, 2, 90, 100], [1, 1, 10, 10]]);
    assert.equal(range.reach_out, 2);
    assert.deepEqual(range.tracks, [{ track: 0, busy: 100 }, { track: 1, busy: 20 }]);
});

test("search looks into names, tracks and messages in any case", () => {
    const found = file().answer("/t/0/search", { q: "INNER", limit: 5 }) as SearchResult;
    assert.deepEqual([found.names.map((row) => row.text), found.tracks, found.messages.length], [["Inner"], [], 1]);
    assert.deepEqual((file().answer("/t/0/search", { q: "gpu" }) as SearchResult).tracks, [{ track: 1, text: "GPU" }]);
    const restricted = file().answer("/t/0/search", { q: "in*r", file: "no such file" }) as SearchResult;
    assert.deepEqual([restricted.names, restricted.tracks, restricted.messages], [[], [], []]);
    assert.deepEqual((file().answer("/t/0/search", { q: "in*r" }) as SearchResult).names.map((row) => row.text), ["Inner"]);
});

test("what the file does not have is said", () => {
    assert.deepEqual(file().answer("/t/0/ops", { from: 3, to: 9, group: "op+shape" }), { groups: [] });
    assert.throws(() => file().answer("/t/0/zones", { from: 1, to: 2 }), /opscope view/);
    assert.throws(() => file().answer("/t/0/run", { track: 1, at: 5 }), /not in this file/);
    assert.throws(() => file().answer("/t/0/nothing", {}), NotHere);
    assert.ok(file().hasWindow(0, 300) && !file().hasWindow(0, 200));
});

test("what was chosen, or all where that leaves something out", () => {
    const asked = { group: "op+shape", warmup: "include" };
    assert.deepEqual(file().answer("/t/0/ops", asked), { groups: [] });
    const all = file({ "ops?group=op%2Bshape&limit=5000&warmup=include": '{"groups":[1]}' });
    assert.deepEqual(all.answer("/t/0/ops", asked), { groups: [1] });
    assert.deepEqual(all.answer("/t/0/ops", { ...asked, warmup: "leave-out" }), { groups: [] });
});

test("a file with sums of short zones counts nothing from them, and says so", () => {
    const short = section(0, false, 1, [[90, 110, 1, FLAG_SUMMARY], [120, 128, 1, FLAG_SUMMARY], [150, 250, 1]]);
    short.zones.set([7, 4]);
    const traces = JSON.stringify({ panel: "ops", traces: [{ series_px: 16, summed_ns: 16, left_out: ["messages"] }] });
    const summed = file({ traces }, [section(0, false, 0, [[0, 100, 0], [112, 140, 0]]), short]);
    const zone = (at: number, depth: number) => summed.answer("/t/0/zone", { track: 0, depth, at }) as ZoneDetail;
    assert.deepEqual([zone(0, 0).self, zone(0, 0).children], [null, null], "a sum reaches out of it");
    assert.deepEqual([zone(112, 0).self, zone(112, 0).children], [20, 4]);
    assert.throws(() => zone(100, 1), /shorter than 16.ns/);
    assert.throws(() => summed.answer("/t/0/range", { from: 0, to: 50 }), /range: opscope view/);
    assert.throws(() => summed.answer("/t/0/find", { name: 1, from: 0, to: 50 }), NotHere);
    assert.equal(summed.missing().length, 2);
    assert.match(summed.missing()[0] as string, /^zones and runs shorter than 16.ns/);
    assert.deepEqual(file().missing(), []);
});

test("names that were too many are not asked for again", () => {
    assert.deepEqual(file().answer("/t/0/names", { page: 7 }), { count: 0, names: [] });
});

test("a file of two traces answers for each, and compares them as they are", () => {
    const entry = { series_px: 16, summed_ns: 0, left_out: [] };
    const two = file({
        traces: JSON.stringify({ panel: "compare", traces: [entry, { ...entry, left_out: ["messages"] }] }), compare: '{"kind":"runs"}',
        "1/trace": JSON.stringify({ duration_ns: 7, tracks: [] }), "1/rows": base64(encodeRows([section(0, false, 0, [[1, 2, 0]])], 0, 7)),
    });
    assert.equal((two.answer("/t/1/trace", {}) as { duration_ns: number }).duration_ns, 7);
    assert.equal((two.answer("/t/0/trace", {}) as { duration_ns: number }).duration_ns, 300);
    assert.deepEqual(decodeRows(two.rows("/t/1/rows", { from: 0, to: 7, px: 7, tracks: "0:0-0" })).map(listed), [[[1, 2, 0, 1, 0]]]);
    assert.deepEqual(two.answer("/compare", { a: 0, b: 1, a_from: undefined }), { kind: "runs" });
    assert.throws(() => two.answer("/compare", { a: 1, b: 0 }), NotHere);
    assert.throws(() => two.answer("/compare", { a: 0, b: 1, b_from: 3 }), NotHere);
    assert.deepEqual([two.panel, two.missing()], ["compare", ["messages"]]);
});

test("the runs of an op are those of its grouping", () => {
    const of = (name: string) => JSON.stringify([{ name, count: 1, runs: [{ track: 1, start: 5, duration: 2 }], place_count: 0, places: [] }]);
    const one = file({ "op?group=op%2Bshape&warmup=leave-out": of("k 2 x 2"), "op?group=op&warmup=leave-out": of("k") });
    assert.equal((one.answer("/t/0/op", { name: "k 2 x 2" }) as OpRuns).count, 1);
    assert.equal((one.answer("/t/0/op", { name: "k", group: "op" }) as OpRuns).runs[0]?.start, 5);
    assert.equal((one.answer("/t/0/op", { name: "k 2 x 2", group: "none" }) as OpRuns).count, 1, "which has the names of shapes");
    assert.throws(() => one.answer("/t/0/op", { name: "another" }), NotHere);
});

test("source lines are those around a place", () => {
    const source = { file: "a.py", first_line: 1, line: 1, lines: ["import x"] };
    const one = file({ sources: JSON.stringify([{ file: "a.py", state: "read", source }]) });
    assert.deepEqual((one.answer("/t/0/source", { file: "a.py", line: 1 }) as SourceAnswer).source, source);
    assert.throws(() => one.answer("/t/0/source", { file: "a.py", line: 2 }), NotHere);
    assert.deepEqual((one.answer("/t/0/zone", { track: 0, depth: 1, at: 15 }) as ZoneDetail).source, source);
    assert.equal((one.answer("/t/0/zone", { track: 0, depth: 0, at: 5 }) as ZoneDetail).source, null);
});

test("what a zone launched is known where every run is in the file", () => {
    const run = (call: number, start: number) => ({ track: 1, lane: 0, start, duration: 5, name: 2, op: { call, track: 0, start: start - 10 } });
    const runs = JSON.stringify([run(2, 80), run(1, 20)]);
    const trace = (count: number) => JSON.stringify({ duration_ns: 300, runs: count, tracks: [] });
    const ask = (count: number, to: number) => file({ runs, trace: trace(count) }).answer("/t/0/launched", { track: 0, from: 0, to }) as Launched;
    assert.deepEqual(ask(2, 100).runs.map((one) => one.start), [20, 80]);
    assert.deepEqual([ask(2, 70).count, ask(2, 70).calls], [1, 1]);
    assert.throws(() => ask(3, 100), NotHere);
});
