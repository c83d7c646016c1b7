// SPDX-License-Identifier: Apache-2.0
// A menu as people know it: the focus moves in and returns, arrow keys, Home and End move, Escape, Tab and a click
// elsewhere close.
import { useEffect, useRef } from "preact/hooks";
import { useLayer } from "./layers";

export interface Entry {
    label: string;
    keys?: string;
    act: () => void;
}

interface Properties {
    label: string;
    entries: readonly Entry[];
    close: () => void;
    /** Gives the focus back; without it, what had the focus before gets it. */
    giveBack?: () => void;
    kind?: string;
}

/** What arrow keys, Home and End lead to in a list of `count`; -1: the key does not move. */
export function stepTo(key: string, at: number, count: number, back = "ArrowUp", on = "ArrowDown"): number {
    if (count === 0) return -1;
    if (key === on) return (at + 1) % count;
    if (key === back) return (Math.max(0, at) + count - 1) % count;
    return key === "Home" ? 0 : key === "End" ? count - 1 : -1;
}

export function Menu({ label, entries, close, giveBack, kind = "" }: Properties) {
    const element = useRef<HTMLDivElement>(null);
    const before = useRef(document.activeElement);
    const leave = () => {
        close();
        if (giveBack) giveBack();
        else if (before.current instanceof HTMLElement) before.current.focus();
    };
    useLayer(leave);
    useEffect(() => {
        element.current?.querySelector("button")?.focus();
        const outside = (event: PointerEvent) => {
            const at = event.target as HTMLElement;
            if (!element.current?.contains(at) && !at.closest("[aria-haspopup=menu][aria-expanded=true]")) close();
        };
        addEventListener("pointerdown", outside, true);
        return () => removeEventListener("pointerdown", outside, true);
    }, []);
    const onKeyDown = (event: KeyboardEvent) => {
        const items = [...(element.current?.querySelectorAll("button") ?? [])];
        const to = stepTo(event.key, items.indexOf(document.activeElement as HTMLButtonElement), items.length);
        event.stopPropagation();
        if (event.key === "Enter" || event.key === " ") return;
        if (event.key === "Tab") return leave();
        event.preventDefault();
        if (event.key === "Escape") leave();
        else items[to]?.focus();
    };
    return (
        <div ref={element} class={`menu ${kind}`} role="menu" aria-label={label} onKeyDown={onKeyDown}>
            {entries.map((entry) => (
                <button key={entry.label} role="menuitem" tabIndex={-1} onClick={(event) => { event.stopPropagation(); leave(); entry.act(); }}>
                    {entry.label}{entry.keys && <kbd>{entry.keys}</kbd>}
                </button>
            ))}
        </div>
    );
}
