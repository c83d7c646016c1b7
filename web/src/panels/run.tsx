// SPDX-License-Identifier: Apache-2.0
// A run of an op on a device, and the op as a group of runs.
import type { ComponentChildren } from "preact";
import { binsOf } from "../model/bins";
import { goTo, hasPlace } from "../model/doors";
import { duration, exactNs, group as grouped, percent, plural, quantity } from "../model/format";
import { opColour } from "../model/opcolour";
import * as state from "../model/state";
import { safeText, shortName } from "../model/text";
import type { OpGroup, RunDetail } from "../model/types";
import type { Selection } from "../model/url";
import { detail } from "../timeline/stage";
import { AdviceOf } from "./advice";
import { Description } from "./description";
import { EstimateOfRun } from "./estimated";
import { Facts, Histogram, trackLabel, useAnswer, type Fact } from "./facts";
import { Part } from "./inspector";
import { LaunchedFrom } from "./launch";
import { boundText } from "./ops";

type Run = Extract<Selection, { kind: "run" }>;

function figureText(figure: RunDetail["figures"][number]): string {
    if (typeof figure.value === "string") return safeText(figure.value);
    if (/ns$/i.test(figure.kind)) return duration(figure.value);
    return quantity(figure.value);
}

/** What a link or a table does not say: the end, and the name of which others are outlined. */
function learn(chosen: Run, answer: RunDetail): void {
    const { op } = answer;
    detail.value = op && op.start !== null && op.track !== null ? { track: op.track, time: op.start } : null;
    if (answer.name !== null) void state.names.value.need([answer.name]);
    state.spoken.value = `${shortName(answer.text || answer.op?.text || "run")}, ${duration(answer.duration)}, ${trackLabel(answer.track)}, starts ${duration(answer.start, 5)}`;
    const end = answer.start + answer.duration;
    const name = answer.name ?? undefined;
    if (chosen.start === answer.start && chosen.end === end && chosen.name === name) return;
    state.selection.value = { ...chosen, start: answer.start, end, ...(name === undefined ? {} : { name }) };
}

function launchFacts(data: RunDetail): Fact[] {
    const { op } = data;
    const facts: Fact[] = [];
    if (op && op.start !== null) {
        const { start, track } = op;
        facts.push(["launched by", <button class="link" onClick={() => goTo({ kind: "call", track, lane: null, start, end: op.end ?? start, name: op.text })}>{shortName(op.text)}</button>]);
        facts.push(["on", trackLabel(track)]);
        facts.push(["delay until start", duration(Math.max(0, data.start - (op.end ?? start)))]);
    }
    if (data.gap_before !== null) facts.push(["gap before it", duration(data.gap_before.duration)]);
    return facts;
}

/** Its length as the tables count it, and where that is another one as it is drawn. */
function Lengths({ data, drawn }: { data: RunDetail | null; drawn: number }) {
    const counted = data?.counted ?? null;
    if (counted === null || counted.ns === null || counted.ns === drawn) return <b title={exactNs(drawn)}>{duration(drawn)}</b>;
    const what = counted.kernels > 1 ? `in ${plural(counted.kernels, "kernel")}` : counted.averaged ? "kernel time, the mean of several devices" : "kernel time";
    return <><b title={exactNs(counted.ns)}>{duration(counted.ns)}</b> {what}, <span title={exactNs(drawn)}>{duration(drawn)}</span> {counted.kernels > 1 ? "this one" : "on the timeline"}</>;
}

export function RunDetails({ chosen }: { chosen: Run }) {
    const { data, error } = useAnswer<RunDetail>("run", { track: chosen.track, lane: chosen.lane, at: chosen.start }, (answer) => learn(chosen, answer));
    void state.names.value.version.value;
    const length = data?.duration ?? chosen.end - chosen.start;
    const own = data?.text || data?.op?.text || state.names.value.text(chosen.name ?? null);
    const name = data?.counted?.name ?? own;
    if (error) return <p class="t2">This run is not in the trace: {error}</p>;
    const group = state.ops.data.value?.groups.find((one) => one.name === name) ?? state.ops.data.value?.groups.find((one) => one.name === own || one.name.startsWith(`${own} `));
    const launch = data ? launchFacts(data) : [];
    return (
        <>
            <div class="between"><span class="tag">Run of an op{group ? `, ${safeText(group.kind)}` : ""}</span><span class="t3">starts at {duration(chosen.start, 5)}</span></div>
            <h2 title={safeText(name)}>{shortName(name)}</h2>
            <div class="t2 lengths"><Lengths data={data} drawn={length} /> on {trackLabel(chosen.track)}{group ? `, mean ${duration(group.mean)}` : ""}</div>
            <AdviceOf chosen={chosen} />
            {group && <AgainstMachine group={group} />}
            <EstimateOfRun run={chosen} />
            {launch.length > 0 && <Part title="How it came to run"><Facts rows={launch} /></Part>}
            {data?.launched_from && <LaunchedFrom key={data.launched_from.text} places={[data.launched_from]} />}
            {data?.op && <Description parts={data.op.description} />}
            {group && <Part title="All runs"><button class="link" onClick={() => state.select({ kind: "op", name: group.name })}>{plural(group.count, "run")}, {duration(group.device_ns)}</button></Part>}
            <Part title="Everything else" last>
                <Facts rows={[["exact", exactNs(length)], ...(data?.figures ?? []).slice(0, 60).map((one): Fact => [one.name, figureText(one)])]} />
            </Part>
        </>
    );
}

function Meter({ label, value }: { label: string; value: number | null }) {
    if (value === null) return null;
    return (
        <div class="meter">
            <span>{label}</span>
            <div><i style={{ width: `${Math.min(100, value)}%` }} /></div>
            <span class="r">{percent(value / 100)}{value > 100 ? " ⚠" : ""}</span>
        </div>
    );
}

function AgainstMachine({ group }: { group: OpGroup }) {
    if (group.dram_percent === null && group.flops_percent === null) return null;
    const above = (group.dram_percent ?? 0) > 100 || (group.flops_percent ?? 0) > 100;
    return (
        <Part title={`Against the ${safeText(state.ops.data.value?.machine?.name ?? "machine")}`} side={boundText(group.bound)}>
            <Meter label="DRAM" value={group.dram_percent} />
            <Meter label="FLOPs" value={group.flops_percent} />
            {above && <p class="t2">Above the roof: the machine's figure or the count of bytes is wrong.</p>}
        </Part>
    );
}

const RUNS_LISTED = 30;

/** How the runs of an op differ, and the longest of them. */
function OpRunList({ group }: { group: OpGroup }) {
    const data = state.opRuns.data.value;
    const known = data?.runs.length ? data.runs : group.rows.map((row) => ({ ...row, duration: null }));
    const lengths = known.flatMap((run) => (run.duration === null ? [] : [run.duration]));
    const bins = binsOf(lengths, 32);
    const lines = [group.p50 !== null && { at: group.p50, label: "p50" }, group.p99 !== null && { at: group.p99, label: "p99" }].filter((line) => line !== false);
    const listed = known.slice(0, RUNS_LISTED);
    const all = data?.count ?? group.count;
    return (
        <>
            {bins.length > 1 && lengths.length > 2 && <Part title="How long they are" side={all > lengths.length ? `${countOf(lengths.length, all)} with a length` : plural(all, "run")}>
                <Histogram bins={bins} lines={lines} label={`Lengths of ${plural(lengths.length, "run")}`} />
            </Part>}
            <Part title="Longest runs" side={all > listed.length ? countOf(listed.length, all) : plural(all, "run")} last>
                <div class="list-rows">
                    {listed.map((run, index) => (
                        <button key={index} disabled={!hasPlace(run)} onClick={() => goTo(run)}>
                            <i class={`swatch c${opColour(group)}`} /><span class="el">{trackLabel(run.track)}</span><span class="t2">{run.start === null ? "" : `at ${duration(run.start, 5)}`}</span>
                            <span class="r">{run.duration === null ? "" : duration(run.duration)}</span>
                        </button>
                    ))}
                </div>
            </Part>
        </>
    );
}

const countOf = (some: number, all: number) => `${grouped(some)} of ${plural(all, "run")}`;

/** A figure that leads to the run that has it, where that is listed. */
function runDoor(ns: number): ComponentChildren {
    const run = state.opRuns.data.value?.runs.find((one) => one.duration === Math.round(ns));
    return run && hasPlace(run) ? <button class="link" title={exactNs(ns)} onClick={() => goTo(run)}>{duration(ns)}</button> : duration(ns);
}

export function OpDetails({ name }: { name: string }) {
    const groups = state.ops.data.value?.groups;
    const group = groups?.find((one) => one.name === name) ?? groups?.find((one) => one.name.startsWith(`${name} `));
    const runs = state.opRuns.data.value;
    if (!group) return <p class="t2">{state.ops.data.value ? `'${safeText(name)}' is not among the ops of this window.` : "Counting …"}</p>;
    return (
        <>
            <div class="between"><span class="tag">Op, {safeText(group.kind)}</span><span class="t3">{percent(group.share)} of {state.opTime()}</span></div>
            <h2>{shortName(group.name)}</h2>
            <div class="t2"><b>{duration(group.device_ns)}</b> in {plural(group.count, "run")}</div>
            <AgainstMachine group={group} />
            <Part title="How long">
                <Facts rows={[
                    ["mean", duration(group.mean)], group.p50 !== null && ["median", runDoor(group.p50)], group.p99 !== null && ["p99", runDoor(group.p99)],
                    group.alone_ns !== null && ["while nothing else ran", <span title="no other run was on the device">{duration(group.alone_ns)}</span>],
                    group.gap_before_ns !== null && ["gaps before", duration(group.gap_before_ns)],
                ]} />
            </Part>
            <LaunchedFrom key={group.name} places={runs?.places ?? []} count={runs?.place_count} />
            <OpRunList group={group} />
        </>
    );
}
