// SPDX-License-Identifier: Apache-2.0
// The stage of the timeline: owns the canvases, the tiles and the worker, and draws a frame when something changed.
// While the worker paints, its last picture is moved and stretched to where it belongs: the stage is never blank.
import { effect, signal } from "@preact/signals";
import { getBinary, workerAddress } from "../model/api";
import { current as currentOverlay } from "../model/overlay";
import { decodeRows, FLAG_GAP, firstEndingAfter, type Section } from "../model/rows";
import * as state from "../model/state";
import { matcher } from "../model/text";
import { levelFor } from "../model/tiles";
import type { Item, Span } from "../model/url";
import { boxAt, drawEstimate } from "./estimate";
import { TextFitter, drawLabels, type LabelRow } from "./labels";
import { layOut, nodesBetween, PADDING, PINNED_SHARE, RUN_HEIGHT, type Layout, type Node, type OverlayLane, type Row } from "./layout";
import { drawLosses, drawOverlay, drawRowBacks, drawTint } from "./overlay";
import { namesAbove } from "./narrow";
import { Plots } from "./plots";
import type { DrawOrder, DrawRow, FromWorker, ToWorker } from "./protocol";
import { paintRows } from "./raster";
import { drawFlags, drawMinimap, drawRuler, FLAGS_HEIGHT, RULER_HEIGHT, ticks } from "./ruler";
import { specification, TileStore } from "./store";
import { buildPalette, readTheme, type Theme } from "./theme";
import { busyWords, compact, firstDepth, heights, trackFilter } from "./tracks";

const OVERSCAN_X = 0.25;
const OVERSCAN_Y = 160;
/** Columns of the map of the whole trace, and tracks in one question about it. */
const MAP_CELLS = 1024;
const MAP_TRACKS = 200;

interface Picture {
    bitmap: ImageBitmap | HTMLCanvasElement;
    scale: number;
    origin: number;
    top: number;
    ratio: number;
    /** Height of the tracks that stay at the top, which are the upper part of the picture. */
    pinned: number;
}

/** What is under the pointer, or selected. */
export interface Hit {
    node: Node;
    row: Row;
    section: Section;
    index: number;
    start: number;
    end: number;
    zones: number;
    flags: number;
    name: number;
}

export interface Frame {
    context: CanvasRenderingContext2D;
    theme: Theme;
    view: Span;
    scale: number;
    width: number;
    height: number;
    scrollY: number;
    nodes: readonly Node[];
    /** Of the tracks that stay at the top, or of those that scroll. */
    pinned: boolean;
}

export class Stage {
    readonly fitter = new TextFitter();
    readonly scrollY = signal(0);
    readonly pinnedScroll = signal(0);
    readonly layout = signal<Layout>({ nodes: [], height: 0, pinned: [], pinnedHeight: 0, inside: new Map() });
    readonly hover = signal<{ hit: Hit | null; box: number; x: number; y: number } | null>(null);
    /** A range that is being dragged. */
    readonly draft = signal<Span | null>(null);
    readonly size = signal({ width: 1, height: 1 });
    theme: Theme = readTheme();
    private ratio = 1;
    private readonly worker = new Worker(workerAddress());
    private store: TileStore;
    private readonly plots: Plots;
    private picture: Picture | null = null;
    private readonly sent = new Map<number, Omit<Picture, "bitmap">>();
    private sequence = 0;
    private scheduled = 0;
    private stale = true;
    private busy: Float32Array | null = null;
    private mapSequence = 0;
    private readonly stops: (() => void)[] = [];

    constructor(
        private readonly canvas: HTMLCanvasElement,
        private readonly ruler: HTMLCanvasElement,
        private readonly minimap: HTMLCanvasElement,
    ) {
        this.store = this.makeStore();
        this.plots = new Plots(() => this.redraw());
        this.worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.accept(data);
        this.worker.onerror = (event) => (state.notice.value = `The timeline cannot be drawn: ${event.message}`);
        this.readTheme();
        this.stops.push(effect(() => {
            const info = state.drawn.value;
            if (!info) return;
            this.store.grow(Math.max(1, info.duration_ns));
            this.layout.value = layOut(info, {
                folds: state.folds.value, deep: state.deep.value, hidden: state.hidden.value, pins: state.pins.value,
                order: state.order.value, filter: matcher(trackFilter.value), room: this.size.value.height, firstDepth: firstDepth.value,
                busy: busyWords(info), overlay: overlayLane(), compact: compact.value, heights: heights.value,
                above: namesAbove.value, all: trackFilter.value !== "",
            });
            this.refresh();
        }));
        this.stops.push(effect(() => {
            void [state.view.value, this.scrollY.value, this.pinnedScroll.value, state.selection.value];
            this.refresh();
        }));
        this.stops.push(effect(() => {
            void [state.window_.value, state.marks.value, this.draft.value, this.hover.value, state.points.data.value,
                state.gaps.data.value, state.opRuns.data.value, state.hoverName.value, detail.value, state.hits.value];
            this.redraw();
        }));
        this.stops.push(effect(() => {
            void state.names.value.version.value;
            this.tell({ type: "styles", styles: state.names.value.styles.slice() });
            this.refresh();
        }));
        this.stops.push(effect(() => {
            void state.theme.value;
            requestAnimationFrame(() => this.readTheme());
        }));
        const dark = matchMedia("(prefers-color-scheme: dark)");
        const changed = () => this.readTheme();
        dark.addEventListener("change", changed);
        this.stops.push(() => dark.removeEventListener("change", changed));
        this.stops.push(effect(() => {
            void state.trace.value?.duration_ns;
            void this.loadMinimap();
        }));
    }

    destroy(): void {
        for (const stop of this.stops) stop();
        cancelAnimationFrame(this.scheduled);
        this.worker.terminate();
        this.forgetPicture();
    }

    get width(): number {
        return this.size.peek().width;
    }

    get height(): number {
        return this.size.peek().height;
    }

    get scale(): number {
        const { from, to } = state.view.peek();
        return this.width / (to - from);
    }

    /** Everything in the trace is computed, not measured. */
    get isEstimate(): boolean {
        return state.overview.data.value?.kind === "estimate";
    }

    /** Height of the tracks that stay at the top. */
    get pinnedArea(): number {
        return Math.min(this.layout.peek().pinnedHeight, Math.floor(this.height * PINNED_SHARE));
    }

    /** Where a node begins on the canvas. */
    screenY(node: Node): number {
        return node.pinned ? node.y - this.pinnedScroll.peek() : node.y - this.scrollY.peek() + this.pinnedArea;
    }

    timeAt(x: number): number {
        return state.view.peek().from + x / this.scale;
    }

    resize(width: number, height: number): void {
        this.ratio = Math.min(4, Math.max(1, devicePixelRatio));
        this.size.value = { width: Math.max(1, width), height: Math.max(1, height) };
        const fit = (canvas: HTMLCanvasElement, w: number, h: number) => {
            canvas.width = Math.round(w * this.ratio);
            canvas.height = Math.round(h * this.ratio);
            canvas.style.width = `${w}px`;
            canvas.style.height = `${h}px`;
            const context = canvas.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
            context.fillStyle = this.theme.css.panel; // a canvas is black after its size was set
            context.fillRect(0, 0, canvas.width, canvas.height);
        };
        fit(this.canvas, this.width, this.height);
        fit(this.ruler, this.width, RULER_HEIGHT + FLAGS_HEIGHT);
        fit(this.minimap, this.width, 34);
        this.scrollTo(this.scrollY.peek());
        this.refresh();
        this.draw(); // at once, or the stage would be blank for a frame
    }

    scrollTo(y: number): void {
        const most = Math.max(0, this.layout.peek().height - (this.height - this.pinnedArea) + 8);
        this.scrollY.value = Math.round(Math.min(Math.max(0, y), most));
    }

    scrollPinned(y: number): void {
        this.pinnedScroll.value = Math.round(Math.min(Math.max(0, y), this.layout.peek().pinnedHeight - this.pinnedArea));
    }

    /** New data or another view: the worker has to paint again. */
    refresh(): void {
        this.stale = true;
        this.redraw();
    }

    redraw(): void {
        this.scheduled ||= requestAnimationFrame(() => {
            this.scheduled = 0;
            this.draw();
        });
    }

    private makeStore(): TileStore {
        return new TileStore(state.traceIndex.peek(), state.whole.peek().to, state.names.peek(),
            (message, transfer) => this.tell(message, transfer), () => this.refresh());
    }

    private tell(message: ToWorker, transfer: Transferable[] = []): void {
        this.worker.postMessage(message, transfer);
    }

    readTheme(): void {
        this.theme = readTheme();
        this.tell({ type: "palette", palette: buildPalette(this.theme) });
        this.refresh();
    }

    private accept({ sequence, bitmap }: FromWorker): void {
        const order = this.sent.get(sequence);
        for (const key of [...this.sent.keys()]) if (key <= sequence) this.sent.delete(key);
        if (!this.sent.size) delete this.canvas.dataset["drawing"];
        if (!order) return bitmap.close();
        this.forgetPicture();
        this.picture = { ...order, bitmap };
        this.redraw();
    }

    private forgetPicture(): void {
        if (this.picture && "close" in this.picture.bitmap) this.picture.bitmap.close();
        this.picture = null;
    }

    /** Draws everything at once in the colours that the page has now: for paper, which waits for no worker. */
    paintNow(): void {
        this.readTheme();
        const made = this.drawOrder();
        if (!made || !(made.order.width > 0 && made.order.height > 0)) return;
        const { order } = made;
        const pixels = new Uint32Array(order.width * order.height);
        const rows = order.rows.map((row) => ({
            ...row, parts: row.parts.map((part) => ({
                from: part.from, to: part.to,
                sections: row.keys.map((key) => this.store.section(part.tile, key)).filter((found): found is Section => !!found),
            })),
        }));
        paintRows({ ...order, pixels, palette: buildPalette(this.theme), styles: state.names.peek().styles }, rows);
        const bitmap = document.createElement("canvas");
        bitmap.width = order.width;
        bitmap.height = order.height;
        bitmap.getContext("2d")?.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), order.width, order.height), 0, 0);
        this.forgetPicture();
        this.picture = { ...made.place, bitmap };
        this.stale = false;
        this.draw();
    }

    private async loadMinimap(): Promise<void> {
        const info = state.trace.peek();
        if (!info) return;
        const devices = info.tracks.filter((track) => track.runs > 0);
        const chosen = devices.length ? devices : info.tracks.filter((track) => track.depths > 0);
        const rows: Row[] = chosen.map((track) => ({
            track: track.id, runs: track.runs > 0, depth: 0, key: "", y: 0, height: 0, gaps: false,
        }));
        const end = state.whole.peek().to;
        const busy = new Float32Array(MAP_CELLS);
        const mine = ++this.mapSequence;
        for (let first = 0; first < rows.length; first += MAP_TRACKS) {
            try {
                const buffer = await getBinary(`/t/${state.traceIndex.peek()}/rows`, {
                    from: 0, to: end, px: MAP_CELLS, tracks: specification(rows.slice(first, first + MAP_TRACKS)),
                });
                if (mine !== this.mapSequence) return;
                addBusyShares(busy, decodeRows(buffer), end, devices.length ? 1 : chosen.length);
            } catch {
                return; // the map stays as it is; the stage below says what is wrong
            }
            this.busy = scaledToMost(busy, devices.length > 0);
            this.redraw();
        }
    }

    // ---- a frame

    private frame(pinned: boolean): Frame {
        const context = this.canvas.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
        const area = this.pinnedArea;
        const layout = this.layout.peek();
        const scrollY = pinned ? this.pinnedScroll.peek() : this.scrollY.peek() - area;
        const height = pinned ? area : this.height;
        return {
            context, theme: this.theme, view: state.view.peek(), scale: this.scale, width: this.width, height, scrollY, pinned,
            nodes: nodesBetween(pinned ? layout.pinned : layout.nodes, scrollY + (pinned ? 0 : area), scrollY + height),
        };
    }

    private draw(): void {
        if (this.width < 2 || !state.trace.peek()) return;
        if (this.stale) this.order();
        delete this.canvas.dataset["ring"];
        const frame = this.frame(false);
        this.drawPart(frame, this.pinnedArea, this.height);
        if (this.pinnedArea > 0) this.drawPart(this.frame(true), 0, this.pinnedArea);
        this.drawHead(frame);
    }

    /** The tracks that scroll, or those that stay, each between its two heights. */
    private drawPart(frame: Frame, top: number, bottom: number): void {
        const { context } = frame;
        context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
        context.save();
        context.beginPath();
        context.rect(0, top, this.width, bottom - top);
        context.clip();
        context.fillStyle = this.theme.css.panel;
        context.fillRect(0, top, this.width, bottom - top);
        drawRowBacks(frame, ticks(frame.view, this.width).times);
        drawTint(frame, this.draft.peek());
        this.drawPicture(frame);
        this.plots.draw(frame, this.fitter);
        drawLosses(frame, this.fitter);
        drawEstimate(frame, this.fitter);
        drawLabels(context, { ...frame.view, scale: frame.scale, theme: this.theme, names: state.names.peek(), fitter: this.fitter, estimate: this.isEstimate },
            this.labelRows(frame));
        drawOverlay(frame, this);
        if (frame.pinned) {
            context.fillStyle = this.theme.css.line2;
            context.fillRect(0, bottom - 1, this.width, 1);
        }
        context.restore();
    }

    private drawHead(frame: Frame): void {
        const context = this.ruler.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
        const { css } = this.theme;
        context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
        context.fillStyle = css.panel;
        context.fillRect(0, 0, this.width, RULER_HEIGHT + FLAGS_HEIGHT);
        const head = { ...frame, context, height: RULER_HEIGHT + FLAGS_HEIGHT, scrollY: 0, nodes: [], pinned: false };
        drawTint({ ...head, height: head.height }, this.draft.peek(), RULER_HEIGHT);
        context.fillStyle = css.line;
        context.fillRect(0, RULER_HEIGHT - 1, this.width, 1);
        context.fillRect(0, RULER_HEIGHT + FLAGS_HEIGHT - 1, this.width, 1);
        const view = { ...frame.view, width: this.width, theme: this.theme, fitter: this.fitter };
        drawRuler(context, view, this.draft.peek() ?? selectedSpan(), state.marks.peek());
        const points = state.points.data.peek()?.points ?? [];
        drawFlags(context, view, points);
        const map = this.minimap.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
        map.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
        const info = state.trace.peek();
        const part = state.selection.peek();
        const gaps = part?.kind === "part" && part.key.startsWith("idle") ? (state.gaps.data.peek()?.gaps ?? []) : [];
        drawMinimap(map, {
            width: this.width, height: 34, end: state.whole.peek().to, window: state.window_.peek(), view: frame.view,
            theme: this.theme, busy: this.busy, device: (info?.runs ?? 0) > 0,
            frames: points.filter((point) => point.kind === "frame"), losses: info?.losses ?? [],
            highlight: gaps.map((gap) => ({ from: gap.start, to: gap.start + gap.duration })),
            hits: state.hits.peek(),
        });
    }

    private drawPicture({ context, pinned }: Frame): void {
        const picture = this.picture;
        if (!picture) return;
        const scale = this.scale * this.ratio;
        const origin = Math.round(state.view.peek().from * scale);
        const stretch = scale / picture.scale;
        const same = Math.abs(stretch - 1) < 1e-9;
        const x = same ? picture.origin - origin : picture.origin * stretch - origin;
        const y = pinned ? 0 : Math.round((this.pinnedArea + picture.top - this.scrollY.peek()) * this.ratio);
        context.setTransform(1, 0, 0, 1, 0, 0);
        context.imageSmoothingEnabled = false;
        const cut = Math.min(picture.bitmap.height, Math.round(picture.pinned * picture.ratio));
        const [first, rows] = pinned ? [0, cut] : [cut, picture.bitmap.height - cut];
        const wide = same ? picture.bitmap.width : picture.bitmap.width * stretch;
        if (rows > 0) context.drawImage(picture.bitmap, 0, first, picture.bitmap.width, rows, x, y, wide, rows * (this.ratio / picture.ratio));
        context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    }

    private get level(): number {
        return levelFor(1 / (this.scale * this.ratio));
    }

    private order(): void {
        this.stale = false;
        const made = this.drawOrder();
        if (!made) return;
        this.canvas.dataset["drawing"] = ""; // until the worker's picture of this order is here
        this.sent.set(made.order.sequence, made.place);
        this.tell(made.order);
    }

    /** What has to be painted; null: an empty trace. */
    private drawOrder(): { order: DrawOrder; place: Omit<Picture, "bitmap"> } | null {
        const { from, to } = state.view.peek();
        const scrollY = this.scrollY.peek();
        const top = Math.max(0, scrollY - OVERSCAN_Y);
        const bottom = scrollY + this.height + OVERSCAN_Y;
        const pinned = this.pinnedArea;
        const layout = this.layout.peek();
        const nodes = [...layout.pinned, ...nodesBetween(layout.nodes, top, bottom)];
        const rows = nodes.flatMap((node) => (node.kind === "group" ? node.strip : node.rows.filter((row) =>
            node.pinned || (node.y + row.y + row.height > top && node.y + row.y < bottom))));
        this.store.want(this.level, from, to, rows);
        const scale = this.scale * this.ratio;
        const margin = Math.round(this.width * this.ratio * OVERSCAN_X);
        const origin = Math.max(0, Math.round(from * scale) - margin);
        const width = Math.round(this.width * this.ratio) + Math.round(from * scale) - origin + margin;
        if (!Number.isFinite(scale)) return null;
        const span = { from: origin / scale, to: (origin + width) / scale };
        const order: DrawOrder = {
            type: "draw", sequence: ++this.sequence, scale, origin, width, ratio: Math.max(1, Math.round(this.ratio)),
            height: Math.round((pinned + bottom - top) * this.ratio),
            rows: nodes.flatMap((node) => (node.pinned ? this.drawRows(node, span, this.pinnedScroll.peek(), 0, pinned)
                : this.drawRows(node, span, top, pinned, pinned + bottom - top))),
        };
        return { order, place: { scale, origin, top, ratio: this.ratio, pinned } };
    }

    /** The rows of a node between two heights of the picture; `top` is what lies at the first of them. */
    private drawRows(node: Node, span: Span, top: number, first: number, last: number): DrawRow[] {
        const { ratio, level } = this;
        const at = (y: number) => Math.round((first + y - top) * ratio);
        const least = Math.round(first * ratio);
        const limit = Math.round(last * ratio);
        if (node.kind === "group") {
            const y = at(node.y + 7 + node.head);
            if (y < least || y + 6 * ratio > limit || !node.strip.length) return [];
            const parts = this.store.parts(level, span.from, span.to, node.strip[0]?.key ?? "");
            return [{ y, height: Math.round(6 * ratio), kind: node.tone, gaps: false, keys: node.strip.map((row) => row.key), parts }];
        }
        return node.rows.flatMap((row) => {
            const y = at(node.y + row.y);
            const height = at(node.y + row.y + row.height) - y;
            if (y < least || y + height > limit) return [];
            const parts = this.store.parts(level, span.from, span.to, row.key);
            return [{ y, height, kind: this.isEstimate ? "estimate" as const : "rows" as const, gaps: row.gaps, keys: [row.key], parts }];
        });
    }

    private labelRows(frame: Frame): LabelRow[] {
        const found: LabelRow[] = [];
        for (const node of frame.nodes) {
            for (const row of node.rows) {
                const y = node.y + row.y - frame.scrollY;
                if (y + row.height < 0 || y > frame.height) continue;
                for (const { section, from, to } of this.sections(row, frame.view)) {
                    found.push({ section, from, to, y, height: row.height, gaps: row.gaps });
                }
            }
        }
        return found;
    }

    /** What is known of a row in a span, at the best level that is there. */
    sections(row: Row, span: Span): { section: Section; from: number; to: number }[] {
        return this.store.parts(this.level, span.from, span.to, row.key).flatMap((part) => {
            const section = this.store.section(part.tile, row.key);
            return section ? [{ section, from: part.from, to: part.to }] : [];
        });
    }

    // ---- finding

    /** The zone, cell, run or gap at a place of the canvas; a narrow one is six pixels wide to the pointer. */
    hitAt(x: number, y: number): Hit | null {
        const node = this.nodeAt(y);
        const below = node ? y - this.screenY(node) : 0;
        const row = node?.rows.find((one) => below >= one.y && below < one.y + one.height + 2);
        if (!node || !row) return null;
        const time = this.timeAt(x);
        const reach = 3 / this.scale;
        let best: Hit | null = null;
        let distance = reach;
        for (const { section } of this.sections(row, { from: time - reach, to: time + reach })) {
            for (let at = firstEndingAfter(section, time - reach); at < section.count; at++) {
                const start = section.start[at] as number;
                const end = section.end[at] as number;
                if (start > time + reach) break;
                if (!row.gaps && (section.flags[at] as number) & FLAG_GAP) continue;
                const away = Math.max(0, start - time, time - end);
                if (away > distance || (best && away === distance)) continue;
                distance = away;
                best = hitOf(node, row, section, at);
            }
        }
        return best;
    }

    /** The box of an estimate there; -1: none. */
    boxAt(x: number, y: number): number {
        const node = this.nodeAt(y);
        const data = currentOverlay();
        if (node?.kind !== "estimate" || !data) return -1;
        return boxAt(data, Math.floor((y - this.screenY(node) - node.head - PADDING) / RUN_HEIGHT), this.timeAt(x), this.scale);
    }

    nodeAt(y: number): Node | undefined {
        const layout = this.layout.peek();
        const pinned = y < this.pinnedArea;
        const below = pinned ? y + this.pinnedScroll.peek() : y - this.pinnedArea + this.scrollY.peek();
        return nodesBetween(pinned ? layout.pinned : layout.nodes, below, below + 1)[0];
    }

    nodeOf(track: number): Node | undefined {
        const layout = this.layout.peek();
        const is = (node: Node) => node.kind === "track" && node.track === track;
        return layout.pinned.find(is) ?? layout.nodes.find(is);
    }

    rowOf(track: number, runs: boolean, depth: number): { node: Node; row: Row } | null {
        const node = this.nodeOf(track);
        const row = node?.rows.find((one) => one.runs === runs && one.depth === depth);
        return node && row ? { node, row } : null;
    }

    /** Where a place is drawn. Zones of a track that shows them as runs are on the row of these. */
    rowOfItem(item: Item): { node: Node; row: Row } | null {
        switch (item.kind) {
            case "gap": return this.gapRow(item.track);
            case "run": return this.rowOf(item.track, true, item.lane);
            case "zone": return this.rowOf(item.track, false, item.depth) ?? this.rowAt(item.track, (item.start + item.end) / 2);
        }
    }

    /** The row of a track that a run is on at a time, whatever its lane; a zone that stands for it where it has none. */
    rowAt(track: number, time: number): { node: Node; row: Row } | null {
        const node = this.nodeOf(track);
        const at = (row: Row) => this.sections(row, { from: time, to: time + 1 }).some(({ section }) => {
            const index = firstEndingAfter(section, time);
            return index < section.count && (section.start[index] as number) <= time && !((section.flags[index] as number) & FLAG_GAP);
        });
        const row = node?.rows.find((one) => one.runs && at(one)) ?? node?.rows.find(at);
        return node && row ? { node, row } : null;
    }

    /** Where a gap that ends on a track is shown: there, or on the queue of the same device that shows gaps. */
    gapRow(track: number): { node: Node; row: Row } | null {
        const node = this.nodeOf(track);
        const first = node?.rows[0]; // of a CPU, whose ops are on threads
        const own = this.rowOf(track, true, 0) ?? (node && first ? { node, row: first } : null);
        if (!own || own.row.gaps) return own;
        const tracks = state.trace.peek()?.tracks ?? [];
        const parent = tracks.find((one) => one.id === track)?.parent ?? track;
        const layout = this.layout.peek();
        for (const shown of [...layout.pinned, ...layout.nodes]) {
            const row = shown.rows.find((one) => one.runs && one.gaps);
            const other = row && tracks.find((one) => one.id === row.track);
            if (row && other && (other.parent === parent || other.id === parent)) return { node: shown, row };
        }
        return own;
    }

    /** The neighbour of a place on its row: the first single zone or run after it, or the last one before it. */
    neighbour(row: Row, node: Node, time: number, forward: boolean, name: number | null): Hit | null {
        const { from, to } = state.view.peek();
        const reach = (to - from) * 2;
        const span = forward ? { from: time, to: time + reach } : { from: Math.max(0, time - reach), to: time };
        let found: Hit | null = null;
        for (const { section } of this.sections(row, span)) {
            for (let at = firstEndingAfter(section, span.from); at < section.count; at++) {
                const start = section.start[at] as number;
                if (start > span.to) break;
                if (section.zones[at] !== 1 || (section.flags[at] as number) & FLAG_GAP) continue;
                if (name !== null && section.name[at] !== name) continue;
                if (forward ? start <= time : start >= time) continue;
                if (!found || (forward ? start < found.start : start > found.start)) found = hitOf(node, row, section, at);
            }
        }
        return found;
    }

    /** The deepest row of a track that is busy at a time, for the foot of an arrow. */
    deepestAt(track: number, time: number): { node: Node; row: Row } | null {
        const node = this.nodeOf(track);
        let found: { node: Node; row: Row } | null = null;
        for (const row of node?.rows ?? []) {
            for (const { section } of this.sections(row, { from: time, to: time + 1 })) {
                const at = firstEndingAfter(section, time);
                if (at < section.count && (section.start[at] as number) <= time) found = { node: node as Node, row };
            }
        }
        return found ?? (node?.rows[0] ? { node, row: node.rows[0] } : null);
    }

    /** The edge of a zone within a few pixels, for a range that snaps. */
    snap(x: number, y: number): number {
        const hit = this.hitAt(x, y);
        const time = this.timeAt(x);
        if (!hit || hit.zones !== 1) return time;
        const reach = 6 / this.scale;
        const near = [hit.start, hit.end].filter((edge) => Math.abs(edge - time) <= reach);
        return near.sort((a, b) => Math.abs(a - time) - Math.abs(b - time))[0] ?? time;
    }
}

function overlayLane(): OverlayLane | null {
    const data = currentOverlay();
    if (!data || !data.boxes.length) return null;
    const end = Math.max(...data.boxes.map((box) => box.end));
    return { track: data.track, lanes: data.lanes, ns: end - (data.boxes[0]?.start ?? 0), name: data.name };
}

/** Launch of the selected run, once the inspector knows it. */
export const detail = signal<{ track: number; time: number } | null>(null);
export const currentStage = signal<Stage | null>(null);

function hitOf(node: Node, row: Row, section: Section, index: number): Hit {
    return {
        node, row, section, index, start: section.start[index] as number, end: section.end[index] as number,
        zones: section.zones[index] as number, flags: section.flags[index] as number, name: section.name[index] as number,
    };
}

export function selectedSpan(): Span | null {
    const chosen = state.selection.peek();
    if (!chosen) return null;
    if (chosen.kind === "range") return { from: chosen.from, to: chosen.to };
    if (chosen.kind === "estimate") {
        const box = currentOverlay()?.boxes[chosen.index];
        return box ? { from: box.start, to: box.end } : null;
    }
    if (chosen.kind === "zone" || chosen.kind === "run" || chosen.kind === "gap") return { from: chosen.start, to: chosen.end };
    return null;
}

function addBusyShares(shares: Float32Array, sections: readonly Section[], end: number, tracks: number): void {
    const count = shares.length;
    const scale = count / end;
    for (const section of sections) {
        for (let at = 0; at < section.count; at++) {
            if ((section.flags[at] as number) & FLAG_GAP) continue;
            const from = (section.start[at] as number) * scale;
            const to = (section.end[at] as number) * scale;
            for (let x = Math.max(0, Math.floor(from)); x < Math.min(count, to); x++) {
                const part = (Math.min(to, x + 1) - Math.max(from, x)) * (section.busy[at] as number);
                shares[x] = Math.min(1, (shares[x] as number) + part / tracks);
            }
        }
    }
}

/** Of many threads few work at a time: what is busiest fills the map. */
export function scaledToMost(shares: Float32Array, isDevice: boolean): Float32Array {
    const most = isDevice ? 1 : shares.reduce((a, b) => Math.max(a, b), 0);
    return most > 0 ? shares.map((share) => share / most) : shares;
}
