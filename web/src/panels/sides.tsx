// SPDX-License-Identifier: Apache-2.0
// Two timelines one above the other on the same scale. A drag on one makes what it covers the window of that trace.
import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import * as model from "../model/compare";
import { duration, tickLabel, tickStep } from "../model/format";
import type { Names } from "../model/names";
import { firstEndingAfter } from "../model/rows";
import * as state from "../model/state";
import { fileName, safeText } from "../model/text";
import { levelFor } from "../model/tiles";
import type { TraceInfo } from "../model/types";
import type { Span } from "../model/url";
import { drawLabels, TextFitter, type LabelRow } from "../timeline/labels";
import { layOut, type Row } from "../timeline/layout";
import { paintRows, type RasterRow } from "../timeline/raster";
import { TileStore } from "../timeline/store";
import { buildPalette, readTheme } from "../timeline/theme";

const HEIGHT_MAX = 112;
const DRAG_LEAST_PX = 4;
const OUTLINES_MAX = 2000;
const SPAN_LEAST_NS = 4;

interface Lane {
    label: string;
    y: number;
    height: number;
    rows: Row[];
}

/** Px that the label of a tick needs at its right. */
const LABEL_WIDTH = 56;

/** The first tracks that hold something, as many as there is room for. */
function lanesOf(info: TraceInfo): { lanes: Lane[]; left: number; height: number } {
    const { nodes } = layOut(info, {
        folds: new Set(), deep: new Set(), hidden: new Set(), pins: [], order: [], filter: () => true, room: 0, firstDepth: new Map(), busy: new Map(),
    });
    const full = nodes.filter((node) => node.rows.length > 0);
    const lanes: Lane[] = [];
    let y = 0;
    for (const node of full) {
        const rows = node.rows.filter((row) => y + row.y + row.height <= HEIGHT_MAX).map((row) => ({ ...row, y: y + row.y }));
        const last = rows[rows.length - 1];
        if (!last) break;
        const height = last.y + last.height + 3 - y;
        lanes.push({ label: node.label, y, height, rows });
        y += height;
    }
    return { lanes, left: full.length - lanes.length, height: Math.max(y, 24) };
}

interface Picture {
    width: number;
    height: number;
    /** In the time of the trace. */
    view: Span;
    window: Span;
    draft: Span | null;
    chosen: number | undefined;
    estimate: boolean;
}

class Painter {
    private readonly fitter = new TextFitter();
    private readonly store: TileStore;

    constructor(trace: number, private readonly end: number, private readonly names: Names, changed: () => void) {
        this.store = new TileStore(trace, end, names, () => undefined, changed);
    }

    draw(canvas: HTMLCanvasElement, rows: readonly Row[], picture: Picture): void {
        const ratio = Math.max(1, Math.round(devicePixelRatio));
        const { width, height, view, estimate } = picture;
        canvas.width = width * ratio;
        canvas.height = height * ratio;
        const pen = canvas.getContext("2d");
        if (!pen || width < 2) return;
        const theme = readTheme();
        const scale = width / (view.to - view.from);
        const inside = { from: Math.max(0, view.from), to: Math.min(this.end, view.to) };
        const labels: LabelRow[] = [];
        if (inside.to > inside.from) {
            const level = levelFor(1 / scale);
            this.store.want(level, inside.from, inside.to, rows);
            const drawn = rows.map((row): RasterRow => ({
                y: row.y * ratio, height: row.height * ratio, kind: estimate ? "estimate" : "rows", gaps: row.gaps,
                parts: this.store.parts(level, inside.from, inside.to, row.key).map((part) => {
                    const section = this.store.section(part.tile, row.key);
                    if (section) labels.push({ section, from: part.from, to: part.to, y: row.y, height: row.height, gaps: row.gaps });
                    return { sections: section ? [section] : [], from: part.from, to: part.to };
                }),
            }));
            const pixels = new Uint32Array(canvas.width * canvas.height);
            paintRows({
                width: canvas.width, height: canvas.height, scale: scale * ratio, origin: Math.round(view.from * scale * ratio), ratio, pixels,
                palette: buildPalette(theme), styles: this.names.styles,
            }, drawn);
            pen.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), canvas.width, canvas.height), 0, 0);
        }
        pen.scale(ratio, ratio);
        drawLabels(pen, { from: view.from, to: view.to, scale, theme, names: this.names, fitter: this.fitter, estimate }, labels);
        pen.strokeStyle = theme.css.acc;
        if (picture.chosen !== undefined) outline(pen, labels, picture, picture.chosen, scale);
        const x = (time: number) => (time - view.from) * scale;
        const shade = (from: number, to: number) => {
            if (to > from) pen.fillRect(x(from), 0, (to - from) * scale, height);
        };
        pen.globalAlpha = 0.72;
        pen.fillStyle = theme.css.bg;
        shade(view.from, Math.min(view.to, picture.window.from));
        shade(Math.max(view.from, picture.window.to), view.to);
        pen.globalAlpha = 0.3;
        pen.fillStyle = theme.css.acc;
        if (picture.draft) shade(picture.draft.from, picture.draft.to);
        pen.globalAlpha = 1;
    }
}

/** A line around each zone of the name that is selected. */
function outline(pen: CanvasRenderingContext2D, rows: readonly LabelRow[], { view }: Picture, name: number, scale: number): void {
    let drawn = 0;
    for (const { section, from, to, y, height } of rows) {
        const end = Math.min(to, view.to);
        for (let at = firstEndingAfter(section, Math.max(from, view.from)); at < section.count && drawn < OUTLINES_MAX; at++) {
            const start = section.start[at] as number;
            if (start >= end) break;
            if (section.name[at] !== name) continue;
            pen.strokeRect((start - view.from) * scale + 0.5, y + 0.5, Math.max(1, ((section.end[at] as number) - start) * scale - 1), height - 1);
            drawn++;
        }
    }
}

function chosenName(): string | null {
    const chosen = state.selection.value;
    const row = chosen?.kind === "diff" ? model.current()?.diff?.rows.find((one) => model.rowKeyOf(one) === chosen.key) : undefined;
    return row?.name ?? null;
}

function SideTimeline({ side, data, info, names, view }: { side: model.Side; data: model.Comparison; info: TraceInfo; names: Names; view: Span }) {
    const canvas = useRef<HTMLCanvasElement>(null);
    const plot = useRef<HTMLDivElement>(null);
    const width = useSignal(600);
    const version = useSignal(0);
    const draft = useSignal<Span | null>(null);
    const estimate = data[side].overview.kind === "estimate";
    const { lanes, left, height } = useMemo(() => lanesOf(info), [info]);
    const painter = useMemo(() => new Painter(data[side].id, Math.max(1, info.duration_ns), names, () => version.value++), [names, info.duration_ns, data[side].id]);
    const window = side === "a" ? state.windowA : state.windowB;
    const origin = model.origins(data, state.align.value)[side];
    const mine = { from: view.from + origin, to: view.to + origin };
    const chosen = chosenName();
    useEffect(() => {
        const element = plot.current;
        if (!element) return;
        const watcher = new ResizeObserver(() => (width.value = element.clientWidth));
        watcher.observe(element);
        return () => watcher.disconnect();
    }, []);
    void [version.value, names.version.value, state.theme.value];
    useEffect(() => {
        const frame = requestAnimationFrame(() => canvas.current && painter.draw(canvas.current, lanes.flatMap((lane) => lane.rows), {
            width: width.value, height, view: mine, window: data[side], draft: draft.value, chosen: chosen === null ? undefined : names.idOf(chosen), estimate,
        }));
        return () => cancelAnimationFrame(frame);
    });
    const timeAt = (event: PointerEvent) => mine.from + (event.offsetX / width.value) * (mine.to - mine.from);
    const release = () => {
        const range = draft.value;
        draft.value = null;
        if (!range || ((range.to - range.from) / (mine.to - mine.from)) * width.value < DRAG_LEAST_PX) return;
        const from = Math.max(0, Math.round(range.from));
        const to = Math.min(info.duration_ns, Math.round(range.to));
        if (to > from) window.value = { from, to };
    };
    const began = useRef(0);
    return (
        <div class="side-row">
            <div class="side-heads">
                <div class="side-name el"><b>{side.toUpperCase()}</b> {fileName(info.name)}</div>
                <div class="side-lanes" style={{ height: `${height}px` }}>
                    {lanes.map((lane) => <div key={lane.y} class="el" style={{ top: `${lane.y}px` }}>{lane.label}</div>)}
                </div>
                {left > 0 && <div class="t3 el">and {left} more {left === 1 ? "track" : "tracks"}</div>}
            </div>
            <div class="side-plot" ref={plot} data-side={side}
                onPointerDown={(event) => {
                    event.currentTarget.setPointerCapture(event.pointerId);
                    began.current = timeAt(event);
                }}
                onPointerMove={(event) => {
                    if (event.buttons !== 1) return;
                    const now = timeAt(event);
                    draft.value = { from: Math.min(began.current, now), to: Math.max(began.current, now) };
                }}
                onPointerUp={release} onPointerCancel={() => (draft.value = null)}>
                <div class="side-name t3 el">{safeText(data[side].overview.sentence.map((part) => part.text).join(""))}</div>
                <canvas ref={canvas} aria-hidden="true" style={{ width: `${width.value}px`, height: `${height}px` }} />
            </div>
        </div>
    );
}

function Ruler({ view, width }: { view: Span; width: Signal<number> }) {
    const element = useRef<HTMLDivElement>(null);
    useEffect(() => {
        const inside = element.current;
        if (!inside) return;
        const watcher = new ResizeObserver(() => (width.value = inside.clientWidth));
        watcher.observe(inside);
        return () => watcher.disconnect();
    }, []);
    const length = view.to - view.from;
    const step = tickStep((length * 96) / Math.max(96, width.value));
    const ticks: number[] = [];
    const last = view.to - (length * LABEL_WIDTH) / Math.max(LABEL_WIDTH, width.value);
    for (let time = Math.ceil(view.from / step) * step; time <= last && ticks.length < 100; time += step) ticks.push(time);
    const largest = Math.max(Math.abs(view.from), Math.abs(view.to));
    return (
        <div class="side-ruler" ref={element} aria-hidden="true">
            {ticks.map((time) => <span key={time} style={{ left: `${((time - view.from) / length) * 100}%` }}>{time === 0 ? "0" : tickLabel(time, step, largest).replace("-", "\u2212")}</span>)}
        </div>
    );
}

function setSpan(whole: Span, from: number, length: number): void {
    const size = Math.min(Math.max(length, SPAN_LEAST_NS), whole.to - whole.from);
    const start = Math.min(Math.max(from, whole.from), whole.to - size);
    model.span.value = size >= whole.to - whole.from ? null : { from: start, to: start + size };
}

export function SideTimelines({ data }: { data: model.Comparison }) {
    const element = useRef<HTMLElement>(null);
    const width = useSignal(600);
    const whole = model.wholeSpan(data, state.align.value);
    const view = model.span.value ?? whole;
    const zoom = (at: number, factor: number) => {
        const length = (view.to - view.from) * factor;
        setSpan(whole, at - ((at - view.from) / (view.to - view.from)) * length, length);
    };
    const act = useRef({ zoom, view, whole });
    act.current = { zoom, view, whole };
    useEffect(() => {
        const onWheel = (event: WheelEvent) => {
            const now = act.current;
            const plot = element.current?.querySelector(".side-ruler")?.getBoundingClientRect();
            if (!plot || event.clientX < plot.left) return;
            const length = now.view.to - now.view.from;
            if (event.ctrlKey || event.metaKey) now.zoom(now.view.from + ((event.clientX - plot.left) / plot.width) * length, Math.exp(event.deltaY * 0.002));
            else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) setSpan(now.whole, now.view.from + ((event.deltaX || event.deltaY) / plot.width) * length, length);
            else return;
            event.preventDefault();
        };
        const listening = element.current;
        listening?.addEventListener("wheel", onWheel, { passive: false });
        return () => listening?.removeEventListener("wheel", onWheel);
    }, []);
    const onKeyDown = (event: KeyboardEvent) => {
        const [length, middle] = [view.to - view.from, (view.from + view.to) / 2];
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        if (event.code === "KeyW") zoom(middle, 0.8);
        else if (event.code === "KeyS") zoom(middle, 1.25);
        else if (event.code === "KeyA") setSpan(whole, view.from - length * 0.15, length);
        else if (event.code === "KeyD") setSpan(whole, view.from + length * 0.15, length);
        else if (event.key === "0" || event.key === "Home") model.span.value = null;
        else return;
        event.preventDefault();
    };
    const infoA = state.trace.value;
    const infoB = model.otherInfo.data.value;
    return (
        <section class="sides" aria-label="Both timelines. A drag makes a window of that trace; W and S zoom, A and D pan, 0 shows all." tabIndex={0}
            data-region ref={element} onKeyDown={onKeyDown}>
            <div class="side-row">
                <div class="side-heads t3 el">{state.align.value === "start" ? "since start" : `since ${safeText(state.align.value.replace(/^\w+:/, ""))}`}, {duration(view.to - view.from)}</div>
                <Ruler view={view} width={width} />
            </div>
            {infoA && <SideTimeline key={`a${data.a.id}`} side="a" data={data} info={infoA} names={state.names.value} view={view} />}
            {infoB && infoB.id === data.b.id && <SideTimeline key={`b${data.b.id}`} side="b" data={data} info={infoB} names={model.otherNames(data.b.id)} view={view} />}
        </section>
    );
}
