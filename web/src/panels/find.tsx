// SPDX-License-Identifier: Apache-2.0
// Find zone: how the calls of one name vary, and where the longest are.
import { useSignal, useSignalEffect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { getJson } from "../model/api";
import { duration, exactNs, group, plural } from "../model/format";
import * as state from "../model/state";
import { safeText } from "../model/text";
import type { FindResult, SearchResult } from "../model/types";
import { Facts, Histogram, place, trackLabel, useAnswer } from "./facts";
import { Part } from "./inspector";

/** The id of a name: known already, or asked for. */
function useNameId(name: string): number | null | undefined {
    const found = useSignal<{ name: string; id: number | null } | null>(null);
    const wanted = useSignal(name);
    wanted.value = name;
    useSignalEffect(() => {
        const text = wanted.value;
        const known = state.names.value.idOf(text);
        if (known !== undefined) {
            found.value = { name: text, id: known };
            return;
        }
        getJson<SearchResult>(state.tracePath("search"), { q: text, limit: 50 }).then(async (answer) => {
            const exact = answer.names.find((one) => one.text === text) ?? answer.names[0];
            if (exact) await state.names.value.need([exact.name]);
            found.value = { name: text, id: exact?.name ?? null };
        }).catch(() => (found.value = { name: text, id: null }));
    });
    return found.value?.name === name ? found.value.id : undefined;
}

function goTo(call: FindResult["calls"][number], id: number): void {
    state.select({ kind: "zone", track: call.track, depth: call.depth, start: call.start, end: call.end, name: id }, { reveal: true });
}

/** A figure that leads to the call that has it, where that is among the longest. */
function door(data: FindResult, ns: number, id: number): ComponentChildren {
    const call = data.calls.find((one) => one.end - one.start === ns);
    return call ? <button class="link" title={exactNs(ns)} onClick={() => goTo(call, id)}>{duration(ns)}</button> : duration(ns);
}

const STRIP = 44;

/** Every call at its time, as high as it is long; where there are too many, the histogram has to do. */
function OverTime({ data, id }: { data: FindResult; id: number }) {
    const { from, to } = state.window_.value;
    if (data.calls.length < Math.max(3, data.count)) return null;
    const most = Math.max(1, data.max);
    return (
        <svg width="100%" height={STRIP + 14} class="over-time" role="img" aria-label={`Length of ${plural(data.count, "call")} over time, at most ${duration(most)}`}>
            <line class="gap-axis" x1="0" x2="100%" y1={STRIP + 0.5} y2={STRIP + 0.5} />
            {data.calls.map((call) => (
                <circle key={`${call.track}:${call.depth}:${call.start}`} cx={`${Math.min(100, Math.max(0, ((call.start - from) / (to - from)) * 100))}%`} cy={STRIP - 3 - ((call.end - call.start) / most) * (STRIP - 8)} r="2.5" onClick={() => goTo(call, id)}>
                    <title>{`${duration(call.end - call.start)} at ${duration(call.start, 5)}`}</title>
                </circle>
            ))}
            <text x="0" y={STRIP + 12}>{duration(from)}</text><text x="100%" y={STRIP + 12} text-anchor="end">{duration(to)}</text>
        </svg>
    );
}

export function FindZone({ name }: { name: string }) {
    const id = useNameId(name);
    const { from, to } = state.window_.value;
    const { data, error } = useAnswer<FindResult>(typeof id === "number" ? "find" : "", { name: id ?? 0, from, to, limit: 200 },
        (answer) => (state.hits.value = answer.calls.map((call) => call.start)));
    const known = typeof id === "number" ? state.names.value.get(id) : undefined;
    if (id === null) return <p class="t2">No name contains '{safeText(name)}'.</p>;
    const where = place(known?.file, known?.line);
    return (
        <>
            <div class="between"><span class="tag">Find zone</span><span class="t3">{where}</span></div>
            <h2>{safeText(name)}</h2>
            <div class="t2">{data ? `${plural(data.count, "call")} in the window` : error ?? "Counting …"}</div>
            {data && (
                <Part title="How its calls vary" side={`p50 ${duration(data.p50)}, p99 ${duration(data.p99)}`}>
                    <Histogram bins={data.histogram} label={`Histogram of ${plural(data.count, "call")}`}
                        lines={[{ at: data.p50, label: "p50" }, { at: data.p90, label: "p90" }, { at: data.p99, label: "p99" }]} />
                    <Facts rows={[
                        ["own time", duration(data.self)], ["total", duration(data.total)], ["mean", duration(data.mean)],
                        ["shortest", door(data, data.min, id as number)], ["median", door(data, data.p50, id as number)], ["p90", door(data, data.p90, id as number)],
                        ["p99", door(data, data.p99, id as number)], ["longest", door(data, data.max, id as number)],
                    ]} />
                    <OverTime data={data} id={id as number} />
                </Part>
            )}
            {data && data.calls.length > 0 && (
                <Part title="Longest calls" side={data.count > data.calls.length ? `${group(data.calls.length)} of ${group(data.count)}` : ""} last>
                    <div class="list-rows">
                        {data.calls.slice(0, 100).map((call) => (
                            <button key={`${call.track}:${call.depth}:${call.start}`} onClick={() => goTo(call, id as number)} title={exactNs(call.end - call.start)}>
                                <i class={`swatch c${known?.colour ?? 7}`} />
                                <span class="el">{trackLabel(call.track)} <span class="t3">at {duration(call.start, 5)}</span></span>
                                <span>{duration(call.end - call.start)}</span><span />
                            </button>
                        ))}
                    </div>
                </Part>
            )}
        </>
    );
}
