// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Step, Steps } from "../src/model/types";
import { columnOf, stepLabel } from "../src/panels/steps";

const step: Step = { number: 3, count: 2, text: null, from: 100, to: 300, idle_ns: 40, ns: [100, 60] };
const steps: Steps = { name: "step", count: 8, kinds: [{ kind: "matmul", colour: 0 }, { kind: "norm", colour: 1 }], steps: [step] };

test("a column is of one step, also where several are summed up", () => {
    assert.deepEqual(columnOf(step), { parts: [50, 30], idle: 20, all: 100 });
});

test("without a device a column is as long as the step", () => {
    assert.deepEqual(columnOf({ ...step, idle_ns: null, ns: [] }), { parts: [], idle: 0, all: 100 });
});

test("steps are called by their numbers, what is between signposts by these", () => {
    assert.equal(stepLabel(steps, step), "step 3 to 4");
    assert.equal(stepLabel({ ...steps, name: null }, { ...step, text: "<PERF>", count: 1 }), "<PERF>");
});
