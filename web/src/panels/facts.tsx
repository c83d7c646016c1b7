// SPDX-License-Identifier: Apache-2.0
// Small parts that the inspector's sections share.
import { useSignal, useSignalEffect } from "@preact/signals";
import { type Bin } from "../model/bins";
import { getJson, RequestFailed, type Parameters } from "../model/api";
import { duration } from "../model/format";
import * as state from "../model/state";
import { fileName, safeText } from "../model/text";
import type { ZoneDetail } from "../model/types";
import type { ComponentChildren } from "preact";

export type Fact = [string, ComponentChildren];

export function Facts({ rows }: { rows: (Fact | null | false)[] }) {
    return (
        <dl class="facts">
            {rows.filter((row): row is Fact => !!row).flatMap(([key, value]) => [<dt key={`${key}-`}>{safeText(key)}</dt>, <dd key={key}>{value}</dd>])}
        </dl>
    );
}

export interface Loaded<T> {
    data: T | null;
    error: string | null;
}

/** An answer about the selection; forgets the old one when the question changes. */
export function useAnswer<T>(path: string, parameters: Parameters, accept?: (answer: T) => void): Loaded<T> {
    const loaded = useSignal<Loaded<T>>({ data: null, error: null });
    const key = useSignal("");
    key.value = JSON.stringify([path, parameters, state.traceIndex.value]);
    useSignalEffect(() => {
        const mine = key.value;
        const [asked, given] = JSON.parse(mine) as [string, Parameters];
        if (asked === "") return;
        getJson<T>(`/t/${state.traceIndex.peek()}/${asked}`, given).then((data) => {
            if (key.peek() !== mine) return;
            accept?.(data);
            loaded.value = { data, error: null };
        }).catch((error: unknown) => {
            const said = error instanceof RequestFailed ? error.message : "The server does not answer.";
            if (key.peek() === mine) loaded.value = { data: null, error: said };
        });
    });
    return loaded.value;
}

export function trackLabel(id: number | null): string {
    const track = state.trace.value?.tracks.find((one) => one.id === id);
    return track ? safeText(track.name || `${track.kind} ${track.number}`) : "–";
}

/** The device to which a track belongs: a gap is the whole device's, not a queue's. */
export function deviceLabel(id: number): string {
    const tracks = state.trace.value?.tracks ?? [];
    let track = tracks.find((one) => one.id === id);
    while (track && track.kind !== "device" && track.parent !== null) track = tracks.find((one) => one.id === track?.parent);
    return trackLabel(track?.kind === "device" ? track.id : id);
}

const LINES_BEFORE = 2;
const LINES_SHOWN = 8;

export function Source({ source }: { source: ZoneDetail["source"] }) {
    if (!source) return null;
    const from = Math.max(0, source.line - source.first_line - LINES_BEFORE);
    return (
        <pre>
            {source.lines.slice(from, from + LINES_SHOWN).map((line, index) => {
                const number = source.first_line + from + index;
                return <div key={number} class={number === source.line ? "on" : ""}><i>{number}</i>{safeText(line.replace(/\t/g, "    "))}</div>;
            })}
        </pre>
    );
}

export function place(file: string | null | undefined, line: number | null | undefined): string {
    return file ? fileName(file, line ?? null) : "";
}

/** Bars over a scale of lengths, with lines at percentiles; `mark` is the length of this call. */
export function Histogram({ bins, lines, mark, label, height = 64 }: { bins: Bin[]; lines: { at: number; label: string }[]; mark?: number; label: string; height?: number }) {
    const most = Math.max(1, ...bins.map((bin) => bin.count));
    const first = bins[0];
    const last = bins[bins.length - 1];
    if (!first || !last) return null;
    const wide = last.to / Math.max(1, first.from || first.to) > 20;
    const low = Math.max(1, first.from || first.to / 2);
    const x = (value: number) => {
        const share = wide ? Math.log(Math.max(low, value) / low) / Math.log(last.to / low) : (value - first.from) / (last.to - first.from);
        return Math.min(100, Math.max(0, share * 100));
    };
    const base = height - 22;
    return (
        <svg width="100%" height={height} style={{ marginTop: "6px", display: "block" }} role="img" aria-label={label}>
            {bins.map((bin, index) => {
                const tall = bin.count ? Math.max(1.5, (bin.count / most) * (base - 2)) : 0;
                const width = Math.max(0.5, x(bin.to) - x(bin.from) - 0.3);
                return <rect key={index} class="column plain-fill" x={`${x(bin.from)}%`} y={base - tall} width={`${width}%`} height={tall} />;
            })}
            {lines.map((line) => <line key={line.label} class="target" x1={`${x(line.at)}%`} x2={`${x(line.at)}%`} y1={2} y2={base + 4} />)}
            {mark !== undefined && <line class="mark-line" x1={`${x(mark)}%`} x2={`${x(mark)}%`} y1={0} y2={base + 4} />}
            <text x="0" y={height - 6}>{duration(first.from)}</text>
            <text x="100%" y={height - 6} text-anchor="end">{duration(last.to)}</text>
        </svg>
    );
}
