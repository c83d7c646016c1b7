// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { callOf, centred, isSame, itemOf, viewOf, type PlaceAnswer } from "../src/model/place";

const place: PlaceAnswer = { kind: "run", track: 2, lane: 1, start: 500, end: 600, name: "matmul" };

test("a place is known by its lane and its end, too", () => {
    const run = itemOf(place);
    assert.deepEqual(run, { kind: "run", track: 2, lane: 1, start: 500, end: 600 });
    assert.equal(itemOf({ ...place, lane: null }), null, "on which lane it is nobody knows");
    assert.equal(itemOf({ ...place, kind: null, track: null, start: null, end: null }), null);
    assert.equal(callOf(place), null);
    assert.deepEqual(callOf({ ...place, kind: "call", lane: null }), { track: 2, from: 500, to: 600 });
    assert.ok(run && isSame(run, { ...run, name: 7 } as typeof run));
    assert.ok(run && !isSame(run, { ...run, lane: 0 } as typeof run));
    assert.ok(run && !isSame(run, { ...run, end: 601 } as typeof run));
});

test("a place that is seen moves nothing; one that is not is brought to the middle", () => {
    const view = { from: 0, to: 1000 };
    assert.deepEqual(viewOf({ from: 500, to: 600 }, view, 1000, false), view);
    assert.deepEqual(viewOf({ from: 2000, to: 2100 }, view, 1000, false), { from: 1550, to: 2550 });
});

test("a view is at least three times as long as the place, and shows it wider than a hair", () => {
    const view = { from: 0, to: 1_000_000 };
    assert.deepEqual(viewOf({ from: 500, to: 600 }, view, 1000, false), { from: 350, to: 750 });
    assert.deepEqual(viewOf({ from: 100, to: 500 }, { from: 0, to: 1000 }, 1000, false), { from: -500, to: 1100 });
    assert.deepEqual(viewOf({ from: 500, to: 600 }, { from: 0, to: 1000 }, 1000, true), { from: 350, to: 750 }, "made for it");
});

test("what has no length, and a moment, are only centred", () => {
    const view = { from: 0, to: 1000 };
    assert.deepEqual(viewOf({ from: 500, to: 500 }, view, 1000, true), view);
    assert.deepEqual(viewOf({ from: 5000, to: 5000 }, view, 1000, true), { from: 4500, to: 5500 });
    assert.deepEqual(centred(5000, view), { from: 4500, to: 5500 });
});
