// SPDX-License-Identifier: Apache-2.0
// A range: what is inside of it, clipped to it. And two of them, side by side.
import { difference, duration, exactNs, group, percent, plural } from "../model/format";
import { frameAt, pointText } from "../model/points";
import * as state from "../model/state";
import { shortName } from "../model/text";
import type { RangeStats } from "../model/types";
import type { Selection, Span } from "../model/url";
import { Facts, trackLabel, useAnswer } from "./facts";
import { Part } from "./inspector";
import { rowKeys } from "./table";

type Range = Extract<Selection, { kind: "range" }>;

function useRange({ from, to }: Span) {
    return useAnswer<RangeStats>("range", { from, to }, (answer) => void state.names.value.need(answer.names.map((row) => row.name)));
}

/** Gaps and messages inside, as far as they are known. */
function Around({ from, to }: Span) {
    const gaps = (state.gaps.data.value?.gaps ?? []).map((gap) => Math.min(to, gap.start + gap.duration) - Math.max(from, gap.start)).filter((ns) => ns > 0);
    const points = (state.points.data.value?.points ?? []).filter((point) => point.time >= from && point.time < to);
    if (!gaps.length && !points.length) return null;
    return (
        <Part title="Gaps and messages">
            <Facts rows={[
                gaps.length > 0 && ["gaps", `${group(gaps.length)}, ${duration(gaps.reduce((sum, ns) => sum + ns, 0))}, longest ${duration(Math.max(...gaps))}`],
                points.length > 0 && ["messages", group(points.length)],
            ]} />
        </Part>
    );
}

function OneRange({ chosen }: { chosen: Range }) {
    const { from, to } = chosen;
    const { data, error } = useRange(chosen);
    const names = state.names.value;
    void names.version.value;
    const length = to - from;
    const frame = frameAt(state.points.data.value?.points ?? [], from, to);
    return (
        <>
            <div class="between"><span class="tag">Range</span><span class="t3">from {duration(from, 5)}</span></div>
            <h2 title={exactNs(length)}>{frame ? `${pointText(frame)}, ` : ""}{duration(length)}</h2>
            <div class="t2"><button class="link" onClick={() => state.pushWindow({ from, to }, "range")}>Make it the window</button> <kbd>Enter</kbd></div>
            {error && <p class="t2">{error}</p>}
            {data && data.tracks.length > 0 && (
                <Part title="How busy">
                    <div class="list-rows">
                        {[...data.tracks].sort((a, b) => b.busy - a.busy).slice(0, 8).map((row) => (
                            <button key={row.track} onClick={() => state.show({ kind: "span", from, to, track: row.track })}>
                                <i class="swatch imports" />
                                <span class="el">{trackLabel(row.track)}</span>
                                <span>{duration(row.busy)}</span><span class="r t2">{percent(length > 0 ? row.busy / length : 0)}</span>
                            </button>
                        ))}
                    </div>
                </Part>
            )}
            <Around from={from} to={to} />
            {data && (
                <Part title="What is inside" last side={data.reach_out ? `${plural(data.reach_out, "zone")} reach out, clipped` : "own time first"}>
                    <table class="small-table" aria-label="Names in the range">
                        <thead><tr><th>name</th><th>count</th><th>self</th><th>total</th><th>mean</th></tr></thead>
                        <tbody>
                            {data.names.map((row, index) => (
                                <tr key={row.name} tabIndex={index ? -1 : 0} onClick={() => state.select({ kind: "name", name: names.text(row.name) })}
                                    onKeyDown={(event) => rowKeys(event, () => state.select({ kind: "name", name: names.text(row.name) }))}
                                    title={`shortest ${duration(row.min)}, longest ${duration(row.max)}`}>
                                    <td>{shortName(names.text(row.name))}</td><td>{group(row.count)}</td><td>{duration(row.self)}</td>
                                    <td>{duration(row.total)}</td><td>{duration(row.mean)}</td>
                                </tr>
                            ))}
                        </tbody>
                    </table>
                    <p class="t3">Shift + drag selects a second range to compare with.</p>
                </Part>
            )}
        </>
    );
}

interface Pair {
    key: number;
    first: number;
    second: number;
}

/** Rows of both, those that differ most first. */
function pairs(first: readonly [number, number][], second: readonly [number, number][]): Pair[] {
    const rows = new Map<number, Pair>();
    for (const [key, ns] of first) rows.set(key, { key, first: ns, second: 0 });
    for (const [key, ns] of second) rows.set(key, { key, first: rows.get(key)?.first ?? 0, second: ns });
    return [...rows.values()].sort((a, b) => Math.abs(b.second - b.first) - Math.abs(a.second - a.first));
}

function PairTable({ title, rows, label }: { title: string; rows: readonly Pair[]; label: (key: number) => string }) {
    return (
        <Part title={title} side="second minus first">
            <table class="small-table" aria-label={title}>
                <thead><tr><th>name</th><th>first</th><th>second</th><th>difference</th></tr></thead>
                <tbody>
                    {rows.map((row) => {
                        const more = row.second - row.first;
                        return (
                            <tr key={row.key}>
                                <td>{label(row.key)}</td><td>{duration(row.first)}</td><td>{duration(row.second)}</td>
                                <td class={more > 0 ? "slower" : more < 0 ? "faster" : ""}>{more > 0 ? "▲ " : more < 0 ? "▼ " : ""}{more ? difference(more, 0) : "0"}</td>
                            </tr>
                        );
                    })}
                </tbody>
            </table>
        </Part>
    );
}

function TwoRanges({ chosen, other }: { chosen: Range; other: Span }) {
    const first = useRange(chosen);
    const second = useRange(other);
    const names = state.names.value;
    void names.version.value;
    const [a, b] = [chosen.to - chosen.from, other.to - other.from];
    const error = first.error ?? second.error;
    const nameRows = pairs((first.data?.names ?? []).map((row) => [row.name, row.self]), (second.data?.names ?? []).map((row) => [row.name, row.self]));
    const trackRows = pairs((first.data?.tracks ?? []).map((row) => [row.track, row.busy]), (second.data?.tracks ?? []).map((row) => [row.track, row.busy]));
    return (
        <>
            <div class="between"><span class="tag">Two ranges</span><span class="t3">{duration(chosen.from, 5)} and {duration(other.from, 5)}</span></div>
            <h2>{duration(a)} against {duration(b)}</h2>
            <div class="t2">The second is {b === a ? "as long" : difference(b - a, a)}. <button class="link" onClick={() => state.select({ kind: "range", from: chosen.from, to: chosen.to })}>Only the first</button></div>
            {error && <p class="t2">{error}</p>}
            {first.data && second.data && (
                <>
                    <PairTable title="How busy" rows={trackRows.slice(0, 8)} label={trackLabel} />
                    <PairTable title="Own time inside" rows={nameRows.slice(0, 16)} label={(id) => shortName(names.text(id))} />
                </>
            )}
        </>
    );
}

export function RangeDetails({ chosen }: { chosen: Range }) {
    return chosen.other ? <TwoRanges chosen={chosen} other={chosen.other} /> : <OneRange chosen={chosen} />;
}
