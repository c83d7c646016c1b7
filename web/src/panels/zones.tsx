// SPDX-License-Identifier: Apache-2.0
// Statistics of zones in the window; a row opens Find zone in the inspector.
import { embedded } from "../model/embedded";
import { group, percent } from "../model/format";
import * as state from "../model/state";
import { fileName, matcher, safeText, shortName } from "../model/text";
import type { ZoneRow } from "../model/types";
import { processLabel, trackName } from "../timeline/layout";
import { durationCell, ShareBar, Table, type Column } from "./table";

const waitFirst = (row: ZoneRow) => (row.wait ? "waiting" : "");

function columns(largest: number, all: number): Column<ZoneRow>[] {
    const names = state.names.value;
    return [
        {
            id: "name", label: "function", width: 300, text: true, value: (row) => row.text,
            cell: (row) => (
                <div class="cell">
                    <i class={`swatch ${row.wait ? "waiting" : `c${names.colour(row.name)}`}`} />
                    <span class="el" title={safeText(row.text)}>{shortName(row.text)}</span>
                </div>
            ),
        },
        {
            id: "file", label: "place", width: 150, gives: 1, text: true, narrowOut: true, value: (row) => row.file,
            cell: (row) => (row.file ? <span class="t3" title={safeText(row.file)}>{fileName(row.file, row.line)}</span> : "–"),
        },
        { id: "wait", label: "waits", width: 64, text: true, optional: true, value: waitFirst, cell: (row) => <span class="t3">{waitFirst(row)}</span> },
        { id: "count", label: "count", width: 88, value: (row) => row.count, cell: (row) => group(row.count) },
        { id: "self", label: "self", width: 92, value: (row) => row.self, cell: (row) => durationCell(row.self) },
        {
            id: "share", label: "of all self", width: 128, gives: 2, value: (row) => row.self,
            cell: (row) => <ShareBar share={row.self} largest={largest} text={percent(all > 0 ? row.self / all : 0)} />,
        },
        { id: "total", label: "total", width: 92, narrowOut: true, value: (row) => row.total, cell: (row) => durationCell(row.total) },
        { id: "mean", label: "mean", width: 84, gives: 3, narrowOut: true, value: (row) => row.mean, cell: (row) => durationCell(row.mean) },
        { id: "p50", label: "p50", width: 84, narrowOut: true, value: (row) => row.p50 ?? null, cell: (row) => durationCell(row.p50) },
        { id: "p99", label: "p99", width: 84, narrowOut: true, value: (row) => row.p99 ?? null, cell: (row) => durationCell(row.p99) },
        { id: "max", label: "max", width: 84, narrowOut: true, value: (row) => row.max, cell: (row) => durationCell(row.max) },
        { id: "min", label: "min", width: 84, optional: true, value: (row) => row.min, cell: (row) => durationCell(row.min) },
    ];
}

/** Of which thread or process: a choice where there are several. */
function WhoseZones() {
    const info = state.trace.value;
    if (!info || embedded) return null;
    const tracks = info.tracks.filter((track) => track.zones > 0 && track.parent === null);
    if (tracks.length < 2) return null;
    const processes = info.processes.filter((process) => tracks.some((track) => track.process === process.id));
    return (
        <select class="grouping" aria-label="Zones of" value={state.zonesOf.value} onChange={(event) => (state.zonesOf.value = event.currentTarget.value)}>
            <option value="">of all threads</option>
            {processes.map((process) => {
                const inside = tracks.filter((track) => track.process === process.id);
                const label = processLabel(process) || `process ${process.pid}`;
                return (
                    <optgroup key={process.id} label={safeText(label)}>
                        {processes.length > 1 && <option value={`p${process.id}`}>{safeText(`all of ${label} (${process.pid})`)}</option>}
                        {inside.map((track) => <option key={track.id} value={`t${track.id}`}>{safeText(trackName(track))}</option>)}
                    </optgroup>
                );
            })}
        </select>
    );
}

export function ZoneTable({ full }: { full?: boolean }) {
    const data = state.zoneRows.data.value;
    void state.names.value.version.value;
    const filter = state.zoneFilter;
    const match = matcher(full ? filter.value : "");
    const all = data?.rows ?? [];
    const rows = all.filter((row) => match(row.text) || match(row.file ?? ""));
    const chosen = state.selection.value;
    const self = all.reduce((sum, row) => sum + row.self, 0);
    const table = (
        <Table label="Zones" columns={columns(Math.max(0, ...rows.map((row) => row.self)), self)} rows={rows} sort="self"
            keyOf={(row) => String(row.name)} isSelected={(row) => chosen?.kind === "name" && chosen.name === row.text}
            onSelect={(row) => state.select({ kind: "name", name: row.text })} dim={state.zoneRows.dim.value}
            empty={all.length ? "No name in this window matches." : state.zoneRows.error.value ?? (data ? "No zones in this window." : "Counting …")} />
    );
    if (!full) return table;
    return (
        <>
            <div class="panel-head">
                <b>{group(data?.count ?? 0)} functions</b><WhoseZones /><span class="fill" />
                <input class="filter-field" type="search" placeholder="Filter zones" aria-label="Filter zones" value={filter.value}
                    onInput={(event) => (filter.value = event.currentTarget.value)} />
            </div>
            {table}
        </>
    );
}
