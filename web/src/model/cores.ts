// SPDX-License-Identifier: Apache-2.0
// The cores of a device as they lie on the chip, and how busy each is.
import type { TraceInfo, TrackInfo } from "./types";

export interface Core {
    track: number;
    label: string;
    row: number;
    column: number;
    busy: number;
}

export interface CoreGrid {
    device: number;
    rows: number;
    columns: number;
    cores: Core[];
}

const LEAST_CORES = 4;

function below(tracks: readonly TrackInfo[], id: number): TrackInfo[] {
    return tracks.filter((track) => track.parent === id);
}

export function devicesWithCores(info: TraceInfo): number[] {
    const count = new Map<number, number>();
    for (const track of info.tracks) if (track.kind === "core" && track.parent !== null) count.set(track.parent, (count.get(track.parent) ?? 0) + 1);
    return [...count].filter(([, cores]) => cores >= LEAST_CORES).map(([device]) => device);
}

/** "core 3,7" says where it is; numbered cores are put into rows, a little wider than tall. */
export function coreGrid(info: TraceInfo, device: number, busyOf: (track: number) => number): CoreGrid {
    const tracks = below(info.tracks, device).filter((track) => track.kind === "core");
    const places = tracks.map((track) => /(\d+),\s*(\d+)$/.exec(track.name)?.slice(1).map(Number));
    const known = places.every((place) => place !== undefined);
    const across = Math.max(1, Math.ceil(Math.sqrt(tracks.length * 1.6)));
    const sorted = known ? tracks : [...tracks].sort((a, b) => a.number - b.number);
    const xs = places.map((place) => place?.[0] ?? 0);
    const ys = places.map((place) => place?.[1] ?? 0);
    const [left, top] = [Math.min(...xs), Math.min(...ys)];
    const cores = sorted.map((track, index): Core => ({
        track: track.id, label: track.name || `core ${track.number}`,
        column: known ? (xs[index] ?? 0) - left : index % across, row: known ? (ys[index] ?? 0) - top : Math.floor(index / across),
        // Its processors work side by side: it is as busy as the busiest of them.
        busy: Math.max(0, busyOf(track.id), ...below(info.tracks, track.id).map((processor) => busyOf(processor.id))),
    }));
    return { device, cores, rows: Math.max(0, ...cores.map((core) => core.row + 1)), columns: Math.max(0, ...cores.map((core) => core.column + 1)) };
}
