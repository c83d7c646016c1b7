// SPDX-License-Identifier: Apache-2.0
// Paints rows of the timeline into a pixel buffer. No canvas in sight: it runs in a worker and in unit tests.
//
// A pixel column belongs to the absolute position round(time * scale), so that moving the view by whole pixels moves
// the picture and changes nothing else. What is narrower than two pixels is summed per column and painted in four
// strengths by the share of the column that is covered.
import { densityStep } from "../model/colour";
import { STYLE_PALE, STYLE_UNKNOWN, STYLE_WAIT } from "../model/styles";
import {
    FLAG_ESTIMATED, FLAG_GAP, FLAG_OPEN, FLAG_SUMMARY, FLAG_WAIT, firstEndingAfter, type Section,
} from "../model/rows";

/** Pixels of the palette; indices of `fills`, `edges` and `open` are colour + 10 if pale. */
export interface Palette {
    fills: Uint32Array;
    edges: Uint32Array;
    open: Uint32Array;
    /** Four strengths for each fill, then the waits, the strips of devices, of hosts, names not known yet, estimates. */
    steps: Uint32Array;
    gap: number;
    gapBack: number;
    wait: number;
    waitBack: number;
    estimate: number;
    unknown: number;
    panel: number;
    /** Forced colours: outlines and patterns, no fills. */
    outline: number | null;
}

export const STEPS_WAIT = 20 * 4;
export const STEPS_DEVICE = 21 * 4;
export const STEPS_HOST = 22 * 4;
export const STEPS_UNKNOWN = 23 * 4;
export const STEPS_ESTIMATE = 24 * 4;
export const STEP_COLOURS = 25 * 4;

export interface RasterPart {
    sections: readonly Section[];
    /** The part of the row that these sections are for, in ns. */
    from: number;
    to: number;
}

export interface RasterRow {
    y: number;
    height: number;
    kind: "rows" | "estimate" | "device" | "host";
    /** Gaps are painted, too. */
    gaps: boolean;
    parts: readonly RasterPart[];
}

export interface Raster {
    width: number;
    height: number;
    /** Pixels per ns, and the absolute pixel of the first column. */
    scale: number;
    origin: number;
    /** Device pixels per CSS pixel, a whole number. */
    ratio: number;
    pixels: Uint32Array;
    palette: Palette;
    styles: Uint8Array;
}

interface Columns {
    covered: Float32Array;
    strongest: Float32Array;
    style: Uint8Array;
}

function styleOf(raster: Raster, section: Section, index: number): number {
    const style = raster.styles[section.name[index] as number] ?? STYLE_UNKNOWN;
    if (style === STYLE_UNKNOWN) return style;
    return (section.flags[index] as number) & FLAG_WAIT ? style | STYLE_WAIT : style;
}

function fillIndex(style: number): number {
    return (style & 15) + (style & STYLE_PALE ? 10 : 0);
}

function addToColumns(raster: Raster, columns: Columns, from: number, to: number, busy: number, style: number): void {
    const first = Math.max(0, Math.floor(from));
    const last = Math.min(raster.width - 1, Math.ceil(to) - 1);
    for (let x = first; x <= last; x++) {
        const part = (Math.min(to, x + 1) - Math.max(from, x)) * busy;
        columns.covered[x] = (columns.covered[x] as number) + part;
        if (part > (columns.strongest[x] as number)) {
            columns.strongest[x] = part;
            columns.style[x] = style;
        }
    }
}

function paintColumns(raster: Raster, row: RasterRow, columns: Columns): void {
    const { pixels, width, palette } = raster;
    for (let x = 0; x < width; x++) {
        const covered = columns.covered[x] as number;
        if (covered <= 0) continue;
        const style = columns.style[x] as number;
        let base = fillIndex(style) * 4;
        if (row.kind === "estimate") base = STEPS_ESTIMATE;
        else if (row.kind !== "rows") base = row.kind === "device" ? STEPS_DEVICE : STEPS_HOST;
        else if (style === STYLE_UNKNOWN) base = STEPS_UNKNOWN;
        else if (style & STYLE_WAIT) base = STEPS_WAIT;
        const colour = palette.steps[base + densityStep(covered)] as number;
        for (let y = row.y, end = row.y + row.height; y < end; y++) pixels[y * width + x] = colour;
        columns.covered[x] = 0;
        columns.strongest[x] = 0;
    }
}

interface Box {
    /** Unclipped and clipped columns. */
    left: number;
    right: number;
    from: number;
    to: number;
    y: number;
    height: number;
}

function fillBox(raster: Raster, box: Box, colour: number): void {
    for (let y = box.y; y < box.y + box.height; y++) {
        raster.pixels.fill(colour, y * raster.width + box.from, y * raster.width + box.to);
    }
}

function frameBox(raster: Raster, box: Box, colour: number, dashed: boolean): void {
    const { pixels, width, ratio } = raster;
    for (let y = box.y; y < box.y + box.height; y++) {
        const inner = y >= box.y + ratio && y < box.y + box.height - ratio;
        for (let x = box.from; x < box.to; x++) {
            if (inner && x >= box.left + ratio && x < box.right - ratio) continue;
            const along = Math.floor((inner ? y - box.y : x - box.left) / ratio);
            if (dashed && along % 7 >= 4) continue;
            pixels[y * width + x] = colour;
        }
    }
}

/** Calls `paint` where the pattern is on. Patterns hang on the zone's own left edge, so that they move with it. */
function patternBox(raster: Raster, box: Box, colour: number, on: (x: number, y: number) => boolean): void {
    const { pixels, width, ratio } = raster;
    for (let y = box.y; y < box.y + box.height; y++) {
        const patternY = Math.floor((y - box.y) / ratio);
        for (let x = box.from; x < box.to; x++) {
            if (on(Math.floor((x - box.left) / ratio), patternY)) pixels[y * width + x] = colour;
        }
    }
}

export const hatch = (x: number, y: number): boolean => (((x + y) % 6) + 6) % 6 < 2;
export const dots = (x: number, y: number): boolean => x % 5 === 2 && y % 5 === 2;
export const crossed = (x: number, y: number): boolean =>
    (((x + y) % 6) + 6) % 6 === 0 || (((x - y) % 6) + 6) % 6 === 0;

/** The right edge of a zone that did not end: a zig-zag four pixels deep. */
function tear(raster: Raster, box: Box): void {
    const { pixels, width, ratio } = raster;
    for (let y = box.y; y < box.y + box.height; y++) {
        const phase = Math.floor((y - box.y) / ratio) % 8;
        const cut = (phase < 4 ? phase : 8 - phase) * ratio;
        for (let x = Math.max(box.from, box.right - cut); x < box.to; x++) pixels[y * width + x] = 0;
    }
}

function paintSpecial(raster: Raster, box: Box, flags: number): boolean {
    const { palette } = raster;
    if (flags & FLAG_GAP) {
        fillBox(raster, box, palette.gapBack);
        patternBox(raster, box, palette.gap, hatch);
        return true;
    }
    if (flags & FLAG_ESTIMATED) {
        fillBox(raster, box, palette.panel);
        frameBox(raster, box, palette.estimate, true);
        return true;
    }
    return false;
}

function paintBox(raster: Raster, box: Box, style: number, flags: number): void {
    const { palette, ratio } = raster;
    if (box.to <= box.from || paintSpecial(raster, box, flags)) return;
    if (palette.outline !== null) {
        fillBox(raster, box, palette.panel);
        frameBox(raster, box, palette.outline, false);
    }
    if (style !== STYLE_UNKNOWN && style & STYLE_WAIT) {
        if (palette.outline === null) fillBox(raster, box, palette.waitBack);
        patternBox(raster, box, palette.wait, dots);
    } else if (palette.outline === null) {
        const open = flags & FLAG_OPEN;
        const index = fillIndex(style);
        const unknown = style === STYLE_UNKNOWN;
        fillBox(raster, box, unknown ? palette.unknown : ((open ? palette.open : palette.fills)[index] as number));
        if (box.right - box.left >= 4 * ratio && !unknown) {
            const edge = { ...box, y: box.y + box.height - ratio, height: ratio };
            fillBox(raster, edge, palette.edges[index] as number);
        }
    }
    if (flags & FLAG_OPEN) tear(raster, box);
}

function paintSection(raster: Raster, row: RasterRow, part: RasterPart, section: Section, columns: Columns): void {
    const { scale, origin, ratio, width } = raster;
    const clipFrom = Math.max(0, Math.round(part.from * scale) - origin);
    const clipTo = Math.min(width, Math.round(part.to * scale) - origin);
    if (clipTo <= clipFrom) return;
    const begin = Math.max(part.from, origin / scale);
    const end = Math.min(part.to, (origin + width) / scale);
    const wide = 2 * ratio;
    for (let at = firstEndingAfter(section, begin); at < section.count; at++) {
        const start = section.start[at] as number;
        if (start >= end) break;
        const stop = section.end[at] as number;
        const flags = (section.flags[at] as number) | (row.kind === "estimate" ? FLAG_ESTIMATED : 0);
        if (flags & FLAG_GAP && !row.gaps) continue;
        const single = section.zones[at] === 1 && !(flags & FLAG_SUMMARY);
        if ((row.kind === "rows" || row.kind === "estimate") && (single || flags & FLAG_GAP) && (stop - start) * scale >= wide) {
            const left = Math.round(start * scale) - origin;
            let right = Math.round(stop * scale) - origin;
            const apart = right - left >= 4 * ratio && !(flags & FLAG_GAP) ? ratio : 0;
            right -= apart;
            const box = { left, right, from: Math.max(left, clipFrom), to: Math.min(right, clipTo) };
            paintBox(raster, { ...box, y: row.y, height: row.height }, styleOf(raster, section, at), flags);
        } else if (!(flags & FLAG_GAP)) {
            const from = Math.max(start * scale - origin, clipFrom);
            const to = Math.min(stop * scale - origin, clipTo);
            addToColumns(raster, columns, from, to, single ? 1 : (section.busy[at] as number), styleOf(raster, section, at));
        }
    }
}

export function paintRows(raster: Raster, rows: readonly RasterRow[]): void {
    const columns: Columns = {
        covered: new Float32Array(raster.width),
        strongest: new Float32Array(raster.width),
        style: new Uint8Array(raster.width),
    };
    for (const row of rows) {
        for (const part of row.parts) {
            for (const section of part.sections) paintSection(raster, row, part, section, columns);
        }
        paintColumns(raster, row, columns);
    }
}
