// SPDX-License-Identifier: Apache-2.0
// The view as a picture: what is on the page, with its styles, inside of SVG; from that PNG of twice the size. A caption
// says which trace, which window and which version.
import { duration } from "../model/format";
import * as state from "../model/state";
import { baseName, save } from "./share";

const CAPTION = 28;
const SCALE = 2;

/** As they were written: rules that a browser writes back have lost shorthands with variables. */
async function styles(): Promise<string> {
    const parts = [...document.querySelectorAll("style, link[rel=stylesheet]")].map(async (part) =>
        part instanceof HTMLLinkElement ? (await fetch(part.href)).text() : part.textContent ?? "");
    return `${(await Promise.all(parts)).join("\n")}\n* { scrollbar-width: none; }`;
}

/** What is drawn on a canvas; one that a worker draws on cannot be asked itself. */
function drawnOn(canvas: HTMLCanvasElement): string {
    const copy = document.createElement("canvas");
    copy.width = canvas.width;
    copy.height = canvas.height;
    if (canvas.width && canvas.height) copy.getContext("2d")?.drawImage(canvas, 0, 0);
    return copy.toDataURL();
}

/** A copy that looks the same: canvases are images, what is scrolled is moved, fields have their text. */
function copyOf(source: Element): Element {
    const copy = source.cloneNode(false) as Element;
    if (source instanceof HTMLCanvasElement) {
        const image = document.createElement("img");
        const { width, height } = source.getBoundingClientRect();
        image.src = drawnOn(source);
        image.className = source.className;
        image.style.cssText = source.style.cssText; // the policy of the page allows no style attributes, but this
        [image.style.width, image.style.height] = [`${width}px`, `${height}px`];
        return image;
    }
    if (source instanceof HTMLInputElement) copy.setAttribute("value", source.value);
    for (const child of source.childNodes) {
        if (child instanceof Element ? child.matches(".menu, script") : child.nodeType !== Node.TEXT_NODE) continue;
        copy.append(child instanceof Element ? copyOf(child) : child.cloneNode());
    }
    if (source.scrollTop || source.scrollLeft) {
        for (const child of copy.children) {
            if (child instanceof HTMLElement) child.style.translate = `${-source.scrollLeft}px ${-source.scrollTop}px`;
        }
    }
    return copy;
}

function caption(): string {
    const { from, to } = state.view.peek();
    return `${baseName()}, ${duration(from, 5)} to ${duration(to, 5)}, opscope ${state.version.peek()}`;
}

async function viewAsSvg(): Promise<string> {
    const css = await styles();
    const space = "http://www.w3.org/2000/svg";
    const [width, height] = [innerWidth, innerHeight];
    const svg = document.createElementNS(space, "svg");
    const inside = document.createElementNS(space, "foreignObject");
    const style = document.createElement("style");
    const body = document.createElement("body");
    const line = document.createElement("p");
    const theme = document.documentElement.dataset["theme"];
    for (const [name, value] of [["width", width], ["height", height + CAPTION], ["viewBox", `0 0 ${width} ${height + CAPTION}`]]) svg.setAttribute(`${name}`, `${value}`);
    if (theme) svg.setAttribute("data-theme", theme);
    inside.setAttribute("width", `${width}`);
    inside.setAttribute("height", `${height + CAPTION}`);
    style.textContent = css;
    [body.style.width, body.style.height] = [`${width}px`, `${height + CAPTION}px`];
    const page = copyOf(document.getElementById("page") as HTMLElement) as HTMLElement;
    page.style.height = `${height}px`;
    line.className = "t2";
    line.style.margin = "5px 12px";
    line.textContent = caption();
    body.append(style, page, line);
    inside.append(body);
    svg.append(inside);
    return new XMLSerializer().serializeToString(svg);
}

export async function saveSvg(): Promise<void> {
    save(`${baseName()}.svg`, new Blob([await viewAsSvg()], { type: "image/svg+xml" }));
}

export async function savePng(): Promise<void> {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(await viewAsSvg())}`;
    await image.decode();
    const out = document.createElement("canvas");
    out.width = SCALE * image.width;
    out.height = SCALE * image.height;
    out.getContext("2d")?.drawImage(image, 0, 0, out.width, out.height);
    out.toBlob((blob) => blob && save(`${baseName()}.png`, blob));
}
