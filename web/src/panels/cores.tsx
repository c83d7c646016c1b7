// SPDX-License-Identifier: Apache-2.0
// Which core: how busy each core of a device is in the window, as they lie on the chip.
import { signal, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { coreGrid, devicesWithCores, type Core } from "../model/cores";
import { duration, percent, plural } from "../model/format";
import { Resource } from "../model/resource";
import * as state from "../model/state";
import { safeText } from "../model/text";
import type { RangeStats } from "../model/types";
import { deviceLabel } from "./facts";

const stats = new Resource<RangeStats>();
const chosen = signal<number | null>(null);
const STEPS = 5;
const VALUE_FROM = 28;

function ask(): void {
    const info = state.trace.value;
    const { from, to } = state.window_.value;
    if (info) stats.load(state.tracePath("range"), { from, to }, info.generation);
}

/** 0: not used; 1 to 5: share of the busiest. */
export function heat(busy: number, most: number): number {
    return busy <= 0 || most <= 0 ? 0 : Math.min(STEPS, Math.max(1, Math.ceil((busy / most) * STEPS)));
}

function show(core: Core): void {
    state.show({ kind: "track", track: core.track });
}

export function CoreMap() {
    useSignalEffect(ask);
    const box = useRef<HTMLDivElement>(null);
    const size = useSignal({ width: 360, height: 140 });
    useEffect(() => {
        const element = box.current;
        if (!element) return;
        const watcher = new ResizeObserver(() => (size.value = { width: element.clientWidth, height: element.clientHeight }));
        watcher.observe(element);
        return () => watcher.disconnect();
    }, []);
    const info = state.trace.value;
    const devices = info ? devicesWithCores(info) : [];
    const device = devices.find((one) => one === chosen.value) ?? devices[0];
    if (!info || device === undefined) return null;
    const whole = state.window_.value.from <= 0 && state.window_.value.to >= info.duration_ns;
    const inWindow = new Map((stats.data.value?.tracks ?? []).map((row) => [row.track, row.busy]));
    const grid = coreGrid(info, device, (track) => inWindow.get(track) ?? (whole && stats.error.value ? info.tracks.find((one) => one.id === track)?.busy_ns ?? 0 : 0));
    const { from, to } = state.window_.value;
    const most = Math.max(0, ...grid.cores.map((core) => core.busy));
    const cell = Math.max(6, Math.min(44, Math.floor(Math.min(size.value.width / grid.columns, size.value.height / grid.rows))));
    const share = (core: Core) => percent(core.busy / Math.max(1, to - from));
    const used = grid.cores.filter((core) => core.busy > 0).length;
    return (
        <>
            <div class="core-map" ref={box}>
                <svg width={grid.columns * cell} height={grid.rows * cell} role="group" aria-label={`${used} of ${plural(grid.cores.length, "core")} of ${deviceLabel(device)} were used, the busiest ${percent(most / Math.max(1, to - from))} of the window`}>
                    {grid.cores.map((core) => {
                        const level = heat(core.busy, most);
                        return (
                            <g key={core.track} role="button" tabIndex={0} aria-label={`${safeText(core.label)}: ${share(core)} busy`} onClick={() => show(core)}
                                onKeyDown={(event) => event.key === "Enter" && show(core)}>
                                <title>{`${safeText(core.label)}: ${duration(core.busy)} busy, ${share(core)} of the window`}</title>
                                <rect class={`core heat${level}`} x={core.column * cell + 0.5} y={core.row * cell + 0.5} width={cell - 2} height={cell - 2} rx={2} />
                                {cell >= VALUE_FROM && level > 0 && (
                                    <text class={`on${level}`} x={core.column * cell + cell / 2 - 0.5} y={core.row * cell + cell / 2 + 4} text-anchor="middle">{share(core)}</text>
                                )}
                            </g>
                        );
                    })}
                </svg>
            </div>
            <div class="core-note t2">
                {devices.length > 1 && (
                    <select class="grouping" aria-label="Device" value={device} onChange={(event) => (chosen.value = Number(event.currentTarget.value))}>
                        {devices.map((one) => <option key={one} value={one}>{deviceLabel(one)}</option>)}
                    </select>
                )}
                <span>{used < grid.cores.length ? `${used} of ${plural(grid.cores.length, "core")} used` : plural(used, "core")}, busiest {percent(most / Math.max(1, to - from))}</span>
            </div>
        </>
    );
}
