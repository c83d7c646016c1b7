// SPDX-License-Identifier: Apache-2.0
// Clicks the doors of the page, of every trace that a server shows: what a row names, and what is selected then. Prints as JSON what
// each row said, what the inspector said after the click, the outline on the stage and the view; tests/system/test_page_doors.py
// says what should be the same.
//   node doors.mjs PUPPETEER_FOLDER CHROMIUM URL SCREENSHOT_FOLDER [--few]
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launch, newPage, settled } from "./browser.mjs";

const [packageFolder, chromium, url, folder, few] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const OPS = few ? 4 : 6;
const ROWS = few ? 2 : 3;
const browser = await launch(packageFolder, chromium);
const plain = (text) => text.replace(/[\u00a0\u202f]/g, " ").trim();
const address = new URL(url);
const token = address.searchParams.get("token");
const api = async (trace, question) => (await fetch(new URL(`/api/t/${trace}/${question}`, address), { headers: token ? { Authorization: `Bearer ${token}` } : {} })).json();

/** What the page shows now of what is selected. */
async function shown(page) {
    await settled(page);
    return page.evaluate(() => {
        const text = (selector) => document.querySelector(selector)?.textContent.replace(/[\u00a0\u202f]/g, " ").trim() ?? "";
        const canvas = document.querySelector(".plot canvas");
        const accent = document.createElement("span");
        accent.style.color = "var(--acc)";
        document.body.append(accent);
        const wanted = getComputedStyle(accent).color.match(/\d+/g).map(Number);
        accent.remove();
        const [x, y, width, height] = canvas?.dataset.ring?.split(" ").map(Number) ?? [];
        let ring = null;
        if (width !== undefined) {
            const there = x >= 0 && x + width <= canvas.clientWidth && y >= 0 && y + height <= canvas.clientHeight;
            const ratio = canvas.width / canvas.clientWidth;
            const line = there ? canvas.getContext("2d").getImageData(Math.round(x * ratio), Math.round((y - 1) * ratio), Math.max(1, Math.round(width * ratio)), 1).data : [];
            let painted = 0;
            for (let at = 0; at < line.length; at += 4) if (wanted.every((value, index) => line[at + index] === value)) painted++;
            ring = { there, painted, share: width / canvas.clientWidth };
        }
        const fragment = new URLSearchParams(location.hash.slice(1));
        return {
            tag: text(".inspector .tag"), title: text(".inspector h2"), lengths: [text(".inspector h2"), text(".inspector .t2")].join(" "), inspector: text(".inspector"),
            whole: document.querySelector(".inspector h2")?.getAttribute("title") ?? "", selection: fragment.get("sel"), ring, panel: location.hash.slice(1).split("&")[0],
        };
    });
}

/** Clicks the nth of these; what the row said, and what is shown then. */
async function click(page, door, selector, index) {
    const row = (await page.$$(selector))[index];
    if (!row) return null;
    const said = await row.evaluate((element) => ({
        text: element.textContent.replace(/[\u00a0\u202f]/g, " "),
        cells: [...element.querySelectorAll("td, span, b")].map((one) => one.textContent.replace(/[\u00a0\u202f]/g, " ").trim()),
        title: element.getAttribute("title"),
    }));
    await row.evaluate((element) => { element.scrollIntoView({ block: "nearest" }); element.click(); });
    const now = await shown(page);
    return { door, said, now };
}

async function open(trace, panel) {
    const page = await newPage(browser);
    address.hash = `#${panel}&t=${trace}`;
    await page.goto(address.toString());
    await page.waitForSelector("#frame");
    await settled(page);
    return page;
}

const drawerTab = (page, label) => page.evaluate((wanted) => {
    const tab = [...document.querySelectorAll(".drawer-tabs button")].find((one) => one.textContent.startsWith(wanted));
    if (tab && tab.getAttribute("aria-selected") !== "true") tab.click();
    return !!tab;
}, label);

async function advice(page, trace, add) {
    const { advice: list } = await api(trace, "overview");
    const rows = (await page.$$(".advice > button")).length;
    for (let index = 0; index < rows; index++) add({ ...(await click(page, "advice", ".advice > button", index)), evidence: list[index].evidence });
}

async function ops(page, add) {
    if (!(await drawerTab(page, "Ops"))) return;
    await settled(page);
    const rows = Math.min(OPS, (await page.$$(".drawer tbody tr")).length);
    for (let index = 0; index < rows; index++) {
        const chosen = await click(page, "op", ".drawer tbody tr", index);
        add(chosen);
        const name = chosen.now.title;
        const again = async () => { await page.$$eval(".drawer tbody tr", (all, at) => all[at].click(), index); await settled(page); };
        for (let run = 0; run < ROWS; run++) {
            const selector = ".inspector .last-part .list-rows button:not([disabled])";
            if (!(await page.$$(selector))[run]) break;
            add({ ...(await click(page, "longest run", selector, run)), name });
            await again();
        }
        const links = (await page.$$(".inspector .facts button.link")).length;
        for (let link = 0; link < links; link++) {
            add({ ...(await click(page, "percentile", ".inspector .facts button.link", link)), name });
            await again();
        }
    }
}

async function gaps(page, add) {
    if (!(await drawerTab(page, "Gaps"))) return;
    await settled(page);
    const rows = Math.min(ROWS, (await page.$$(".drawer tbody tr")).length);
    for (let index = 0; index < rows; index++) add(await click(page, "gap", ".drawer tbody tr", index));
}

async function zones(page, add) {
    if (!(await drawerTab(page, "Zones"))) return;
    await settled(page);
    const rows = Math.min(ROWS, (await page.$$(".drawer tbody tr")).length);
    for (let index = 0; index < rows; index++) {
        add(await click(page, "zone name", ".drawer tbody tr", index));
        const name = (await shown(page)).title;
        const call = await click(page, "longest call", ".inspector .last-part .list-rows button", 0);
        if (call) add({ ...call, name });
    }
}

async function launched(page, add) {
    await page.evaluate(() => document.activeElement.blur());
    for (let index = 0; ; index++) {
        const selector = ".inspector .part[aria-label='What it launched'] .list-rows button";
        const before = (await page.$$(selector)).length;
        if (index >= Math.min(ROWS, before)) break;
        add(await click(page, "launched", selector, index));
        await page.keyboard.press("["); // back to the zone
        await page.waitForFunction(() => document.querySelector(".inspector .tag")?.textContent === "Zone");
        await settled(page);
    }
}

/** Lines of the colour of what is selected, over the whole height of the stage; or all pixels of a colour. */
const linesOn = (page, token = "acc", whole = true) => page.evaluate((name, isWhole) => {
    const canvas = document.querySelector(".plot canvas");
    const context = canvas.getContext("2d");
    const probe = document.createElement("span");
    probe.style.color = `var(--${name})`;
    document.body.append(probe);
    const wanted = getComputedStyle(probe).color.match(/\d+/g).map(Number);
    probe.remove();
    const isIt = (data, at) => wanted.every((value, index) => data[at + index] === value);
    let found = 0;
    if (!isWhole) {
        const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
        for (let at = 0; at < data.length; at += 4) if (isIt(data, at)) found++;
        return found;
    }
    const rows = [1, canvas.height - 2].map((y) => context.getImageData(0, y, canvas.width, 1).data);
    for (let at = 0; at < canvas.width * 4; at += 4) if (rows.every((row) => isIt(row, at))) found++;
    return found;
}, token, whole);

/** Marks that were kept. */
async function marks(page) {
    const box = await page.$eval("[data-stage]", (element) => { const { x, y } = element.getBoundingClientRect(); return { x, y }; });
    await page.keyboard.press("0");
    await page.keyboard.press("Escape");
    for (const x of [300, 600]) {
        await page.mouse.move(box.x + x, box.y + 60);
        await settled(page);
        await page.keyboard.down("Shift");
        await page.keyboard.press("M");
        await page.keyboard.up("Shift");
    }
    await page.mouse.move(5, 5);
    await settled(page);
    const before = await linesOn(page);
    if (!(await drawerTab(page, "Messages"))) return null;
    await settled(page);
    await page.$$eval(".drawer tbody tr", (all) => all[0].click());
    await settled(page);
    await page.keyboard.press("Escape");
    await settled(page);
    return { before, after: await linesOn(page) };
}

async function messages(trace, add) {
    const page = await open(trace, "messages");
    const count = Math.min(6, (await page.$$("tbody tr")).length);
    for (let index = 0; index < count; index++) {
        const message = await click(page, "message", "tbody tr", index);
        add({ ...message, lines: await linesOn(page) });
        await page.evaluate(() => [...document.querySelectorAll(".tabs [role=tab], .tabs a, .tabs button")].find((one) => one.textContent === "Messages").click());
        await settled(page);
    }
    await page.close();
}

/** From the field of the search to a message; from the list of what was lost, and from the peak of a pool, to where that was. */
async function others(page, add) {
    await page.focus("[data-search]");
    await page.keyboard.type("rate");
    await settled(page);
    await page.keyboard.press("Enter");
    add({ door: "search", said: { text: "rate 0.1" }, now: await shown(page), lines: await linesOn(page) });
    await page.evaluate(() => { location.hash = `${location.hash.replace(/&sel=[^&]*/, "")}&sel=lost`; });
    await page.waitForSelector(".inspector .loss-tag");
    const loss = await click(page, "loss", ".inspector .last-part .list-rows button", 0);
    add({ ...loss, hatched: await linesOn(page, "loss", false) });
    await page.evaluate(() => [...document.querySelectorAll(".tabs [role=tab], .tabs a, .tabs button")].find((one) => one.textContent === "Memory").click());
    await settled(page);
    const peak = await click(page, "peak", ".plots figcaption button", 0);
    add({ ...peak, lines: await linesOn(page) });
}

const seen = [];
const problems = [];
let kept = null;
const { traces } = await (await fetch(new URL("/api/traces", address), { headers: token ? { Authorization: `Bearer ${token}` } : {} })).json();
for (const { id, name } of traces) {
    const add = (one) => one && seen.push({ id, trace: name, ...one });
    const page = await open(id, "overview");
    await advice(page, id, add);
    await ops(page, add);
    await gaps(page, add);
    await zones(page, add);
    await launched(page, add);
    await page.screenshot({ path: join(folder, `${plain(name).replace(/[^\w.-]/g, "_")}.png`) });
    problems.push(...page.problems);
    await page.close();
    if (few) continue;
    await messages(id, add);
    const marked = await open(id, "overview");
    kept = await marks(marked);
    await others(marked, add);
    await marked.close();
}
await browser.close();
console.log(JSON.stringify({ seen, problems, traces, marks: kept }));
