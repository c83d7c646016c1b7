// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { gapsOfPart, partOfGap } from "../src/model/gaps";
import { remedyOf } from "../src/model/remedy";
import type { Gap, HostPart } from "../src/model/types";

const part = (text: string, ns: number): HostPart => ({ name: 1, text, file: null, line: null, ns });
const gap = (start: number, host: HostPart[], more: Partial<Gap> = {}): Gap => ({ track: 0, start, duration: 1000, before: "mm", class: "host working", host, ...more });
const plain = (text: string | null) => (text ?? "").replace(/\u00a0/g, " ");

test("what helps is said by what filled the gap", () => {
    assert.match(plain(remedyOf(gap(0, [part("DataLoader.__next__", 900)]), [])), /next batch.*At most 1\.00 µs\.$/);
    assert.match(plain(remedyOf(gap(0, [part("Tensor.item", 900)], { class: "host waiting" }), [])), /waits for a result/);
    assert.match(plain(remedyOf(gap(0, [part("optimizer", 900)]), [])), /^optimizer takes 90% of this gap/);
});

test("code that took little of the gap is not to blame", () => {
    assert.match(plain(remedyOf(gap(0, [part("step", 700), part("print", 100)]), [])), /^step takes 70%/);
});

test("the gain is of all gaps before the same op", () => {
    const all = [gap(0, []), gap(5000, []), gap(9000, [], { before: "other" })];
    assert.match(plain(remedyOf(gap(0, [part("print", 900)]), all)), /At most 2\.00 µs in 2 gaps\.$/);
});

test("nothing is said of a host that was not recorded", () => {
    assert.equal(remedyOf(gap(0, []), []), null);
    assert.equal(remedyOf(gap(0, [{ ...part("", 10), name: null }]), []), null);
});

test("the parts of a gap add up to it", () => {
    const one = gap(0, [], { working_ns: 600, waiting_ns: 300 });
    const keys = ["idle_host_working", "idle_host_waiting", "nothing"];
    assert.equal(keys.reduce((sum, key) => sum + partOfGap(one, key), 0), one.duration);
    assert.deepEqual(gapsOfPart([gap(1, [], { working_ns: 10 }), one, gap(2, [])], "idle_host_working").map((found) => found.start), [0, 1]);
});
