// SPDX-License-Identifier: Apache-2.0
// The timeline as text, for people who do not see the canvas: the answer, the parts, and of the busiest tracks the
// longest intervals.
import { useSignal, useSignalEffect } from "@preact/signals";
import { getBinary } from "../model/api";
import { duration, partitionPercents, percent, plural } from "../model/format";
import { decodeRows, FLAG_GAP, FLAG_SUMMARY, type Section } from "../model/rows";
import * as state from "../model/state";
import { safeText } from "../model/text";
import type { TrackInfo } from "../model/types";
import { trackName } from "../timeline/layout";

const TRACKS_SAID = 8;
const INTERVALS_SAID = 5;
const CELLS = 512;
const DEPTHS = 4;

export interface Interval {
    name: number;
    start: number;
    length: number;
}

/** The longest zones or runs of a track. Long ones stand by themselves in any summary. */
export function longest(sections: readonly Section[], track: number, runs: boolean): Interval[] {
    const found: Interval[] = [];
    for (const section of sections) {
        if (section.track !== track || section.runs !== runs) continue;
        for (let at = 0; at < section.count; at++) {
            if (section.zones[at] !== 1 || (section.flags[at] as number) & (FLAG_GAP | FLAG_SUMMARY)) continue;
            const start = section.start[at] as number;
            found.push({ name: section.name[at] as number, start, length: (section.end[at] as number) - start });
        }
    }
    return found.sort((a, b) => b.length - a.length || a.start - b.start).slice(0, INTERVALS_SAID);
}

function busiest(tracks: readonly TrackInfo[]): TrackInfo[] {
    return tracks.filter((track) => track.runs > 0 || track.depths > 0).sort((a, b) => b.busy_ns - a.busy_ns).slice(0, TRACKS_SAID);
}

const specification = (track: TrackInfo) => (track.runs > 0 ? `${track.id}:r` : `${track.id}:0-${Math.min(DEPTHS, track.depths) - 1}`);

export function TimelineText() {
    const intervals = useSignal<ReadonlyMap<number, Interval[]>>(new Map());
    useSignalEffect(() => {
        const info = state.trace.value;
        const { from, to } = state.window_.value;
        const tracks = busiest(info?.tracks ?? []);
        if (!info || !tracks.length) return;
        getBinary(state.tracePath("rows"), { from, to, px: CELLS, tracks: tracks.map(specification).join(",") }).then((buffer) => {
            const sections = decodeRows(buffer);
            const said = new Map(tracks.map((track) => [track.id, longest(sections, track.id, track.runs > 0)]));
            void state.names.peek().need([...said.values()].flat().map((one) => one.name));
            intervals.value = said;
        }).catch(() => undefined); // the sentence and the parts are there
    });
    const data = state.overview.data.value;
    const info = state.trace.value;
    const names = state.names.value;
    void names.version.value;
    if (!data || !info) return null;
    const shares = partitionPercents(data.partition.parts.map((part) => part.ns));
    return (
        <section class="unseen" aria-label="Timeline as text">
            <p>{data.sentence.map((part) => safeText(part.text)).join("")}</p>
            <ul>{data.partition.parts.map((part, index) => <li key={part.key}>{safeText(part.label)}: {duration(part.ns)}, {shares[index]}</li>)}</ul>
            <ul>
                {busiest(info.tracks).map((track) => (
                    <li key={track.id}>
                        {safeText(trackName(track))}: busy {percent(track.busy_ns / Math.max(1, info.duration_ns))}
                        {(intervals.value.get(track.id)?.length ?? 0) > 0 && (
                            <ol aria-label={`Longest on ${safeText(trackName(track))}`}>
                                {intervals.value.get(track.id)?.map((one) => <li key={`${one.start}:${one.name}`}>{safeText(names.text(one.name))}, {duration(one.length)}, starts at {duration(one.start, 5)}</li>)}
                            </ol>
                        )}
                    </li>
                ))}
            </ul>
            <p>{plural(data.gaps.count, "gap")}, {duration(data.gaps.sum)}. {plural(info.lost_zones, "zone")} lost.</p>
        </section>
    );
}
