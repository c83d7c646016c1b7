// SPDX-License-Identifier: Apache-2.0
// Pictures of the panels of the page on the traces that a server shows, and what is wrong on them at a glance (faults.mjs).
//   node screenshots.mjs PUPPETEER_FOLDER CHROMIUM URL FOLDER [--all] [--match PATTERN]
// Writes FOLDER/TRACE-PANEL-LOOK-SIZE.png (print: .pdf) and prints {"NAME": ["fault", …]} as JSON. Without --all: a few sizes
// and looks of the first trace, what `make test` keeps; with it every panel, size and look of every trace.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launch, newPage, settled } from "./browser.mjs";
import { findFaults } from "./faults.mjs";

const [packageFolder, chromium, url, folder, ...options] = process.argv.slice(2);
const all = options.includes("--all");
const pattern = new RegExp(options[options.indexOf("--match") + 1 || options.length] ?? "");
mkdirSync(folder, { recursive: true });

const SIZES = {
    "1280x720": [1280, 720, 1], "1440x900": [1440, 900, 1], "1920x1080": [1920, 1080, 1], "420x900": [420, 900, 1],
    "3840x2160": [3840, 2160, 1], "1920x1080at2": [1920, 1080, 2], "640x360at2": [640, 360, 2],
};
const LOOKS = {
    light: {}, dark: { theme: "dark" }, grey: { vision: "achromatopsia" }, protan: { vision: "protanopia" },
    deutan: { vision: "deuteranopia" }, tritan: { vision: "tritanopia" }, forced: { features: { "forced-colors": "active" } },
    contrast: { features: { "prefers-contrast": "more" } }, calm: { features: { "prefers-reduced-motion": "reduce" } }, print: { media: "print" },
};
const FEW = [
    ["overview", "light", "1440x900"], ["overview", "dark", "1280x720"], ["overview", "light", "1920x1080"], ["overview", "light", "420x900"],
    ["overview", "light", "640x360at2"], ["overview", "forced", "1280x720"], ["overview", "grey", "1280x720"], ["overview", "print", "1280x720"],
    ["timeline", "dark", "1920x1080"], ["ops", "light", "1280x720"], ["zones", "dark", "1280x720"], ["flame", "light", "1280x720"],
    ["messages", "light", "420x900"],
];

function wanted(panels) {
    if (!all) return FEW.filter(([panel]) => panels.includes(panel));
    const list = [];
    for (const panel of panels) {
        for (const size of Object.keys(SIZES)) for (const look of ["light", "dark"]) list.push([panel, look, size]);
        for (const look of Object.keys(LOOKS)) if (look !== "light" && look !== "dark") list.push([panel, look, "1280x720"]);
    }
    return list;
}

const browser = await launch(packageFolder, chromium);

async function open(address, size, look) {
    const [width, height, scale] = SIZES[size];
    const page = await newPage(browser, { width, height, scale, ...look });
    await page.goto(address);
    await page.waitForSelector("#frame");
    await settled(page);
    return page;
}

async function take(trace, panel, look, size) {
    const name = `${trace.name.replace(/\.opscope$/, "").replace(/[^\w.-]/g, "_")}-${panel}-${look}-${size}`;
    if (!pattern.test(name)) return null;
    const page = await open(`${url}#${panel}&t=${trace.id}`, size, LOOKS[look]);
    const print = look === "print";
    if (print) await page.pdf({ path: join(folder, `${name}.pdf`), preferCSSPageSize: true, printBackground: true });
    else await page.screenshot({ path: join(folder, `${name}.png`), fullPage: SIZES[size][0] <= 760 });
    const faults = [...page.problems, ...(print || look === "forced" ? [] : await page.evaluate(findFaults))];
    await page.close();
    return [name, faults];
}

const { traces } = await (await fetch(new URL(`/api/traces${new URL(url).search}`, url))).json();
const result = {};
for (const trace of all ? traces : traces.slice(0, 1)) {
    const probe = await open(`${url}#overview&t=${trace.id}`, "1920x1080", {});
    const panels = (await probe.$$eval(".tabs [role=tab]", (tabs) => tabs.map((tab) => tab.textContent.toLowerCase())));
    await probe.close();
    for (const [panel, look, size] of wanted(panels)) {
        const taken = await take(trace, panel, look, size);
        if (taken) result[taken[0]] = taken[1];
    }
}
await browser.close();
console.log(JSON.stringify(result, null, 1));
