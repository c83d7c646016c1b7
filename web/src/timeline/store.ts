// SPDX-License-Identifier: Apache-2.0
// Tiles of rows: what has been fetched, what is on its way, and what to draw while it is not there yet.
import { getBinary } from "../model/api";
import type { Names } from "../model/names";
import { decodeRows, type Section } from "../model/rows";
import { childTiles, parentTile, tileAt, tilesFor, type Tile } from "../model/tiles";
import type { Row } from "./layout";
import type { DrawPart, ToWorker } from "./protocol";

const RUNNING_MAX = 4;
const CACHED_BYTES_MAX = 96 << 20;
const LEVELS_UP = 12;
const ROWS_PER_REQUEST = 256;

interface CachedTile {
    sections: Map<string, Section>;
    /** Rows that were asked for, with or without an answer. */
    asked: Set<string>;
    bytes: number;
    used: number;
}

interface Job {
    tile: Tile;
    rows: Row[];
    urgent: boolean;
}

export class TileStore {
    private readonly tiles = new Map<string, CachedTile>();
    private readonly running = new Map<string, AbortController>();
    private queue: Job[] = [];
    private bytes = 0;
    private clock = 0;

    constructor(
        private readonly trace: number,
        private end: number,
        private readonly names: Names,
        private readonly tell: (message: ToWorker, transfer?: Transferable[]) => void,
        private readonly changed: () => void,
    ) {}

    /** Asks for the rows in the view at this level, nearest first, then for what a pan or a zoom would show next. */
    want(level: number, from: number, to: number, rows: readonly Row[]): void {
        this.clock++;
        const jobs: Job[] = [];
        const visible = tilesFor(level, from, to, this.end);
        const middle = (from + to) / 2;
        visible.sort((a, b) => Math.abs((a.from + a.to) / 2 - middle) - Math.abs((b.from + b.to) / 2 - middle));
        for (const tile of visible) this.plan(jobs, tile, rows, true);
        const first = Math.min(...visible.map((tile) => tile.index));
        const last = Math.max(...visible.map((tile) => tile.index));
        const near = [tileAt(level, last + 1), tileAt(level, first - 1)];
        for (const tile of visible) near.push(parentTile(tile));
        for (const tile of near) if (tile.index >= 0 && tile.from < this.end) this.plan(jobs, tile, rows, false);
        this.queue = jobs;
        const keep = new Set([...visible, ...near].map((tile) => tile.key));
        for (const [key, controller] of this.running) {
            if (!keep.has(key.slice(0, key.indexOf("|")))) controller.abort();
        }
        this.pump();
    }

    /** The trace has grown: what reached to its old end is out of date, and is drawn until it is replaced. */
    grow(end: number): void {
        const before = this.end;
        if (end === before) return;
        this.end = end;
        for (const [key, cached] of this.tiles) {
            const [level = 0, index = 0] = key.split(":").map(Number);
            if (tileAt(level, index).to >= before) cached.asked.clear();
        }
    }

    section(tile: string, key: string): Section | undefined {
        const cached = this.tiles.get(tile);
        if (cached) cached.used = this.clock;
        return cached?.sections.get(key);
    }

    /** From which tiles a row is drawn: those of the level where they are there, else coarser or finer ones. */
    parts(level: number, from: number, to: number, key: string): DrawPart[] {
        const parts: DrawPart[] = [];
        for (const tile of tilesFor(level, from, to, this.end)) this.substitute(parts, tile, key);
        return parts;
    }

    private has(tile: Tile, key: string): boolean {
        const cached = this.tiles.get(tile.key);
        return !!cached && (cached.asked.has(key) || cached.sections.has(key));
    }

    private substitute(parts: DrawPart[], tile: Tile, key: string): void {
        let up: Tile = tile;
        for (let levels = 0; levels <= LEVELS_UP; levels++, up = parentTile(up)) {
            if (this.has(up, key)) {
                parts.push({ tile: up.key, from: tile.from, to: tile.to });
                return;
            }
            if (levels === 0) {
                const children = childTiles(tile).filter((child) => this.has(child, key));
                if (children.length === 2) {
                    for (const child of children) parts.push({ tile: child.key, from: child.from, to: child.to });
                    return;
                }
            }
        }
    }

    private plan(jobs: Job[], tile: Tile, rows: readonly Row[], urgent: boolean): void {
        const cached = this.tiles.get(tile.key);
        const missing = rows.filter((row) => !cached?.asked.has(row.key) && !this.isRunning(tile, row));
        for (let at = 0; at < missing.length; at += ROWS_PER_REQUEST) {
            jobs.push({ tile, rows: missing.slice(at, at + ROWS_PER_REQUEST), urgent });
        }
    }

    private readonly inFlight = new Map<string, Set<string>>();

    private isRunning(tile: Tile, row: Row): boolean {
        return this.inFlight.get(tile.key)?.has(row.key) ?? false;
    }

    private pump(): void {
        while (this.running.size < RUNNING_MAX && this.queue.length) {
            const job = this.queue.shift() as Job;
            if (!job.urgent && this.running.size >= RUNNING_MAX / 2) {
                this.queue.unshift(job);
                return;
            }
            void this.run(job);
        }
    }

    private async run(job: Job): Promise<void> {
        const controller = new AbortController();
        const key = `${job.tile.key}|${job.rows[0]?.key}`;
        const flying = this.inFlight.get(job.tile.key) ?? new Set<string>();
        for (const row of job.rows) flying.add(row.key);
        this.inFlight.set(job.tile.key, flying);
        this.running.set(key, controller);
        try {
            const buffer = await getBinary(`/t/${this.trace}/rows`, {
                from: job.tile.from, to: job.tile.to, px: 1024, tracks: specification(job.rows),
            }, controller.signal);
            this.accept(job, buffer);
        } catch (error) {
            // Aborted or lost: the next call of want() asks again. An answer that cannot be read is a fault.
            if (error instanceof RangeError || (error instanceof Error && error.message.startsWith("rows:"))) throw error;
        } finally {
            this.running.delete(key);
            for (const row of job.rows) flying.delete(row.key);
            this.pump();
        }
    }

    private accept(job: Job, buffer: ArrayBuffer): void {
        const sections = decodeRows(buffer);
        const cached = this.tiles.get(job.tile.key) ??
            { sections: new Map<string, Section>(), asked: new Set<string>(), bytes: 0, used: 0 };
        const unknown = new Set<number>();
        for (const section of sections) {
            cached.sections.set(section.key, section);
            cached.asked.add(section.key);
            for (const id of this.names.unknownIn(section.name)) unknown.add(id);
        }
        for (const row of job.rows) cached.asked.add(row.key);
        cached.bytes += buffer.byteLength;
        cached.used = this.clock;
        this.bytes += buffer.byteLength;
        this.tiles.set(job.tile.key, cached);
        const copy = buffer.slice(0);
        this.tell({ type: "tile", tile: job.tile.key, buffer: copy }, [copy]);
        if (unknown.size) void this.names.need(unknown);
        this.evict();
        this.changed();
    }

    private evict(): void {
        if (this.bytes <= CACHED_BYTES_MAX) return;
        const oldest = [...this.tiles.entries()].sort((a, b) => a[1].used - b[1].used);
        const dropped: string[] = [];
        for (const [key, tile] of oldest) {
            if (this.bytes <= CACHED_BYTES_MAX * 0.8 || tile.used >= this.clock - 1) break;
            this.tiles.delete(key);
            this.bytes -= tile.bytes;
            dropped.push(key);
        }
        if (dropped.length) this.tell({ type: "drop", tiles: dropped });
    }
}

/** "7:0-3,9:r": depths of zones as ranges, runs by track. */
export function specification(rows: readonly Row[]): string {
    const depths = new Map<number, [number, number]>();
    const runs = new Set<number>();
    for (const row of rows) {
        if (row.runs) {
            runs.add(row.track);
            continue;
        }
        const range = depths.get(row.track);
        if (!range) depths.set(row.track, [row.depth, row.depth]);
        else depths.set(row.track, [Math.min(range[0], row.depth), Math.max(range[1], row.depth)]);
    }
    const zones = [...depths].map(([track, [from, to]]) => `${track}:${from}-${to}`);
    return [...zones, ...[...runs].map((track) => `${track}:r`)].join(",");
}
