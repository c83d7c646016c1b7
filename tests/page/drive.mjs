// SPDX-License-Identifier: Apache-2.0
// Uses the page of `opscope view` as a person would, in a headless Chromium, and prints what it saw as JSON. What that
// should be is in tests/system/test_page.py.
//   node drive.mjs PUPPETEER_FOLDER CHROMIUM URL SCREENSHOT_FOLDER [URL_OF_SEVERAL_TRACES]
// The URL is that of a server, or a file that `opscope view --html` wrote.
import { createRequire } from "node:module";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

const [packageFolder, chromium, url, pictures, several] = process.argv.slice(2);
const puppeteer = createRequire(join(packageFolder, "package.json"))(packageFolder);
const isFile = url.startsWith("file:");
mkdirSync(pictures, { recursive: true });
const seen = { console: [], origins: [] };

const browser = await puppeteer.launch({
    executablePath: chromium,
    args: ["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb", "--hide-scrollbars"],
});

async function open(address, width = 1440, height = 900, theme = "light", ready = "[role=treeitem]") {
    const page = await browser.newPage();
    page.setDefaultTimeout(60000);
    page.on("console", (message) => message.type() === "error" && seen.console.push(message.text()));
    page.on("pageerror", (error) => seen.console.push(String(error)));
    page.pending = new Set();
    for (const ended of ["requestfinished", "requestfailed"]) page.on(ended, (request) => page.pending.delete(request));
    page.on("request", (request) => {
        if (!request.url().startsWith("data:")) page.pending.add(request); // Chromium's own may have no end
        const { origin, protocol } = new URL(request.url());
        if (protocol.startsWith("http") && !seen.origins.includes(origin)) seen.origins.push(origin);
    });
    await page.setViewport({ width, height });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
    await page.evaluateOnNewDocument(() => location.protocol.startsWith("http") && localStorage.setItem("opscope.seen", "1"));
    await page.goto(address);
    await page.waitForSelector("#sentence");
    await page.waitForSelector(ready);
    await drawn(page);
    return page;
}

/** Waits until every answer is there and what it brought is painted. */
async function drawn(page) {
    const end = Date.now() + 60000;
    for (let quiet = 0; quiet < 3;) {
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 20)))));
        quiet = page.pending.size === 0 ? quiet + 1 : 0;
        if (Date.now() > end) throw new Error(`no answer: ${[...page.pending].map((request) => request.url()).join(" ")}`);
    }
}

const text = (page, selector) => page.$eval(selector, (element) => element.textContent.replace(/\u00a0/g, " "));
const texts = (page, selector) => page.$$eval(selector, (all) => all.map((one) => one.textContent.replace(/\u00a0/g, " ")));
const picture = (page, name) => page.screenshot({ path: join(pictures, `${name}.png`) });

/** The colours on a row of the timeline between two shares of its width. */
function colours(page, node, from, to, row = 0) {
    return page.evaluate((id, a, b, line) => {
        const canvas = document.querySelector(".plot canvas");
        const item = document.querySelector(`[data-node="${id}"]`);
        const top = item.getBoundingClientRect().top - canvas.getBoundingClientRect().top;
        const y = Math.round(top + 2 + line * 16 + 1);
        const x = Math.round(canvas.width * a);
        const data = canvas.getContext("2d").getImageData(x, y, Math.max(1, Math.round(canvas.width * (b - a))), 1).data;
        const found = {};
        for (let at = 0; at < data.length; at += 4) {
            const colour = `#${[0, 1, 2].map((i) => data[at + i].toString(16).padStart(2, "0")).join("")}`;
            found[colour] = (found[colour] ?? 0) + 1;
        }
        return found;
    }, node, from, to, row);
}

async function overview(page) {
    const tree = await page.accessibility.snapshot({ interestingOnly: false });
    const nodes = [];
    const visit = (node) => {
        nodes.push({ role: node.role, name: node.name });
        for (const child of node.children ?? []) visit(child);
    };
    visit(tree);
    return {
        title: await page.title(),
        sentence: await text(page, "#sentence"),
        shares: await texts(page, ".legend button span:last-child"),
        roles: [...new Set(nodes.map((node) => node.role))],
        tracks: nodes.filter((node) => node.role === "treeitem").map((node) => node.name),
        tabs: await texts(page, ".tabs [role=tab]"),
        context: await text(page, ".context"),
        wide: await page.evaluate(() => document.documentElement.scrollWidth > innerWidth),
    };
}

async function findZone(page, name) {
    await page.keyboard.press("/");
    await page.keyboard.type(name);
    await page.waitForSelector("[role=option]");
    await page.waitForFunction((wanted) => document.querySelector("[role=option]").textContent.includes(wanted), {}, name);
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => /calls? in the window/.test(document.querySelector(".inspector").textContent));
    const found = { heading: await text(page, ".inspector h2"), inspector: await text(page, ".inspector"), hash: await page.evaluate(() => location.hash) };
    await page.click(".inspector .last-part .list-rows button");
    await page.waitForFunction(() => document.querySelector(".inspector .tag").textContent === "Zone");
    await drawn(page);
    found.zone = await text(page, ".inspector");
    await page.waitForFunction(() => document.querySelector("[role=status][aria-live]").textContent !== "");
    found.spoken = await text(page, "[role=status][aria-live]");
    return found;
}

async function selectRange(page) {
    await page.keyboard.press("Escape");
    await page.keyboard.press("0");
    await drawn(page);
    const box = await (await page.$("[data-stage]")).boundingBox();
    const y = box.y + box.height - 12;
    await page.mouse.move(box.x + box.width * 0.25, y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.4, y, { steps: 4 });
    await page.mouse.move(box.x + box.width * 0.75, y, { steps: 4 });
    await page.mouse.up();
    await page.waitForSelector(".small-table tbody tr");
    const range = { heading: await text(page, ".inspector h2"), inspector: await text(page, ".inspector"), names: await texts(page, ".small-table tbody tr td:first-child") };
    await picture(page, "range");
    await page.focus("[data-stage]");
    await page.keyboard.press("Enter");
    if (isFile) {
        await page.waitForFunction(() => /for this window alone/.test(document.body.textContent));
        range.window = await text(page, ".context .pill");
        await page.keyboard.press("Escape");
        return range;
    }
    await page.waitForFunction(() => /range/.test(document.querySelector(".context .pill").textContent));
    await drawn(page);
    range.window = await text(page, ".context .pill");
    range.sentence = await text(page, "#sentence");
    await page.goBack();
    await drawn(page);
    range.back = await text(page, ".context .pill");
    await page.keyboard.press("Escape");
    return range;
}

async function sortOps(page) {
    const read = async () => ({
        first: await text(page, ".drawer tbody tr td:first-child"),
        sorted: await page.$$eval(".drawer th", (all) => all.filter((one) => one.ariaSort !== "none").map((one) => [one.textContent, one.ariaSort])),
    });
    const before = await read();
    const heads = await page.$$(".drawer th button");
    for (const head of heads) {
        if ((await head.evaluate((one) => one.textContent)).startsWith("count")) await head.click();
    }
    await drawn(page);
    const after = await read();
    await page.type(".drawer .filter-field", "kind:matmul");
    await drawn(page);
    const filtered = await texts(page, ".drawer tbody tr td:first-child");
    await page.click(".drawer tbody tr");
    await page.waitForFunction(() => document.querySelector(".inspector .tag").textContent.startsWith("Op"));
    return { before, after, filtered, inspector: await text(page, ".inspector") };
}

async function keys(page) {
    await page.focus("[data-stage]");
    await page.keyboard.press("g");
    await page.waitForFunction(() => document.querySelector(".inspector .tag").textContent === "Gap");
    await drawn(page);
    const gap = await text(page, ".inspector");
    await picture(page, "gap");
    await page.keyboard.press("?");
    const help = (await page.$(".help")) !== null;
    await page.keyboard.press("Escape");
    await page.keyboard.press("F6");
    const focused = await page.evaluate(() => document.activeElement !== document.body);
    return { gap, help, helpClosed: (await page.$(".help")) === null, focused };
}

async function share(page) {
    const hash = await page.evaluate(() => location.hash);
    const other = await open(new URL(hash, url).href);
    const same = { here: await text(page, ".inspector h2"), there: await text(other, ".inspector h2"), hash };
    await other.close();
    return same;
}

/** Where something is drawn on the first row of each timeline of a comparison: the first pixel from the left, as a share. */
function firstPixels(page) {
    return page.$$eval(".side-plot canvas", (all) => all.map((canvas) => {
        const { data } = canvas.getContext("2d").getImageData(0, 10, canvas.width, 1);
        for (let x = 0; x < canvas.width; x++) if (data[4 * x + 3] === 255) return x / canvas.width;
        return null;
    }));
}

async function compareRows(page) {
    return page.$$eval(".differences tbody tr", (all) => all.map((row) => [...row.children].map((cell) => cell.textContent.replace(/\u00a0/g, " "))));
}

async function compareTraces() {
    const page = await open(`${several}#compare&b=1`, 1440, 900, "light", ".differences tbody tr");
    const found = {
        tabs: await texts(page, ".tabs [role=tab]"), title: await page.title(), sentence: await text(page, "#sentence"),
        api: await page.evaluate(async () => (await (await fetch("/api/compare?a=0&b=1")).json())),
        chart: await page.$eval(".compare-band svg", (svg) => svg.getAttribute("aria-label").replace(/\u00a0/g, " ")),
        bars: await page.$$eval(".side-bar .bar", (all) => all.map((bar) => bar.getBoundingClientRect().width)),
        rows: await compareRows(page), totals: await text(page, ".inspector"), byStart: await firstPixels(page),
    };
    found.texts = await page.$$eval(".compare-band svg text", (all) => all.map((one) => {
        const [box, room] = [one.getBoundingClientRect(), one.ownerSVGElement.getBoundingClientRect()];
        return { text: one.textContent, isInside: box.left >= room.left - 1 && box.right <= room.right + 1 };
    }));
    await picture(page, "compare-light-1440x900");
    await page.select("select[aria-label='Trace B']", "0");
    await page.waitForFunction(() => document.querySelector("#sentence").textContent.includes("as long as"));
    found.same = { slower: await page.$$eval(".fall.slower, .side-bar .slower", (all) => all.length), chart: await page.$eval(".compare-band .t3:last-child", (one) => one.textContent) };
    await page.select("select[aria-label='Trace B']", "1");
    await page.waitForFunction(() => document.querySelector("#sentence").textContent.includes("longer"));
    await drawn(page);
    await page.select("select[aria-label='Aligned by']", "op:softmax");
    await drawn(page);
    found.byOp = await firstPixels(page);
    await page.click(".differences tbody tr");
    await page.waitForFunction(() => document.querySelector(".inspector .tag").textContent === "Zone");
    found.details = await text(page, ".inspector");
    for (const head of await page.$$(".differences th button")) {
        if ((await head.evaluate((one) => one.textContent)) === "B") await head.click();
    }
    found.byB = (await compareRows(page))[0][0];
    const box = await (await page.$(".side-plot[data-side=a]")).boundingBox();
    await page.mouse.move(box.x + box.width * 0.02, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.2, box.y + 60, { steps: 3 });
    await page.mouse.move(box.x + box.width * 0.5, box.y + 60, { steps: 3 });
    await page.mouse.up();
    await page.waitForFunction(() => location.hash.includes("aw="));
    await drawn(page);
    found.window = { hash: await page.evaluate(() => location.hash), pills: await texts(page, ".context .pill"), rows: await compareRows(page) };
    await picture(page, "compare-window");
    await page.goBack();
    await drawn(page);
    found.back = await texts(page, ".context .pill");
    await page.focus(".sides");
    await page.keyboard.press("w");
    await drawn(page);
    found.zoomed = await page.$eval(".panel-head .link", (button) => !button.disabled);
    await page.keyboard.press("0");
    await page.click("[aria-label='Swap A and B']");
    await page.waitForFunction(() => / less/.test(document.querySelector("#sentence").textContent));
    await drawn(page);
    found.swapped = await text(page, "#sentence");
    found.hostile = await page.evaluate(() => ({ images: document.images.length, ran: window.ran === true, text: document.body.textContent.includes("\u202e") }));
    await page.close();
    return found;
}

async function compareEstimate() {
    const page = await open(`${several}#compare&t=2&b=3`, 1440, 900, "light", ".measured-end");
    const found = {
        sentence: await text(page, "#sentence"), dumbbells: await page.$$eval(".measured-end", (all) => all.length),
        hollow: await page.$$eval(".estimate-end", (all) => all.length), bars: await page.$$eval(".side-bar .bar", (all) => all.map((bar) => bar.classList.contains("estimated"))),
        rows: await compareRows(page),
    };
    await picture(page, "compare-estimate");
    await page.select("select[aria-label='Trace B']", "2");
    await page.waitForFunction(() => document.querySelector("#sentence").textContent.includes("as long as"));
    const before = seen.console.length;
    await page.goto("about:blank");
    page.pending.clear();
    await page.goto(`${several}#compare&t=3&b=2`);
    await page.waitForSelector(".compare [role=alert]");
    await drawn(page);
    found.refused = await text(page, ".compare [role=alert]");
    found.console = seen.console.splice(before); // Chromium's own line about the status
    await page.close();
    return found;
}

/** The lane of the estimate above the run: what its box says, and where ] and [ lead. */
async function overlayEstimate() {
    const page = await open(`${several}#timeline&t=3`, 1440, 900, "light", "[data-node=estimate]");
    await drawn(page);
    const lane = await page.$eval("[data-node=estimate]", (item) => item.getBoundingClientRect().toJSON());
    const plot = await page.$eval("[data-stage]", (stage) => stage.getBoundingClientRect().toJSON());
    const place = async (selector) => page.$eval(selector, (item) => item.getBoundingClientRect().top);
    const found = { above: lane.top < await place(`.item.track[title^="dispatches"]`), tree: await text(page, "[data-node=estimate]") };
    const [x, y] = [plot.left + plot.width * (1.2 / 9), lane.top + lane.height / 2]; // it is there from 1 ms of 9 on
    await page.mouse.move(x, y);
    await page.waitForSelector(".tip");
    found.tip = await text(page, ".tip");
    await page.mouse.click(x, y);
    await page.waitForSelector(".estimate-tag");
    found.details = await text(page, ".inspector");
    found.hash = await page.evaluate(() => location.hash);
    await drawn(page);
    await picture(page, "overlay-estimate");
    await page.focus("[data-stage]");
    await page.keyboard.press("]");
    await page.waitForFunction(() => /sel=run/.test(location.hash));
    await page.waitForFunction(() => /× the estimate/.test(document.querySelector(".inspector").textContent.replace(/\u00a0/g, " ")));
    found.run = await text(page, ".inspector");
    await page.keyboard.press("[");
    await page.waitForFunction(() => /sel=estimate/.test(location.hash));
    await page.close();
    return found;
}

async function compareSizes() {
    const sizes = [];
    for (const [width, height, theme] of [[1280, 720, "dark"], [1920, 1080, "light"], [420, 900, "light"]]) {
        const page = await open(`${several}#compare&b=1`, width, height, theme, ".differences tbody tr");
        sizes.push({ width, overflow: await page.evaluate(() => document.documentElement.scrollWidth > innerWidth) });
        await picture(page, `compare-${theme}-${width}x${height}`);
        await page.close();
    }
    return sizes;
}

const result = {};
const page = await open(`${url}#overview&v=0ns..50ms`);
result.overview = await overview(page);
const tracks = await page.evaluate(async (saved) => (saved ? JSON.parse(document.querySelector("script[data-ask=trace]").textContent)
    : await (await fetch("/api/t/0/trace")).json()).tracks, isFile);
const [device, thread] = ["device", "thread"].map((kind) => `t${tracks.find((track) => track.kind === kind).id}`);
result.pixels = {
    busy: await colours(page, device, 0.3, 0.34), gap: await colours(page, device, 0.92, 0.98), host: await colours(page, thread, 0.3, 0.6),
    wait: await colours(page, thread, 0.05, 0.1, 2),
};
await picture(page, "overview-light-1440x900");
result.find = await findZone(page, "load_batch");
result.range = await selectRange(page);
result.ops = await sortOps(page);
result.keys = await keys(page);
result.share = await share(page);
result.hostile = await page.evaluate(() => ({ images: document.images.length, ran: window.ran === true, text: document.body.textContent.includes("\u202e") }));
for (const panel of ["timeline", "ops", "zones", "flame", "messages", ...(isFile ? [] : ["overhead"])]) {
    await page.goto("about:blank");
    page.pending.clear();
    await page.goto(`${url}#${panel}`);
    await page.waitForSelector(".stage");
    await drawn(page);
    if (panel === "overhead") {
        await page.waitForSelector(".stage tbody tr");
        const rows = await page.$$eval(".stage tbody tr", (all) => all.map((row) => [...row.children].map((cell) => cell.textContent.replace(/\u00a0/g, " "))));
        result.overhead = { head: await text(page, ".stage .panel-head b"), rows };
    }
    await picture(page, `${panel}-light-1440x900`);
}
for (const [width, height, theme] of [[1280, 720, "dark"], [1920, 1080, "light"], [420, 900, "light"]]) {
    const sized = await open(url, width, height, theme);
    (result.sizes ??= []).push({ width, overflow: await sized.evaluate(() => document.documentElement.scrollWidth > innerWidth) });
    await picture(sized, `overview-${theme}-${width}x${height}`);
    await sized.close();
}
if (several) {
    result.compare = await compareTraces();
    result.estimate = await compareEstimate();
    result.overlay = await overlayEstimate();
    result.compareSizes = await compareSizes();
}
await browser.close();
console.log(JSON.stringify({ ...result, ...seen }));
