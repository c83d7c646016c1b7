// SPDX-License-Identifier: Apache-2.0
// What the page knows and shows. The window (what all numbers are about) is not the view (what the timeline shows).
import { batch, computed, effect, signal } from "@preact/signals";
import { getJson, RequestFailed } from "./api";
import type { Dispatch } from "./dispatch";
import { embedded } from "./embedded";
import { Names } from "./names";
import type { Shown } from "./place";
import { Resource } from "./resource";
import { fileName } from "./text";
import type { Gaps, Ops, Overview, OpRuns, Point, Roofline, Steps, TraceEntry, TraceInfo, TraceListing, ZoneRow } from "./types";
import { emptyState, parseUrl, writeUrl, type Selection, type Span, type UrlState } from "./url";

export interface Crumb extends Span {
    label: string;
    /** The window that the server chose: questions about it leave the choice to the server. */
    chosen?: boolean;
}

export const traces = signal<TraceEntry[] | null>(null);
export const traceIndex = signal(0);
export const trace = signal<TraceInfo | null>(null);
/** What is drawn of it: while it grows, newer than `trace`, which all numbers follow at most once a second. */
export const drawn = signal<TraceInfo | null>(null);
/** What the file has instead of a trace: times of calls, as `opscope overhead` measured them. */
export const dispatch = signal<Dispatch | null>(null);
/** The list is of whatever is recorded here, and grows. */
export const waits = signal(false);
export const version = signal("");
export const failure = signal<string | null>(null);
export const notice = signal<string | null>(null);
/** When the connection came back, by Date.now(); null a moment later. */
export const reconnected = signal(false);
/** The user keeps a trace that was replaced or deleted on disk. */
export const kept = signal(false);
export const names = signal(new Names(0));

export const panel = signal("overview");
export const crumbs = signal<Crumb[]>([]);
export const warmup = signal(false);
export const view = signal<Span>({ from: 0, to: 1 });
export const selection = signal<Selection | null>(null);
export const folds = signal<ReadonlySet<string>>(new Set());
export const pins = signal<readonly number[]>([]);
export const hidden = signal<ReadonlySet<number>>(new Set());
/** Tracks that were moved, with those around them, in the order that was chosen. */
export const order = signal<readonly number[]>([]);
/** By what ops are coloured. */
export const colours = signal<"kind" | "name" | "bound">("kind");
export const deep = signal<ReadonlySet<number>>(new Set());
/** Compare: the other trace (null: the first that is not open), a window of each, and by what they are aligned. */
export const other = signal<number | null>(null);
export const windowA = signal<Span | null>(null);
export const windowB = signal<Span | null>(null);
export const align = signal("start");
export const theme = signal<"light" | "dark" | null>(null);
export const filter = signal("");
export const opGroup = signal("op+shape");
export const drawerTab = signal<"ops" | "zones" | "gaps" | "messages">("ops");
/** Only gaps of these lengths are in the table. */
export const gapLengths = signal<Span | null>(null);
/** Whose zones the table of zones counts: "t12" of a thread, "p3" of a process, "" of all. */
export const zonesOf = signal("");
export const zoneFilter = signal("");
export const drawerFolded = signal(false);
export const inspectorShown = signal(true);
export const helpShown = signal(false);
/** Following a recording: the view moves with its end. */
export const following = signal(false);
export const marks = signal<readonly { time: number; name: string }[]>([]);
/** What the timeline is asked to show; null once it is shown. */
export const reveal = signal<Shown | null>(null);
/** Where the calls of the name that was searched are, and which of them was stepped to: "3 of 1,204". */
export const hits = signal<readonly number[]>([]);
export const hitPlace = signal("");
/** Spoken by screen readers. */
export const spoken = signal("");
/** Name under the pointer, or of the selection: others of that name are outlined. */
export const hoverName = signal<number | null>(null);

export const whole = computed<Span>(() => ({ from: 0, to: Math.max(1, trace.value?.duration_ns ?? 1) }));
const drawnEnd = computed(() => Math.max(whole.value.to, drawn.value?.duration_ns ?? 1));
/** Numbers of a recording that is followed are about its last ten seconds. */
const LIVE_NS = 10e9;
/** What the server said last of the trace that grows, once a second: newer than any answer. `behind`: how long ago it ended there. */
export const newest = signal<{ end: number; zones: number; behind: number } | null>(null);
export const growing = computed(() => traces.value?.[traceIndex.value]?.state === "growing");
const frozen = signal<Span | null>(null);
export const liveWindow = computed<Span | null>(() => {
    const last = crumbs.value[crumbs.value.length - 1];
    if (!trace.value || !growing.value || (last && !last.chosen)) return null;
    if (!following.value) return frozen.value;
    const to = trace.value.duration_ns;
    return to > LIVE_NS ? { from: to - LIVE_NS, to } : null;
});
export const window_ = computed<Span>(() => liveWindow.value ?? crumbs.value[crumbs.value.length - 1] ?? whole.value);

export const overview = new Resource<Overview>(async (answer) => {
    chooseAtTheEnd(answer);
    void names.value.need([...answer.top, ...answer.top_waits].map((row) => row.name)); // for their colours: the texts are there
});
export const ops = new Resource<Ops>();
export const roofline = new Resource<Roofline>();
export const steps = new Resource<Steps>();
export const gaps = new Resource<Gaps>();
/** Every run of the op that is selected. */
export const opRuns = new Resource<OpRuns>();
export const zoneRows = new Resource<{ count: number; rows: ZoneRow[] }>();
export const points = new Resource<{ total: number; points: Point[] }>();

Resource.grows = () => trace.peek()?.complete === false && growing.peek();

/** Ends of the trace by its generation: how far an answer goes. */
const ends = new Map<number, number>();
/** How far the numbers are behind the recording, in ns. */
export const numbersBehind = computed(() => {
    const counted = ends.get(overview.shown.value);
    return newest.value && overview.data.value && counted !== undefined ? Math.max(0, newest.value.end - counted) : 0;
});

/** The tables under the stage that there are, and the one that is shown. */
export const drawerTabs = computed(() => {
    const info = trace.value;
    const all = [
        { id: "ops" as const, label: "Ops", there: hasOps(info), count: ops.data.value?.groups.length },
        { id: "zones" as const, label: "Zones", there: (info?.zones ?? 0) > 0, count: zoneRows.data.value?.count },
        { id: "gaps" as const, label: "Gaps", there: hasOps(info), count: gaps.data.value?.count },
        { id: "messages" as const, label: "Messages", there: (points.data.value?.total ?? 0) > 0, count: points.data.value?.total },
    ];
    return all.filter((tab) => tab.there);
});
export const shownTab = computed(() => {
    const tabs = drawerTabs.value;
    return tabs.some((tab) => tab.id === drawerTab.value) ? drawerTab.value : tabs[0]?.id;
});

export function tracePath(rest: string): string {
    return `/t/${traceIndex.value}/${rest}`;
}

/** Whose time ops are counted in. */
export function opTime(): string {
    return overview.data.value?.partition.basis === "CPU" ? "CPU time" : "device time";
}

export function hasOps(info: TraceInfo | null): boolean {
    return !!info && (info.ops > 0 || info.runs > 0);
}

// ---- actions

interface SelectOptions {
    /** The timeline shows it. */
    reveal?: boolean;
    /** In a view that is made for it. */
    fit?: boolean;
    /** Of a range: on which track to look at it. */
    track?: number;
}

export function select(chosen: Selection | null, options: SelectOptions = {}): void {
    selection.value = chosen;
    hitPlace.value = "";
    if (!chosen || (chosen.kind !== "name" && chosen.kind !== "zone")) hits.value = [];
    if (!chosen || !options.reveal) return;
    switch (chosen.kind) {
        case "zone":
        case "run":
        case "gap": return show({ kind: "item", item: chosen, fit: options.fit ?? false });
        case "range": return show({ kind: "span", from: chosen.from, to: chosen.to, track: options.track ?? null });
        case "moment": return show({ kind: "moment", time: chosen.time, track: chosen.track });
    }
}

const WITH_TIMELINE = ["overview", "timeline"];

/** On the timeline: where the panel has none, on the one that is nothing else. */
export function show(shown: Shown): void {
    batch(() => {
        reveal.value = shown;
        if (!WITH_TIMELINE.includes(panel.peek())) panel.value = "timeline";
    });
}

export function pushWindow(span: Span, label: string): void {
    const from = Math.max(0, Math.round(span.from));
    const to = Math.min(whole.value.to, Math.round(span.to));
    if (to <= from) return;
    if (embedded && !embedded.of(traceIndex.value).hasWindow(from, to)) {
        notice.value = "This file has its numbers for this window alone: opscope view with the trace has them for any. A selected range has its own.";
        return;
    }
    crumbs.value = [...crumbs.value, { from, to, label }];
}

/** Numbers of the whole trace, or of what was chosen without being asked. */
export function includeAll(all: boolean): void {
    batch(() => {
        warmup.value = all;
        crumbs.value = all || !defaultWindow ? [] : [defaultWindow];
    });
}

/** Pops crumbs until `count` are left; 0 is the whole trace. */
export function keepCrumbs(count: number): void {
    if (count <= 0 && defaultWindow) includeAll(true);
    else if (count < crumbs.value.length) crumbs.value = crumbs.value.slice(0, Math.max(0, count));
}

export function setView(span: Span): void {
    const end = drawnEnd.value;
    let length = Math.min(Math.max(span.to - span.from, 4), end);
    if (!Number.isFinite(length)) length = end;
    const from = Math.min(Math.max(span.from, 0), end - length);
    view.value = { from, to: from + length };
}

export function toggle<T>(set: ReadonlySet<T>, item: T): ReadonlySet<T> {
    const next = new Set(set);
    if (!next.delete(item)) next.add(item);
    return next;
}

// ---- the trace

let defaultWindow: Crumb | null = null;

const OVERVIEW_WAIT_MS = 400;
const COUNTED_SOON = 1e6;

/** The server's choice of a window, where it is there soon: the frame does not wait for a slow count. */
async function loadTrace(index: number, from: UrlState): Promise<void> {
    const fresh = new Names(index);
    void fresh.need([0]); // first, since what is asked for after it may take long, and without names there are no colours
    const info = await getJson<TraceInfo>(`/t/${index}/trace`);
    const counted = getJson<Overview>(`/t/${index}/overview`, from.warmup ? { warmup: "include" } : {}).catch((error: unknown) => {
        if (error instanceof RequestFailed && error.status !== 404) notice.value = error.message;
        return null;
    });
    const late = new Promise<"late">((done) => setTimeout(() => done("late"), info.zones + info.runs > COUNTED_SOON ? 0 : OVERVIEW_WAIT_MS));
    const first = await Promise.race([counted, late]);
    const grows = traces.peek()?.[index]?.state === "growing";
    batch(() => {
        names.value = fresh;
        traceIndex.value = index;
        trace.value = info;
        drawn.value = info;
        kept.value = false;
        for (const resource of [overview, ops, roofline, steps, gaps, opRuns, zoneRows, points]) resource.reset();
        defaultWindow = null;
        ends.clear();
        zonesOf.value = zoneFilter.value = "";
        drawerTab.value = info.runs > 0 || info.zones === 0 ? "ops" : "zones";
        following.value = grows;
        frozen.value = null;
        newest.value = null;
        choosesLater = grows;
        if (first !== "late" && !grows) takeDefault(first, info);
        applyUrl(from);
        if (!from.view) view.value = first && first !== "late" ? firstView(first, info) : whole.value;
    });
    if (first !== "late" || grows) return;
    const answer = await counted;
    const untouched = traceIndex.peek() === index && crumbs.peek().length === 0 && !from.window;
    takeDefault(answer, info);
    if (untouched && defaultWindow) crumbs.value = [defaultWindow];
}

/** Of a recording that was followed, the server chooses the window once it has ended. */
let choosesLater = false;

function chooseAtTheEnd(answer: Overview): void {
    const info = trace.peek();
    if (!choosesLater || !info?.complete) return;
    choosesLater = false;
    takeDefault(answer, info);
    if (defaultWindow && crumbs.peek().length === 0 && !warmup.peek()) crumbs.value = [defaultWindow];
}

function takeDefault(first: Overview | null, info: TraceInfo): void {
    const { window } = first ?? { window: null };
    if (window && (window.from > 0 || window.to < info.duration_ns)) {
        defaultWindow = { from: window.from, to: window.to, label: window.source, chosen: true };
    }
}

const RUNS_SEEN_AT_ONCE = 2000;

/** A place worth looking at: the window where its runs can be told apart, else around its longest gap. */
function firstView(first: Overview, info: TraceInfo): Span {
    const span = { from: Math.max(0, first.window.from), to: Math.min(info.duration_ns, first.window.to) };
    const gap = first.gaps?.longest;
    if (!gap || info.runs <= RUNS_SEEN_AT_ONCE || gap.duration > (span.to - span.from) / 20) return span;
    const around = Math.max(gap.duration * 4, (span.to - span.from) / 200);
    const middle = gap.start + gap.duration / 2;
    const from = Math.max(0, middle - around * 0.55);
    return { from, to: Math.min(info.duration_ns, from + around) };
}

/** What is drawn goes to this end, and so does the view where it follows it. */
function drawTo(info: TraceInfo): void {
    const showedAll = view.peek().to >= drawnEnd.peek() && view.peek().from <= 0;
    const wasComplete = drawn.peek()?.complete ?? false;
    names.peek().grown();
    batch(() => {
        drawn.value = info;
        if (following.peek()) {
            const length = Math.min(LIVE_NS, info.duration_ns);
            setView({ from: info.duration_ns - length, to: info.duration_ns });
        } else if (showedAll && wasComplete) { // one that was paused stays where it is
            setView({ from: 0, to: info.duration_ns });
        }
    });
}

/** The trace has grown: it is drawn, with the tracks that are known. */
export function growTo(end: number, zones: number, generation: number): void {
    const before = drawn.peek();
    if (before && end > before.duration_ns) drawTo({ ...before, duration_ns: end, zones, generation });
}

/** The trace has grown, or ended: its tracks and figures, without moving anything that is shown. */
export async function refreshTrace(): Promise<void> {
    const index = traceIndex.peek();
    const info = await getJson<TraceInfo>(`/t/${index}/trace`);
    if (index !== traceIndex.peek() || !trace.peek()) return;
    batch(() => {
        drawTo(info);
        trace.value = info;
    });
}

/** Pauses, or goes on. */
export function follow(wanted: boolean): void {
    batch(() => {
        frozen.value = wanted ? null : liveWindow.peek();
        following.value = wanted;
    });
}

export async function openTrace(index: number, from: UrlState = { ...emptyState(), trace: index }): Promise<void> {
    try {
        failure.value = null;
        await loadTrace(index, from);
    } catch (error) {
        failure.value = error instanceof RequestFailed ? error.message : "The server does not answer.";
    }
}

function keyOf(index: number | null): string | null {
    const entry = index === null ? null : traces.peek()?.[index];
    return entry?.key ? `${entry.key},${fileName(entry.name).replace(/\.partial$/, "")}` : null;
}

/** Puts the places of the traces that a link names by their keys; false: the first is not served here. */
function findTraces(state: UrlState): boolean {
    const missing = (key: string | null): boolean => {
        if (!key || placeOf(key) >= 0) return false;
        const [id = "", name = "FILE"] = [key.slice(0, 8), key.slice(9) || undefined];
        notice.value = `This link is about ${name} (${id}), which is not among the traces here: opscope view ${name} serves it.`;
        return true;
    };
    if (state.traceKey && !missing(state.traceKey)) state.trace = placeOf(state.traceKey);
    if (state.otherKey) state.other = missing(state.otherKey) ? null : placeOf(state.otherKey);
    return !state.traceKey || placeOf(state.traceKey) >= 0;
}

function placeOf(key: string): number {
    return (traces.peek() ?? []).findIndex((entry) => entry.key === key.slice(0, 8));
}

export async function start(): Promise<void> {
    const { state, ignored } = parseUrl(location.hash);
    if (embedded && location.hash.length < 2) state.panel = embedded.panel;
    if (ignored.length) notice.value = `Left out of the link: ${ignored.join(", ")}`;
    theme.value = state.theme ?? readTheme();
    try {
        const list = await getJson<TraceListing>("/traces");
        version.value = list.version;
        waits.value = list.waits ?? false;
        traces.value = list.traces;
    } catch (error) {
        failure.value = error instanceof RequestFailed ? error.message : "The server does not answer.";
        return;
    }
    const count = traces.value?.length ?? 0;
    if (embedded && count === 0) {
        dispatch.value = embedded.dispatch();
        return;
    }
    if (!findTraces(state)) return;
    if (embedded || (count === 1 && !waits.value) || (count > 0 && location.hash.length > 1)) await openTrace(Math.min(state.trace, count - 1), state);
}

// ---- the fragment

let applying = false;
let lastPushed = "";

/** Those that are hidden, or, where these are the fewer, those that are shown. */
function hiddenInUrl(): Pick<UrlState, "hidden" | "only"> {
    const away = hidden.value;
    const shown = away.size ? (trace.value?.tracks ?? []).map((track) => track.id).filter((id) => !away.has(id)) : [];
    return shown.length < away.size ? { hidden: [], only: shown } : { hidden: [...away], only: null };
}

function currentUrl(): UrlState {
    const last = crumbs.value[crumbs.value.length - 1];
    const at = view.value;
    return {
        panel: panel.value,
        trace: traceIndex.value,
        traceKey: keyOf(traceIndex.value),
        window: last?.chosen ? null : last ? { from: last.from, to: last.to } : defaultWindow ? whole.value : null,
        view: { from: Math.round(at.from), to: Math.max(Math.round(at.from) + 1, Math.round(at.to)) },
        selection: selection.value,
        group: opGroup.value === "op+shape" ? null : opGroup.value,
        query: filter.value || null,
        pins: [...pins.value],
        folds: [...folds.value],
        ...hiddenInUrl(),
        order: [...order.value],
        colours: colours.value === "kind" ? null : colours.value,
        theme: theme.value,
        warmup: warmup.value,
        other: other.value,
        otherKey: keyOf(other.value),
        windowA: windowA.value,
        windowB: windowB.value,
        align: align.value,
    };
}

export function link(): string {
    const url = new URL(location.href);
    url.searchParams.delete("token");
    url.hash = writeUrl(currentUrl());
    return url.toString();
}

function applyUrl(state: UrlState): void {
    applying = true;
    batch(() => {
        panel.value = state.panel;
        const { to } = whole.value;
        const there = state.window && (!embedded || embedded.of(traceIndex.value).hasWindow(state.window.from, Math.min(state.window.to, to)));
        const asked = there && state.window && state.window.from < to ? state.window : null;
        const isWhole = !!asked && asked.from <= 0 && asked.to >= to;
        warmup.value = state.warmup || (isWhole && defaultWindow !== null);
        if (isWhole || warmup.value) crumbs.value = [];
        else if (!asked) crumbs.value = defaultWindow ? [defaultWindow] : [];
        else crumbs.value = [{ from: asked.from, to: Math.min(asked.to, to), label: "link" }];
        if (state.view) setView(state.view);
        selection.value = state.selection;
        opGroup.value = state.group ?? "op+shape";
        filter.value = state.query ?? "";
        pins.value = state.pins;
        folds.value = new Set(state.folds);
        const { only } = state;
        hidden.value = new Set(only ? (trace.value?.tracks ?? []).map((track) => track.id).filter((id) => !only.includes(id)) : state.hidden);
        order.value = state.order;
        colours.value = state.colours === "name" || state.colours === "bound" ? state.colours : "kind";
        if (state.theme) theme.value = state.theme;
        other.value = state.other;
        windowA.value = state.windowA;
        windowB.value = state.windowB;
        align.value = state.align;
    });
    const chosen = state.selection;
    if (chosen && !state.view) select(chosen, { reveal: true });
    applying = false;
}

function readTheme(): "light" | "dark" | null {
    const kept = localStorage.getItem("opscope.theme");
    return kept === "light" || kept === "dark" ? kept : null;
}

const WRITE_AFTER_MS = 250; // browsers allow some 200 changes of the address in 30 s

/** Window, selection and panel are entries of the history; view and folds only change the address. */
export function keepUrl(): void {
    let timer = 0;
    effect(() => {
        if (!trace.value) return;
        const state = currentUrl();
        const step = writeUrl({ ...state, view: null, folds: [], pins: [], hidden: [], only: null, order: [], colours: null, theme: null, query: null });
        const full = writeUrl(state);
        if (applying || lastPushed === "" || step !== lastPushed) {
            clearTimeout(timer);
            timer = 0;
            if (applying || lastPushed === "") history.replaceState(null, "", full);
            else history.pushState(null, "", full);
            lastPushed = step;
        } else if (!timer) { // not later and later while the view follows a recording
            timer = window.setTimeout(() => {
                timer = 0;
                history.replaceState(null, "", writeUrl(currentUrl()));
            }, WRITE_AFTER_MS);
        }
    });
    addEventListener("popstate", () => {
        const { state } = parseUrl(location.hash);
        if (!findTraces(state)) return;
        if (state.trace !== traceIndex.value) void openTrace(state.trace, state);
        else applyUrl(state);
        lastPushed = writeUrl({ ...currentUrl(), view: null, folds: [], pins: [], hidden: [], only: null, order: [], colours: null, theme: null, query: null });
    });
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const show = () => {
        document.documentElement.dataset["theme"] = theme.value ?? (dark.matches ? "dark" : "light");
    };
    dark.addEventListener("change", show);
    effect(() => {
        show();
        if (theme.value) localStorage.setItem("opscope.theme", theme.value);
    });
}

/** Asks for what the visible panels need whenever the window, or what is shown, changes. */
export function keepNumbers(): void {
    effect(() => {
        const info = trace.value;
        if (!info) return;
        const { from, to } = window_.value;
        const span = { from, to };
        const stamp = info.generation;
        const last = crumbs.value[crumbs.value.length - 1];
        const asked = !liveWindow.value && (last?.chosen || (!last && !defaultWindow)) ? {} : span;
        const choice = { ...asked, warmup: warmup.value ? "include" : "leave-out" };
        ends.set(stamp, info.duration_ns);
        overview.load(tracePath("overview"), choice, stamp);
        points.load(tracePath("points"), { limit: 1000 }, stamp);
        steps.load(tracePath("steps"), choice, stamp);
        if (!hasOps(info)) return;
        ops.load(tracePath("ops"), { ...choice, group: opGroup.value }, stamp);
        roofline.load(tracePath("roofline"), choice, stamp);
        gaps.load(tracePath("gaps"), { ...choice, sort: "duration", limit: 2000 }, stamp);
        const chosen = selection.value;
        if (chosen?.kind === "op") opRuns.load(tracePath("op"), { ...choice, group: opGroup.value, name: chosen.name }, stamp);
        else opRuns.reset();
    });
    effect(() => {
        const wanted = panel.value === "zones" || shownTab.value === "zones";
        if (!trace.value || !wanted) return;
        const whose = /^([tp])(\d+)$/.exec(panel.value === "zones" ? zonesOf.value : "");
        const only = whose ? { [whose[1] === "t" ? "track" : "process"]: whose[2] } : {};
        zoneRows.load(tracePath("zones"), { from: window_.value.from, to: window_.value.to, sort: "self", top: 5000, ...only }, trace.value.generation);
    });
}
