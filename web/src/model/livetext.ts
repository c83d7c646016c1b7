// SPDX-License-Identifier: Apache-2.0
// The words for a trace that grows, ends, is replaced or deleted.
import { duration, manyOf } from "./format";
import type { TraceEntry, TraceInfo } from "./types";

export function recordingText(end: number, zones: number): string {
    return `recording, ${duration(end)}, ${manyOf(zones, "zone")}`;
}

const BEHIND_NS = 1.5e9;

/** How far what is drawn, and what was counted, are behind the recording; null: not so far that it matters. */
export function behindText(drawn: number, counted: number): string | null {
    if (drawn >= BEHIND_NS) return `${Math.round(drawn / 1e9)}\u00a0s behind`;
    if (counted >= 2 * BEHIND_NS) return `numbers are ${Math.round(counted / 1e9)}\u00a0s behind`;
    return null;
}

/** The server answers, but not to this page. */
export function strangerText(): string {
    return "The server was started anew, with another token: open the link that it printed. What you see stays.";
}

export function pausedText(at: number, end: number): string {
    return `Paused at ${duration(at)}. Recording goes on: ${duration(Math.max(0, end - at))} behind.`;
}

export function endText(info: TraceInfo): string {
    const how = info.signal ? `, ${info.signal}` : info.exit_status === null ? "" : `, exit ${info.exit_status}`;
    return `The program ended at ${duration(info.duration_ns)}${how}. Trace ${info.complete ? "complete" : "not complete"}.`;
}

export function lostText(seconds: number, end: number): string {
    return `Connection lost ${seconds}\u00a0s ago; trying again. What you see is up to ${duration(end)}.`;
}

/** null: the file is as it was. */
export function fileText(entry: TraceEntry | undefined, newer: TraceEntry | undefined): string | null {
    if (entry?.state === "deleted") return "This trace was deleted on disk. What you see stays until the server ends.";
    if (entry?.state !== "replaced") return null;
    const at = newer?.modified_unix_ns ? new Date(newer.modified_unix_ns / 1e6) : null;
    const time = at ? ` at ${String(at.getHours()).padStart(2, "0")}:${String(at.getMinutes()).padStart(2, "0")}` : "";
    return `This trace was replaced on disk${time}.`;
}
