// SPDX-License-Identifier: Apache-2.0
// Where things are. A place is (track, lane or depth, start, end), never a start alone: on one track several runs may
// begin at one time, and what is as long as nothing cannot be seen. A moment has no length and is a kind of its own.
import type { Item, Span } from "./url";

/** As the server says it; what is null is not known. */
export interface PlaceAnswer {
    /** A run of a device, the call of an op on the host that no device ran, or a gap of a device. */
    kind: "run" | "call" | "gap" | null;
    track: number | null;
    lane: number | null;
    start: number | null;
    end: number | null;
    /** What the tables call what is there. */
    name: string;
}

export interface Call extends Span {
    track: number;
}

/** What the timeline is asked to bring into view. */
export type Shown =
    | { kind: "item"; item: Item; fit: boolean }
    | { kind: "span"; from: number; to: number; track: number | null }
    | { kind: "moment"; time: number; track: number | null }
    | { kind: "track"; track: number };

export function itemOf(place: PlaceAnswer): Item | null {
    const { kind, track, lane, start, end } = place;
    if (track === null || start === null || end === null) return null;
    if (kind === "run" && lane !== null) return { kind, track, lane, start, end };
    return kind === "gap" ? { kind, track, start, end } : null;
}

export function callOf({ kind, track, start, end }: PlaceAnswer): Call | null {
    return kind === "call" && track !== null && start !== null && end !== null ? { track, from: start, to: end } : null;
}

export function isSame(a: Item, b: Item): boolean {
    if (a.kind !== b.kind || a.track !== b.track || a.start !== b.start || a.end !== b.end) return false;
    return (a.kind !== "run" || b.kind !== "run" || a.lane === b.lane) && (a.kind !== "zone" || b.kind !== "zone" || a.depth === b.depth);
}

/** Narrower than this nobody sees what a zone is. */
const SEEN_FROM_PX = 3;
/** What is around is seen, too: at most a third of the view is the place, a quarter where the view is made for it. */
const LEAST_AROUND = 3;
const FITTED = 4;

/** The view in which a place is seen: the present one where it is, else as wide a one where the place is in the middle;
 * another width only where the place would be too narrow or too wide. What has no length has no width of its own. */
export function viewOf(place: Span, view: Span, width: number, fit: boolean): Span {
    const length = place.to - place.from;
    const now = view.to - view.from;
    const middle = (place.from + place.to) / 2;
    const seen = length === 0 || ((length / now) * width >= SEEN_FROM_PX && length * LEAST_AROUND <= now);
    if (seen && !(fit && length > 0) && place.from >= view.from && place.to <= view.to) return view;
    const wide = length > 0 && (fit || !seen) ? length * FITTED : now;
    return { from: middle - wide / 2, to: middle + wide / 2 };
}

/** A moment is only brought to the middle. */
export function centred(time: number, view: Span): Span {
    const half = (view.to - view.from) / 2;
    return { from: time - half, to: time + half };
}
