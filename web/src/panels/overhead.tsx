// SPDX-License-Identifier: Apache-2.0
// Host overhead: what calling each op cost the host, and how long after that it ran.
import { useSignalEffect } from "@preact/signals";
import { duration, group, percent, plural } from "../model/format";
import { Resource } from "../model/resource";
import * as state from "../model/state";
import { matcher, safeText, shortName } from "../model/text";
import { durationCell, ShareBar, Table, type Column } from "./table";

export interface OverheadRow {
    name: string;
    count: number;
    own_ns: number;
    total_ns: number;
    share: number;
    mean_ns: number;
    min_ns: number;
    p50_ns: number;
    p99_ns: number;
    delay_p50_ns: number | null;
    device_ns: number;
    track: number | null;
    start: number;
    end: number;
}

interface Overhead {
    count: number;
    calls: number;
    own_ns: number;
    rows: OverheadRow[];
}

const overhead = new Resource<Overhead>();

function ask(): void {
    const info = state.trace.value;
    const { from, to } = state.window_.value;
    if (info) overhead.load(state.tracePath("overhead"), { from, to, warmup: state.warmup.value ? "include" : "leave-out" }, info.generation);
}

/** Not where nothing runs on a device. */
const DELAY: Column<OverheadRow> =
    { id: "delay", label: "delay until start", width: 120, narrowOut: true, title: "from the return to the start on the device, median", value: (row) => row.delay_p50_ns, cell: (row) => durationCell(row.delay_p50_ns) };

function columns(rows: readonly OverheadRow[]): Column<OverheadRow>[] {
    const largest = Math.max(0, ...rows.map((row) => row.share));
    const delays: Column<OverheadRow>[] = rows.some((row) => row.delay_p50_ns) ? [DELAY] : [];
    return [
        { id: "name", label: "op", width: 240, text: true, value: (row) => row.name, cell: (row) => <span class="el" title={safeText(row.name)}>{shortName(row.name)}</span> },
        { id: "count", label: "calls", width: 80, value: (row) => row.count, cell: (row) => group(row.count) },
        { id: "own", label: "own time", width: 96, title: "from the call to its return, without calls inside of it: nothing counts twice", value: (row) => row.own_ns, cell: (row) => durationCell(row.own_ns) },
        { id: "total", label: "with inner", width: 96, narrowOut: true, title: "from the call to its return, calls inside of it included", value: (row) => row.total_ns, cell: (row) => durationCell(row.total_ns) },
        { id: "share", label: "of the window", width: 128, narrowOut: true, value: (row) => row.share, cell: (row) => <ShareBar share={row.share} largest={largest} text={percent(row.share)} /> },
        { id: "mean", label: "mean", width: 84, value: (row) => row.mean_ns, cell: (row) => durationCell(row.mean_ns) },
        { id: "min", label: "least", width: 84, narrowOut: true, value: (row) => row.min_ns, cell: (row) => durationCell(row.min_ns) },
        { id: "p50", label: "p50", width: 84, narrowOut: true, value: (row) => row.p50_ns, cell: (row) => durationCell(row.p50_ns) },
        { id: "p99", label: "p99", width: 84, narrowOut: true, value: (row) => row.p99_ns, cell: (row) => durationCell(row.p99_ns) },
        ...delays,
        { id: "device", label: "device", width: 84, narrowOut: true, value: (row) => row.device_ns, cell: (row) => durationCell(row.device_ns) },
    ];
}

/** The op; the timeline shows its longest call once it is looked at. */
function choose(row: OverheadRow): void {
    state.select({ kind: "op", name: row.name });
    state.reveal.value = { kind: "span", from: row.start, to: row.end, track: row.track };
}

export function HostOverhead() {
    useSignalEffect(ask);
    const data = overhead.data.value;
    const match = matcher(state.filter.value);
    const rows = (data?.rows ?? []).filter((row) => match(row.name));
    const chosen = state.selection.value;
    return (
        <>
            <div class="panel-head">
                {data && <b>{plural(data.calls, "call")}, {duration(data.own_ns)} on the host</b>}
                {data && data.count > data.rows.length && <span class="t3">the longest {group(data.rows.length)} of {group(data.count)} ops</span>}
                <span class="fill" />
                <input class="filter-field" type="search" placeholder="Filter ops" aria-label="Filter ops" value={state.filter.value}
                    onInput={(event) => (state.filter.value = event.currentTarget.value)} />
            </div>
            <Table label="Host overhead" columns={columns(rows)} rows={rows} sort="own" keyOf={(row) => row.name}
                isSelected={(row) => chosen?.kind === "op" && chosen.name === row.name} onSelect={choose} dim={overhead.dim.value}
                empty={overhead.error.value ?? (data ? (data.rows.length ? "No op matches." : "No call of an op was recorded in this window.") : "Counting …")} />
        </>
    );
}
