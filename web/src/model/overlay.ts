// SPDX-License-Identifier: Apache-2.0
// An estimate laid over the run that is open: the answer of /overlay, and which of its boxes foretells which run.
import { signal } from "@preact/signals";
import { Resource } from "./resource";
import * as state from "./state";

export interface Box {
    name: string;
    lane: number;
    start: number;
    end: number;
    pair: number | null;
}

export interface MeasuredRun {
    track: number;
    /** null: a zone, not a run. */
    lane: number | null;
    start: number;
    end: number;
    /** In the run of the model that the estimate is laid over. */
    beside: boolean;
}

export interface Pair {
    estimate_ns: number;
    measured_ns: number | null;
    run_count: number;
    runs: MeasuredRun[];
}

export interface Overlay {
    a: number;
    b: number;
    name: string;
    /** "dispatch", "op"; null: they have nothing in common. */
    what: string | null;
    begin: number;
    whole_runs: number;
    track: number;
    lanes: number;
    total: number;
    boxes: Box[];
    pairs: Pair[];
}

export const overlay = new Resource<Overlay>();
/** Kept out of the address: hiding the lane is a matter of the moment. */
export const shown = signal(true);

/** The trace that holds an estimate of the one that is open; itself where it has both; null: none is there. */
export function estimateIndex(): number | null {
    const list = state.traces.value ?? [];
    const own = list[state.traceIndex.value];
    if (!own?.measured) return null;
    if (own.estimated) return state.traceIndex.value;
    const other = state.other.value;
    if (other !== null && list[other]?.estimated) return other;
    const found = list.findIndex((one) => one.estimated);
    return found < 0 ? null : found;
}

export function ask(): void {
    const a = estimateIndex();
    const info = state.trace.value;
    if (a === null || !info || !state.hasOps(info)) return;
    overlay.load("/overlay", { a, b: state.traceIndex.value }, info.generation);
}

/** The answer, where it is about the trace that is open now. */
export function current(): Overlay | null {
    const data = overlay.data.value;
    return data && shown.value && data.b === state.traceIndex.value && data.a === estimateIndex() ? data : null;
}

export interface RunPlace {
    track: number;
    lane: number;
    start: number;
}

export function isRun(one: MeasuredRun, run: RunPlace): boolean {
    return one.track === run.track && one.start === run.start && (one.lane === null || one.lane === run.lane);
}

/** The box that foretells a run; -1: none does. */
export function boxOfRun(data: Overlay, run: RunPlace): number {
    const pair = data.pairs.findIndex((one) => one.runs.some((measured) => isRun(measured, run)));
    return pair < 0 ? -1 : data.boxes.findIndex((box) => box.pair === pair);
}

/** The run of a box that lies beside it, else its first. */
export function runOfBox(data: Overlay, index: number): MeasuredRun | null {
    const box = data.boxes[index];
    const runs = box && box.pair !== null ? data.pairs[box.pair]?.runs ?? [] : [];
    return runs[0] ?? null;
}

/** How many times its estimate a pair took; null where it was not measured. */
export function factorOf(pair: Pair): number | null {
    return pair.measured_ns === null || !(pair.estimate_ns > 0) ? null : pair.measured_ns / pair.estimate_ns;
}
