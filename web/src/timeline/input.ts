// SPDX-License-Identifier: Apache-2.0
// Mouse, touchpad and touch on the stage, the ruler and the map of the whole trace.
import { FLAG_GAP, FLAG_SUMMARY } from "../model/rows";
import * as state from "../model/state";
import { addItem, type Item, type Span } from "../model/url";
import { ZONE_HEIGHT } from "./layout";
import type { Hit, Stage } from "./stage";
import { setFirstDepth } from "./tracks";

const DRAG_FROM = 4;
const TOOLTIP_AFTER_MS = 60;
const LONG_PRESS_MS = 500;
const EDGE_REACH = 5;

export const wheelZooms = { value: localStorage.getItem("opscope.wheelZooms") === "1" };

export function zoomAt(time: number, factor: number): void {
    const { from, to } = state.view.peek();
    const length = Math.min((to - from) * factor, state.whole.peek().to);
    const share = (time - from) / (to - from);
    rememberView();
    state.setView({ from: time - length * share, to: time - length * share + length });
}

export function panBy(ns: number): void {
    const { from, to } = state.view.peek();
    const end = state.whole.peek().to;
    const move = Math.min(Math.max(ns, -from), end - to);
    state.setView({ from: from + move, to: to + move });
}

// ---- history of views: z and Shift + z

let past: Span[] = [];
let future: Span[] = [];
let lastRemembered = 0;

export function rememberView(): void {
    const now = performance.now();
    if (now - lastRemembered > 600) {
        past = [...past.slice(-99), state.view.peek()];
        future = [];
    }
    lastRemembered = now;
}

export function undoView(): void {
    const span = past.pop();
    if (!span) return;
    future.push(state.view.peek());
    state.setView(span);
}

export function redoView(): void {
    const span = future.pop();
    if (!span) return;
    past.push(state.view.peek());
    state.setView(span);
}

export function selectionOf(hit: Hit): Item | null {
    const { track } = hit.row;
    if (hit.flags & FLAG_GAP) return { kind: "gap", track, start: hit.start, end: hit.end };
    if (hit.zones !== 1 || hit.flags & FLAG_SUMMARY) return null;
    if (hit.row.runs) return { kind: "run", track, lane: hit.row.depth, start: hit.start, end: hit.end, name: hit.name };
    return { kind: "zone", track, depth: hit.row.depth, start: hit.start, end: hit.end, name: hit.name };
}

type Drag =
    | { kind: "range" | "second" | "zoom"; from: number; moved: boolean; x: number; y: number }
    | { kind: "pan"; x: number; y: number; moved: boolean }
    | { kind: "edge"; other: number; moved: boolean };

export class StageInput {
    private drag: Drag | null = null;
    private readonly touches = new Map<number, { x: number; y: number }>();
    private timer = 0;
    private press = 0;

    constructor(private readonly stage: Stage, private readonly element: HTMLElement) {
        const on = <K extends keyof HTMLElementEventMap>(type: K, act: (event: HTMLElementEventMap[K]) => void) =>
            element.addEventListener(type, act as EventListener, { passive: false });
        on("wheel", (event) => this.wheel(event));
        on("pointerdown", (event) => this.down(event));
        on("pointermove", (event) => this.move(event));
        on("pointerup", (event) => this.up(event));
        on("pointercancel", (event) => this.cancel(event));
        on("pointerleave", () => this.leave());
        on("dblclick", (event) => this.doubleClick(event));
        on("contextmenu", (event) => event.preventDefault());
    }

    private at(event: MouseEvent): { x: number; y: number } {
        const box = this.element.getBoundingClientRect();
        return { x: event.clientX - box.left, y: event.clientY - box.top };
    }

    private wheel(event: WheelEvent): void {
        event.preventDefault();
        const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
        const { x } = this.at(event);
        const zooms = event.ctrlKey || event.metaKey || (wheelZooms.value && !event.shiftKey);
        if (zooms) {
            zoomAt(this.stage.timeAt(x), Math.exp(Math.max(-60, Math.min(60, event.deltaY * unit)) * 0.005));
            return;
        }
        const across = event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX;
        if (across) panBy((across * unit) / this.stage.scale);
        if (!event.shiftKey && event.deltaY) this.scroll(this.at(event).y, event.deltaY * unit);
    }

    /** A track that scrolls by itself first, then the tracks that stay at the top, then the others. */
    private scroll(y: number, by: number): void {
        const { stage } = this;
        const own = stage.nodeAt(y);
        if (own?.scroll && own.track !== null) {
            const { first, shown, all } = own.scroll;
            const to = Math.min(Math.max(0, first + Math.sign(by) * Math.max(1, Math.round(Math.abs(by) / ZONE_HEIGHT))), all - shown);
            if (to !== first) return setFirstDepth(own.track, to);
        }
        if (y < stage.pinnedArea && stage.layout.peek().pinnedHeight > stage.pinnedArea) stage.scrollPinned(stage.pinnedScroll.peek() + by);
        else stage.scrollTo(stage.scrollY.peek() + by);
    }

    private down(event: PointerEvent): void {
        const at = this.at(event);
        this.element.setPointerCapture(event.pointerId);
        this.element.focus({ preventScroll: true });
        if (event.pointerType === "touch") return this.touchDown(event, at);
        const edge = this.rangeEdge(at.x);
        if (event.button === 0 && edge !== null) this.drag = { kind: "edge", other: edge, moved: false };
        else if (event.button === 0 && event.shiftKey && state.selection.peek()?.kind === "range") {
            this.drag = { kind: "second", from: event.altKey ? this.stage.timeAt(at.x) : this.stage.snap(at.x, at.y), moved: false, ...at };
        } else if (event.button === 2 || (event.button === 0 && event.shiftKey)) this.drag = { kind: "pan", ...at, moved: false };
        else if (event.button === 1) this.drag = { kind: "zoom", from: this.stage.timeAt(at.x), moved: false, ...at };
        else if (event.button === 0) {
            const from = event.altKey ? this.stage.timeAt(at.x) : this.stage.snap(at.x, at.y);
            this.drag = { kind: "range", from, moved: false, ...at };
        }
        if (event.button === 1) event.preventDefault();
        rememberView();
    }

    /** The other edge of the selected range when the pointer is on one of its edges. */
    private rangeEdge(x: number): number | null {
        const chosen = state.selection.peek();
        if (chosen?.kind !== "range") return null;
        const { from } = state.view.peek();
        const place = (time: number) => (time - from) * this.stage.scale;
        if (Math.abs(place(chosen.from) - x) <= EDGE_REACH) return chosen.to;
        if (Math.abs(place(chosen.to) - x) <= EDGE_REACH) return chosen.from;
        return null;
    }

    private move(event: PointerEvent): void {
        const at = this.at(event);
        if (event.pointerType === "touch") return this.touchMove(event, at);
        if (!this.drag) return this.hover(at);
        this.stage.hover.value = null;
        const drag = this.drag;
        if (drag.kind === "pan") {
            panBy((drag.x - at.x) / this.stage.scale);
            this.stage.scrollTo(this.stage.scrollY.peek() + drag.y - at.y);
            this.drag = { ...drag, ...at, moved: true };
            return;
        }
        const time = event.altKey ? this.stage.timeAt(at.x) : this.stage.snap(at.x, at.y);
        const other = drag.kind === "edge" ? drag.other : drag.from;
        if (!drag.moved && drag.kind !== "edge" && Math.abs(at.x - drag.x) < DRAG_FROM) return;
        drag.moved = true;
        this.stage.draft.value = this.clamped(other, time);
    }

    private clamped(a: number, b: number): Span {
        const end = state.whole.peek().to;
        const clamp = (time: number) => Math.round(Math.min(Math.max(time, 0), end));
        return { from: Math.min(clamp(a), clamp(b)), to: Math.max(clamp(a), clamp(b)) };
    }

    private hover(at: { x: number; y: number }): void {
        this.element.style.cursor = this.rangeEdge(at.x) !== null ? "ew-resize" : "crosshair";
        clearTimeout(this.timer);
        const hit = this.stage.hitAt(at.x, at.y);
        const box = hit ? -1 : this.stage.boxAt(at.x, at.y);
        const before = this.stage.hover.peek();
        const same = hit ? before?.hit && before.hit.start === hit.start && before.hit.row === hit.row : before?.box === box;
        this.stage.hover.value = { hit: same ? hit : null, box: same ? box : -1, ...at };
        if (same || (!hit && box < 0)) return;
        this.timer = window.setTimeout(() => {
            this.stage.hover.value = { hit, box, ...at };
            state.hoverName.value = hit && hit.zones === 1 && !(hit.flags & FLAG_GAP) ? hit.name : null;
        }, TOOLTIP_AFTER_MS);
    }

    private leave(): void {
        clearTimeout(this.timer);
        this.stage.hover.value = null;
        state.hoverName.value = null;
    }

    private up(event: PointerEvent): void {
        clearTimeout(this.press);
        if (event.pointerType === "touch") this.touches.delete(event.pointerId);
        const drag = this.drag;
        const draft = this.stage.draft.peek();
        this.drag = null;
        this.stage.draft.value = null;
        if (!drag) return;
        if (draft && drag.moved && draft.to > draft.from) {
            const chosen = state.selection.peek();
            if (drag.kind === "zoom") state.setView(draft);
            else if (drag.kind === "second" && chosen?.kind === "range") state.select({ ...chosen, other: draft });
            else state.select({ kind: "range", ...draft });
        } else if (!drag.moved && event.button === 0 && drag.kind !== "edge") {
            this.click(this.at(event), event.ctrlKey || event.metaKey);
        }
    }

    private cancel(event: PointerEvent): void {
        clearTimeout(this.press);
        this.touches.delete(event.pointerId);
        this.drag = null;
        this.stage.draft.value = null;
    }

    private click(at: { x: number; y: number }, adds: boolean): void {
        const hit = this.stage.hitAt(at.x, at.y);
        const item = hit && selectionOf(hit);
        if (adds) {
            if (item) state.select(addItem(state.selection.peek(), item));
            return;
        }
        const box = hit ? -1 : this.stage.boxAt(at.x, at.y);
        state.select(hit ? item : box >= 0 ? { kind: "estimate", index: box } : null);
    }

    private doubleClick(event: MouseEvent): void {
        const { x, y } = this.at(event);
        const hit = this.stage.hitAt(x, y);
        if (!hit) return;
        rememberView();
        if (hit.zones === 1 || hit.flags & FLAG_GAP) fit({ from: hit.start, to: hit.end });
        else zoomAt(this.stage.timeAt(x), 1 / 16);
    }

    // ---- touch: one finger pans, two zoom, a long press selects a range

    private touchDown(event: PointerEvent, at: { x: number; y: number }): void {
        this.touches.set(event.pointerId, at);
        clearTimeout(this.press);
        if (this.touches.size > 1) {
            this.drag = null;
            return;
        }
        this.drag = { kind: "pan", ...at, moved: false };
        this.press = window.setTimeout(() => {
            this.drag = { kind: "range", from: this.stage.timeAt(at.x), moved: false, ...at };
            navigator.vibrate?.(10);
        }, LONG_PRESS_MS);
    }

    private touchMove(event: PointerEvent, at: { x: number; y: number }): void {
        const before = this.touches.get(event.pointerId);
        if (!before) return;
        if (Math.hypot(at.x - before.x, at.y - before.y) > DRAG_FROM) clearTimeout(this.press);
        const [a, b] = [...this.touches.values()];
        this.touches.set(event.pointerId, at);
        if (a && b) {
            const [c, d] = [...this.touches.values()];
            if (!c || !d) return;
            const apart = Math.max(20, Math.abs(a.x - b.x)) / Math.max(20, Math.abs(c.x - d.x));
            zoomAt(this.stage.timeAt((c.x + d.x) / 2), apart);
            panBy(((a.x + b.x) / 2 - (c.x + d.x) / 2) / this.stage.scale);
            return;
        }
        const drag = this.drag;
        if (drag?.kind === "range") {
            drag.moved = true;
            this.stage.draft.value = this.clamped(drag.from, this.stage.timeAt(at.x));
        } else if (drag?.kind === "pan" && (drag.moved || Math.hypot(at.x - drag.x, at.y - drag.y) > DRAG_FROM)) {
            panBy((drag.x - at.x) / this.stage.scale);
            this.stage.scrollTo(this.stage.scrollY.peek() + drag.y - at.y);
            this.drag = { kind: "pan", ...at, moved: true };
        }
    }
}

/** Shows a span with a little room on both sides. */
export function fit(span: Span): void {
    const room = Math.max(span.to - span.from, 4) * 0.08;
    state.setView({ from: span.from - room, to: span.to + room });
}

/** The map of the whole trace: dragging moves the box, its edges resize it, a double click shows everything. */
export function mapInput(element: HTMLElement): void {
    let mode: "move" | "from" | "to" | null = null;
    let offset = 0;
    const timeAt = (event: MouseEvent) => {
        const box = element.getBoundingClientRect();
        return ((event.clientX - box.left) / box.width) * state.whole.peek().to;
    };
    element.addEventListener("pointerdown", (event) => {
        element.setPointerCapture(event.pointerId);
        const time = timeAt(event);
        const { from, to } = state.view.peek();
        const reach = (5 / element.clientWidth) * state.whole.peek().to;
        rememberView();
        if (Math.abs(time - from) < reach) mode = "from";
        else if (Math.abs(time - to) < reach) mode = "to";
        else mode = "move";
        offset = time > from && time < to ? time - from : (to - from) / 2;
        if (mode === "move") state.setView({ from: time - offset, to: time - offset + to - from });
    });
    element.addEventListener("pointermove", (event) => {
        if (!mode) return;
        const time = timeAt(event);
        const { from, to } = state.view.peek();
        if (mode === "move") state.setView({ from: time - offset, to: time - offset + to - from });
        else if (mode === "from" && time < to) state.setView({ from: time, to });
        else if (mode === "to" && time > from) state.setView({ from, to: time });
    });
    element.addEventListener("pointerup", () => (mode = null));
    element.addEventListener("dblclick", () => state.setView(state.whole.peek()));
}
