// SPDX-License-Identifier: Apache-2.0
// The tree of tracks: headers that fold, pin, hide, and that can be dragged to another place. They are elements of their
// own, so that the keyboard and screen readers reach them.
import { signal, useComputed } from "@preact/signals";
import { Menu } from "../frame/menu";
import { plural } from "../model/format";
import * as state from "../model/state";
import { nodesBetween, type Node } from "./layout";
import type { Stage } from "./stage";
import {
    actOnNode, compact, hiddenCount, hide, moveTrack, setHeight, showAll, showOnly, stepTrack, toggleCompact, toggleDeep, togglePin, trackFilter,
} from "./tracks";

const menuOf = signal<string | null>(null);
/** The track that is being dragged, and before which one it would be dropped. */
const dragged = signal<{ node: Node; before: number | null; line: number } | null>(null);
const DRAG_FROM = 4;

function focusNode(stage: Stage, node: Node): void {
    if (!node.pinned) {
        const top = stage.scrollY.peek();
        const room = stage.height - stage.pinnedArea;
        if (node.y < top) stage.scrollTo(node.y);
        else if (node.y + node.height > top + room) stage.scrollTo(node.y + node.height - room);
    }
    requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-node="${CSS.escape(node.id)}"]`)?.focus());
}

/** After a change of the tree the header of the same track has the focus again. */
function keepFocus(id: string): void {
    requestAnimationFrame(() => requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-node="${CSS.escape(id)}"]`)?.focus()));
}

function onKeys(event: KeyboardEvent, node: Node, stage: Stage): void {
    const layout = stage.layout.peek();
    const nodes = [...layout.pinned, ...layout.nodes];
    const at = nodes.indexOf(node);
    let to = -1;
    if (event.altKey && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
        stepTrack(node, event.key === "ArrowDown" ? 1 : -1);
        keepFocus(node.id);
    } else if (event.ctrlKey || event.metaKey || event.altKey) return;
    else if (event.key === "ArrowDown") to = at + 1;
    else if (event.key === "ArrowUp") to = at - 1;
    else if (event.key === "Home") to = 0;
    else if (event.key === "End") to = nodes.length - 1;
    else if (event.key === "ArrowLeft" && node.kind === "group" && !node.folded) actOnNode(node, "caret");
    else if (event.key === "ArrowLeft") to = nodes.findLastIndex((one, index) => index < at && one.level < node.level);
    else if (event.key === "ArrowRight" && node.kind === "group" && node.folded) actOnNode(node, "caret");
    else if (event.key === "ArrowRight" && node.kind === "group") to = at + 1;
    else if (event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey)) menuOf.value = node.id;
    else if (actOnNode(node, event.key)) keepFocus(node.id);
    else return;
    event.preventDefault();
    event.stopPropagation();
    const target = nodes[to];
    if (target) focusNode(stage, target);
}

// ---- dragging

function startDrag(event: PointerEvent & { currentTarget: HTMLElement }, node: Node, stage: Stage): void {
    if (event.button !== 0 || node.kind !== "track" || node.among.length < 2 || (event.target as HTMLElement).closest("button, .menu")) return;
    const element = event.currentTarget;
    const top = event.clientY;
    const follow = (move: PointerEvent) => {
        if (!dragged.peek() && Math.abs(move.clientY - top) < DRAG_FROM) return;
        if (!element.hasPointerCapture(event.pointerId)) element.setPointerCapture(event.pointerId);
        const layout = stage.layout.peek();
        const box = element.closest(".tree-column")?.getBoundingClientRect();
        const y = move.clientY - (box?.top ?? 0);
        const others = (node.pinned ? layout.pinned : layout.nodes).filter((one) => one.kind === "track" && one.track !== null && node.among.includes(one.track));
        const next = others.find((one) => y < stage.screenY(one) + one.height / 2);
        const last = others[others.length - 1];
        const line = next ? stage.screenY(next) : last ? stage.screenY(last) + last.height : 0;
        dragged.value = { node, before: next?.track ?? null, line };
    };
    const stop = (drop: boolean) => () => {
        element.removeEventListener("pointermove", follow);
        const found = dragged.peek();
        dragged.value = null;
        if (found && drop) moveTrack(found.node, found.before);
    };
    element.addEventListener("pointermove", follow);
    element.addEventListener("pointerup", stop(true), { once: true });
    element.addEventListener("pointercancel", stop(false), { once: true });
}

// ---- a header

function PinIcon() {
    return (
        <svg width="12" height="12" viewBox="0 0 12 12" fill="none" stroke="currentColor" stroke-width="1.3" aria-hidden="true">
            <path d="M4 1h4l-.6 4L9.5 7h-7L4.6 5zM6 7v4" />
        </svg>
    );
}

function TrackMenu({ node }: { node: Node }) {
    const track = node.track as number;
    const at = node.among.indexOf(track);
    const deep = state.deep.value.has(track);
    const entries: [string, string, () => void, boolean][] = [
        [node.pinned ? "Unpin" : "Pin to the top", "p", () => togglePin(track), true],
        [deep ? "Fewer rows" : "All rows", "Enter", () => toggleDeep(track), node.deeper > 0 || deep],
        [compact.value.has(track) ? "Rows as tall as usual" : "Small rows", "c", () => toggleCompact(track), node.rows.length > 0],
        ["Hide", "h", () => hide(track), true],
        [state.hidden.value.size ? "Show all tracks" : "Show only this", "o", () => showOnly(track), true],
        ["Move up", "Alt + ↑", () => stepTrack(node, -1), at > 0],
        ["Move down", "Alt + ↓", () => stepTrack(node, 1), at >= 0 && at < node.among.length - 1],
    ];
    return <Menu label={node.label} kind="track-menu" close={() => (menuOf.value = null)} giveBack={() => keepFocus(node.id)}
        entries={entries.filter(([, , , there]) => there).map(([label, keys, act]) => ({ label, keys, act }))} />;
}

function Tools({ node }: { node: Node }) {
    return (
        <span class="tools">
            <button class={node.pinned ? "on" : ""} tabIndex={-1} aria-pressed={node.pinned} title={node.pinned ? "Unpin (p)" : "Pin to the top (p)"}
                aria-label={`Pin ${node.label}`} onClick={(event) => { event.stopPropagation(); togglePin(node.track as number); }}><PinIcon /></button>
            <button tabIndex={-1} title="More" aria-label={`More about ${node.label}`} aria-haspopup="menu" aria-expanded={menuOf.value === node.id}
                onClick={(event) => { event.stopPropagation(); menuOf.value = menuOf.peek() === node.id ? null : node.id; }}>⋯</button>
        </span>
    );
}

/** The lower edge of a plot: dragged, or moved with the arrow keys; a double click gives it its own height again. */
function HeightSeparator({ node }: { node: Node }) {
    return (
        <div class="height-separator" role="separator" tabIndex={-1} aria-orientation="horizontal" aria-label={`Height of ${node.label}`} aria-valuenow={node.height}
            onPointerDown={(event) => { event.stopPropagation(); event.currentTarget.setPointerCapture(event.pointerId); }}
            onPointerMove={(event) => event.buttons === 1 && setHeight(node.id, node.height + event.movementY)}
            onDblClick={() => setHeight(node.id, null)}
            onKeyDown={(event) => {
                const step = { ArrowUp: -8, ArrowDown: 8 }[event.key];
                if (!step) return;
                event.preventDefault();
                event.stopPropagation();
                setHeight(node.id, node.height + step);
            }} />
    );
}

function depthText(node: Node): string {
    if (!node.scroll) return `+${node.deeper} deeper`;
    const { first, shown, all } = node.scroll;
    return `${first + 1} to ${first + shown} of ${all}`;
}

function TreeItem({ node, stage, first }: { node: Node; stage: Stage; first: boolean }) {
    const chosen = state.selection.value;
    const isTrack = node.kind === "track";
    const selected = chosen !== null && "track" in chosen && chosen.track === node.track && isTrack;
    const lines = isTrack && (node.rows.length > 1 || node.head > 0);
    const open = menuOf.value === node.id;
    const classes = ["item", node.kind, node.tone, selected ? "selected" : "", lines ? "top" : "", open ? "with-menu" : "", dragged.value?.node.id === node.id ? "dragged" : ""];
    return (
        <div class={classes.join(" ")} role="treeitem" data-node={node.id}
            style={{ transform: `translateY(${node.y}px)`, height: `${node.head && node.kind !== "group" ? node.head : node.height}px`, paddingLeft: `${8 + node.level * 8}px` }}
            aria-level={node.level} aria-posinset={node.position} aria-selected={selected} tabIndex={first ? 0 : -1}
            aria-expanded={node.kind === "group" ? !node.folded : undefined} title={node.title} onKeyDown={(event) => onKeys(event, node, stage)}
            onClick={() => node.kind === "group" && actOnNode(node, "caret")} onPointerDown={(event) => startDrag(event, node, stage)}
            onContextMenu={(event) => { if (isTrack) { event.preventDefault(); menuOf.value = node.id; } }}>
            {node.kind === "group" && <span class={`caret ${node.folded ? "" : "open"}`} aria-hidden="true" />}
            <span class="el name">{node.label}</span>
            {isTrack && <Tools node={node} />}
            {node.note && <span class="note">{node.note}</span>}
            {node.deeper > 0 && <button class="deeper" tabIndex={-1} onClick={() => actOnNode(node, "caret")}>{depthText(node)}</button>}
            {node.figure && !node.note && <span class="figure">{node.figure}</span>}
            {open && <TrackMenu node={node} />}
            {(node.kind === "counter" || node.kind === "memory") && <HeightSeparator node={node} />}
        </div>
    );
}

export function Trees({ stage }: { stage: Stage }) {
    const layout = stage.layout.value;
    const { height } = stage.size.value;
    const area = stage.pinnedArea;
    const scrollY = stage.scrollY.value;
    const nodes = useComputed(() => nodesBetween(stage.layout.value.nodes, stage.scrollY.value - 100, stage.scrollY.value + stage.size.value.height + 100));
    const drag = dragged.value;
    return (
        <div role="tree" aria-label={`Tracks, ${layout.nodes.length + layout.pinned.length}`} class="trees" style={{ height: `${height}px` }}>
            {area > 0 && (
                <div class="tree-part pinned-part" role="group" aria-label="Pinned tracks" style={{ height: `${area}px` }}>
                    <div class="tree" style={{ transform: `translateY(${-stage.pinnedScroll.value}px)` }}>
                        {layout.pinned.map((node, index) => <TreeItem key={node.id} node={node} stage={stage} first={index === 0} />)}
                    </div>
                </div>
            )}
            <div class="tree-part" role="presentation" style={{ height: `${height - area}px`, top: `${area}px` }}>
                <div class="tree" role="presentation" style={{ transform: `translateY(${-scrollY}px)` }}>
                    {nodes.value.map((node, index) => <TreeItem key={node.id} node={node} stage={stage} first={index === 0 && area === 0} />)}
                </div>
            </div>
            {drag && <div class="drop-line" style={{ top: `${drag.line}px` }} />}
        </div>
    );
}

/** What is not shown, with the way back. */
export function HiddenNote() {
    const count = hiddenCount(state.trace.value);
    if (!count && !trackFilter.value) return null;
    return <button class="link" onClick={showAll}>{trackFilter.value ? "all tracks" : `${plural(count, "track")} hidden`}</button>;
}
