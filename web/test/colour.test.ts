// SPDX-License-Identifier: Apache-2.0
// The tokens of app.css hold what people can read: contrast of texts and of fills with a meaning.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { contrast, densityStep, INK, labelOn, mix, PAPER, parseColour, pixel, type Rgb } from "../src/model/colour";

declare const WEB_FOLDER: string;

function tokens(selector: string): Map<string, Rgb> {
    const sheet = readFileSync(join(WEB_FOLDER, "src/app.css"), "utf8");
    const from = sheet.indexOf(`${selector} {`);
    assert.ok(from >= 0, selector);
    const block = sheet.slice(from, sheet.indexOf("}", from));
    return new Map([...block.matchAll(/--([a-z0-9]+):\s*(#[0-9a-f]{6})/g)].map((match) => [match[1] ?? "", parseColour(match[2] ?? "")]));
}

const light = tokens(":root");
const themes: [string, Map<string, Rgb>][] = [
    ["light", light],
    ["dark", new Map([...light, ...tokens(':root[data-theme="dark"]')])],
];
const need = (theme: Map<string, Rgb>, name: string): Rgb => {
    const found = theme.get(name);
    assert.ok(found, name);
    return found;
};

for (const [label, theme] of themes) {
    test(`texts of the ${label} theme have a contrast of 4.5 or more`, () => {
        const pairs = [
            ["tx", "panel"], ["tx2", "panel"], ["tx3", "panel"], ["tx", "bg"], ["tx2", "bg"], ["tx3", "bg"], ["tx", "hover"], ["tx2", "hover"],
            ["tx3", "hover"], ["acc", "panel"], ["acc", "bg"], ["acc", "accbg"], ["tx", "accbg"], ["tx2", "accbg"], ["gaptx", "gapbg"],
            ["gaptx", "panel"], ["losstx", "lossbg"], ["tx2", "idle"],
        ] as const;
        for (const [text, back] of pairs) {
            const ratio = contrast(need(theme, text), need(theme, back));
            assert.ok(ratio >= 4.5, `${text} on ${back}: ${ratio.toFixed(2)}`);
        }
    });
    test(`fills with a meaning in the ${label} theme stand out by 3 or more`, () => {
        for (const name of ["work", "gap", "wait", "loss", "est", "host"]) {
            const ratio = contrast(need(theme, name), need(theme, "panel"));
            assert.ok(ratio >= 3, `${name}: ${ratio.toFixed(2)}`);
        }
    });
    test(`labels on zones can be read in the ${label} theme`, () => {
        for (let index = 0; index < 10; index++) {
            const fill = need(theme, `n${index}`);
            assert.ok(contrast(fill, labelOn(fill)) >= 4.5, `n${index}`);
            const pale = mix(fill, need(theme, "panel"), 0.4);
            assert.ok(contrast(pale, label === "dark" ? PAPER : INK) >= 4.5, `pale n${index}`);
        }
    });
}

test("a name keeps its colour in both themes", () => {
    const dark = tokens(':root[data-theme="dark"]');
    for (let index = 0; index < 10; index++) assert.ok(!dark.has(`n${index}`));
});

test("density has four steps, and pixels are little-endian", () => {
    assert.deepEqual([0.1, 0.3, 0.6, 0.9].map(densityStep), [0, 1, 2, 3]);
    assert.equal(pixel([0x11, 0x22, 0x33]), 0xff332211);
});
