// SPDX-License-Identifier: Apache-2.0
// One field for names, files, messages, tracks and commands; results in groups, chosen with the arrow keys.
import { signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { getJson } from "../model/api";
import { duration, group, plural } from "../model/format";
import { isEmpty, isExpression, parseQuery, type Query } from "../model/search";
import { momentOf } from "../model/points";
import * as state from "../model/state";
import { fileName, matcher, safeText, shortName } from "../model/text";
import type { SearchResult, ZoneRow } from "../model/types";
import { trackFilter } from "../timeline/tracks";
import { commands } from "./commands";

interface Found {
    group: string;
    label: string;
    side: string;
    act: () => void;
    /** The list stays open: it only types something more. */
    stays?: boolean;
}

const PER_GROUP = 50;
const NAMES_FOR_EXPRESSIONS = 5000;

const query = signal("");
const found = signal<Found[] | null>(null);
const at = signal(0);
let asked = 0;

function opsOf(asked: Query): Found[] {
    const match = matcher(asked.text);
    const kind = matcher(asked.kind);
    const rows = (state.ops.data.peek()?.groups ?? []).filter((one) => match(one.name) && kind(one.kind) && (one.p99 ?? one.mean) >= asked.longest);
    return rows.slice(0, PER_GROUP).map((row) => ({
        group: "Ops", label: shortName(row.name), side: `${group(row.count)}, ${duration(row.device_ns)}`,
        act: () => state.select({ kind: "op", name: row.name }),
    }));
}

function namesOf(names: SearchResult["names"]): Found[] {
    return names.map((row) => ({
        group: "Functions", label: shortName(row.text), side: `${row.file ? `${fileName(row.file)}, ` : ""}${group(row.count)}, ${duration(row.total)}`,
        act: () => state.select({ kind: "name", name: row.text }),
    }));
}

/** Files of what was found; choosing one restricts the search to it. */
function filesOf(names: SearchResult["names"], asked: Query): Found[] {
    if (asked.file || !asked.text) return [];
    const match = matcher(asked.text);
    const files = new Map<string, number>();
    for (const { file } of names) if (file && match(file)) files.set(file, (files.get(file) ?? 0) + 1);
    return [...files].slice(0, 10).map(([file, count]) => ({
        group: "Files", label: fileName(file), side: plural(count, "function"), stays: true, act: () => type(`file:${file.split("/").pop()} `),
    }));
}

function tracksOf(tracks: readonly { track: number; text: string }[]): Found[] {
    return tracks.slice(0, PER_GROUP).map((row) => ({
        group: "Tracks", label: safeText(row.text), side: "",
        act: () => state.show({ kind: "track", track: row.track }),
    }));
}

/** Of several at one time that which says this. */
function goToMessage(row: SearchResult["messages"][number]): void {
    const points = state.points.data.peek()?.points ?? [];
    const point = points.find((one) => one.time === row.time && one.track === row.track && (one.text === row.text || one.header === row.text));
    state.select(point ? momentOf(points, point) : { kind: "moment", time: row.time, track: row.track }, { reveal: true });
}

function listOf(answer: SearchResult, asked: Query): Found[] {
    const messages = (answer.messages ?? []).map((row): Found => ({
        group: "Messages", label: safeText(row.text), side: duration(row.time, 5), act: () => goToMessage(row),
    }));
    return [...(asked.file ? [] : opsOf(asked)), ...namesOf(answer.names), ...filesOf(answer.names, asked), ...messages, ...tracksOf(answer.tracks ?? [])];
}

function commandsOf(text: string): Found[] {
    const match = matcher(text);
    return commands().filter((one) => match(one.label)).map((one) => ({ group: "Commands", label: one.label, side: one.keys, act: one.act }));
}

function trackList(asked: Query): Found[] {
    const match = matcher(asked.track);
    const tracks = (state.trace.peek()?.tracks ?? []).filter((one) => match(one.name) && (one.depths > 0 || one.runs > 0));
    const rows = tracksOf(tracks.map((one) => ({ track: one.id, text: one.name || `${one.kind} ${one.number}` })));
    const only: Found = { group: "Tracks", label: `Show only tracks with '${safeText(asked.track)}'`, side: plural(tracks.length, "track"), act: () => (trackFilter.value = asked.track) };
    return asked.track && rows.length ? [only, ...rows] : rows;
}

async function ask(asked: Query): Promise<Found[]> {
    if (asked.command !== null) return commandsOf(asked.command);
    if (asked.track) return trackList(asked);
    if (asked.kind) return opsOf(asked);
    if (isExpression(asked.text)) {
        const { from, to } = state.whole.peek();
        const { rows } = await getJson<{ rows: ZoneRow[] }>(state.tracePath("zones"), { from, to, sort: "total", top: NAMES_FOR_EXPRESSIONS });
        const match = matcher(asked.text);
        return [...opsOf(asked), ...namesOf(rows.filter((row) => match(row.text) && row.max >= asked.longest).slice(0, PER_GROUP))];
    }
    const given = { q: asked.text || null, file: asked.file || null, longest: asked.longest || null, limit: PER_GROUP };
    return listOf(await getJson<SearchResult>(state.tracePath("search"), given), asked);
}

async function look(text: string): Promise<void> {
    const mine = ++asked;
    const wanted = parseQuery(text);
    if (isEmpty(wanted)) {
        found.value = null;
        return;
    }
    try {
        const list = await ask(wanted);
        if (mine !== asked) return;
        found.value = list;
        at.value = 0;
    } catch {
        if (mine === asked) found.value = [];
    }
}

function type(text: string): void {
    query.value = text;
    void look(text);
}

function choose(one: Found | undefined, close: () => void): void {
    one?.act();
    if (!one?.stays) close();
}

function nothingText(): string {
    const asked = parseQuery(query.value);
    if (asked.command !== null) return `No command is called '${safeText(asked.command)}'.`;
    const lost = state.trace.value?.lost_zones ?? 0;
    const restricted = asked.file || asked.track || asked.kind || asked.longest;
    const what = restricted ? `Nothing matches '${safeText(query.value.trim())}'.` : `No name contains '${safeText(asked.text)}'.`;
    return `${what} Names are case-insensitive${lost ? `; ${group(lost)} lost zones may have had it` : ""}.`;
}

function Results({ close }: { close: () => void }) {
    const list = found.value;
    if (!list) return null;
    if (!list.length) return <div class="results"><p>{nothingText()}</p></div>;
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
                            onPointerDown={(event) => { event.preventDefault(); choose(one, close); }}>
                            <span class="el fill">{one.label}</span><span class="t3">{one.side}</span>
                        </div>
                    </div>
                );
            })}
        </div>
    );
}

function moveTo(index: number): void {
    at.value = index;
    document.getElementById(`result-${index}`)?.scrollIntoView({ block: "nearest" });
}

export function Search() {
    const input = useRef<HTMLInputElement>(null);
    const close = () => {
        found.value = null;
        input.current?.blur();
    };
    const onKeyDown = (event: KeyboardEvent) => {
        const list = found.value ?? [];
        if (event.key === "ArrowDown") moveTo(Math.min(list.length - 1, at.value + 1));
        else if (event.key === "ArrowUp") moveTo(Math.max(0, at.value - 1));
        else if (event.key === "Escape") close();
        else if (event.key === "Enter") choose(list[at.value], close);
        else return;
        event.preventDefault();
        event.stopPropagation();
    };
    return (
        <div class="search" role="search" data-region>
            <div class="field">
                <svg width="14" height="14" viewBox="0 0 14 14" fill="none" stroke="currentColor" stroke-width="1.5" aria-hidden="true">
                    <circle cx="6" cy="6" r="4.2" /><path d="M9.2 9.2 13 13" />
                </svg>
                <input ref={input} data-search type="text" placeholder="Search" aria-label="Search names, files, messages, tracks; > for commands" role="combobox"
                    title="file:model.py, track:stream, kind:matmul, >10ms restrict; > lists commands; * stands for anything"
                    aria-expanded={found.value !== null} aria-controls="search-results" aria-activedescendant={found.value?.length ? `result-${at.value}` : undefined}
                    value={query.value} onInput={(event) => type(event.currentTarget.value)}
                    onFocus={() => void look(query.value)} onBlur={() => (found.value = null)} onKeyDown={onKeyDown} />
                {state.hitPlace.value ? <span class="hit-place">{state.hitPlace.value}</span> : <kbd>/</kbd>}
            </div>
            <Results close={close} />
        </div>
    );
}
