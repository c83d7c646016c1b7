// SPDX-License-Identifier: Apache-2.0
// A box of an estimate that is laid over a run: what it foretells, and what was measured.
import { duration, exactNs, group, NBSP, plural } from "../model/format";
import { boxOfRun, current, factorOf, type MeasuredRun, type Pair, type RunPlace } from "../model/overlay";
import * as state from "../model/state";
import { fileName, safeText, shortName } from "../model/text";
import { Facts, trackLabel } from "./facts";
import { Part } from "./inspector";

const RUNS_LISTED = 12;

export function factorText(pair: Pair): string {
    const factor = factorOf(pair);
    return factor === null ? "not measured" : `${factor.toPrecision(3)}${NBSP}×${NBSP}the estimate`;
}

function choose(run: MeasuredRun): void {
    if (run.lane === null) state.show({ kind: "span", from: run.start, to: run.end, track: run.track });
    else state.select({ kind: "run", track: run.track, lane: run.lane, start: run.start, end: run.end }, { reveal: true });
}

function Runs({ pair }: { pair: Pair }) {
    const listed = pair.runs.slice(0, RUNS_LISTED);
    return (
        <Part title="What was measured" side={pair.run_count > listed.length ? `${group(listed.length)} of ${group(pair.run_count)} runs` : plural(pair.run_count, "run")}>
            <div class="list-rows">
                {listed.map((run) => (
                    <button key={`${run.track} ${run.start}`} onClick={() => choose(run)}>
                        <i class="swatch work" /><span class="el">{trackLabel(run.track)} <span class="t3">{run.beside ? "beside the estimate" : ""}</span></span>
                        <span class="t2">at {duration(run.start, 5)}</span><span class="r">{duration(run.end - run.start)}</span>
                    </button>
                ))}
            </div>
        </Part>
    );
}

export function EstimateDetails({ index }: { index: number }) {
    const data = current();
    const box = data?.boxes[index];
    if (!data || !box) return <p class="t2">{data ? "This is not in the estimate." : "Reading the estimate …"}</p>;
    const pair = box.pair === null ? undefined : data.pairs[box.pair];
    return (
        <>
            <div class="between"><span class="tag estimate-tag">Estimated {safeText(data.what ?? "op")}</span><span class="t3">{pair ? factorText(pair) : ""}</span></div>
            <h2>{shortName(box.name)}</h2>
            <div class="t2">estimated <b title={exactNs(box.end - box.start)}>{duration(box.end - box.start)}</b>
                {pair && pair.measured_ns !== null && <>, measured <b title={exactNs(pair.measured_ns)}>{duration(pair.measured_ns)}</b>{pair.run_count > 1 ? " at least" : ""}</>}</div>
            {pair && pair.runs.length > 0 ? <Runs pair={pair} /> : <Part title="What was measured"><p class="t2">Nothing that ran was found to be this {safeText(data.what ?? "op")}.</p></Part>}
            <Part title="Where it is drawn" last>
                <p class="t2">{data.a === data.b ? "Where the trace has it." : `It begins where ${data.whole_runs > 1 ? `the shortest of ${group(data.whole_runs)} runs of the model` : "the run"} does, at ${duration(data.begin, 5)}.`}</p>
                <Facts rows={[["estimate", fileName(data.name)], ["exactly", exactNs(box.end - box.start)]]} />
            </Part>
        </>
    );
}

/** In the details of a run: what was estimated of it. */
export function EstimateOfRun({ run }: { run: RunPlace }) {
    const data = current();
    const index = data ? boxOfRun(data, run) : -1;
    const box = data?.boxes[index];
    const pair = box && box.pair !== null ? data?.pairs[box.pair] : undefined;
    if (!box || !pair) return null;
    return (
        <Part title="Estimate" side={factorText(pair)}>
            <button class="link" onClick={() => state.select({ kind: "estimate", index })}>{duration(pair.estimate_ns)} for {shortName(box.name)}</button>
        </Part>
    );
}
