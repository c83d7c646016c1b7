// SPDX-License-Identifier: Apache-2.0
// What is shown, as a fragment that people can read: #overview&w=51.2ms..438.9ms&sel=gap:t7:303778123&theme=dark
import { parseTime } from "./format";

export interface Span {
    from: number;
    to: number;
}

/** A zone, run or gap. Links of earlier versions have the start alone: their end is their start until it is asked for. */
export type Item =
    | { kind: "zone"; track: number; depth: number; start: number; end: number; name?: number }
    | { kind: "run"; track: number; lane: number; start: number; end: number; name?: number }
    | { kind: "gap"; track: number; start: number; end: number };

export type Selection =
    | Item
    | { kind: "set"; items: readonly Item[] }
    | { kind: "range"; from: number; to: number; other?: Span }
    /** `nth`: of several that were said then. */
    | { kind: "moment"; time: number; track: number | null; nth?: number }
    | { kind: "name"; name: string }
    | { kind: "op"; name: string }
    | { kind: "part"; key: string }
    | { kind: "advice"; index: number }
    | { kind: "diff"; key: string }
    | { kind: "estimate"; index: number }
    | { kind: "lost" };

export interface UrlState {
    panel: string;
    /** Its place in the list, or, as KEY,NAME of its file, which trace it is wherever that is served. */
    trace: number;
    traceKey: string | null;
    window: Span | null;
    view: Span | null;
    selection: Selection | null;
    group: string | null;
    query: string | null;
    pins: number[];
    folds: string[];
    hidden: number[];
    /** Only these are shown; instead of many that are hidden. */
    only: number[] | null;
    order: number[];
    /** What colours runs have: by "kind", "name" or "bound". */
    colours: string | null;
    theme: "light" | "dark" | null;
    warmup: boolean;
    /** Compare: the other trace, a window of each, and by what they are aligned ("start", "signpost:NAME", "op:NAME"). */
    other: number | null;
    otherKey: string | null;
    windowA: Span | null;
    windowB: Span | null;
    align: string;
}

export const PANELS = ["overview", "timeline", "ops", "zones", "flame", "memory", "messages", "overhead", "compare"] as const;

export function emptyState(): UrlState {
    return {
        panel: "overview", trace: 0, traceKey: null, window: null, view: null, selection: null, group: null, query: null, pins: [],
        folds: [], hidden: [], only: null, order: [], colours: null, theme: null, warmup: false, other: null, otherKey: null, windowA: null, windowB: null, align: "start",
    };
}

/** The shortest text with a unit that reads back as the same number of ns. */
export function writeTime(ns: number): string {
    const whole = Math.round(ns);
    for (const [size, unit, step] of [[1e9, "s", 1e6], [1e6, "ms", 1e3], [1e3, "us", 100]] as const) {
        if (whole >= size && whole % step === 0) return `${whole / size}${unit}`;
    }
    return `${whole}ns`;
}

function writeSpan(span: Span): string {
    return `${writeTime(span.from)}..${writeTime(span.to)}`;
}

function parseSpan(text: string): Span | null {
    const [from = NaN, to = NaN] = text.split("..").map(parseTime);
    return from >= 0 && to > from ? { from, to } : null;
}

function writeItem(item: Item): string {
    const when = item.end > item.start ? `${item.start}..${item.end}` : `${item.start}`;
    switch (item.kind) {
        case "zone": return `zone:t${item.track}:${item.depth}:${when}`;
        case "run": return `run:t${item.track}:${item.lane}:${when}`;
        case "gap": return `gap:t${item.track}:${when}`;
    }
}

function parseWhen(text: string | undefined): { start: number; end: number } | null {
    const found = /^(\d+)(?:\.\.(\d+))?$/.exec(text ?? "");
    if (!found) return null;
    const start = Number(found[1]);
    return { start, end: Math.max(start, Number(found[2] ?? start)) };
}

const SET_MOST = 64;

function parseSet(text: string): Selection | null {
    const items = text.split("|").map((one) => parseSelection(one)).filter((one): one is Item => one?.kind === "zone" || one?.kind === "run" || one?.kind === "gap");
    return items.length ? { kind: "set", items: items.slice(0, SET_MOST) } : null;
}

/** Another item joins the selection, or leaves it. */
export function addItem(chosen: Selection | null, item: Item): Selection | null {
    const isItem = chosen?.kind === "zone" || chosen?.kind === "run" || chosen?.kind === "gap";
    const items = chosen?.kind === "set" ? chosen.items : isItem ? [chosen] : [];
    const key = writeItem(item);
    const rest = items.filter((one) => writeItem(one) !== key);
    const next = rest.length < items.length ? rest : [...items, item].slice(-SET_MOST);
    return next.length > 1 ? { kind: "set", items: next } : (next[0] ?? null);
}

export function writeSelection(selection: Selection): string {
    switch (selection.kind) {
        case "zone":
        case "run":
        case "gap": return writeItem(selection);
        case "moment": return `moment:${selection.time}${selection.track === null ? "" : `:t${selection.track}`}${selection.nth ? `:${selection.nth}` : ""}`;
        case "set": return `set:${selection.items.map(writeItem).join("|")}`;
        case "range": return `range:${writeSpan(selection)}${selection.other ? `,${writeSpan(selection.other)}` : ""}`;
        case "name": return `name:${selection.name}`;
        case "op": return `op:${selection.name}`;
        case "part": return `part:${selection.key}`;
        case "advice": return `advice:${selection.index}`;
        case "diff": return `diff:${selection.key}`;
        case "estimate": return `estimate:${selection.index}`;
        case "lost": return "lost";
    }
}

export function parseSelection(text: string): Selection | null {
    const [kind = "", ...rest] = text.split(":");
    const all = rest.join(":");
    if (kind === "set") return parseSet(all);
    const track = Number(/^t(\d+)$/.exec(rest[0] ?? "")?.[1] ?? NaN);
    const whole = (at: number) => Number(/^\d+$/.exec(rest[at] ?? "")?.[0] ?? NaN);
    const when = parseWhen(rest[kind === "gap" ? 1 : 2]);
    if (kind === "zone" && track >= 0 && whole(1) >= 0 && when) return { kind, track, depth: whole(1), ...when };
    if (kind === "run" && track >= 0 && whole(1) >= 0 && when) return { kind, track, lane: whole(1), ...when };
    if (kind === "gap" && track >= 0 && when) return { kind, track, ...when };
    const on = /^t(\d+)$/.exec(rest[1] ?? "")?.[1];
    if (kind === "moment" && whole(0) >= 0) return { kind, time: whole(0), track: on === undefined ? null : Number(on), ...(whole(2) > 0 ? { nth: whole(2) } : {}) };
    if (kind === "range") {
        const [span = null, other = null] = all.split(",").map(parseSpan);
        return span ? { kind, ...span, ...(other ? { other } : {}) } : null;
    }
    if ((kind === "name" || kind === "op") && all) return { kind, name: all };
    if (kind === "diff" && all) return { kind, key: all };
    if (kind === "part" && all) return { kind, key: all };
    if ((kind === "advice" || kind === "estimate") && whole(0) >= 0) return { kind, index: whole(0) };
    if (kind === "lost") return { kind };
    return null;
}

function decode(text: string): string {
    try {
        return decodeURIComponent(text);
    } catch {
        return text;
    }
}

const tracks = (text: string) => text.split(",").filter(Boolean).map((t) => Number(t.replace(/^t/, ""))).filter(Number.isInteger);

const POSITION = /^\d{1,7}$/;
const KEY = /^[0-9a-f]{8}(,|$)/;

function take(state: UrlState, key: string, value: string): boolean {
    switch (key) {
        case "t":
            state.trace = POSITION.test(value) ? Number(value) : 0;
            state.traceKey = KEY.test(value) ? value : null;
            return POSITION.test(value) || KEY.test(value);
        case "w": return (state.window = parseSpan(value)) !== null;
        case "v": return (state.view = parseSpan(value)) !== null;
        case "sel": return (state.selection = parseSelection(value)) !== null;
        case "group": state.group = value; return true;
        case "q": state.query = value; return true;
        case "pin": state.pins = tracks(value); return true;
        case "hide": state.hidden = tracks(value); return true;
        case "only": state.only = tracks(value); return true;
        case "order": state.order = tracks(value); return true;
        case "colours": state.colours = value === "name" || value === "bound" ? value : null; return state.colours !== null;
        case "fold": state.folds = value.split(",").filter(Boolean); return true;
        case "theme":
            state.theme = value === "dark" || value === "light" ? value : null;
            return state.theme !== null;
        case "warmup": state.warmup = value === "include"; return state.warmup;
        case "b":
            state.other = POSITION.test(value) ? Number(value) : null;
            state.otherKey = KEY.test(value) ? value : null;
            return state.other !== null || state.otherKey !== null;
        case "aw": return (state.windowA = parseSpan(value)) !== null;
        case "bw": return (state.windowB = parseSpan(value)) !== null;
        case "align": state.align = /^(start$|signpost:|op:)/.test(value) ? value : "start"; return state.align === value;
        default: return false;
    }
}

/** Reads a fragment; what cannot be understood is left out and named. */
export function parseUrl(fragment: string): { state: UrlState; ignored: string[] } {
    const state = emptyState();
    const ignored: string[] = [];
    for (const part of fragment.replace(/^#/, "").split("&")) {
        if (!part) continue;
        const equals = part.indexOf("=");
        if (equals < 0) {
            if ((PANELS as readonly string[]).includes(part)) state.panel = part;
            else ignored.push(decode(part));
        } else if (!take(state, part.slice(0, equals), decode(part.slice(equals + 1)))) {
            ignored.push(decode(part));
        }
    }
    return { state, ignored };
}

export function writeUrl(state: UrlState): string {
    const parts = [state.panel];
    const put = (key: string, value: string) => {
        const text = encodeURIComponent(value).replace(/%3A/g, ":").replace(/%2C/g, ",");
        parts.push(`${key}=${text}`);
    };
    if (state.traceKey) put("t", state.traceKey);
    else if (state.trace) put("t", String(state.trace));
    if (state.window) put("w", writeSpan(state.window));
    if (state.view) put("v", writeSpan(state.view));
    if (state.selection) put("sel", writeSelection(state.selection));
    if (state.group) put("group", state.group);
    if (state.query) put("q", state.query);
    const ids = (list: readonly number[]) => list.map((id) => `t${id}`).join(",");
    if (state.pins.length) put("pin", ids(state.pins));
    if (state.only) put("only", ids(state.only));
    else if (state.hidden.length) put("hide", ids(state.hidden));
    if (state.order.length) put("order", ids(state.order));
    if (state.colours) put("colours", state.colours);
    if (state.folds.length) put("fold", state.folds.join(","));
    if (state.theme) put("theme", state.theme);
    if (state.warmup) put("warmup", "include");
    if (state.otherKey) put("b", state.otherKey);
    else if (state.other !== null) put("b", String(state.other));
    if (state.windowA) put("aw", writeSpan(state.windowA));
    if (state.windowB) put("bw", writeSpan(state.windowB));
    if (state.align !== "start") put("align", state.align);
    return `#${parts.join("&")}`;
}
