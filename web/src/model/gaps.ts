// SPDX-License-Identifier: Apache-2.0
// Gaps and the parts of the idle time: a gap may hold some of several, so that the sums of all gaps are those of the parts.
import type { Gap } from "./types";

/** What of a gap belongs to a part of the partition. */
export function partOfGap(gap: Gap, key: string): number {
    const [working, waiting] = [gap.working_ns ?? 0, gap.waiting_ns ?? 0];
    switch (key) {
        case "idle_host_working": return working;
        case "idle_host_waiting": return waiting;
        case "nothing":
        case "idle_host_unknown": return gap.duration - working - waiting;
        default: return 0;
    }
}

/** The gaps in which a part is, those that hold most of it first. */
export function gapsOfPart(gaps: readonly Gap[], key: string): Gap[] {
    return gaps.filter((gap) => partOfGap(gap, key) > 0).sort((a, b) => partOfGap(b, key) - partOfGap(a, key));
}

/** Gaps before the same op that are not much shorter, in order of time: the same in every step? */
export function sameGaps(gap: Gap, all: readonly Gap[]): Gap[] {
    return all.filter((one) => one.before === gap.before && one.track === gap.track && one.duration > gap.duration / 4).sort((a, b) => a.start - b.start);
}
