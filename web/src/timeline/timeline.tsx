// SPDX-License-Identifier: Apache-2.0
// The timeline as a part of the page: map, ruler, tree of tracks, stage.
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { duration, exactNs, plural } from "../model/format";
import { ask, current } from "../model/overlay";
import { FLAG_GAP, FLAG_OPEN, FLAG_WAIT } from "../model/rows";
import * as state from "../model/state";
import { endOfFrame, momentOf, pointText } from "../model/points";
import { fileName, safeText } from "../model/text";
import { factorText } from "../panels/estimated";
import { mapInput, StageInput } from "./input";
import { namesAbove } from "./narrow";
import { pointAt, RULER_HEIGHT } from "./ruler";
import { currentStage, Stage, type Hit } from "./stage";
import { bringIntoView } from "./reveal";
import { showAll, trackFilter } from "./tracks";
import { HiddenNote, Trees } from "./tree";

const HEAD_WIDTH = { least: 120, most: 420, standard: 208, narrow: 112 };

function keptWidth(): number {
    const kept = Number(localStorage.getItem("opscope.heads"));
    if (kept >= HEAD_WIDTH.least && kept <= HEAD_WIDTH.most) return kept;
    return innerWidth < 600 ? HEAD_WIDTH.narrow : HEAD_WIDTH.standard;
}

/** Brings a place into view when something asked for it, once the stage has its size. */
function useReveal(): void {
    useSignalEffect(() => {
        const wanted = state.reveal.value;
        const stage = currentStage.value;
        if (!wanted || !stage || stage.size.value.width <= 1) return;
        state.reveal.value = null;
        queueMicrotask(() => bringIntoView(stage, wanted));
    });
}

/** One timeline per trace; a trace that grows keeps its own. */
export function Timeline() {
    return <TimelineOf key={state.traceIndex.value} />;
}

function TimelineOf() {
    const canvas = useRef<HTMLCanvasElement>(null);
    const ruler = useRef<HTMLCanvasElement>(null);
    const minimap = useRef<HTMLCanvasElement>(null);
    const plot = useRef<HTMLDivElement>(null);
    const headWidth = useSignal(keptWidth());
    const stage = useSignal<Stage | null>(null);
    useEffect(() => {
        if (!canvas.current || !ruler.current || !minimap.current || !plot.current) return;
        const made = new Stage(canvas.current, ruler.current, minimap.current);
        const element = plot.current;
        new StageInput(made, element);
        mapInput(minimap.current);
        markInput(made, ruler.current);
        const watcher = new ResizeObserver(() => made.resize(element.clientWidth, element.clientHeight));
        watcher.observe(element);
        stage.value = made;
        currentStage.value = made;
        return () => {
            watcher.disconnect();
            made.destroy();
            currentStage.value = null;
        };
    }, []);
    useReveal();
    useSignalEffect(ask);
    const info = state.trace.value;
    const width = { width: `${headWidth.value}px` };
    return (
        <section class={`timeline ${namesAbove.value ? "names-above" : ""}`} aria-label="Timeline" data-region>
            <div class="map-row">
                <div class="head" style={width}>
                    <span class="el">{headWidth.value < 160 ? "Trace" : "Whole trace"}</span>
                    <span class="figure">{headWidth.value < 160 || !info?.duration_ns ? "" : duration(info.duration_ns)}</span>
                </div>
                <canvas ref={minimap} aria-hidden="true" />
            </div>
            <div class="ruler-row">
                <div class="head" style={width}>
                    <span class="since"><span class="fill">{headWidth.value < 160 ? "" : "since start"}</span><ColourMenu /></span>
                    <span class="flags-name"><span class="fill">{flagsName()}</span><HiddenNote /></span>
                </div>
                <canvas ref={ruler} aria-hidden="true" />
            </div>
            <div class="tracks">
                <div class="tree-column" style={width}>{stage.value && <Trees stage={stage.value} />}</div>
                <HeadSeparator width={headWidth} />
                <div ref={plot} class="plot" tabIndex={0} role="group" aria-roledescription="timeline"
                    aria-label="Timeline. Arrow keys move between zones, W and S zoom, A and D pan." data-stage>
                    <canvas ref={canvas} aria-hidden="true" />
                </div>
                {stage.value && <ScrollBar stage={stage.value} />}
                {stage.value && <NoTracks stage={stage.value} />}
                <Hint />
            </div>
            {stage.value && <Tooltip stage={stage.value} />}
        </section>
    );
}

/** By what ops are coloured; zones of the host keep the colour of their name. */
function ColourMenu() {
    if (!state.hasOps(state.trace.value)) return null;
    return (
        <select class="colour-by" aria-label="Colours of ops" title="Colours of ops, here, in the table and on the roofline" value={state.colours.value}
            onChange={(event) => (state.colours.value = event.currentTarget.value as "kind" | "name" | "bound")}>
            <option value="kind">ops by kind</option>
            <option value="name">ops by name</option>
            <option value="bound">ops by bound</option>
        </select>
    );
}

function flagsName(): string {
    const points = state.points.data.value?.points ?? [];
    if (points.some((point) => point.kind === "frame")) return "Steps";
    if (points.some((point) => point.kind === "signpost")) return "Signposts";
    return points.length ? "Messages" : "";
}

function markInput(stage: Stage, element: HTMLElement): void {
    element.addEventListener("click", (event) => {
        if (event.offsetY >= RULER_HEIGHT) return chooseFlag(stage, event);
        const time = Math.round(stage.timeAt(event.offsetX));
        const others = state.marks.peek().filter((mark) => mark.name !== "");
        state.marks.value = [...others, { time, name: "" }];
    });
}

/** A frame becomes the window, with Shift up to it; another flag or a message is selected. */
function chooseFlag(stage: Stage, event: MouseEvent): void {
    const points = state.points.data.peek()?.points ?? [];
    const point = pointAt({ ...state.view.peek(), width: stage.width }, points, event.offsetX);
    if (!point) return;
    if (point.kind !== "frame") return state.select(momentOf(points, point));
    const frames = points.filter((one) => one.kind === "frame");
    const to = endOfFrame(point) ?? frames[frames.indexOf(point) + 1]?.time ?? state.whole.peek().to;
    const last = state.crumbs.peek()[state.crumbs.peek().length - 1];
    const from = event.shiftKey && last ? Math.min(last.from, point.time) : point.time;
    if (event.shiftKey && last) state.keepCrumbs(state.crumbs.peek().length - 1);
    state.pushWindow({ from, to: event.shiftKey && last ? Math.max(last.to, to) : to }, pointText(point) || "frame");
}

function HeadSeparator({ width }: { width: { value: number } }) {
    const set = (value: number) => {
        width.value = Math.min(HEAD_WIDTH.most, Math.max(HEAD_WIDTH.least, value));
        localStorage.setItem("opscope.heads", String(width.value));
    };
    return (
        <div class="head-separator" role="separator" aria-orientation="vertical" tabIndex={0} aria-label="Width of track names"
            aria-valuenow={width.value} aria-valuemin={HEAD_WIDTH.least} aria-valuemax={HEAD_WIDTH.most}
            onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
            onPointerMove={(event) => event.buttons === 1 && set(width.value + event.movementX)}
            onDblClick={() => set(HEAD_WIDTH.standard)}
            onKeyDown={(event) => {
                if (event.key === "ArrowLeft") set(width.value - 8);
                else if (event.key === "ArrowRight") set(width.value + 8);
                else return;
                event.preventDefault();
                event.stopPropagation();
            }} />
    );
}

/** Why there is nothing to see, and how that changes. */
function NoTracks({ stage }: { stage: Stage }) {
    const { nodes, pinned } = stage.layout.value;
    if (nodes.some((node) => node.kind !== "group" || node.folded) || pinned.length) return null;
    const hidden = trackFilter.value || state.hidden.value.size;
    if (hidden) return <p class="no-tracks">All tracks are hidden. <button class="link" onClick={showAll}>Show them</button></p>;
    const growing = state.traces.value?.[state.traceIndex.value]?.state === "growing";
    return <p class="no-tracks">{growing ? "Nothing was recorded yet; it is shown here as it comes." : "Nothing was recorded here: no zones, no runs on a device, no counters."}</p>;
}

function ScrollBar({ stage }: { stage: Stage }) {
    const all = stage.layout.value.height + 8;
    const y = stage.scrollY.value;
    const height = stage.size.value.height - stage.pinnedArea;
    if (all - 8 <= height) return null;
    const size = Math.max(24, (height / all) * height);
    const place = (y / (all - height)) * (height - size);
    return (
        <div class="scroll-bar" style={{ top: `${stage.pinnedArea}px` }} aria-hidden="true">
            <div style={{ height: `${size}px`, transform: `translateY(${place}px)` }}
                onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
                onPointerMove={(event) => {
                    if (event.buttons === 1) stage.scrollTo(y + (event.movementY * all) / height);
                }} />
        </div>
    );
}

// ---- tooltip and hint

function tooltipLines(hit: Hit): string[] {
    const name = state.names.value.get(hit.name);
    const lines = [`${duration(hit.end - hit.start)} from ${duration(hit.start, 5)}`];
    if (name?.file) lines.push(fileName(name.file, name.line));
    if (hit.flags & FLAG_WAIT || name?.wait) lines.push("waiting");
    if (hit.flags & FLAG_OPEN) lines.push("not ended");
    lines.push(exactNs(hit.end - hit.start));
    return lines;
}

function densityText(hit: Hit): string {
    const busy = hit.section.busy[hit.index] ?? 0;
    const length = hit.end - hit.start;
    const what = plural(hit.zones, hit.row.runs ? "run" : "zone");
    return `${what}, ${duration(length * busy)} of ${duration(length)} busy, most of it ${safeText(state.names.value.text(hit.name))}`;
}

function BoxTooltip({ index, place }: { index: number; place: Record<string, string | undefined> }) {
    const data = current();
    const box = data?.boxes[index];
    if (!data || !box) return null;
    const pair = box.pair === null ? undefined : data.pairs[box.pair];
    return (
        <div class="tip" style={place}>
            <b>{safeText(box.name)}</b>
            <div>estimated {duration(box.end - box.start)}</div>
            {pair && <div class="t3">{pair.measured_ns === null ? "not measured" : `measured ${duration(pair.measured_ns)}, ${factorText(pair)}`}</div>}
        </div>
    );
}

function Tooltip({ stage }: { stage: Stage }) {
    const hover = stage.hover.value;
    const plot = document.querySelector("[data-stage]")?.getBoundingClientRect();
    if (!hover || !plot) return null;
    const { hit } = hover;
    const right = plot.left + hover.x > innerWidth - 330;
    const beside = {
        left: right ? undefined : `${plot.left + hover.x + 14}px`,
        right: right ? `${innerWidth - plot.left - hover.x + 14}px` : undefined,
    };
    if (!hit) return <BoxTooltip index={hover.box} place={{ ...beside, top: `${Math.min(plot.top + hover.y + 18, innerHeight - 110)}px` }} />;
    const place = {
        ...beside,
        top: `${Math.min(plot.top + stage.screenY(hit.node) + hit.row.y + hit.row.height + 6, innerHeight - 110)}px`,
    };
    const single = hit.zones === 1;
    if (hit.flags & FLAG_GAP) {
        return <div class="tip" style={place}><b>The device is idle</b><div>{duration(hit.end - hit.start)}</div></div>;
    }
    return (
        <div class="tip" style={place}>
            {single ? <b>{safeText(state.names.value.text(hit.name))}</b> : <div>{densityText(hit)}</div>}
            {single && tooltipLines(hit).map((line, index) => <div key={index} class={index ? "t3" : ""}>{line}</div>)}
        </div>
    );
}

function Hint() {
    const seen = useSignal(localStorage.getItem("opscope.seen") === "1");
    useEffect(() => {
        if (seen.value) return;
        const done = () => {
            seen.value = true;
            localStorage.setItem("opscope.seen", "1");
        };
        addEventListener("keydown", done, { once: true });
        return () => removeEventListener("keydown", done);
    }, []);
    if (seen.value) return null;
    return (
        <div class="hint">
            Drag to measure, Ctrl + wheel or W S to zoom, / to search, ? for all keys.
            <button onClick={() => { seen.value = true; localStorage.setItem("opscope.seen", "1"); }} aria-label="Dismiss">✕</button>
        </div>
    );
}
