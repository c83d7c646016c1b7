// SPDX-License-Identifier: Apache-2.0
// Brings what was asked for into view: opens what hides its track, scrolls to its row, moves the view.
import { centred, viewOf, type Shown } from "../model/place";
import * as state from "../model/state";
import type { Item } from "../model/url";
import type { Node, Row } from "./layout";
import { rememberView } from "./input";
import type { Stage } from "./stage";
import { setFirstDepth, trackFilter } from "./tracks";

/** Opens the groups that a track is in, and takes it out of what is hidden. */
function uncover(stage: Stage, id: number): void {
    const tracks = state.trace.peek()?.tracks ?? [];
    const folds = new Set(state.folds.peek());
    const hidden = new Set(state.hidden.peek());
    const together = stage.layout.peek().inside.get(id);
    if (together) folds.add(together); // several that are one line: opened
    for (let at = tracks.find((one) => one.id === id), steps = 0; at && steps < tracks.length; steps++) {
        const { parent, process } = at;
        hidden.delete(at.id);
        folds.delete(`d${at.id}`);
        folds.delete(`p${process}`);
        if (parent !== null && stage.layout.peek().nodes.some((node) => node.id === `c${parent}`)) folds.add(`c${parent}`); // of cores: opened
        at = tracks.find((one) => one.id === parent);
    }
    if (hidden.size < state.hidden.peek().size) state.hidden.value = hidden;
    if (folds.size !== state.folds.peek().size || [...folds].some((one) => !state.folds.peek().has(one))) state.folds.value = folds;
    if (!stage.nodeOf(id)) trackFilter.value = "";
}

/** Opens a track that does not show this depth, and scrolls it to there. */
function showDepth(stage: Stage, track: number, depth: number): void {
    const node = stage.nodeOf(track);
    if (!node || node.rows.some((row) => !row.runs && row.depth === depth) || !node.rows.some((row) => !row.runs)) return;
    const shown = node.scroll?.shown ?? node.rows.length;
    if (!state.deep.peek().has(track)) state.deep.value = new Set([...state.deep.peek(), track]);
    setFirstDepth(track, depth - Math.floor(shown / 2));
}

const ROOM_ABOVE = 40;

function scrollTo(stage: Stage, node: Node, row: Row | null): void {
    const from = node.y + (row ? row.y : 0);
    const to = row ? from + row.height : node.y + Math.min(node.height, 60);
    if (node.pinned) {
        const top = stage.pinnedScroll.peek();
        if (from < top || to > top + stage.pinnedArea) stage.scrollPinned(from);
        return;
    }
    const top = stage.scrollY.peek();
    const room = stage.height - stage.pinnedArea;
    if (from < top || to > top + room) stage.scrollTo(Math.min(from - Math.min(ROOM_ABOVE, room / 4), from));
}

function showTrack(stage: Stage, track: number | null): void {
    if (track === null) return;
    uncover(stage, track);
    const node = stage.nodeOf(track);
    if (node) scrollTo(stage, node, null);
}

function showItem(stage: Stage, item: Item, fit: boolean): void {
    rememberView();
    state.setView(viewOf({ from: item.start, to: item.end }, state.view.peek(), stage.width, fit));
    uncover(stage, item.track);
    if (item.kind === "zone") showDepth(stage, item.track, item.depth);
    const place = stage.rowOfItem(item);
    if (place) scrollTo(stage, place.node, place.row);
    else showTrack(stage, item.track);
}

/** Not from inside an effect: what is opened is laid out at once. */
export function bringIntoView(stage: Stage, wanted: Shown): void {
    switch (wanted.kind) {
        case "item": return showItem(stage, wanted.item, wanted.fit);
        case "span":
            rememberView();
            state.setView(viewOf(wanted, state.view.peek(), stage.width, false));
            return showTrack(stage, wanted.track);
        case "moment":
            rememberView();
            state.setView(centred(wanted.time, state.view.peek()));
            return showTrack(stage, wanted.track);
        case "track": return showTrack(stage, wanted.track);
    }
}
