// SPDX-License-Identifier: Apache-2.0
// The context bar: what all numbers are about, what was left out, what was lost, the state of the trace.
import { Fragment } from "preact";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { getJson, isStranger, lostSince, slowQueries } from "../model/api";
import { current } from "../model/compare";
import { embedded } from "../model/embedded";
import { duration, plural } from "../model/format";
import { behindText, lostText, pausedText, recordingText, strangerText } from "../model/livetext";
import { progress, progressShare, progressText } from "../model/progress";
import * as state from "../model/state";
import { safeText } from "../model/text";
import type { TraceInfo } from "../model/types";

function Crumbs() {
    const crumbs = state.crumbs.value;
    const last = crumbs.length - 1;
    const length = state.trace.value?.duration_ns ?? 0;
    const whole = length ? `whole trace ${duration(length)}` : "nothing was recorded";
    const live = state.liveWindow.value;
    if (live) return <span class="pill">{state.following.value ? "the last" : "when paused, the last"} {duration(live.to - live.from)}</span>;
    return (
        <>
            {crumbs.length === 0 ? <span class="pill">{whole}</span> : (
                <button class="crumb wide" onClick={() => state.keepCrumbs(0)}>{whole}</button>
            )}
            {crumbs.map((crumb, index) => (
                <Fragment key={index}>
                    <span class="wide" aria-hidden="true">›</span>
                    {index < last ? (
                        <button class="crumb wide" onClick={() => state.keepCrumbs(index + 1)}>{safeText(crumb.label)}</button>
                    ) : (
                        <span class="pill">
                            {safeText(crumb.label)}, {duration(crumb.to - crumb.from)}
                            <button aria-label="Back to the larger window" title="Backspace" onClick={() => state.keepCrumbs(last)}>✕</button>
                        </span>
                    )}
                </Fragment>
            ))}
        </>
    );
}

function ComparedWindows() {
    const data = current();
    const chosen = (part: { from: number; to: number } | undefined) => (part && part.from > 0 ? `${duration(part.from)} to ${duration(part.to)}` : "whole trace");
    const side = (name: string, window: typeof state.windowA, part: { from: number; to: number } | undefined) => (
        <span class="pill">
            {name}: {window.value ? `${duration(window.value.from)} to ${duration(window.value.to)}` : chosen(part)}
            {window.value && <button aria-label={`Whole trace of ${name}`} onClick={() => (window.value = null)}>✕</button>}
        </span>
    );
    const isAll = state.warmup.value;
    return (
        <>
            {side("A", state.windowA, data?.a)}{side("B", state.windowB, data?.b)}
            {data?.kind === "estimate" && <span class="wide">an estimate is compared with the shortest run of each op, whatever the windows are</span>}
            {data?.diff && (isAll || data.diff.about) && (
                <>
                    <span class="wide shrinks" title={safeText(data.diff.about ?? "")}>{isAll ? "nothing is left out" : safeText(data.diff.about ?? "")}</span>
                    {!embedded && <button class="link wide" onClick={() => state.includeAll(!isAll)}>{isAll ? "leave out" : "include"}</button>}
                </>
            )}
        </>
    );
}

function LeftOut() {
    const left = state.overview.data.value?.window.left_out ?? [];
    if (state.warmup.value) {
        return (
            <>
                <span class="wide">nothing is left out</span>
                <button class="link wide" onClick={() => state.includeAll(false)}>leave out</button>
            </>
        );
    }
    const [first] = left;
    if (!first) return null;
    const text = safeText(first.text);
    return (
        <>
            <span class="wide shrinks" title={text}>{text}</span>
            <button class="link wide" onClick={() => state.includeAll(true)}>include</button>
        </>
    );
}

function Devices() {
    const text = state.overview.data.value?.devices;
    return text ? <span class="wide devices">{safeText(text)}</span> : null;
}

function stateText(info: TraceInfo): { text: string; kind: string } {
    const entry = state.traces.value?.[state.traceIndex.value];
    // An answer may be older than what the server has said of the file since: that it is complete is not asked of it then.
    if (entry?.state === "growing" || (entry?.state === "complete" && !info.complete && state.newest.value)) {
        return { text: recordingText(state.newest.value?.end ?? info.duration_ns, state.newest.value?.zones ?? info.zones), kind: "growing" };
    }
    if (entry?.state === "replaced") return { text: "replaced on disk", kind: "bad" };
    if (entry?.state === "deleted") return { text: "deleted on disk", kind: "bad" };
    if (info.damaged_blocks > 0) return { text: `${plural(info.damaged_blocks, "damaged block")}`, kind: "bad" };
    const exit = info.exit_status === null ? "" : `, exit ${info.exit_status}`;
    const crashed = info.processes.find((process) => process.signal && process.flags.includes("root"));
    if (crashed) return { text: `crashed: ${crashed.signal}`, kind: "bad" };
    if (info.salvaged) return { text: "recovered from an interrupted recording", kind: "bad" };
    return { text: info.complete ? `complete${exit}` : "not complete", kind: info.complete ? "" : "bad" };
}

function Connection() {
    const now = useSignal(Date.now());
    const lost = lostSince.value;
    useEffect(() => {
        if (lost === null) return;
        const timer = setInterval(() => {
            now.value = Date.now();
            void getJson("/traces").catch(() => undefined); // which says when the connection is back
        }, 1000);
        return () => clearInterval(timer);
    }, [lost]);
    if (lost === null) return state.reconnected.value ? <span class="pill" role="status">Connected again.</span> : null;
    if (isStranger.value) return <span class="pill late" role="status">{strangerText()}</span>;
    const seconds = Math.max(0, Math.round((now.value - lost) / 1000));
    return <span class="pill late" role="status">{lostText(seconds, state.drawn.value?.duration_ns ?? 0)}</span>;
}

/** As far as it is known; else that something is on its way. */
function BusyLine() {
    const share = progress.value && progressShare(progress.value);
    if (share === null) return <span class="busy-line" role="progressbar" aria-label="Waiting for an answer" />;
    return (
        <span class="busy-line known" role="progressbar" aria-label={progress.value ? progressText(progress.value) : ""} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(share * 100)}>
            <i style={{ width: `${share * 100}%` }} />
        </span>
    );
}

export function ContextBar() {
    const info = state.trace.value;
    if (!info) return null;
    const { text, kind } = stateText(info);
    const growing = state.growing.value;
    const behind = growing ? behindText(state.newest.value?.behind ?? 0, state.following.value ? state.numbersBehind.value : 0) : null;
    const lost = info.lost_zones || info.lost_records;
    return (
        <div class="context" aria-label="What the numbers are about" role="region" data-region>
            <span class="wide">These numbers are about:</span>
            {state.panel.value === "compare" ? <ComparedWindows /> : <><Crumbs /><LeftOut /><Devices /></>}
            {embedded && embedded.missing().length > 0 && (
                <button class="pill" title={embedded.missing().join("; ")} onClick={() => { state.select(null); state.inspectorShown.value = true; }}>
                    not all is in this file
                </button>
            )}
            <span class="fill" />
            <Connection />
            {slowQueries.value > 0 && progress.value && progress.value.zones_read > 0 && <span class="counting">{progressText(progress.value)}</span>}
            {lost > 0 && (
                <button class="pill loss" onClick={() => state.select({ kind: "lost" })}>
                    {info.lost_zones ? `${plural(info.lost_zones, "zone")} lost` : `${plural(lost, "record")} lost`}
                </button>
            )}
            {behind && <span class="pill late behind">{behind}</span>}
            {growing && (
                <>
                    {!state.following.value && <span class="paused">{pausedText(state.view.value.to, state.newest.value?.end ?? info.duration_ns)}</span>}
                    <button class="link follow" onClick={() => state.follow(!state.following.value)}>
                        {state.following.value ? "Pause" : "Follow"}
                    </button>
                </>
            )}
            <span class={`state-dot wide ${kind}`} />
            <span class="wide">{safeText(text)}</span>
            {slowQueries.value > 0 && <BusyLine />}
        </div>
    );
}
