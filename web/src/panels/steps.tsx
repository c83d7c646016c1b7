// SPDX-License-Identifier: Apache-2.0
// Time per step, stacked by kind of work: absolute time, so that a slow step is a tall one. A click selects the step.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { duration, group, plural } from "../model/format";
import * as state from "../model/state";
import { safeText } from "../model/text";
import type { Step, Steps } from "../model/types";

const LABEL_ROOM = 30;
/** From this width on parts have a line between them: some kinds share a colour. */
const APART_FROM = 4;
const BOTTOM = 16;
const TOP = 14;

/** Height of a column and what it is made of, of one step where several are summed up. */
export function columnOf(step: Step): { parts: number[]; idle: number; all: number } {
    const parts = step.ns.map((ns) => ns / step.count);
    const busy = parts.reduce((sum, ns) => sum + ns, 0);
    if (step.idle_ns === null) return { parts: [], idle: 0, all: (step.to - step.from) / step.count };
    const idle = step.idle_ns / step.count;
    return { parts, idle, all: busy + idle };
}

export function stepLabel(data: Steps, step: Step): string {
    const last = step.number + step.count - 1;
    const numbers = step.count > 1 ? `${group(step.number)} to ${group(last)}` : group(step.number);
    return data.name === null ? safeText(step.text || `signpost ${numbers}`) : `${safeText(data.name || "step")} ${numbers}`;
}

/** Which kinds, the largest first, with the time that all steps have of them. */
function totals(data: Steps): number[] {
    return data.kinds.map((_, index) => data.steps.reduce((sum, step) => sum + (step.ns[index] ?? 0), 0));
}

function title(data: Steps, step: Step): string {
    const column = columnOf(step);
    const parts = data.kinds.map((one, index) => `${one.kind} ${duration(column.parts[index] ?? 0)}`).filter((_, index) => (column.parts[index] ?? 0) > 0);
    if (column.idle > 0) parts.push(`idle ${duration(column.idle)}`);
    return [`${stepLabel(data, step)}: ${duration((step.to - step.from) / step.count)}${step.count > 1 ? " each" : ""}`, ...parts].join("\n");
}

function choose(step: Step): void {
    state.select({ kind: "range", from: step.from, to: step.to }, { reveal: true });
}

function Column({ data, step, x, width, tall }: { data: Steps; step: Step; x: number; width: number; tall: (ns: number) => number }) {
    const column = columnOf(step);
    const chosen = state.selection.value;
    const selected = chosen?.kind === "range" && chosen.from === step.from && chosen.to === step.to;
    let y = tall(0);
    const stack = (ns: number, name: string, key: string) => {
        const top = y - (tall(0) - tall(ns));
        const box = <rect key={key} class={name} x={x} y={top} width={width} height={Math.max(0, y - top)} />;
        y = top;
        return box;
    };
    const boxes = column.parts.length || step.idle_ns !== null
        ? [...column.parts.map((ns, index) => stack(ns, `f${data.kinds[index]?.colour ?? 7}`, String(index))), stack(column.idle, "step-idle", "idle")]
        : [stack(column.all, "step-host", "all")];
    return (
        <g class={`step ${width >= APART_FROM ? "apart" : ""}`} onClick={() => choose(step)}>
            <title>{title(data, step)}</title>
            <rect class="step-back" x={x - 1} y={TOP - 4} width={width + 2} height={tall(0) - TOP + 4} />
            {boxes}
            {selected && <rect class="step-ring" x={x - 1} y={y - 1} width={width + 2} height={tall(0) - y + 2} />}
        </g>
    );
}

function Chart({ data }: { data: Steps }) {
    const box = useRef<HTMLDivElement>(null);
    const size = useSignal({ width: 340, height: 150 });
    useEffect(() => {
        const element = box.current;
        if (!element) return;
        const watcher = new ResizeObserver(() => {
            if (element.clientWidth) size.value = { width: Math.max(120, element.clientWidth), height: Math.max(80, element.clientHeight) };
        });
        watcher.observe(element);
        return () => watcher.disconnect();
    }, []);
    const { width, height } = size.value;
    const most = Math.max(1, ...data.steps.map((step) => columnOf(step).all));
    const tall = (ns: number) => height - BOTTOM - (ns / most) * (height - BOTTOM - TOP);
    const pitch = width / data.steps.length;
    const wide = Math.max(1, Math.min(48, pitch * 0.78));
    const every = Math.max(1, Math.ceil(LABEL_ROOM / pitch));
    const name = `${data.steps.length} columns of ${plural(data.count, "step")}, the tallest ${duration(most)}`;
    return (
        <div class="step-chart" ref={box}>
            <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={name}>
                <pattern id="step-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
                    <rect class="column" width="6" height="6" /><rect class="pattern-fill" width="2" height="6" />
                </pattern>
                <line class="gap-axis" x1={0} x2={width} y1={height - BOTTOM + 0.5} y2={height - BOTTOM + 0.5} />
                <line class="target" x1={0} x2={width} y1={TOP - 0.5} y2={TOP - 0.5} />
                <text x={0} y={TOP - 4}>{duration(most)}</text>
                {data.steps.map((step, index) => <Column key={step.from} data={data} step={step} x={index * pitch + (pitch - wide) / 2} width={wide} tall={tall} />)}
                {data.name !== null && data.steps.map((step, index) => index % every === 0 && (
                    <text key={step.from} x={index * pitch + pitch / 2} y={height - 3} text-anchor="middle">{group(step.number)}</text>
                ))}
            </svg>
        </div>
    );
}

export function PerStepChart({ data }: { data: Steps }) {
    const sums = totals(data);
    const together = data.steps[0]?.count ?? 1;
    const what = data.name === null ? "Time between signposts" : `Time per ${safeText(data.name || "step")}`;
    const idle = data.steps.some((step) => (step.idle_ns ?? 0) > 0);
    return (
        <section class="per-step" aria-label={what}>
            <div class="between"><h3 class="el">{what}</h3><span class="t3">{together > 1 ? `mean of ${together}, ` : ""}{plural(data.count, data.name === null ? "signpost" : "step")}</span></div>
            <Chart data={data} />
            <div class="step-legend">
                {data.kinds.map((one, index) => (
                    <button key={one.kind} title={duration(sums[index] ?? 0)} onClick={() => (state.filter.value = `kind:${one.kind}`)}><i class={`swatch c${one.colour}`} />{safeText(one.kind)}</button>
                ))}
                {idle && <span><i class="swatch gap" />idle</span>}
            </div>
        </section>
    );
}
