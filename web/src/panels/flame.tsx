// SPDX-License-Identifier: Apache-2.0
// Flame graph, root on top: wrappers pale, leaves strong. A click zooms in, the crumbs above lead back.
import { signal, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { duration, percent, plural } from "../model/format";
import { WRAPPER_SELF_RATIO } from "../model/styles";
import { Resource } from "../model/resource";
import * as state from "../model/state";
import { matcher, safeText, shortName } from "../model/text";
import type { FlameNode } from "../model/types";

const ROW = 18;
const LEAST_PX = 2;

function idsOf(node: FlameNode, into: Set<number>): Set<number> {
    if (node.name !== null) into.add(node.name);
    for (const child of node.children ?? []) idsOf(child, into);
    return into;
}

export const callTree = new Resource<FlameNode>(async (answer) => {
    void state.names.value.need(idsOf(answer, new Set()));
});

/** From the root down to what is called, or from each function up to its callers. */
export const direction = signal<"down" | "up">("down");

export interface Box {
    node: FlameNode;
    path: FlameNode[];
    left: number;
    width: number;
    level: number;
}

function boxes(root: FlameNode, width: number, levels: number): Box[] {
    const found: Box[] = [];
    const visit = (node: FlameNode, path: FlameNode[], left: number, scale: number, level: number) => {
        let at = left;
        for (const child of node.children ?? []) {
            const size = child.total * scale;
            if (size >= LEAST_PX && level < levels) {
                const below = [...path, child];
                found.push({ node: child, path: below, left: at, width: size, level });
                visit(child, below, at, scale, level + 1);
            }
            at += size;
        }
    };
    const inside = (root.children ?? []).reduce((sum, child) => sum + child.total, 0);
    visit(root, [], 0, width / Math.max(1, root.total, inside), 0);
    return found;
}

/** Where an arrow key leads from a box: up to its caller, down to the first that it calls, left and right on its level. */
export function neighbour(list: readonly Box[], at: number, key: string): number | null {
    const now = list[at];
    if (!now) return null;
    const inside = (one: Box) => one.left >= now.left - 0.5 && one.left < now.left + now.width;
    const around = (one: Box) => one.left <= now.left + 0.5 && one.left + one.width > now.left;
    const found = key === "ArrowDown" ? list.findIndex((one) => one.level === now.level + 1 && inside(one))
        : key === "ArrowUp" ? list.findIndex((one) => one.level === now.level - 1 && around(one))
        : key === "ArrowRight" ? list.findIndex((one, index) => index > at && one.level === now.level)
        : key === "ArrowLeft" ? list.findLastIndex((one, index) => index < at && one.level === now.level) : -1;
    return found < 0 ? null : found;
}

function useTree(direction: string): void {
    useSignalEffect(() => {
        const { from, to } = state.window_.value;
        if (state.trace.value) callTree.load(state.tracePath("flame"), { from, to, direction, min: "0.0005" }, state.trace.value.generation);
    });
}

function Graph({ root, levels, onZoom, match }: { root: FlameNode; levels: number; onZoom: (path: FlameNode[]) => void; match?: (text: string) => boolean }) {
    const element = useRef<HTMLDivElement>(null);
    const width = useSignal(380);
    useEffect(() => {
        const inside = element.current;
        if (!inside) return;
        const watcher = new ResizeObserver(() => (width.value = inside.clientWidth));
        watcher.observe(inside);
        return () => watcher.disconnect();
    }, []);
    const names = state.names.value;
    void names.version.value;
    const list = boxes(root, width.value, levels);
    const stop = useSignal(0);
    const stopAt = Math.min(stop.value, Math.max(0, list.length - 1));
    const onKeyDown = (event: KeyboardEvent & { currentTarget: HTMLElement }) => {
        const to = neighbour(list, stopAt, event.key);
        if (to === null) return;
        event.preventDefault();
        event.stopPropagation();
        stop.value = to;
        event.currentTarget.querySelectorAll<HTMLElement>(".node")[to]?.focus();
    };
    const deepest = Math.max(0, ...list.map((box) => box.level));
    return (
        <div ref={element} style={{ position: "relative", height: `${(deepest + 1) * ROW}px` }} role="group" onKeyDown={onKeyDown}
            aria-label={`Flame graph of ${duration(root.total)}; arrow keys go to callers, callees and neighbours`}>
            {list.map(({ node, path, left, width: size, level }, index) => {
                const name = node.name === null ? undefined : names.get(node.name);
                const text = name ? shortName(name.text) : node.name === null ? "other" : "…";
                const colour = names.colour(node.name);
                const pale = node.total > 0 && node.self / node.total < WRAPPER_SELF_RATIO;
                const hit = match && name && match(name.text) ? "hit" : "";
                const kind = name?.wait ? "wait" : `${node.name === null ? "wait" : `c${colour}`} ${pale ? "pale" : ""}`;
                const style = { left: `${left}px`, width: `${Math.max(1, size - 1)}px`, top: `${level * ROW}px`, "--node": `var(--n${colour})` };
                return (
                    <button key={path.map((one) => one.name).join("/")} class={`node ${kind} ${hit}`} style={style} onClick={() => onZoom(path)}
                        tabIndex={index === stopAt ? 0 : -1} onFocus={() => (stop.value = index)} aria-label={`${text}, ${duration(node.total)}, ${plural(node.count, "call")}`} title={`${safeText(name?.text ?? text)}\n${duration(node.total)} in all, ${duration(node.self)} own, ${plural(node.count, "call")}`}>
                        {size > 34 ? text : ""}
                    </button>
                );
            })}
        </div>
    );
}

/** The first levels, small, for the band. */
export function Icicle({ levels }: { levels: number }) {
    useTree("down");
    const root = callTree.data.value;
    if (!root) return <p class="t2">{callTree.error.value ?? "Counting …"}</p>;
    if (!root.children?.length) return <p class="t2">No zones in this window.</p>;
    const open = (path: FlameNode[]) => {
        const name = state.names.value.get(path[path.length - 1]?.name ?? -1);
        if (name) state.select({ kind: "name", name: name.text });
    };
    return <div class="flame" style={{ padding: "8px 0 0", height: "160px", overflow: "hidden" }}><Graph root={root} levels={levels} onZoom={open} /></div>;
}

export function Flame() {
    const zoom = useSignal<FlameNode[]>([]);
    const query = useSignal("");
    useTree(direction.value);
    const top = callTree.data.value;
    if (!top) return <p class="empty">{callTree.error.value ?? "Counting …"}</p>;
    const root = zoom.value[zoom.value.length - 1] ?? top;
    const choose = (next: "down" | "up") => {
        direction.value = next;
        zoom.value = [];
    };
    const into = (path: FlameNode[]) => {
        zoom.value = [...zoom.value, ...path];
        const name = state.names.value.get(path[path.length - 1]?.name ?? -1);
        if (name) state.select({ kind: "name", name: name.text });
    };
    return (
        <>
            <div class="panel-head">
                <div class="chips" role="group" aria-label="Direction">
                    <button class="chip" aria-pressed={direction.value === "down"} onClick={() => choose("down")}>top-down</button>
                    <button class="chip" aria-pressed={direction.value === "up"} onClick={() => choose("up")}>bottom-up</button>
                </div>
                <button class="crumb" onClick={() => (zoom.value = [])}>all {duration(top.total)}</button>
                {zoom.value.slice(-3).map((node, index, shown) => (
                    <button key={index} class="crumb el" onClick={() => (zoom.value = zoom.value.slice(0, zoom.value.length - shown.length + index + 1))}>
                        › {shortName(state.names.value.text(node.name))} {percent(node.total / Math.max(1, top.total))}
                    </button>
                ))}
                <span class="fill" />
                <input class="filter-field" type="search" placeholder="Tint names" aria-label="Tint names" value={query.value}
                    onInput={(event) => (query.value = event.currentTarget.value)} />
            </div>
            <div class={`flame ${callTree.dim.value ? "dim" : ""}`}>
                <Graph root={root} levels={200} onZoom={into} {...(query.value ? { match: matcher(query.value) } : {})} />
            </div>
        </>
    );
}
