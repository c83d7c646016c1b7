// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { drawRuler, type RulerView } from "../src/timeline/ruler";

/** What is drawn, in order: texts, and the left and right of what is painted over. */
function drawing(): { context: CanvasRenderingContext2D; drawn: (string | [number, number])[] } {
    const drawn: (string | [number, number])[] = [];
    const known: Record<string, unknown> = {
        fillText: (text: string) => drawn.push(text.replace(/\u00a0/g, " ")),
        fillRect: (x: number, _y: number, width: number) => drawn.push([x, x + width]),
    };
    const context = new Proxy(known, { get: (all, name: string) => all[name] ?? (() => undefined), set: () => true });
    return { context: context as unknown as CanvasRenderingContext2D, drawn };
}

const fitter = { width: (_: unknown, text: string) => text.length * 6 };
const view = (from: number, to: number) => ({ from, to, width: 1000, theme: { css: {}, font: "" }, fitter }) as unknown as RulerView;

test("a mark that is kept shows its name", () => {
    const { context, drawn } = drawing();
    drawRuler(context, view(0, 1e6), null, [{ time: 500000, name: "mark 1" }, { time: 700000, name: "" }]);
    assert.equal(drawn.filter((one) => one === "mark 1").length, 1);
});

test("the base of the ruler is on top of the dimension line of a long selection", () => {
    const { context, drawn } = drawing();
    const from = 3514487967;
    drawRuler(context, view(from, from + 8000), { from: from - 1e6, to: from + 1e6 }, []);
    const base = drawn.findIndex((one) => typeof one === "string" && one.endsWith("+"));
    assert.ok(base > 0, JSON.stringify(drawn));
    const [left, right] = drawn[base - 1] as [number, number];
    assert.ok(left === 0 && right > (drawn[base] as string).length * 6, "it is painted over what was there");
});
