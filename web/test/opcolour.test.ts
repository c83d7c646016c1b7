// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Names } from "../src/model/names";
import { boundsByName, hashColour, runName } from "../src/model/opcolour";
import type { OpGroup } from "../src/model/types";
import { progressShare, progressText } from "../src/model/progress";
import { addItem, type Item } from "../src/model/url";

const names = { idOf: (text: string) => ({ mm: 1, "layer norm": 2 })[text] } as unknown as Names;

test("a name has the colour that the server gives it", () => {
    // Of src/present/name_colour.c.
    assert.deepEqual(NAMES.map(hashColour), COLOURS);
});

test("digits that are followed by more number what the name is a part of; those at its end are its own", () => {
    assert.equal(hashColour("layer.3.norm"), hashColour("layer.12.norm"));
    assert.notEqual(hashColour("conv_1x1"), hashColour("conv_3x3"));
    assert.ok(new Set(Array.from({ length: 40 }, (_, index) => hashColour(`kernel ${index}`))).size >= 8);
});

const NAMES = ["main", "layer.3.norm", "layer.7.norm", "MatmulDeviceOperation", "größe", "", "kernel 0", "kernel 7", "kernel 39", "conv_1x1", "conv_3x3"];
const COLOURS = [2, 3, 3, 3, 4, 3, 9, 2, 3, 8, 3];

test("the runs of an op have its name without the shape", () => {
    assert.equal(runName(names, "mm 32 x 32"), "mm");
    assert.equal(runName(names, "layer norm 5"), "layer norm");
    assert.equal(runName(names, "other 5"), "other 5");
});

test("of several shapes the costliest says what bounds a name", () => {
    const group = (name: string, ns: number, bound: string | null) => ({ name, device_ns: ns, bound }) as OpGroup;
    const found = boundsByName([group("mm 1", 5, "SLOW"), group("mm 2", 50, "DRAM"), group("layer norm 1", 1, null)], names);
    assert.deepEqual([...found], [["mm", 1], ["layer norm", 7]]);
});

test("progress is said in zones, while it is known", () => {
    const at = (read: number, zones: number) => ({ question: "overview", trace: 0, zones_read: read, zones });
    assert.equal(progressText(at(31_200_000, 50_000_000)), "Counting: 31.2 of 50.0 million zones");
    assert.equal(progressText(at(900, 1200)).replace(/\u00a0/g, " "), "Counting: 900 of 1,200 zones");
    assert.equal(progressText(at(90_000_000, 50_000_000)).replace(/\u00a0/g, " "), "Counting: 90.0 M zones read");
    assert.deepEqual([progressShare(at(25, 50)), progressShare(at(60, 50)), progressShare(at(0, 50))], [0.5, null, null]);
});

test("Ctrl + click adds an item, and takes it away again", () => {
    const zone: Item = { kind: "zone", track: 1, depth: 0, start: 5, end: 9 };
    const run: Item = { kind: "run", track: 2, lane: 0, start: 7, end: 8 };
    const both = addItem(addItem(null, zone), run);
    assert.deepEqual(both, { kind: "set", items: [zone, run] });
    assert.deepEqual(addItem(both, zone), run);
    assert.equal(addItem(run, run), null);
    assert.deepEqual(addItem({ kind: "lost" }, run), run);
});
