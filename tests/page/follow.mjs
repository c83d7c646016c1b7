// SPDX-License-Identifier: Apache-2.0
// A headless Chromium on the page of `opscope view`, which gets its commands line by line, so that a test can let the recorded
// program go on in between. Each line is a JSON array; each answer one line of JSON.
//   node follow.mjs PUPPETEER_FOLDER CHROMIUM SCREENSHOT_FOLDER
//   ["open", URL]  ["wait", SELECTOR, PATTERN]: the text, once it matches  ["click", SELECTOR, TEXT]  ["press", KEY]
//   ["ask", SCRIPT]: its value  ["until", SCRIPT]: waits until it is true  ["picture", NAME]
import { createRequire } from "node:module";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [packageFolder, chromium, pictures] = process.argv.slice(2);
const puppeteer = createRequire(join(packageFolder, "package.json"))(packageFolder);
mkdirSync(pictures, { recursive: true });
const browser = await puppeteer.launch({
    executablePath: chromium,
    args: ["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb", "--hide-scrollbars"],
});
const page = await browser.newPage();
page.setDefaultTimeout(120000);
await page.setViewport({ width: 1440, height: 900 });
await page.evaluateOnNewDocument(() => location.protocol.startsWith("http") && localStorage.setItem("opscope.seen", "1"));

const commands = {
    async open(url) {
        await page.goto(url);
    },
    async wait(selector, pattern) {
        const read = (wanted, source) => {
            const found = [...document.querySelectorAll(wanted)].map((one) => one.textContent.replace(/\u00a0/g, " "));
            return found.find((text) => new RegExp(source).test(text)) ?? false;
        };
        return (await page.waitForFunction(read, { polling: 50 }, selector, pattern)).jsonValue();
    },
    async click(selector, text) {
        const press = (wanted, label) => {
            const button = [...document.querySelectorAll(wanted)].find((one) => one.textContent.includes(label));
            button?.click();
            return !!button;
        };
        await page.waitForFunction(press, { polling: 50 }, selector, text);
    },
    async press(key) {
        await page.keyboard.press(key);
    },
    async ask(script) {
        return page.evaluate(script);
    },
    async until(script) {
        await page.waitForFunction(script, { polling: 50 });
    },
    async size(width, height) {
        await page.setViewport({ width, height });
    },
    async picture(name) {
        await page.screenshot({ path: join(pictures, `${name}.png`) });
    },
};

for await (const line of createInterface({ input: process.stdin })) {
    const [name, ...values] = JSON.parse(line);
    try {
        console.log(JSON.stringify({ value: (await commands[name](...values)) ?? null }));
    } catch (error) {
        const shown = await page.evaluate(() => document.body.innerText).catch(() => "");
        console.log(JSON.stringify({ error: `${line}: ${error}`, shown }));
    }
}
await browser.close();
