// SPDX-License-Identifier: Apache-2.0
// The keyboard. Letters act by position for W A S D, by character for the rest; nothing acts while a field has the focus.
import { getJson } from "../model/api";
import { group } from "../model/format";
import { boxOfRun, current as currentOverlay, runOfBox } from "../model/overlay";
import * as state from "../model/state";
import type { FindResult } from "../model/types";
import type { Selection } from "../model/url";
import { followFlow } from "../timeline/flows";
import { fit, panBy, redoView, selectionOf, undoView, zoomAt } from "../timeline/input";
import { currentStage, selectedSpan } from "../timeline/stage";
import { closeTopmost } from "./layers";
import { tabsOf } from "./header";

function inField(target: EventTarget | null): boolean {
    return target instanceof HTMLElement && !!target.closest("input, textarea, select, [contenteditable]");
}

function middle(): number {
    const { from, to } = state.view.peek();
    const stage = currentStage.peek();
    const hover = stage?.hover.peek();
    return stage && hover ? stage.timeAt(hover.x) : (from + to) / 2;
}

const length = () => state.view.peek().to - state.view.peek().from;

function stepGap(forward: boolean): void {
    const list = state.gaps.data.peek()?.gaps ?? [];
    if (!list.length) return;
    const chosen = state.selection.peek();
    const at = chosen?.kind === "gap" ? list.findIndex((gap) => gap.start === chosen.start && gap.track === chosen.track) : -1;
    const next = list[at < 0 ? 0 : (at + (forward ? 1 : list.length - 1)) % list.length];
    if (!next) return;
    state.select({ kind: "gap", track: next.track, start: next.start, end: next.start + next.duration }, { reveal: true });
}

export function stepSame(forward: boolean): void {
    const chosen = state.selection.peek();
    if (!chosen || chosen.kind === "gap" || chosen.kind === "part") return stepGap(forward);
    if (chosen.kind !== "zone" && chosen.kind !== "run") return;
    const depth = chosen.kind === "zone" ? chosen.depth : chosen.lane;
    const place = currentStage.peek()?.rowOf(chosen.track, chosen.kind === "run", depth);
    if (!place) return;
    const hit = currentStage.peek()?.neighbour(place.row, place.node, chosen.start, forward, chosen.name ?? null);
    if (hit) state.select(selectionOf(hit), { reveal: true });
}

function stepOnRow(forward: boolean): void {
    const chosen = state.selection.peek();
    const stage = currentStage.peek();
    if (!stage) return;
    if (chosen?.kind !== "zone" && chosen?.kind !== "run") {
        const node = stage.layout.peek().nodes.find((one) => one.rows.length > 0);
        const row = node?.rows[0];
        const hit = node && row && stage.neighbour(row, node, state.view.peek().from, true, null);
        if (hit) state.select(selectionOf(hit), { reveal: true });
        return;
    }
    const depth = chosen.kind === "zone" ? chosen.depth : chosen.lane;
    const place = stage.rowOf(chosen.track, chosen.kind === "run", depth);
    const hit = place && stage.neighbour(place.row, place.node, chosen.start, forward, null);
    if (hit) state.select(selectionOf(hit), { reveal: true });
}

function stepDepth(down: boolean): void {
    const chosen = state.selection.peek();
    const stage = currentStage.peek();
    if (!stage || chosen?.kind !== "zone") return;
    const depth = chosen.depth + (down ? 1 : -1);
    const place = stage.rowOf(chosen.track, false, depth);
    if (!place) return;
    const time = down ? chosen.start - 1 : chosen.start + 1;
    const hit = stage.neighbour(place.row, place.node, time, down, null);
    const next = hit && selectionOf(hit);
    if (next?.kind !== "zone" || (down && next.start >= chosen.end)) return;
    state.select(next, { reveal: true });
}

let lastFit: Selection | null = null;

export function fitSelection(): void {
    const chosen = state.selection.peek();
    const span = selectedSpan();
    if (!chosen || !span) return;
    const again = lastFit === chosen || chosen.kind === "range";
    lastFit = chosen;
    if (again || span.to - span.from > length()) return fit(span);
    const centre = (span.from + span.to) / 2;
    state.setView({ from: centre - length() / 2, to: centre + length() / 2 });
}

function windowFromHere(): void {
    const chosen = state.selection.peek();
    const span = chosen?.kind === "range" ? selectedSpan() : null;
    state.pushWindow(span ?? state.view.peek(), span ? "range" : "view");
}

/** Moves an edge of the selected range. */
function growRange(ns: number, edge: "from" | "to"): void {
    const span = selectedSpan();
    if (!span) return;
    const from = edge === "from" ? Math.min(span.to - 1, Math.max(0, Math.round(span.from + ns))) : span.from;
    state.select({ kind: "range", from, to: edge === "to" ? Math.max(from + 1, Math.round(span.to + ns)) : span.to });
}

function cycleRegions(back: boolean): void {
    const regions = [...document.querySelectorAll<HTMLElement>("[data-region]")];
    const at = regions.findIndex((region) => region.contains(document.activeElement));
    const seen = (one: HTMLElement) => one.checkVisibility();
    for (let step = 1; step <= regions.length; step++) {
        const next = regions[(at + regions.length + (back ? (at < 0 ? 1 : 0) - step : step)) % regions.length];
        const target = [...(next?.querySelectorAll<HTMLElement>("button:not([tabindex='-1']), input, [tabindex='0'], a") ?? [])].find(seen);
        if (target) return target.focus();
    }
}

function mark(keep: boolean): void {
    const time = Math.round(middle());
    const others = state.marks.peek().filter((one) => keep || one.name !== "");
    state.marks.value = [...others, { time, name: keep ? `mark ${others.length + 1}` : "" }];
}

function escape(): void {
    if (!closeTopmost()) state.select(null);
}

/** From an estimate to what was measured, and from a run to its estimate; else along the arrows of launches. */
function follow(forward: boolean): void {
    const chosen = state.selection.peek();
    const data = currentOverlay();
    const run = data && forward && chosen?.kind === "estimate" ? runOfBox(data, chosen.index) : null;
    const index = data && !forward && chosen?.kind === "run" ? boxOfRun(data, chosen) : -1;
    if (run && run.lane !== null) state.select({ kind: "run", track: run.track, lane: run.lane, start: run.start, end: run.end }, { reveal: true });
    else if (index >= 0) state.select({ kind: "estimate", index });
    else followFlow(forward);
}

const BY_CHARACTER: Record<string, (event: KeyboardEvent) => void> = {
    "+": () => zoomAt(middle(), 0.8),
    "=": () => zoomAt(middle(), 0.8),
    "-": () => zoomAt(middle(), 1.25),
    "0": () => state.setView(state.whole.peek()),
    Home: () => state.setView(state.whole.peek()),
    PageUp: () => currentStage.peek()?.scrollTo(currentStage.peek()!.scrollY.peek() - 200),
    PageDown: () => currentStage.peek()?.scrollTo(currentStage.peek()!.scrollY.peek() + 200),
    f: () => fitSelection(),
    F: () => findSelected(),
    g: () => stepGap(true),
    G: () => stepGap(false),
    ".": () => stepSame(true),
    ",": () => stepSame(false),
    "[": () => follow(false),
    "]": () => follow(true),
    n: () => void stepHit(true),
    N: () => void stepHit(false),
    r: () => {
        const span = selectedSpan();
        if (span) state.select({ kind: "range", ...span });
    },
    l: () => state.follow(true),
    " ": () => state.follow(false),
    m: () => mark(false),
    M: () => mark(true),
    z: () => undoView(),
    Z: () => redoView(),
    q: () => (state.drawerFolded.value = !state.drawerFolded.peek()),
    i: () => (state.inspectorShown.value = !state.inspectorShown.peek()),
    "?": () => (state.helpShown.value = !state.helpShown.peek()),
    "/": () => document.querySelector<HTMLInputElement>("[data-search]")?.focus(),
    Escape: () => escape(),
    Enter: () => windowFromHere(),
    Backspace: () => state.keepCrumbs(state.crumbs.peek().length - 1),
    ArrowLeft: (event) => (event.shiftKey ? growRange(-length() / 40, "to") : stepOnRow(false)),
    ArrowRight: (event) => (event.shiftKey ? growRange(length() / 40, "to") : stepOnRow(true)),
    ArrowUp: () => stepDepth(false),
    ArrowDown: () => stepDepth(true),
};

const ON_STAGE_ONLY = new Set(["Enter", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]);

function findSelected(): void {
    const chosen = state.selection.peek();
    const id = chosen && "name" in chosen && typeof chosen.name === "number" ? chosen.name : null;
    const name = id === null ? undefined : state.names.peek().get(id);
    if (name) state.select({ kind: "name", name: name.text });
}

const HITS_MAX = 5000;

/** The next or previous call of the name that was searched, in time. */
async function stepHit(forward: boolean): Promise<void> {
    const chosen = state.selection.peek();
    const names = state.names.peek();
    const id = chosen?.kind === "name" ? names.idOf(chosen.name) : chosen?.kind === "zone" ? chosen.name : undefined;
    if (id === undefined) return;
    const { from, to } = state.window_.peek();
    const { calls, count } = await getJson<FindResult>(state.tracePath("find"), { name: id, from, to, limit: HITS_MAX });
    const sorted = calls.sort((a, b) => a.start - b.start);
    const now = chosen?.kind === "zone" ? chosen.start : middle();
    const at = forward ? sorted.findIndex((call) => call.start > now) : sorted.findLastIndex((call) => call.start < now);
    const call = sorted[at < 0 ? (forward ? 0 : sorted.length - 1) : at];
    if (!call) return;
    const place = `${group(sorted.indexOf(call) + 1)} of ${group(count)}`;
    state.spoken.value = place;
    state.select({ kind: "zone", track: call.track, depth: call.depth, start: call.start, end: call.end, name: id }, { reveal: true });
    state.hitPlace.value = place;
    state.hits.value = sorted.map((one) => one.start);
}

function byPosition(event: KeyboardEvent): boolean {
    const page = event.shiftKey ? 1 : 0.15;
    switch (event.code) {
        case "KeyW": zoomAt(middle(), 0.8); return true;
        case "KeyS": zoomAt(middle(), 1.25); return true;
        case "KeyA": panBy(-length() * page); return true;
        case "KeyD": panBy(length() * page); return true;
        default: return false;
    }
}

export function listenToKeys(): void {
    addEventListener("keydown", (event) => {
        if (event.key === "F6") {
            event.preventDefault();
            return cycleRegions(event.shiftKey);
        }
        if (event.ctrlKey || event.metaKey || event.defaultPrevented) return;
        if (inField(event.target) || !state.trace.peek()) return;
        if (event.altKey) {
            const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
            if (!way || !event.shiftKey) return;
            event.preventDefault();
            return growRange((way * length()) / 40, "from");
        }
        const onButton = event.target instanceof HTMLElement && !!event.target.closest("button, a, [role=treeitem], [role=separator], tr");
        if (onButton && (ON_STAGE_ONLY.has(event.key) || event.key === " ")) return;
        if (byPosition(event)) return event.preventDefault();
        const tab = tabsOf(state.trace.peek())[Number(event.key) - 1];
        if (/^[1-9]$/.test(event.key) && tab) {
            state.panel.value = tab.id;
            return;
        }
        const act = BY_CHARACTER[event.key];
        if (!act) return;
        event.preventDefault();
        act(event);
    });
}
