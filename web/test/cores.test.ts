// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { coreGrid, devicesWithCores } from "../src/model/cores";
import type { TraceInfo, TrackInfo } from "../src/model/types";
import { heat } from "../src/panels/cores";

function track(id: number, parent: number | null, kind: TrackInfo["kind"], name: string, number = id): TrackInfo {
    return { id, process: 0, parent, kind, name, number, architecture: null, depths: 1, zones: 1, runs: 0, run_lanes: 0, busy_ns: 0, has_counters: false, has_memory: false };
}

const chip = { tracks: [
    track(0, null, "device", "n150"), track(1, 0, "core", "core 1,2"), track(2, 0, "core", "core 3,2"), track(3, 0, "core", "core 1,4"), track(4, 0, "core", "core 2,3"),
    track(5, 1, "processor", "BRISC"), track(6, 1, "processor", "TRISC"),
] } as unknown as TraceInfo;
const gpu = { tracks: [track(0, null, "device", "GPU 0"), ...Array.from({ length: 10 }, (_, at) => track(at + 1, 0, "core", `SM ${9 - at}`, 9 - at))] } as unknown as TraceInfo;

test("cores lie as on the chip, and are as busy as the busiest of their processors", () => {
    const grid = coreGrid(chip, 0, (id) => ({ 2: 7, 5: 3, 6: 5 })[id] ?? 0);
    assert.deepEqual([grid.columns, grid.rows], [3, 3]);
    assert.deepEqual(grid.cores.map(({ track: id, column, row, busy }) => [id, column, row, busy]), [[1, 0, 0, 5], [2, 2, 0, 7], [3, 0, 2, 0], [4, 1, 1, 0]]);
});

test("cores that only have numbers stand in their order", () => {
    const grid = coreGrid(gpu, 0, () => 1);
    assert.equal(grid.columns, 4);
    assert.deepEqual(grid.cores.slice(0, 5).map((core) => [core.label, core.column, core.row]), [["SM 0", 0, 0], ["SM 1", 1, 0], ["SM 2", 2, 0], ["SM 3", 3, 0], ["SM 4", 0, 1]]);
});

test("a device with few cores has no map", () => {
    assert.deepEqual(devicesWithCores(chip), [0]);
    assert.deepEqual(devicesWithCores({ tracks: chip.tracks.slice(0, 4) } as unknown as TraceInfo), []);
});

test("five steps, and none for a core that was not used", () => {
    assert.deepEqual([0, 1, 20, 21, 50, 100].map((busy) => heat(busy, 100)), [0, 1, 1, 2, 3, 5]);
});
