// SPDX-License-Identifier: Apache-2.0
// A page without a server: answers that `opscope view --html` put into the file (src/serve/snapshot.c). What depends on
// a place in time is counted here, from every zone and run, where they are not too many; other numbers are there for two
// windows, the one that the overview chose and the whole trace.
import type { Dispatch } from "./dispatch";
import { duration } from "./format";
import { decodeRows, encodeRows, firstEndingAfter, FLAG_GAP, FLAG_OPEN, FLAG_SUMMARY, summarise, type Section } from "./rows";
import { matcher } from "./text";
import type { FindResult, Gaps, Launched, OpRuns, Overview, Point, RangeStats, RunDetail, SearchResult, SourceAnswer, TraceInfo, ZoneDetail, ZoneRow } from "./types";

export type Given = Record<string, string | number | null | undefined>;
/** The text of an element with this question; null: there is none. */
export type Source = (question: string) => string | null;
type NameRow = [number, string, string, number, number, number, number];

/** A question that the file has no answer to: said to the reader. */
export class NotHere extends Error {}

const HISTOGRAM_BINS = 40;
const RANGE_NAMES = 12;
const ELSEWHERE = "opscope view with the trace shows it.";

function bytesOf(base64: string): ArrayBuffer {
    const text = atob(base64);
    const bytes = new Uint8Array(text.length);
    for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
    return bytes.buffer;
}

const numberOf = (given: Given, name: string, otherwise: number) => {
    const value = given[name];
    return value === null || value === undefined ? otherwise : Math.round(Number(value));
};

/** What is in the file of a trace, and what is not. */
interface Entry {
    series_px: number;
    /** Zones and runs shorter than this are summed up; 0: none. */
    summed_ns: number;
    left_out: string[];
}

/** How the page begins. */
interface Start {
    panel: string;
    traces: Entry[];
}

interface Tally {
    name: number;
    count: number;
    self: number;
    total: number;
    min: number;
    max: number;
}

export class Embedded {
    private readonly parsed = new Map<string, unknown>();
    private sections: Map<string, Section> | null = null;
    private nameRows: NameRow[] | null = null;
    private entry: Entry | null = null;
    private left: string[] | null = null;
    private readonly others = new Map<number, Embedded>();

    /** The answers of the trace `index`; those of the first also say what is in the file. */
    constructor(private readonly file: Source, private readonly index = 0) {}

    private source(question: string): string | null {
        return this.file(this.index ? `${this.index}/${question}` : question);
    }

    /** The trace that a path is about. */
    of(index: number): Embedded {
        if (index === this.index) return this;
        const found = this.others.get(index) ?? new Embedded(this.file, index);
        this.others.set(index, found);
        return found;
    }

    private named(path: string): Embedded {
        return this.of(Number(/^\/t\/(\d+)\//.exec(path)?.[1] ?? 0));
    }

    private get begin(): Start {
        const text = this.file("traces");
        return text === null ? { panel: "overview", traces: [] } : (JSON.parse(text) as Start);
    }

    get panel(): string {
        return this.begin.panel;
    }

    /** What the trace has and this file does not, for people. */
    missing(): string[] {
        this.left ??= [...new Set(this.begin.traces.flatMap(({ summed_ns: summed, left_out: texts }) =>
            (summed ? [`zones and runs shorter than ${duration(summed)} one by one: they are drawn summed up`, ...texts] : texts)))];
        return this.left;
    }

    private get start(): Entry {
        this.entry ??= this.begin.traces[this.index] ?? { series_px: 0, summed_ns: 0, left_out: [] };
        return this.entry;
    }

    worker(): Blob {
        return new Blob([bytesOf(this.source("worker") ?? "")], { type: "text/javascript" });
    }

    /** Numbers are there for these alone. */
    hasWindow(from: number, to: number): boolean {
        return this.source(`zones?from=${from}&to=${to}&sort=self&top=5000`) !== null;
    }

    answer(path: string, given: Given): unknown {
        const owner = this.named(path);
        if (path === "/traces") return JSON.parse(this.file("traces") ?? "null");
        if (path === "/compare") return this.compare(given);
        if (path === "/overlay") return this.overlay(given);
        return owner.answerOf(path, given);
    }

    /** Where there is no trace: what `opscope overhead` measured. */
    dispatch(): Dispatch | null {
        return JSON.parse(this.file("dispatch") ?? "null") as Dispatch | null;
    }

    /** Both traces as the command compared them. */
    private compare(given: Given): unknown {
        const text = this.file("compare");
        const isOther = Number(given["a"]) !== 0 || Number(given["b"]) !== 1 || ["a_from", "a_to", "b_from", "b_to"].some((name) => given[name] !== undefined);
        if (text === null || isOther) throw new NotHere("This file compares the second trace with the first, all of it: opscope view with both compares any part of them.");
        return JSON.parse(text);
    }

    /** An estimate over a run; there is none where they have nothing in common. */
    private overlay(given: Given): unknown {
        const text = this.file(`overlay?a=${given["a"]}&b=${given["b"]}`);
        if (text === null) throw new NotHere("There is no estimate of this run in the file.");
        return JSON.parse(text);
    }

    private answerOf(path: string, given: Given): unknown {
        const question = path.replace(/^\/(t\/\d+\/)?/, "");
        const from = numberOf(given, "from", 0);
        const to = numberOf(given, "to", this.duration);
        switch (question) {
            case "trace":
                return this.json(question);
            case "names":
                return this.namesOf(numberOf(given, "page", 0));
            case "overview":
            case "roofline":
            case "steps":
                return this.chosen(`${question}?`, given);
            case "ops":
                return this.chosen(`ops?group=${encodeURIComponent(String(given["group"] ?? "op+shape"))}&limit=5000&`, given);
            case "source":
                return this.sourceAt(String(given["file"]), numberOf(given, "line", 0));
            case "op":
                return this.op(given);
            case "overhead":
                return this.chosen("overhead?limit=1000&", given);
            case "zones":
                return this.json(`zones?from=${from}&to=${to}&sort=self&top=5000`);
            case "flame":
                return this.json(`flame?from=${from}&to=${to}&direction=${given["direction"] === "up" ? "up" : "down"}`);
            case "points":
                return this.json("points?limit=1000");
            case "counter":
                return this.json(`counter?track=${numberOf(given, "track", 0)}&name=${numberOf(given, "name", 0)}&px=${this.start.series_px}`);
            case "memory":
                return this.json(`memory?${given["pool"] === null || given["pool"] === undefined ? "" : `pool=${given["pool"]}&`}px=${this.start.series_px}`);
            case "gaps":
                return this.gaps(from, to, given);
            case "zone":
                return this.zone(numberOf(given, "track", 0), this.depthOf(given), numberOf(given, "at", 0));
            case "run":
                return this.run(given);
            case "launched":
                return this.launched(numberOf(given, "track", 0), from, to, numberOf(given, "limit", 64));
            case "find":
                return this.find(numberOf(given, "name", 0), from, to, numberOf(given, "limit", 100));
            case "range":
                return this.range(from, to);
            case "search":
                return this.search(given);
        }
        throw new NotHere(`This file does not have it: ${ELSEWHERE}`);
    }

    /** The binary answer of /rows. */
    rows(path: string, given: Given): ArrayBuffer {
        return this.named(path).rowsAnswer(given);
    }

    private rowsAnswer(given: Given): ArrayBuffer {
        const from = numberOf(given, "from", 0);
        const to = numberOf(given, "to", this.duration);
        const level = Math.max(0, Math.ceil(Math.log2((to - from) / numberOf(given, "px", 1000)) - 1e-9));
        const found: Section[] = [];
        for (const spec of String(given["tracks"] ?? "").split(",")) {
            const [track = "", rest = ""] = spec.split(":");
            const [first = 0, last = first] = rest.split("-").map(Number);
            const runs = rest === "r";
            for (let depth = runs ? 0 : first; runs || depth <= last; depth++) {
                const section = this.rowsOf(`${track}${runs ? "r" : "z"}${depth}`);
                if (!section) break;
                found.push(summarise(section, from, to, level));
            }
        }
        return encodeRows(found, from, to);
    }

    private get duration(): number {
        return this.json<TraceInfo>("trace").duration_ns;
    }

    private json<T>(question: string): T {
        let found = this.parsed.get(question);
        if (found === undefined) {
            const text = this.source(question);
            if (text === null) throw new NotHere(`This file does not have the numbers of this window: ${ELSEWHERE}`);
            found = JSON.parse(text);
            this.parsed.set(question, found);
        }
        return found as T;
    }

    private all(): Map<string, Section> {
        this.sections ??= new Map(decodeRows(bytesOf(this.source("rows") ?? "")).map((section) => [section.key, section]));
        return this.sections;
    }

    private rowsOf(key: string): Section | undefined {
        return this.all().get(key);
    }

    /** Of the window that was chosen, or of all where that leaves something out. */
    private chosen<T>(question: string, given: Given): T {
        const all = `${question}warmup=include`;
        return this.json(given["warmup"] === "include" && this.source(all) !== null ? all : `${question}warmup=leave-out`);
    }

    private linesOf(file: string, line: number): SourceAnswer | undefined {
        return this.source("sources") === null ? undefined : this.json<SourceAnswer[]>("sources").find(({ source }) => source?.file === file && source.line === line);
    }

    private sourceAt(file: string, line: number): SourceAnswer {
        const found = this.linesOf(file, line);
        if (!found) throw new NotHere(`These source lines are not in this file: ${ELSEWHERE}`);
        return found;
    }

    /** The runs of an op, where it is one of the costliest. */
    private op(given: Given): OpRuns {
        const group = String(given["group"] ?? "op+shape");
        const all = this.chosen<(OpRuns & { name: string })[]>(`op?group=${encodeURIComponent(group === "none" ? "op+shape" : group)}&`, given);
        const found = all.find((one) => one.name === given["name"]);
        if (!found) throw new NotHere(`The runs of this op are not in this file: ${ELSEWHERE}`);
        return found;
    }

    /** The last pages are not there where names are too many. */
    private namesOf(page: number): { count: number; names: NameRow[] } {
        const question = `names?page=${page}`;
        return this.source(question) === null ? { count: 0, names: [] } : this.json(question);
    }

    private names(): NameRow[] {
        if (!this.nameRows) {
            this.nameRows = [];
            const { count } = this.namesOf(0);
            for (let page = 0; page * 1024 < count; page++) this.nameRows.push(...this.namesOf(page).names);
        }
        return this.nameRows;
    }

    private gaps(from: number, to: number, given: Given): Gaps {
        const all = this.chosen<Gaps>("gaps?sort=duration&limit=2000&", given);
        const { window } = this.chosen<Overview>("overview?", given);
        if ((from <= 0 && to >= this.duration) || (from === window.from && to === window.to)) return all;
        const gaps = all.gaps.filter((gap) => gap.start < to && gap.start + gap.duration > from);
        return {
            count: gaps.length, sum: gaps.reduce((sum, gap) => sum + gap.duration, 0), gaps: gaps.slice(0, numberOf(given, "limit", 256)),
            short_count: 0, idle: [], histogram: [], // which are known of the whole window alone
        };
    }

    private at(track: number, depth: number, time: number): { section: Section; index: number } | null {
        const section = this.rowsOf(`${track}z${depth}`);
        if (!section) return null;
        const index = Math.max(0, firstEndingAfter(section, time) - 1);
        for (const one of [index, index + 1]) {
            if (one < section.count && (section.start[one] as number) <= time && (section.end[one] as number) > time) return { section, index: one };
        }
        return index < section.count && section.start[index] === time ? { section, index } : null;
    }

    /** A number, or that of the deepest zone there. */
    private depthOf(given: Given): number {
        if (given["depth"] !== "innermost") return numberOf(given, "depth", 0);
        let depth = 0;
        while (this.at(numberOf(given, "track", 0), depth + 1, numberOf(given, "at", 0))) depth++;
        return depth;
    }

    private zone(track: number, depth: number, time: number): ZoneDetail {
        const found = this.at(track, depth, time);
        if (!found) throw new NotHere("There is no zone here.");
        const { section, index } = found;
        if ((section.flags[index] as number) & FLAG_SUMMARY) throw new NotHere(`${this.summed()}: ${ELSEWHERE}`);
        const start = section.start[index] as number;
        const end = section.end[index] as number;
        const parents: ZoneDetail["parents"] = [];
        for (let above = depth - 1; above >= 0; above--) {
            const parent = this.at(track, above, start);
            if (!parent || (parent.section.flags[parent.index] as number) & FLAG_SUMMARY) continue;
            const since = parent.section.start[parent.index] as number;
            parents.push({ name: parent.section.name[parent.index] as number, depth: above, start: since, duration: (parent.section.end[parent.index] as number) - since });
        }
        const { inside, count, exact } = this.children(track, depth, start, end);
        const [, , file = "", line = 0] = this.names()[section.name[index] as number] ?? [];
        return {
            name: section.name[index] as number, track, depth, start, duration: end - start, self: exact ? Math.max(0, end - start - inside) : null,
            open: ((section.flags[index] as number) & FLAG_OPEN) !== 0, texts: [], value: null, parents, children: exact ? count : null,
            source: this.linesOf(file, line)?.source ?? null,
        };
    }

    private summed(): string {
        return `Zones shorter than ${duration(this.start.summed_ns)} are summed up in this file`;
    }

    /** Not exact where a sum of short zones reaches out of the interval. */
    private children(track: number, depth: number, from: number, to: number): { inside: number; count: number; exact: boolean } {
        const below = this.rowsOf(`${track}z${depth + 1}`);
        let inside = 0;
        let count = 0;
        let exact = true;
        if (!below) return { inside, count, exact };
        for (let at = firstEndingAfter(below, from); at < below.count && (below.start[at] as number) < to; at++) {
            inside += (Math.min(to, below.end[at] as number) - Math.max(from, below.start[at] as number)) * (below.busy[at] as number);
            count += below.zones[at] as number;
            if ((below.flags[at] as number) & FLAG_SUMMARY && ((below.start[at] as number) < from || (below.end[at] as number) > to)) exact = false;
        }
        return { inside: Math.round(inside), count, exact };
    }

    private run(given: Given): RunDetail {
        const track = numberOf(given, "track", 0);
        const time = numberOf(given, "at", 0);
        const lane = numberOf(given, "lane", -1);
        const there = this.json<RunDetail[]>("runs").filter((run) =>
            run.track === track && (lane < 0 || run.lane === lane) && run.start <= time && run.start + run.duration >= time);
        const found = there.find((run) => run.start === time) ?? there.at(-1); // rather than one that ends then
        if (!found) throw new NotHere(`The details of this run are not in this file: ${ELSEWHERE}`);
        return found;
    }

    /** Where the file knows every run. */
    private launched(track: number, from: number, to: number, limit: number): Launched {
        const all = this.json<RunDetail[]>("runs");
        if (all.length < this.json<TraceInfo>("trace").runs) throw new NotHere(`This file does not have all runs: ${ELSEWHERE}`);
        const runs = all.filter(({ op }) => op && op.track === track && op.start !== null && op.start >= from && op.start < to);
        runs.sort((a, b) => a.track - b.track || a.start - b.start);
        return {
            runs: runs.slice(0, limit).map(({ name, track: on, lane, start, duration: length }) => ({ name: name ?? -1, track: on, lane, start, end: start + length })),
            count: runs.length, calls: new Set(runs.map(({ op }) => op?.call)).size,
        };
    }

    /** Calls visit(section, index, start, end) for zones in the window, cut to it. */
    private visit(from: number, to: number, seen: (section: Section, index: number, start: number, end: number) => void): void {
        for (const section of this.all().values()) {
            if (section.runs) continue;
            for (let at = firstEndingAfter(section, from); at < section.count && (section.start[at] as number) < to; at++) {
                seen(section, at, Math.max(from, section.start[at] as number), Math.min(to, section.end[at] as number));
            }
        }
    }

    private find(name: number, from: number, to: number, limit: number): FindResult {
        if (this.start.summed_ns) throw new NotHere(`${this.summed()}, so that it cannot list all of one name: ${ELSEWHERE}`);
        const [, text, file, line] = this.names()[name] ?? [0, "", "", 0];
        const same = new Set(this.names().filter((row) => row[1] === text && row[2] === file && row[3] === line).map((row) => row[0]));
        const calls: FindResult["calls"] = [];
        const lengths: number[] = [];
        let self = 0;
        this.visit(from, to, (section, at, start, end) => {
            if (!same.has(section.name[at] as number)) return;
            const since = section.start[at] as number;
            calls.push({ track: section.track, depth: section.depth, start: since, end: section.end[at] as number });
            lengths.push(end - start);
            self += end - start - this.children(section.track, section.depth, start, end).inside;
        });
        lengths.sort((a, b) => a - b);
        calls.sort((a, b) => b.end - b.start - (a.end - a.start) || a.start - b.start);
        const total = lengths.reduce((sum, length) => sum + length, 0);
        const rank = (share: number) => lengths[Math.max(0, Math.ceil(share * lengths.length) - 1)] ?? 0;
        return {
            count: lengths.length, total, self, mean: lengths.length ? total / lengths.length : 0, min: lengths[0] ?? 0,
            max: lengths.at(-1) ?? 0, p50: rank(0.5), p90: rank(0.9), p99: rank(0.99), histogram: histogram(lengths, rank(0.99) > 20 * rank(0.5)),
            calls: calls.slice(0, limit),
        };
    }

    private range(from: number, to: number): RangeStats {
        if (this.start.summed_ns) throw new NotHere(`${this.summed()}, so that it cannot count those of a range: ${ELSEWHERE}`);
        const tallies = new Map<number, Tally>();
        const busy = new Map<number, number>();
        let reachOut = 0;
        this.visit(from, to, (section, at, start, end) => {
            const name = section.name[at] as number;
            const length = end - start;
            const tally = tallies.get(name) ?? { name, count: 0, self: 0, total: 0, min: Infinity, max: 0 };
            tally.count += section.zones[at] as number;
            tally.total += length;
            tally.self += length - this.children(section.track, section.depth, start, end).inside;
            tally.min = Math.min(tally.min, length);
            tally.max = Math.max(tally.max, length);
            tallies.set(name, tally);
            if (start !== section.start[at] || end !== section.end[at]) reachOut++;
            if (section.depth === 0) busy.set(section.track, (busy.get(section.track) ?? 0) + length);
        });
        for (const track of this.json<TraceInfo>("trace").tracks) {
            const ran = track.runs > 0 ? this.ran(track.id, from, to) : 0;
            if (ran > 0) busy.set(track.id, ran);
        }
        const names = [...tallies.values()].sort((a, b) => b.self - a.self).slice(0, RANGE_NAMES);
        return {
            length: to - from, names: names.map((tally) => ({ ...tally, mean: tally.total / tally.count })), reach_out: reachOut,
            tracks: [...busy].map(([track, ns]) => ({ track, busy: ns })),
        };
    }

    /** Time in which something ran on a track, whatever the lane. */
    private ran(track: number, from: number, to: number): number {
        const spans: [number, number][] = [];
        for (let lane = 0, section; (section = this.rowsOf(`${track}r${lane}`)); lane++) {
            for (let at = 0; at < section.count; at++) {
                const start = Math.max(from, section.start[at] as number);
                const end = Math.min(to, section.end[at] as number);
                if (end > start && !((section.flags[at] as number) & FLAG_GAP)) spans.push([start, end]);
            }
        }
        spans.sort((a, b) => a[0] - b[0]);
        let sum = 0;
        let until = 0;
        for (const [start, end] of spans) {
            sum += Math.max(0, end - Math.max(start, until));
            until = Math.max(until, end);
        }
        return sum;
    }

    private search(given: Given): SearchResult {
        const limit = numberOf(given, "limit", 50);
        const has = matcher(String(given["q"] ?? ""));
        const inFile = matcher(String(given["file"] ?? ""));
        const longest = numberOf(given, "longest", 0);
        const others = given["file"] || longest ? 0 : limit;
        const { rows } = this.json<{ rows: ZoneRow[] }>(`zones?from=0&to=${this.duration}&sort=self&top=5000`);
        const { points } = this.json<{ points: Point[] }>("points?limit=1000");
        const wanted = (row: ZoneRow) => (has(row.text) || has(row.file ?? "")) && inFile(row.file ?? "") && (!longest || row.max >= longest);
        const names = rows.filter(wanted).sort((a, b) => b.total - a.total);
        const tracks = this.json<TraceInfo>("trace").tracks.filter((track) => has(track.name));
        return {
            names: names.slice(0, limit).map(({ name, text: said, file, count, total }) => ({ name, text: said, file, count, total })),
            tracks: tracks.slice(0, others).map((track) => ({ track: track.id, text: track.name })),
            messages: points.filter((point) => has(point.text) || has(point.header)).slice(0, others)
                .map((point) => ({ time: point.time, track: point.track, text: point.text || point.header })),
        };
    }
}

/** Bins of equal width, or of equal ratio where a few are much longer than most. */
function histogram(lengths: readonly number[], isLog: boolean): FindResult["histogram"] {
    const low = lengths[0] ?? 0;
    const high = (lengths.at(-1) ?? 0) + 1;
    const log = isLog && low > 0;
    const edge = (at: number) => Math.floor(log ? low * Math.pow(high / low, at / HISTOGRAM_BINS) : low + ((high - low) * at) / HISTOGRAM_BINS);
    const bins: FindResult["histogram"] = [];
    let next = 0;
    for (let at = 0; at < HISTOGRAM_BINS; at++) {
        const bin = { from: edge(at), to: at + 1 === HISTOGRAM_BINS ? high : edge(at + 1), count: 0, sum: 0 };
        for (; next < lengths.length && (lengths[next] as number) < bin.to; next++) {
            bin.count++;
            bin.sum += lengths[next] as number;
        }
        if (bin.to > bin.from) bins.push(bin);
    }
    return bins;
}

function fromDocument(question: string): string | null {
    return document.querySelector(`script[data-ask="${CSS.escape(question)}"]`)?.textContent ?? null;
}

/** null where there is a server to ask. */
export const embedded: Embedded | null =
    typeof document !== "undefined" && fromDocument("traces") !== null ? new Embedded(fromDocument) : null;
