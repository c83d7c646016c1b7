// SPDX-License-Identifier: Apache-2.0
// Statistics of zones in the window; a row opens Find zone in the inspector.
import { useSignal } from "@preact/signals";
import { group, percent } from "../model/format";
import * as state from "../model/state";
import { fileName, matcher, safeText, shortName } from "../model/text";
import type { ZoneRow } from "../model/types";
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
            id: "file", label: "place", width: 150, text: true, narrowOut: true, value: (row) => row.file,
            cell: (row) => (row.file ? <span class="t3" title={safeText(row.file)}>{fileName(row.file, row.line)}</span> : "–"),
        },
        { id: "wait", label: "waits", width: 64, text: true, optional: true, value: waitFirst, cell: (row) => <span class="t3">{waitFirst(row)}</span> },
        { id: "count", label: "count", width: 88, value: (row) => row.count, cell: (row) => group(row.count) },
        { id: "self", label: "self", width: 92, value: (row) => row.self, cell: (row) => durationCell(row.self) },
        {
            id: "share", label: "of all self", width: 128, value: (row) => row.self,
            cell: (row) => <ShareBar share={row.self} largest={largest} text={percent(all > 0 ? row.self / all : 0)} />,
        },
        { id: "total", label: "total", width: 92, narrowOut: true, value: (row) => row.total, cell: (row) => durationCell(row.total) },
        { id: "mean", label: "mean", width: 84, narrowOut: true, value: (row) => row.mean, cell: (row) => durationCell(row.mean) },
        { id: "min", label: "min", width: 84, optional: true, value: (row) => row.min, cell: (row) => durationCell(row.min) },
        { id: "max", label: "max", width: 84, optional: true, value: (row) => row.max, cell: (row) => durationCell(row.max) },
    ];
}

export function ZoneTable({ full }: { full?: boolean }) {
    const data = state.zoneRows.data.value;
    void state.names.value.version.value;
    const filter = useSignal("");
    const match = matcher(filter.value);
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
                <b>{group(data?.count ?? 0)} functions</b><span class="fill" />
                <input class="filter-field" type="search" placeholder="Filter zones" aria-label="Filter zones" value={filter.value}
                    onInput={(event) => (filter.value = event.currentTarget.value)} />
            </div>
            {table}
        </>
    );
}
