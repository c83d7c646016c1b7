// SPDX-License-Identifier: Apache-2.0
// Traces that are still being written: the server reports them over a WebSocket; where that fails, they are asked for once a second.
// Numbers change at most once a second.
import { effect } from "@preact/signals";
import { getJson, lostSince } from "./api";
import { duration } from "./format";
import * as state from "./state";
import type { TraceEntry } from "./types";

interface News {
    trace: number;
    state: TraceEntry["state"];
    generation?: number;
    end_ns: number;
    zones: number;
    lost_zones: number;
}

const EVERY_MS = 1000;
let lastRefresh = 0;
let timer = 0;

function refreshSoon(): void {
    if (timer) return;
    timer = window.setTimeout(() => {
        timer = 0;
        lastRefresh = Date.now();
        void state.refreshTrace().catch(() => undefined);
    }, Math.max(0, lastRefresh + EVERY_MS - Date.now()));
}

function learn(news: News): void {
    const list = state.traces.peek() ?? [];
    const before = list[news.trace];
    if (!before) return;
    const entry = { ...before, state: news.state, zones: news.zones, duration_ns: news.end_ns, generation: news.generation ?? before.generation };
    const same = before.state === entry.state && before.zones === entry.zones && before.duration_ns === entry.duration_ns &&
        before.generation === entry.generation;
    if (same) return;
    state.traces.value = list.map((one, index) => (index === news.trace ? entry : one));
    if (news.trace !== state.traceIndex.peek() || !state.trace.peek()) return;
    if (before.state === "growing" && entry.state === "complete") {
        state.following.value = false;
        state.notice.value = `The program ended at ${duration(entry.duration_ns)}. The trace is complete.`;
    }
    refreshSoon();
}

async function ask(): Promise<void> {
    const { traces } = await getJson<{ traces: TraceEntry[] }>("/traces");
    if (traces.length !== state.traces.peek()?.length) {
        state.traces.value = traces;
        return;
    }
    traces.forEach((entry, index) => {
        learn({ trace: index, state: entry.state, generation: entry.generation, end_ns: entry.duration_ns, zones: entry.zones, lost_zones: 0 });
    });
}

/** Without a WebSocket: only where something may change, a trace that grows or an empty list. */
function poll(): void {
    setInterval(() => {
        const list = state.traces.peek();
        const open = list?.[state.traceIndex.peek()];
        if (!state.trace.peek() || open?.state === "growing" || lostSince.peek() !== null) void ask().catch(() => undefined);
    }, EVERY_MS);
}

export function keepLive(): void {
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
            if (opened) setTimeout(connect, EVERY_MS);
        };
    };
    // Only for what can grow: a finished trace needs no connection.
    const stop = effect(() => {
        const list = state.traces.value;
        if (!list || (list.length && !list.some((entry) => entry.state === "growing"))) return;
        queueMicrotask(() => stop());
        connect();
        poll();
    });
}
