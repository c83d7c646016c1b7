// SPDX-License-Identifier: Apache-2.0
// What the share menu and the search field's commands offer to take along.
import { embedded } from "../model/embedded";
import * as state from "../model/state";
import { fileName } from "../model/text";
import { openInPerfetto, saveExport } from "./perfetto";
import { savePng, saveSvg } from "./picture";
import { downloadTable } from "./share";

export interface TakeAlong {
    label: string;
    act: () => void;
}

function copyLink(): void {
    void navigator.clipboard?.writeText(state.link());
    if (!embedded) state.notice.value = `Copied. The link opens wherever opscope view serves ${fileName(state.trace.peek()?.name ?? "the trace")}; who does not have that file needs one of view --html.`;
}

export function takeAlong(): TakeAlong[] {
    const served: TakeAlong[] = [
        { label: "Open in Perfetto", act: () => void openInPerfetto() },
        { label: "Perfetto trace of the window", act: () => void saveExport("perfetto", ".pftrace") },
        { label: "Flame graph of the window", act: () => void saveExport("flamegraph", ".flame.svg") },
    ];
    return [
        { label: "Copy link", act: copyLink },
        { label: "PNG of this view", act: () => void savePng() },
        { label: "SVG of this view", act: () => void saveSvg() },
        { label: "CSV of the table", act: downloadTable },
        ...(embedded ? [] : served),
        { label: "Print", act: () => print() },
    ];
}
