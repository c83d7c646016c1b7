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
    steps: { name: string; gap: boolean; noise: boolean; change_ns: number }[];
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
    diff?: {
        totals: Total[];
        rows: DiffRow[];
        threshold_percent: number;
        significance_percent: number;
        /** What was left out, in a line. */
        about: string | null;
        /** "step": all times are of one, the mean of so many. */
        basis: "step" | "run";
        a_steps: number;
        b_steps: number;
        /** The whole changed by no more than noise. */
        is_noise: boolean;
    };
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
    comparison.load("/compare", { a, b, a_from: aw?.from, a_to: aw?.to, b_from: bw?.from, b_to: bw?.to, warmup: state.warmup.value ? "include" : undefined }, stamp);
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
    kind: "total" | "slower" | "faster" | "noise";
    change: number;
}

export interface Part {
    key: string;
    label: string;
    a: number;
    b: number;
}

/** What the bars of both show: the basis that the sentence, the waterfall and the table have as well. */
export function partsOf(data: Pick<Comparison, "a" | "b" | "diff">): { parts: Part[]; title: string } {
    const { diff } = data;
    const totals = new Map((diff?.totals ?? []).map((total) => [total.total, total]));
    const [device, gaps] = [totals.get("device time"), totals.get("gaps")];
    if (diff?.basis === "run" && device && gaps) {
        return {
            parts: [{ key: "busy", label: "ops", a: device.a, b: device.b }, { key: "idle_host_working", label: "gaps between them", a: gaps.a, b: gaps.b }],
            title: "ops and the gaps between them",
        };
    }
    const found = new Map<string, Part>();
    for (const side of ["a", "b"] as const) {
        const steps = diff?.basis === "step" ? diff[`${side}_steps`] : 1;
        for (const part of data[side].overview.partition.parts) {
            const one = found.get(part.key) ?? { key: part.key, label: part.label, a: 0, b: 0 };
            one[side] += part.ns / steps;
            found.set(part.key, one);
        }
    }
    return { parts: [...found.values()], title: diff?.basis === "step" ? `one step, the mean of ${diff.a_steps} and ${diff.b_steps}` : "all of both" };
}

/** The bars from A to B. The axis is broken where the changes would be too small to see beside the totals, unless all of
 * them together are noise: that is not to look like a change. */
export function waterfallBars(data: Waterfall, isNoise = false): { bars: Bar[]; low: number; high: number; broken: boolean } {
    const bars: Bar[] = [{ label: "A", from: 0, to: data.a_ns, kind: "total", change: 0 }];
    let level = data.a_ns;
    const step = (label: string, change: number, noise: boolean) => {
        bars.push({ label, from: level, to: level + change, kind: noise || isNoise ? "noise" : change > 0 ? "slower" : "faster", change });
        level += change;
    };
    for (const one of data.steps) step(one.name, one.change_ns, one.noise);
    if (data.rest_count > 0 || Math.abs(data.rest_ns) >= 1) step(data.rest_count > 0 ? `${data.rest_count} smaller` : "rest", data.rest_ns, false);
    bars.push({ label: "B", from: 0, to: data.b_ns, kind: "total", change: 0 });
    const levels = bars.flatMap((bar) => (bar.kind === "total" ? [bar.to] : [bar.from, bar.to]));
    const high = Math.max(...levels);
    const lowest = Math.min(...levels);
    const broken = !isNoise && high > 0 && lowest > 0.5 * high;
    const low = broken ? Math.max(0, lowest - Math.max(high - lowest, high * 0.002) * 0.5) : Math.min(0, lowest);
    return { bars, low, high: Math.max(high, low + 1), broken };
}

/** Names cut to so many letters that they can still be told apart: what many begin with gives way to where they differ. */
export function shortLabels(names: readonly string[], most: number): string[] {
    const cut = (name: string) => (name.length <= most ? name : most >= 5 ? `${name.slice(0, most - 1)}…` : "");
    const labels = names.map(cut);
    return labels.map((label, index) => {
        const name = names[index] ?? "";
        if (!label || label === name || labels.filter((other) => other === label).length === 1) return label;
        const others = names.filter((_, at) => at !== index && labels[at] === label);
        let same = 0; // of their beginnings
        while (same < name.length && others.some((other) => other.startsWith(name.slice(0, same + 1)))) same++;
        const from = Math.max(0, Math.min(same, name.length - (most - 1)));
        const rest = name.slice(from);
        return rest.length <= most - 1 ? `…${rest}` : `…${rest.slice(0, most - 2)}…`;
    });
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
