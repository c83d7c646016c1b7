// SPDX-License-Identifier: Apache-2.0
// Text on zones: measured once per text and font, cut at its end, never shorter than four characters.
import { duration } from "../model/format";
import type { Names } from "../model/names";
import { WRAPPER_SELF_RATIO } from "../model/styles";
import { FLAG_ESTIMATED, FLAG_GAP, FLAG_OPEN, FLAG_SUMMARY, FLAG_WAIT, firstEndingAfter, type Section } from "../model/rows";
import { shortName } from "../model/text";
import { labelColour, type Theme } from "./theme";

const LABEL_WIDTH_MIN = 30;
const LABEL_HEIGHT_MIN = 12;
const LABELS_MAX = 400;
const DURATION_ROOM = 70;
const GAP_LABEL_WIDTH = 110;
const INSET = 5;

export class TextFitter {
    private readonly widths = new Map<string, number>();
    private readonly fits = new Map<string, string>();

    width(context: CanvasRenderingContext2D, text: string): number {
        const key = context.font + text;
        let found = this.widths.get(key);
        if (found === undefined) {
            found = context.measureText(text).width;
            if (this.widths.size > 20000) this.widths.clear();
            this.widths.set(key, found);
        }
        return found;
    }

    /** The text, or its beginning with "…", or "" when fewer than four characters would be left. */
    fit(context: CanvasRenderingContext2D, text: string, room: number): string {
        if (this.width(context, text) <= room) return text;
        const key = `${context.font}${Math.floor(room)}\u0000${text}`;
        const found = this.fits.get(key);
        if (found !== undefined) return found;
        let low = 0;
        let high = text.length;
        while (low < high) {
            const middle = (low + high + 1) >> 1;
            if (context.measureText(`${text.slice(0, middle)}…`).width <= room) low = middle;
            else high = middle - 1;
        }
        const cut = low >= 4 ? `${text.slice(0, low)}…` : "";
        if (this.fits.size > 20000) this.fits.clear();
        this.fits.set(key, cut);
        return cut;
    }
}

export interface LabelRow {
    section: Section;
    from: number;
    to: number;
    y: number;
    height: number;
    gaps: boolean;
}

export interface LabelView {
    from: number;
    to: number;
    /** CSS pixels per ns. */
    scale: number;
    theme: Theme;
    names: Names;
    fitter: TextFitter;
    /** All zones are hollow. */
    estimate: boolean;
}

function drawGapLabel(context: CanvasRenderingContext2D, view: LabelView, row: LabelRow, x: number, width: number,
    text: string): void {
    const { theme } = view;
    context.font = `600 11px ${theme.font}`;
    const size = view.fitter.width(context, text);
    if (size + 14 > width) return;
    context.fillStyle = theme.css.gapbg;
    context.fillRect(x + width / 2 - size / 2 - 5, row.y + 1, size + 10, row.height - 2);
    context.fillStyle = theme.css.gaptx;
    context.fillText(text, x + width / 2 - size / 2, row.y + row.height / 2 + 0.5);
}

function drawLabel(context: CanvasRenderingContext2D, view: LabelView, row: LabelRow, at: number): boolean {
    const { section } = row;
    const start = section.start[at] as number;
    const end = section.end[at] as number;
    const flags = section.flags[at] as number;
    const x = Math.max(0, Math.round((start - view.from) * view.scale));
    const width = Math.min((end - view.from) * view.scale, (view.to - view.from) * view.scale) - x - 1;
    if (flags & FLAG_GAP) {
        if (width >= GAP_LABEL_WIDTH) drawGapLabel(context, view, row, x, width, `idle ${duration(end - start)}`);
        return true;
    }
    const name = view.names.get(section.name[at] as number);
    if (!name || width < LABEL_WIDTH_MIN) return false;
    context.font = `11px ${view.theme.font}`;
    let text = view.fitter.fit(context, shortName(name.text), width - 2 * INSET);
    if (!text) return false;
    const size = view.fitter.width(context, text);
    const wait = name.wait || (flags & FLAG_WAIT) !== 0;
    const pale = name.selfRatio < WRAPPER_SELF_RATIO;
    const suffix = flags & FLAG_OPEN ? "not ended" : duration(end - start);
    const room = width - 2 * INSET - size;
    const middle = row.y + row.height / 2 + 0.5;
    if (wait) {
        context.fillStyle = view.theme.css.idle;
        context.fillRect(x + INSET - 2, row.y + 1, size + 4, row.height - 2);
    }
    const plain = wait || view.estimate || (flags & (FLAG_ESTIMATED | FLAG_OPEN)) !== 0;
    context.fillStyle = plain ? view.theme.css.tx2 : labelColour(view.theme, name.colour, pale);
    if (flags & FLAG_OPEN && !view.theme.dark && !wait) context.fillStyle = labelColour(view.theme, name.colour, true);
    if (room >= DURATION_ROOM && !wait) {
        context.globalAlpha = 0.75;
        context.fillText(suffix, x + INSET + size + 8, middle);
        context.globalAlpha = 1;
    }
    context.fillText(text, x + INSET, middle);
    return true;
}

/** Draws the labels of some rows; at most LABELS_MAX in all, returns how many. */
export function drawLabels(context: CanvasRenderingContext2D, view: LabelView, rows: readonly LabelRow[]): number {
    let drawn = 0;
    const least = LABEL_WIDTH_MIN / view.scale;
    context.textBaseline = "middle";
    for (const row of rows) {
        if (row.height < LABEL_HEIGHT_MIN) continue;
        const { section } = row;
        const from = Math.max(row.from, view.from);
        const to = Math.min(row.to, view.to);
        for (let at = firstEndingAfter(section, from); at < section.count && drawn < LABELS_MAX; at++) {
            const start = section.start[at] as number;
            if (start >= to) break;
            const end = section.end[at] as number;
            if (end - start < least || Math.max(start, view.from) < row.from) continue;
            const flags = section.flags[at] as number;
            if (flags & FLAG_GAP ? !row.gaps : section.zones[at] !== 1 || flags & FLAG_SUMMARY) continue;
            if (drawLabel(context, view, row, at)) drawn++;
        }
    }
    return drawn;
}
