// SPDX-License-Identifier: Apache-2.0
// Charts of a comparison: the steps from A to B, and how far each estimate is off.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import * as model from "../model/compare";
import { duration, group } from "../model/format";
import { safeText, shortName } from "../model/text";
import { signed } from "./compare";
import { durationCell, Table, type Column } from "./table";

const HEIGHT = 172;
const CHARACTER = 6.7; // the widest of the fonts that a page may get

function useWidth(): [{ current: HTMLDivElement | null }, number] {
    const element = useRef<HTMLDivElement>(null);
    const width = useSignal(520);
    useEffect(() => {
        const inside = element.current;
        if (!inside) return;
        const watcher = new ResizeObserver(() => (width.value = Math.max(200, inside.clientWidth)));
        watcher.observe(inside);
        return () => watcher.disconnect();
    }, []);
    return [element, width.value];
}

function Chart({ title, side, name, table, children }: {
    title: string; side: string; name: string; table: ComponentChildren; children: (width: number) => ComponentChildren;
}) {
    const [element, width] = useWidth();
    const asTable = useSignal(false);
    return (
        <section aria-label={title}>
            <div class="between">
                <h3>{title}</h3>
                <span class="t3">{side} <button class="link" aria-pressed={asTable.value} onClick={() => (asTable.value = !asTable.value)}>table</button></span>
            </div>
            <div ref={element} class="chart-room">
                {asTable.value ? table : <svg width={width} height={HEIGHT} role="img" aria-label={name}>{children(width)}</svg>}
            </div>
        </section>
    );
}

function cut(text: string, room: number): string {
    const most = Math.floor(room / CHARACTER);
    return text.length <= most ? text : most >= 5 ? `${text.slice(0, most - 1)}…` : "";
}

function BarOf({ bar, label: name, next, x, width, y, bottom, broken }: {
    bar: model.Bar; label: string; next: model.Bar | undefined; x: number; width: number; y: (level: number) => number; bottom: number; broken: boolean;
}) {
    const total = bar.kind === "total";
    const [top, base] = total ? [y(bar.to), bottom] : [Math.min(y(bar.from), y(bar.to)), Math.max(y(bar.from), y(bar.to))];
    const size = Math.max(1, base - top);
    const inner = Math.min(96, width * 0.72);
    const left = x + (width - inner) / 2;
    const label = total ? duration(bar.to) : signed(bar.change);
    return (
        <g>
            <title>{`${safeText(bar.label)}: ${label}`}</title>
            <rect class={`fall ${bar.kind}`} x={left} y={top} width={inner} height={size} />
            {bar.kind === "slower" && <rect fill="url(#fall-dots)" x={left} y={top} width={inner} height={size} />}
            {total && broken && <path class="fall-break" d={`M${left - 3} ${bottom - 14}l${inner / 4 + 1.5} -5l${inner / 4 + 1.5} 5l${inner / 4 + 1.5} -5l${inner / 4 + 1.5} 5`} />}
            {next && <path class="fall-link" d={`M${left + inner} ${y(bar.to)}H${x + width + (width - inner) / 2}`} />}
            <text x={x + width / 2} y={top - 4} text-anchor="middle">{label.length * CHARACTER <= width - 2 ? label : ""}</text>
            <text x={x + width / 2} y={HEIGHT - 4} text-anchor="middle">{name}</text>
        </g>
    );
}

export function WaterfallChart({ data, isNoise }: { data: model.Waterfall; isNoise: boolean }) {
    const { bars, low, high, broken } = model.waterfallBars(data, isNoise);
    const [top, bottom] = [18, HEIGHT - 20];
    const y = (level: number) => bottom - ((level - low) / (high - low)) * (bottom - top);
    const steps = bars.slice(1, -1).map((bar) => `${bar.label} ${signed(bar.change)}`).join(", ");
    const name = `From A, ${duration(data.a_ns)}, to B, ${duration(data.b_ns)}: ${steps || "nothing changed"}`;
    const table = (
        <table class="small-table" aria-label="Steps from A to B"><tbody>
            {bars.map((bar, index) => <tr key={index}><td class="text">{shortName(bar.label)}</td><td>{bar.kind === "total" ? duration(bar.to) : signed(bar.change)}</td></tr>)}
        </tbody></table>
    );
    const labels = (width: number) => model.shortLabels(bars.map((bar) => shortName(bar.label)), Math.floor((width / bars.length - 2) / CHARACTER));
    const side = `${data.basis}${isNoise ? "; within the noise" : ""}${broken ? `; axis begins at ${duration(low)}` : ""}`;
    return (
        <Chart title="From A to B" side={side} name={safeText(name)} table={table}>
            {(width) => (
                <>
                    <defs>
                        <pattern id="fall-dots" width="5" height="5" patternUnits="userSpaceOnUse"><circle cx="2.5" cy="2.5" r="1" class="pattern-fill" /></pattern>
                    </defs>
                    <path class="fall-link" d={`M0 ${bottom + 0.5}H${width}`} />
                    {bars.map((bar, index) => (
                        <BarOf key={index} bar={bar} label={labels(width)[index] ?? ""} next={bars[index + 1]} x={(index * width) / bars.length} width={width / bars.length} y={y} bottom={bottom} broken={broken} />
                    ))}
                </>
            )}
        </Chart>
    );
}

// ---- an estimate against what was measured

const DUMBBELLS = 8;
const FACTORS = [0.25, 0.5, 1, 2, 4];
const FACTOR_WORDS = ["¼ ×", "½ ×", "1 ×", "2 ×", "4 ×"];

export function Dumbbells({ data }: { data: NonNullable<model.Comparison["estimate"]> }) {
    const rows = data.rows.filter((row) => row.estimate_ns > 0 && row.measured_ns > 0)
        .sort((a, b) => Math.abs(b.measured_ns - b.estimate_ns) - Math.abs(a.measured_ns - a.estimate_ns)).slice(0, DUMBBELLS);
    const [names, top, bottom] = [132, 6, HEIGHT - 18];
    const name = rows.map((row) => `${shortName(row.name)} ${(row.measured_ns / row.estimate_ns).toPrecision(3)} times its estimate`).join(", ");
    const table = (
        <table class="small-table" aria-label="Measured over estimated"><tbody>
            {rows.map((row) => <tr key={row.name + row.location}><td class="text">{shortName(row.name)}</td><td>{duration(row.estimate_ns)}</td><td>{duration(row.measured_ns)}</td><td>{(row.measured_ns / row.estimate_ns).toPrecision(3)} ×</td></tr>)}
        </tbody></table>
    );
    return (
        <Chart title="Measured over estimated" side={`furthest off of ${group(data.rows.length)}`} name={safeText(name || "nothing was measured")} table={table}>
            {(width) => {
                const x = (factor: number) => names + ((Math.log2(Math.min(4, Math.max(0.25, factor))) + 2) / 4) * (width - names - 56) + 8;
                const step = Math.min(20, (bottom - top) / Math.max(1, rows.length));
                return (
                    <>
                        {FACTORS.map((factor, index) => (
                            <g key={factor}>
                                <path class={factor === 1 ? "roof" : "chart-lines"} d={`M${x(factor)} ${top}V${bottom}`} />
                                <text x={x(factor)} y={HEIGHT - 4} text-anchor="middle">{FACTOR_WORDS[index]}</text>
                            </g>
                        ))}
                        {rows.map((row, index) => {
                            const factor = row.measured_ns / row.estimate_ns;
                            const y = top + step * (index + 0.5);
                            return (
                                <g key={index}>
                                    <title>{`${safeText(row.name)}: estimated ${duration(row.estimate_ns)}, measured ${duration(row.measured_ns)}`}</title>
                                    <text x={names - 6} y={y + 4} text-anchor="end">{cut(shortName(row.name), names - 8)}</text>
                                    <path class="dumbbell" d={`M${x(1)} ${y}H${x(factor)}`} />
                                    <circle class="dot hollow estimate-end" cx={x(1)} cy={y} r={4} />
                                    <circle class="measured-end" cx={x(factor)} cy={y} r={4} />
                                    <text x={x(Math.max(1, factor)) + 8} y={y + 4}>{`${factor.toPrecision(3)} ×`}</text>
                                </g>
                            );
                        })}
                    </>
                );
            }}
        </Chart>
    );
}

const ESTIMATE_COLUMNS: Column<model.EstimateRow>[] = [
    { id: "name", label: "name", width: 220, text: true, value: (row) => row.name, cell: (row) => <span class="el" title={safeText(row.name)}>{shortName(row.name)}</span> },
    { id: "type", label: "type", width: 92, text: true, narrowOut: true, value: (row) => row.type, cell: (row) => safeText(row.type ?? "–") },
    { id: "estimate_ns", label: "estimate", width: 92, value: (row) => row.estimate_ns, cell: (row) => durationCell(row.estimate_ns) },
    { id: "measured_ns", label: "measured", width: 92, value: (row) => row.measured_ns, cell: (row) => durationCell(row.measured_ns) },
    {
        id: "difference", label: "difference", width: 96, value: (row) => row.measured_ns - row.estimate_ns, order: (row) => Math.abs(row.measured_ns - row.estimate_ns),
        cell: (row) => signed(row.measured_ns - row.estimate_ns),
    },
    { id: "factor", label: "factor", width: 72, value: (row) => row.factor, cell: (row) => (row.factor === null ? "–" : `${row.factor.toPrecision(3)} ×`) },
    { id: "runs", label: "runs", width: 64, narrowOut: true, value: (row) => row.runs, cell: (row) => group(row.runs) },
];

export function EstimateTable({ rows, what }: { rows: model.EstimateRow[]; what: string }) {
    return (
        <section class="differences" aria-label="Estimated and measured" data-region>
            <Table label={`Estimated and measured, by ${what}`} columns={ESTIMATE_COLUMNS} rows={rows} sort="difference"
                keyOf={(row) => `${row.name} ${row.location ?? ""} ${row.estimate_ns}`} empty="Nothing of the estimate was measured." />
        </section>
    );
}
