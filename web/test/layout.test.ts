// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProcessInfo, TraceInfo, TrackInfo } from "../src/model/types";
import { layOut, type LayoutOptions, type Node } from "../src/timeline/layout";

function track(id: number, more: Partial<TrackInfo> = {}): TrackInfo {
    return {
        id, process: 0, parent: null, kind: "thread", name: `thread ${id}`, number: id, architecture: null, depths: 2, zones: 10, runs: 0,
        run_lanes: 0, busy_ns: 5, has_counters: false, has_memory: false, ...more,
    };
}

const PROCESS: ProcessInfo = { id: 0, parent: null, pid: 7, command: "/usr/bin/prog -x", start: 0, end: null, exit_status: null, signal: null, flags: [] };

function trace(tracks: TrackInfo[]): TraceInfo {
    return { duration_ns: 100, tracks, processes: [PROCESS], counters: [], pools: [], losses: [] } as unknown as TraceInfo;
}

function options(more: Partial<LayoutOptions> = {}): LayoutOptions {
    return {
        folds: new Set(), deep: new Set(), hidden: new Set(), pins: [], order: [], filter: () => true, room: 0, firstDepth: new Map(),
        busy: new Map(), ...more,
    };
}

const ids = (nodes: readonly Node[]) => nodes.map((node) => node.id);

test("what is free below the tracks goes to their deeper rows", () => {
    const info = trace([track(1, { depths: 40 }), track(2, { depths: 5 })]);
    const few = layOut(info, options());
    assert.deepEqual(few.nodes.map((node) => node.rows.length), [0, 4, 4]);
    assert.deepEqual(few.nodes.map((node) => node.deeper), [0, 36, 1]);
    const many = layOut(info, options({ room: few.height + 10 * 16 }));
    assert.deepEqual(many.nodes.map((node) => node.rows.length), [0, 13, 5]);
    assert.ok(many.height <= few.height + 10 * 16);
});

test("a track with all its rows takes a part of the stage and scrolls by itself", () => {
    const info = trace([track(1, { depths: 200 })]);
    const [, node] = layOut(info, options({ room: 500, deep: new Set([1]), firstDepth: new Map([[1, 30]]) })).nodes;
    assert.equal(node?.rows.length, 18);
    assert.deepEqual(node?.scroll, { first: 30, shown: 18, all: 200 });
    assert.equal(node?.rows[0]?.depth, 30);
    assert.equal(node?.rows[0]?.y, 2);
    const [, end] = layOut(info, options({ room: 500, deep: new Set([1]), firstDepth: new Map([[1, 900]]) })).nodes;
    assert.equal(end?.rows.at(-1)?.depth, 199);
});

test("a pinned track leaves its place, keeps its path, and leaves its children there", () => {
    const info = trace([track(1), track(2, { kind: "task", parent: 1 }), track(3)]);
    const { nodes, pinned, pinnedHeight } = layOut(info, options({ pins: [1] }));
    assert.deepEqual(ids(pinned), ["t1"]);
    assert.equal(pinned[0]?.label, "prog -x › thread 1");
    assert.equal(pinnedHeight, pinned[0]?.height);
    assert.deepEqual(ids(nodes), ["p0", "t2", "t3"]);
});

test("tracks are shown in the order that was chosen", () => {
    const info = trace([track(1), track(2), track(3)]);
    assert.deepEqual(ids(layOut(info, options({ order: [3, 1, 2] })).nodes), ["p0", "t3", "t1", "t2"]);
    assert.deepEqual(layOut(info, options({ order: [3, 1, 2] })).nodes[1]?.among, [3, 1, 2]);
    assert.deepEqual(ids(layOut(info, options({ hidden: new Set([2]) })).nodes), ["p0", "t1", "t3"]);
});

test("a device says how busy it is in the window, in the words that were given", () => {
    const info = trace([track(1, { kind: "device", name: "GPU 0", runs: 3, run_lanes: 1, depths: 0 })]);
    assert.equal(layOut(info, options({ busy: new Map([[1, "97.9% busy"]]) })).nodes[0]?.figure, "97.9% busy");
});

test("zones are not shown beside the runs that they repeat", () => {
    const device = { kind: "device" as const, runs: 3, run_lanes: 1, depths: 1 };
    assert.deepEqual(layOut(trace([track(1, { ...device, zones: 3 })]), options()).nodes[1]?.rows.map((row) => row.runs), [true]);
    assert.deepEqual(layOut(trace([track(1, { ...device, zones: 4 })]), options()).nodes[1]?.rows.map((row) => row.runs), [false, true]);
});

test("the busiest queue of a device shows its gaps", () => {
    const queue = { kind: "queue" as const, parent: 1, runs: 3, run_lanes: 1, depths: 0 };
    const info = trace([track(1, { kind: "device", depths: 0 }), track(2, { ...queue, busy_ns: 1 }), track(3, { ...queue, busy_ns: 9 })]);
    assert.deepEqual(layOut(info, options()).nodes.flatMap((node) => node.rows.map((row) => [row.track, row.gaps])), [[2, false], [3, true]]);
});

test("a track can be small, a counter tall", () => {
    const info = { ...trace([track(1, { depths: 3 })]), counters: [{ track: 1, name: 4, text: "loss", samples: 2, min: 0, max: 1 }] } as TraceInfo;
    const [, usual, plot] = layOut(info, options()).nodes;
    const [, small, tall] = layOut(info, options({ compact: new Set([1]), heights: new Map([[plot?.id ?? "", 90]]) })).nodes;
    assert.deepEqual(small?.rows.map((row) => row.height), [6, 6, 6]);
    assert.ok((small?.height ?? 0) < (usual?.height ?? 0));
    assert.deepEqual([plot?.height, tall?.height], [36, 90]);
});

test("many that did next to nothing are one line, which opens", () => {
    const workers = Array.from({ length: 20 }, (_, at) => track(at + 2, { busy_ns: at < 2 ? 500000 : 1 }));
    const info = { ...trace([track(1, { busy_ns: 900000 }), ...workers, track(40, { busy_ns: 1 })]), duration_ns: 1e6,
        losses: [{ process: 0, track: 40, reason: "full", from: 0, to: 1, zones: 3, records: 3 }] } as TraceInfo;
    const { nodes, inside } = layOut(info, options());
    assert.deepEqual(ids(nodes), ["p0", "t1", "t2", "t3", "t40", "q0"], "what lost something stays");
    assert.equal(nodes.at(-1)?.label.replace("\u00a0", " "), "18 more threads");
    assert.equal(inside.get(9), "q0");
    assert.equal(layOut(info, options({ folds: new Set(["q0"]) })).nodes.length, 6 + 18);
    assert.deepEqual(ids(layOut(info, options({ order: [9] })).nodes).includes("t9"), true, "what was moved stays");
    assert.equal(layOut(info, options({ all: true })).nodes.length, 1 + 22, "nothing is folded while tracks are looked for");
    const few = { ...info, tracks: info.tracks.slice(0, 8) };
    assert.equal(layOut(few, options()).nodes.length, 1 + 8);
});

test("names above tracks push their rows down", () => {
    const info = { ...trace([track(1)]), counters: [{ track: 1, name: 4, text: "loss", samples: 2, min: 0, max: 1 }] } as TraceInfo;
    const beside = layOut(info, options()).nodes;
    const above = layOut(info, options({ above: true })).nodes;
    assert.deepEqual(above.map((node, index) => node.height - (beside[index]?.height ?? 0)), [12, 16, 16]);
    assert.deepEqual(above[1]?.rows.map((row) => row.y), beside[1]?.rows.map((row) => row.y + 16));
});
