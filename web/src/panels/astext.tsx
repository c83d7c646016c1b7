// SPDX-License-Identifier: Apache-2.0
// The timeline as text, for people who do not see the canvas.
import { duration, partitionPercents, percent, plural } from "../model/format";
import * as state from "../model/state";
import { safeText } from "../model/text";

export function TimelineText() {
    const data = state.overview.data.value;
    const info = state.trace.value;
    if (!data || !info) return null;
    const shares = partitionPercents(data.partition.parts.map((part) => part.ns));
    const busiest = [...info.tracks].sort((a, b) => b.busy_ns - a.busy_ns).slice(0, 5);
    return (
        <section class="unseen" aria-label="Timeline as text">
            <p>{data.sentence.map((part) => safeText(part.text)).join("")}</p>
            <ul>{data.partition.parts.map((part, index) => <li key={part.key}>{safeText(part.label)}: {duration(part.ns)}, {shares[index]}</li>)}</ul>
            <ul>{busiest.map((track) => <li key={track.id}>{safeText(track.name)}: busy {percent(track.busy_ns / Math.max(1, info.duration_ns))}</li>)}</ul>
            <p>{plural(data.gaps.count, "gap")}, {duration(data.gaps.sum)}. {plural(info.lost_zones, "zone")} lost.</p>
        </section>
    );
}
