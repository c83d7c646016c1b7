// SPDX-License-Identifier: Apache-2.0
// The band: an answer, a bar that adds up, what to change first, how close ops are to the hardware limit.
import { signal } from "@preact/signals";
import { devicesWithCores } from "../model/cores";
import { duration, exactNs, manyOf, partitionPercents, percent, plural } from "../model/format";
import * as state from "../model/state";
import { capital, fileName, keepUnits, labelText, safeText, shortName } from "../model/text";
import type { Overview, PartitionPart, TopZone } from "../model/types";
import { followAdvice, isChosen } from "./advice";
import { Icicle } from "./flame";
import { GapHistogram, idleText, shortText } from "./gapchart";
import { CoreMap } from "./cores";
import { machineName, RooflineChart } from "./roofline";
import { PerStepChart } from "./steps";

export const PART_CLASS: Record<string, string> = {
    busy: "work", working: "work", idle_host_working: "gap", idle_host_waiting: "waiting", waiting: "waiting",
    idle_host_unknown: "gap", imports: "imports", nothing: "nothing", dma: "imports", compute: "work", idle: "gap",
};

const LONG_SENTENCE = 86;

export function Sentence({ data }: { data: Pick<Overview, "sentence"> }) {
    const length = data.sentence.reduce((sum, part) => sum + part.text.length, 0);
    return (
        <div class={`say ${length > LONG_SENTENCE ? "long" : ""}`} id="sentence" tabIndex={-1}>
            {data.sentence.map((part, index) => (
                <span key={index} class={part.meaning && part.meaning !== "work" ? `${part.meaning}-word` : ""}>{keepUnits(safeText(part.text))}</span>
            ))}
        </div>
    );
}

export function choosePart(part: PartitionPart): void {
    state.select({ kind: "part", key: part.key });
    if (part.key.startsWith("idle")) {
        state.drawerTab.value = "gaps";
        state.drawerFolded.value = false;
    } else if (part.key === "waiting" || part.key === "working") {
        state.drawerTab.value = "zones";
    }
}

export function PartitionBar({ data }: { data: Overview }) {
    const { parts, total_ns } = data.partition;
    const shares = partitionPercents(parts.map((part) => part.ns));
    const name = parts.map((part, index) => `${part.label} ${shares[index]}`).join(", ");
    return (
        <div class="bar" role="group" aria-label={name}>
            {parts.filter((part) => part.ns > 0).map((part) => (
                <button key={part.key} class={PART_CLASS[part.key] ?? "imports"} style={{ flex: `${part.ns / total_ns} 1 0` }}
                    tabIndex={-1} aria-label={part.label} title={`${part.label}: ${exactNs(part.ns)}`} onClick={() => choosePart(part)} />
            ))}
        </div>
    );
}

function Legend({ data }: { data: Overview }) {
    const { parts } = data.partition;
    const shares = partitionPercents(parts.map((part) => part.ns));
    const chosen = state.selection.value;
    return (
        <div class="legend">
            {parts.map((part, index) => part.ns === 0 && parts.some((other) => other.ns > 0) ? null : (
                <button key={part.key} aria-pressed={chosen?.kind === "part" && chosen.key === part.key} onClick={() => choosePart(part)}
                    title={exactNs(part.ns)}>
                    <i class={`swatch ${PART_CLASS[part.key] ?? "imports"}`} />
                    <span class="el">{capital(safeText(part.label))}</span>
                    <span class="r">{duration(part.ns)}</span>
                    <span class="r t2">{shares[index]}</span>
                </button>
            ))}
        </div>
    );
}

const ADVICE_SHOWN = 4;
const TOP_SHOWN = 7;
const WAITS_SHOWN = 2;

function AdviceList({ data }: { data: Overview }) {
    const largest = Math.max(1, ...data.advice.map((one) => one.gain_ns));
    const shown = data.advice.slice(0, ADVICE_SHOWN);
    if (!shown.length) return <Next data={data} />;
    return (
        <div class="advice">
            {shown.map((one, index) => (
                <button key={index} onClick={() => followAdvice(one, index)} aria-pressed={isChosen(one, index)}>
                    <span class="gain">
                        <b>{one.gain_ns > 0 ? duration(one.gain_ns) : "–"}</b>
                        <i class="gain-bar" style={{ width: `${Math.max(4, (one.gain_ns / largest) * 100)}%` }} />
                    </span>
                    <span class="el">
                        <span class="el" title={safeText(one.text)}>{keepUnits(safeText(one.text))}</span>
                        <span class="el evidence" title={safeText(one.because)}>{labelText(one.because)}</span>
                    </span>
                    <span class="go" aria-hidden="true">›</span>
                </button>
            ))}
            {shown.length < 3 && <InGaps data={data} most={shown.length === 1 ? 4 : 2} />}
        </div>
    );
}

/** Where there is little advice: the host's code in the gaps says more. */
function InGaps({ data, most }: { data: Overview; most: number }) {
    const names = state.names.value;
    const { host, sum } = data.gaps;
    void names.version.value;
    if (!host.length) return null;
    void names.need(host.flatMap((part) => (part.name === null ? [] : [part.name])));
    return (
        <div class="in-gaps">
            <div class="between"><h3>What the host did in the gaps</h3><span class="t3">of {duration(sum)}</span></div>
            <div class="list-rows">
                {host.slice(0, most).map((part, index) => {
                    const known = part.name === null ? undefined : names.get(part.name);
                    const place = part.file ? fileName(part.file, part.line) : "";
                    return (
                        <button key={index} class="list-row" onClick={() => state.select({ kind: "name", name: part.text })}>
                            <i class={`swatch ${known?.wait ? "waiting" : part.name === null ? "nothing" : `c${names.colour(part.name)}`}`} />
                            <span class="el" title={place}>{shortName(part.text)} <span class="t3 locations">{place}</span></span>
                            <span>{duration(part.ns)}</span>
                            <span class="r t2">{percent(sum > 0 ? part.ns / sum : 0)}</span>
                        </button>
                    );
                })}
            </div>
        </div>
    );
}

function TopRow({ row }: { row: TopZone }) {
    const names = state.names.value;
    void names.version.value;
    const place = row.file ? fileName(row.file, row.line) : "";
    return (
        <button onClick={() => state.select({ kind: "name", name: row.text })}>
            <i class={`swatch ${row.wait ? "waiting" : `c${names.colour(row.name)}`}`} />
            <span class="el" title={place}>{shortName(row.text)} <span class="t3 locations">{place}</span></span>
            <span>{duration(row.self)}</span>
            <span class="r t2" title={plural(row.count, "call")}>{manyOf(row.count, "call")}</span>
        </button>
    );
}

function Next({ data }: { data: Overview }) {
    const waits = data.top_waits.slice(0, WAITS_SHOWN);
    const rows = [...data.top.slice(0, TOP_SHOWN - waits.length), ...waits];
    if (rows.length) return <div class="list-rows with-calls">{rows.map((row) => <TopRow key={row.name} row={row} />)}</div>;
    return (
        <>{data.next.map((one, index) => <p key={index} class="t2 next">{capital(safeText(one.text))}<br /><code>{safeText(one.command)}</code></p>)}</>
    );
}

function adviceTitle(data: Overview): [string, string] {
    if (data.advice.length) {
        const rest = data.advice.slice(ADVICE_SHOWN);
        const more = rest.length ? `; ${plural(rest.length, "smaller item")} (${duration(rest.reduce((sum, one) => sum + one.gain_ns, 0))}) not shown` : "";
        return ["What to change first", `at most saved${more}`];
    }
    return [data.top.length ? "Functions by own time" : "What to do next", data.top.length ? "all threads" : ""];
}

const MOSTLY_GAPS = 0.9;
/** Cores take the place of the roofline. */
const coresShown = signal(false);

function RightPanel({ data }: { data: Overview }) {
    const roofline = state.roofline.data.value;
    const gaps = state.gaps.data.value;
    if (gaps && gaps.histogram.length && gaps.sum > MOSTLY_GAPS * data.partition.total_ns) {
        return (
            <section aria-label="Gaps by length">
                <div class="between"><h3>Gaps by length</h3><span class="t3">{shortText(gaps)}</span></div>
                <GapHistogram data={gaps} />
                <p class="t2">{idleText(gaps)}.</p>
            </section>
        );
    }
    const machine = machineName(roofline);
    const info = state.trace.value;
    const withCores = !!info && devicesWithCores(info).length > 0;
    if (withCores && (coresShown.value || !roofline?.points.length)) {
        return (
            <section aria-label="Cores">
                <div class="between"><h3>Which core</h3>{roofline && roofline.points.length > 0 ? <button class="link" onClick={() => (coresShown.value = false)}>roofline</button> : <span class="t3">busy in the window</span>}</div>
                <CoreMap />
            </section>
        );
    }
    if (roofline && roofline.roofs.length && roofline.points.length) {
        return (
            <section aria-label="Roofline">
                <div class="between"><h3 class="el" title={safeText(machine)}>How close each op is to the hardware limit</h3>{withCores ? <button class="link" onClick={() => (coresShown.value = true)}>cores</button> : <span class="t3 wide-note">area = {state.opTime()}</span>}</div>
                <RooflineChart data={roofline} />
            </section>
        );
    }
    if (state.hasOps(state.trace.value) && data.kind !== "python" && data.kind !== "c") {
        return (
            <section aria-label="Roofline">
                <div class="between"><h3>How close each op is to the hardware limit</h3></div>
                <p class="t2">
                    {machine ? `No peaks known for '${safeText(machine)}'. ` : "The trace does not name its machine. "}
                    <code>opscope machine measure --save cpu.json</code> measures the one it runs on: open the trace with <code>--machine cpu.json</code>.{" "}
                    <code>opscope machine</code> lists those that are known.
                </p>
                <TopOps data={data} />
            </section>
        );
    }
    return (
        <section aria-label="Flame graph">
            <div class="between"><h3>Call tree</h3><button class="link" onClick={() => (state.panel.value = "flame")}>open</button></div>
            <Icicle levels={7} />
        </section>
    );
}

function TopOps({ data }: { data: Overview }) {
    const colours = new Map((state.ops.data.value?.groups ?? []).map((group) => [group.name, group.colour]));
    return (
        <div class="list-rows">
            {data.top_ops.slice(0, 5).map((op) => (
                <button key={op.name} onClick={() => state.select({ kind: "op", name: op.name })}>
                    <i class={`swatch c${colours.get(op.name) ?? 7}`} />
                    <span class="el">{shortName(op.name)}</span>
                    <span>{duration(op.device_ns)}</span>
                    <span class="r t2">{percent(op.share)}</span>
                </button>
            ))}
        </div>
    );
}

const THREADS_SHOWN = 8;

/** For programs without a device: which thread did something, and how much of the trace. */
function Threads() {
    const info = state.trace.value;
    const rows = (info?.tracks ?? []).filter((track) => track.kind === "thread" && track.busy_ns > 0)
        .sort((a, b) => b.busy_ns - a.busy_ns);
    if (!info || rows.length < 2) return null;
    const shown = rows.slice(0, THREADS_SHOWN);
    return (
        <section class="per-step" aria-label="Threads">
            <div class="between"><h3>Which thread</h3><span class="t3">{rows.length > shown.length ? `${shown.length} of ${rows.length}, ` : ""}inside zones, whole trace</span></div>
            <div class="list-rows">
                {shown.map((track) => (
                    <button key={track.id} onClick={() => state.show({ kind: "track", track: track.id })}>
                        <i class="swatch imports" />
                        <span class="el">{safeText(track.name || `thread ${track.number}`)}</span>
                        <span>{duration(track.busy_ns)}</span>
                        <span class="r t2">{percent(track.busy_ns / Math.max(1, info.duration_ns))}</span>
                    </button>
                ))}
            </div>
        </section>
    );
}

function PerStep() {
    const steps = state.steps.data.value;
    if (steps && steps.steps.length > 1) return <PerStepChart data={steps} />;
    return <Kinds />;
}

function Kinds() {
    const groups = state.ops.data.value?.groups ?? [];
    const kinds = new Map<string, { ns: number; colour: number }>();
    for (const group of groups) {
        const entry = kinds.get(group.kind) ?? { ns: 0, colour: group.colour };
        kinds.set(group.kind, { ns: entry.ns + group.device_ns, colour: entry.colour });
    }
    const rows = [...kinds].sort((a, b) => b[1].ns - a[1].ns).slice(0, 8);
    const total = [...kinds.values()].reduce((sum, one) => sum + one.ns, 0);
    if (total <= 0) return <Threads />;
    return (
        <section class="per-step" aria-label="Kinds of work">
            <div class="between"><h3>Which kind of work</h3><span class="t3">{state.opTime()}</span></div>
            <div class="list-rows">
                {rows.map(([kind, one]) => (
                    <button key={kind} onClick={() => (state.filter.value = `kind:${kind}`)}>
                        <i class={`swatch c${one.colour}`} />
                        <span class="el">{safeText(kind)}</span>
                        <span>{duration(one.ns)}</span>
                        <span class="r t2">{percent(one.ns / total)}</span>
                    </button>
                ))}
            </div>
        </section>
    );
}

export function Band() {
    const data = state.overview.data.value;
    const error = state.overview.error.value;
    if (!data) return <div class="band" data-region><section><p class="t2">{error ?? "Counting …"}</p></section></div>;
    const [title, unit] = adviceTitle(data);
    return (
        <div class={`band ${state.overview.dim.value ? "dim" : ""}`} data-region>
            <section aria-label="Where the time went">
                <div class="between"><h3>Where the time went</h3>{data.kind !== "empty" && <span class="t3">{safeText(`of the ${data.partition.basis}'s time`)}</span>}</div>
                <Sentence data={data} />
                <PartitionBar data={data} />
                <Legend data={data} />
            </section>
            <section aria-label={title}>
                <div class="between"><h3>{title}</h3><span class="t3">{unit}</span></div>
                <AdviceList data={data} />
            </section>
            {data.kind !== "empty" && <><RightPanel data={data} /><PerStep /></>}
        </div>
    );
}

export function Strip() {
    const data = state.overview.data.value;
    if (!data) return <div class="strip t2">Counting …</div>;
    return (
        <div class="strip" data-region>
            <PartitionBar data={data} />
            <div class="el"><Sentence data={data} /></div>
            <span class="fill" />
            {data.gaps.count > 0 && <span class="t3 el">{plural(data.gaps.count, "gap")}, {duration(data.gaps.sum)}</span>}
        </div>
    );
}
