// SPDX-License-Identifier: Apache-2.0
// What can be taken along: the table as CSV, the timeline as a picture.
import * as state from "../model/state";
import { duration } from "../model/format";

/** Writes the table that is shown. */
export const currentTable: { write: (() => string) | null } = { write: null };

function save(name: string, blob: Blob): void {
    const anchor = document.createElement("a");
    anchor.href = URL.createObjectURL(blob);
    anchor.download = name;
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(anchor.href), 1000);
}

function baseName(): string {
    return (state.trace.peek()?.name ?? "trace").replace(/^.*\//, "").replace(/\.opscope$/, "");
}

export function downloadTable(): void {
    if (currentTable.write) save(`${baseName()}.csv`, new Blob([currentTable.write()], { type: "text/csv" }));
}

/** The stage as it is drawn, with the trace, the window and the version below it. */
export function savePicture(): void {
    const canvases = [...document.querySelectorAll<HTMLCanvasElement>(".map-row canvas, .ruler-row canvas, .plot canvas")];
    const width = Math.max(0, ...canvases.map((canvas) => canvas.width));
    const caption = 28;
    const out = document.createElement("canvas");
    out.width = width;
    out.height = canvases.reduce((sum, canvas) => sum + canvas.height, caption);
    const pen = out.getContext("2d");
    if (!pen || !width) return;
    const style = getComputedStyle(document.documentElement);
    pen.fillStyle = style.getPropertyValue("--panel");
    pen.fillRect(0, 0, out.width, out.height);
    let y = 0;
    for (const canvas of canvases) {
        pen.drawImage(canvas, 0, y);
        y += canvas.height;
    }
    const { from, to } = state.view.peek();
    pen.fillStyle = style.getPropertyValue("--tx2");
    pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    pen.fillText(`${baseName()}, ${duration(from, 5)} to ${duration(to, 5)}, opscope ${state.version.peek()}`, 8, y + 18);
    out.toBlob((blob) => blob && save(`${baseName()}.png`, blob));
}
