// SPDX-License-Identifier: Apache-2.0
// Uses tracks, search, flows and ranges of the page with keys and mouse, and prints what it saw as JSON. What that should be
// is in tests/system/test_page_tracks.py.
//   node interact.mjs PUPPETEER_FOLDER CHROMIUM URL SCREENSHOT_FOLDER
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launch, newPage, settled, text, texts } from "./browser.mjs";

const [packageFolder, chromium, url, folder] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await launch(packageFolder, chromium);
const result = {};
const page = await newPage(browser, { firstVisit: true });
await page.goto(`${url}#timeline`);
await page.waitForSelector("[role=treeitem]");
await settled(page);

const tracks = await page.evaluate(async () => (await (await fetch("/api/t/0/trace")).json()).tracks);
const idOf = (name) => `t${tracks.find((track) => track.name === name).id}`;
const nodes = () => page.$$eval("[role=treeitem]", (all) => all.map((one) => [one.closest(".pinned-part") ? "pinned" : "", one.dataset.node]));
const label = (name) => text(page, `[data-node="${idOf(name)}"]`);
const focus = (name) => page.focus(`[data-node="${idOf(name)}"]`);
async function press(...keys) {
    for (const key of keys) await page.keyboard.press(key);
    await settled(page);
}

async function hint() {
    const before = await text(page, ".hint");
    await press("Shift");
    return { before, after: await page.$(".hint") };
}

async function pinAndMove() {
    const order = async () => (await nodes()).map(([pinned, id]) => pinned + id);
    const seen = { start: await order() };
    await focus("worker 2");
    await page.keyboard.down("Alt");
    await press("ArrowUp");
    await page.keyboard.up("Alt");
    seen.moved = await order();
    seen.focused = await page.evaluate(() => document.activeElement.dataset.node);
    await press("p");
    seen.pinned = await order();
    seen.path = await label("worker 2");
    await page.screenshot({ path: join(folder, "pinned.png") });
    await press("p");
    seen.unpinned = await order();
    await press("h");
    seen.hidden = await order();
    seen.note = await text(page, ".flags-name");
    await page.click(".flags-name .link");
    await settled(page);
    seen.back = await order();
    await focus("worker 1");
    await press("o");
    seen.only = await order();
    await press("o");
    const box = await (await page.$(`[data-node="${idOf("worker 1")}"]`)).boundingBox();
    const other = await (await page.$(`[data-node="${idOf("worker 2")}"]`)).boundingBox();
    await page.mouse.move(box.x + 60, box.y + 8);
    await page.mouse.down();
    await page.mouse.move(other.x + 60, other.y + 2, { steps: 4 });
    await page.mouse.up();
    await settled(page);
    seen.dragged = await order();
    return seen;
}

async function deep() {
    const seen = { before: await label("MainThread") };
    await focus("MainThread");
    await press("Enter");
    seen.all = await label("MainThread");
    const item = await (await page.$(`[data-node="${idOf("MainThread")}"]`)).boundingBox();
    const stage = await (await page.$("[data-stage]")).boundingBox();
    seen.share = item.height / stage.height;
    await page.mouse.move(stage.x + 200, item.y + 40);
    await page.mouse.wheel({ deltaY: 160 });
    await settled(page);
    seen.scrolled = await label("MainThread");
    await page.screenshot({ path: join(folder, "deep.png") });
    await page.mouse.move(5, 5);
    await press("Enter");
    seen.after = await label("MainThread");
    return seen;
}

async function search(typed, keys = []) {
    await page.focus("[data-search]");
    await page.$eval("[data-search]", (input) => input.select());
    await page.keyboard.press("Backspace");
    await page.keyboard.type(typed);
    await page.waitForFunction(() => document.querySelector(".results") !== null);
    await settled(page);
    const seen = { groups: await texts(page, ".results h3"), rows: await texts(page, ".results [role=option] > :first-child"), all: await text(page, ".results") };
    for (const key of keys) await page.keyboard.press(key);
    if (!keys.length) await page.keyboard.press("Escape");
    await settled(page);
    return seen;
}

async function flows() {
    await search("launch_all", ["Enter"]);
    await page.waitForSelector(".inspector .last-part .list-rows button");
    await page.click(".inspector .last-part .list-rows button");
    await page.waitForFunction(() => document.querySelector(".inspector .tag").textContent === "Zone");
    await settled(page);
    const seen = { zone: await text(page, ".inspector") };
    await page.focus("[data-stage]");
    for (const [name, key] of [["first", "]"], ["second", "]"], ["back", "["]]) {
        const before = await text(page, ".inspector h2");
        await page.keyboard.press(key);
        await page.waitForFunction((old) => document.querySelector(".inspector h2").textContent.replace(/\u00a0/g, " ") !== old, {}, before);
        await settled(page);
        seen[name] = [await text(page, ".inspector .tag"), await text(page, ".inspector h2")];
    }
    await search("step", ["Enter"]);
    await page.focus("[data-stage]");
    await page.keyboard.press("n");
    await page.waitForSelector(".hit-place");
    seen.hit = await text(page, ".hit-place");
    return seen;
}

async function ranges() {
    await page.keyboard.press("Escape");
    await press("0");
    const box = await (await page.$("[data-stage]")).boundingBox();
    const drag = async (from, to) => {
        await page.mouse.move(box.x + box.width * from, box.y + box.height - 10);
        await page.mouse.down();
        await page.mouse.move(box.x + box.width * to, box.y + box.height - 10, { steps: 4 });
        await page.mouse.up();
        await settled(page);
    };
    await drag(0.1, 0.3);
    await page.keyboard.down("Shift");
    await drag(0.5, 0.9);
    await page.keyboard.up("Shift");
    await page.waitForSelector(".small-table tbody tr");
    await settled(page);
    const seen = { tag: await text(page, ".inspector .tag"), heading: await text(page, ".inspector h2"), names: await texts(page, ".small-table tbody td:first-child") };
    seen.hash = await page.evaluate(() => location.hash);
    await page.screenshot({ path: join(folder, "two-ranges.png") });
    await page.keyboard.press("Escape");
    return seen;
}

/** Every region, and with it everything on the page, can be reached without a mouse. */
async function regions() {
    const seen = [];
    await page.evaluate(() => document.activeElement.blur());
    for (let at = 0; at < 12; at++) {
        await page.keyboard.press("F6");
        const now = await page.evaluate(() => {
            const region = document.activeElement.closest("[data-region]");
            const ring = getComputedStyle(document.activeElement);
            return [region?.getAttribute("aria-label") ?? region?.getAttribute("role") ?? region?.className, ring.outlineStyle !== "none" || document.activeElement.matches("input")];
        });
        if (seen.length && now[0] === seen[0][0]) break;
        seen.push(now);
    }
    return seen;
}

result.hint = await hint();
result.devices = await text(page, ".context .devices");
await page.screenshot({ path: join(folder, "devices.png") });
result.tracks = await pinAndMove();
result.deep = await deep();
result.search = {
    file: await search("file:train.py"), kind: await search("kind:matmul"), longest: await search(">40ms"), wildcard: await search("lau*all"),
    expression: await search("/^st.p$/"), track: await search("track:worker"), nothing: await search("nothing like it"), commands: await search(">dark"),
};
await search(">light or dark", ["Enter"]);
result.theme = await page.evaluate(() => document.documentElement.dataset.theme);
result.flows = await flows();
result.ranges = await ranges();
result.regions = await regions();
result.problems = page.problems;
result.ids = Object.fromEntries(tracks.map((track) => [track.name, `t${track.id}`]));
await browser.close();
console.log(JSON.stringify(result));
