// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import {
    bytes, clockBase, difference, duration, durationFigure, exactNs, group, parseTime, partitionPercents, percent, plural, quantity,
    tickLabel, tickStep,
} from "../src/model/format";

const plain = (text: string) => text.replace(/\u00a0/g, " ");

test("durations have three significant digits and the unit that fits", () => {
    const expected: [number, string][] = [
        [0, "0"], [1, "1 ns"], [812, "812 ns"], [999, "999 ns"], [1000, "1.00 µs"], [4_218_337, "4.22 ms"], [12_400_000_000, "12.4 s"],
        [999_600, "1.00 ms"], [999_400, "999 µs"], [59_940_000_000, "59.9 s"], [59_960_000_000, "1 min"], [192e9, "3 min 12 s"],
        [7500e9, "2 h 05 min"], [183_600e9, "2 d 3 h"], [0.4, "0.40 ns"], [99_998_000, "100 ms"], [9_999_000, "10.0 ms"], [-4_220_000, "−4.22 ms"],
    ];
    for (const [ns, text] of expected) assert.equal(plain(duration(ns)), text, String(ns));
    assert.equal(plain(duration(303_778_123, 5)), "303.78 ms");
    assert.equal(plain(duration(NaN)), "–");
    assert.deepEqual(durationFigure(76_000), { value: "76.0", unit: "µs" });
    assert.equal(plain(exactNs(4_218_337)), "4,218,337 ns");
});

test("nothing has more than three significant digits", () => {
    for (let ns = 1; ns < 5e10; ns = Math.ceil(ns * 1.0037)) {
        const digits = duration(ns).replace(/[^\d.]/g, "").replace(/^0\.?0*/, "").replace(".", "");
        assert.ok(digits.length <= 3, duration(ns));
    }
});

test("shares", () => {
    assert.equal(percent(0.8144), "81%");
    assert.equal(percent(0.094), "9.4%");
    assert.equal(percent(0.0996), "10%");
    assert.deepEqual([percent(0.9996), percent(1)], [">99.9%", "100%"]);
    assert.equal(percent(0.0004), "<0.1%");
    assert.equal(percent(0), "0%");
    assert.equal(percent(NaN), "–");
});

test("shares of a partition add up to 100.0", () => {
    assert.deepEqual(partitionPercents([1, 1, 1]), ["33.4%", "33.3%", "33.3%"]);
    for (let seed = 1; seed < 200; seed++) {
        const parts = Array.from({ length: 2 + (seed % 5) }, (_, index) => ((seed * 7919 + index * 104729) % 100_000) + 500);
        const sum = partitionPercents(parts).reduce((total, text) => total + Math.round(parseFloat(text) * 10), 0);
        assert.equal(sum, 1000, String(parts));
    }
    assert.deepEqual(partitionPercents([0, 0]), ["–", "–"]);
    assert.deepEqual(partitionPercents([1_000_000, 1]), [">99.9%", "<0.1%"]);
});

test("counts, sizes, differences", () => {
    assert.equal(group(4736), "4,736");
    assert.equal(plain(plural(1, "zone")), "1 zone");
    assert.equal(plain(plural(1204, "zone")), "1,204 zones");
    assert.equal(plain(bytes(1023)), "1,023 B");
    assert.equal(plain(bytes(79.6 * 1024 ** 3)), "79.6 GiB");
    assert.equal(plain(quantity(50_000_000)), "50.0 M");
    assert.equal(plain(difference(1_240_000, 6_900_000)), "+1.24 ms (+18%)");
    assert.equal(plain(difference(-300, 100_000)), "−300 ns (−0.3%)");
});

test("ticks are 1, 2 or 5 times a power of ten", () => {
    for (const least of [1, 3, 17, 499, 501, 123_456, 9e8]) {
        const step = tickStep(least);
        assert.ok(step >= least && step < least * 10);
        assert.match(String(step / 10 ** Math.floor(Math.log10(step) + 1e-9)), /^(1|2|5)/);
    }
    assert.equal(plain(tickLabel(288e6, 2e6, 306e6)), "288 ms");
    assert.equal(plain(tickLabel(1.5e9, 5e8, 3.5e9)), "1.5 s");
    assert.equal(plain(tickLabel(303_778_000, 1000, 303_790_000)), "303.778 ms");
    assert.deepEqual([40e9, 70e9, 4000e9, 50_000e9].map((least) => tickStep(least) / 60e9), [1, 2, 120, 1440]);
    assert.deepEqual([0, 5, 60, 75, 1440, 1445, 3240].map((minutes) => plain(tickLabel(minutes * 60e9, 300e9, 9e15))),
        ["0", "5 min", "1 h", "1 h 15 min", "1 d", "1 d 0 h 5 min", "2 d 6 h"]);
    assert.equal(plain(clockBase(2 * 86400e9 + 3 * 3600e9 + 14 * 60e9 + 5.12e9)), "2 d 3:14:05.120");
});

test("times are read back", () => {
    assert.equal(parseTime("51.2ms"), 51_200_000);
    assert.equal(parseTime("303778123"), 303_778_123);
    assert.equal(parseTime("1.5s"), 1_500_000_000);
    assert.ok(Number.isNaN(parseTime("soon")));
    assert.ok(Number.isNaN(parseTime("")));
});
