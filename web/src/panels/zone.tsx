// SPDX-License-Identifier: Apache-2.0
// A zone: how long, of that how much its own, inside of what, and its source.
import { duration, exactNs, percent, plural, quantity } from "../model/format";
import * as state from "../model/state";
import { safeText, shortName } from "../model/text";
import type { Launched, ZoneDetail } from "../model/types";
import type { Selection } from "../model/url";
import { Facts, place, Source, trackLabel, useAnswer } from "./facts";
import { Part } from "./inspector";

type Zone = Extract<Selection, { kind: "zone" }>;

function speak(answer: ZoneDetail): void {
    const text = state.names.value.text(answer.name);
    state.spoken.value = `${text}, ${duration(answer.duration)}, ${trackLabel(answer.track)}, starts ${duration(answer.start, 5)}; ` +
        (answer.children === null ? "" : plural(answer.children, "child", "children"));
}

/** A link names only the start: with the answer the selection knows its end and name, too. */
function complete(chosen: Zone, answer: ZoneDetail): void {
    void state.names.value.need([answer.name, ...answer.parents.map((parent) => parent.name)]).then(() => speak(answer));
    const end = answer.start + answer.duration;
    if (chosen.start === answer.start && chosen.name === answer.name && (chosen.end === end || answer.open)) return;
    state.selection.value = { ...chosen, start: answer.start, end, name: answer.name };
}

const LAUNCHED_SHOWN = 4;

/** Runs on devices that this zone launched. */
function WhatItLaunched({ chosen }: { chosen: Zone }) {
    const there = (state.trace.value?.runs ?? 0) > 0;
    const { data } = useAnswer<Launched>(there ? "launched" : "", { track: chosen.track, from: chosen.start, to: chosen.end, limit: 64 },
        (answer) => void state.names.value.need(answer.runs.map((run) => run.name)));
    if (!there || !data?.runs.length) return null;
    const names = state.names.value;
    return (
        <Part title="What it launched" side={`${plural(data.count, "run")}, ] goes there`}>
            <div class="list-rows">
                {data.runs.slice(0, LAUNCHED_SHOWN).map((run) => (
                    <button key={`${run.track}:${run.lane}:${run.start}`} onClick={() => {
                        state.select({ kind: "run", track: run.track, lane: run.lane, start: run.start, end: run.end, name: run.name }, { reveal: true });
                    }}>
                        <i class={`swatch c${names.colour(run.name)}`} />
                        <span class="el">{shortName(names.text(run.name))} <span class="t3">{trackLabel(run.track)}</span></span>
                        <span>{duration(run.end - run.start)}</span><span />
                    </button>
                ))}
            </div>
        </Part>
    );
}

export function ZoneDetails({ chosen }: { chosen: Zone }) {
    const { data, error } = useAnswer<ZoneDetail>("zone", { track: chosen.track, depth: chosen.depth, at: chosen.start }, (answer) => complete(chosen, answer));
    const names = state.names.value;
    void names.version.value;
    const known = names.get(data?.name ?? chosen.name ?? -1);
    const length = data?.duration ?? chosen.end - chosen.start;
    if (error) return <p class="t2">This zone is not in the trace: {error}</p>;
    const where = place(known?.file, known?.line);
    return (
        <>
            <div class="between">
                <span class="tag">{known?.wait ? "Wait" : "Zone"}</span>
                <span class="t3">starts at {duration(chosen.start, 5)}</span>
            </div>
            <h2>{safeText(known?.text ?? "…")}</h2>
            <div class="t2"><b title={exactNs(length)}>{duration(length)}</b> on {trackLabel(chosen.track)}{data?.open ? ", not ended" : ""}</div>
            <Part title="How long">
                <Facts rows={[
                    data?.self !== null && ["own time", data ? `${duration(data.self)}, ${percent(length > 0 ? data.self / length : 0)}` : "…"],
                    data?.children !== null && ["children", data ? plural(data.children, "zone") : "…"],
                    ["exact", exactNs(length)],
                    data?.value !== null && data?.value !== undefined && ["value", quantity(data.value)],
                    ...(data?.texts ?? []).map((text, index): [string, string] => [index ? "" : "text", safeText(text)]),
                ]} />
            </Part>
            {data && data.parents.length > 0 && (
                <Part title="Inside of">
                    <div class="list-rows">
                        {[...data.parents].sort((a, b) => b.depth - a.depth).slice(0, 8).map((parent) => (
                            <button key={parent.depth} onClick={() => {
                                state.select({ kind: "zone", track: data.track, depth: parent.depth, start: parent.start, end: parent.start + parent.duration, name: parent.name }, { reveal: true });
                            }}>
                                <i class={`swatch c${names.colour(parent.name)}`} />
                                <span class="el">{shortName(names.text(parent.name))}</span>
                                <span>{duration(parent.duration)}</span>
                                <span class="r t2">{percent(parent.duration > 0 ? length / parent.duration : 0)}</span>
                            </button>
                        ))}
                    </div>
                </Part>
            )}
            <WhatItLaunched chosen={chosen} />
            {data?.source && <Part title="Source" side={where}><Source source={data.source} /></Part>}
            {!data?.source && where && <Part title="Source"><span class="t2" title={safeText(known?.file ?? "")}>{where}</span></Part>}
            <Part title="All calls" last>
                {known && <button class="link" onClick={() => state.select({ kind: "name", name: known.text })}>Find every {shortName(known.text)}</button>}
            </Part>
        </>
    );
}
