// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { nameRows, noiseText, origins, ownChange, partsOf, shortLabels, waterfallBars, wholeSpan, type Comparison, type DiffRow } from "../src/model/compare";

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
    const steps = [{ name: "gaps", gap: true, noise: false, change_ns: 90 }, { name: "matmul", gap: false, noise: false, change_ns: -20 }];
    const { bars, low, high, broken } = waterfallBars({ basis: "", a_ns: 1000, b_ns: 1065, steps, rest_count: 2, rest_ns: -5 });
    assert.deepEqual(bars.map((bar) => bar.label), ["A", "gaps", "matmul", "2 smaller", "B"]);
    assert.deepEqual(bars.map((bar) => bar.to), [1000, 1090, 1070, 1065, 1065]);
    assert.deepEqual(bars.map((bar) => bar.kind), ["total", "slower", "faster", "faster", "total"]);
    assert.equal(broken, true);
    assert.ok(low > 0 && low < 1000 && high === 1090);
});

test("what is noise looks like none of a change", () => {
    const steps = [{ name: "gaps", gap: true, noise: false, change_ns: 40 }, { name: "matmul", gap: false, noise: true, change_ns: -20 }];
    const data = { basis: "", a_ns: 1000, b_ns: 1020, steps, rest_count: 0, rest_ns: 0 };
    assert.deepEqual(waterfallBars(data).bars.map((bar) => bar.kind), ["total", "slower", "noise", "total"]);
    const noise = waterfallBars(data, true);
    assert.deepEqual(noise.bars.map((bar) => bar.kind), ["total", "noise", "noise", "total"]);
    assert.deepEqual([noise.low, noise.broken], [0, false]);
});

test("bars have the basis of the sentence", () => {
    const overview = (ns: number) => ({ partition: { parts: [{ key: "busy", label: "busy", ns }, { key: "idle", label: "idle", ns: ns / 2 }], total_ns: ns * 1.5 } });
    const totals = [{ total: "device time", a: 7, b: 8 }, { total: "gaps", a: 1, b: 2 }];
    const of = (diff: object) => partsOf({ a: { overview: overview(100) }, b: { overview: overview(300) }, diff } as unknown as Comparison);
    const steps = of({ basis: "step", a_steps: 10, b_steps: 20, totals });
    assert.deepEqual(steps.parts.map(({ a, b }) => [a, b]), [[10, 15], [5, 7.5]]);
    assert.equal(steps.title, "one step, the mean of 10 and 20");
    assert.deepEqual(of({ basis: "run", totals }).parts.map(({ a, b }) => [a, b]), [[7, 8], [1, 2]]);
    assert.deepEqual(of({ basis: "run", totals: [] }).parts.map(({ a, b }) => [a, b]), [[100, 300], [50, 150]]);
});

test("labels of a chart can be told apart", () => {
    const names = ["A", "aten::convolution", "aten::copy_", "aten::add_", "aten::addmm_backward", "gaps"];
    const labels = shortLabels(names, 8);
    assert.deepEqual([labels[0], labels[5]], ["A", "gaps"]);
    assert.equal(new Set(labels).size, names.length, String(labels));
    assert.ok(labels.every((label) => label.length <= 8), String(labels));
    assert.deepEqual(shortLabels(["matmul", "matmul"], 4), ["", ""]);
});

test("the axis begins at 0 where the changes are large, or nothing is there", () => {
    const large = waterfallBars({ basis: "", a_ns: 10, b_ns: 100, steps: [{ name: "x", gap: false, noise: false, change_ns: 90 }], rest_count: 0, rest_ns: 0 });
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
