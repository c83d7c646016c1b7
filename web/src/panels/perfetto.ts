// SPDX-License-Identifier: Apache-2.0
// The window for other tools. Perfetto's page is opened in a tab of its own, asked until it answers, and handed the
// trace, which goes from this tab to that one, not over the network. Where it does not answer, the file is saved.
import { getBinary } from "../model/api";
import * as state from "../model/state";
import { baseName, save } from "./share";

const ORIGIN = "https://ui.perfetto.dev";
const ASK_MS = 100;
const GIVE_UP_MS = 20000;

/** Is somebody there? The tab answers PONG as soon as it can take a trace. */
function answered(tab: Window): Promise<boolean> {
    return new Promise((done) => {
        const end = (found: boolean) => {
            removeEventListener("message", listen);
            clearInterval(asking);
            clearTimeout(giveUp);
            done(found);
        };
        const listen = (event: MessageEvent) => event.origin === ORIGIN && event.data === "PONG" && end(true);
        const asking = setInterval(() => tab.postMessage("PING", ORIGIN), ASK_MS);
        const giveUp = setTimeout(() => end(false), GIVE_UP_MS);
        addEventListener("message", listen);
    });
}

function exported(format: string): Promise<ArrayBuffer> {
    const { from, to } = state.window_.peek();
    return getBinary(state.tracePath("export"), { format, from, to });
}

/** The window as `opscope export` writes it. */
export async function saveExport(format: string, ending: string): Promise<void> {
    try {
        save(`${baseName()}${ending}`, new Blob([await exported(format)]));
    } catch (error) {
        state.notice.value = error instanceof Error ? error.message : String(error);
    }
}

export async function openInPerfetto(): Promise<void> {
    const tab = open(ORIGIN); // at once: later it would be a window that nobody asked for
    try {
        const buffer = await exported("perfetto");
        if (tab && (await answered(tab))) {
            tab.postMessage({ perfetto: { buffer, title: baseName(), fileName: `${baseName()}.pftrace` } }, ORIGIN);
            return;
        }
        save(`${baseName()}.pftrace`, new Blob([buffer]));
        state.notice.value = `Perfetto did not answer: ${baseName()}.pftrace was saved, ui.perfetto.dev opens it.`;
    } catch (error) {
        state.notice.value = error instanceof Error ? error.message : String(error);
    }
}
