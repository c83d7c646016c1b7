// SPDX-License-Identifier: Apache-2.0
// On paper: the drawer is open, so that its table is printed, the timeline is as tall as its tracks, and all of it is light.
import * as state from "../model/state";
import { currentStage } from "../timeline/stage";

const TIMELINE_MOST = 460;
const AROUND_TRACKS = 84;

export function listenToPrinting(): void {
    let folded = false;
    let theme: string | undefined;
    addEventListener("beforeprint", () => {
        folded = state.drawerFolded.peek();
        theme = document.documentElement.dataset["theme"];
        if (theme === "dark") document.documentElement.dataset["theme"] = "light";
        state.drawerFolded.value = false;
        const layout = currentStage.peek()?.layout.peek();
        const height = (layout?.height ?? 0) + (layout?.pinnedHeight ?? 0) + AROUND_TRACKS;
        document.documentElement.style.setProperty("--print-timeline", `${Math.min(TIMELINE_MOST, height)}px`);
        if (theme === "dark") currentStage.peek()?.paintNow();
    });
    addEventListener("afterprint", () => {
        state.drawerFolded.value = folded;
        if (theme !== "dark") return;
        document.documentElement.dataset["theme"] = theme;
        currentStage.peek()?.readTheme();
    });
}
