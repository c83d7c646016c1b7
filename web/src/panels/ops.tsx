// SPDX-License-Identifier: Apache-2.0
// The table of ops: the columns of `opscope ops`, grouped, filtered, sorted.
import { duration, group, percent, plural } from "../model/format";
import { opColour } from "../model/opcolour";
import { itemOf } from "../model/place";
import * as state from "../model/state";
import { matcher, safeText, shortName } from "../model/text";
import type { OpGroup } from "../model/types";
import { durationCell, ShareBar, Table, type Column } from "./table";

export const GROUPINGS = ["op+shape", "op", "kind", "none"];
export const GROUPING_WORDS: Record<string, string> = {
    "op+shape": "grouped by op and shape", op: "grouped by op", kind: "grouped by kind", none: "not grouped",
};

const BOUND_WORDS: Record<string, string> = {
    GAP: "held up by the gap before it", DRAM: "near the memory's peak", FLOP: "near the peak of arithmetic",
    LINK: "bound by the link between devices", SLOW: "below both limits: neither memory nor arithmetic is near its peak", BOTH: "near both roofs", HOST: "runs on the host",
    L2: "near the peak of the L2 cache", L3: "near the peak of the L3 cache",
};

/** A code stands for itself but where nobody could guess it. */
export function boundText(bound: string | null): string {
    return bound === "SLOW" ? "BELOW BOTH LIMITS" : safeText(bound ?? "");
}

/** "kind:matmul >10ms name": words that restrict; the rest is looked for in the name. */
export function opFilter(text: string): (row: OpGroup) => boolean {
    const tests = text.split(/\s+/).filter(Boolean).map((word) => {
        const [, kind] = /^kind:(.*)$/.exec(word) ?? [];
        if (kind !== undefined) return (row: OpGroup) => matcher(kind)(row.kind);
        const [, bound] = /^bound:(.*)$/.exec(word) ?? [];
        if (bound !== undefined) return (row: OpGroup) => matcher(bound)(row.bound ?? "");
        const match = matcher(word);
        return (row: OpGroup) => match(row.name);
    });
    return (row) => tests.every((test) => test(row));
}

function columns(largest: number): Column<OpGroup>[] {
    const rate = (value: number | null) => (value === null ? "–" : percent(value / 100));
    return [
        {
            id: "op", label: "op", width: 300, text: true, value: (row) => row.name,
            cell: (row) => (
                <div class="cell"><i class={`swatch c${opColour(row)}`} /><span class="el" title={safeText(row.name)}>{shortName(row.name)}</span></div>
            ),
        },
        { id: "kind", label: "kind", width: 104, gives: 1, text: true, narrowOut: true, value: (row) => row.kind },
        { id: "count", label: "count", width: 72, value: (row) => row.count, cell: (row) => group(row.count) },
        { id: "device_ns", label: state.opTime() === "CPU time" ? "CPU" : "device", width: 92, value: (row) => row.device_ns, cell: (row) => durationCell(row.device_ns) },
        {
            id: "share", label: "share", width: 128, value: (row) => row.share,
            cell: (row) => <ShareBar share={row.share} largest={largest} text={percent(row.share)} />,
        },
        { id: "mean", label: "mean", width: 84, gives: 2, narrowOut: true, value: (row) => row.mean, cell: (row) => durationCell(row.mean) },
        { id: "p50", label: "p50", width: 84, optional: true, value: (row) => row.p50, cell: (row) => durationCell(row.p50) },
        { id: "p99", label: "p99", width: 84, optional: true, value: (row) => row.p99, cell: (row) => durationCell(row.p99) },
        {
            id: "alone_ns", label: "nothing else ran", width: 116, optional: true, value: (row) => row.alone_ns,
            title: "time in which no other op ran", cell: (row) => durationCell(row.alone_ns),
        },
        {
            id: "gap_before_ns", label: "gap before", width: 92, optional: true, value: (row) => row.gap_before_ns,
            cell: (row) => durationCell(row.gap_before_ns),
        },
        { id: "dram_percent", label: "DRAM", width: 66, narrowOut: true, value: (row) => row.dram_percent, cell: (row) => rate(row.dram_percent) },
        { id: "flops_percent", label: "FLOPs", width: 66, narrowOut: true, value: (row) => row.flops_percent, cell: (row) => rate(row.flops_percent) },
        {
            id: "bound", label: "bound", width: 160, narrowOut: true, value: (row) => row.bound,
            cell: (row) => (row.bound ? <span class={`bound ${row.bound}`} title={BOUND_WORDS[row.bound] ?? ""}>{boundText(row.bound)}</span>
                : row.doubt ? <span class="bound" title={`no verdict: ${safeText(row.doubt)}`}>?</span> : "–"),
        },
    ];
}

/** The op, and where none of its runs is in view, its costliest. */
export function chooseOp(row: OpGroup): void {
    state.select({ kind: "op", name: row.name });
    const [first] = row.rows;
    const item = first && itemOf(first);
    const { from, to } = state.view.peek();
    if (item && (item.start >= to || item.end < from)) state.reveal.value = { kind: "item", item, fit: false };
}

export function OpTable() {
    const data = state.ops.data.value;
    const keep = opFilter(state.filter.value);
    const rows = (data?.groups ?? []).filter(keep);
    const chosen = state.selection.value;
    const empty = data?.groups.length
        ? <>Nothing in this window matches {state.filter.value}. <button class="link" onClick={() => (state.filter.value = "")}>Show all</button></>
        : state.ops.error.value ?? (data ? "No ops in this window." : "Counting …");
    return (
        <Table label="Ops" columns={columns(Math.max(0, ...rows.map((row) => row.share)))} rows={rows} sort="device_ns"
            keyOf={(row) => row.name} isSelected={(row) => chosen?.kind === "op" && chosen.name === row.name} onSelect={chooseOp}
            empty={empty} dim={state.ops.dim.value} />
    );
}

export function OpFilter() {
    return (
        <>
            <select class="grouping" aria-label="Grouping" value={state.opGroup.value}
                onChange={(event) => (state.opGroup.value = event.currentTarget.value)}>
                {GROUPINGS.map((one) => <option key={one} value={one}>{GROUPING_WORDS[one]}</option>)}
            </select>
            <input class="filter-field" type="search" placeholder="Filter ops" aria-label="Filter ops" value={state.filter.value}
                onInput={(event) => (state.filter.value = event.currentTarget.value)} />
        </>
    );
}

export function OpsPanel() {
    const { groups, count, device_ns: total } = state.ops.data.value ?? { groups: [], count: 0, device_ns: 0 };
    const shown = groups.length < count ? `${group(groups.length)} of ` : "";
    return (
        <>
            <div class="panel-head">
                <b>{shown}{plural(count, "group")}</b><span class="t3">{duration(total)} of {state.opTime()}</span>
                <span class="fill" /><OpFilter />
            </div>
            <OpTable />
        </>
    );
}
