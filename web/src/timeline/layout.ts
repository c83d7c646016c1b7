// SPDX-License-Identifier: Apache-2.0
// The tree of tracks as a list of what is shown, each with its place. Devices come first, as groups of their own;
// the rest are groups by process, in the order in which the server sends the tracks.
import { duration, group as grouped, percent, plural, quantity, bytes } from "../model/format";
import { rowKey } from "../model/rows";
import { fileName, safeText } from "../model/text";
import { partQuiet } from "./quiet";
import type { CounterInfo, LossInfo, PoolInfo, ProcessInfo, TraceInfo, TrackInfo } from "../model/types";

export const GROUP_HEIGHT = 20;
export const ZONE_HEIGHT = 16;
export const RUN_HEIGHT = 20;
export const COUNTER_HEIGHT = 36;
export const COUNTER_HEIGHT_MOST = 120;
/** A row of a track that is shown as small as can be, without labels. */
export const COMPACT_HEIGHT = 8;
export const DEFAULT_DEPTHS = 4;
/** A track of which everything is shown takes at most so much of the stage, and scrolls by itself. */
const DEEP_SHARE = 0.6;
const DEEP_ROWS_MIN = 8;
export const PADDING = 2;
const FOLDED_CORES = 8;
const STRIP_TRACKS_MAX = 48;
/** Of a name that stands above its track; above a group's strip. */
const NAME_HEIGHT = 16;
const GROUP_NAME_HEIGHT = 12;

export interface Row {
    track: number;
    runs: boolean;
    /** Depth of the zones, or lane of the runs. */
    depth: number;
    key: string;
    /** From the top of the node. */
    y: number;
    height: number;
    /** Gaps between runs are shown: of a device with several queues, on the busiest one. */
    gaps: boolean;
}

export interface Node {
    id: string;
    kind: "group" | "track" | "counter" | "memory" | "estimate";
    level: number;
    label: string;
    /** The whole name, for the tooltip and for people who cannot see the group. */
    title: string;
    figure: string;
    /** Room at its top for its name, where names stand above their tracks. */
    head: number;
    tone: "device" | "host";
    track: number | null;
    y: number;
    height: number;
    rows: Row[];
    folded: boolean;
    /** What the strip of a group sums up. */
    strip: Row[];
    counter?: CounterInfo;
    pool?: PoolInfo;
    /** Rows that are not shown; for one that scrolls by itself, which of its depths is the first one shown. */
    deeper: number;
    scroll: { first: number; shown: number; all: number } | null;
    /** Tracks among which this one can be moved, in their order. */
    among: readonly number[];
    pinned: boolean;
    position: number;
    note: string;
    /** Of the track; of a group: of the process as a whole, and while it is folded of what is inside. In order of time. */
    losses: LossInfo[];
}

export interface OverlayLane {
    track: number;
    lanes: number;
    ns: number;
    name: string;
}

export interface LayoutOptions {
    folds: ReadonlySet<string>;
    deep: ReadonlySet<number>;
    hidden: ReadonlySet<number>;
    pins: readonly number[];
    /** Tracks that were moved, with those around them. */
    order: readonly number[];
    filter: (text: string) => boolean;
    /** Height of the stage: what is left free goes to the deeper rows. */
    room: number;
    /** First depth shown of tracks that scroll by themselves. */
    firstDepth: ReadonlyMap<number, number>;
    /** Words for how busy a device is, in the window. */
    busy: ReadonlyMap<number, string>;
    /** Names stand above their tracks. */
    above?: boolean;
    /** Nothing is folded because it did little: tracks are looked for. */
    all?: boolean;
    /** Tracks that are shown small. */
    compact?: ReadonlySet<number>;
    /** Heights of counters and pools that were dragged, by node. */
    heights?: ReadonlyMap<string, number>;
    /** An estimate whose boxes are drawn above this track, which ran. */
    overlay?: OverlayLane | null;
}

interface Building {
    info: TraceInfo;
    options: LayoutOptions;
    children: Map<number | null, TrackInfo[]>;
    counters: Map<number, CounterInfo[]>;
    /** Depths that a track shows beyond the default ones. */
    extra: ReadonlyMap<number, number>;
    pinned: ReadonlySet<number>;
    /** Tracks that show the gaps of their device. */
    withGaps: ReadonlySet<number>;
    losses: Losses;
    nodes: Node[];
    inside: Map<number, string>;
}

interface Losses {
    tracks: Map<number, LossInfo[]>;
    /** Those that no track can be named for. */
    processes: Map<number, LossInfo[]>;
}

function isGroupTrack(track: TrackInfo): boolean {
    return track.kind === "device";
}

function rowsOf(track: TrackInfo, depths: number, first = 0, gaps = true, compact = false, head = 0): Row[] {
    const rows: Row[] = [];
    let y = PADDING + head;
    const add = (runs: boolean, depth: number, height: number) => {
        rows.push({ track: track.id, runs, depth, key: rowKey(track.id, runs, depth), y, height: height - 2, gaps });
        y += height;
    };
    for (let depth = first; depth < first + depths; depth++) add(false, depth, compact ? COMPACT_HEIGHT : ZONE_HEIGHT);
    const lanes = track.runs > 0 ? Math.max(1, track.run_lanes) : 0;
    for (let lane = 0; lane < lanes; lane++) add(true, lane, compact ? COMPACT_HEIGHT : RUN_HEIGHT);
    return rows;
}

function blank(id: string, kind: Node["kind"], level: number, label: string): Node {
    return {
        id, kind, level, label: safeText(label), title: safeText(label), figure: "", head: 0, tone: "host", track: null, y: 0,
        height: GROUP_HEIGHT, rows: [], folded: false, strip: [], deeper: 0, scroll: null, among: [], pinned: false, position: 0, note: "",
        losses: [],
    };
}

export function trackName(track: TrackInfo): string {
    if (track.name) return track.name;
    const word = { thread: "thread", task: "task", device: "device", queue: "queue", core: "core", processor: "processor",
        dma: "DMA", other: "track", span: "span" }[track.kind];
    return `${word} ${track.number}`;
}

function kindNote(track: TrackInfo): string {
    if (track.kind === "task") return "task";
    if (track.kind === "queue") return track.runs ? plural(track.runs, "run") : "";
    if (track.kind === "span") return "spans";
    return "";
}

/** What is recorded as a run is a zone of its track, too: it is shown once. */
function repeatsRuns(track: TrackInfo): boolean {
    return track.runs > 0 && track.depths === 1 && track.zones === track.runs;
}

/** Which depths of a track are shown: the first few, or, when all were asked for, as many as its part of the stage holds. */
function depthsOf(building: Building, track: TrackInfo): { first: number; shown: number; all: number } {
    const { options } = building;
    const all = repeatsRuns(track) ? 0 : track.depths;
    if (!options.deep.has(track.id)) return { first: 0, shown: Math.min(all, DEFAULT_DEPTHS + (building.extra.get(track.id) ?? 0)), all };
    const shown = Math.min(all, Math.max(DEEP_ROWS_MIN, Math.floor((options.room * DEEP_SHARE) / ZONE_HEIGHT)));
    return { first: Math.max(0, Math.min(options.firstDepth.get(track.id) ?? 0, all - shown)), shown, all };
}

function ordered(building: Building, tracks: readonly TrackInfo[]): readonly TrackInfo[] {
    const { order } = building.options;
    if (!order.length) return tracks;
    const place = (track: TrackInfo) => (order.includes(track.id) ? order.indexOf(track.id) : order.length);
    return [...tracks].sort((a, b) => place(a) - place(b));
}

function addTracks(building: Building, tracks: readonly TrackInfo[], level: number, tone: Node["tone"]): void {
    const sorted = ordered(building, tracks);
    const among = sorted.map((track) => track.id);
    for (const track of sorted) addTrack(building, track, level, tone, { among });
}

interface TrackExtras {
    label?: string;
    among?: readonly number[];
    /** Only the track itself, at the top of the stage. */
    alone?: boolean;
}

function addOverlay(building: Building, overlay: OverlayLane, level: number): void {
    const node = blank("estimate", "estimate", level, "estimate");
    node.tone = "device";
    node.figure = duration(overlay.ns);
    node.title = safeText(`estimate of ${overlay.name}, ${duration(overlay.ns)}`);
    node.head = headOf(building);
    node.height = overlay.lanes * RUN_HEIGHT + 2 * PADDING + node.head;
    building.nodes.push(node);
}

function addTrack(building: Building, track: TrackInfo, level: number, tone: Node["tone"], extras: TrackExtras = {}): void {
    const below = () => addTracks(building, building.children.get(track.id) ?? [], level + 1, tone);
    if (building.pinned.has(track.id) && !extras.alone) return below();
    const { overlay } = building.options;
    if (overlay?.track === track.id && !extras.alone) addOverlay(building, overlay, level);
    const depths = depthsOf(building, track);
    const node = blank(`t${track.id}`, "track", level, extras.label ?? trackName(track));
    node.tone = tone;
    node.track = track.id;
    node.among = extras.among ?? [];
    node.pinned = !!extras.alone;
    node.head = headOf(building);
    node.rows = rowsOf(track, depths.shown, depths.first, building.withGaps.has(track.id), building.options.compact?.has(track.id), node.head);
    node.deeper = depths.all - depths.shown;
    if (building.options.deep.has(track.id) && node.deeper > 0) node.scroll = depths;
    node.figure = kindNote(track);
    node.losses = building.losses.tracks.get(track.id) ?? [];
    const last = node.rows[node.rows.length - 1];
    node.height = Math.max(22, last ? last.y + last.height + 2 + PADDING : 0);
    node.title = `${node.label}: ${track.zones ? plural(track.zones, "zone") : plural(track.runs, "run")}, busy ` +
        duration(track.busy_ns);
    building.nodes.push(node);
    for (const counter of building.counters.get(track.id) ?? []) addCounter(building, counter, level, tone);
    if (!extras.alone) below();
}

function headOf(building: Building): number {
    return building.options.above ? NAME_HEIGHT : 0;
}

/** The height of a plot. */
function tall(building: Building, node: Node): void {
    node.head = headOf(building);
    node.height = (building.options.heights?.get(node.id) ?? COUNTER_HEIGHT) + node.head;
}

function addCounter(building: Building, counter: CounterInfo, level: number, tone: Node["tone"]): void {
    if (counter.samples === 0) return;
    const node = blank(`k${counter.track}:${counter.name}`, "counter", level, counter.text || "counter");
    node.counter = counter;
    node.track = counter.track;
    node.tone = tone;
    node.figure = `peak ${quantity(counter.max)}`;
    tall(building, node);
    building.nodes.push(node);
}

function addPools(building: Building, level: number, tone: Node["tone"]): void {
    for (const pool of building.info.pools) {
        if (pool.events === 0) continue;
        const node = blank(`m${pool.name ?? ""}`, "memory", level, pool.text || "memory");
        node.pool = pool;
        node.tone = tone;
        node.figure = `peak ${bytes(pool.peak_bytes)}`;
        tall(building, node);
        building.nodes.push(node);
    }
}

/** The rows that say how busy a group is: runs of devices, outermost zones of threads. */
function stripOf(tracks: readonly TrackInfo[]): Row[] {
    const rows: Row[] = [];
    for (const track of tracks.slice(0, STRIP_TRACKS_MAX)) {
        const rowsThere = track.runs > 0 ? rowsOf(track, 0) : rowsOf(track, Math.min(1, track.depths));
        rows.push(...rowsThere);
    }
    return rows;
}

function descendants(building: Building, track: TrackInfo): TrackInfo[] {
    const below = building.children.get(track.id) ?? [];
    return [track, ...below.flatMap((child) => descendants(building, child))];
}

function lossesOf(building: Building, tracks: readonly TrackInfo[], process?: number): LossInfo[] {
    const { losses } = building;
    const all = [...(process === undefined ? [] : losses.processes.get(process) ?? []),
        ...tracks.flatMap((track) => losses.tracks.get(track.id) ?? [])];
    return all.sort((a, b) => a.from - b.from);
}

function lossesByPlace(info: TraceInfo): Losses {
    const losses: Losses = { tracks: new Map(), processes: new Map() };
    const first = info.processes[0]?.id ?? 0; // of the program, where not even the process is known
    for (const loss of [...info.losses].sort((a, b) => a.from - b.from)) {
        if (loss.track !== null) addTo(losses.tracks, loss.track, loss);
        else addTo(losses.processes, loss.process ?? first, loss);
    }
    return losses;
}

function addDevice(building: Building, device: TrackInfo, first: boolean): void {
    const { options } = building;
    const inside = descendants(building, device);
    const named = trackName(device);
    const known = !device.architecture || named.toLowerCase().includes(device.architecture.toLowerCase());
    const label = known ? named : `${named}, ${device.architecture}`;
    const node = blank(`d${device.id}`, "group", 1, label);
    node.tone = "device";
    node.track = device.id;
    node.folded = options.folds.has(node.id);
    node.strip = stripOf(inside);
    node.figure = options.busy.get(device.id) ?? "";
    if (node.figure) node.title = `${node.label}: ${node.figure} in the window`;
    building.nodes.push(node);
    if (node.folded) {
        node.losses = lossesOf(building, inside);
        return;
    }
    if (device.runs > 0 || device.depths > 0) addTrack({ ...building, children: new Map() }, device, 2, "device", { label: "ops" });
    const below = (building.children.get(device.id) ?? []).filter((track) => !options.hidden.has(track.id));
    const cores = below.filter((track) => track.kind === "core" || track.kind === "processor");
    const rest = below.filter((track) => !cores.includes(track));
    addTracks(building, rest, 2, "device");
    if (cores.length > FOLDED_CORES) addCores(building, device, cores);
    else addTracks(building, cores, 2, "device");
    if (first) addPools(building, 2, "device");
}

/** Many cores are one folded group; its entry in the list of folds means that it was opened. */
function addCores(building: Building, device: TrackInfo, cores: readonly TrackInfo[]): void {
    const node = blank(`c${device.id}`, "group", 2, `${grouped(cores.length)} cores`);
    node.tone = "device";
    node.folded = !building.options.folds.has(node.id);
    const inside = cores.flatMap((core) => descendants(building, core));
    node.strip = stripOf(inside);
    if (node.folded) node.losses = lossesOf(building, inside);
    building.nodes.push(node);
    if (!node.folded) addTracks(building, cores, 3, "device");
}

export function processLabel(process: ProcessInfo): string {
    const [program = "", ...rest] = process.command.split(" ");
    return [fileName(program), ...rest.map((word) => (word.startsWith("/") ? fileName(word) : word))].join(" ");
}

function processNote(process: ProcessInfo): string {
    if (process.signal) return `crashed: ${process.signal}`;
    if (process.exit_status) return `exit ${process.exit_status}`;
    return "";
}

function addProcess(building: Building, process: ProcessInfo, tracks: readonly TrackInfo[], pools: boolean): void {
    const { options } = building;
    const node = blank(`p${process.id}`, "group", 1, processLabel(process) || `process ${process.pid}`);
    node.title = safeText(process.command);
    node.folded = options.folds.has(node.id);
    node.figure = process.pid ? String(process.pid) : "";
    node.note = processNote(process);
    node.strip = stripOf(tracks);
    node.losses = lossesOf(building, node.folded ? tracks : [], process.id);
    building.nodes.push(node);
    if (node.folded) return;
    const ids = new Set(tracks.map((track) => track.id));
    const top = tracks.filter((track) => track.parent === null || !ids.has(track.parent));
    const [main, ...others] = top;
    const parted = partQuiet(others.map((track) => ({
        track, busy: track.busy_ns, stays: isWanted(building, track) || track.has_counters || building.losses.tracks.has(track.id),
    })), options.all ? -1 : building.info.duration_ns);
    const shown = new Set([main, ...parted.shown.map((one) => one.track)]);
    addTracks(building, top.filter((track) => shown.has(track)), 2, "host");
    addQuiet(building, `q${process.id}`, 2, "more thread", "more threads", parted.quiet.map((one) => one.track), (opened) => addTracks(building, opened, 2, "host"));
    if (pools) addPools(building, 2, "host");
}

/** Somebody gave it a place, or has it open. */
function isWanted({ options, pinned }: Building, track: TrackInfo): boolean {
    return pinned.has(track.id) || options.order.includes(track.id) || options.deep.has(track.id);
}

/** The line of those that did next to nothing; its entry in the list of folds means that it was opened. */
function addQuiet(building: Building, id: string, level: number, one: string, many: string, tracks: readonly TrackInfo[],
    open: (tracks: readonly TrackInfo[]) => void, count = tracks.length): void {
    if (!tracks.length) return;
    const busy = tracks.reduce((sum, track) => sum + track.busy_ns, 0);
    const node = blank(id, "group", level, plural(count, one, many));
    node.figure = percent(busy / Math.max(1, building.info.duration_ns));
    node.title = `${node.label}, ${node.figure} busy: ${duration(busy)} in all`;
    node.folded = !building.options.folds.has(id);
    node.strip = stripOf(tracks);
    building.nodes.push(node);
    if (node.folded) for (const track of tracks.flatMap((inside) => descendants(building, inside))) building.inside.set(track.id, id);
    else open(tracks);
}

const QUIET_PROCESSES = "q";

function addProcesses(building: Building, byProcess: ReadonlyMap<number, TrackInfo[]>, pools: boolean): void {
    const { info, options } = building;
    const known = new Map(info.processes.map((process) => [process.id, process]));
    const all = [...byProcess].map(([id, tracks], index) => {
        const process = known.get(id) ?? anonymous(id);
        const said = index === 0 || !!processNote(process) || building.losses.processes.has(id) || options.folds.has(`p${id}`) ||
            tracks.some((track) => isWanted(building, track) || track.has_counters || building.losses.tracks.has(track.id));
        return { process, tracks, busy: tracks.reduce((sum, track) => sum + track.busy_ns, 0), stays: said };
    });
    const { shown, quiet } = partQuiet(all, options.all ? -1 : info.duration_ns);
    shown.forEach((one, index) => addProcess(building, one.process, one.tracks, pools && index === 0));
    addQuiet(building, QUIET_PROCESSES, 1, "more process", "more processes", quiet.flatMap((one) => one.tracks),
        () => quiet.forEach((one) => addProcess(building, one.process, one.tracks, false)), quiet.length);
}

function place(nodes: readonly Node[], above = false): number {
    let y = 0;
    const counts = new Map<number, number>();
    for (const node of nodes) {
        if (above && node.kind === "group") {
            node.head = GROUP_NAME_HEIGHT;
            node.height = GROUP_HEIGHT + GROUP_NAME_HEIGHT;
        }
        node.y = y;
        y += node.height;
        for (const level of [...counts.keys()]) if (level > node.level) counts.delete(level);
        counts.set(node.level, (counts.get(node.level) ?? 0) + 1);
        node.position = counts.get(node.level) ?? 1;
    }
    return y;
}

function addTo<K, V>(map: Map<K, V[]>, key: K, value: V): void {
    const list = map.get(key);
    if (list) list.push(value);
    else map.set(key, [value]);
}

export interface Layout {
    nodes: Node[];
    height: number;
    /** What stays at the top of the stage, with places of its own. */
    pinned: Node[];
    pinnedHeight: number;
    /** Tracks that are folded since they did little, and the line that holds them. */
    inside: ReadonlyMap<number, string>;
}

export const PINNED_SHARE = 0.4;

/** What is free below the tracks goes to deeper rows, one each in turn. */
function extraDepths(layout: Layout, room: number): Map<number, number> {
    const extra = new Map<number, number>();
    const open = layout.nodes.filter((node) => node.kind === "track" && node.deeper > 0 && !node.scroll);
    let rows = Math.floor((room - layout.height - Math.min(layout.pinnedHeight, room * PINNED_SHARE)) / ZONE_HEIGHT);
    for (let deeper = 1; rows > 0; deeper++) {
        const takers = open.filter((node) => node.deeper >= deeper);
        if (!takers.length) break;
        for (const node of takers) if (rows-- > 0) extra.set(node.track as number, deeper);
    }
    return extra;
}

export function layOut(info: TraceInfo, options: LayoutOptions): Layout {
    const plain = build(info, options, new Map());
    const extra = extraDepths(plain, options.room);
    return extra.size ? build(info, options, extra) : plain;
}

/** The busiest track of each device: other queues of it, for copies, stand still most of the time and nothing is lost by it. */
function gapTracks(info: TraceInfo): ReadonlySet<number> {
    const parents = new Map(info.tracks.map((track) => [track.id, track.parent]));
    const busiest = new Map<number, TrackInfo>();
    for (const track of info.tracks) {
        if (track.runs === 0) continue;
        let device = track.id;
        for (let up = parents.get(device); up !== null && up !== undefined; up = parents.get(up)) device = up;
        const other = busiest.get(device);
        if (!other || track.busy_ns > other.busy_ns) busiest.set(device, track);
    }
    return new Set([...busiest.values()].map((track) => track.id));
}

function pinnedNodes(building: Building): Node[] {
    const { info, options } = building;
    const own: Building = { ...building, children: new Map(), nodes: [] };
    for (const id of options.pins) {
        const track = info.tracks.find((one) => one.id === id);
        if (!track) continue;
        const process = info.processes.find((one) => one.id === track.process);
        const path = process && process.command ? `${processLabel(process)} › ` : "";
        const device = isGroupTrack(track);
        addTrack(own, track, 1, device ? "device" : "host", { label: device ? trackName(track) : path + trackName(track), among: options.pins, alone: true });
    }
    return own.nodes;
}

function build(info: TraceInfo, options: LayoutOptions, extra: ReadonlyMap<number, number>): Layout {
    const children = new Map<number | null, TrackInfo[]>();
    const byId = new Map(info.tracks.map((track) => [track.id, track]));
    const losses = lossesByPlace(info);
    const parents = new Set(info.tracks.map((track) => track.parent));
    const holds = (track: TrackInfo) => track.depths > 0 || track.runs > 0 || track.has_counters || parents.has(track.id) ||
        losses.tracks.has(track.id);
    const shown = info.tracks.filter((track) => !options.hidden.has(track.id) &&
        (isGroupTrack(track) || (holds(track) && options.filter(trackName(track)))));
    for (const track of shown) {
        if (track.parent === null || !byId.has(track.parent)) continue;
        addTo(children, track.parent, track);
    }
    const counters = new Map<number, CounterInfo[]>();
    for (const counter of info.counters) addTo(counters, counter.track, counter);
    const building: Building = {
        info, options, children, counters, losses, extra, pinned: new Set(options.pins), withGaps: gapTracks(info), nodes: [], inside: new Map(),
    };
    const devices = shown.filter(isGroupTrack);
    devices.forEach((device, index) => addDevice(building, device, index === 0));
    const ofDevice = new Set(devices.flatMap((device) => descendants(building, device)).map((track) => track.id));
    const byProcess = new Map<number, TrackInfo[]>();
    for (const track of shown) if (!ofDevice.has(track.id)) addTo(byProcess, track.process, track);
    addProcesses(building, byProcess, devices.length === 0);
    const pinned = pinnedNodes(building);
    return { nodes: building.nodes, height: place(building.nodes, options.above), pinned, pinnedHeight: place(pinned, options.above), inside: building.inside };
}

function anonymous(id: number): ProcessInfo {
    return { id, parent: null, pid: id, command: "program", start: 0, end: null, exit_status: null, signal: null, flags: [] };
}

/** The nodes that reach into [top, bottom). */
export function nodesBetween(nodes: readonly Node[], top: number, bottom: number): Node[] {
    let low = 0;
    let high = nodes.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        const node = nodes[middle] as Node;
        if (node.y + node.height > top) high = middle;
        else low = middle + 1;
    }
    const found: Node[] = [];
    for (let at = low; at < nodes.length; at++) {
        const node = nodes[at] as Node;
        if (node.y >= bottom) break;
        found.push(node);
    }
    return found;
}
