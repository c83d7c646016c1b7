// SPDX-License-Identifier: Apache-2.0
// Tiles of time. Level k has cells of 2^k ns and tiles of TILE_CELLS cells, at multiples of their own length from
// the start of the trace, so that what is drawn does not depend on where the view begins.

export const TILE_CELLS = 1024;
export const LEVEL_MAX = 52;

export interface Tile {
    level: number;
    index: number;
    from: number;
    to: number;
    key: string;
}

/** The level whose cells are at most one pixel wide. */
export function levelFor(nsPerPixel: number): number {
    if (!(nsPerPixel >= 1)) return 0;
    return Math.min(LEVEL_MAX, Math.floor(Math.log2(nsPerPixel) + 1e-9));
}

export function tileSpan(level: number): number {
    return Math.pow(2, level) * TILE_CELLS;
}

export function tileAt(level: number, index: number): Tile {
    const span = tileSpan(level);
    return { level, index, from: index * span, to: (index + 1) * span, key: `${level}:${index}` };
}

/** The tiles that cover [from, to) of a trace that is `end` ns long. */
export function tilesFor(level: number, from: number, to: number, end: number): Tile[] {
    const span = tileSpan(level);
    const first = Math.max(0, Math.floor(from / span));
    const last = Math.max(first, Math.ceil(Math.min(to, Math.max(end, 1)) / span) - 1);
    const tiles: Tile[] = [];
    for (let index = first; index <= last; index++) tiles.push(tileAt(level, index));
    return tiles;
}

/** The tile of the next coarser level that contains this one. */
export function parentTile(tile: Tile): Tile {
    return tileAt(tile.level + 1, Math.floor(tile.index / 2));
}

export function childTiles(tile: Tile): Tile[] {
    if (tile.level === 0) return [];
    return [tileAt(tile.level - 1, tile.index * 2), tileAt(tile.level - 1, tile.index * 2 + 1)];
}
