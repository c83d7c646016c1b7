// SPDX-License-Identifier: Apache-2.0
// The binary answer of /rows: sections of columns, one section per row of the timeline.

export const FLAG_OPEN = 1;
export const FLAG_WAIT = 2;
export const FLAG_GAP = 4;
export const FLAG_LOSS = 8;
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
