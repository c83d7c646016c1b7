// SPDX-License-Identifier: Apache-2.0
// `opscope overhead --html`: what a call of each op costs, how its repeats are spread, and what the gate found. There is no
// trace: the page's frame around one table.
import { signal, useSignalEffect } from "@preact/signals";
import { Separator } from "../frame/separator";
import { binsOf } from "../model/bins";
import {
    about, expectedNs, gateText, isMeasured, noiseText, notesOf, ratioText, rowsOf, sentenceOf, slowest, VERDICT_CLASS, VERDICT_WORDS, verdictCounts,
    type Dispatch, type DispatchOp, type DispatchRow, type Verdict,
} from "../model/dispatch";
import { duration, exactNs, group, plural } from "../model/format";
import * as state from "../model/state";
import { capital, matcher, safeText, shortName } from "../model/text";
import { Facts, Histogram } from "./facts";
import { Part } from "./inspector";
import { Sentence } from "./overview";
import { downloadTable } from "./share";
import { durationCell, Table, type Column } from "./table";

const chosen = signal<string | null>(null);
const verdict = signal<Verdict | null>(null);

// ---- band

function VerdictBar({ data }: { data: Dispatch }) {
    if (!data.gate) return null;
    const counts = verdictCounts(data.gate);
    const choose = (one: Verdict) => (verdict.value = verdict.peek() === one ? null : one);
    return (
        <>
            <div class="bar" role="group" aria-label={counts.map(([one, count]) => `${VERDICT_WORDS[one]} ${count}`).join(", ")}>
                {counts.map(([one, count]) => (
                    <button key={one} class={VERDICT_CLASS[one]} style={{ flex: `${count} 1 0` }} aria-label={VERDICT_WORDS[one]} title={`${VERDICT_WORDS[one]}: ${plural(count, "op")}`} onClick={() => choose(one)} />
                ))}
            </div>
            <div class="legend">
                {counts.map(([one, count]) => (
                    <button key={one} aria-pressed={verdict.value === one} onClick={() => choose(one)}>
                        <i class={`swatch ${VERDICT_CLASS[one]}`} /><span class="el">{capital(VERDICT_WORDS[one])}</span><span /><span class="r t2">{group(count)}</span>
                    </button>
                ))}
            </div>
        </>
    );
}

const SLOWEST_SHOWN = 7;

function Slowest({ data }: { data: Dispatch }) {
    const ops = slowest(data).slice(0, SLOWEST_SHOWN);
    const most = Math.max(1, ...ops.map((op) => Math.max(op.min_ns ?? 0, op.mean_total_ns ?? 0)));
    const width = (ns: number | null) => `${((ns ?? 0) / most) * 100}%`;
    return (
        <section aria-label="The slowest to call">
            <div class="between"><h3>The slowest to call</h3><span class="t3">until it returns; pale: until its work is done, mean</span></div>
            <div class="list-rows dispatch-rows">
                {ops.map((op) => (
                    <button key={op.name} onClick={() => (chosen.value = op.name)} aria-pressed={chosen.value === op.name} title={safeText(op.name)}>
                        <span class="el">{shortName(op.name)}</span>
                        <span class="dispatch-bar"><i class="until-done" style={{ width: width(op.mean_total_ns) }} /><i style={{ width: width(op.min_ns) }} /></span>
                        <span class="r">{duration(op.min_ns ?? 0)}</span>
                    </button>
                ))}
            </div>
        </section>
    );
}

function Spread({ data }: { data: Dispatch }) {
    const { gate } = data;
    if (gate && gate.calibration.length > 0) {
        return (
            <section aria-label="Calibration">
                <div class="between"><h3>This machine against the reference's</h3><span class="t3">calibration ops</span></div>
                <table class="small-table" aria-label="Calibration">
                    <thead><tr><th class="text">op</th><th>reference</th><th>now</th><th>ratio</th></tr></thead>
                    <tbody>
                        {gate.calibration.slice(0, 7).map((row) => (
                            <tr key={row.name}>
                                <td class="text" title={safeText(row.name)}>{safeText(row.name.replace(/^calibration\./, ""))}</td><td>{row.reference_ns === null ? "–" : duration(row.reference_ns)}</td>
                                <td>{row.now_ns === null ? "–" : duration(row.now_ns)}</td><td>{ratioText(row.reference_ns && row.now_ns !== null ? row.now_ns / row.reference_ns : null)}</td>
                            </tr>
                        ))}
                    </tbody>
                </table>
            </section>
        );
    }
    const values = slowest(data).map((op) => op.min_ns ?? 0);
    return (
        <section aria-label="How long calls take">
            <div class="between"><h3>How long calls take</h3><span class="t3">ops by their least time</span></div>
            <Histogram bins={binsOf(values, 24)} lines={[]} label={`Least times of ${plural(values.length, "op")}`} height={128} />
        </section>
    );
}

function DispatchBand({ data }: { data: Dispatch }) {
    const notes = notesOf(data);
    return (
        <div class="band" data-region>
            <section aria-label={data.gate ? "Verdict" : "What a call costs"}>
                <div class="between"><h3>{data.gate ? "Compared with the reference" : "What a call costs the host"}</h3><span class="t3 el">{data.gate ? safeText(data.gate.reference) : ""}</span></div>
                <Sentence data={{ sentence: sentenceOf(data) }} />
                <VerdictBar data={data} />
                {!data.gate && notes.map((note) => <p key={note} class="t2 next">{note}</p>)}
            </section>
            <Slowest data={data} />
            <Spread data={data} />
        </div>
    );
}

// ---- table

const STRIP = { width: 150, height: 16 };

/** One mark a repeat, from the least to p99: one peak, two, a tail; and where the reference lies. */
function Strip({ op, expected }: { op: DispatchOp; expected: number | null }) {
    const high = Math.max(op.p99_ns ?? op.mean_ns ?? 0, expected ?? 0);
    const low = Math.min(op.min_ns ?? 0, expected ?? Infinity);
    if (op.min_ns === null || op.p50_ns === null) return null;
    const wide = Math.max(high - low, low * 0.02);
    const x = (ns: number) => 2 + Math.min(1, Math.max(0, (ns - low) / wide)) * (STRIP.width - 4);
    const line = (ns: number, name: string) => <line class={name} x1={x(ns)} x2={x(ns)} y1={1} y2={STRIP.height - 1} />;
    return (
        <svg width={STRIP.width} height={STRIP.height} class="repeats" aria-hidden="true">
            <path d={op.repeats_ns.filter((ns) => ns <= high).map((ns) => `M${x(ns).toFixed(1)} 4V${STRIP.height - 4}`).join("")} />
            {line(op.p50_ns, "median")}
            {expected !== null && line(expected, "expected")}
        </svg>
    );
}

function VerdictCell({ row }: { row: DispatchRow }) {
    const found = row.gate?.verdict;
    if (!found) return <>{row.op && !isMeasured(row.op) ? safeText(row.op.state) : "–"}</>;
    return <div class="cell"><i class={`swatch ${VERDICT_CLASS[found]}`} /><span class={found === "slower" ? "slower" : found === "faster" ? "faster" : ""}>{found === "same" ? "as it was" : found === "failed" ? "fails now" : found}</span></div>;
}

function columnsOf(data: Dispatch): Column<DispatchRow>[] {
    const time = (id: string, label: string, title: string, of: (op: DispatchOp) => number | null, rest: Partial<Column<DispatchRow>> = {}): Column<DispatchRow> => ({
        id, label, title, width: 84, value: (row) => (row.op ? of(row.op) : null), cell: (row) => durationCell(row.op ? of(row.op) : null), ...rest,
    });
    const has = (of: (op: DispatchOp) => number | null) => data.ops.some((op) => of(op) !== null);
    const reason = (row: DispatchRow) => row.gate?.reason || row.op?.reason || "";
    const columns: (Column<DispatchRow> | false)[] = [
        { id: "op", label: "op", width: 240, text: true, value: (row) => row.name, cell: (row) => <span class="el" title={safeText(row.name)}>{shortName(row.name)}</span> },
        data.ops.some((op) => op.group) && { id: "group", label: "group", width: 92, text: true, narrowOut: true, value: (row) => row.op?.group ?? row.gate?.group ?? "", cell: (row) => safeText(row.op?.group ?? row.gate?.group ?? "") },
        (data.gate !== null || data.ops.some((op) => !isMeasured(op))) && { id: "verdict", label: data.gate ? "verdict" : "state", width: 104, text: true, value: (row) => row.gate?.verdict ?? row.op?.state ?? "", cell: (row) => <VerdictCell row={row} /> },
        data.gate !== null && { id: "ratio", label: "ratio", width: 72, title: "least time now by the reference's on this machine", value: (row) => row.gate?.ratio ?? null, cell: (row) => ratioText(row.gate?.ratio ?? null) },
        data.gate !== null && { id: "reference_ns", label: "reference", width: 88, narrowOut: true, value: (row) => row.gate?.reference_ns ?? null, cell: (row) => durationCell(row.gate?.reference_ns) },
        time("min_ns", "least", "what a call takes until it returns when nothing disturbs it", (op) => op.min_ns),
        has((op) => op.p50_ns) && time("p50_ns", "p50", "the middle of the repeats", (op) => op.p50_ns, { narrowOut: true }),
        has((op) => op.p99_ns) && time("p99_ns", "p99", "one repeat in a hundred takes longer", (op) => op.p99_ns, { narrowOut: true }),
        time("mean_ns", "mean", "the mean of the repeats", (op) => op.mean_ns, { narrowOut: true }),
        has((op) => op.mean_total_ns) && time("mean_total_ns", "until done", "mean until the work of the call is done", (op) => op.mean_total_ns, { width: 92, narrowOut: true }),
        has((op) => op.native_ns) && time("native_ns", "native", "of it in native code", (op) => op.native_ns, { narrowOut: true }),
        { id: "count", label: "calls", width: 72, optional: true, value: (row) => row.op?.count ?? null, cell: (row) => (row.op ? group(row.op.count) : "–") },
        data.ops.some((op) => op.repeats_ns.length > 0) && { id: "repeats", label: "repeats, least to p99", width: STRIP.width + 16, text: true, narrowOut: true, value: () => null, cell: (row) => row.op && <Strip op={row.op} expected={expectedNs(data, row.gate)} /> },
        data.ops.some((op) => op.reason) || (data.gate?.rows.some((row) => row.reason) ?? false) ? { id: "why", label: "why", width: 240, text: true, optional: true, value: reason, cell: (row) => <span class="el" title={safeText(reason(row))}>{safeText(reason(row))}</span> } : false,
    ];
    return columns.filter((column): column is Column<DispatchRow> => column !== false);
}

function DispatchTable({ data }: { data: Dispatch }) {
    const match = matcher(state.filter.value);
    const rows = rowsOf(data).filter((row) => (match(row.name) || match(row.op?.group ?? "")) && (verdict.value === null || row.gate?.verdict === verdict.value));
    return (
        <>
            <div class="panel-head">
                <b>{plural(rows.length, "op")}</b>
                {verdict.value && <button class="chip" aria-pressed="true" onClick={() => (verdict.value = null)}>{VERDICT_WORDS[verdict.value]} ✕</button>}
                {data.ops.some((op) => op.repeats_ns.length > 0) && <span class="t3 el locations">a mark for each repeat; blue: the median{data.gate ? "; dashed: what the reference says for this machine" : ""}</span>}
                <span class="fill" />
                <button class="link" onClick={downloadTable}>Save as CSV</button>
                <input class="filter-field" type="search" placeholder="Filter ops" aria-label="Filter ops" value={state.filter.value} onInput={(event) => (state.filter.value = event.currentTarget.value)} />
            </div>
            <Table label="Dispatch times" columns={columnsOf(data)} rows={rows} sort={data.gate ? "ratio" : "min_ns"} keyOf={(row) => row.name}
                isSelected={(row) => chosen.value === row.name} onSelect={(row) => (chosen.value = row.name)} empty={data.ops.length ? "No op matches." : "No op was measured."} />
        </>
    );
}

// ---- inspector

function OpCard({ data, row }: { data: Dispatch; row: DispatchRow }) {
    const { op, gate } = row;
    const expected = expectedNs(data, gate);
    const time = (ns: number | null | undefined) => (ns === null || ns === undefined ? "–" : <span title={exactNs(ns)}>{duration(ns)}</span>);
    const lines = [op?.p50_ns && { at: op.p50_ns, label: "p50" }, op?.p99_ns && { at: op.p99_ns, label: "p99" }].filter((line) => !!line);
    return (
        <>
            <div class="between"><span class="tag">Op{op?.group ? `, ${safeText(op.group)}` : ""}</span>{gate && <span class="t3">{gate.verdict === "same" ? "as it was" : gate.verdict}</span>}</div>
            <h2>{safeText(row.name)}</h2>
            {isMeasured(op) && <div class="t2">returns after <b>{time(op.min_ns)}</b>{op.early ? ", before its work is done" : ""}</div>}
            {op && !isMeasured(op) && <div class="t2">{capital(safeText(op.state))}{op.reason ? `: ${safeText(op.reason)}` : ""}</div>}
            {gate && (
                <Part title="Against the reference" side={ratioText(gate.ratio)}>
                    <Facts rows={[
                        ["reference", time(gate.reference_ns)], expected !== null && data.gate?.why_absolute === null && ["on this machine", time(expected)], ["least now", time(gate.now_ns)],
                        gate.rounds > 0 && ["measured again", plural(gate.rounds, "round")],
                    ]} />
                    {gate.reason && <p class="t2">{safeText(gate.reason)}</p>}
                </Part>
            )}
            {op && binsOf(op.repeats_ns, 32).length > 1 && (
                <Part title="Repeats" side={plural(op.repeats_ns.length, "repeat")}>
                    <Histogram bins={binsOf(op.repeats_ns, 32)} lines={lines} {...(expected === null ? {} : { mark: expected })} label={`Times of ${plural(op.repeats_ns.length, "repeat")}`} />
                </Part>
            )}
            {isMeasured(op) && (
                <Part title="A call" last>
                    <Facts rows={[
                        ["least", time(op.min_ns)], op.p50_ns !== null && ["median", time(op.p50_ns)],
                        op.ci_low_ns !== null && op.ci_high_ns !== null && ["95% interval", <span>{duration(op.ci_low_ns)} to {duration(op.ci_high_ns)}</span>],
                        op.p99_ns !== null && ["p99", time(op.p99_ns)], op.mean_ns !== null && ["mean", time(op.mean_ns)], op.mean_total_ns !== null && ["until done", time(op.mean_total_ns)],
                        op.native_ns !== null && ["native", time(op.native_ns)], ["calls", group(op.count)],
                    ]} />
                </Part>
            )}
        </>
    );
}

function RunCard({ data }: { data: Dispatch }) {
    const notes = notesOf(data);
    return (
        <>
            <div class="between"><span class="tag">Host overhead</span></div>
            <h2>{about(data)}</h2>
            <Part title="How it was measured">
                <Facts rows={[
                    !!data.provider && ["ops of", safeText([data.provider, data.provider_version].filter(Boolean).join(" "))], !!data.machine && ["machine", safeText(data.machine)],
                    !!data.source && data.source !== "measured" && ["file", safeText(data.source)], ["ops measured", group(data.ops.filter(isMeasured).length)],
                    data.loop_ns !== null && data.loop_ns > 0 && ["call of nothing", <span>{duration(data.loop_ns)}, taken off</span>], !!noiseText(data.noise) && ["noise", noiseText(data.noise)],
                ]} />
            </Part>
            {data.gate && <Part title="How it was compared"><p class="t2">{gateText(data.gate)}</p></Part>}
            {notes.length > 0 && <Part title="How far to trust it" last>{notes.map((note) => <p key={note} class="t2">{note}</p>)}</Part>}
        </>
    );
}

// ---- the page

export function DispatchContext({ data }: { data: Dispatch }) {
    const noise = noiseText(data.noise);
    return (
        <div class="context" aria-label="What the numbers are about" role="region" data-region>
            <span class="wide">These numbers are about:</span>
            <span class="pill">{plural(data.ops.filter(isMeasured).length, "op")}</span>
            <span class="el">{about(data)}</span>
            <span class="fill" />
            {noise && <span class={data.noisy ? "pill late" : "wide"}>{data.noisy ? `noisy machine: ${noise}` : `noise ${noise}`}</span>}
        </div>
    );
}

export function DispatchPage({ data }: { data: Dispatch }) {
    useSignalEffect(() => {
        document.title = data.gate ? "Host overhead: gate" : "Host overhead";
    });
    const row = chosen.value === null ? undefined : rowsOf(data).find((one) => one.name === chosen.value);
    return (
        <main class="frame no-drawer" id="frame">
            <DispatchBand data={data} />
            <div class="stage"><DispatchTable data={data} /></div>
            <aside class="inspector" aria-label="Details" data-region>
                <Separator name="inspector" vertical />
                {row ? <OpCard data={data} row={row} /> : <RunCard data={data} />}
            </aside>
        </main>
    );
}
