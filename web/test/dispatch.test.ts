// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { binsOf } from "../src/model/bins";
import { expectedNs, gateText, notesOf, rowsOf, sentenceOf, verdictCounts, type Dispatch, type DispatchOp, type GateRow, type Verdict } from "../src/model/dispatch";

const plain = (text: string) => text.replace(/\u00a0/g, " ");
const said = (data: Dispatch) => plain(sentenceOf(data).map((part) => part.text).join(""));

function op(name: string, min: number | null, more: Partial<DispatchOp> = {}): DispatchOp {
    return {
        name, group: "", state: min === null ? "raised" : "measured", reason: "", early: false, count: 10, min_ns: min, p50_ns: null, p99_ns: null, mean_ns: min,
        mean_total_ns: null, ci_low_ns: null, ci_high_ns: null, native_ns: null, repeats_ns: [], ...more,
    };
}

function judged(name: string, verdict: Verdict, reference: number | null): GateRow {
    return { name, group: "", verdict, reference_ns: reference, now_ns: null, ratio: null, rounds: 0, reason: "" };
}

const run: Dispatch = {
    source: "measured", provider: "torch", provider_version: "1.13", machine: "x", loop_ns: 40, noise: 0.02, noisy: false, gate: null,
    ops: [op("torch.add", 900), op("torch.matmul", 4218), op("torch.bad", null), op("torch.relu", 700, { early: true })],
};
const gated: Dispatch = {
    ...run,
    gate: {
        reference: "r.csv", passes: false, tolerance: 1.13, why_absolute: null, factor: 2, margin: 1.05, rounds: 7, quiet_rounds: 7,
        rows: [judged("torch.add", "same", 450), judged("torch.matmul", "slower", 1000), judged("torch.gone", "missing", 5)],
        calibration: [{ name: "calibration.a", reference_ns: 1, now_ns: 2 }],
    },
};

test("the sentence names the slowest op and the one in the middle", () => {
    assert.equal(said(run), "Of 3 ops torch.matmul is the slowest to call: it returns after 4.22 µs, the op in the middle after 900 ns.");
    assert.equal(said({ ...run, ops: [op("a", null)] }), "No op could be measured.");
});

test("the gate's sentence says whether it passed, and adds up", () => {
    assert.equal(said(gated), "The gate failed: 1 slower, 1 missing, 1 of 3 ops as they were.");
    assert.equal(verdictCounts(gated.gate!).reduce((sum, [, count]) => sum + count, 0), gated.gate!.rows.length);
});

test("ops that only the reference has are rows, too; the reference is this machine's", () => {
    const rows = rowsOf(gated);
    assert.deepEqual(rows.map((row) => row.name), ["torch.add", "torch.matmul", "torch.bad", "torch.relu", "torch.gone"]);
    assert.equal(rows[4]?.op, null);
    assert.equal(expectedNs(gated, rows[0]?.gate ?? null), 900);
    assert.equal(expectedNs(run, rows[0]?.gate ?? null), null);
});

test("what is to be distrusted is said", () => {
    assert.equal(notesOf(run).length, 2);
    assert.match(notesOf({ ...run, noisy: true }).join(" "), /noisy/);
    assert.match(plain(gateText(gated.gate!)), /2\.00 times as long .* 1 calibration op; up to 1\.05/s);
});

test("bins hold every value once", () => {
    for (const values of [[1, 1, 1], [1, 2, 3, 50], [5], [10, 11, 12, 13, 13]]) {
        assert.equal(binsOf(values, 8).reduce((sum, bin) => sum + bin.count, 0), values.length);
    }
    assert.deepEqual(binsOf([], 8), []);
});
