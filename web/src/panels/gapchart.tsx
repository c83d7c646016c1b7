// SPDX-License-Identifier: Apache-2.0
// The time in gaps by their length: are they many small ones or few large ones? And how gaps and the idle parts add up.
import { duration, group, plural } from "../model/format";
import * as state from "../model/state";
import type { Gaps } from "../model/types";

const HEIGHT = 96;
const PLOT = 74;

export function idleText(data: Gaps): string {
    const sum = (key: "ns" | "short_ns" | "end_ns") => data.idle.reduce((all, part) => all + part[key], 0);
    const said = [`${plural(data.count, "gap")} (${duration(data.sum)})`];
    if (data.short_count > 0) said.push(`${group(data.short_count)} short ${data.short_count === 1 ? "one" : "ones"} (${duration(sum("short_ns"))})`);
    if (sum("end_ns") > 0) said.push(`after the last op (${duration(sum("end_ns"))})`);
    return said.length > 1 ? `${said.join(" + ")} = ${duration(sum("ns"))} idle` : `${plural(data.count, "gap")}, ${duration(data.sum)}`;
}

/** From which length on gaps are counted one by one. */
export function shortText(data: Gaps): string {
    return data.short_count > 0 ? `shorter than ${duration(data.mark_ns ?? 0)} are not counted` : "sum of time";
}

/** A click on a column keeps the gaps of that length in the table; another one, or the chip there, undoes it. */
function choose(bin: Gaps["histogram"][number]): void {
    const now = state.gapLengths.peek();
    state.gapLengths.value = now?.from === bin.from && now.to === bin.to ? null : { from: bin.from, to: bin.to };
    state.drawerTab.value = "gaps";
    state.drawerFolded.value = false;
}

export function GapHistogram({ data }: { data: Gaps }) {
    const bins = data.histogram;
    const first = bins[0];
    const last = bins[bins.length - 1];
    if (!first || !last) return null;
    const most = Math.max(1, ...bins.map((bin) => bin.sum));
    const x = (ns: number) => (last.to > first.from ? Math.min(100, Math.max(0, (Math.log(ns / first.from) / Math.log(last.to / first.from)) * 100)) : 0);
    const chosen = state.gapLengths.value;
    const mark = data.mark_ns !== undefined && data.mark_ns > first.from && data.mark_ns < last.to ? data.mark_ns : null;
    const name = bins.filter((bin) => bin.count).map((bin) => `${duration(bin.from)} to ${duration(bin.to)}: ${duration(bin.sum)} in ${group(bin.count)}`).join(", ");
    return (
        <svg class="gap-chart" width="100%" height={HEIGHT} role="img" aria-label={`Time in gaps by their length: ${name}`}>
            {bins.map((bin) => {
                const tall = bin.count ? Math.max(2, (bin.sum / most) * (PLOT - 14)) : 0;
                const kept = !chosen || (bin.from >= chosen.from && bin.to <= chosen.to);
                return (
                    <rect key={bin.from} class={`column ${kept ? "" : "pale"}`} x={`${x(bin.from)}%`} y={PLOT - tall} width={`${Math.max(0.4, x(bin.to) - x(bin.from) - 0.3)}%`} height={tall} onClick={() => choose(bin)}>
                        <title>{`${duration(bin.from)} to ${duration(bin.to)}: ${duration(bin.sum)} in ${plural(bin.count, "gap")}`}</title>
                    </rect>
                );
            })}
            <line class="axis" x1="0" x2="100%" y1={PLOT + 0.5} y2={PLOT + 0.5} />
            {mark !== null && <line class="mark-line" x1={`${x(mark)}%`} x2={`${x(mark)}%`} y1={2} y2={PLOT + 4} />}
            {mark !== null && <text x={`${x(mark)}%`} y={11} dx={x(mark) > 70 ? -4 : 4} text-anchor={x(mark) > 70 ? "end" : "start"}>{duration(mark)}</text>}
            <text x="0" y={HEIGHT - 6}>{duration(first.from)}</text>
            <text x="100%" y={HEIGHT - 6} text-anchor="end">{duration(last.to)}</text>
        </svg>
    );
}
