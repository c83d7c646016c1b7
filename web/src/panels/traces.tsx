// SPDX-License-Identifier: Apache-2.0
// What can be opened, when that is not one trace: recordings that run first, then traces as the server lists them.
import { useSignal } from "@preact/signals";
import { bytes, duration, manyOf } from "../model/format";
import * as state from "../model/state";
import { fileName, safeText, traceTitle } from "../model/text";
import type { TraceEntry } from "../model/types";
import { emptyState } from "../model/url";

interface Place {
    entry: TraceEntry;
    index: number;
}

function open(index: number) {
    return {
        tabIndex: 0,
        onClick: () => void state.openTrace(index),
        onKeyDown: (event: KeyboardEvent) => event.key === "Enter" && void state.openTrace(index),
    };
}

function since(entry: TraceEntry): string {
    return entry.start_unix_ns ? new Date(entry.start_unix_ns / 1e6).toLocaleTimeString() : "–";
}

function Recordings({ list }: { list: Place[] }) {
    return (
        <>
            <h2>Recording now</h2>
            <table aria-label="Recording now">
                <thead><tr><th>name</th><th>pid</th><th>since</th><th>length</th><th>zones per second</th></tr></thead>
                <tbody>
                    {list.map(({ entry, index }) => (
                        <tr key={entry.id} {...open(index)}>
                            <td title={safeText(entry.path)}><button class="link">{traceTitle(entry.name)}</button></td>
                            <td>{entry.pid ?? "–"}</td><td>{since(entry)}</td><td>{duration(entry.duration_ns)}</td>
                            <td>{entry.duration_ns ? manyOf(Math.round(entry.zones / (entry.duration_ns / 1e9)), "zone") : "–"}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </>
    );
}

function date(entry: TraceEntry): string {
    const at = entry.start_unix_ns || entry.modified_unix_ns;
    return at ? new Date(at / 1e6).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }) : "–";
}

/** Two that are ticked are compared, the upper one being A. */
function Traces({ list }: { list: Place[] }) {
    const ticked = useSignal<readonly number[]>([]);
    const [a = 0, b = 0] = [...ticked.value].sort((left, right) => left - right);
    const tick = (index: number) => (ticked.value = ticked.value.includes(index) ? ticked.value.filter((one) => one !== index) : [...ticked.value, index].slice(-2));
    return (
        <>
            <h2>Traces</h2>
            <table aria-label="Traces">
                <thead><tr>{list.length > 1 && <th><span class="unseen">compare</span></th>}<th>name</th><th>recorded</th><th>command</th><th>length</th><th>zones</th><th>size</th><th>state</th></tr></thead>
                <tbody>
                    {list.map(({ entry, index }) => (
                        <tr key={entry.id} {...open(index)}>
                            {list.length > 1 && (
                                <td onClick={(event) => event.stopPropagation()} onKeyDown={(event) => event.stopPropagation()}>
                                    <input type="checkbox" aria-label={`Compare ${fileName(entry.name)}`} checked={ticked.value.includes(index)} onChange={() => tick(index)} />
                                </td>
                            )}
                            <td title={safeText(entry.path)}><button class="link">{fileName(entry.name)}</button></td>
                            <td>{date(entry)}</td><td class="command" title={safeText(entry.command ?? "")}>{safeText(entry.command || "–")}</td>
                            <td>{duration(entry.duration_ns)}</td><td>{manyOf(entry.zones, "zone")}</td><td>{bytes(entry.size_bytes)}</td>
                            <td title={safeText(entry.error ?? "")}>{entry.state}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
            {list.length > 1 && (
                <p><button class="compare-two" disabled={ticked.value.length !== 2} onClick={() => void state.openTrace(a, { ...emptyState(), trace: a, panel: "compare", other: b })}>
                    {ticked.value.length === 2 ? "Compare the two" : "Tick two to compare them"}
                </button></p>
            )}
        </>
    );
}

export function TraceList() {
    const all = (state.traces.value ?? []).map((entry, index) => ({ entry, index }));
    const growing = all.filter(({ entry }) => entry.state === "growing");
    const rest = all.filter(({ entry }) => entry.state !== "growing");
    return (
        <main class="trace-list">
            {growing.length > 0 && <Recordings list={growing} />}
            {state.waits.value && (
                <p role="status">
                    {all.length === 0 && "No trace here yet. "}
                    {growing.length === 0 && <>Waiting for a program: <code>opscope run -- python3 train.py</code> makes a trace. </>}
                    {growing.length === 0 ? "This page follows it when it starts." : "This page follows the next program when it starts."}
                </p>
            )}
            {rest.length > 0 && <Traces list={rest} />}
        </main>
    );
}
