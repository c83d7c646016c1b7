// SPDX-License-Identifier: Apache-2.0
// The worker: keeps the tiles and paints pictures of them.
import { decodeRows, type Section } from "../model/rows";
import type { DrawOrder, FromWorker, ToWorker } from "./protocol";
import { paintRows, type Palette, type RasterRow } from "./raster";

interface Worker {
    onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
    postMessage(message: FromWorker, transfer: Transferable[]): void;
}

const scope = self as unknown as Worker;
const tiles = new Map<string, Map<string, Section>>();
let styles = new Uint8Array(0);
let palette: Palette | null = null;
let pending: DrawOrder | null = null;
let drawing = false;

function rowsOf(order: DrawOrder): RasterRow[] {
    return order.rows.map((row) => ({
        y: row.y,
        height: row.height,
        kind: row.kind,
        gaps: row.gaps,
        parts: row.parts.map((part) => {
            const tile = tiles.get(part.tile);
            const sections = row.keys.map((key) => tile?.get(key)).filter((found): found is Section => !!found);
            return { sections, from: part.from, to: part.to };
        }),
    }));
}

/** Draws the newest order; those that came in between are skipped. */
async function draw(): Promise<void> {
    drawing = true;
    while (pending && palette) {
        const order: DrawOrder = pending;
        pending = null;
        if (!(order.width > 0 && order.height > 0)) continue;
        const pixels = new Uint32Array(order.width * order.height);
        paintRows({ ...order, pixels, palette, styles }, rowsOf(order));
        const image = new ImageData(new Uint8ClampedArray(pixels.buffer), order.width, order.height);
        const bitmap = await createImageBitmap(image);
        scope.postMessage({ sequence: order.sequence, bitmap }, [bitmap]);
    }
    drawing = false;
}

scope.onmessage = ({ data }) => {
    switch (data.type) {
        case "tile": {
            const tile = tiles.get(data.tile) ?? new Map<string, Section>();
            for (const section of decodeRows(data.buffer)) tile.set(section.key, section);
            tiles.set(data.tile, tile);
            break;
        }
        case "drop":
            for (const tile of data.tiles) tiles.delete(tile);
            break;
        case "styles":
            styles = data.styles as Uint8Array<ArrayBuffer>;
            break;
        case "palette":
            palette = data.palette;
            break;
        case "draw":
            pending = data;
            break;
    }
    if (!drawing && pending && palette) void draw();
};
