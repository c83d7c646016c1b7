// SPDX-License-Identifier: Apache-2.0
// How soon the page of `opscope view` shows zones, and how many frames a second it draws while it is panned.
//   node page_speed.mjs PUPPETEER_FOLDER CHROMIUM URL LENGTH_NS
// Prints {"paint_ms", "frames_per_s", "slow_frame_ms"} as JSON: from the start of the navigation until coloured zones are on the
// stage; the mean over PAN_MS of panning at a twentieth of the trace; and the 95th percentile of the time between two frames.
import { launch, newPage, settled } from "../tests/page/browser.mjs";

const [packageFolder, chromium, url, length] = process.argv.slice(2);
const PAN_MS = 3000;
const STEP_PX = 14;
const browser = await launch(packageFolder, chromium);

/** Notes when the stage first has pixels that are neither ground nor grid. */
function watchPaint() {
    const isPainted = (canvas) => {
        const { width, height } = canvas;
        const context = canvas.getContext("2d");
        for (let y = 8; y < height; y += 9) {
            const { data } = context.getImageData(0, y, width, 1);
            let coloured = 0;
            for (let at = 0; at < data.length; at += 16) {
                if (Math.max(data[at], data[at + 1], data[at + 2]) - Math.min(data[at], data[at + 1], data[at + 2]) > 32) coloured++;
            }
            if (coloured > 8) return true;
        }
        return false;
    };
    const look = () => {
        const canvas = document.querySelector(".plot canvas");
        if (canvas && canvas.width > 1 && isPainted(canvas)) window.paintedAt = performance.now();
        else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
}

/** Pans by the wheel in every frame; the times between frames. */
function pan(step, during) {
    const stage = document.querySelector("[data-stage]");
    const box = stage.getBoundingClientRect();
    return new Promise((done) => {
        const times = [];
        let way = step;
        const move = (now) => {
            times.push(now);
            if (now - times[0] > during) return done(times.slice(1).map((time, index) => time - times[index]));
            if (times.length % 60 === 0) way = -way;
            stage.dispatchEvent(new WheelEvent("wheel", { deltaX: way, clientX: box.left + 100, clientY: box.top + 50, bubbles: true, cancelable: true }));
            requestAnimationFrame(move);
        };
        requestAnimationFrame(move);
    });
}

const page = await newPage(browser, { width: 1440, height: 900 });
await page.evaluateOnNewDocument(watchPaint);
await page.goto(url);
await page.waitForFunction(() => window.paintedAt > 0, { polling: 20 });
const paint = await page.evaluate(() => window.paintedAt);
await settled(page);
const panned = await newPage(browser, { width: 1440, height: 900 });
await panned.goto(`${url}#timeline&v=${Math.round(length * 0.4)}ns..${Math.round(length * 0.45)}ns`);
await panned.waitForSelector("#frame");
await settled(panned);
const between = (await panned.evaluate(pan, STEP_PX, PAN_MS)).sort((a, b) => a - b);
const sum = between.reduce((all, time) => all + time, 0);
console.log(JSON.stringify({ paint_ms: paint, frames_per_s: (between.length * 1000) / sum, slow_frame_ms: between[Math.floor(between.length * 0.95)] ?? 0 }));
await browser.close();
