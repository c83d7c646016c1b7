// SPDX-License-Identifier: Apache-2.0
// By what ops are coloured: their kind (as the server says), their name, or what bounds them; on the timeline, in the table
// and on the roofline alike.
import { effect } from "@preact/signals";
import type { Names } from "./names";
import * as state from "./state";
import type { OpGroup } from "./types";

/** The colour that a name has by itself, by the rule of src/present/name_colour.h. */
export function hashColour(name: string): number {
    let hash = 2166136261;
    for (const byte of new TextEncoder().encode(name.replace(/[0-9]+(?=[^0-9])/g, ""))) hash = Math.imul(hash ^ byte, 16777619);
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return ((hash ^ (hash >>> 16)) >>> 0) % 10;
}

export const BOUND_COLOURS: Record<string, number> = { FLOP: 0, DRAM: 1, BOTH: 4, LINK: 6, SLOW: 3, L2: 2, L3: 2, GAP: 8, HOST: 5 };
const NO_BOUND = 7;

/** "matmul 32x32" is a "matmul": the name that its runs have; the op's own where none of them is known. */
export function runName(names: Names, op: string): string {
    for (let text = op; text; text = text.slice(0, Math.max(0, text.lastIndexOf(" ")))) if (names.idOf(text) !== undefined) return text;
    return op;
}

export function opColour(group: Pick<OpGroup, "name" | "colour"> & { bound?: string | null }): number {
    switch (state.colours.value) {
        case "name": return hashColour(runName(state.names.value, group.name));
        case "bound": return BOUND_COLOURS[group.bound ?? ""] ?? NO_BOUND;
        default: return group.colour;
    }
}

/** What bounds the costliest op of each name. */
export function boundsByName(groups: readonly OpGroup[], names: Names): Map<string, number> {
    const found = new Map<string, number>();
    for (const group of [...groups].sort((a, b) => b.device_ns - a.device_ns)) {
        const name = runName(names, group.name);
        if (!found.has(name)) found.set(name, BOUND_COLOURS[group.bound ?? ""] ?? NO_BOUND);
    }
    return found;
}

/** Keeps the timeline's colours as they were chosen. */
export function keepColours(): void {
    effect(() => {
        const names = state.names.value;
        const mode = state.colours.value;
        const groups = mode === "bound" ? state.ops.data.value?.groups ?? [] : [];
        void (mode === "bound" && names.version.value);
        const bounds = boundsByName(groups, names);
        names.recolour(mode === "kind" ? null : mode === "name" ? hashColour : (text) => bounds.get(text));
    });
}
