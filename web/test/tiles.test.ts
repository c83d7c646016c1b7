// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { childTiles, levelFor, parentTile, TILE_CELLS, tileAt, tilesFor } from "../src/model/tiles";

test("cells are at most one pixel and more than half of one", () => {
    for (let nsPerPixel = 1; nsPerPixel < 1e12; nsPerPixel *= 1.7) {
        const cell = 2 ** levelFor(nsPerPixel);
        assert.ok(cell <= nsPerPixel * (1 + 1e-8) && cell > nsPerPixel / 2 - 1e-6, String(nsPerPixel));
    }
    assert.equal(levelFor(0.1), 0);
});

test("tiles cover the view and nothing else", () => {
    const tiles = tilesFor(4, 10_000, 60_000, 1e9);
    assert.ok((tiles[0]?.from ?? Infinity) <= 10_000 && (tiles[tiles.length - 1]?.to ?? 0) >= 60_000);
    assert.ok((tiles[0]?.to ?? 0) > 10_000 && (tiles[tiles.length - 1]?.from ?? Infinity) < 60_000);
    tiles.forEach((tile, index) => {
        assert.equal(tile.to - tile.from, 16 * TILE_CELLS);
        assert.equal(tile.from, (tiles[index - 1]?.to) ?? tile.from);
    });
    assert.equal(tilesFor(10, 0, 1e15, 5_000_000).at(-1)?.to, 5 * 1024 * 1024);
    assert.equal(tilesFor(3, 0, 0, 0).length, 1);
});

test("a coarser tile contains the finer ones", () => {
    const tile = tileAt(7, 5);
    assert.deepEqual(childTiles(tile).map(parentTile), [tile, tile]);
    assert.deepEqual(childTiles(tileAt(0, 3)), []);
});
