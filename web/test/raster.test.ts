// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeRows, FLAG_GAP, FLAG_OPEN, FLAG_SUMMARY, rowKey, type Section } from "../src/model/rows";
import { paintRows, STEP_COLOURS, type Palette, type Raster } from "../src/timeline/raster";

interface Entry {
    start: number;
    end: number;
    name?: number;
    zones?: number;
    busy?: number;
    flags?: number;
}

function section(entries: Entry[]): Section {
    return {
        key: rowKey(1, false, 0), track: 1, runs: false, depth: 0, count: entries.length,
        start: Float64Array.from(entries, (one) => one.start), end: Float64Array.from(entries, (one) => one.end),
        busy: Float32Array.from(entries, (one) => one.busy ?? 1), name: Uint32Array.from(entries, (one) => one.name ?? 0),
        zones: Uint32Array.from(entries, (one) => one.zones ?? 1), flags: Uint8Array.from(entries, (one) => one.flags ?? 0),
    };
}

// Fills are 100 + colour, edges 200 + colour, open zones 300 + colour, steps 1000 + 4 * colour + step.
const palette: Palette = {
    fills: Uint32Array.from({ length: 20 }, (_, at) => 100 + at), edges: Uint32Array.from({ length: 20 }, (_, at) => 200 + at),
    open: Uint32Array.from({ length: 20 }, (_, at) => 300 + at), steps: Uint32Array.from({ length: STEP_COLOURS }, (_, at) => 1000 + at),
    gap: 1, gapBack: 2, wait: 3, waitBack: 4, estimate: 8, unknown: 9, panel: 10, outline: null,
};

function paint(entries: Entry[], options: Partial<Raster> = {}): Raster {
    const raster: Raster = {
        width: 100, height: 10, scale: 0.1, origin: 0, ratio: 1, pixels: new Uint32Array(1000), palette,
        styles: Uint8Array.from([0, 1, 2 | 16, 3 | 32]), ...options,
    };
    paintRows(raster, [{ y: 2, height: 6, kind: "rows", gaps: true, parts: [{ sections: [section(entries)], from: 0, to: 1e9 }] }]);
    return raster;
}

const row = (raster: Raster, y: number) => [...raster.pixels.slice(y * raster.width, (y + 1) * raster.width)];

test("a zone is a box with an edge below and a gap to the next", () => {
    const raster = paint([{ start: 100, end: 300, name: 1 }, { start: 300, end: 400, name: 2 }]);
    const line = row(raster, 3);
    assert.deepEqual(line.slice(9, 12), [0, 101, 101]);
    assert.deepEqual(line.slice(28, 32), [101, 0, 112, 112]);
    assert.equal(line[39], 0);
    assert.equal(row(raster, 7)[15], 201);
    assert.ok(row(raster, 1).every((value) => value === 0) && row(raster, 8).every((value) => value === 0));
});

test("what is narrower than two pixels is painted by how much of a column it covers", () => {
    const strengths = [0.2, 0.45, 0.7, 1].map((busy, index) => ({ start: index * 100, end: index * 100 + 10, busy, zones: 5, flags: FLAG_SUMMARY }));
    const line = row(paint(strengths), 3);
    assert.deepEqual([0, 10, 20, 30].map((x) => line[x]), [1000, 1001, 1002, 1003]);
    const narrow = row(paint([{ start: 502, end: 506 }, { start: 507, end: 509 }]), 3);
    assert.equal(narrow[50], 1002, "0.4 and 0.2 of the column");
    assert.deepEqual([narrow[49], narrow[51]], [0, 0]);
});

test("moving the view by whole pixels moves the picture and changes nothing else", () => {
    const entries: Entry[] = [];
    for (let at = 0; at < 400; at++) {
        const start = at * 37.7;
        entries.push({ start, end: start + 5 + (at % 7) * 5, name: at % 4 });
    }
    const before = paint(entries, { origin: 200 });
    const after = paint(entries, { origin: 201 });
    for (let y = 0; y < 10; y++) assert.deepEqual(row(after, y).slice(0, 99), row(before, y).slice(1), `row ${y}`);
});

test("parts meet without a seam", () => {
    const one = section([{ start: 100, end: 900, name: 1 }]);
    const whole = paint([{ start: 100, end: 900, name: 1 }]);
    const raster: Raster = { ...whole, pixels: new Uint32Array(1000) };
    const parts = [{ sections: [one], from: 0, to: 512 }, { sections: [one], from: 512, to: 1024 }];
    paintRows(raster, [{ y: 2, height: 6, kind: "rows", gaps: true, parts }]);
    assert.deepEqual([...raster.pixels], [...whole.pixels]);
});

test("waits, gaps and zones that did not end have their patterns", () => {
    const waits = new Set(row(paint([{ start: 100, end: 500, name: 3 }]), 4));
    assert.ok(waits.has(3) && waits.has(4) && !waits.has(103));
    const gaps = new Set(row(paint([{ start: 100, end: 500, name: 0xffffffff, flags: FLAG_GAP }]), 4).filter(Boolean));
    assert.deepEqual([...gaps].sort(), [1, 2]);
    const open = paint([{ start: 100, end: 500, name: 1, flags: FLAG_OPEN }]);
    const ends = [2, 3, 4, 5].map((y) => row(open, y).lastIndexOf(301));
    assert.equal(new Set(ends).size, 4, "torn");
});

test("forced colours: outlines instead of fills", () => {
    const raster = paint([{ start: 100, end: 500, name: 1 }], { palette: { ...palette, outline: 77 } });
    assert.deepEqual(row(raster, 4).slice(10, 13), [77, 10, 10]);
    assert.ok(row(raster, 2).slice(10, 49).every((value) => value === 77));
});

function encode(sections: { depth: number; starts: number[] }[]): ArrayBuffer {
    const size = sections.reduce((sum, one) => sum + 16 + one.starts.length * 28 + ((one.starts.length + 7) & ~7), 24);
    const view = new DataView(new ArrayBuffer(size));
    view.setUint32(0, 0x3152504f, true);
    view.setUint32(4, sections.length, true);
    let at = 24;
    for (const { depth, starts } of sections) {
        const count = starts.length;
        view.setUint32(at + 8, depth, true);
        view.setUint32(at + 12, count, true);
        starts.forEach((start, index) => {
            view.setFloat64(at + 16 + 8 * index, start, true);
            view.setFloat64(at + 16 + 8 * (count + index), start + 1, true);
            view.setUint32(at + 16 + 20 * count + 4 * index, index, true);
        });
        at += 16 + count * 28 + ((count + 7) & ~7);
    }
    return view.buffer as ArrayBuffer;
}

test("rows are decoded, also after an odd count", () => {
    const [first, second] = decodeRows(encode([{ depth: 0, starts: [1, 2, 3] }, { depth: 1, starts: [7] }]));
    assert.deepEqual([...(first?.start ?? [])], [1, 2, 3]);
    assert.deepEqual([...(first?.name ?? [])], [0, 1, 2]);
    assert.equal(second?.key, "0z1");
    assert.deepEqual([...(second?.end ?? [])], [8]);
});

test("answers that are cut short or of another kind are refused", () => {
    const whole = encode([{ depth: 0, starts: [1, 2, 3] }]);
    for (let length = 0; length < whole.byteLength; length++) assert.throws(() => decodeRows(whole.slice(0, length)), /rows:|cut/);
    const other = whole.slice(0);
    new DataView(other).setUint32(0, 1, true);
    assert.throws(() => decodeRows(other), /rows:/);
});
