// SPDX-License-Identifier: Apache-2.0
// What calls of ops cost the host, as `opscope overhead` measured it (src/serve/overhead_page.c), and the gate's verdicts.
import { duration, NBSP, percent, plural } from "./format";
import { safeText, shortName } from "./text";
import type { SentencePart } from "./types";

export interface DispatchOp {
    name: string;
    group: string;
    state: string;
    reason: string;
    early: boolean;
    count: number;
    min_ns: number | null;
    p50_ns: number | null;
    p99_ns: number | null;
    mean_ns: number | null;
    mean_total_ns: number | null;
    ci_low_ns: number | null;
    ci_high_ns: number | null;
    native_ns: number | null;
    repeats_ns: number[];
}

export interface GateRow {
    name: string;
    group: string;
    verdict: Verdict;
    reference_ns: number | null;
    now_ns: number | null;
    ratio: number | null;
    rounds: number;
    reason: string;
}

export type Verdict = "same" | "slower" | "undecided" | "faster" | "failed" | "missing" | "new";

export interface Gate {
    reference: string;
    passes: boolean;
    tolerance: number;
    why_absolute: string | null;
    factor: number;
    margin: number;
    rounds: number;
    quiet_rounds: number;
    rows: GateRow[];
    calibration: { name: string; reference_ns: number | null; now_ns: number | null }[];
}

export interface Dispatch {
    source: string | null;
    provider: string | null;
    provider_version: string | null;
    machine: string | null;
    loop_ns: number | null;
    noise: number | null;
    noisy: boolean;
    ops: DispatchOp[];
    gate: Gate | null;
}

/** An op of the run, of the reference, or of both. */
export interface DispatchRow {
    name: string;
    op: DispatchOp | null;
    gate: GateRow | null;
}

/** What is worst first: the order of verdicts, as the command lists them. */
export const VERDICTS: readonly Verdict[] = ["slower", "failed", "missing", "undecided", "faster", "new", "same"];
/** How the bar and its legend show them. */
export const VERDICT_CLASS: Record<Verdict, string> = {
    slower: "waiting", failed: "lost", missing: "lost", undecided: "gap", faster: "work", new: "estimated", same: "imports",
};
export const VERDICT_WORDS: Record<Verdict, string> = {
    slower: "slower", failed: "fail now", missing: "missing", undecided: "undecided", faster: "faster", new: "new", same: "as they were",
};

export const isMeasured = (op: DispatchOp | null): op is DispatchOp & { state: "measured" } => op !== null && op.state === "measured";

export function rowsOf(data: Dispatch): DispatchRow[] {
    const judged = new Map((data.gate?.rows ?? []).map((row) => [row.name, row]));
    const rows = data.ops.map((op): DispatchRow => ({ name: op.name, op, gate: judged.get(op.name) ?? null }));
    const known = new Set(data.ops.map((op) => op.name));
    for (const gate of judged.values()) if (!known.has(gate.name)) rows.push({ name: gate.name, op: null, gate });
    return rows;
}

/** What the reference says for this machine. */
export function expectedNs(data: Dispatch, row: GateRow | null): number | null {
    return data.gate && row && row.reference_ns !== null ? row.reference_ns * data.gate.factor : null;
}

export function verdictCounts(gate: Gate): [Verdict, number][] {
    return VERDICTS.map((verdict): [Verdict, number] => [verdict, gate.rows.filter((row) => row.verdict === verdict).length]).filter(([, count]) => count > 0);
}

const part = (text: string, meaning: SentencePart["meaning"] = null): SentencePart => ({ text, strong: meaning !== null, meaning });

export function slowest(data: Dispatch): DispatchOp[] {
    return data.ops.filter((op) => isMeasured(op) && op.min_ns !== null).sort((a, b) => (b.min_ns ?? 0) - (a.min_ns ?? 0));
}

/** The answer: did the gate pass, and what costs most. */
export function sentenceOf(data: Dispatch): SentencePart[] {
    const ranked = slowest(data);
    const [first] = ranked;
    const middle = ranked[Math.floor(ranked.length / 2)];
    const { gate } = data;
    if (gate) {
        const counts = verdictCounts(gate).map(([verdict, count]) =>
            (verdict === "same" ? `${count}${NBSP}of ${plural(gate.rows.length, "op")} ${VERDICT_WORDS.same}` : `${count}${NBSP}${VERDICT_WORDS[verdict]}`));
        return [part("The gate "), part(gate.passes ? "passed" : "failed", gate.passes ? "work" : "loss"), part(`: ${counts.join(", ")}.`)];
    }
    if (!first || !middle) return [part("No op could be measured.")];
    const rest = ranked.length > 2 ? `, the op in the middle after ${duration(middle.min_ns ?? 0)}` : "";
    return [part(`Of ${plural(ranked.length, "op")} ${shortName(first.name)} is the slowest to call: it returns after `), part(duration(first.min_ns ?? 0), "wait"), part(`${rest}.`)];
}

/** Lines about how far the figures are to be trusted. */
export function notesOf(data: Dispatch): string[] {
    const notes: string[] = [];
    const count = (test: (op: DispatchOp) => boolean) => data.ops.filter(test).length;
    const early = count((op) => op.early);
    const failed = count((op) => op.state !== "measured" && op.state !== "left out");
    const left = count((op) => op.state === "left out");
    if (early) notes.push(`${plural(early, "op returns", "ops return")} before the work is done: compare the mean with the mean until done.`);
    if (failed) notes.push(`${plural(failed, "op")} could not be measured: the table says why.`);
    if (left) notes.push(`${plural(left, "op was", "ops were")} left out: there is no way to call ${left === 1 ? "it" : "them"} here.`);
    if (data.noisy) notes.push("The machine was noisy: trust the least and the median rather than the mean, and measure again when it is quiet.");
    return notes;
}

/** How the two machines were compared. */
export function gateText(gate: Gate): string {
    const how = gate.why_absolute === null
        ? `This machine takes ${gate.factor.toFixed(2)} times as long as the reference's, by ${plural(gate.calibration.length, "calibration op")}; up to ${gate.margin.toFixed(2)} times that proves nothing.`
        : `Times are compared as they are: ${safeText(gate.why_absolute)}.`;
    return `${how} Slower is more than ${gate.tolerance.toFixed(2)} times the reference. ${plural(gate.rounds, "more round")}, ${gate.quiet_rounds} of them quiet.`;
}

export function about(data: Dispatch): string {
    const parts = [[data.provider, data.provider_version].filter(Boolean).join(" "), data.machine ?? ""].filter(Boolean);
    return safeText(parts.join(", ") || data.source || "");
}

export const ratioText = (ratio: number | null) => (ratio === null ? "–" : `${ratio.toFixed(2)}${NBSP}×`);
export const noiseText = (noise: number | null) => (noise === null || noise <= 0 ? null : percent(noise));
