// SPDX-License-Identifier: Apache-2.0
// Looks for what a person would see at once on a page that is shown: text that is cut or overlapped, too small or too weak,
// and a page that scrolls sideways. Runs inside the page, so it uses nothing from outside of itself.

export function findFaults() {
    const LEAST_FONT = 11;
    const LEAST_CONTRAST = 4.5;
    const faults = new Set();
    const seen = [];

    const rgba = (text) => {
        const parts = (text.match(/[\d.]+(?:e-?\d+)?/g) ?? []).map(Number);
        const scale = text.startsWith("color(") ? 255 : 1;
        return { r: parts[0] * scale, g: parts[1] * scale, b: parts[2] * scale, a: parts[3] ?? 1 };
    };
    const luminance = ({ r, g, b }) => {
        const linear = (value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
        return 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
    };
    const contrast = (one, other) => {
        const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a);
        return (high + 0.05) / (low + 0.05);
    };
    const backOf = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const back = rgba(getComputedStyle(at).backgroundColor);
            if (back.a > 0.99) return back;
        }
        return { r: 255, g: 255, b: 255 };
    };
    const opacityOf = (element) => {
        let all = 1;
        for (let at = element; at; at = at.parentElement) all *= Number(getComputedStyle(at).opacity);
        return all;
    };
    const say = (kind, element, text) => faults.add(`${kind}: '${text.trim().slice(0, 60)}' in ${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""}`);

    /** The part of a text that is seen: what cuts it off is an ancestor that neither scrolls nor writes "…". */
    const isCut = (element, box) => {
        for (let at = element; at && at !== document.body; at = at.parentElement) {
            const style = getComputedStyle(at);
            if (style.position === "fixed") return false;
            const edge = at.getBoundingClientRect();
            const out = (over, before, after) => over !== "visible" && (before > 2 || after > 2);
            const scrolls = (over) => over === "auto" || over === "scroll";
            if (scrolls(style.overflowX) || scrolls(style.overflowY)) return false;
            if (at.closest("[data-scrolled]")) return false;
            if (out(style.overflowY, edge.top - box.top, box.bottom - edge.bottom)) return true;
            if (style.textOverflow !== "ellipsis" && out(style.overflowX, edge.left - box.left, box.right - edge.right)) return true;
            if (style.textOverflow === "ellipsis" && style.overflowX !== "visible") return false;
        }
        return false;
    };
    /** What of a text lies inside everything around it, for the search of overlaps. */
    const visible = (element, box) => {
        let { left, top, right, bottom } = box;
        for (let at = element; at && at !== document.body; at = at.parentElement) {
            if (getComputedStyle(at).overflow === "visible") continue;
            const edge = at.getBoundingClientRect();
            [left, top, right, bottom] = [Math.max(left, edge.left), Math.max(top, edge.top), Math.min(right, edge.right), Math.min(bottom, edge.bottom)];
        }
        return right - left > 2 && bottom - top > 4 && right > 0 && bottom > 0 && left < innerWidth && top < innerHeight ? { left, top, right, bottom } : null;
    };

    const walker = document.createTreeWalker(document.getElementById("page"), NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const element = node.parentElement;
        const text = node.data;
        if (!text.trim() || element.closest(".unseen, title, option, .menu, .tip")) continue;
        if (!element.checkVisibility?.({ visibilityProperty: true })) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        for (const box of range.getClientRects()) {
            if (box.width < 1) continue;
            const style = getComputedStyle(element);
            if (parseFloat(style.fontSize) < LEAST_FONT) say("small", element, text);
            const part = visible(element, box);
            if (!part) continue;
            if (isCut(element, box)) say("cut", element, text);
            const inChart = element.closest("svg") !== null;
            const colour = rgba(inChart ? style.fill : style.color);
            if (opacityOf(element) > 0.95 && contrast(colour, backOf(element)) < LEAST_CONTRAST) {
                say(`contrast ${contrast(colour, backOf(element)).toFixed(1)}`, element, text);
            }
            seen.push({ element, text, ...part, over: element.closest(".help, .results, .hint, thead, .foot, [data-over]") });
        }
    }
    for (let a = 0; a < seen.length; a++) {
        for (let b = a + 1; b < seen.length; b++) {
            const [one, two] = [seen[a], seen[b]];
            if (one.over !== two.over || one.element === two.element) continue;
            const wide = Math.min(one.right, two.right) - Math.max(one.left, two.left);
            const tall = Math.min(one.bottom, two.bottom) - Math.max(one.top, two.top);
            if (wide > 2 && tall > 5) say(`overlaps '${two.text.trim().slice(0, 40)}'`, one.element, one.text);
        }
    }
    if (document.documentElement.scrollWidth > innerWidth) faults.add(`sideways: the page is ${document.documentElement.scrollWidth} wide in ${innerWidth}`);
    return [...faults];
}
