// SPDX-License-Identifier: Apache-2.0
// Header: whose trace this is, tabs, search, theme, sharing, help.
import { useSignal } from "@preact/signals";
import { duration, plural } from "../model/format";
import * as state from "../model/state";
import { fileName, safeText, traceTitle } from "../model/text";
import type { TraceInfo } from "../model/types";
import { Search } from "../panels/search";
import { takeAlong } from "../panels/takealong";
import { Menu } from "./menu";
import { TabList } from "./tablist";

export interface Tab {
    id: string;
    label: string;
}

export function tabsOf(info: TraceInfo | null): Tab[] {
    const points = state.points.data.value?.total ?? info?.points ?? 0;
    const tabs: (Tab & { there: boolean })[] = [
        { id: "overview", label: "Overview", there: true },
        { id: "timeline", label: "Timeline", there: true },
        { id: "ops", label: "Ops", there: state.hasOps(info) },
        { id: "zones", label: "Zones", there: (info?.zones ?? 0) > 0 },
        { id: "flame", label: "Flame", there: (info?.zones ?? 0) > 0 },
        { id: "memory", label: "Memory", there: (info?.pools ?? []).some((pool) => pool.events > 0) },
        { id: "messages", label: "Messages", there: points > 0 },
        { id: "overhead", label: "Host overhead", there: (info?.ops ?? 0) > 0 && state.overview.data.value?.kind !== "estimate" },
        { id: "compare", label: "Compare", there: (state.traces.value?.length ?? 0) > 1 },
    ];
    return tabs.filter((tab) => tab.there);
}

function summary(info: TraceInfo): string {
    // What was imported has no host: its command is only the path of what was read.
    const words = info.host ? info.command.split(" ") : [];
    const command = words.map((word, index) => (index === 0 || word.startsWith("/") ? fileName(word) : word)).join(" ");
    const devices = info.tracks.filter((track) => track.kind === "device").length;
    const run = safeText(command || (info.host ? info.program : ""));
    const parts = [run && `$ ${run}`, info.duration_ns ? duration(info.duration_ns) : ""];
    if (devices) parts.push(plural(devices, "device"));
    return parts.filter(Boolean).join(", ");
}

function Logo() {
    return (
        <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
            <rect x="1" y="3" width="11" height="4" rx="1" fill="var(--acc)" />
            <rect x="5" y="8.5" width="6" height="4" rx="1" fill="var(--work)" />
            <rect x="13" y="8.5" width="6" height="4" rx="1" fill="var(--work)" />
            <rect x="9" y="14" width="10" height="4" rx="1" fill="var(--gap)" />
        </svg>
    );
}

function Tabs() {
    const more = useSignal(false);
    const tabs = tabsOf(state.trace.value);
    const late = tabs.slice(5);
    const show = (id: string) => {
        state.panel.value = id;
        more.value = false;
    };
    return (
        <nav class="tabs" aria-label="Panels" data-region>
            <TabList label="Panels" shown={state.panel.value} show={show} tabs={tabs.map((tab, index) => ({ ...tab, kind: index >= 5 ? "late-tab" : "" }))} />
            {late.length > 0 && (
                <div class="more-tabs">
                    <button class={late.some((tab) => tab.id === state.panel.value) ? "chosen" : ""} aria-haspopup="menu" aria-expanded={more.value} onClick={() => (more.value = !more.value)}>More ▾</button>
                    {more.value && <Menu label="More panels" close={() => (more.value = false)} entries={late.map((tab) => ({ label: tab.label, act: () => show(tab.id) }))} />}
                </div>
            )}
        </nav>
    );
}

function Share() {
    const open = useSignal(false);
    return (
        <div style={{ position: "relative" }}>
            <button class="icon-button" aria-label="Share or export" title="Share or export" aria-haspopup="menu" aria-expanded={open.value}
                onClick={() => (open.value = !open.value)}>
                <svg width="16" height="16" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5" aria-hidden="true">
                    <path d="M8 10V2M5 4.5 8 1.8l3 2.7M3 8v6h10V8" />
                </svg>
            </button>
            {open.value && <Menu label="Share or export" close={() => (open.value = false)} entries={takeAlong()} />}
        </div>
    );
}

export function toggleTheme(): void {
    state.theme.value = document.documentElement.dataset["theme"] === "dark" ? "light" : "dark";
}

export function Header() {
    const info = state.trace.value;
    const count = state.traces.value?.length ?? 0;
    return (
        <header class="top">
            {info || state.dispatch.value ? <div class="brand"><Logo />opscope</div> : <h1 class="brand"><Logo />opscope</h1>}
            {info && (
                <div class="trace-name">
                    {count > 1 && <button class="link back" onClick={() => (state.trace.value = null)}>← all {count} traces</button>}
                    <h1 class="el" title={safeText(state.traces.value?.[state.traceIndex.value]?.path ?? info.name)}>{traceTitle(info.name)}</h1>
                    <span class="el" title={safeText(info.command)}>{summary(info)}</span>
                </div>
            )}
            {state.dispatch.value && <div class="trace-name"><h1>Host overhead</h1><span class="el">{safeText(state.dispatch.value.source === "measured" ? "" : state.dispatch.value.source ?? "")}</span></div>}
            {info && <Tabs />}
            <span class="fill" />
            {info && <Search />}
            <button class="icon-button" aria-label="Light or dark" title="Light or dark" onClick={toggleTheme}>
                <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
                    <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="1.5" />
                    <path d="M8 2a6 6 0 0 1 0 12z" fill="currentColor" />
                </svg>
            </button>
            {info && <Share />}
            {!state.dispatch.value && <button class="icon-button" aria-label="Keys and help" title="Keys and help (?)"
                onClick={() => (state.helpShown.value = !state.helpShown.value)}><b>?</b></button>}
        </header>
    );
}
