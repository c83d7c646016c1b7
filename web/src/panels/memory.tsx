// SPDX-License-Identifier: Apache-2.0
// Memory in use over the window, one plot per pool, with its peak.
import { useSignalEffect, signal } from "@preact/signals";
import { getJson } from "../model/api";
import { bytes, duration, plural } from "../model/format";
import * as state from "../model/state";
import { safeText } from "../model/text";
import type { PoolInfo, Series } from "../model/types";

const WIDTH = 1000;
const HEIGHT = 140;

const series = signal<ReadonlyMap<string, Series>>(new Map());

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

function Pool({ pool }: { pool: PoolInfo }) {
    const { from, to } = state.window_.value;
    const data = series.value.get(String(pool.name));
    if (!data) return null;
    const { line, area } = paths(data, from, to, Math.max(1, pool.peak_bytes));
    const peak = data.max.length ? data.max.reduce((a, b) => Math.max(a, b), 0) : 0;
    const at = data.time[data.max.indexOf(peak)] ?? from;
    return (
        <figure>
            <figcaption>
                <b>{safeText(pool.text || "memory")}</b>
                <button class="link" onClick={() => { state.panel.value = "timeline"; state.showPlace(at, at + 1, null, false); }}>
                    peak {bytes(peak)} at {duration(at, 5)}
                </button>
                <span>{plural(pool.events, "event")}</span>
            </figcaption>
            <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width="100%" height={HEIGHT} preserveAspectRatio="none" role="img"
                aria-label={`${pool.text || "memory"} in use, peak ${bytes(peak)}`}>
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
    return <div class="plots">{pools.map((pool) => <Pool key={String(pool.name)} pool={pool} />)}</div>;
}
