// SPDX-License-Identifier: Apache-2.0
// Of many processes, or of many threads of one, those that did next to nothing are one folded line.

/** So many are shown, each, whatever they did. */
const MANY = 12;
/** Fewer are not worth a line of their own. */
const FOLDED_LEAST = 6;
/** Of the trace's time. */
const QUIET_SHARE = 0.005;

export interface Candidate {
    busy: number;
    /** It has something to say however little it did: a crash, losses, a place that somebody gave it. */
    stays: boolean;
}

/** Those that are shown, in their order, and those that are folded. */
export function partQuiet<T extends Candidate>(all: readonly T[], duration: number): { shown: T[]; quiet: T[] } {
    const isQuiet = (one: T) => !one.stays && one.busy <= duration * QUIET_SHARE;
    const quiet = all.length > MANY ? all.filter(isQuiet) : [];
    if (quiet.length < FOLDED_LEAST) return { shown: [...all], quiet: [] };
    return { shown: all.filter((one) => !isQuiet(one)), quiet };
}
