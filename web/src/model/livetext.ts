// SPDX-License-Identifier: Apache-2.0
// The words for a trace that grows, ends, is replaced or deleted.
import { duration, manyOf } from "./format";
import type { TraceEntry, TraceInfo } from "./types";

export function recordingText(info: TraceInfo): string {
    return `recording, ${duration(info.duration_ns)}, ${manyOf(info.zones, "zone")}`;
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
