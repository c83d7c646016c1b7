// SPDX-License-Identifier: Apache-2.0
// The edge of the drawer or the inspector: dragged, moved with arrow keys, reset by a double click, kept.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

interface Properties {
    name: "drawer" | "inspector";
    vertical?: boolean;
}

function apply(name: string, size: number | null): void {
    const frame = document.getElementById("frame");
    if (size === null) frame?.style.removeProperty(`--${name}`);
    else frame?.style.setProperty(`--${name}`, `${size}px`);
}

export function Separator({ name, vertical }: Properties) {
    const element = useRef<HTMLDivElement>(null);
    const key = `opscope.${name}`;
    useEffect(() => {
        const kept = Number(localStorage.getItem(key));
        if (kept >= 100 && innerWidth > 760) apply(name, kept);
        return () => apply(name, null);
    }, []);
    const size = () => {
        const box = element.current?.parentElement?.getBoundingClientRect();
        return Math.round((vertical ? box?.width : box?.height) ?? 0);
    };
    const least = vertical ? 240 : 100;
    const most = Math.round((vertical ? innerWidth : innerHeight) * 0.6);
    const now = useSignal(least);
    useEffect(() => {
        const box = element.current?.parentElement;
        if (!box) return;
        const watcher = new ResizeObserver(() => (now.value = size()));
        watcher.observe(box);
        return () => watcher.disconnect();
    }, []);
    const set = (value: number) => {
        const limited = Math.round(Math.min(most, Math.max(least, value)));
        localStorage.setItem(key, String(limited));
        apply(name, limited);
    };
    return (
        <div ref={element} class={`separator ${vertical ? "vertical" : "horizontal"}`} role="separator" tabIndex={0}
            aria-orientation={vertical ? "vertical" : "horizontal"} aria-label={`Size of the ${name}`}
            aria-valuenow={now.value} aria-valuemin={least} aria-valuemax={most}
            onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
            onPointerMove={(event) => event.buttons === 1 && set(size() - (vertical ? event.movementX : event.movementY))}
            onDblClick={() => { localStorage.removeItem(key); apply(name, null); }}
            onKeyDown={(event) => {
                const step = { ArrowLeft: 16, ArrowUp: 16, ArrowRight: -16, ArrowDown: -16 }[event.key];
                if (!step) return;
                event.preventDefault();
                event.stopPropagation();
                set(size() + step);
            }} />
    );
}
