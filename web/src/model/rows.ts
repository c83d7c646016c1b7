// SPDX-License-Identifier: Apache-2.0
// The binary answer of /rows: sections of columns, one section per row of the timeline.

export const FLAG_OPEN = 1;
export const FLAG_WAIT = 2;
export const FLAG_GAP = 4;
export const FLAG_ESTIMATED = 16;
export const FLAG_SUMMARY = 32;

const MAGIC = 0x3152504f;
const HEAD_BYTES = 24;
const SECTION_HEAD_BYTES = 16;

export interface Section {
    key: string;
    track: number;
    runs: boolean;
    depth: number;
    count: number;
    start: Float64Array;
    end: Float64Array;
    busy: Float32Array;
    name: Uint32Array;
    zones: Uint32Array;
    flags: Uint8Array;
}

export function rowKey(track: number, runs: boolean, depth: number): string {
    return `${track}${runs ? "r" : "z"}${depth}`;
}

/** The first entry that ends after `time`; entries are in order of start and do not overlap. */
export function firstEndingAfter(section: Section, time: number): number {
    let low = 0;
    let high = section.count;
    while (low < high) {
        const middle = (low + high) >> 1;
        if ((section.end[middle] as number) > time) high = middle;
        else low = middle + 1;
    }
    return low;
}

const padded = (size: number) => (size + 7) & ~7;

/** Throws when the answer is not what the contract says: the caller shows that as a lost connection. */
export function decodeRows(buffer: ArrayBuffer): Section[] {
    if (buffer.byteLength < HEAD_BYTES) throw new Error("rows: too short");
    const view = new DataView(buffer);
    if (view.getUint32(0, true) !== MAGIC) throw new Error("rows: not an answer of this version");
    const sections: Section[] = [];
    let at = HEAD_BYTES;
    for (let left = view.getUint32(4, true); left > 0; left--) {
        if (at + SECTION_HEAD_BYTES > buffer.byteLength) throw new Error("rows: cut short");
        const track = view.getUint32(at, true);
        const runs = view.getUint32(at + 4, true) === 1;
        const depth = view.getUint32(at + 8, true);
        const count = view.getUint32(at + 12, true);
        at += SECTION_HEAD_BYTES;
        const size = count * 28 + padded(count);
        if (at + size > buffer.byteLength) throw new Error("rows: cut short");
        // An odd count leaves the next section between two multiples of eight, where no view of doubles can begin.
        const memory = at % 8 === 0 ? buffer : buffer.slice(at, at + size);
        const base = at % 8 === 0 ? at : 0;
        const start = new Float64Array(memory, base, count);
        const end = new Float64Array(memory, base + 8 * count, count);
        const busy = new Float32Array(memory, base + 16 * count, count);
        const name = new Uint32Array(memory, base + 20 * count, count);
        const zones = new Uint32Array(memory, base + 24 * count, count);
        const flags = new Uint8Array(memory, base + 28 * count, count);
        at += size;
        sections.push({ key: rowKey(track, runs, depth), track, runs, depth, count, start, end, busy, name, zones, flags });
    }
    return sections;
}

/** Room for at most `count` rows; take() makes a section of those that were added. */
class Columns {
    private readonly start: Float64Array;
    private readonly end: Float64Array;
    private readonly busy: Float32Array;
    private readonly name: Uint32Array;
    private readonly zones: Uint32Array;
    private readonly flags: Uint8Array;
    count = 0;

    constructor(count: number) {
        this.start = new Float64Array(count);
        this.end = new Float64Array(count);
        this.busy = new Float32Array(count);
        this.name = new Uint32Array(count);
        this.zones = new Uint32Array(count);
        this.flags = new Uint8Array(count);
    }

    add(start: number, end: number, busy: number, name: number, zones: number, flags: number): void {
        const at = this.count++;
        this.start[at] = start;
        this.end[at] = end;
        this.busy[at] = busy;
        this.name[at] = name;
        this.zones[at] = zones;
        this.flags[at] = flags;
    }

    take(of: Section): Section {
        const { count } = this;
        return {
            ...of, count, start: this.start.subarray(0, count), end: this.end.subarray(0, count), busy: this.busy.subarray(0, count),
            name: this.name.subarray(0, count), zones: this.zones.subarray(0, count), flags: this.flags.subarray(0, count),
        };
    }
}

/**
 * The rows in [from, to] at a level, as the server sums them up: those shorter than 2^level ns that begin in the same
 * multiple of it become one, with the name of the longest; shorter gaps are left out.
 */
export function summarise(section: Section, from: number, to: number, level: number): Section {
    const cell = Math.pow(2, level);
    const first = Math.max(0, firstEndingAfter(section, from) - 1);
    let last = first;
    while (last < section.count && (section.start[last] as number) <= to) last++;
    const columns = new Columns(last - first);
    let start = 0, end = 0, busy = 0, longest = -1, name = 0, zones = 0, flags = 0;
    const put = () => {
        if (zones) columns.add(start, end, end > start ? Math.min(1, busy / (end - start)) : 1, name, zones, flags | (zones > 1 ? FLAG_SUMMARY : 0));
        zones = 0;
    };
    for (let at = first; at < last; at++) {
        const a = section.start[at] as number;
        const b = section.end[at] as number;
        const long = b - a >= cell;
        const flag = section.flags[at] as number;
        if (b < from || (flag & FLAG_GAP && !long)) continue;
        const covered = (b - a) * (section.busy[at] as number);
        if (long || !zones || Math.floor(a / cell) !== Math.floor(start / cell)) {
            put();
            if (long) {
                columns.add(a, b, section.busy[at] as number, section.name[at] as number, section.zones[at] as number, flag);
                continue;
            }
            start = a;
            end = b;
            busy = zones = 0;
            longest = -1;
            flags = flag & ~FLAG_SUMMARY;
        }
        end = Math.max(end, b);
        busy += covered;
        zones += section.zones[at] as number;
        if (b - a > longest) {
            longest = b - a;
            name = section.name[at] as number;
            flags = (flags & ~FLAG_WAIT) | (flag & FLAG_WAIT);
        }
    }
    put();
    return columns.take(section);
}

/** The opposite of decodeRows. */
export function encodeRows(sections: readonly Section[], from: number, to: number): ArrayBuffer {
    const size = sections.reduce((sum, { count }) => sum + SECTION_HEAD_BYTES + count * 28 + padded(count), HEAD_BYTES);
    const bytes = new Uint8Array(size);
    const view = new DataView(bytes.buffer);
    view.setUint32(0, MAGIC, true);
    view.setUint32(4, sections.length, true);
    view.setFloat64(8, from, true);
    view.setFloat64(16, to, true);
    let at = HEAD_BYTES;
    for (const section of sections) {
        [section.track, section.runs ? 1 : 0, section.depth, section.count].forEach((value, index) => view.setUint32(at + 4 * index, value, true));
        at += SECTION_HEAD_BYTES;
        for (const column of [section.start, section.end, section.busy, section.name, section.zones, section.flags]) {
            bytes.set(new Uint8Array(column.buffer, column.byteOffset, column.byteLength), at);
            at += column.byteLength;
        }
        at += padded(section.count) - section.count;
    }
    return bytes.buffer;
}
