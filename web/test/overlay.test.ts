// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { boxOfRun, factorOf, runOfBox, type Overlay } from "../src/model/overlay";
import { boxAt } from "../src/timeline/estimate";

const data: Overlay = {
    a: 1, b: 0, name: "model.opscope", what: "op", begin: 100, whole_runs: 2, track: 7, lanes: 2, total: 3,
    boxes: [
        { name: "conv", lane: 0, start: 100, end: 200, pair: 0 }, { name: "copy", lane: 1, start: 150, end: 160, pair: null },
        { name: "add", lane: 0, start: 210, end: 250, pair: 1 },
    ],
    pairs: [
        { estimate_ns: 100, measured_ns: 250, run_count: 2, runs: [
            { track: 7, lane: 0, start: 100, end: 350, beside: true }, { track: 7, lane: 0, start: 900, end: 1200, beside: false } ] },
        { estimate_ns: 40, measured_ns: null, run_count: 0, runs: [] },
    ],
};

test("a box is found by lane and time, with a little reach", () => {
    assert.equal(boxAt(data, 0, 150, 1), 0);
    assert.equal(boxAt(data, 1, 150, 1), 1);
    assert.equal(boxAt(data, 0, 206, 1), -1);
    assert.equal(boxAt(data, 0, 208, 1), 2, "three pixels beside it");
    assert.equal(boxAt(data, 1, 208, 1), -1);
});

test("boxes and the runs that they foretell", () => {
    assert.equal(boxOfRun(data, { track: 7, lane: 0, start: 900 }), 0);
    assert.equal(boxOfRun(data, { track: 8, lane: 0, start: 900 }), -1);
    assert.equal(boxOfRun(data, { track: 7, lane: 1, start: 900 }), -1, "another run that begins then");
    assert.equal(runOfBox(data, 0)?.start, 100);
    assert.equal(runOfBox(data, 1), null);
    assert.equal(runOfBox(data, 2), null, "not measured");
    assert.deepEqual(data.pairs.map(factorOf), [2.5, null]);
});
