// SPDX-License-Identifier: Apache-2.0
// A range: what is inside of it, clipped to it.
import { duration, exactNs, group, percent, plural } from "../model/format";
import * as state from "../model/state";
import { shortName } from "../model/text";
import type { RangeStats } from "../model/types";
import type { Selection } from "../model/url";
import { trackLabel, useAnswer } from "./facts";
import { Part } from "./inspector";

export function RangeDetails({ chosen }: { chosen: Extract<Selection, { kind: "range" }> }) {
    const { from, to } = chosen;
    const { data, error } = useAnswer<RangeStats>("range", { from, to }, (answer) => void state.names.value.need(answer.names.map((row) => row.name)));
    const names = state.names.value;
    void names.version.value;
    const length = to - from;
    return (
        <>
            <div class="between"><span class="tag">Range</span><span class="t3">from {duration(from, 5)}</span></div>
            <h2 title={exactNs(length)}>{duration(length)}</h2>
            <div class="t2"><button class="link" onClick={() => state.pushWindow({ from, to }, "range")}>Make it the window</button> <kbd>Enter</kbd></div>
            {error && <p class="t2">{error}</p>}
            {data && data.tracks.length > 0 && (
                <Part title="How busy">
                    <div class="list-rows">
                        {[...data.tracks].sort((a, b) => b.busy - a.busy).slice(0, 8).map((row) => (
                            <div key={row.track}>
                                <i class="swatch imports" />
                                <span class="el">{trackLabel(row.track)}</span>
                                <span>{duration(row.busy)}</span><span class="r t2">{percent(length > 0 ? row.busy / length : 0)}</span>
                            </div>
                        ))}
                    </div>
                </Part>
            )}
            {data && (
                <Part title="What is inside" last side={data.reach_out ? `${plural(data.reach_out, "zone")} reach out, clipped` : "own time first"}>
                    <table class="small-table" aria-label="Names in the range">
                        <thead><tr><th>name</th><th>count</th><th>self</th><th>total</th><th>mean</th></tr></thead>
                        <tbody>
                            {data.names.map((row) => (
                                <tr key={row.name} tabIndex={0} onClick={() => state.select({ kind: "name", name: names.text(row.name) })}
                                    title={`shortest ${duration(row.min)}, longest ${duration(row.max)}`}>
                                    <td>{shortName(names.text(row.name))}</td><td>{group(row.count)}</td><td>{duration(row.self)}</td>
                                    <td>{duration(row.total)}</td><td>{duration(row.mean)}</td>
                                </tr>
                            ))}
                        </tbody>
                    </table>
                </Part>
            )}
        </>
    );
}
