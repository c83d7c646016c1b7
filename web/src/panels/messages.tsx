// SPDX-License-Identifier: Apache-2.0
// Signposts, messages and frames; a row is a place in time. And the table of gaps.
import { duration, group, percent } from "../model/format";
import { endOfFrame, momentOf, pointAtMoment, pointText } from "../model/points";
import * as state from "../model/state";
import { fileName, safeText, shortName } from "../model/text";
import type { Gap, Point } from "../model/types";
import { durationCell, ShareBar, Table, type Column } from "./table";

function trackText(id: number): string {
    const track = state.trace.value?.tracks.find((one) => one.id === id);
    return track ? safeText(track.name || `${track.kind} ${track.number}`) : "–";
}

const POINT_COLUMNS: Column<Point>[] = [
    {
        id: "text", label: "text", width: 300, text: true, value: pointText,
        cell: (row) => <span class="el">{pointText(row)}</span>,
    },
    { id: "kind", label: "kind", width: 90, text: true, value: (row) => row.kind },
    { id: "length", label: "length", width: 92, value: (row) => row.duration ?? -1, cell: (row) => durationCell(row.duration) },
    { id: "track", label: "track", width: 160, text: true, narrowOut: true, value: (row) => trackText(row.track) },
    { id: "time", label: "at", width: 120, value: (row) => -row.time, cell: (row) => duration(row.time, 6) },
];

/** A frame is a stretch of time, the others are moments. */
function choose(row: Point): void {
    const end = endOfFrame(row);
    if (end !== null) state.select({ kind: "range", from: row.time, to: end }, { reveal: true, track: row.track });
    else state.select(momentOf(state.points.data.peek()?.points ?? [], row), { reveal: true });
}

function isChosen(row: Point): boolean {
    const chosen = state.selection.value;
    if (chosen?.kind === "range") return chosen.from === row.time && chosen.to === endOfFrame(row);
    return chosen?.kind === "moment" && pointAtMoment(state.points.data.value?.points ?? [], chosen) === row;
}

export function MessageTable({ full }: { full?: boolean }) {
    const data = state.points.data.value;
    const rows = data?.points ?? [];
    const table = (
        <Table label="Messages" freeText columns={POINT_COLUMNS} rows={rows} sort="time" keyOf={(row) => `${row.time}:${row.track}:${row.header}:${row.text}`}
            isSelected={isChosen} onSelect={choose}
            empty={data ? "The program left no messages, signposts or frames." : "Counting …"} />
    );
    if (!full) return table;
    const thinned = data && data.total > rows.length ? `${group(rows.length)} of ${group(data.total)}, evenly chosen` : group(rows.length);
    return <><div class="panel-head"><b>{thinned}</b></div>{table}</>;
}

function hostText(gap: Gap): string {
    const [first] = gap.host;
    if (!first) return "–";
    return `${shortName(first.text)}${first.file ? ` ${fileName(first.file, first.line)}` : ""}`;
}

const CLASS_SWATCH: Record<string, string> = { "host working": "gap", "host waiting": "waiting", "host not recorded": "gap" };

function gapColumns(largest: number, sum: number): Column<Gap>[] {
    return [
        {
            id: "before", label: "before", width: 260, text: true, value: (row) => row.before,
            cell: (row) => <div class="cell"><i class={`swatch ${CLASS_SWATCH[row.class] ?? "gap"}`} /><span class="el">{shortName(row.before)}</span></div>,
        },
        { id: "class", label: "meanwhile", width: 130, text: true, narrowOut: true, value: (row) => row.class },
        { id: "host", label: "mostly in", width: 220, text: true, narrowOut: true, value: hostText, cell: (row) => <span class="el">{hostText(row)}</span> },
        { id: "start", label: "at", width: 110, value: (row) => row.start, cell: (row) => duration(row.start, 5) },
        { id: "duration", label: "length", width: 92, value: (row) => row.duration, cell: (row) => durationCell(row.duration) },
        {
            id: "share", label: "of all gaps", width: 128, value: (row) => row.duration,
            cell: (row) => <ShareBar share={row.duration} largest={largest} text={percent(sum > 0 ? row.duration / sum : 0)} />,
        },
    ];
}

export function GapTable() {
    const data = state.gaps.data.value;
    const chosen = state.selection.value;
    const wanted = chosen?.kind === "part" ? { idle_host_working: "host working", idle_host_waiting: "host waiting", idle_host_unknown: "host not recorded" }[chosen.key] : undefined;
    const lengths = state.gapLengths.value;
    const rows = (data?.gaps ?? []).filter((gap) => (!wanted || gap.class === wanted) && (!lengths || (gap.duration >= lengths.from && gap.duration < lengths.to)));
    return (
        <Table label="Gaps" columns={gapColumns(Math.max(0, ...rows.map((row) => row.duration)), data?.sum ?? 0)} rows={rows} sort="duration"
            keyOf={(row) => `${row.track}:${row.start}`} dim={state.gaps.dim.value}
            isSelected={(row) => chosen?.kind === "gap" && chosen.start === row.start && chosen.track === row.track}
            onSelect={(row) => state.select({ kind: "gap", track: row.track, start: row.start, end: row.start + row.duration }, { reveal: true })}
            empty={state.gaps.error.value ?? (data ? (lengths ? "No gap in this window is that long." : "No gaps in this window.") : "Counting …")} />
    );
}
