// SPDX-License-Identifier: Apache-2.0
// The trace's own card, shown while nothing is selected, and the list of what was lost.
import { embedded } from "../model/embedded";
import { bytes, duration, group, manyOf, plural } from "../model/format";
import * as state from "../model/state";
import { capital, safeText } from "../model/text";
import { Facts, trackLabel, type Fact } from "./facts";
import { Part } from "./inspector";

export function TraceCard() {
    const info = state.trace.value;
    const overview = state.overview.data.value;
    if (!info) return null;
    const entry = state.traces.value?.[state.traceIndex.value];
    const threads = info.tracks.filter((track) => track.kind === "thread").length;
    const crumb = state.crumbs.value[state.crumbs.value.length - 1];
    const facts: (Fact | false)[] = [
        !!(info.command || info.program) && ["command", <span class="mono">{safeText(info.command || info.program)}</span>],
        !!info.host && ["host", safeText(info.host)],
        Number(info.start_unix_ns) > 0 && ["started", new Date(Number(info.start_unix_ns) / 1e6).toLocaleString()],
        info.duration_ns > 0 && ["length", duration(info.duration_ns)],
        ["processes", group(info.processes.length)],
        ["threads", group(threads)],
        ["zones", manyOf(info.zones, "zone")],
        info.ops > 0 && ["ops", `${group(info.ops)}, ${plural(info.runs, "run")}`],
        info.lost_zones + info.lost_records > 0 && ["lost", <button class="link" onClick={() => state.select({ kind: "lost" })}>{group(info.lost_zones || info.lost_records)}</button>],
        !!entry && entry.size_bytes > 0 && ["file", <span title={safeText(entry.path)}>{bytes(entry.size_bytes)}</span>],
    ];
    return (
        <>
            <div class="between"><span class="tag">Trace</span><span class="t3">nothing is selected</span></div>
            <h2>{safeText(info.name)}</h2>
            <Part title="What was recorded"><Facts rows={facts} /></Part>
            {info.duration_ns > 0 && <Part title="The window" side="what the numbers are about">
                <Facts rows={[["from", crumb ? safeText(crumb.label) : "whole trace"], ["length", duration(state.window_.value.to - state.window_.value.from)]]} />
            </Part>}
            {embedded && embedded.missing().length > 0 && (
                <Part title="Not in this file" side="opscope view shows it">
                    {embedded.missing().map((text) => <p key={text} class="t2 next">{capital(text)}</p>)}
                </Part>
            )}
            {overview && overview.next.length > 0 && (
                <Part title="What to look at next" last>
                    {overview.next.map((one, index) => <p key={index} class="t2 next">{capital(safeText(one.text))}{one.command && <><br /><code>{safeText(one.command)}</code></>}</p>)}
                </Part>
            )}
        </>
    );
}

export function LostList() {
    const info = state.trace.value;
    const remedies = state.overview.data.value?.losses ?? [];
    if (!info) return null;
    return (
        <>
            <div class="between"><span class="tag loss-tag">Lost</span><span class="t3">{plural(info.losses.length, "place")}</span></div>
            <h2>{info.lost_zones ? plural(info.lost_zones, "zone") : plural(info.lost_records, "record")} lost</h2>
            {remedies.map((one, index) => <p key={index} class="t2">{safeText(one.text)} {safeText(one.remedy)}</p>)}
            <Part title="Where" last>
                <div class="list-rows">
                    {info.losses.slice(0, 200).map((loss, index) => (
                        <button key={index} onClick={() => state.show({ kind: "span", from: loss.from, to: Math.max(loss.to, loss.from), track: loss.track })}>
                            <i class="swatch lost" />
                            <span class="el">{trackLabel(loss.track)} <span class="t3">{safeText(loss.reason)}</span></span>
                            <span>{group(loss.zones || loss.records)}</span><span class="r t2">{duration(loss.from)}</span>
                        </button>
                    ))}
                </div>
            </Part>
        </>
    );
}
