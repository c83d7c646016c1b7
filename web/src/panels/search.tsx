// SPDX-License-Identifier: Apache-2.0
// One field for names, files, messages and tracks; results in groups, chosen with the arrow keys.
import { signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { getJson } from "../model/api";
import { duration, group } from "../model/format";
import * as state from "../model/state";
import { fileName, safeText, shortName } from "../model/text";
import type { SearchResult } from "../model/types";

interface Found {
    group: string;
    label: string;
    side: string;
    act: () => void;
}

const query = signal("");
const found = signal<Found[] | null>(null);
const at = signal(0);
let asked = 0;

function listOf(answer: SearchResult, text: string): Found[] {
    const list: Found[] = [];
    const lower = text.toLowerCase();
    for (const row of (state.ops.data.peek()?.groups ?? []).filter((one) => one.name.toLowerCase().includes(lower)).slice(0, 20)) {
        list.push({ group: "Ops", label: shortName(row.name), side: `${group(row.count)}, ${duration(row.device_ns)}`, act: () => state.select({ kind: "op", name: row.name }) });
    }
    for (const row of answer.names) {
        const side = `${row.file ? `${fileName(row.file)}, ` : ""}${group(row.count)}, ${duration(row.total)}`;
        list.push({ group: "Functions", label: shortName(row.text), side, act: () => state.select({ kind: "name", name: row.text }) });
    }
    for (const row of answer.tracks ?? []) {
        list.push({ group: "Tracks", label: safeText(row.text), side: "", act: () => state.showPlace(state.view.peek().from, state.view.peek().to, row.track, false) });
    }
    for (const row of answer.messages ?? []) {
        list.push({ group: "Messages", label: safeText(row.text), side: duration(row.time, 5), act: () => state.showPlace(row.time, row.time + 1, row.track, false) });
    }
    return list;
}

async function look(text: string): Promise<void> {
    const mine = ++asked;
    if (!text.trim()) {
        found.value = null;
        return;
    }
    try {
        const answer = await getJson<SearchResult>(state.tracePath("search"), { q: text.trim(), limit: 50 });
        if (mine !== asked) return;
        found.value = listOf(answer, text.trim());
        at.value = 0;
    } catch {
        if (mine === asked) found.value = [];
    }
}

function Results({ close }: { close: () => void }) {
    const list = found.value;
    if (!list) return null;
    if (!list.length) {
        const lost = state.trace.value?.lost_zones ?? 0;
        return (
            <div class="results">
                <p>No name contains '{safeText(query.value)}'. Names are case-insensitive{lost ? `; ${group(lost)} lost zones may have had it` : ""}.</p>
            </div>
        );
    }
    let before = "";
    return (
        <div class="results" role="listbox" id="search-results" aria-label="Results">
            {list.map((one, index) => {
                const head = one.group !== before ? <h3>{one.group}</h3> : null;
                before = one.group;
                return (
                    <div key={index} role="presentation">
                        {head}
                        <div role="option" id={`result-${index}`} aria-selected={index === at.value}
                            onPointerDown={(event) => { event.preventDefault(); one.act(); close(); }}>
                            <span class="el fill">{one.label}</span><span class="t3">{one.side}</span>
                        </div>
                    </div>
                );
            })}
        </div>
    );
}

export function Search() {
    const input = useRef<HTMLInputElement>(null);
    const close = () => {
        found.value = null;
        input.current?.blur();
    };
    const onKeyDown = (event: KeyboardEvent) => {
        const list = found.value ?? [];
        if (event.key === "ArrowDown") at.value = Math.min(list.length - 1, at.value + 1);
        else if (event.key === "ArrowUp") at.value = Math.max(0, at.value - 1);
        else if (event.key === "Escape") close();
        else if (event.key === "Enter") {
            list[at.value]?.act();
            close();
        } else return;
        event.preventDefault();
        event.stopPropagation();
    };
    return (
        <div class="search" role="search" data-region>
            <div class="field">
                <svg width="14" height="14" viewBox="0 0 14 14" fill="none" stroke="currentColor" stroke-width="1.5" aria-hidden="true">
                    <circle cx="6" cy="6" r="4.2" /><path d="M9.2 9.2 13 13" />
                </svg>
                <input ref={input} data-search type="text" placeholder="Search" aria-label="Search names, files, messages, tracks" role="combobox"
                    aria-expanded={found.value !== null} aria-controls="search-results" aria-activedescendant={found.value?.length ? `result-${at.value}` : undefined}
                    value={query.value} onInput={(event) => { query.value = event.currentTarget.value; void look(query.value); }}
                    onFocus={() => void look(query.value)} onBlur={() => (found.value = null)} onKeyDown={onKeyDown} />
                <kbd>/</kbd>
            </div>
            <Results close={close} />
        </div>
    );
}
