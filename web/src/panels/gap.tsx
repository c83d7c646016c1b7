// SPDX-License-Identifier: Apache-2.0
// A gap of a device: how long it stood still, before what, and what the host did meanwhile.
import { duration, exactNs, partitionPercents, percent, plural } from "../model/format";
import * as state from "../model/state";
import { gapsOfPart, partOfGap, sameGaps } from "../model/gaps";
import { remedyOf } from "../model/remedy";
import { safeText, shortName } from "../model/text";
import type { Gap, Gaps, HostPart, ZoneDetail } from "../model/types";
import type { Selection } from "../model/url";
import { AdviceOf } from "./advice";
import { deviceLabel, Facts, place, Source, trackLabel, useAnswer } from "./facts";
import { GapHistogram, idleText, shortText } from "./gapchart";
import { Part } from "./inspector";

const SOURCE_LINES = 5;

type Chosen = Extract<Selection, { kind: "gap" }>;

function HostRows({ gap }: { gap: Gap }) {
    const names = state.names.value;
    void names.version.value;
    void names.need(gap.host.flatMap((part) => (part.name === null ? [] : [part.name])));
    const parts: (HostPart & { between?: boolean })[] = gap.host.slice(0, 5);
    const rest = gap.duration - parts.reduce((sum, part) => sum + part.ns, 0);
    if (rest > 0) parts.push({ name: null, text: "between them", file: null, line: null, ns: rest, between: true });
    const shares = partitionPercents(parts.map((part) => part.ns));
    const kind = (part: HostPart & { between?: boolean }) => (part.name === null ? "nothing" : names.get(part.name)?.wait ? "waiting" : `c${names.colour(part.name)}`);
    return (
        <>
            <div class="bar thin">
                {parts.map((part, index) => <span key={index} class={kind(part)} style={{ flex: `${part.ns / gap.duration} 1 0` }} title={safeText(part.text)} />)}
            </div>
            <div class="list-rows">
                {parts.map((part, index) => (
                    <button key={index} disabled={!!part.between} onClick={() => part.between || state.select({ kind: "name", name: part.text })}>
                        <i class={`swatch ${kind(part)}`} />
                        <span class="el">{part.between ? <span class="t2">between them</span> : shortName(part.text)} <span class="t3 locations">{place(part.file, part.line)}</span></span>
                        <span>{duration(part.ns)}</span>
                        <span class="r t2">{shares[index]}</span>
                    </button>
                ))}
            </div>
        </>
    );
}

/** The code that took most of the gap, where its file can be read here. */
function HostSource({ gap }: { gap: Gap }) {
    const part = gap.host.find((one) => one.file && one.line);
    const { data } = useAnswer<{ source: ZoneDetail["source"] }>(part ? "source" : "", { file: part?.file, line: part?.line, lines: SOURCE_LINES });
    if (!part || !data?.source || data.source.line !== part.line) return null;
    return <Part title="Source" side={<button class="link" onClick={() => state.select({ kind: "name", name: part.text })}>{place(part.file, part.line)}</button>}><Source source={data.source} /></Part>;
}

/** Other gaps before the same op, as columns: the same in every step? */
function Others({ gap, all }: { gap: Gap; all: readonly Gap[] }) {
    const every = sameGaps(gap, all);
    const same = every.slice(0, 40);
    if (same.length < 2) return null;
    const most = Math.max(...same.map((one) => one.duration));
    const sum = every.reduce((total, one) => total + one.duration, 0);
    const { from, to } = state.window_.value;
    const width = 100 / same.length;
    return (
        <Part title={`Before every ${shortName(gap.before)}`} side={`${duration(sum)} in all, ${percent(sum / Math.max(1, to - from))}`}>
            <svg width="100%" height="34" style={{ marginTop: "6px", display: "block" }} role="img" aria-label={`Length of ${plural(same.length, "such gap")}`}>
                {same.map((one, index) => {
                    const tall = Math.max(2, (one.duration / most) * 30);
                    return (
                        <rect key={one.start} class={`column ${one.start === gap.start ? "" : "pale"}`} x={`${index * width + width * 0.14}%`} y={32 - tall}
                            width={`${width * 0.72}%`} height={tall}
                            onClick={() => state.select({ kind: "gap", track: one.track, start: one.start, end: one.start + one.duration }, { reveal: true })} />
                    );
                })}
            </svg>
        </Part>
    );
}

/** The gap of the list that was chosen: on a queue it may begin before, or end after, that of the whole device. */
function gapAt(list: readonly Gap[], chosen: Chosen): Gap | undefined {
    const exact = list.find((gap) => gap.track === chosen.track && gap.start === chosen.start);
    if (exact || chosen.end === chosen.start) return exact;
    const { start, end } = chosen;
    const shared = (gap: Gap) => Math.min(end, gap.start + gap.duration) - Math.max(start, gap.start);
    return list.filter((gap) => shared(gap) > gap.duration / 2).sort((a, b) => shared(b) - shared(a))[0];
}

/** A queue of a device may stand still for longer than the device does: two lengths, two names. */
function OfDevice({ chosen, gap }: { chosen: Chosen; gap: Gap }) {
    const length = chosen.end - chosen.start;
    if (gap.duration === length) return null;
    const go = () => state.select({ kind: "gap", track: gap.track, start: gap.start, end: gap.start + gap.duration }, { reveal: true });
    return <div class="t2">The whole device stood still for <button class="link" title={exactNs(gap.duration)} onClick={go}>{duration(gap.duration)}</button> of it.</div>;
}

export function GapDetails({ chosen }: { chosen: Chosen }) {
    const list = state.gaps.data.value?.gaps ?? [];
    const known = gapAt(list, chosen);
    const span = { from: Math.max(0, chosen.start - 1), to: chosen.end + 1 };
    const { data } = useAnswer<Gaps>(known ? "" : "gaps", { ...span, limit: 8 });
    const gap = known ?? gapAt(data?.gaps ?? [], chosen);
    if (gap && chosen.end === chosen.start) state.selection.value = { ...chosen, end: gap.start + gap.duration };
    const length = chosen.end > chosen.start ? chosen.end - chosen.start : gap?.duration ?? 0;
    const place = gap ?? null;
    const remedy = gap ? remedyOf(gap, list) : null;
    const isDevice = !gap || gap.duration === length;
    return (
        <>
            <div class="between"><span class="tag gap-tag">Gap</span><span class="t3">ends at {duration(chosen.start + length, 5)}</span></div>
            <h2 title={exactNs(length)}>{isDevice ? `${deviceLabel(chosen.track)} stood still for ` : `${trackLabel(chosen.track)} ran nothing for `}{duration(length)}</h2>
            {gap && <OfDevice chosen={chosen} gap={gap} />}
            {place && <div class="t2">before <button class="link" onClick={() => state.select({ kind: "op", name: place.before })}>{shortName(place.before)}</button></div>}
            <AdviceOf chosen={chosen} />
            {place && (
                <Part title="What the host did meanwhile" side={place.class}>
                    {place.host.length ? <HostRows gap={place} /> : <p class="t2">The host was not recorded here. <code>opscope run</code> records it beside the device.</p>}
                </Part>
            )}
            {place && <Others gap={place} all={list} />}
            {place && <HostSource gap={place} />}
            {remedy && <Part title="Try"><p class="t2">{remedy}</p></Part>}
            <Part title="In nanoseconds" last><Facts rows={[["from", exactNs(chosen.start)], ["length", exactNs(length)]]} /></Part>
        </>
    );
}

const PART_TITLE: Record<string, string> = { busy: "Device busy", nothing: "Nothing recorded", working: "Working", waiting: "Waiting", imports: "Imports" };

/** A class of the partition: what it is made of. */
const PART_GAPS = 5;

/** The gaps that hold a part, and how much of it each. */
function PartGaps({ part, list }: { part: string; list: Gaps }) {
    const gaps = gapsOfPart(list.gaps, part);
    const inGaps = list.idle.find((one) => one.key === part)?.gaps_ns ?? 0;
    if (!gaps.length) return null;
    return (
        <Part title="In these gaps" side={`${plural(gaps.length, "gap")}, ${duration(inGaps)} of it`}>
            <div class="list-rows">
                {gaps.slice(0, PART_GAPS).map((gap) => (
                    <button key={gap.start} onClick={() => state.select({ kind: "gap", track: gap.track, start: gap.start, end: gap.start + gap.duration }, { reveal: true })}>
                        <i class="swatch gap" /><span class="el">before {shortName(gap.before)}</span>
                        <span>{duration(partOfGap(gap, part))}</span><span class="r t2">{percent(inGaps > 0 ? partOfGap(gap, part) / inGaps : 0)}</span>
                    </button>
                ))}
            </div>
        </Part>
    );
}

export function PartDetails({ part }: { part: string }) {
    const overview = state.overview.data.value;
    const entry = overview?.partition.parts.find((one) => one.key === part);
    const gaps = overview?.gaps;
    const list = state.gaps.data.value;
    const idle = part.startsWith("idle");
    return (
        <>
            <div class="between"><span class={`tag ${idle ? "gap-tag" : ""}`}>Part of the time</span><span class="t3">{entry ? percent(entry.share) : ""}</span></div>
            <h2>{safeText(entry?.label ?? PART_TITLE[part] ?? part)}</h2>
            <div class="t2"><b>{entry ? duration(entry.ns) : "–"}</b> of {duration(overview?.partition.total_ns ?? 0)} ({safeText(overview?.partition.basis ?? "")})</div>
            {part !== "busy" && list && list.histogram.length > 0 && list.idle.some((one) => one.key === part) && (
                <Part title="Gaps by length" side={shortText(list)}><GapHistogram data={list} /><p class="t2">{idleText(list)}.</p></Part>
            )}
            {list && <PartGaps part={part} list={list} />}
            {idle && gaps && (
                <Part title="What the host did in gaps" side={`${plural(gaps.count, "gap")}, ${duration(gaps.sum)}`}>
                    <div class="list-rows">
                        {gaps.host.slice(0, 8).map((host, index) => (
                            <button key={index} onClick={() => state.select({ kind: "name", name: host.text })}>
                                <i class="swatch gap" /><span class="el">{shortName(host.text)} <span class="t3">{place(host.file, host.line)}</span></span>
                                <span>{duration(host.ns)}</span><span class="r t2">{percent(gaps.sum > 0 ? host.ns / gaps.sum : 0)}</span>
                            </button>
                        ))}
                    </div>
                    <p class="t2"><kbd>g</kbd> goes to the longest, then to the next.</p>
                </Part>
            )}
            {(part === "waiting" || part === "working") && overview && (
                <Part title={part === "waiting" ? "Waits by own time" : "Functions by own time"} last>
                    <div class="list-rows">
                        {(part === "waiting" ? overview.top_waits : overview.top).slice(0, 12).map((row) => (
                            <button key={row.name} onClick={() => state.select({ kind: "name", name: row.text })}>
                                <i class={`swatch ${part === "waiting" ? "waiting" : `c${state.names.value.colour(row.name)}`}`} />
                                <span class="el">{shortName(row.text)} <span class="t3">{place(row.file, row.line)}</span></span>
                                <span>{duration(row.self)}</span><span class="r t2">{percent(entry && entry.ns > 0 ? row.self / entry.ns : 0)}</span>
                            </button>
                        ))}
                    </div>
                </Part>
            )}
        </>
    );
}
