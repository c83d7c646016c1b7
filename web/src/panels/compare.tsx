// SPDX-License-Identifier: Apache-2.0
// Two traces: what changed, from where to where, and both timelines on one scale.
import { useSignal, useSignalEffect } from "@preact/signals";
import * as model from "../model/compare";
import { duration, exactNs, group, NBSP, percent } from "../model/format";
import * as state from "../model/state";
import { capital, fileName, matcher, safeText, shortName } from "../model/text";
import { emptyState } from "../model/url";
import { Dumbbells, EstimateTable, WaterfallChart } from "./comparecharts";
import { PART_CLASS, Sentence } from "./overview";
import { SideTimelines } from "./sides";
import { durationCell, Table, type Column } from "./table";

export function CompareStrip() {
    const data = model.current();
    const error = model.comparison.error.value;
    return (
        <div class={`strip ${model.comparison.dim.value ? "dim" : ""}`} data-region>
            {data && !error ? <div class="el"><Sentence data={data} /></div> : <div class="say" id="sentence" tabIndex={-1}>{error ? "A and B cannot be compared." : "Comparing …"}</div>}
        </div>
    );
}

// ---- which two

function open(a: number, b: number, swap: boolean): void {
    const [windowA, windowB] = swap ? [state.windowB.peek(), state.windowA.peek()] : [null, null];
    model.span.value = null;
    void state.openTrace(a, { ...emptyState(), panel: "compare", trace: a, other: b, windowA, windowB, align: swap ? state.align.peek() : "start", theme: state.theme.peek() });
}

function TraceChoice({ side, value, onChoose }: { side: string; value: number; onChoose: (index: number) => void }) {
    return (
        <label class="choice"><b>{side}</b>
            <select aria-label={`Trace ${side}`} value={value} onChange={(event) => onChoose(Number(event.currentTarget.value))}>
                {(state.traces.value ?? []).map((entry, index) => <option key={index} value={index}>{fileName(entry.name)}</option>)}
            </select>
        </label>
    );
}

function AlignChoice({ data }: { data: model.Comparison | null }) {
    const { signposts = [], ops = [] } = data?.anchors ?? {};
    const choose = (value: string) => {
        state.align.value = value;
        model.span.value = null;
    };
    return (
        <label class="choice">aligned by
            <select aria-label="Aligned by" value={state.align.value} onChange={(event) => choose(event.currentTarget.value)}>
                <option value="start">start</option>
                {signposts.length > 0 && (
                    <optgroup label="Signposts and frames">{signposts.map((one) => <option key={one.name} value={`signpost:${one.name}`}>{safeText(one.name)}</option>)}</optgroup>
                )}
                {ops.length > 0 && (
                    <optgroup label="First run of an op">{ops.map((one) => <option key={one.name} value={`op:${one.name}`}>{shortName(one.name)}</option>)}</optgroup>
                )}
            </select>
        </label>
    );
}

function Choices({ data, other }: { data: model.Comparison | null; other: number }) {
    const a = state.traceIndex.value;
    const chooseB = (b: number) => {
        state.windowB.value = null;
        model.span.value = null;
        state.other.value = b;
    };
    return (
        <div class="panel-head">
            <TraceChoice side="A" value={a} onChoose={(index) => open(index, other, false)} />
            <button class="icon-button" aria-label="Swap A and B" title="Swap A and B" onClick={() => open(other, a, true)}>⇄</button>
            <TraceChoice side="B" value={other} onChoose={chooseB} />
            <span class="fill" />
            <AlignChoice data={data} />
            <button class="link" disabled={!model.span.value} onClick={() => (model.span.value = null)}>show all</button>
        </div>
    );
}

// ---- two bars on one scale

function SideBar({ name, parts, side, largest }: { name: string; parts: model.Part[]; side: model.Side; largest: number }) {
    const total = sum(parts, side);
    const said = parts.map((part) => `${part.label} ${duration(part[side])}`).join(", ");
    return (
        <div class="side-bar">
            <b>{name}</b>
            <div class="room">
                <div class="bar" role="img" aria-label={`${name}: ${said}`} style={{ width: `${largest > 0 ? (total / largest) * 100 : 0}%` }}>
                    {parts.filter((part) => part[side] > 0).map((part) => (
                        <div key={part.key} class={PART_CLASS[part.key] ?? "imports"} style={{ flex: `${part[side] / total} 1 0` }} title={`${part.label}: ${exactNs(part[side])}`} />
                    ))}
                </div>
            </div>
            <span class="r">{duration(total)}</span>
        </div>
    );
}

const sum = (parts: model.Part[], side: model.Side) => parts.reduce((all, part) => all + part[side], 0);

/** The estimate and what was measured of it, as the sentence has them: the shortest run of each. */
function EstimateBars({ data }: { data: NonNullable<model.Comparison["estimate"]> }) {
    const largest = Math.max(data.estimate_ns, data.measured_ns, 1);
    const bar = (name: string, ns: number, kind: string) => (
        <div class="side-bar">
            <b>{name}</b>
            <div class="room"><div class={`bar ${kind}`} role="img" aria-label={`${name}: ${duration(ns)}`} title={exactNs(ns)} style={{ width: `${(ns / largest) * 100}%` }} /></div>
            <span class="r">{duration(ns)}</span>
        </div>
    );
    return (
        <section aria-label="Estimated and measured">
            <div class="between"><h3>Estimated and measured</h3><span class="t3">same scale</span></div>
            {bar("A", data.estimate_ns, "estimated")}
            {bar("B", data.measured_ns, "work")}
            <p class="t2">A is the sum of the estimates, B that of the shortest measured run of each {safeText(data.what)}.
                {data.unmeasured > 0 && ` ${group(data.unmeasured)} of the estimate were not measured.`}</p>
        </section>
    );
}

function TwoBars({ data }: { data: model.Comparison }) {
    const { parts, title } = model.partsOf(data);
    const largest = Math.max(sum(parts, "a"), sum(parts, "b"));
    return (
        <section aria-label="Where the time went">
            <div class="between"><h3>Where the time went</h3><span class="t3">{title}, same scale</span></div>
            <SideBar name="A" parts={parts} side="a" largest={largest} />
            <SideBar name="B" parts={parts} side="b" largest={largest} />
            <table class="small-table" aria-label="Parts of both">
                <thead><tr><th class="text">part</th><th>A</th><th>B</th><th>difference</th></tr></thead>
                <tbody>
                    {parts.filter((one) => one.a > 0 || one.b > 0).map((one) => (
                        <tr key={one.key}>
                            <td class="text"><div class="cell"><i class={`swatch ${PART_CLASS[one.key] ?? "imports"}`} /><span class="el">{capital(safeText(one.label))}</span></div></td>
                            <td>{duration(one.a)}</td><td>{duration(one.b)}</td><td>{signed(one.b - one.a)}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </section>
    );
}

// ---- the table

/** "+634 ms", "−2.1 µs", "0". */
export function signed(ns: number): string {
    return ns > 0 ? `+${duration(ns)}` : duration(ns);
}

const signedPercent = (value: number | null) =>
    value === null ? "–" : Math.abs(value) < 0.1 ? (value === 0 ? "0%" : "< 0.1%") : `${value > 0 ? "+" : ""}${percent(value / 100)}`;

const ARROWS: Record<string, string> = { slower: "▲", more: "▲", new: "▲", faster: "▼", fewer: "▼", gone: "▼" };

export function Verdict({ row }: { row: model.DiffRow }) {
    const arrow = ARROWS[row.state];
    const way = arrow === "▲" ? "slower" : arrow === "▼" ? "faster" : "";
    return <span class={`verdict ${way}`}>{arrow ? `${arrow}${NBSP}` : ""}{safeText(row.state)}</span>;
}

const COLUMNS: Column<model.DiffRow>[] = [
    {
        id: "name", label: "op or zone", width: 220, text: true, value: (row) => row.name,
        cell: (row) => <span class="el" title={safeText([row.name, row.b_tensors ?? row.a_tensors, row.location].filter(Boolean).join("\n"))}>{shortName(row.name)} <span class="t3">{safeText(row.kind === "op" ? row.b_tensors ?? row.a_tensors ?? "" : row.location ?? "")}</span></span>,
    },
    { id: "state", label: "what", width: 84, text: true, value: (row) => row.state, cell: (row) => <Verdict row={row} /> },
    {
        id: "count", label: "count", width: 92, narrowOut: true, value: (row) => row.b_count,
        cell: (row) => (row.a_count === row.b_count ? group(row.b_count) : `${group(row.a_count)} → ${group(row.b_count)}`),
    },
    { id: "a_total_ns", label: "A", width: 84, narrowOut: true, value: (row) => row.a_total_ns, cell: (row) => durationCell(row.a_total_ns) },
    { id: "b_total_ns", label: "B", width: 84, value: (row) => row.b_total_ns, cell: (row) => durationCell(row.b_total_ns) },
    { id: "change_ns", label: "difference", width: 96, value: (row) => row.change_ns, order: (row) => Math.abs(row.change_ns), cell: (row) => signed(row.change_ns) },
    {
        id: "own", label: "change of own time", width: 152, narrowOut: true, title: "difference of the time that is not in zones inside it", value: model.ownChange,
        order: (row) => Math.abs(model.ownChange(row)), cell: (row) => signed(model.ownChange(row)),
    },
    { id: "change_percent", label: "%", width: 72, narrowOut: true, value: (row) => row.change_percent, cell: (row) => signedPercent(row.change_percent) },
    { id: "each", label: "per call", width: 92, narrowOut: true, title: "median change of one", value: (row) => row.each_change_percent, cell: (row) => signedPercent(row.each_change_percent) },
    { id: "noise", label: "noise", width: 92, narrowOut: true, title: "how likely noise alone makes such a change", value: (row) => row.p, cell: (row) => safeText(model.noiseText(row)) },
];

const KINDS = ["all", "op", "zone"] as const;
const KIND_WORDS = { all: "All", op: "Ops", zone: "Zones" };

function Differences({ rows }: { rows: model.DiffRow[] }) {
    const kind = useSignal<(typeof KINDS)[number]>("all");
    const changed = useSignal(false);
    const match = matcher(state.filter.value);
    const kinds = KINDS.filter((one) => one === "all" || rows.some((row) => row.kind === one));
    const shown = rows.filter((row) => (kind.value === "all" || row.kind === kind.value) && match(row.name) &&
        (!changed.value || (row.state !== "same" && row.state !== "noise")));
    const chosen = state.selection.value;
    return (
        <section class="differences" aria-label="Differences" data-region>
            <div class="panel-head">
                <b>{group(shown.length)} {shown.length === 1 ? "row" : "rows"}</b>
                {kinds.length > 2 && (
                    <div class="chips">
                        {kinds.map((one) => <button key={one} class="chip" aria-pressed={kind.value === one} onClick={() => (kind.value = one)}>{KIND_WORDS[one]}</button>)}
                    </div>
                )}
                <button class="chip" aria-pressed={changed.value} onClick={() => (changed.value = !changed.value)}>changed only</button>
                <span class="fill" />
                <input class="filter-field" type="search" placeholder="Filter names" aria-label="Filter names" value={state.filter.value}
                    onInput={(event) => (state.filter.value = event.currentTarget.value)} />
            </div>
            <Table label="Differences" columns={COLUMNS} rows={shown} sort="own" keyOf={model.rowKeyOf}
                isSelected={(row) => chosen?.kind === "diff" && chosen.key === model.rowKeyOf(row)}
                onSelect={(row) => state.select({ kind: "diff", key: model.rowKeyOf(row) })}
                empty={rows.length ? "No row matches." : "Nothing was recorded that could be compared."} dim={model.comparison.dim.value} />
        </section>
    );
}

export function Compare() {
    useSignalEffect(model.ask);
    const other = model.otherIndex();
    const data = model.current();
    const error = model.comparison.error.value;
    const hasTimes = data?.a.overview.kind !== "empty" || data.b.overview.kind !== "empty"; // not so of tables of dispatch times
    if (other === null) return <p class="plain">Only one trace is open. <code>opscope view A B</code> opens two, which are compared here.</p>;
    return (
        <div class="compare">
            <Choices data={data} other={other} />
            {error && <p class="plain" role="alert">{safeText(error)}</p>}
            {data && !error && (
                <>
                    <div class={`compare-band ${model.comparison.dim.value ? "dim" : ""}`} data-region>
                        {data.estimate ? <EstimateBars data={data.estimate} /> : hasTimes && <TwoBars data={data} />}
                        {data.waterfall && <WaterfallChart data={data.waterfall} isNoise={data.diff?.is_noise ?? false} />}
                        {data.estimate && <Dumbbells data={data.estimate} />}
                    </div>
                    {hasTimes && <SideTimelines data={data} />}
                    {data.diff && <Differences rows={data.diff.rows} />}
                    {data.estimate && <EstimateTable rows={data.estimate.rows} what={data.estimate.what} />}
                </>
            )}
        </div>
    );
}
