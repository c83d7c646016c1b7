// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { nameRows, noiseText, origins, ownChange, waterfallBars, wholeSpan, type Comparison, type DiffRow } from "../src/model/compare";

const data = {
    a: { from: 0, to: 500 }, b: { from: 100, to: 700 },
    anchors: { signposts: [{ name: "a:b", a: 50, b: 180 }], ops: [{ name: "matmul", a: 10, b: 120 }] },
} as unknown as Comparison;

test("timelines are aligned by start, signpost or op", () => {
    assert.deepEqual(origins(data, "start"), { a: 0, b: 100 });
    assert.deepEqual(origins(data, "signpost:a:b"), { a: 50, b: 180 });
    assert.deepEqual(origins(data, "op:matmul"), { a: 10, b: 120 });
    assert.deepEqual(origins(data, "op:gone"), { a: 0, b: 100 }, "what is not there is the start");
    assert.deepEqual(wholeSpan(data, "start"), { from: 0, to: 600 });
    assert.deepEqual(wholeSpan(data, "signpost:a:b"), { from: -80, to: 520 });
});

test("the waterfall leads from A to B", () => {
    const steps = [{ name: "gaps", gap: true, change_ns: 90 }, { name: "matmul", gap: false, change_ns: -20 }];
    const { bars, low, high, broken } = waterfallBars({ basis: "", a_ns: 1000, b_ns: 1065, steps, rest_count: 2, rest_ns: -5 });
    assert.deepEqual(bars.map((bar) => bar.label), ["A", "gaps", "matmul", "2 smaller", "B"]);
    assert.deepEqual(bars.map((bar) => bar.to), [1000, 1090, 1070, 1065, 1065]);
    assert.deepEqual(bars.map((bar) => bar.kind), ["total", "slower", "faster", "faster", "total"]);
    assert.equal(broken, true);
    assert.ok(low > 0 && low < 1000 && high === 1090);
});

test("the axis begins at 0 where the changes are large, or nothing is there", () => {
    const large = waterfallBars({ basis: "", a_ns: 10, b_ns: 100, steps: [{ name: "x", gap: false, change_ns: 90 }], rest_count: 0, rest_ns: 0 });
    assert.deepEqual([large.low, large.high, large.broken, large.bars.length], [0, 100, false, 3]);
    const none = waterfallBars({ basis: "", a_ns: 0, b_ns: 0, steps: [], rest_count: 0, rest_ns: 0 });
    assert.deepEqual([none.low, none.high, none.broken], [0, 1, false]);
    const same = waterfallBars({ basis: "", a_ns: 500, b_ns: 500, steps: [], rest_count: 0, rest_ns: 0 });
    assert.ok(same.high > same.low);
});

test("a row says how sure it is", () => {
    const row = { kind: "zone", state: "slower", matched: 1, p: 0.00001, evidence: "tested", change_ns: 5, self_change_ns: 0 } as DiffRow;
    assert.equal(noiseText(row), "p < 0.001");
    assert.equal(noiseText({ ...row, p: 0.5 }), "p = 0.500");
    assert.equal(noiseText({ ...row, p: null, evidence: "no spread" }), "no spread");
    assert.equal(noiseText({ ...row, state: "new", matched: 0 }), "");
    assert.equal(ownChange(row), 0);
    assert.equal(ownChange({ ...row, kind: "op" }), 5);
});

test("rows of an estimate are called by what they are", () => {
    const answer = { estimate: { what: "dispatch", rows: [{ dispatch: "f" }] } } as unknown as Comparison;
    nameRows(answer);
    assert.equal(answer.estimate?.rows[0]?.name, "f");
});
