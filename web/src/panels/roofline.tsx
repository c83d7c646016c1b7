// SPDX-License-Identifier: Apache-2.0
// How close each op is to the hardware limit: log-log scatter under its roofs. Labels are dropped rather than overlapped.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { duration, percent, plural } from "../model/format";
import * as state from "../model/state";
import { shortName } from "../model/text";
import type { Roofline, RooflinePoint } from "../model/types";

const LABELS_MAX = 5;

interface Scale {
    x: (value: number) => number;
    y: (value: number) => number;
    xs: number[];
    ys: number[];
    left: number;
    right: number;
    top: number;
    bottom: number;
}

const decades = (low: number, high: number) => {
    const list: number[] = [];
    for (let power = Math.ceil(low - 1e-9); power <= high + 1e-9; power++) list.push(Math.pow(10, power));
    return list;
};

function scaleOf(data: Roofline, width: number, height: number): Scale {
    const peak = Math.max(1e-6, ...data.roofs.filter((roof) => roof.kind === "flops").map((roof) => roof.value));
    const dram = data.roofs.find((roof) => roof.kind === "dram")?.value ?? 1;
    const ridge = (peak * 1e12) / (dram * 1e9);
    const log = (values: number[]) => values.filter((value) => value > 0).map(Math.log10);
    const xs = log(data.points.map((point) => point.flop_per_byte));
    const ys = log(data.points.map((point) => point.tflops));
    let [x0, x1] = [Math.min(...xs) - 1 / 3, Math.max(...xs) + 1 / 3];
    if (!Number.isFinite(x0)) [x0, x1] = [Math.log10(ridge) - 2, Math.log10(ridge) + 1];
    const edge = Math.log10(ridge);
    if (edge > x1 && edge - x1 < 1) x1 = edge + 1 / 3;
    if (edge < x0 && x0 - edge < 1) x0 = edge - 1 / 3;
    const y1 = Math.max(Math.log10(peak) + 0.15, ...ys);
    const y0 = Math.min(y1 - 2, ...ys) - 1 / 3;
    const [left, right, top, bottom] = [44, width - 4, 14, height - 34];
    return {
        x: (value) => left + ((Math.log10(value) - x0) / (x1 - x0)) * (right - left),
        y: (value) => bottom - ((Math.log10(value) - y0) / (y1 - y0)) * (bottom - top),
        xs: decades(x0, x1), ys: decades(y0, y1), left, right, top, bottom,
    };
}

function tick(value: number): string {
    return value >= 1 ? value.toLocaleString("en") : String(value);
}

interface Placed {
    point: RooflinePoint;
    x: number;
    y: number;
    radius: number;
    label: { x: number; y: number; anchor: "start" | "end" } | null;
}

function place(data: Roofline, scale: Scale): Placed[] {
    const most = Math.max(1, ...data.points.map((point) => point.device_ns));
    const points = [...data.points].sort((a, b) => b.device_ns - a.device_ns);
    const taken: { left: number; right: number; top: number; bottom: number }[] = [];
    let labels = 0;
    const placed = points.map((point): Placed => {
        const radius = Math.max(2, Math.sqrt(point.device_ns / most) * 9);
        return { point, x: scale.x(point.flop_per_byte), y: scale.y(point.tflops), radius, label: null };
    });
    const named = new Set<string>();
    for (const one of placed) {
        const text = one.point.kind || shortName(one.point.name);
        if (labels >= LABELS_MAX || named.has(text)) continue;
        const size = text.length * 5.6;
        for (const [dx, dy, anchor] of [[one.radius + 4, 4, "start"], [-one.radius - 4, 4, "end"], [0, one.radius + 13, "start"]] as const) {
            const x = one.x + dx;
            const box = { left: anchor === "start" ? x : x - size, right: anchor === "start" ? x + size : x, top: one.y + dy - 10, bottom: one.y + dy + 2 };
            const out = box.left < scale.left || box.right > scale.right || box.bottom > scale.bottom;
            const hits = taken.some((other) => box.left < other.right && box.right > other.left && box.top < other.bottom && box.bottom > other.top);
            const covers = placed.some((dot) => dot !== one && dot.x > box.left - dot.radius && dot.x < box.right + dot.radius &&
                dot.y > box.top - dot.radius && dot.y < box.bottom + dot.radius && dot.radius > 3);
            if (out || hits || covers) continue;
            taken.push(box);
            named.add(text);
            one.label = { x, y: one.y + dy, anchor };
            labels++;
            break;
        }
    }
    return placed;
}

function figure(roof: Roofline["roofs"][number], named: boolean): string {
    const value = Number(roof.value.toPrecision(3)).toLocaleString("en");
    return `${named ? `${roof.label} ` : ""}${value}\u00a0${roof.unit}`;
}

function Roofs({ data, scale }: { data: Roofline; scale: Scale }) {
    const peaks = data.roofs.filter((roof) => roof.kind === "flops").sort((a, b) => b.value - a.value);
    const [peak] = peaks;
    const dram = data.roofs.find((roof) => roof.kind === "dram");
    if (!peak || !dram) return null;
    const path = (factor: number, memory = dram.value) => {
        const slope = (memory * factor) / 1000;
        const ridge = (peak.value * factor) / slope;
        const low = Math.pow(10, Math.log10(scale.xs[0] ?? 1) - 2);
        return `M${scale.x(low)} ${scale.y(low * slope)}L${scale.x(ridge)} ${scale.y(peak.value * factor)}H${scale.right}`;
    };
    const ridge = (peak.value * 1000) / dram.value;
    const middle = (scale.left + Math.min(scale.right, scale.x(ridge))) / 2;
    const slope = Math.atan2(scale.y(10) - scale.y(1), scale.x(10) - scale.x(1));
    const y = scale.y(peak.value) + (middle - scale.x(ridge)) * Math.tan(slope);
    const turn = `rotate(${(slope * 180) / Math.PI} ${middle} ${y - 5})`;
    return (
        <>
            {peaks.slice(1).map((roof) => {
                const from = scale.x((roof.value * 1000) / dram.value);
                return <path key={roof.label} class="roof lower" d={`M${from} ${scale.y(roof.value)}H${scale.right}`} />;
            })}
            {data.roofs.filter((roof) => roof.kind === "cache").map((roof) => (
                <path key={roof.label} class="roof lower" d={path(1, roof.value)}><title>{figure(roof, true)}</title></path>
            ))}
            <path class="roof" d={path(1)} />
            <path class="target" d={path(data.target)} />
            <text x={scale.right - 2} y={scale.y(peak.value) - 5} text-anchor="end">{figure(peak, peaks.length > 1)}</text>
            {y > scale.top && y < scale.bottom && <text x={middle} y={y - 5} text-anchor="middle" transform={turn}>{figure(dram, false)}</text>}
        </>
    );
}

export function machineName(data: Roofline | null): string {
    if (!data?.machine) return "";
    return typeof data.machine === "string" ? data.machine : data.machine.name;
}

export function RooflineChart({ data }: { data: Roofline }) {
    const box = useRef<HTMLDivElement>(null);
    const size = useSignal({ width: 380, height: 170 });
    useEffect(() => {
        const element = box.current;
        if (!element) return;
        const watcher = new ResizeObserver(() => (size.value = { width: Math.max(160, element.clientWidth), height: Math.max(120, element.clientHeight) }));
        watcher.observe(element);
        return () => watcher.disconnect();
    }, []);
    const { width, height } = size.value;
    const scale = scaleOf(data, width, height);
    const dots = place(data, scale);
    const chosen = state.selection.value;
    const name = `Roofline of ${plural(data.points.length, "op")} against ${machineName(data)}`;
    const missing = data.without_model;
    return (
        <div class="chart" ref={box} style={{ height: "calc(100% - 18px)", minHeight: "120px" }}>
            <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={name} style={{ display: "block" }}>
                <clipPath id="roofline-area"><rect x={scale.left} y={0} width={scale.right - scale.left} height={scale.bottom} /></clipPath>
                <g class="chart-lines">
                    {scale.xs.map((value) => <line key={value} x1={scale.x(value)} x2={scale.x(value)} y1={scale.top} y2={scale.bottom} />)}
                    {scale.ys.map((value) => <line key={value} y1={scale.y(value)} y2={scale.y(value)} x1={scale.left} x2={scale.right} />)}
                </g>
                {scale.ys.map((value) => <text key={value} x={scale.left - 6} y={scale.y(value) + 4} text-anchor="end">{tick(value)}</text>)}
                {scale.xs.map((value) => <text key={value} x={Math.min(scale.x(value), scale.right - tick(value).length * 3)} y={scale.bottom + 14} text-anchor="middle">{tick(value)}</text>)}
                <text x={scale.left + 4} y={10}>TFLOP/s</text>
                <text x={scale.right} y={scale.bottom + 29} text-anchor="end">FLOP per byte</text>
                <text x={scale.left + 4} y={scale.bottom + 29}>
                    {missing?.ops ? `${plural(missing.ops, "op")} without a model${width > 370 ? `, ${duration(missing.ns)}` : ""}` : `dashed: target ${percent(data.target)}`}
                </text>
                <g clip-path="url(#roofline-area)">
                    <Roofs data={data} scale={scale} />
                    {dots.map(({ point, x, y, radius }) => (
                        <circle key={point.name} cx={x} cy={y} r={radius} onClick={() => state.select({ kind: "op", name: point.name })}
                            class={`dot ${point.estimated ? "hollow" : `f${point.colour}`} ${chosen?.kind === "op" && chosen.name === point.name ? "chosen" : ""}`}>
                            <title>{`${shortName(point.name)}: ${point.tflops.toPrecision(3)} TFLOP/s, ${duration(point.device_ns)}`}</title>
                        </circle>
                    ))}
                    {dots.map(({ point, label }) => label && (
                        <text key={point.name} x={label.x} y={label.y} text-anchor={label.anchor}>{point.kind || shortName(point.name)}</text>
                    ))}
                </g>
            </svg>
        </div>
    );
}
