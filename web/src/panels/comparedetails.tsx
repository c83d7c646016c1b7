// SPDX-License-Identifier: Apache-2.0
// The inspector beside a comparison: totals of both, or the row that is selected.
import * as model from "../model/compare";
import { duration, group } from "../model/format";
import * as state from "../model/state";
import { safeText } from "../model/text";
import { signed, Verdict } from "./compare";
import { Facts } from "./facts";
import { Part } from "./inspector";

const COUNTS = new Set(["ops", "zones"]);

function Totals({ totals }: { totals: model.Total[] }) {
    return (
        <table class="small-table" aria-label="Totals">
            <thead><tr><th class="text">part</th><th>A</th><th>B</th><th>difference</th></tr></thead>
            <tbody>
                {totals.map((row) => {
                    const show = COUNTS.has(row.total) ? group : duration;
                    const change = COUNTS.has(row.total) ? `${row.change > 0 ? "+" : row.change < 0 ? "\u2212" : ""}${group(Math.abs(row.change))}` : signed(row.change);
                    return (
                        <tr key={row.total} title={row.noise === null ? "" : `noise ± ${duration(row.noise)}, 99% sure`}>
                            <td class="text">{safeText(row.total)}</td><td>{show(row.a)}</td><td>{show(row.b)}</td><td>{change}</td>
                        </tr>
                    );
                })}
            </tbody>
        </table>
    );
}

function RowDetails({ row }: { row: model.DiffRow }) {
    const time = (ns: number | null) => (ns === null ? "–" : duration(ns));
    return (
        <>
            <div class="between"><span class="tag">{row.kind === "op" ? "Op" : "Zone"}</span><Verdict row={row} /></div>
            <h2>{safeText(row.name)}</h2>
            <Part title="All of it">
                <Facts rows={[
                    ["A", `${time(row.a_total_ns)}, ${group(row.a_count)} ×`], ["B", `${time(row.b_total_ns)}, ${group(row.b_count)} ×`],
                    ["difference", signed(row.change_ns)], row.kind === "zone" && ["change of own time", signed(model.ownChange(row))],
                ]} />
            </Part>
            <Part title="One of it" side="median">
                <Facts rows={[["A", time(row.a_median_ns)], ["B", time(row.b_median_ns)], !!model.noiseText(row) && ["noise", safeText(model.noiseText(row))]]} />
            </Part>
            <Part title="Where" last>
                <Facts rows={[
                    !!row.location && ["place", <span class="mono">{safeText(row.location)}</span>], !!row.a_tensors && ["tensors A", safeText(row.a_tensors)],
                    !!row.b_tensors && row.b_tensors !== row.a_tensors && ["tensors B", safeText(row.b_tensors)],
                ]} />
            </Part>
        </>
    );
}

export function CompareDetails() {
    const data = model.current();
    const chosen = state.selection.value;
    if (!data || model.comparison.error.value) return <span class="tag">Compare</span>;
    const row = chosen?.kind === "diff" ? data.diff?.rows.find((one) => model.rowKeyOf(one) === chosen.key) : undefined;
    if (row) return <RowDetails row={row} />;
    return (
        <>
            <div class="between"><span class="tag">Compare</span><span class="t3">nothing is selected</span></div>
            <h2>{safeText(data.a.name)} → {safeText(data.b.name)}</h2>
            {data.diff && <Part title="Totals"><Totals totals={data.diff.totals} /></Part>}
            {data.estimate && (
                <Part title="All ops">
                    <Facts rows={[["estimated", duration(data.estimate.estimate_ns)], ["measured", duration(data.estimate.measured_ns)],
                        data.estimate.unmeasured > 0 && ["not measured", group(data.estimate.unmeasured)]]} />
                </Part>
            )}
            {data.diff && (
                <Part title="How it is judged" last>
                    <p class="t2">Slower and faster are changes of more than {data.diff.threshold_percent}% that a rank test takes for more than noise (p &lt; {data.diff.significance_percent / 100}).
                        What happened once has no spread. In a window count the ops that begin in it and the zones that lie in it whole.</p>
                    {(data.notes ?? []).map((note, index) => <p key={index} class="t2">{safeText(note)}</p>)}
                </Part>
            )}
        </>
    );
}
