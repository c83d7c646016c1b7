// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Gaps } from "../src/model/types";
import { idleText } from "../src/panels/gapchart";

const plain = (text: string) => text.replace(/\u00a0/g, " ");
const data: Gaps = {
    count: 2, sum: 28110, mark_ns: 6500, short_count: 3, gaps: [], histogram: [],
    idle: [{ key: "idle_host_working", ns: 30000, gaps_ns: 25000, short_ns: 5000, end_ns: 0 }, { key: "nothing", ns: 10010, gaps_ns: 3110, short_ns: 900, end_ns: 6000 }],
};

test("it is said how gaps and idle time differ", () => {
    assert.equal(plain(idleText(data)), "2 gaps (28.1 µs) + 3 short ones (5.90 µs) + after the last op (6.00 µs) = 40.0 µs idle");
});

test("nothing is said where they are the same", () => {
    const same = { ...data, short_count: 0, idle: [{ key: "nothing", ns: 28110, gaps_ns: 28110, short_ns: 0, end_ns: 0 }] };
    assert.equal(plain(idleText(same)), "2 gaps, 28.1 µs");
});
