// SPDX-License-Identifier: Apache-2.0
// Steps, cores, gaps, ops, several selected, colours, links, paper; and the file of `opscope overhead --html`. Prints what it saw
// as JSON; what that should be is in tests/system/test_page_details.py.
//   node details.mjs PUPPETEER_FOLDER CHROMIUM URL OVERHEAD_FILE SAVED_FILE SCREENSHOT_FOLDER
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fragment, launch, newPage, settled, text, texts } from "./browser.mjs";

const [packageFolder, chromium, url, overheadFile, savedFile, folder] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await launch(packageFolder, chromium);
const problems = [];

async function open(part, options = {}) {
    const page = await newPage(browser, { width: 1920, height: 1080, ...options });
    page.problems = problems;
    await page.goto(`${url}#${part}`);
    await page.waitForSelector("[role=treeitem]");
    await settled(page);
    return page;
}

const { tracks } = await (await fetch(new URL(`/api/t/0/trace${new URL(url).search}`, url))).json();
const idOf = (name) => `t${tracks.find((track) => track.name === name).id}`;
const picture = (page, name) => page.screenshot({ path: join(folder, `${name}.png`) });

/** Pixels of the stage that have a token's colour, by the share of them. */
const painted = (page, token) => page.evaluate((name) => {
    const canvas = document.querySelector(".plot canvas");
    const probe = document.createElement("span");
    probe.style.color = `var(--${name})`;
    document.body.append(probe);
    const wanted = getComputedStyle(probe).color.match(/\d+/g).map(Number);
    probe.remove();
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let found = 0;
    for (let at = 0; at < data.length; at += 4) if (wanted.every((value, index) => data[at + index] === value)) found++;
    return found;
}, token);

async function steps(page) {
    const seen = {
        title: await text(page, ".per-step h3"), legend: await texts(page, ".step-legend > *"), columns: await page.$$eval(".step", (all) => all.length),
        heights: await page.$$eval(".step", (all) => all.map((one) => [...one.querySelectorAll("rect:not(.step-back)")].map((box) => [box.getAttribute("class"), Number(box.getAttribute("height"))]))),
        titles: await texts(page, ".step title"),
    };
    await picture(page, "steps");
    await page.$$eval(".step", (all) => all[1].dispatchEvent(new MouseEvent("click", { bubbles: true })));
    await settled(page);
    seen.chosen = await fragment(page, "sel=range");
    seen.ring = await page.$$eval(".step-ring", (all) => all.length);
    return seen;
}

async function cores(page) {
    const seen = { title: await text(page, ".band section:nth-child(3) h3") };
    seen.cells = await page.$$eval(".core-map g", (all) => all.map((one) => [one.getAttribute("aria-label"), one.querySelector("rect").getAttribute("class")]));
    await picture(page, "cores");
    await page.click(".core-map g:nth-child(2)");
    await settled(page);
    seen.shown = await texts(page, "[role=treeitem] .name");
    return seen;
}

async function gap(page) {
    await page.keyboard.press("g");
    await page.waitForFunction(() => document.querySelector(".inspector pre") !== null);
    await settled(page);
    const seen = { titles: await texts(page, ".inspector .part h3"), source: await texts(page, ".inspector pre div"), on: await texts(page, ".inspector pre .on") };
    seen.remedy = await page.$$eval(".inspector .part", (all) => all.find((one) => one.querySelector("h3").textContent === "Try").textContent);
    return seen;
}

const launched = async (page) => ({ places: await texts(page, ".inspector .launch button"), on: await texts(page, ".inspector pre .on") });

/** What the inspector says of the first op, of a run of it and of a zone, of the page that is served or of the file. */
async function inspected(address, name) {
    const page = await newPage(browser, { width: 1920, height: 1080 });
    const seen = {};
    const learn = async (what) => {
        await page.waitForFunction(() => document.querySelector(".inspector pre") !== null);
        await settled(page);
        seen[what] = await text(page, ".inspector");
    };
    page.problems = problems;
    await page.goto(`${address}#overview`);
    await page.waitForSelector(".drawer tbody tr");
    await settled(page);
    await page.click(".drawer tbody tr");
    await learn("op");
    await picture(page, name);
    await page.click(".inspector .last-part .list-rows button");
    await page.waitForFunction(() => document.querySelector(".inspector .tag").textContent.startsWith("Run"));
    await learn("run");
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("[");
    await page.waitForFunction(() => document.querySelector(".inspector .tag").textContent === "Zone");
    await learn("zone");
    await page.close();
    return seen;
}

async function op(page) {
    const before = await painted(page, "acc");
    const rows = await page.$$(".drawer tbody tr");
    await rows[0].click();
    await settled(page);
    const seen = { before, after: await painted(page, "acc"), inspector: await text(page, ".inspector"), runs: await texts(page, ".inspector .last-part .list-rows button") };
    await page.waitForFunction(() => document.querySelector(".inspector pre") !== null);
    seen.launched = await launched(page);
    await picture(page, "op");
    await page.click(".inspector .launch button");
    await settled(page);
    seen.closed = await launched(page);
    await page.click(".inspector .last-part .list-rows button");
    await page.waitForFunction(() => document.querySelector(".inspector pre") !== null);
    await settled(page);
    seen.launchedRun = await launched(page);
    await picture(page, "run");
    await page.select("[aria-label='Colours of ops']", "name");
    await settled(page);
    seen.byName = await page.$$eval(".drawer tbody tr .swatch", (all) => all.map((one) => one.className));
    await page.select("[aria-label='Colours of ops']", "bound");
    await settled(page);
    seen.byBound = await page.$$eval(".drawer tbody tr .swatch", (all) => all.map((one) => one.className));
    seen.link = await fragment(page, "colours=bound");
    return seen;
}

async function several() {
    const page = await open("timeline&v=0ns..50ms");
    const stage = await (await page.$("[data-stage]")).boundingBox();
    const row = await (await page.$(`[data-node=${idOf("MainThread")}]`)).boundingBox();
    const at = (ms) => [stage.x + (stage.width * ms) / 50, row.y + 9];
    await page.mouse.click(...at(3));
    await page.keyboard.down("Control");
    await page.mouse.click(...at(15));
    await page.mouse.click(...at(25));
    await settled(page);
    const seen = { three: await text(page, ".inspector"), link: await fragment(page, "sel=set") };
    await page.mouse.click(...at(3));
    await page.keyboard.up("Control");
    await settled(page);
    seen.two = await text(page, ".inspector h2");
    const again = await open(seen.link.slice(1));
    await again.waitForFunction(() => !document.querySelector(".inspector").textContent.includes("…"));
    await settled(again);
    seen.again = await text(again, ".inspector");
    return seen;
}

/** Light pixels on dark paper: the canvas is painted again before the printer takes it. */
async function paper() {
    const page = await open("timeline&theme=dark");
    const brightness = () => page.evaluate(() => {
        const canvas = document.querySelector(".plot canvas");
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        let sum = 0;
        for (let at = 0; at < data.length; at += 4) sum += data[at];
        return sum / (data.length / 4);
    });
    const seen = { dark: await brightness() };
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    seen.paper = await brightness();
    seen.coloured = await painted(page, "n0");
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    await settled(page);
    seen.after = await brightness();
    return seen;
}

async function overhead() {
    const page = await newPage(browser, { width: 1440, height: 900 });
    page.problems = problems;
    await page.goto(`file://${overheadFile}`);
    await page.waitForSelector("table[aria-label='Dispatch times']");
    await settled(page);
    const seen = { title: await page.title(), sentence: await text(page, "#sentence"), rows: await texts(page, "table[aria-label='Dispatch times'] tbody tr td:first-child"), markup: await page.$$eval("b.x", (all) => all.length) };
    await picture(page, "overhead");
    await page.click("table[aria-label='Dispatch times'] tbody tr");
    await settled(page);
    seen.inspector = await text(page, ".inspector");
    await page.type(".filter-field", "add");
    seen.filtered = await texts(page, "table[aria-label='Dispatch times'] tbody tr td:first-child");
    return seen;
}

const result = {};
const page = await open("overview");
result.said = await text(page, "[aria-label='Timeline as text']");
result.steps = await steps(page);
result.cores = await cores(page);
result.gap = await gap(page);
result.served = await inspected(url, "op-served");
result.saved = await inspected(`file://${savedFile}`, "op-saved");
result.op = await op(await open("overview&v=20ms..60ms"));
result.several = await several();
result.paper = await paper();
const shared = await open(`timeline&hide=${idOf("idle thread")}&order=${idOf("worker")},${idOf("MainThread")}`);
result.shared = {
    ids: ["worker", "MainThread", "idle thread"].map(idOf), tracks: await shared.$$eval("[role=treeitem]", (all) => all.map((one) => one.dataset.node)), note: await text(shared, ".flags-name"), link: await fragment(shared, "order=") };
if (overheadFile !== "-") result.overhead = await overhead();
result.problems = problems;
console.log(JSON.stringify(result));
await browser.close();
