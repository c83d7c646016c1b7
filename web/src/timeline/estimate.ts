// SPDX-License-Identifier: Apache-2.0
// The lane of an estimate above what was measured: hollow boxes, drawn on the main thread, since they are few.
import { duration } from "../model/format";
import { current, type Overlay } from "../model/overlay";
import { shortName } from "../model/text";
import type { TextFitter } from "./labels";
import { PADDING, RUN_HEIGHT } from "./layout";
import type { Frame } from "./stage";

const LABEL_WIDTH_MIN = 30;
const DURATION_ROOM = 70;
const INSET = 5;
const HIT_REACH = 3;

export interface Rectangle {
    x: number;
    y: number;
    width: number;
    height: number;
}

/** `top`: where its lane begins on the canvas. */
export function boxRectangle(frame: Pick<Frame, "view" | "scale">, top: number, box: Overlay["boxes"][number]): Rectangle {
    const x = Math.round((box.start - frame.view.from) * frame.scale);
    const right = Math.round((box.end - frame.view.from) * frame.scale);
    return { x, y: top + PADDING + box.lane * RUN_HEIGHT, width: Math.max(1, right - x - 1), height: RUN_HEIGHT - 2 };
}

function drawBox(frame: Frame, fitter: TextFitter, at: Rectangle, box: Overlay["boxes"][number]): void {
    const { context, theme } = frame;
    if (at.width < 3) {
        context.globalAlpha = 0.5;
        context.fillStyle = theme.css.est;
        context.fillRect(at.x, at.y, at.width, at.height);
        context.globalAlpha = 1;
        return;
    }
    context.fillStyle = theme.css.panel;
    context.fillRect(at.x, at.y, at.width, at.height);
    context.setLineDash([4, 2]);
    context.strokeStyle = theme.css.est;
    context.lineWidth = 1.5;
    context.strokeRect(at.x + 0.75, at.y + 0.75, at.width - 1.5, at.height - 1.5);
    context.setLineDash([]);
    const left = Math.max(0, at.x);
    const room = Math.min(frame.width, at.x + at.width) - left - 2 * INSET;
    if (room < LABEL_WIDTH_MIN) return;
    context.font = `11px ${theme.font}`;
    const text = fitter.fit(context, shortName(box.name), room);
    if (!text) return;
    const size = fitter.width(context, text);
    context.fillStyle = theme.css.tx2;
    context.textBaseline = "middle";
    context.fillText(text, left + INSET, at.y + at.height / 2 + 0.5);
    if (room - size >= DURATION_ROOM) {
        context.globalAlpha = 0.75;
        context.fillText(duration(box.end - box.start), left + INSET + size + 8, at.y + at.height / 2 + 0.5);
        context.globalAlpha = 1;
    }
}

export function drawEstimate(frame: Frame, fitter: TextFitter): void {
    const data = current();
    const node = frame.nodes.find((one) => one.kind === "estimate");
    if (!data || !node) return;
    for (const box of data.boxes) {
        if (box.start > frame.view.to) break;
        if (box.end >= frame.view.from) drawBox(frame, fitter, boxRectangle(frame, node.y + node.head - frame.scrollY, box), box);
    }
}

/** The box at a place of the lane, in the time of the trace; -1: none. */
export function boxAt(data: Overlay, lane: number, time: number, scale: number): number {
    const reach = HIT_REACH / scale;
    let best = -1;
    let distance = reach;
    for (let index = 0; index < data.boxes.length; index++) {
        const box = data.boxes[index] as Overlay["boxes"][number];
        if (box.start > time + reach) break;
        const away = Math.max(0, box.start - time, time - box.end);
        if (box.lane !== lane || away > distance || (best >= 0 && away === distance)) continue;
        best = index;
        distance = away;
    }
    return best;
}
