// SPDX-License-Identifier: Apache-2.0
// Takes along what the share menu of the page offers, and prints what it got as JSON. A page of our own stands in for Perfetto's:
// nothing here leaves the machine.
//   node take.mjs PUPPETEER_FOLDER CHROMIUM URL FOLDER
import { createRequire } from "node:module";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [packageFolder, chromium, url, folder] = process.argv.slice(2);
const puppeteer = createRequire(join(packageFolder, "package.json"))(packageFolder);
mkdirSync(folder, { recursive: true });
const seen = { console: [], saved: {} };
const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb", "--hide-scrollbars"] });
const page = await browser.newPage();
page.setDefaultTimeout(60000);
page.on("console", (message) => message.type() === "error" && seen.console.push(message.text()));
page.on("pageerror", (error) => seen.console.push(String(error)));
await page.setViewport({ width: 1280, height: 800 });
await page.evaluateOnNewDocument(() => {
    localStorage.setItem("opscope.seen", "1");
    const blobs = new Map();
    const create = URL.createObjectURL;
    window.saved = [];
    window.handed = [];
    URL.createObjectURL = (blob) => {
        const link = create.call(URL, blob);
        blobs.set(link, blob);
        return link;
    };
    HTMLAnchorElement.prototype.click = function () {
        window.saved.push({ name: this.download, blob: blobs.get(this.href) });
    };
    window.open = (address) => {
        window.opened = address;
        let asked = 0;
        return {
            postMessage(data, origin) {
                window.handed.push({ origin, data: typeof data === "string" ? data : { ...data.perfetto, buffer: data.perfetto.buffer.byteLength } });
                // the first question comes before the tab listens
                if (data === "PING" && ++asked === 2) {
                    dispatchEvent(new MessageEvent("message", { data: "PONG", origin: "https://elsewhere.example" }));
                    setTimeout(() => dispatchEvent(new MessageEvent("message", { data: "PONG", origin: new URL(address).origin })), 150);
                }
            },
        };
    };
});

async function ready() {
    await page.waitForSelector("#sentence");
    await page.waitForSelector("[role=treeitem]");
    await page.waitForNetworkIdle({ idleTime: 500 });
}

async function choose(label) {
    await page.click("[aria-label='Share or export']");
    await page.waitForSelector(".menu [role=menuitem]");
    const items = await page.$$(".menu [role=menuitem]");
    for (const item of items) {
        if ((await item.evaluate((one) => one.textContent)) === label) return item.click();
    }
    throw new Error(`no ${label} in the menu`);
}

/** The file that the choice saves. */
async function take(label) {
    await page.evaluate(() => (window.saved = []));
    await choose(label);
    await page.waitForFunction(() => window.saved.length === 1);
    const { name, type, data } = await page.evaluate(async () => {
        const { name, blob } = window.saved[0];
        const data = await new Promise((done) => {
            const reader = new FileReader();
            reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
            reader.readAsDataURL(blob);
        });
        return { name, type: blob.type, data };
    });
    const bytes = Buffer.from(data, "base64");
    writeFileSync(join(folder, name), bytes);
    seen.saved[label] = { name, type, size: bytes.length };
    return bytes;
}

/** Size of a picture, and how many colours are in it. */
function look(bytes, type) {
    return page.evaluate(async (data, kind) => {
        const image = new Image();
        image.src = `data:${kind};base64,${data}`;
        await image.decode();
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [image.width, image.height];
        const pen = canvas.getContext("2d");
        pen.drawImage(image, 0, 0);
        const pixels = new Uint32Array(pen.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
        return { width: image.width, height: image.height, colours: new Set(pixels).size };
    }, bytes.toString("base64"), type);
}

await page.goto(url);
await ready();
await page.click("[aria-label='Share or export']");
await page.waitForSelector(".menu [role=menuitem]");
seen.menu = await page.$$eval(".menu [role=menuitem]", (all) => all.map((one) => one.textContent));
await page.click("[aria-label='Share or export']");
seen.png = await look(await take("PNG of this view"), "image/png");
const svg = await take("SVG of this view");
seen.svg = await look(svg, "image/svg+xml");
seen.svgText = svg.toString("utf8").replace(/data:image\/png;base64,[^"]*/g, "data:");
await take("Perfetto trace of the window");
seen.flame = (await take("Flame graph of the window")).toString("utf8");
await choose("Open in Perfetto");
await page.waitForFunction(() => window.handed.some((one) => one.data !== "PING"));
seen.perfetto = await page.evaluate(() => ({ opened: window.opened, handed: window.handed }));
await browser.close();
console.log(JSON.stringify(seen));
