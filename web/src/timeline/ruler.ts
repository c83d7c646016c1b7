// SPDX-License-Identifier: Apache-2.0
// Ruler, flags of signposts and frames, and the picture of the whole trace above them.
import { clockBase, duration, tickLabel, tickStep } from "../model/format";
import { flagText, pointText } from "../model/points";
import { safeText } from "../model/text";
import type { LossInfo, Point } from "../model/types";
import type { Span } from "../model/url";
import { mix, css } from "../model/colour";
import type { TextFitter } from "./labels";
import type { Theme } from "./theme";

export const RULER_HEIGHT = 22;
export const FLAGS_HEIGHT = 18;
const LABEL_DISTANCE = 74;
const PINNED_FROM_NS = 1e9;

export interface RulerView extends Span {
    width: number;
    theme: Theme;
    fitter: TextFitter;
}

export function ticks(view: Span, width: number): { step: number; times: number[] } {
    const scale = width / (view.to - view.from);
    const step = tickStep(LABEL_DISTANCE / scale);
    const times: number[] = [];
    for (let time = Math.ceil(view.from / step) * step; time <= view.to && times.length < 500; time += step) times.push(time);
    return { step, times };
}

/** The base that is pinned at the left when the labels would need more than six digits; 0 when they do not. */
export function pinnedBase(view: Span, step: number): number {
    if (step >= 60e9 || view.from < PINNED_FROM_NS || view.to / step < 1e6) return 0;
    return Math.floor(view.from / 1e6) * 1e6;
}

export function drawRuler(context: CanvasRenderingContext2D, view: RulerView, dimension: Span | null,
    marks: readonly { time: number; name: string }[]): void {
    const { theme, width } = view;
    const scale = width / (view.to - view.from);
    const { step, times } = ticks(view, width);
    const base = pinnedBase(view, step);
    context.font = `11px ${theme.font}`;
    context.textBaseline = "middle";
    context.textAlign = "center";
    let blocked: Span | null = null;
    if (dimension) blocked = drawDimension(context, view, dimension);
    let left = 18;
    if (base) {
        context.textAlign = "left";
        const text = `${clockBase(base)} +`;
        const size = view.fitter.width(context, text);
        context.fillStyle = theme.css.panel; // the dimension line of a long selection ends before it
        context.fillRect(0, 1, size + 12, RULER_HEIGHT - 2);
        context.fillStyle = theme.css.tx2;
        context.fillText(text, 6, RULER_HEIGHT / 2);
        left = size + 40;
        context.textAlign = "center";
    }
    for (const time of times) {
        const x = Math.round((time - view.from) * scale);
        context.fillStyle = theme.css.line2;
        context.fillRect(x, RULER_HEIGHT - 5, 1, 4);
        if (x < left || x > width - 22 || (blocked && x > blocked.from && x < blocked.to)) continue;
        context.fillStyle = theme.css.tx2;
        context.fillText(tickLabel(time - base, step, Math.max(view.to - base, step)), x, RULER_HEIGHT / 2);
    }
    for (const mark of marks) drawMark(context, view, mark);
    context.textAlign = "left";
}

function drawMark(context: CanvasRenderingContext2D, view: RulerView, mark: { time: number; name: string }): void {
    const x = Math.round((mark.time - view.from) * (view.width / (view.to - view.from)));
    if (x < 0 || x > view.width) return;
    context.fillStyle = view.theme.css.acc;
    context.beginPath();
    context.moveTo(x - 4, RULER_HEIGHT - 8);
    context.lineTo(x + 4, RULER_HEIGHT - 8);
    context.lineTo(x, RULER_HEIGHT - 1);
    context.fill();
    if (!mark.name) return;
    const text = safeText(mark.name);
    const size = view.fitter.width(context, text);
    const left = x + size + 10 > view.width ? x - size - 6 : x + 6;
    context.textAlign = "left";
    context.fillStyle = view.theme.css.panel; // over the labels of the ticks
    context.fillRect(left - 2, 2, size + 4, RULER_HEIGHT - 6);
    context.fillStyle = view.theme.css.acc;
    context.fillText(text, left, RULER_HEIGHT / 2);
    context.textAlign = "center";
}

/** The selected span as a dimension line; returns the pixels that it needs for itself. */
function drawDimension(context: CanvasRenderingContext2D, view: RulerView, span: Span): Span | null {
    const { theme, width } = view;
    const scale = width / (view.to - view.from);
    const from = (span.from - view.from) * scale;
    const to = (span.to - view.from) * scale;
    if (to < 0 || from > width) return null;
    const text = duration(span.to - span.from);
    context.font = `600 11px ${theme.font}`;
    const size = view.fitter.width(context, text);
    const seen = (Math.max(from, 0) + Math.min(to, width)) / 2;
    const middle = Math.min(Math.max(seen, size / 2 + 8), width - size / 2 - 8);
    const y = RULER_HEIGHT / 2 + 0.5;
    context.strokeStyle = theme.css.acc;
    context.lineWidth = 1;
    context.beginPath();
    for (const x of [Math.round(from) + 0.5, Math.round(to) - 0.5]) {
        context.moveTo(x, 5);
        context.lineTo(x, RULER_HEIGHT - 5);
    }
    if (to - from > size + 24) {
        context.moveTo(from, y);
        context.lineTo(middle - size / 2 - 6, y);
        context.moveTo(middle + size / 2 + 6, y);
        context.lineTo(to, y);
    }
    context.stroke();
    context.fillStyle = theme.css.acc;
    const aside = to - from <= size + 8 ? Math.min(to + size / 2 + 6, width - size / 2 - 4) : middle;
    context.fillText(text, aside, RULER_HEIGHT / 2);
    context.font = `11px ${theme.font}`;
    return { from: Math.min(from, aside - size / 2) - 34, to: Math.max(to, aside + size / 2) + 34 };
}

/** "step 7 · 48.5 ms"; without the length where it does not fit. */
function flag(context: CanvasRenderingContext2D, view: RulerView, point: Point, room: number): string {
    const whole = flagText(point);
    return view.fitter.width(context, whole) <= room ? whole : view.fitter.fit(context, pointText(point), room);
}

/** The flag or message under a place of the flags' row. */
export function pointAt(view: Span & { width: number }, points: readonly Point[], x: number): Point | null {
    const scale = view.width / (view.to - view.from);
    const time = view.from + x / scale;
    const near = points.find((point) => point.kind === "message" && Math.abs(point.time - time) * scale <= 4);
    if (near) return near;
    let found: Point | null = null;
    for (const point of points) if (point.kind !== "message" && point.time <= time + 1 / scale) found = point;
    return found;
}

export function drawFlags(context: CanvasRenderingContext2D, view: RulerView, points: readonly Point[]): void {
    const { theme, width } = view;
    const scale = width / (view.to - view.from);
    const y = RULER_HEIGHT;
    context.font = `11px ${theme.font}`;
    context.textBaseline = "middle";
    let free = -1e9;
    let diamond = -1e9;
    const flags = points.filter((point) => point.kind !== "message");
    flags.forEach((point, index) => {
        const next = flags[index + 1];
        const x = Math.round((point.time - view.from) * scale);
        const until = next ? (next.time - view.from) * scale : width;
        if (until < 0 || x > width) return;
        context.fillStyle = theme.css.tx3;
        if (x >= 0 && x > free - 60) {
            context.fillRect(x, y + 2, 1, FLAGS_HEIGHT - 3);
            context.beginPath();
            context.moveTo(x + 1, y + 3);
            context.lineTo(x + 8, y + 6);
            context.lineTo(x + 1, y + 9);
            context.fill();
        }
        const left = Math.max(x + 12, 8);
        const room = Math.min(until, width) - left - 6;
        if (left < free || room < 24) return;
        context.fillStyle = theme.css.tx2;
        const text = flag(context, view, point, room);
        context.fillText(text, left, y + FLAGS_HEIGHT / 2);
        if (text) free = left + view.fitter.width(context, text) + 6;
    });
    for (const point of points) {
        if (point.kind !== "message") continue;
        const x = Math.round((point.time - view.from) * scale);
        if (x < 0 || x > width || x - diamond < 6) continue;
        diamond = x;
        context.fillStyle = theme.css.acc;
        context.beginPath();
        context.moveTo(x, y + FLAGS_HEIGHT - 8);
        context.lineTo(x + 3, y + FLAGS_HEIGHT - 5);
        context.lineTo(x, y + FLAGS_HEIGHT - 2);
        context.lineTo(x - 3, y + FLAGS_HEIGHT - 5);
        context.fill();
    }
}

export interface MinimapView {
    width: number;
    height: number;
    end: number;
    window: Span;
    view: Span;
    theme: Theme;
    /** Busy share per pixel. */
    busy: Float32Array | null;
    device: boolean;
    frames: readonly Point[];
    losses: readonly LossInfo[];
    highlight: readonly Span[];
    /** Times of what was searched for. */
    hits: readonly number[];
}

export function drawMinimap(context: CanvasRenderingContext2D, map: MinimapView): void {
    const { theme, width, height } = map;
    const scale = width / map.end;
    const bottom = height - 3;
    const tone = mix(map.device ? theme.rgb.work : theme.rgb.host, theme.rgb.panel, 0.5);
    context.clearRect(0, 0, width, height);
    context.fillStyle = theme.css.panel;
    context.fillRect(0, 0, width, height);
    const from = map.window.from * scale;
    const to = map.window.to * scale;
    if (map.busy) {
        for (let x = 0; x < width; x++) {
            const share = map.busy[Math.min(map.busy.length - 1, Math.floor((x / width) * map.busy.length))] ?? 0;
            if (share <= 0) continue;
            const inside = x >= from && x < to;
            const tall = Math.max(1, Math.round(share * (height - 13)));
            context.fillStyle = css(inside ? tone : mix(tone, theme.rgb.panel, 0.4));
            context.fillRect(x, bottom - tall, 1, tall);
        }
    }
    context.fillStyle = theme.css.gap;
    for (const span of map.highlight) context.fillRect(span.from * scale, bottom - 6, Math.max(1, (span.to - span.from) * scale), 6);
    context.fillStyle = theme.css.acc;
    for (const time of map.hits) context.fillRect(Math.round(time * scale), bottom - 4, 1, 7);
    context.fillStyle = theme.css.tx3;
    const frames = map.frames.length <= width / 6 ? map.frames : [];
    for (const frame of frames) context.fillRect(Math.round(frame.time * scale), bottom, 1, 3);
    context.fillStyle = theme.css.loss;
    for (const loss of map.losses) context.fillRect(loss.from * scale, bottom, Math.max(2, (loss.to - loss.from) * scale), 3);
    drawBrackets(context, map, from, to);
}

function drawBrackets(context: CanvasRenderingContext2D, map: MinimapView, from: number, to: number): void {
    const { theme, width, height } = map;
    const scale = width / map.end;
    context.strokeStyle = theme.css.acc;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(Math.max(1, from), 9);
    context.lineTo(Math.max(1, from), 5);
    context.lineTo(Math.min(width - 1, to), 5);
    context.lineTo(Math.min(width - 1, to), 9);
    context.stroke();
    const left = map.view.from * scale;
    const size = Math.max(3, (map.view.to - map.view.from) * scale);
    context.globalAlpha = 0.12;
    context.fillStyle = theme.css.acc;
    context.fillRect(left, 8, size, height - 10);
    context.globalAlpha = 1;
    context.lineWidth = 1.5;
    context.strokeRect(left + 0.75, 8.75, Math.max(1.5, size - 1.5), height - 11);
}
