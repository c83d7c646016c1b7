// SPDX-License-Identifier: Apache-2.0
// The answers of the server's API (docs/http-api.md). Times are ns since the start of the trace.
import type { PlaceAnswer } from "./place";

export interface TraceEntry {
    id: number;
    name: string;
    path: string;
    /** Of its content: what links call it by. */
    key?: string | null;
    command?: string | null;
    size_bytes: number;
    state: "complete" | "growing" | "damaged" | "replaced" | "deleted";
    zones: number;
    duration_ns: number;
    generation: number;
    /** What runs of ops it has. */
    estimated?: boolean;
    measured?: boolean;
    modified_unix_ns?: number;
    start_unix_ns?: number;
    pid?: number | null;
    /** Why it cannot be opened. */
    error?: string | null;
}

export interface TraceListing {
    version: string;
    /** No files were named: recordings that run, and the traces of a folder; new ones come in. */
    waits?: boolean;
    traces: TraceEntry[];
}

export interface ProcessInfo {
    id: number;
    parent: number | null;
    pid: number;
    command: string;
    start: number;
    end: number | null;
    exit_status: number | null;
    signal: string | null;
    flags: string[];
}

export interface TrackInfo {
    id: number;
    process: number;
    parent: number | null;
    kind: "thread" | "task" | "device" | "queue" | "core" | "processor" | "dma" | "other" | "span";
    name: string;
    number: number;
    architecture: string | null;
    depths: number;
    zones: number;
    runs: number;
    run_lanes: number;
    busy_ns: number;
    has_counters: boolean;
    has_memory: boolean;
}

export interface CounterInfo {
    track: number;
    name: number;
    text: string;
    samples: number;
    min: number;
    max: number;
}

export interface PoolInfo {
    name: number | null;
    text: string;
    peak_bytes: number;
    events: number;
}

export interface LossInfo {
    process: number | null;
    track: number | null;
    reason: string;
    from: number;
    to: number;
    zones: number;
    records: number;
}

export interface TraceInfo {
    id: number;
    name: string;
    program: string;
    command: string;
    host: string;
    start_unix_ns: string;
    duration_ns: number;
    zones: number;
    points: number;
    memory_events: number;
    ops: number;
    runs: number;
    samples: number;
    lost_zones: number;
    lost_records: number;
    complete: boolean;
    salvaged: boolean;
    damaged_blocks: number;
    exit_status: number | null;
    signal?: string | null;
    generation: number;
    processes: ProcessInfo[];
    tracks: TrackInfo[];
    counters: CounterInfo[];
    pools: PoolInfo[];
    losses: LossInfo[];
}

export interface SentencePart {
    text: string;
    strong: boolean;
    meaning: "work" | "gap" | "wait" | "loss" | null;
}

export interface PartitionPart {
    key: string;
    label: string;
    ns: number;
    share: number;
}

export interface TopZone {
    name: number;
    text: string;
    file: string | null;
    line: number | null;
    self: number;
    total: number;
    count: number;
    wait: boolean;
}

export interface Advice {
    text: string;
    /** The figures that it rests on, in words. */
    because: string;
    gain_ns: number;
    rule: string;
    /** What costs most of it. */
    evidence: PlaceAnswer;
}

export interface HostPart {
    name: number | null;
    text: string;
    file: string | null;
    line: number | null;
    ns: number;
}

export interface Overview {
    kind: "c" | "python" | "ops" | "gpu" | "estimate" | "empty";
    sentence: SentencePart[];
    window: { from: number; to: number; source: string; left_out: { text: string; what: string; reason: string; undo: string }[] };
    /** Of several: which, and how their ops were merged. */
    devices: string | null;
    partition: { basis: "device" | "CPU" | "main thread"; total_ns: number; parts: PartitionPart[] };
    top: TopZone[];
    top_waits: TopZone[];
    top_ops: { name: string; count: number; device_ns: number; alone_ns: number; share: number; bound: string }[];
    gaps: { count: number; sum: number; longest: Gap | null; host: HostPart[] };
    advice: Advice[];
    losses: { text: string; remedy: string }[];
    next: { text: string; command: string }[];
}

export interface Gap {
    track: number;
    start: number;
    duration: number;
    before: string;
    /** What most of it was. */
    class: string;
    /** What of it the host worked, and waited; of the rest nothing is known. */
    working_ns?: number;
    waiting_ns?: number;
    host: HostPart[];
}

export interface Gaps {
    count: number;
    sum: number;
    /** From which length on they count. */
    mark_ns?: number;
    short_count: number;
    /** What of the idle parts is in gaps, in shorter ones, and after the last op. */
    idle: { key: string; ns: number; gaps_ns: number; short_ns: number; end_ns: number }[];
    histogram: { from: number; to: number; count: number; sum: number }[];
    gaps: Gap[];
}

export interface OpGroup {
    name: string;
    kind: string;
    colour: number;
    count: number;
    device_ns: number;
    alone_ns: number | null;
    share: number;
    mean: number;
    p50: number | null;
    p99: number | null;
    gap_before_ns: number | null;
    dram_percent: number | null;
    flops_percent: number | null;
    bound: string | null;
    /** Why figures of these ops are no verdict. */
    doubt?: string;
    /** The costliest. */
    rows: PlaceAnswer[];
}

export interface Ops {
    /** Of all groups, also where only the costliest are here. */
    count: number;
    device_ns: number;
    columns: string[];
    groups: OpGroup[];
    machine: { name: string; known: boolean } | null;
}

/** Iterations in the window, and what the devices did in each. */
export interface Steps {
    /** Of the frames; null: they are between signposts. */
    name: string | null;
    count: number;
    kinds: { kind: string; colour: number }[];
    steps: Step[];
}

export interface Step {
    number: number;
    /** How many were summed up. */
    count: number;
    text: string | null;
    from: number;
    to: number;
    /** No device ran anything; null: there is none. */
    idle_ns: number | null;
    ns: number[];
}

/** Code that launched something on a device; `file` and `line` are null where `text` does not end in a line. */
export interface LaunchPlace {
    text: string;
    file: string | null;
    line: number | null;
    function: string | null;
    /** Where in a library the call itself is: this is then the innermost place in somebody's own code. */
    library?: { text: string; file: string | null; line: number | null; function: string | null } | null;
    /** Of an op: runs from there, and their time. */
    count?: number;
    device_ns?: number;
}

/** Lines of a file of the trace, where they can be read and are those of the recording. */
export interface SourceAnswer {
    state: string;
    /** Why there are no lines, and what to do about it. */
    advice?: string;
    source: ZoneDetail["source"];
}

export interface OpRuns {
    /** The longest eight of `place_count`. */
    places: LaunchPlace[];
    place_count: number;
    count: number;
    /** As the tables count them: of a device's run its kernels may be counted alone. */
    runs: (PlaceAnswer & { duration: number | null })[];
}

export interface RooflinePoint {
    name: string;
    kind: string;
    colour: number;
    flop_per_byte: number;
    tflops: number;
    device_ns: number;
    estimated: boolean;
}

export interface Roofline {
    machine: { name: string; known: boolean } | string | null;
    roofs: { kind: "dram" | "cache" | "flops"; label: string; value: number; unit: string }[];
    target: number;
    points: RooflinePoint[];
    without_model: { ops: number; ns: number };
}

export interface ZoneDetail {
    name: number;
    start: number;
    duration: number;
    /** null: short zones inside of it are summed up in this file. */
    self: number | null;
    open: boolean;
    depth: number;
    track: number;
    texts: string[];
    value: number | null;
    parents: { name: number; depth: number; start: number; duration: number }[];
    children: number | null;
    source: { file: string; first_line: number; lines: string[]; line: number } | null;
}

export interface RunDetail {
    track: number;
    lane: number;
    start: number;
    /** As it is drawn. */
    duration: number;
    /** What the tables have of it: its name there is null where no row begins with it. */
    counted: { ns: number | null; name: string | null; kernels: number; averaged: boolean } | null;
    name: number | null;
    figures: { name: string; kind: string; value: number | string }[];
    op: {
        call: number;
        name: number | null;
        text: string;
        start: number | null;
        end: number | null;
        track: number | null;
        description: { role: string; text: string }[];
    } | null;
    text: string;
    gap_before: { start: number; duration: number } | null;
    launched_from: LaunchPlace | null;
}

export interface Point {
    kind: "signpost" | "message" | "frame";
    time: number;
    track: number;
    header: string;
    text: string;
    /** Of a frame that ends, else null. */
    number: number | null;
    duration: number | null;
}

export interface Series {
    /** When the largest value in the window was. */
    peak_at?: number | null;
    time: number[];
    min: number[];
    max: number[];
    last: number[];
}

/** What holds memory at a time, by the zone that allocated it. */
export interface Allocations {
    at: number;
    bytes: number;
    count: number;
    rows: { pool: string; name: number | null; text: string | null; count: number; bytes: number; since: number }[];
}

export interface ZoneRow {
    name: number;
    text: string;
    file: string | null;
    line: number | null;
    count: number;
    total: number;
    self: number;
    mean: number;
    min: number;
    max: number;
    p50?: number;
    p99?: number;
    wait: boolean;
}

export interface FindResult {
    count: number;
    total: number;
    self: number;
    mean: number;
    min: number;
    max: number;
    p50: number;
    p90: number;
    p99: number;
    histogram: { from: number; to: number; count: number; sum: number }[];
    calls: { track: number; depth: number; start: number; end: number }[];
}

export interface RangeStats {
    length: number;
    names: { name: number; count: number; self: number; total: number; mean: number; min: number; max: number }[];
    reach_out: number;
    tracks: { track: number; busy: number }[];
}

export interface FlameNode {
    name: number | null;
    total: number;
    self: number;
    count: number;
    children?: FlameNode[];
}

export interface Launched {
    runs: { name: number; track: number; lane: number; start: number; end: number }[];
    count: number;
    calls: number;
}

export interface SearchResult {
    names: { name: number; text: string; file: string | null; count: number; total: number }[];
    tracks: { track: number; text: string }[];
    messages: { time: number; track: number; text: string }[];
}
