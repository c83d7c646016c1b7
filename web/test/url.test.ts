// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyState, parseUrl, writeTime, writeUrl, type Selection } from "../src/model/url";

test("a link reads back as what it was written from", () => {
    const selections: Selection[] = [
        { kind: "zone", track: 7, depth: 3, start: 303_778_123, end: 303_779_000 }, { kind: "run", track: 9, lane: 1, start: 5, end: 5 }, { kind: "gap", track: 2, start: 0, end: 12 },
        { kind: "moment", time: 77, track: 3 }, { kind: "moment", time: 0, track: null },
        { kind: "range", from: 1_000, to: 2_500_000 }, { kind: "range", from: 1, to: 2, other: { from: 5_000, to: 9_000 } }, { kind: "name", name: "a&b=c #<x>\u202e:1" }, { kind: "op", name: "mm 8192×1280" },
        { kind: "part", key: "idle_host_working" }, { kind: "advice", index: 2 }, { kind: "lost" },
        { kind: "diff", key: "op a&b=c x:1 [1 x 2]" }, { kind: "set", items: [{ kind: "zone", track: 7, depth: 3, start: 5, end: 8 }, { kind: "run", track: 9, lane: 1, start: 6, end: 7 }, { kind: "gap", track: 2, start: 0, end: 1 }] },
    ];
    for (const selection of selections) {
        const state = {
            ...emptyState(), panel: "flame", trace: 2, window: { from: 51_200_000, to: 438_900_001 }, view: { from: 0, to: 1 }, selection,
            group: "kind", query: "kind:conv >10ms", pins: [7, 9], folds: ["p3"], hidden: [4, 12], order: [9, 7, 3], colours: "bound", theme: "dark" as const, warmup: true,
            other: 1, windowA: { from: 0, to: 5_000 }, windowB: { from: 7, to: 9_000_000 }, align: "signpost:a&b:c",
        };
        const read = parseUrl(writeUrl(state));
        assert.deepEqual(read.state, state);
        assert.deepEqual(read.ignored, []);
    }
});

test("a trace is named by its content, and by its place where that is all there is", () => {
    const state = { ...emptyState(), traceKey: "0a1b2c3d,my run&1.opscope", otherKey: "12345678,b.opscope" };
    assert.equal(writeUrl(state), "#overview&t=0a1b2c3d,my%20run%261.opscope&b=12345678,b.opscope");
    assert.deepEqual(parseUrl(writeUrl({ ...state, trace: 3, other: 1 })), { state, ignored: [] });
    assert.deepEqual(parseUrl("#overview&t=2&b=1").state, { ...emptyState(), trace: 2, other: 1 });
    assert.deepEqual(parseUrl("#overview&t=0a1b&b=x").ignored, ["t=0a1b", "b=x"]);
});

test("times are short where they can be and exact always", () => {
    assert.equal(writeTime(51_200_000), "51.2ms");
    assert.equal(writeTime(438_900_001), "438900001ns");
    assert.equal(writeTime(2_000_000_000), "2s");
});

test("what cannot be understood is left out and named", () => {
    const { state, ignored } = parseUrl("#overview&w=5ms..1ms&v=-1..3&sel=zone:7:x&nonsense&theme=pink&x=%E0%A4%A");
    assert.deepEqual(state, emptyState());
    assert.deepEqual(ignored, ["w=5ms..1ms", "v=-1..3", "sel=zone:7:x", "nonsense", "theme=pink", "x=%E0%A4%A"]);
    assert.deepEqual(parseUrl("").state, emptyState());
});

test("where few tracks are shown the link names these", () => {
    const state = { ...emptyState(), only: [3, 900] };
    assert.equal(writeUrl(state), "#overview&only=t3,t900");
    assert.deepEqual(parseUrl(writeUrl(state)).state, state);
    assert.deepEqual(parseUrl("#overview&colours=pink").ignored, ["colours=pink"]);
});

test("a link of an earlier version has the start of a place alone", () => {
    assert.deepEqual(parseUrl("#timeline&sel=run:t9:1:5").state.selection, { kind: "run", track: 9, lane: 1, start: 5, end: 5 });
    assert.deepEqual(parseUrl("#timeline&sel=gap:t2:9..4").state.selection, { kind: "gap", track: 2, start: 9, end: 9 }, "an end before the start is none");
});
