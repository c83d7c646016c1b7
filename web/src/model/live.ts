// SPDX-License-Identifier: Apache-2.0
// Traces that are still being written: the server reports them over a WebSocket; where that fails, they are asked for once a second.
// What is drawn follows at once, from their word alone; tracks and numbers are asked for at most once a second.
import { effect } from "@preact/signals";
import { damageSeen, getJson, lostSince } from "./api";
import { embedded } from "./embedded";
import { endText } from "./livetext";
import * as state from "./state";
import type { TraceEntry, TraceListing } from "./types";

interface News {
    trace: number;
    state: TraceEntry["state"];
    generation?: number;
    end_ns: number;
    zones: number;
    lost_zones: number;
    /** Of one that grows: how long ago its end was. */
    behind_ns?: number;
}

const EVERY_MS = 1000;
const DRAW_MS = 50;
/** A trace of which an answer takes long is asked for less often: at most a quarter of the time. */
const SHARE = 3;
const RECONNECTED_MS = 3000;
let lastAsked = 0;
let lastAnswered = 0;
let took = 0;
let timer = 0;
let timerAt = 0;
let running = false;
let askedAgain = false;
let ended = false;

function open(): TraceEntry | undefined {
    return state.traces.peek()?.[state.traceIndex.peek()];
}

/** Takes what is new of its tracks and figures. */
async function refresh(): Promise<void> {
    const isEnd = ended;
    lastAsked = Date.now();
    try {
        await state.refreshTrace();
    } catch {
        return;
    } finally {
        lastAnswered = Date.now();
        took = lastAnswered - lastAsked;
    }
    const info = state.trace.peek();
    if (!isEnd || !info) return;
    if (!info.complete && open()?.state === "complete") { // it was answered just before
        askedAgain = true;
        return;
    }
    ended = false;
    state.following.value = false; // the view has come to the end, and stays there
    state.notice.value = endText(info);
}

async function run(): Promise<void> {
    timer = 0;
    running = true;
    askedAgain = false;
    await refresh();
    running = false;
    if (askedAgain) refreshSoon();
}

function schedule(at: number): void {
    if (timer && timerAt <= at) return;
    clearTimeout(timer);
    timerAt = at;
    timer = window.setTimeout(() => void run(), Math.max(0, at - Date.now()));
}

/** Once a second where it grows; at once where it began or ended. */
function refreshSoon(): void {
    const isUrgent = ended || !state.drawn.peek()?.zones;
    if (running) askedAgain = true;
    else schedule(Math.max(lastAnswered + Math.max(DRAW_MS, SHARE * took), isUrgent ? 0 : lastAsked + EVERY_MS));
}

// ---- what the messages themselves say is shown without a question

let latest: News | null = null;
let latestAt = 0;
let drawTimer = 0;
let tellTimer = 0;
let lastTold = 0;

function draw(): void {
    drawTimer = 0;
    if (latest && latest.trace === state.traceIndex.peek()) state.growTo(latest.end_ns, latest.zones, latest.generation ?? 0);
}

function tell(): void {
    tellTimer = 0;
    if (!latest || latest.trace !== state.traceIndex.peek()) return;
    const isOld = Date.now() - latestAt >= 2 * EVERY_MS; // nothing new: the program does nothing, and nobody is behind
    state.newest.value = { end: latest.end_ns, zones: latest.zones, behind: isOld ? 0 : latest.behind_ns ?? 0 };
    lastTold = Date.now();
    if (state.newest.value.behind > 0) tellTimer = window.setTimeout(tell, 2 * EVERY_MS);
}

function show(news: News): void {
    latest = news;
    latestAt = Date.now();
    if (!drawTimer) drawTimer = window.setTimeout(draw, DRAW_MS);
    const wait = lastTold + EVERY_MS - Date.now();
    if (tellTimer && wait > 0) return;
    clearTimeout(tellTimer);
    if (wait > 0) tellTimer = window.setTimeout(tell, wait);
    else tell();
}

function learn(news: News): void {
    const list = state.traces.peek() ?? [];
    const before = list[news.trace];
    if (!before) {
        void ask().catch(() => undefined);
        return;
    }
    const entry = { ...before, state: news.state, zones: news.zones, duration_ns: news.end_ns, generation: news.generation ?? before.generation };
    const same = before.state === entry.state && before.zones === entry.zones && before.duration_ns === entry.duration_ns &&
        before.generation === entry.generation;
    if (same) return;
    state.traces.value = list.map((one, index) => (index === news.trace ? entry : one));
    // Its name may have changed, or another file has taken its place.
    if (before.state !== entry.state) void ask().catch(() => undefined);
    if (news.trace !== state.traceIndex.peek() || !state.trace.peek()) return;
    if (before.state === "growing" && entry.state !== "growing") {
        ended = entry.state === "complete" || entry.state === "damaged";
    }
    show(news);
    refreshSoon();
}

/** What has come in since the list was read: a recording that starts while nothing is shown is followed. */
function takeList(traces: TraceEntry[]): void {
    const before = state.traces.peek()?.length ?? 0;
    state.traces.value = traces;
    if (state.trace.peek() || !state.waits.peek()) return;
    const started = traces.findIndex((entry, index) => index >= before && entry.state === "growing");
    if (started >= 0) void state.openTrace(started);
}

async function ask(): Promise<void> {
    const { traces } = await getJson<TraceListing>("/traces");
    traces.slice(0, state.traces.peek()?.length ?? 0).forEach((entry, index) => {
        learn({ trace: index, state: entry.state, generation: entry.generation, end_ns: entry.duration_ns, zones: entry.zones, lost_zones: 0 });
    });
    takeList(traces);
}

/** Without a WebSocket: only where something may change, a trace that grows or an empty list. */
function poll(): void {
    setInterval(() => {
        const list = state.traces.peek();
        const open = list?.[state.traceIndex.peek()];
        if (!state.trace.peek() || open?.state === "growing" || lostSince.peek() !== null) void ask().catch(() => undefined);
    }, EVERY_MS);
}

/** Says for a moment that the connection is back; what was missed is asked for. */
function watchConnection(): void {
    let lost = false;
    effect(() => {
        if (lostSince.value !== null) {
            lost = true;
        } else if (lost) {
            lost = false;
            state.reconnected.value = true;
            setTimeout(() => (state.reconnected.value = false), RECONNECTED_MS);
            if (state.trace.peek()) refreshSoon();
        }
    });
}

/** The server finds a damaged block when something of it is asked for: from then on it knows what is missing, and where. */
function watchDamage(): void {
    effect(() => {
        if (!damageSeen.value) return;
        damageSeen.value = false;
        if (state.traces.peek()?.[state.traceIndex.peek()]?.state === "complete") void ask().catch(() => undefined);
    });
}

export function keepLive(): void {
    if (embedded) return;
    const address = new URL("/api/live", location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    address.search = location.search;
    let opened = false;
    const connect = () => {
        const socket = new WebSocket(address);
        socket.onopen = () => {
            opened = true;
            void ask().catch(() => undefined);
        };
        socket.onmessage = ({ data }) => {
            try {
                learn(JSON.parse(String(data)) as News);
            } catch {
                // Not ours to understand: the next one may be.
            }
        };
        socket.onclose = () => {
            if (!opened) return;
            lostSince.value ??= Date.now();
            setTimeout(connect, EVERY_MS);
        };
    };
    watchConnection();
    watchDamage();
    // Only for what can change: a finished trace that was asked for needs no connection.
    const stop = effect(() => {
        const list = state.traces.value;
        if (!list || (!state.waits.value && list.length && !list.some((entry) => entry.state === "growing"))) return;
        queueMicrotask(() => stop());
        connect();
        poll();
    });
}
