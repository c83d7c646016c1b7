// SPDX-License-Identifier: Apache-2.0
// Tabs: one stop for the keyboard, arrow keys go from one to the next and open it.
import type { ComponentChildren } from "preact";
import { stepTo } from "./menu";

export interface TabOf<T extends string> {
    id: T;
    label: ComponentChildren;
    kind?: string;
}

export function TabList<T extends string>({ label, tabs, shown, show, kind = "" }: {
    label: string; tabs: readonly TabOf<T>[]; shown: T | undefined; show: (id: T, key: boolean) => void; kind?: string;
}) {
    const onKeyDown = (event: KeyboardEvent & { currentTarget: HTMLElement }) => {
        const seen = [...event.currentTarget.querySelectorAll<HTMLElement>("[role=tab]")].filter((one) => one.checkVisibility());
        const to = stepTo(event.key, seen.indexOf(document.activeElement as HTMLElement), seen.length, "ArrowLeft", "ArrowRight");
        const found = seen[to];
        if (!found) return;
        event.preventDefault();
        event.stopPropagation();
        found.focus();
        show(found.dataset["tab"] as T, true);
    };
    return (
        <div class={`tab-list ${kind}`} role="tablist" aria-label={label} onKeyDown={onKeyDown}>
            {tabs.map((tab, index) => (
                <button key={tab.id} class={tab.kind ?? ""} role="tab" data-tab={tab.id} aria-selected={shown === tab.id}
                    tabIndex={shown === tab.id || (index === 0 && !tabs.some((one) => one.id === shown)) ? 0 : -1}
                    onClick={() => show(tab.id, false)}>{tab.label}</button>
            ))}
        </div>
    );
}
