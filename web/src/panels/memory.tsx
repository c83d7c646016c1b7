// SPDX-License-Identifier: Apache-2.0
// Memory in use over the window, one plot per pool, with its peak; and what held it at the cursor, which a click sets.
import { useSignalEffect, signal } from "@preact/signals";
import { getJson } from "../model/api";
import { bytes, bytesFigure, duration, group, percent, plural } from "../model/format";
import { Resource } from "../model/resource";
import * as state from "../model/state";
import { safeText, shortName } from "../model/text";
import type { Allocations, PoolInfo, Series } from "../model/types";
import { durationCell, FigureCell, ShareBar, Table, type Column } from "./table";

const WIDTH = 1000;
const HEIGHT = 140;

const series = signal<ReadonlyMap<string, Series>>(new Map());
/** null: at the peak of the largest pool. */
const cursor = signal<number | null>(null);
const held = new Resource<Allocations>();

function paths(data: Series, from: number, to: number, most: number): { line: string; area: string } {
    let line = "";
    let before: number | null = null;
    const x = (time: number) => Math.min(WIDTH, Math.max(0, ((time - from) / (to - from)) * WIDTH)).toFixed(1);
    const y = (value: number) => (HEIGHT - 4 - (value / most) * (HEIGHT - 16)).toFixed(1);
    for (let at = 0; at < data.time.length; at++) {
        const value = data.last[at] as number;
        const place = x(data.time[at] as number);
        if (before === null) line += `M${place} ${y(value)}`;
        else line += `H${place}V${y(data.max[at] as number)}V${y(value)}`;
        before = value;
    }
    if (before !== null) line += `H${WIDTH}`;
    const start = data.time.length ? x(data.time[0] as number) : 0;
    return { line, area: line ? `${line}V${HEIGHT - 4}H${start}Z` : "" };
}

const place = (time: number, from: number, to: number) => ((time - from) / Math.max(1, to - from)) * WIDTH;

/** Exactly, where the answer says it: a pixel has a peak, but only the time of its first event. */
function peakAt(data: Series, from: number): number {
    return data.peak_at ?? data.time[data.max.reduce((best, value, index) => (value > (data.max[best] ?? -1) ? index : best), 0)] ?? from;
}

/** Where the cursor is: where it was set, while that is in the window. */
function cursorTime(): number {
    const { from, to } = state.window_.value;
    if (cursor.value !== null && cursor.value >= from && cursor.value <= to) return cursor.value;
    let [at, most] = [from, -1];
    for (const data of series.value.values()) {
        const peak = data.max.reduce((a, b) => Math.max(a, b), 0);
        if (peak > most) [at, most] = [peakAt(data, from), peak];
    }
    return Math.min(to, Math.max(from, at));
}

function columns(largest: number): Column<Allocations["rows"][number]>[] {
    return [
        { id: "text", label: "allocated by", width: 300, text: true, value: (row) => row.text ?? "no zone is known", cell: (row) => <span class="el" title={safeText(row.text ?? "")}>{row.text === null ? "no zone is known" : shortName(row.text)}</span> },
        { id: "pool", label: "pool", width: 140, text: true, narrowOut: true, value: (row) => row.pool || "memory", cell: (row) => safeText(row.pool || "memory") },
        { id: "bytes", label: "in use", width: 96, value: (row) => row.bytes, cell: (row) => <FigureCell figure={bytesFigure(row.bytes)} /> },
        { id: "share", label: "of all", width: 128, narrowOut: true, value: (row) => row.bytes, cell: (row) => <ShareBar share={row.bytes} largest={largest} text={percent(row.bytes / Math.max(1, held.data.value?.bytes ?? 1))} /> },
        { id: "count", label: "allocations", width: 96, value: (row) => row.count, cell: (row) => group(row.count) },
        { id: "since", label: "since", width: 96, value: (row) => row.since, cell: (row) => durationCell(row.since) },
    ];
}

/** What was allocated and not yet released at the cursor, by the function that did it. */
function Held() {
    const time = cursorTime();
    useSignalEffect(() => {
        const info = state.trace.value;
        if (info && series.value.size) held.load(state.tracePath("allocations"), { at: cursorTime(), limit: 200 }, info.generation);
    });
    const data = held.data.value;
    const chosen = state.selection.value;
    return (
        <>
            <div class="panel-head">
                <b>What held memory at {duration(time, 5)}</b>
                {data && <span class="t3">{bytes(data.bytes)} in {plural(data.count, "allocation")}</span>}
                <span class="fill" /><span class="t3 locations">click into a plot for another time</span>
            </div>
            <Table label="Memory at the cursor" columns={columns(Math.max(0, ...(data?.rows ?? []).map((row) => row.bytes)))} rows={data?.rows ?? []} sort="bytes"
                keyOf={(row) => `${row.pool} ${row.name}`} isSelected={(row) => chosen?.kind === "name" && chosen.name === row.text} dim={held.dim.value}
                onSelect={(row) => row.text !== null && state.select({ kind: "name", name: row.text })}
                empty={held.error.value ?? (data ? "Nothing was in use then." : "Counting …")} />
        </>
    );
}

function Pool({ pool }: { pool: PoolInfo }) {
    const { from, to } = state.window_.value;
    const data = series.value.get(String(pool.name));
    if (!data) return null;
    const { line, area } = paths(data, from, to, Math.max(1, pool.peak_bytes));
    const peak = data.max.length ? data.max.reduce((a, b) => Math.max(a, b), 0) : 0;
    const at = peakAt(data, from);
    return (
        <figure>
            <figcaption>
                <b>{safeText(pool.text || "memory")}</b>
                <button class="link" onClick={() => state.select({ kind: "moment", time: at, track: null }, { reveal: true })}>
                    peak {bytes(peak)} at {duration(at, 5)}
                </button>
                <span>{plural(pool.events, "event")}</span>
            </figcaption>
            <svg class="pool" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width="100%" height={HEIGHT} preserveAspectRatio="none" role="img"
                aria-label={`${pool.text || "memory"} in use, peak ${bytes(peak)}`} onClick={(event) => {
                    const box = event.currentTarget.getBoundingClientRect();
                    cursor.value = Math.round(from + ((event.clientX - box.left) / box.width) * (to - from));
                }}>
                <line class="mark-line" x1={place(cursorTime(), from, to)} x2={place(cursorTime(), from, to)} y1={0} y2={HEIGHT} vector-effect="non-scaling-stroke" />
                <path class="area" d={area} />
                <path class="stroke" d={line} vector-effect="non-scaling-stroke" />
            </svg>
        </figure>
    );
}

export function Memory() {
    useSignalEffect(() => {
        const { from, to } = state.window_.value;
        for (const pool of state.trace.value?.pools ?? []) {
            const name = pool.name ?? undefined;
            getJson<Series>(state.tracePath("memory"), { pool: name, from, to, px: WIDTH })
                .then((answer) => (series.value = new Map(series.peek()).set(String(pool.name), answer)))
                .catch(() => undefined);
        }
    });
    const pools = (state.trace.value?.pools ?? []).filter((pool) => pool.events > 0);
    return (
        <>
            <div class="plots">{pools.map((pool) => <Pool key={String(pool.name)} pool={pool} />)}</div>
            <div class="held"><Held /></div>
        </>
    );
}
