// SPDX-License-Identifier: Apache-2.0
// Counters and memory as step lines with an area; a band from least to most where samples share a pixel.
import { getJson } from "../model/api";
import { bytes, quantity } from "../model/format";
import * as state from "../model/state";
import type { Series } from "../model/types";
import type { TextFitter } from "./labels";
import type { Node } from "./layout";
import type { Frame } from "./stage";

interface Fetched {
    from: number;
    to: number;
    series: Series;
}

const CELLS = 2048;

export class Plots {
    private readonly fetched = new Map<string, Fetched>();
    private readonly asked = new Map<string, string>();

    constructor(private readonly changed: () => void) {}

    draw(frame: Frame, fitter: TextFitter): void {
        for (const node of frame.nodes) {
            if (node.kind !== "counter" && node.kind !== "memory") continue;
            this.want(node, frame);
            const found = this.fetched.get(node.id);
            if (found) drawSeries(frame, node, found.series, fitter);
        }
    }

    /** Fetches three times the view, at lengths that are powers of two, so that small moves ask for nothing. */
    private want(node: Node, frame: Frame): void {
        const length = Math.pow(2, Math.ceil(Math.log2(frame.view.to - frame.view.from)));
        const from = Math.max(0, (Math.floor(frame.view.from / length) - 1) * length);
        const to = Math.min(state.whole.peek().to, from + 4 * length);
        const key = `${from}:${to}:${state.trace.peek()?.generation ?? 0}`;
        if (this.asked.get(node.id) === key) return;
        this.asked.set(node.id, key);
        const path = `/t/${state.traceIndex.peek()}/`;
        const span = { from, to, px: CELLS };
        const answer = node.counter
            ? getJson<Series>(`${path}counter`, { ...span, track: node.counter.track, name: node.counter.name })
            : getJson<Series>(`${path}memory`, { ...span, pool: node.pool?.name ?? undefined });
        answer.then((series) => {
            this.fetched.set(node.id, { from, to, series });
            this.changed();
        }).catch(() => this.asked.delete(node.id));
    }
}

/** From 0, unless all values lie in the upper half of what would be shown. */
function bounds(node: Node): { low: number; high: number } {
    if (node.pool) return { low: 0, high: node.pool.peak_bytes || 1 };
    const { min = 0, max = 1 } = node.counter ?? {};
    const low = min > max / 2 ? min : Math.min(0, min);
    return { low, high: max > low ? max : low + 1 };
}

function drawSeries(frame: Frame, node: Node, series: Series, fitter: TextFitter): void {
    const { context, theme } = frame;
    const { low, high } = bounds(node);
    const top = node.y + node.head - frame.scrollY + 5;
    const bottom = node.y - frame.scrollY + node.height - 3;
    const yOf = (value: number) => bottom - ((value - low) / (high - low)) * (bottom - top);
    const xOf = (time: number) => (time - frame.view.from) * frame.scale;
    context.save();
    context.beginPath();
    context.rect(0, node.y - frame.scrollY, frame.width, node.height);
    context.clip();
    const line = new Path2D();
    const band = new Path2D();
    let value: number | null = null;
    let firstX = frame.width;
    for (let at = 0; at < series.time.length; at++) {
        const x = xOf(series.time[at] as number);
        const last = series.last[at] as number;
        if (x < 0) {
            value = last;
            continue;
        }
        if (value === null) line.moveTo((firstX = x), yOf(last));
        else if (firstX === frame.width) line.moveTo((firstX = 0), yOf(value));
        if (value !== null) line.lineTo(x, yOf(value));
        line.lineTo(x, yOf(last));
        const most = yOf(series.max[at] as number);
        band.rect(x, most, 1.25, Math.max(0, yOf(series.min[at] as number) - most));
        value = last;
        if (x > frame.width) break;
    }
    if (value !== null) {
        if (firstX === frame.width) line.moveTo((firstX = 0), yOf(value));
        line.lineTo(frame.width + 2, yOf(value));
        const area = new Path2D(line);
        area.lineTo(frame.width + 2, bottom);
        area.lineTo(firstX, bottom);
        context.fillStyle = theme.css.host;
        context.globalAlpha = 0.2;
        context.fill(area);
        context.globalAlpha = 0.5;
        context.fill(band);
        context.globalAlpha = 1;
        context.strokeStyle = theme.css.host;
        context.lineWidth = 1.25;
        context.stroke(line);
    }
    if (low > 0) drawAxis(frame, node.pool ? bytes(low) : quantity(low), bottom, fitter);
    context.restore();
}

/** Says where the axis begins when it does not begin at 0. */
function drawAxis(frame: Frame, text: string, bottom: number, fitter: TextFitter): void {
    const { context, theme } = frame;
    const label = `axis from ${text}`;
    context.font = `11px ${theme.font}`;
    const size = fitter.width(context, label);
    context.fillStyle = theme.css.panel;
    context.fillRect(frame.width - size - 8, bottom - 13, size + 6, 13);
    context.fillStyle = theme.css.tx3;
    context.textBaseline = "middle";
    context.fillText(label, frame.width - size - 5, bottom - 6);
}
