// SPDX-License-Identifier: Apache-2.0
// Signposts, messages and frames in words. A frame has a number and a length of its own, which the server says: the mark
// that is seen next need not be the one that ends it.
import { duration } from "./format";
import { safeText } from "./text";
import type { Point } from "./types";

/** "step 7"; what it says where it is no frame. */
export function pointText(point: Point): string {
    const text = point.header && point.text ? `${point.header}: ${point.text}` : point.text || point.header;
    return safeText(point.number === null ? text : `${text || "frame"} ${point.number}`);
}

/** "step 7 · 21.3 ms". */
export function flagText(point: Point): string {
    return point.duration === null ? pointText(point) : `${pointText(point)} · ${duration(point.duration)}`;
}

export function endOfFrame(point: Point): number | null {
    return point.duration === null ? null : point.time + point.duration;
}

/** The frame that a range is, if it is one. */
export function frameAt(points: readonly Point[], from: number, to: number): Point | undefined {
    return points.find((point) => point.time === from && endOfFrame(point) === to);
}

/** Which of those of its track and time it is, from 0; and back. */
export function momentOf(points: readonly Point[], point: Point): { kind: "moment"; time: number; track: number; nth?: number } {
    const nth = points.filter((one) => one.time === point.time && one.track === point.track).indexOf(point);
    return { kind: "moment", time: point.time, track: point.track, ...(nth > 0 ? { nth } : {}) };
}

export function pointAtMoment(points: readonly Point[], { time, track, nth = 0 }: { time: number; track: number | null; nth?: number }): Point | undefined {
    return points.filter((one) => one.time === time && (track === null || one.track === track))[nth];
}
