// SPDX-License-Identifier: Apache-2.0
// What people reach who use the keyboard or a screen reader: menus, tables, tracks; and what axe-core finds on every panel.
// Prints what it saw as JSON; what that should be is in tests/system/test_page_reach.py.
//   node reach.mjs PUPPETEER_FOLDER CHROMIUM URL AXE_FOLDER|- [PANEL …]
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { launch, newPage, settled, text, texts } from "./browser.mjs";

const [packageFolder, chromium, url, axeFolder, ...panels] = process.argv.slice(2);
const browser = await launch(packageFolder, chromium);
const problems = [];
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

async function open(part, options = {}) {
    const page = await newPage(browser, options);
    page.problems = problems;
    await page.goto(`${url}#${part}`);
    await page.waitForSelector("#frame");
    await settled(page);
    return page;
}

/** Rules that were broken, with the elements that broke them. */
async function check(page, source, only = { type: "tag", values: RULES }) {
    await page.evaluate(source);
    return page.evaluate(async (runOnly) => {
        const { violations } = await window.axe.run(document, { runOnly, resultTypes: ["violations"] });
        return violations.map((one) => `${one.id}: ${one.nodes.slice(0, 6).map((node) => node.html.slice(0, 160)).join(" | ")}`);
    }, only);
}

async function axe() {
    if (axeFolder === "-") return null;
    const source = readFileSync(join(axeFolder, "axe.min.js"), "utf8");
    const found = {};
    for (const panel of panels) {
        const page = await open(`${panel}&theme=light`);
        found[`${panel} light`] = await check(page, source);
        await page.click("[aria-label='Light or dark']");
        await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
        await settled(page);
        found[`${panel} dark`] = await check(page, source, { type: "rule", values: ["color-contrast"] }); // the rest is the same
        await page.close();
    }
    const page = await open("overview");
    await page.click("[aria-label='Share or export']");
    await page.click("[aria-label='Keys and help']");
    await page.waitForSelector(".help");
    found.help = await check(page, source);
    await page.close();
    return found;
}

const focused = (page) => page.evaluate(() => document.activeElement?.getAttribute("aria-label") || document.activeElement?.textContent || document.activeElement?.tagName);
const count = (page, selector) => page.$$eval(selector, (all) => all.length);

async function menus() {
    const page = await open("overview&sel=lost");
    const seen = {};
    await page.focus("[aria-label='Share or export']");
    await page.keyboard.press("Enter");
    await page.waitForSelector("[role=menu]");
    seen.entries = await texts(page, "[role=menuitem]");
    seen.first = await focused(page);
    await page.keyboard.press("ArrowDown");
    seen.second = await focused(page);
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowDown");
    seen.around = await focused(page);
    await page.keyboard.press("Escape");
    seen.closed = await count(page, "[role=menu]");
    seen.back = await focused(page);
    seen.selection = await page.evaluate(() => location.hash.includes("sel=lost"));
    await page.click("[aria-label='Share or export']");
    await page.waitForSelector("[role=menu]");
    await page.click("#sentence");
    await page.waitForFunction(() => document.querySelector("[role=menu]") === null);
    await page.keyboard.press("?");
    await page.waitForSelector(".help");
    seen.helpFocus = await focused(page);
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.querySelector(".help") === null);
    seen.kept = await page.evaluate(() => location.hash.includes("sel=lost"));
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !location.hash.includes("sel=lost"));
    await page.close();
    return seen;
}

/** How often Tab stops inside of what a selector names. */
async function tables() {
    const page = await open("zones");
    await page.waitForSelector(".stage tbody tr");
    const seen = { rows: await count(page, ".stage tbody tr"), stops: await count(page, ".stage tbody tr[tabindex='0']") };
    await page.focus(".stage tbody tr[tabindex='0']");
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction(() => document.activeElement?.getAttribute("aria-rowindex") === "3");
    seen.moved = await page.$$eval(".stage tbody tr[tabindex='0']", (all) => all.map((row) => row.getAttribute("aria-rowindex")));
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.includes("sel=name:"));
    await page.close();
    const flame = await open("flame");
    seen.boxes = await count(flame, ".flame .node");
    seen.boxStops = await count(flame, ".flame .node[tabindex='0']");
    await flame.focus(".flame .node[tabindex='0']");
    const before = await focused(flame);
    await flame.keyboard.press("ArrowDown");
    seen.flame = [before, await focused(flame)];
    await flame.close();
    return seen;
}

/** What is spoken when arrow keys go from run to run of a device. */
async function spoken() {
    const page = await open("timeline");
    await page.focus("[data-stage]");
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction(() => location.hash.includes("sel=run"));
    await page.waitForFunction(() => document.querySelector("[role=status][aria-live]").textContent !== "");
    const seen = [await text(page, "[role=status][aria-live]")];
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction((before) => document.querySelector("[role=status][aria-live]").textContent.replace(/\u00a0/g, " ") !== before, {}, seen[0]);
    seen.push(await text(page, "[role=status][aria-live]"));
    await page.close();
    return seen;
}

/** The table of zones and its filter; what the inspector says while nothing is selected. */
async function rest() {
    const page = await open("zones");
    const rows = () => page.$$eval(".stage tbody tr:not(.pad)", (all) => all.map((row) => [...row.children].map((cell) => cell.textContent.replace(/\u00a0/g, " "))));
    const seen = { heads: await texts(page, ".stage thead th"), rows: await rows(), zones: await text(page, ".inspector") };
    seen.choices = await texts(page, "[aria-label='Zones of'] option");
    await page.select("[aria-label='Zones of']", await page.$eval("[aria-label='Zones of'] optgroup option:nth-child(2)", (option) => option.value));
    await page.waitForFunction(() => document.querySelectorAll(".stage tbody tr").length === 1);
    seen.filtered = await rows();
    await page.select("[aria-label='Zones of']", "");
    await page.waitForFunction(() => document.querySelectorAll(".stage tbody tr").length > 1);
    await page.click(".inspector .list-rows button");
    seen.file = await page.$eval(".stage .filter-field", (field) => field.value);
    await page.keyboard.press("3");
    await page.waitForFunction(() => location.hash.startsWith("#ops"));
    await settled(page);
    seen.ops = await text(page, ".inspector");
    await page.keyboard.press("5");
    await page.waitForFunction(() => document.querySelector(".inspector").textContent.includes("heaviest path"));
    seen.flame = await text(page, ".inspector");
    await page.click(".inspector .foot button");
    await page.waitForFunction(() => document.querySelector(".inspector").textContent.includes("What was recorded"));
    await page.close();
    return seen;
}

/** A trace of many processes and threads that do next to nothing: few lines, few elements, and what is looked for comes out. */
async function many() {
    const page = await open("timeline&t=2");
    const tree = () => page.$$eval("[role=treeitem]", (all) => all.map((one) => one.querySelector(".name").textContent.replace(/\u00a0/g, " ")));
    const seen = { tree: await tree(), elements: await count(page, "*") };
    seen.title = await page.$eval("[data-node=q]", (item) => item.title.replace(/\u00a0/g, " "));
    for (const open of ["true", "false"]) {
        await page.click("[data-node=q0]");
        await page.waitForFunction((wanted) => document.querySelector("[data-node=q0]").ariaExpanded === wanted, {}, open);
    }
    await page.keyboard.press("/");
    await page.keyboard.type("track:child-150");
    await page.waitForFunction(() => document.querySelectorAll("[role=option]").length === 2);
    seen.results = await texts(page, "[role=option] .fill");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => [...document.querySelectorAll("[role=treeitem] .name")].some((one) => one.textContent === "child-150"));
    seen.elementsOpen = await count(page, "*");
    await page.close();
    return seen;
}

/** On a phone: names above their tracks, and nothing of the sentence cut. */
async function phone() {
    const page = await open("timeline", { width: 420, height: 900 });
    const seen = await page.evaluate(() => {
        const names = [...document.querySelectorAll("[role=treeitem] .name")];
        const sentence = document.querySelector("#sentence");
        return {
            cut: names.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent),
            names: names.map((one) => one.textContent), plot: document.querySelector("[data-stage]").clientWidth,
            sentence: [sentence.scrollWidth <= sentence.clientWidth, sentence.parentElement.scrollWidth <= sentence.parentElement.clientWidth],
        };
    });
    await page.close();
    return seen;
}

/** A trace of nothing: what it says, and no place for what is not there. */
async function nothing() {
    const page = await open("overview&t=3");
    const seen = { text: await text(page, "#page"), drawer: await count(page, ".drawer"), sections: await texts(page, ".band h3"), facts: await texts(page, ".inspector dt") };
    await page.close();
    return seen;
}

/** What the panels call things. */
async function words() {
    const page = await open("overview");
    const seen = { context: await text(page, ".context"), band: await text(page, ".band") };
    await page.focus("[data-stage]");
    await page.keyboard.press("g");
    await page.waitForFunction(() => document.querySelector(".inspector .tag").textContent === "Gap");
    seen.gap = await texts(page, ".inspector h3");
    await page.$$eval(".drawer [role=tab]", (all) => all.find((one) => one.textContent.startsWith("Gaps")).click());
    await page.waitForFunction(() => [...document.querySelectorAll(".drawer th")].some((one) => one.textContent.startsWith("before")));
    seen.gaps = await texts(page, ".drawer th");
    for (const [panel, row] of [["overhead", ".stage thead th"], ["compare", ".differences thead th"]]) {
        await page.evaluate((hash) => (location.hash = hash), `${panel}`);
        await page.waitForSelector(row);
        seen[panel] = await texts(page, row);
    }
    await page.close();
    return seen;
}

const result = { menus: await menus(), tables: await tables(), spoken: await spoken(), rest: await rest(), many: await many(), phone: await phone(), nothing: await nothing(), words: await words(), axe: await axe() };
await browser.close();
console.log(JSON.stringify({ ...result, problems }));
