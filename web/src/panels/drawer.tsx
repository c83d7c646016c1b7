// SPDX-License-Identifier: Apache-2.0
// The drawer under the stage: ops, zones, gaps, messages.
import { signal } from "@preact/signals";
import { Separator } from "../frame/separator";
import { TabList } from "../frame/tablist";
import { duration, group } from "../model/format";
import * as state from "../model/state";
import { idleText } from "./gapchart";
import { GapTable, MessageTable } from "./messages";
import { OpFilter, OpTable } from "./ops";
import { ZoneTable } from "./zones";

/** From 2,800 px on there is room for the gaps beside another table. */
const wide = signal(false);
const query = matchMedia("(min-width: 2800px)");
wide.value = query.matches;
query.addEventListener("change", () => (wide.value = query.matches));

/** What the gaps are of the idle time, and which of them are shown. */
function GapFacts() {
    const data = state.gaps.data.value;
    const lengths = state.gapLengths.value;
    return (
        <>
            {lengths && <button class="chip" aria-pressed="true" onClick={() => (state.gapLengths.value = null)}>{duration(lengths.from)} to {duration(lengths.to)} ✕</button>}
            {data && <span class="t3 el gap-facts">{idleText(data)}</span>}
        </>
    );
}

export function Drawer() {
    const ops = state.hasOps(state.trace.value);
    const tabs = state.drawerTabs.value;
    const shown = state.shownTab.value;
    const folded = state.drawerFolded.value;
    return (
        <section class="drawer" aria-label="Tables" data-region>
            {!folded && <Separator name="drawer" />}
            <div class="drawer-tabs">
                <TabList label="Tables" shown={shown} show={(id, byKey) => {
                    state.drawerFolded.value = !byKey && shown === id && !folded;
                    state.drawerTab.value = id;
                }} tabs={tabs.map((tab) => ({ id: tab.id, label: <>{tab.label}{tab.count !== undefined && <span>{group(tab.count)}</span>}</> }))} />
                <span class="fill" />
                {shown === "ops" && <OpFilter />}
                {shown === "gaps" && <GapFacts />}
            </div>
            {!folded && (
                <div class="side-by-side">
                    {shown === "ops" && <OpTable />}
                    {shown === "zones" && <ZoneTable />}
                    {shown === "gaps" && <GapTable />}
                    {shown === "messages" && <MessageTable />}
                    {ops && shown !== "gaps" && wide.value && <GapTable />}
                </div>
            )}
        </section>
    );
}
