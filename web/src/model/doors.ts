// SPDX-License-Identifier: Apache-2.0
// From what a list names to where it is: the selection, and the timeline that shows it.
import { getJson, RequestFailed } from "./api";
import { callOf, itemOf, type Call, type PlaceAnswer } from "./place";
import * as state from "./state";
import type { ZoneDetail } from "./types";

export function hasPlace(place: PlaceAnswer): boolean {
    return itemOf(place) !== null || callOf(place) !== null;
}

/** The zone that is the call: it begins and ends with it. Where there is none, the time of the call. */
async function goToCall(call: Call): Promise<void> {
    const { track, from, to } = call;
    const innermost = await getJson<ZoneDetail>(state.tracePath("zone"), { track, depth: "innermost", at: from }).catch((error: unknown) => {
        if (error instanceof RequestFailed) return null;
        throw error;
    });
    const zones = innermost ? [innermost, ...innermost.parents] : [];
    const zone = zones.find((one) => one.start === from && one.start + one.duration === to);
    if (zone) state.select({ kind: "zone", track, depth: zone.depth, start: from, end: to, name: zone.name }, { reveal: true });
    else if (to > from) state.select({ kind: "range", from, to }, { reveal: true, track });
    else state.select({ kind: "moment", time: from, track }, { reveal: true });
}

/** `fit`: the view is made for it, where nothing else in the present one matters. */
export function goTo(place: PlaceAnswer, options: { fit?: boolean } = {}): void {
    const item = itemOf(place);
    const call = callOf(place);
    if (item) state.select(item, { reveal: true, ...options });
    else if (call) goToCall(call).catch((error: unknown) => (state.notice.value = error instanceof RequestFailed ? error.message : "The server does not answer."));
}
