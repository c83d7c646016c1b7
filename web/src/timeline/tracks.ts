// SPDX-License-Identifier: Apache-2.0
// What people do with tracks: fold, show all rows, pin, hide, show only one, move; and how busy devices are in the window.
import { signal } from "@preact/signals";
import { partitionPercents, percent } from "../model/format";
import { Resource } from "../model/resource";
import * as state from "../model/state";
import type { RangeStats, TraceInfo } from "../model/types";
import { COUNTER_HEIGHT, COUNTER_HEIGHT_MOST, type Node } from "./layout";

/** First depth shown of tracks that show all their rows and scroll by themselves. */
export const firstDepth = signal<ReadonlyMap<number, number>>(new Map());
/** Tracks that are shown small, and heights of counters that were dragged: matters of the moment, not of the link. */
export const compact = signal<ReadonlySet<number>>(new Set());
export const heights = signal<ReadonlyMap<string, number>>(new Map());
/** Only tracks whose name contains this are shown. */
export const trackFilter = signal("");
const inWindow = new Resource<RangeStats>();

export function setFirstDepth(track: number, depth: number): void {
    firstDepth.value = new Map([...firstDepth.peek(), [track, Math.max(0, depth)]]);
}

export function togglePin(track: number): void {
    const pins = state.pins.peek();
    state.pins.value = pins.includes(track) ? pins.filter((id) => id !== track) : [...pins, track];
}

export function toggleDeep(track: number): void {
    state.deep.value = state.toggle(state.deep.peek(), track);
}

export function toggleCompact(track: number): void {
    compact.value = state.toggle(compact.peek(), track);
}

/** null: as tall as it is by itself. */
export function setHeight(node: string, height: number | null): void {
    const next = new Map(heights.peek());
    if (height === null) next.delete(node);
    else next.set(node, Math.round(Math.min(COUNTER_HEIGHT_MOST, Math.max(COUNTER_HEIGHT, height))));
    heights.value = next;
}

export function hide(track: number): void {
    state.hidden.value = new Set([...state.hidden.peek(), track]);
    const pins = state.pins.peek();
    if (pins.includes(track)) state.pins.value = pins.filter((id) => id !== track);
}

export function showOnly(track: number): void {
    if (state.hidden.peek().size) return showAll();
    const tracks = state.trace.peek()?.tracks ?? [];
    const kept = new Set<number | null>([track]);
    for (let at = tracks.find((one) => one.id === track); at && at.parent !== null && !kept.has(at.parent);) {
        kept.add(at.parent);
        const { parent } = at;
        at = tracks.find((one) => one.id === parent);
    }
    state.hidden.value = new Set(tracks.map((one) => one.id).filter((id) => !kept.has(id)));
}

export function showAll(): void {
    state.hidden.value = new Set();
    trackFilter.value = "";
}

/** Moves a track before another one of those around it, or after the last. */
export function moveTrack(node: Node, before: number | null): void {
    const { track, among, pinned } = node;
    if (track === null || track === before) return;
    const rest = among.filter((id) => id !== track);
    const at = before === null ? rest.length : rest.indexOf(before);
    if (at < 0) return;
    const moved = [...rest.slice(0, at), track, ...rest.slice(at)];
    if (pinned) state.pins.value = moved;
    else state.order.value = [...state.order.peek().filter((id) => !moved.includes(id)), ...moved];
}

export function stepTrack(node: Node, by: -1 | 1): void {
    const at = node.among.indexOf(node.track ?? -1);
    const target = at + (by < 0 ? -1 : 2);
    if (at < 0 || target < 0 || target > node.among.length) return;
    moveTrack(node, node.among[target] ?? null);
}

/** What a key does on a track's header; false when it does nothing there. */
export function actOnNode(node: Node, key: string): boolean {
    if (key === "Enter" || key === " " || key === "caret") {
        if (node.kind === "group") state.folds.value = state.toggle(state.folds.value, node.id);
        else if (node.track !== null) toggleDeep(node.track);
        return true;
    }
    if (node.track === null || node.kind !== "track") return false;
    if (key === "p") togglePin(node.track);
    else if (key === "h") hide(node.track);
    else if (key === "o") showOnly(node.track);
    else if (key === "c") toggleCompact(node.track);
    else return false;
    return true;
}

/** How many tracks with something in them are hidden. */
export function hiddenCount(info: TraceInfo | null): number {
    return (info?.tracks ?? []).filter((track) => state.hidden.value.has(track.id) && (track.depths > 0 || track.runs > 0)).length;
}

// ---- how busy the devices are, of the time that all numbers are about

function shareText(share: number): string {
    return `${percent(share)} busy`;
}

/** Words for each device. One device says what the sentence says: the partition is about it. */
export function busyWords(info: TraceInfo): ReadonlyMap<number, string> {
    const words = new Map<number, string>();
    const devices = info.tracks.filter((track) => track.kind === "device");
    const overview = state.overview.data.value;
    if (!devices.length || !overview || overview.kind === "estimate") return words;
    const { basis, parts } = overview.partition;
    const busy = parts.findIndex((part) => part.key === "busy");
    const [only] = devices;
    if (devices.length === 1 && only && basis === "device" && busy >= 0) {
        return words.set(only.id, `${partitionPercents(parts.map((part) => part.ns))[busy]} busy`);
    }
    const { from, to } = state.window_.value;
    const whole = from <= 0 && to >= info.duration_ns;
    if (!whole) inWindow.load(state.tracePath("range"), { from, to }, info.generation);
    const busyOf = new Map((whole ? info.tracks.map((track) => [track.id, track.busy_ns] as const)
        : (inWindow.data.value?.tracks ?? []).map((row) => [row.track, row.busy] as const)));
    for (const device of devices) {
        const inside = info.tracks.filter((track) => track.id === device.id || track.parent === device.id);
        const most = Math.max(0, ...inside.map((track) => busyOf.get(track.id) ?? 0));
        if (busyOf.size) words.set(device.id, shareText(most / Math.max(1, to - from)));
    }
    return words;
}
