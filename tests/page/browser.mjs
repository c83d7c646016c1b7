// SPDX-License-Identifier: Apache-2.0
// A headless Chromium for the drivers of the page: opens pages, and waits until what they asked for is painted.
import { createRequire } from "node:module";
import { join } from "node:path";

export async function launch(packageFolder, chromium) {
    const puppeteer = createRequire(join(packageFolder, "package.json"))(packageFolder);
    return puppeteer.launch({
        executablePath: chromium,
        args: ["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb", "--hide-scrollbars"],
    });
}

/** Waits until every answer is there and what it brought is painted. */
export async function settled(page) {
    const end = Date.now() + 60000;
    for (let quiet = 0; quiet < 3;) {
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 20)))));
        const drawing = await page.$("canvas[data-drawing]");
        quiet = page.pending.size === 0 && !drawing ? quiet + 1 : 0;
        if (Date.now() > end) throw new Error(`no answer${drawing ? ", not drawn" : ""}: ${[...page.pending].map((request) => request.url()).join(" ")}`);
    }
}

/** The fragment of the address once it has this in it: some of it is written a moment later. */
export async function fragment(page, part) {
    await page.waitForFunction((wanted) => location.hash.includes(wanted), {}, part);
    return page.evaluate(() => location.hash);
}

/** A page that counts what it waits for, and collects what its scripts complain of in `problems`. */
export async function newPage(browser, { width = 1440, height = 900, scale = 1, theme = "light", features = {}, vision, media = "", firstVisit = false } = {}) {
    const page = await browser.newPage();
    page.setDefaultTimeout(60000);
    page.pending = new Set();
    page.problems = [];
    // Chromium's own (data:, a filter for how colours are seen) may have no end.
    page.on("request", (request) => request.url().startsWith("data:") || page.pending.add(request));
    for (const ended of ["requestfinished", "requestfailed"]) page.on(ended, (request) => page.pending.delete(request));
    page.on("pageerror", (error) => page.problems.push(`script: ${error}`));
    page.on("console", (message) => message.type() === "error" && page.problems.push(`console: ${message.text()}`));
    await page.setViewport({ width, height, deviceScaleFactor: scale });
    const asked = Object.entries({ "prefers-color-scheme": theme, ...features }).map(([name, value]) => ({ name, value }));
    await (await page.createCDPSession()).send("Emulation.setEmulatedMedia", { media, features: asked });
    if (vision) await page.emulateVisionDeficiency(vision);
    if (!firstVisit) await page.evaluateOnNewDocument(() => location.protocol.startsWith("http") && localStorage.setItem("opscope.seen", "1"));
    return page;
}

export const text = (page, selector) => page.$eval(selector, (element) => element.textContent.replace(/\u00a0/g, " "));
export const texts = (page, selector) => page.$$eval(selector, (all) => all.map((one) => one.textContent.replace(/\u00a0/g, " ")));
