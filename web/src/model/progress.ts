// SPDX-License-Identifier: Apache-2.0
// How far the server is with a question that takes long.
import { signal } from "@preact/signals";
import { address, slowQueries } from "./api";
import { embedded } from "./embedded";
import { plural, quantity } from "./format";

export interface Progress {
    question: string | null;
    trace: number | null;
    zones_read: number;
    zones: number;
}

const ASK_EVERY_MS = 300;
const MILLION = 1e6;

/** null: nothing is being counted, or nothing is known of it. */
export const progress = signal<Progress | null>(null);

/** "Counting: 31.2 of 50.0 million zones"; a question that reads them again says only how many it has read. */
export function progressText({ zones_read: read, zones }: Progress): string {
    if (read <= 0 || zones <= 0) return "Counting …";
    if (read > zones) return `Counting: ${quantity(read)} zones read`;
    if (zones < MILLION) return `Counting: ${quantity(read)} of ${plural(zones, "zone")}`;
    return `Counting: ${(read / MILLION).toFixed(1)} of ${(zones / MILLION).toFixed(1)} million zones`;
}

/** The share of the bar that is filled; null: it is not known. */
export function progressShare({ zones_read: read, zones }: Progress): number | null {
    return zones > 0 && read > 0 && read <= zones ? read / zones : null;
}

export function keepProgress(): void {
    if (embedded) return;
    let timer = 0;
    const ask = async () => {
        try {
            const answer = await fetch(address("/progress"), { cache: "no-store" });
            const found = (await answer.json()) as Progress;
            progress.value = answer.ok && found.question !== null ? found : null;
        } catch {
            progress.value = null; // the request that waits says what is wrong
        }
        if (slowQueries.peek() > 0) timer = window.setTimeout(() => void ask(), ASK_EVERY_MS);
        else progress.value = null;
    };
    slowQueries.subscribe((count) => {
        clearTimeout(timer);
        if (count > 0) void ask();
        else progress.value = null;
    });
}
