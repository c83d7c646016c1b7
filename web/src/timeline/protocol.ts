// SPDX-License-Identifier: Apache-2.0
// What the page and its worker say to each other.
import type { Palette } from "./raster";

export interface DrawPart {
    /** Tile from which the rows are taken. */
    tile: string;
    from: number;
    to: number;
}

export interface DrawRow {
    y: number;
    height: number;
    /** Zones or runs, the same of an estimate, or a strip that says how busy a group is. */
    kind: "rows" | "estimate" | "device" | "host";
    gaps: boolean;
    keys: string[];
    parts: DrawPart[];
}

export interface DrawOrder {
    type: "draw";
    sequence: number;
    width: number;
    height: number;
    scale: number;
    origin: number;
    ratio: number;
    rows: DrawRow[];
}

export type ToWorker =
    | DrawOrder
    | { type: "tile"; tile: string; buffer: ArrayBuffer }
    | { type: "drop"; tiles: string[] }
    | { type: "styles"; styles: Uint8Array }
    | { type: "palette"; palette: Palette };

export interface FromWorker {
    sequence: number;
    bitmap: ImageBitmap;
}
