// SPDX-License-Identifier: Apache-2.0
// What can be taken along: the table as CSV; pictures and other tools have files of their own.
import * as state from "../model/state";

/** Writes the table that is shown. */
export const currentTable: { write: (() => string) | null } = { write: null };

export function save(name: string, blob: Blob): void {
    const anchor = document.createElement("a");
    anchor.href = URL.createObjectURL(blob);
    anchor.download = name;
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(anchor.href), 1000);
}

export function baseName(): string {
    return (state.trace.peek()?.name ?? "trace").replace(/^.*\//, "").replace(/\.opscope$/, "");
}

export function downloadTable(): void {
    if (currentTable.write) save(`${baseName()}.csv`, new Blob([currentTable.write()], { type: "text/csv" }));
}
