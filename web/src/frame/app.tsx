// SPDX-License-Identifier: Apache-2.0
// The frame of the page: header, context bar, band or strip, stage, drawer, inspector. They never change place.
import { useSignalEffect } from "@preact/signals";
import { fileText } from "../model/livetext";
import * as state from "../model/state";
import { capital, traceTitle } from "../model/text";
import { Compare, CompareStrip } from "../panels/compare";
import { DispatchContext, DispatchPage } from "../panels/dispatch";
import { Drawer } from "../panels/drawer";
import { Flame } from "../panels/flame";
import { Help } from "../panels/help";
import { Inspector } from "../panels/inspector";
import { Memory } from "../panels/memory";
import { MessageTable } from "../panels/messages";
import { OpsPanel } from "../panels/ops";
import { HostOverhead } from "../panels/overhead";
import { Band, Strip } from "../panels/overview";
import { TraceList } from "../panels/traces";
import { ZoneTable } from "../panels/zones";
import { TimelineText } from "../panels/astext";
import { Timeline } from "../timeline/timeline";
import { ContextBar } from "./context";
import { Header } from "./header";
import { Separator } from "./separator";

function StageContent() {
    switch (state.panel.value) {
        case "ops": return <OpsPanel />;
        case "zones": return <ZoneTable full />;
        case "flame": return <Flame />;
        case "memory": return <Memory />;
        case "overhead": return <HostOverhead />;
        case "compare": return <Compare />;
        case "messages": return <MessageTable full />;
        default: return <Timeline />;
    }
}

function Frame() {
    const panel = state.panel.value;
    const overview = panel === "overview";
    const withDrawer = (overview || panel === "timeline") && state.drawerTabs.value.length > 0;
    const folded = state.drawerFolded.value;
    const classes = [
        "frame", overview ? "" : "no-band", withDrawer ? (folded ? "drawer-folded" : "drawer-open") : "no-drawer",
        state.inspectorShown.value ? "" : "no-inspector",
    ];
    return (
        <main class={classes.join(" ")} id="frame">
            <h2 class="unseen">{capital(panel)}</h2>
            {overview ? <Band /> : panel === "compare" ? <CompareStrip /> : <Strip />}
            <div class="stage"><StageContent /></div>
            {withDrawer && <Drawer />}
            {state.inspectorShown.value && (
                <aside class="inspector" aria-label="Details" data-region>
                    <Separator name="inspector" vertical />
                    <Inspector />
                </aside>
            )}
        </main>
    );
}

function Content() {
    if (state.failure.value) return <p class="plain" role="alert">{state.failure.value}</p>;
    if (state.dispatch.value) return <DispatchPage data={state.dispatch.value} />;
    if (state.trace.value) return <Frame />;
    if (state.traces.value) return <TraceList />;
    return <p class="plain t2">Opening …</p>;
}

/** The file is no longer what was opened; what is shown stays until the reader says otherwise. */
function FileNotice() {
    const list = state.traces.value ?? [];
    const entry = list[state.traceIndex.value];
    const newer = list.findLastIndex((one, index) => index > state.traceIndex.value && one.path === entry?.path);
    const text = state.trace.value && !state.kept.value ? fileText(entry, list[newer]) : null;
    if (!text) return null;
    return (
        <div class="notice" role="status">
            <span class="fill">{text}</span>
            {newer >= 0 && <button onClick={() => void state.openTrace(newer)}>Reload</button>}
            <button onClick={() => (state.kept.value = true)}>Keep this one</button>
        </div>
    );
}

export function App() {
    useSignalEffect(() => {
        const info = state.trace.value;
        if (!state.dispatch.value) document.title = info ? `${traceTitle(info.name)}: ${state.panel.value}` : "opscope";
    });
    useSignalEffect(() => {
        // The first visit to the timeline shows it at full height; narrow heights begin with the drawer folded.
        const panel = state.panel.value;
        state.drawerFolded.value = panel === "timeline" || (panel === "overview" && innerHeight <= 760);
    });
    const notice = state.notice.value;
    return (
        <>
            <a class="unseen skip" href="#sentence" onClick={(event) => {
                event.preventDefault();
                document.getElementById("sentence")?.focus();
            }}>To the summary</a>
            <Header />
            {state.dispatch.value ? <DispatchContext data={state.dispatch.value} /> : <ContextBar />}
            {notice && (
                <div class="notice" role="status">
                    <span class="fill">{notice}</span>
                    <button onClick={() => (state.notice.value = null)} aria-label="Dismiss">✕</button>
                </div>
            )}
            <FileNotice />
            <Content />
            {state.helpShown.value && <Help />}
            {state.trace.value && <TimelineText />}
            <div class="unseen" role="status" aria-live="polite">{state.spoken.value}</div>
        </>
    );
}
