// SPDX-License-Identifier: Apache-2.0
// From a zone to what it launched, and from a run to the zone that launched it: "]" and "[".
import { getJson, RequestFailed } from "../model/api";
import { plural } from "../model/format";
import * as state from "../model/state";
import type { Launched, RunDetail, ZoneDetail } from "../model/types";
import type { Selection } from "../model/url";

/** The runs of the zone from which "]" came, so that it goes on to the next of them. */
let chain: { zone: Selection; runs: Launched["runs"]; at: number } | null = null;

/** The innermost zone of a track at a time; null where there is none. */
async function innermost(track: number, time: number): Promise<ZoneDetail | null> {
    return getJson<ZoneDetail>(state.tracePath("zone"), { track, depth: "innermost", at: time }).catch((error: unknown) => {
        if (error instanceof RequestFailed && error.status === 404) return null;
        throw error;
    });
}

function selectRun(run: Launched["runs"][number]): void {
    const { track, lane, start, end, name } = run;
    state.select({ kind: "run", track, lane, start, end, name }, { reveal: true });
}

async function toRuns(zone: Extract<Selection, { kind: "zone" }>): Promise<void> {
    const { runs, count } = await getJson<Launched>(state.tracePath("launched"), { track: zone.track, from: zone.start, to: zone.end });
    const [first] = runs;
    state.spoken.value = first ? `${plural(count, "run")} launched` : "This zone launched nothing on a device.";
    if (!first) return;
    chain = { zone, runs, at: 0 };
    selectRun(first);
}

async function toLaunch(run: Extract<Selection, { kind: "run" }>): Promise<void> {
    const { op } = await getJson<RunDetail>(state.tracePath("run"), { track: run.track, lane: run.lane, at: run.start });
    const zone = op && op.start !== null && op.track !== null ? await innermost(op.track, op.start) : null;
    if (!zone) {
        state.spoken.value = "What launched this run was not recorded.";
        if (op && op.start !== null) state.show({ kind: "span", from: op.start, to: op.end ?? op.start, track: op.track });
        return;
    }
    state.select({ kind: "zone", track: zone.track, depth: zone.depth, start: zone.start, end: zone.start + zone.duration, name: zone.name }, { reveal: true });
}

export function followFlow(forward: boolean): void {
    step(forward).catch((error: unknown) => (state.notice.value = error instanceof RequestFailed ? error.message : "The server does not answer."));
}

async function step(forward: boolean): Promise<void> {
    const chosen = state.selection.peek();
    if (chosen?.kind === "zone" && forward) return toRuns(chosen);
    if (chosen?.kind !== "run") return;
    if (!forward) return toLaunch(chosen);
    const mine = chain?.runs.findIndex((run) => run.track === chosen.track && run.lane === chosen.lane && run.start === chosen.start) ?? -1;
    const next = chain && mine >= 0 ? chain.runs[(mine + 1) % chain.runs.length] : undefined;
    if (next) selectRun(next);
}
