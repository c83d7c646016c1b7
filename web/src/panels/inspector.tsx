// SPDX-License-Identifier: Apache-2.0
// Details of the selection; without one, the card of the trace.
import type { ComponentChildren } from "preact";
import { fitSelection, stepSame } from "../frame/keys";
import * as state from "../model/state";
import type { Selection } from "../model/url";
import { CompareDetails } from "./comparedetails";
import { EstimateDetails } from "./estimated";
import { FindZone } from "./find";
import { GapDetails, PartDetails } from "./gap";
import { LostList } from "./card";
import { OpDetails, RunDetails } from "./run";
import { AdviceDetails } from "./advice";
import { MomentDetails } from "./moment";
import { AtRest } from "./rest";
import { RangeDetails } from "./range";
import { SetDetails } from "./several";
import { ZoneDetails } from "./zone";

export function Part({ title, side, children, last }: { title: string; side?: ComponentChildren; children: ComponentChildren; last?: boolean }) {
    return (
        <section class={`part ${last ? "last-part" : ""}`} aria-label={title}>
            <div class="between"><h3>{title}</h3>{side !== undefined && <span class="t3">{side}</span>}</div>
            {children}
        </section>
    );
}

function Details({ chosen }: { chosen: Selection | null }) {
    switch (chosen?.kind) {
        case "zone": return <ZoneDetails chosen={chosen} />;
        case "run": return <RunDetails chosen={chosen} />;
        case "gap": return <GapDetails chosen={chosen} />;
        case "set": return <SetDetails items={chosen.items} />;
        case "range": return <RangeDetails chosen={chosen} />;
        case "moment": return <MomentDetails chosen={chosen} />;
        case "name": return <FindZone name={chosen.name} />;
        case "op": return <OpDetails name={chosen.name} />;
        case "part": return <PartDetails part={chosen.key} />;
        case "advice": return <AdviceDetails index={chosen.index} />;
        case "estimate": return <EstimateDetails index={chosen.index} />;
        case "lost": return <LostList />;
        default: return <AtRest />;
    }
}

function copyLink(): void {
    void navigator.clipboard?.writeText(state.link()).then(() => (state.spoken.value = "Link copied"));
}

export function Inspector() {
    const chosen = state.selection.value;
    const steps = chosen?.kind === "zone" || chosen?.kind === "run" || chosen?.kind === "gap";
    const word = chosen?.kind === "gap" ? "gap" : chosen?.kind === "run" ? "run" : "call";
    return (
        <>
            {state.panel.value === "compare" ? <CompareDetails /> : <Details chosen={chosen} />}
            {chosen && (
                <div class="foot">
                    {(steps || chosen.kind === "range" || chosen.kind === "estimate") && <button onClick={fitSelection}>Zoom <kbd>f</kbd></button>}
                    {steps && <button onClick={() => stepSame(false)}>Previous {word} <kbd>,</kbd></button>}
                    {steps && <button onClick={() => stepSame(true)}>Next <kbd>.</kbd></button>}
                    <span class="fill" />
                    <button onClick={copyLink}>Copy link</button>
                </div>
            )}
        </>
    );
}
