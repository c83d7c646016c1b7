// SPDX-License-Identifier: Apache-2.0
// On a phone the names of tracks stand above them: there is no room for a column of names.
import { signal } from "@preact/signals";

export const namesAbove = signal(false);

if (typeof matchMedia === "function") {
    const query = matchMedia("(max-width: 599px)");
    namesAbove.value = query.matches;
    query.addEventListener("change", () => (namesAbove.value = query.matches));
}
