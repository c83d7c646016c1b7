// SPDX-License-Identifier: Apache-2.0
// What lies under and over the zones: grid, tints, losses, selection, marks, arrows, hairline.
import { duration, plural } from "../model/format";
import { runName } from "../model/opcolour";
import { boxOfRun, current as currentOverlay, isRun, type MeasuredRun, type RunPlace } from "../model/overlay";
import { gapsOfPart } from "../model/gaps";
import { firstEndingAfter } from "../model/rows";
import { itemOf } from "../model/place";
import * as state from "../model/state";
import type { Item, Span } from "../model/url";
import { boxRectangle } from "./estimate";
import type { TextFitter } from "./labels";
import type { Node, Row } from "./layout";
import { crossed } from "./raster";
import { detail, selectedSpan, type Frame, type Stage } from "./stage";

const OUTLINED_MAX = 400;
const SELECTED_WIDTH_MIN = 3;

export function drawRowBacks(frame: Frame, times: readonly number[]): void {
    const { context, theme, scrollY, width, height } = frame;
    for (const node of frame.nodes) {
        if (node.kind !== "group") continue;
        context.fillStyle = theme.css.bg;
        context.fillRect(0, node.y - scrollY, width, node.height);
    }
    context.fillStyle = theme.css.grid;
    for (const time of times) {
        const x = Math.round((time - frame.view.from) * frame.scale);
        context.fillRect(x, 0, 1, height);
    }
    context.fillStyle = theme.css.line;
    for (const node of frame.nodes) context.fillRect(0, node.y + node.height - 1 - scrollY, width, 1);
    for (const node of frame.nodes) if (node.scroll) drawOwnScroll(frame, node, node.scroll);
}

/** How far a track that scrolls by itself is scrolled. */
function drawOwnScroll(frame: Frame, node: Node, { first, shown, all }: { first: number; shown: number; all: number }): void {
    const { context, theme, width } = frame;
    const room = node.height - 4;
    const size = Math.max(12, (shown / all) * room);
    const y = node.y - frame.scrollY + 2 + (first / Math.max(1, all - shown)) * (room - size);
    context.fillStyle = theme.css.line2;
    context.fillRect(width - 5, y, 3, size);
}

function isWarm(): boolean {
    return state.selection.peek()?.kind === "gap";
}

export function drawTint(frame: Frame, draft: Span | null, top = 0): void {
    const { context, theme } = frame;
    const chosen = state.selection.peek();
    const spans: Span[] = draft ? [draft] : [];
    const selected = selectedSpan();
    if (!draft && selected && (chosen?.kind === "gap" || chosen?.kind === "range")) spans.push(selected);
    if (chosen?.kind === "range" && draft) spans.push(chosen);
    if (chosen?.kind === "range" && chosen.other && !draft) spans.push(chosen.other);
    for (const span of spans) {
        const from = (span.from - frame.view.from) * frame.scale;
        context.globalAlpha = isWarm() && !draft ? 0.07 : 0.09;
        context.fillStyle = isWarm() && !draft ? theme.css.gap : theme.css.acc;
        context.fillRect(from, top, (span.to - span.from) * frame.scale, frame.height - top);
        context.globalAlpha = 1;
        dashedEdges(frame, span, top, isWarm() && !draft ? theme.css.gap : theme.css.acc);
    }
}

function dashedEdges(frame: Frame, span: Span, top: number, colour: string): void {
    const { context } = frame;
    context.strokeStyle = colour;
    context.lineWidth = 1;
    context.setLineDash([3, 3]);
    context.beginPath();
    for (const time of [span.from, span.to]) {
        const x = Math.round((time - frame.view.from) * frame.scale) + 0.5;
        context.moveTo(x, top);
        context.lineTo(x, frame.height);
    }
    context.stroke();
    context.setLineDash([]);
}

const patterns = new Map<string, CanvasPattern>();

function lossPattern(context: CanvasRenderingContext2D, colour: string): CanvasPattern | string {
    const found = patterns.get(colour);
    if (found) return found;
    const small = document.createElement("canvas");
    small.width = 6;
    small.height = 6;
    const pen = small.getContext("2d") as CanvasRenderingContext2D;
    pen.fillStyle = colour;
    for (let y = 0; y < 6; y++) for (let x = 0; x < 6; x++) if (crossed(x, y)) pen.fillRect(x, y, 1, 1);
    const pattern = context.createPattern(small, "repeat");
    if (!pattern) return colour;
    patterns.set(colour, pattern);
    return pattern;
}

export function drawLosses(frame: Frame, fitter: TextFitter): void {
    for (const node of frame.nodes) {
        let right = -Infinity; // what is drawn already: of many losses in one place, one box
        for (const loss of node.losses) {
            if (loss.to < frame.view.from || loss.from > frame.view.to) continue;
            const from = Math.max(-2, Math.round((loss.from - frame.view.from) * frame.scale));
            const to = Math.min(frame.width + 2, Math.max(from + 3, Math.round((loss.to - frame.view.from) * frame.scale)));
            if (to <= right) continue;
            right = to;
            drawLoss(frame, fitter, node, { from, to }, loss.zones || loss.records);
        }
    }
}

/** Crossed hatch over the whole height of the node; the span is in px. */
function drawLoss(frame: Frame, fitter: TextFitter, node: Node, span: Span, count: number): void {
    const { context, theme } = frame;
    const x = span.from;
    const width = span.to - span.from;
    const y = node.y - frame.scrollY + 2;
    const height = node.height - 5;
    context.globalAlpha = 0.6; // what was recorded in that time is seen through it
    context.fillStyle = theme.css.lossbg;
    context.fillRect(x, y, width, height);
    context.globalAlpha = 0.5;
    context.fillStyle = lossPattern(context, theme.css.loss);
    context.fillRect(x, y, width, height);
    context.globalAlpha = 1;
    context.strokeStyle = theme.css.loss;
    context.lineWidth = 1;
    context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
    const text = `${plural(count, "lost", "lost")}`;
    context.font = `600 11px ${theme.font}`;
    const size = fitter.width(context, text);
    if (width < size + 14) return;
    context.fillStyle = theme.css.lossbg;
    context.fillRect(x + width / 2 - size / 2 - 4, y + height / 2 - 9, size + 8, 18);
    context.fillStyle = theme.css.loss;
    context.textBaseline = "middle";
    context.fillText(text, x + width / 2 - size / 2, y + height / 2 + 0.5);
}

function ring(frame: Frame, node: Node, row: Row, span: Span, lineWidth: number): void {
    const { context, theme } = frame;
    const x = Math.round((span.from - frame.view.from) * frame.scale);
    const right = Math.round((span.to - frame.view.from) * frame.scale);
    const left = Math.max(-4, x);
    const width = Math.max(SELECTED_WIDTH_MIN, Math.min(frame.width + 4, right) - left - 1);
    if (right < -2 || x > frame.width + 2) return;
    const y = node.y + row.y - frame.scrollY;
    context.strokeStyle = theme.css.acc;
    context.lineWidth = lineWidth;
    const out = lineWidth / 2;
    context.strokeRect(left - out, y - out, width + 2 * out, row.height + 2 * out);
    if (lineWidth === 2) (context.canvas as HTMLCanvasElement).dataset["ring"] = [left, y, width, row.height].join(" "); // for who checks it
    if (lineWidth < 2 || right - x > 8) return;
    context.fillStyle = theme.css.acc;
    context.beginPath();
    context.moveTo(left + width / 2 - 4, y - 6);
    context.lineTo(left + width / 2 + 4, y - 6);
    context.lineTo(left + width / 2, y - 2);
    context.fill();
}

function outlineSameName(frame: Frame, stage: Stage, name: number): void {
    let left = OUTLINED_MAX;
    for (const node of frame.nodes) {
        for (const row of node.rows) {
            for (const { section, from, to } of stage.sections(row, frame.view)) {
                for (let at = firstEndingAfter(section, Math.max(from, frame.view.from)); at < section.count; at++) {
                    const start = section.start[at] as number;
                    if (start > Math.min(to, frame.view.to) || left <= 0) break;
                    if (section.name[at] !== name || section.zones[at] !== 1) continue;
                    const end = section.end[at] as number;
                    if ((end - start) * frame.scale < 3) continue;
                    left--;
                    ring(frame, node, row, { from: start, to: end }, 1);
                }
            }
        }
    }
}

/** Runs of the op that is selected in the table or on the roofline. */
function outlineRuns(frame: Frame, stage: Stage): void {
    let left = OUTLINED_MAX;
    for (const run of state.opRuns.data.peek()?.runs ?? []) {
        const item = itemOf(run);
        if (!item || item.start > frame.view.to || item.end < frame.view.from || (item.end - item.start) * frame.scale < 2) continue;
        const place = stage.rowOfItem(item);
        if (!place || place.node.pinned !== frame.pinned || left-- <= 0) continue;
        ring(frame, place.node, place.row, { from: item.start, to: item.end }, 1);
    }
}

/** From a point to the nearer edge of a row, at a time. */
function drawArrow(frame: Frame, stage: Stage, x1: number, y1: number, to: { node: Node; row: Row }, time: number): void {
    const { context, theme } = frame;
    const x2 = (time - frame.view.from) * frame.scale;
    const target = stage.screenY(to.node) + to.row.y;
    const up = y1 > target;
    const y2 = target + (up ? to.row.height + 1 : -1);
    const bend = Math.min(46, Math.abs(y1 - y2) / 2) * (up ? -1 : 1);
    context.strokeStyle = theme.css.acc;
    context.fillStyle = theme.css.acc;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(x1, y1);
    context.bezierCurveTo(x1, y1 + bend, x2, y2 - bend, x2, y2 + (up ? 5 : -5));
    context.stroke();
    context.beginPath();
    context.moveTo(x2, y2);
    context.lineTo(x2 - 4, y2 + (up ? 7 : -7));
    context.lineTo(x2 + 4, y2 + (up ? 7 : -7));
    context.fill();
    context.beginPath();
    context.arc(x1, y1, 3, 0, 7);
    context.fill();
}

/** From the call that launched a run, once the inspector knows it. */
function drawLaunch(frame: Frame, stage: Stage, to: { node: Node; row: Row }, time: number): void {
    const from = detail.peek();
    const source = from && stage.deepestAt(from.track, from.time);
    if (!source) return;
    drawArrow(frame, stage, (from.time - frame.view.from) * frame.scale, stage.screenY(source.node) + source.row.y + source.row.height / 2, to, time);
}

/** From a box of the estimate to runs that it foretells. */
function drawForetold(frame: Frame, stage: Stage, index: number, runs: readonly MeasuredRun[], isSelected: boolean): void {
    const box = currentOverlay()?.boxes[index];
    const node = stage.layout.peek().nodes.find((one) => one.kind === "estimate");
    if (!box || !node) return;
    const at = boxRectangle(frame, stage.screenY(node) + node.head, box);
    if (isSelected && !frame.pinned) {
        frame.context.strokeStyle = frame.theme.css.acc;
        frame.context.lineWidth = 2;
        frame.context.strokeRect(at.x - 1, at.y - 1, Math.max(SELECTED_WIDTH_MIN, at.width) + 2, at.height + 2);
    }
    for (const run of runs) {
        if (run.start > frame.view.to || run.end < frame.view.from) continue;
        const place = stage.rowOf(run.track, run.lane !== null, run.lane ?? 0);
        const middle = (Math.max(run.start, frame.view.from) + Math.min(run.end, frame.view.to)) / 2;
        const first = place?.node.rows[0]; // zones that repeat the runs stand above them
        if (place && first) drawArrow(frame, stage, at.x + at.width / 2, at.y + at.height, run.lane ? place : { node: place.node, row: first }, middle);
    }
}

/** From the box that foretells a run to that run. */
function drawEstimated(frame: Frame, stage: Stage, run: RunPlace): void {
    const data = currentOverlay();
    const index = data ? boxOfRun(data, run) : -1;
    const pair = data?.boxes[index]?.pair;
    if (!data || typeof pair !== "number") return;
    drawForetold(frame, stage, index, (data.pairs[pair]?.runs ?? []).filter((one) => isRun(one, run)), false);
}

/** Every item of a selection of several. */
function drawSet(frame: Frame, stage: Stage, items: readonly Item[]): void {
    for (const item of items) {
        const place = stage.rowOfItem(item);
        if (place && place.node.pinned === frame.pinned) ring(frame, place.node, place.row, { from: item.start, to: item.end }, 2);
    }
}

function drawMoment(frame: Frame, time: number): void {
    const x = Math.round((time - frame.view.from) * frame.scale);
    frame.context.fillStyle = frame.theme.css.acc;
    frame.context.fillRect(x - 1, 0, 2, frame.height);
}

function drawSelection(frame: Frame, stage: Stage): void {
    const chosen = state.selection.peek();
    const span = selectedSpan();
    if (chosen?.kind === "set") drawSet(frame, stage, chosen.items);
    if (chosen?.kind === "moment") drawMoment(frame, chosen.time);
    if (!chosen || !span) return;
    if (chosen.kind === "zone" || chosen.kind === "run" || chosen.kind === "gap") {
        const place = stage.rowOfItem(chosen);
        if (!place) return;
        if (place.node.pinned === frame.pinned) ring(frame, place.node, place.row, span, 2);
        if (chosen.kind !== "zone") drawLaunch(frame, stage, place, chosen.kind === "gap" ? span.to : span.from);
        if (chosen.kind === "run") drawEstimated(frame, stage, chosen);
    } else if (chosen.kind === "estimate") {
        const data = currentOverlay();
        const pair = data?.boxes[chosen.index]?.pair;
        drawForetold(frame, stage, chosen.index, typeof pair === "number" ? data?.pairs[pair]?.runs ?? [] : [], true);
    }
}

function drawMarks(frame: Frame): void {
    const { context, theme } = frame;
    for (const mark of state.marks.peek()) {
        const x = Math.round((mark.time - frame.view.from) * frame.scale);
        context.fillStyle = theme.css.acc;
        context.fillRect(x, 0, 1, frame.height);
    }
}

function drawHairline(frame: Frame, stage: Stage): void {
    const hover = stage.hover.peek();
    if (!hover) return;
    const { context, theme } = frame;
    context.fillStyle = theme.css.tx3;
    context.globalAlpha = 0.5;
    context.fillRect(Math.round(hover.x), 0, 1, frame.height);
    context.globalAlpha = 1;
    const text = duration(stage.timeAt(hover.x), 6);
    context.font = `11px ${theme.font}`;
    const size = stage.fitter.width(context, text);
    const x = hover.x + size + 12 > frame.width ? hover.x - size - 8 : hover.x + 6;
    if (hover.hit || frame.pinned) return;
    context.fillStyle = theme.css.panel;
    context.fillRect(x - 2, frame.height - 17, size + 4, 15);
    context.fillStyle = theme.css.tx2;
    context.textBaseline = "middle";
    context.fillText(text, x, frame.height - 9);
}

/** With a class of the partition selected, its intervals are outlined on the device lanes. */
function drawHighlights(frame: Frame, stage: Stage): void {
    const chosen = state.selection.peek();
    if (chosen?.kind !== "part") return;
    for (const gap of gapsOfPart(state.gaps.data.peek()?.gaps ?? [], chosen.key)) {
        if (gap.start > frame.view.to || gap.start + gap.duration < frame.view.from) continue;
        const place = stage.gapRow(gap.track);
        if (place && place.node.pinned === frame.pinned) ring(frame, place.node, place.row, { from: gap.start, to: gap.start + gap.duration }, 1);
    }
}


export function drawOverlay(frame: Frame, stage: Stage): void {
    const chosen = state.selection.peek();
    const runs = chosen?.kind === "op" && (state.opRuns.data.peek()?.runs.length ?? 0) > 0;
    const found = chosen?.kind === "name" ? state.names.peek().idOf(chosen.name) : chosen?.kind === "op" && !runs ? state.names.peek().idOf(runName(state.names.peek(), chosen.name)) : undefined;
    const named = found ?? state.hoverName.peek();
    if (runs) outlineRuns(frame, stage);
    if (named !== null) outlineSameName(frame, stage, named);
    drawHighlights(frame, stage);
    drawSelection(frame, stage);
    drawMarks(frame);
    drawHairline(frame, stage);
}
