// SPDX-License-Identifier: Apache-2.0
// The traces that were opened, when there is more than one, or none.
import { bytes, duration, manyOf } from "../model/format";
import * as state from "../model/state";
import { fileName, safeText } from "../model/text";

export function TraceList() {
    const list = state.traces.value ?? [];
    if (!list.length) {
        return (
            <p class="plain">
                No trace here yet. <code>opscope run -- python3 train.py</code> makes one; <code>opscope view</code> with its name shows it here.
            </p>
        );
    }
    return (
        <main class="trace-list">
            <h2>Traces</h2>
            <table aria-label="Traces">
                <thead><tr><th>name</th><th>length</th><th>zones</th><th>size</th><th>state</th></tr></thead>
                <tbody>
                    {list.map((entry, index) => (
                        <tr key={entry.id} tabIndex={0} onClick={() => void state.openTrace(index)}
                            onKeyDown={(event) => event.key === "Enter" && void state.openTrace(index)}>
                            <td title={safeText(entry.path)}><button class="link">{fileName(entry.name)}</button></td>
                            <td>{duration(entry.duration_ns)}</td><td>{manyOf(entry.zones, "zone")}</td><td>{bytes(entry.size_bytes)}</td><td>{entry.state}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </main>
    );
}
