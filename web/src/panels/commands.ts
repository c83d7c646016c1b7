// SPDX-License-Identifier: Apache-2.0
// What the search field offers after ">": the same as keys and buttons do.
import { tabsOf, toggleTheme } from "../frame/header";
import * as state from "../model/state";
import { currentStage } from "../timeline/stage";
import { showAll } from "../timeline/tracks";
import { takeAlong } from "./takealong";

export interface Command {
    label: string;
    keys: string;
    act: () => void;
}

function foldAll(fold: boolean): void {
    const groups = currentStage.peek()?.layout.peek().nodes.filter((node) => node.kind === "group" && !/^[cq]/.test(node.id)) ?? [];
    state.folds.value = fold ? new Set(groups.map((node) => node.id)) : new Set();
}

export function commands(): Command[] {
    const panels = tabsOf(state.trace.peek()).map((tab, index): Command => ({
        label: `Go to ${tab.label}`, keys: String(index + 1), act: () => (state.panel.value = tab.id),
    }));
    return [
        ...panels,
        { label: "Show the whole trace", keys: "0", act: () => state.setView(state.whole.peek()) },
        { label: "Make the view the window", keys: "Enter", act: () => state.pushWindow(state.view.peek(), "view") },
        { label: "Make the whole trace the window", keys: "", act: () => state.keepCrumbs(0) },
        { label: "Fold all groups", keys: "", act: () => foldAll(true) },
        { label: "Unfold all groups", keys: "", act: () => foldAll(false) },
        { label: "Show all tracks", keys: "", act: showAll },
        { label: "Unpin all tracks", keys: "", act: () => (state.pins.value = []) },
        { label: "Light or dark", keys: "", act: toggleTheme },
        { label: "Drawer", keys: "q", act: () => (state.drawerFolded.value = !state.drawerFolded.peek()) },
        { label: "Inspector", keys: "i", act: () => (state.inspectorShown.value = !state.inspectorShown.peek()) },
        ...takeAlong().map((one): Command => ({ ...one, keys: "" })),
        { label: "Keys and help", keys: "?", act: () => (state.helpShown.value = true) },
    ];
}
