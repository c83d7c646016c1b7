// SPDX-License-Identifier: Apache-2.0
// A line of advice: what it rests on most, which a click shows, and what it would save.
import { goTo, hasPlace } from "../model/doors";
import { duration, percent } from "../model/format";
import { isSame, itemOf } from "../model/place";
import * as state from "../model/state";
import { labelText, safeText, shortName } from "../model/text";
import type { Advice } from "../model/types";
import type { Item } from "../model/url";
import { Facts } from "./facts";
import { Part } from "./inspector";

function isAbout(advice: Advice, item: Item): boolean {
    const evidence = itemOf(advice.evidence);
    return evidence !== null && isSame(evidence, item);
}

/** What was asked for by a click on the line is what it rests on, with the line above it. */
export function followAdvice(advice: Advice, index: number): void {
    if (hasPlace(advice.evidence)) goTo(advice.evidence, { fit: true });
    else state.select({ kind: "advice", index });
}

export function isChosen(advice: Advice, index: number): boolean {
    const chosen = state.selection.value;
    if (chosen?.kind === "run" || chosen?.kind === "gap") return isAbout(advice, chosen);
    return chosen?.kind === "advice" && chosen.index === index;
}

function Saving({ advice }: { advice: Advice }) {
    const total = state.overview.data.value?.partition.total_ns ?? 0;
    return <Facts rows={[["at most", `${duration(advice.gain_ns)}, ${percent(advice.gain_ns / Math.max(1, total))} of the window`], ["rule", safeText(advice.rule)]]} />;
}

/** In the details of a run or gap: the advice that rests on it. */
export function AdviceOf({ chosen }: { chosen: Item }) {
    const found = (state.overview.data.value?.advice ?? []).filter((one) => isAbout(one, chosen));
    if (!found.length) return null;
    return (
        <Part title="What to change">
            {found.map((advice) => (
                <div key={advice.text}>
                    <div>{safeText(advice.text)}</div>
                    <div class="t2">{labelText(advice.because)}</div>
                    <Saving advice={advice} />
                </div>
            ))}
        </Part>
    );
}

export function AdviceDetails({ index }: { index: number }) {
    const advice = state.overview.data.value?.advice[index];
    if (!advice) return <p class="t2">This advice is not about the present window.</p>;
    const { evidence } = advice;
    return (
        <>
            <div class="between"><span class="tag gap-tag">What to change</span><span class="t3">at most {duration(advice.gain_ns)}</span></div>
            <h2>{safeText(advice.text)}</h2>
            <div class="t2">{labelText(advice.because)}</div>
            <Part title="What it would save" last>
                <Saving advice={advice} />
                {hasPlace(evidence) && <p class="t2">Most of it: <button class="link" onClick={() => followAdvice(advice, index)}>{shortName(evidence.name)} at {duration(evidence.start ?? 0, 5)}</button></p>}
            </Part>
        </>
    );
}
