// SPDX-License-Identifier: Apache-2.0
// The inspector while nothing is selected: what the tab that is shown comes down to. About the trace it says the rest.
import { useSignal } from "@preact/signals";
import { duration, group, percent, plural } from "../model/format";
import * as state from "../model/state";
import { fileName, safeText, shortName } from "../model/text";
import type { FlameNode } from "../model/types";
import { TraceCard } from "./card";
import { trackLabel } from "./facts";
import { callTree, direction } from "./flame";
import { Part } from "./inspector";

interface Row {
    key: string;
    label: string;
    side?: string;
    ns: number;
    swatch: string;
    act: () => void;
}

const SHOWN = 12;

/** Sums by a key, the largest first. */
export function sums<T>(rows: readonly T[], keyOf: (row: T) => string, nsOf: (row: T) => number): { key: string; ns: number; count: number }[] {
    const found = new Map<string, { key: string; ns: number; count: number }>();
    for (const row of rows) {
        const key = keyOf(row);
        const one = found.get(key) ?? { key, ns: 0, count: 0 };
        found.set(key, { key, ns: one.ns + nsOf(row), count: one.count + 1 });
    }
    return [...found.values()].sort((a, b) => b.ns - a.ns);
}

/** From the root down, always to the child that took the most. */
export function heaviestPath(root: FlameNode): FlameNode[] {
    const path: FlameNode[] = [];
    for (let at: FlameNode | undefined = root; at;) {
        const below: readonly FlameNode[] = (at.children ?? []).filter((child) => child.name !== null);
        at = below.reduce<FlameNode | undefined>((best, child) => (!best || child.total > best.total ? child : best), undefined);
        if (at) path.push(at);
    }
    return path;
}

function List({ title, side, rows, all }: { title: string; side: string; rows: readonly Row[]; all: number }) {
    return (
        <Part title={title} side={side}>
            <div class="list-rows">
                {rows.slice(0, SHOWN).map((row) => (
                    <button key={row.key} onClick={row.act} title={row.label}>
                        <i class={`swatch ${row.swatch}`} />
                        <span class="el">{row.label} <span class="t3">{row.side ?? ""}</span></span>
                        <span>{duration(row.ns)}</span><span class="r t2">{percent(all > 0 ? row.ns / all : 0)}</span>
                    </button>
                ))}
            </div>
            {rows.length > SHOWN && <p class="t3">{group(rows.length - SHOWN)} more with less time</p>}
        </Part>
    );
}

function OpsAtRest() {
    const data = state.ops.data.value;
    const groups = data?.groups ?? [];
    const all = data?.device_ns ?? 0;
    const colours = new Map(groups.map((one) => [one.kind, one.colour]));
    const kinds = sums(groups, (one) => one.kind, (one) => one.device_ns);
    const bounds = sums(groups.filter((one) => one.bound), (one) => one.bound ?? "", (one) => one.device_ns);
    return (
        <>
            <div class="between"><span class="tag">Ops</span><span class="t3">nothing is selected</span></div>
            <h2>{duration(all)} of {state.opTime()}</h2>
            <List title="By kind" side="a click filters the table" all={all} rows={kinds.map((one) => ({
                key: one.key, label: safeText(one.key), side: plural(one.count, "group"), ns: one.ns, swatch: `c${colours.get(one.key) ?? 7}`,
                act: () => (state.filter.value = state.filter.peek() === `kind:${one.key}` ? "" : `kind:${one.key}`),
            }))} />
            {bounds.length > 0 && <List title="By what bounds them" side="" all={all} rows={bounds.map((one) => ({
                key: one.key, label: safeText(one.key), side: plural(one.count, "group"), ns: one.ns, swatch: "imports",
                act: () => (state.filter.value = state.filter.peek() === `bound:${one.key}` ? "" : `bound:${one.key}`),
            }))} />}
        </>
    );
}

function ZonesAtRest() {
    const rows = state.zoneRows.data.value?.rows ?? [];
    const all = rows.reduce((sum, row) => sum + row.self, 0);
    const info = state.trace.value;
    const files = sums(rows.filter((row) => row.self > 0), (row) => row.file ?? "", (row) => row.self);
    const threads = (info?.tracks ?? []).filter((track) => track.zones > 0 && track.parent === null).sort((a, b) => b.busy_ns - a.busy_ns);
    return (
        <>
            <div class="between"><span class="tag">Zones</span><span class="t3">nothing is selected</span></div>
            <h2>{duration(all)} of own time</h2>
            <List title="By file" side="own time, in the window" all={all} rows={files.map((one) => ({
                key: one.key, label: one.key ? fileName(one.key) : "no file is known", side: plural(one.count, "function"), ns: one.ns, swatch: "imports",
                act: () => (state.zoneFilter.value = state.zoneFilter.peek() === one.key ? "" : one.key),
            }))} />
            {threads.length > 1 && <List title="By thread" side="busy, in the whole trace" all={info?.duration_ns ?? 0} rows={threads.map((track) => ({
                key: String(track.id), label: trackLabel(track.id), ns: track.busy_ns, swatch: "imports",
                act: () => (state.zonesOf.value = state.zonesOf.peek() === `t${track.id}` ? "" : `t${track.id}`),
            }))} />}
        </>
    );
}

function FlameAtRest() {
    const root = callTree.data.value;
    const names = state.names.value;
    void names.version.value;
    const path = root ? heaviestPath(root) : [];
    const leaf = path[path.length - 1];
    const up = direction.value === "up";
    return (
        <>
            <div class="between"><span class="tag">Call tree</span><span class="t3">nothing is selected</span></div>
            <h2>{!leaf || !path[0] ? "No zones in this window" : up ? `Most own time is in ${shortName(names.text(path[0].name))}` : `The heaviest path ends in ${shortName(names.text(leaf.name))}`}</h2>
            {root && path.length > 0 && <List title={up ? "Its heaviest callers" : "Heaviest path"} side="the largest at each level" all={root.total} rows={path.map((node, index) => ({
                key: `${index}`, label: shortName(names.text(node.name)), side: plural(node.count, "call"), ns: node.total, swatch: names.get(node.name ?? -1)?.wait ? "waiting" : `c${names.colour(node.name)}`,
                act: () => state.select({ kind: "name", name: names.text(node.name) }),
            }))} />}
        </>
    );
}

const PANELS: Record<string, () => ReturnType<typeof OpsAtRest>> = { ops: OpsAtRest, zones: ZonesAtRest, flame: FlameAtRest };

export function AtRest() {
    const card = useSignal(false);
    const Panel = PANELS[state.panel.value];
    if (!Panel) return <TraceCard />;
    return (
        <>
            {card.value ? <TraceCard /> : <Panel />}
            <div class="foot"><span class="fill" /><button onClick={() => (card.value = !card.value)}>{card.value ? "About this tab" : "About the trace"}</button></div>
        </>
    );
}
