// SPDX-License-Identifier: Apache-2.0
// A moment: what the program said then, and which zone its thread was in.
import { duration, exactNs } from "../model/format";
import { pointAtMoment, pointText } from "../model/points";
import * as state from "../model/state";
import { safeText, shortName } from "../model/text";
import type { ZoneDetail } from "../model/types";
import type { Selection } from "../model/url";
import { Facts, trackLabel, useAnswer } from "./facts";
import { Part } from "./inspector";

const WORDS = { signpost: "Signpost", message: "Message", frame: "Frame mark" } as const;

export function MomentDetails({ chosen }: { chosen: Extract<Selection, { kind: "moment" }> }) {
    const { time, track } = chosen;
    const point = pointAtMoment(state.points.data.value?.points ?? [], chosen);
    const { data } = useAnswer<ZoneDetail>(track === null ? "" : "zone", { track, depth: "innermost", at: time }, (answer) => void state.names.value.need([answer.name]));
    const names = state.names.value;
    void names.version.value;
    return (
        <>
            <div class="between"><span class="tag">{point ? WORDS[point.kind] : "Moment"}</span><span class="t3" title={exactNs(time)}>at {duration(time, 6)}</span></div>
            <h2>{point ? pointText(point) : duration(time, 6)}</h2>
            {track !== null && <div class="t2">on {trackLabel(track)}</div>}
            {data && (
                <Part title="Inside of">
                    <div class="list-rows">
                        <button onClick={() => state.select({ kind: "zone", track: data.track, depth: data.depth, start: data.start, end: data.start + data.duration, name: data.name }, { reveal: true })}>
                            <i class={`swatch c${names.colour(data.name)}`} /><span class="el">{shortName(names.text(data.name))}</span><span>{duration(data.duration)}</span><span />
                        </button>
                    </div>
                </Part>
            )}
            <Part title="In nanoseconds" last><Facts rows={[["at", exactNs(time)], ...(point?.text && point.header ? [["text", safeText(point.text)] as [string, string]] : [])]} /></Part>
        </>
    );
}
