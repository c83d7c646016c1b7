// SPDX-License-Identifier: Apache-2.0
// Two traces: the answer of /compare, how their timelines are laid on one another, and the steps of the waterfall.
import { signal } from "@preact/signals";
import { Names } from "./names";
import { Resource } from "./resource";
import * as state from "./state";
import type { Overview, SentencePart, TraceInfo } from "./types";
import type { Span } from "./url";

export type Side = "a" | "b";

export interface ComparedSide {
    id: number;
    name: string;
    from: number;
    to: number;
    overview: Overview;
}

export interface Total {
    total: string;
    a: number;
    b: number;
    change: number;
    change_percent: number | null;
    noise: number | null;
}

export interface DiffRow {
    kind: "op" | "zone" | "dispatch";
    state: string;
    name: string;
    a_tensors: string | null;
    b_tensors: string | null;
    location: string | null;
    a_count: number;
    b_count: number;
    matched: number;
    a_total_ns: number | null;
    b_total_ns: number | null;
    change_ns: number;
    change_percent: number | null;
    self_change_ns: number | null;
    a_median_ns: number | null;
    b_median_ns: number | null;
    each_change_percent: number | null;
    p: number | null;
    evidence: string | null;
}

export interface Waterfall {
    basis: string;
    a_ns: number;
    b_ns: number;
    steps: { name: string; gap: boolean; change_ns: number }[];
    rest_count: number;
    rest_ns: number;
}

export interface EstimateRow {
    /** What the answer calls by what the rows are: "dispatch", "op", "program". */
    name: string;
    estimate_ns: number;
    measured_ns: number;
    difference_ns: number;
    factor: number | null;
    runs: number;
    type: string | null;
    location: string | null;
}

export interface Anchor {
    name: string;
    a: number;
    b: number;
}

export interface Comparison {
    kind: "runs" | "estimate";
    sentence: SentencePart[];
    a: ComparedSide;
    b: ComparedSide;
    notes?: string[];
    diff?: { totals: Total[]; rows: DiffRow[]; threshold_percent: number; significance_percent: number };
    waterfall?: Waterfall;
    estimate?: { what: string; estimate_ns: number; measured_ns: number; unmeasured: number; rows: EstimateRow[] };
    anchors: { signposts: Anchor[]; ops: Anchor[] };
}

export const comparison = new Resource<Comparison>(nameRows);
export const otherInfo = new Resource<TraceInfo>();
let namesOfB: { index: number; names: Names } | null = null;
/** What both timelines show, since the place by which they are aligned; null: all of both. */
export const span = signal<Span | null>(null);

export function nameRows({ estimate }: Pick<Comparison, "estimate">): void {
    for (const row of estimate?.rows ?? []) row.name = String((row as unknown as Record<string, unknown>)[estimate?.what ?? ""] ?? "");
}

/** The trace that is compared with the one that is open; null where there is none. */
export function otherIndex(): number | null {
    const count = state.traces.value?.length ?? 0;
    const asked = state.other.value;
    if (asked !== null && asked < count) return asked;
    return count < 2 ? null : state.traceIndex.value === 0 ? 1 : 0;
}

/** The names of the other trace. */
export function otherNames(index: number): Names {
    if (namesOfB?.index !== index) namesOfB = { index, names: new Names(index) };
    return namesOfB.names;
}

export function ask(): void {
    const info = state.trace.value;
    const b = otherIndex();
    if (!info || b === null) return;
    const a = state.traceIndex.value;
    const entry = state.traces.value?.[b];
    const [aw, bw] = [state.windowA.value, state.windowB.value];
    const stamp = info.generation + 1000 * (entry?.generation ?? 0);
    comparison.load("/compare", { a, b, a_from: aw?.from, a_to: aw?.to, b_from: bw?.from, b_to: bw?.to }, stamp);
    otherInfo.load(`/t/${b}/trace`, {}, stamp);
}

/** The answer, where it is about the traces that are chosen now. */
export function current(): Comparison | null {
    const data = comparison.data.value;
    return data && data.a.id === state.traceIndex.value && data.b.id === otherIndex() ? data : null;
}

/** When in each trace the place is by which they are aligned: "start", "signpost:NAME", "op:NAME". */
export function origins(data: Comparison, align: string): Record<Side, number> {
    const [kind, ...rest] = align.split(":");
    const name = rest.join(":");
    const list = kind === "signpost" ? data.anchors.signposts : kind === "op" ? data.anchors.ops : [];
    const anchor = list.find((one) => one.name === name);
    return anchor ? { a: anchor.a, b: anchor.b } : { a: data.a.from, b: data.b.from };
}

/** All of both windows, since the place by which they are aligned. */
export function wholeSpan(data: Comparison, align: string): Span {
    const at = origins(data, align);
    const from = Math.min(data.a.from - at.a, data.b.from - at.b);
    const to = Math.max(data.a.to - at.a, data.b.to - at.b);
    return { from, to: Math.max(to, from + 1) };
}

export interface Bar {
    label: string;
    /** Levels between which it is drawn. */
    from: number;
    to: number;
    kind: "total" | "slower" | "faster";
    change: number;
}

/** The bars from A to B. The axis is broken where the changes would be too small to see beside the totals. */
export function waterfallBars(data: Waterfall): { bars: Bar[]; low: number; high: number; broken: boolean } {
    const bars: Bar[] = [{ label: "A", from: 0, to: data.a_ns, kind: "total", change: 0 }];
    let level = data.a_ns;
    const step = (label: string, change: number) => {
        bars.push({ label, from: level, to: level + change, kind: change > 0 ? "slower" : "faster", change });
        level += change;
    };
    for (const one of data.steps) step(one.name, one.change_ns);
    if (data.rest_count > 0 || Math.abs(data.rest_ns) >= 1) step(`${data.rest_count} smaller`, data.rest_ns);
    bars.push({ label: "B", from: 0, to: data.b_ns, kind: "total", change: 0 });
    const levels = bars.flatMap((bar) => (bar.kind === "total" ? [bar.to] : [bar.from, bar.to]));
    const high = Math.max(...levels);
    const lowest = Math.min(...levels);
    const broken = high > 0 && lowest > 0.5 * high;
    const low = broken ? Math.max(0, lowest - Math.max(high - lowest, high * 0.002) * 0.5) : Math.min(0, lowest);
    return { bars, low, high: Math.max(high, low + 1), broken };
}

/** How sure a row is, in a few letters, as `opscope diff` says it. */
export function noiseText(row: DiffRow): string {
    if (!row.matched || row.state === "new" || row.state === "gone") return "";
    if (row.p !== null) return row.p < 0.001 ? "p < 0.001" : `p = ${row.p.toFixed(3)}`;
    return row.evidence ?? "";
}

export const rowKeyOf = (row: DiffRow): string =>
    [row.kind, row.name, row.location ?? "", row.a_tensors ?? "", row.b_tensors ?? ""].join(" ");

/** What ranks a row: of a zone its own time, so that a slow zone comes before those around it. */
export const ownChange = (row: DiffRow): number => (row.kind === "zone" ? row.self_change_ns ?? row.change_ns : row.change_ns);
