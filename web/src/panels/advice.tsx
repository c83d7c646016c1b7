// SPDX-License-Identifier: Apache-2.0
// A line of advice: its evidence and what it would save.
import { duration, percent } from "../model/format";
import * as state from "../model/state";
import { labelText, safeText } from "../model/text";
import { Facts } from "./facts";
import { Part } from "./inspector";

export function AdviceDetails({ index }: { index: number }) {
    const overview = state.overview.data.value;
    const advice = overview?.advice[index];
    if (!advice) return <p class="t2">This advice is not about the present window.</p>;
    const { track, start } = advice;
    return (
        <>
            <div class="between"><span class="tag gap-tag">What to change</span><span class="t3">at most {duration(advice.gain_ns)}</span></div>
            <h2>{safeText(advice.text)}</h2>
            <div class="t2">{labelText(advice.evidence)}</div>
            <Part title="What it would save" last>
                <Facts rows={[
                    ["at most", `${duration(advice.gain_ns)}, ${percent(advice.gain_ns / Math.max(1, overview.partition.total_ns))} of the window`],
                    ["rule", safeText(advice.rule)],
                    track !== null && start !== null && ["costliest", <button class="link" onClick={() => state.showPlace(start, start + 1, track, false)}>at {duration(start, 5)}</button>],
                ]} />
            </Part>
        </>
    );
}
