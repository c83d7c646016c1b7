// SPDX-License-Identifier: Apache-2.0
// A flame graph that is drawn already: click to zoom, hover for figures, search; as wide as its window.
(() => {
    "use strict";
    const svg = document.currentScript.closest("svg");
    const drawn = svg.viewBox.baseVal.width;
    const height = svg.viewBox.baseVal.height;
    const detail = svg.querySelector(".detail");
    const found = svg.querySelector(".found");
    const field = svg.querySelector("input");
    const LETTER = 6.6, NARROWEST = 0.3, CLOSE = 1e-3;

    // in the order of the file: a frame before those below it
    const open = [];
    const frames = [...svg.querySelectorAll(".f")].map((g) => {
        const rect = g.querySelector("rect");
        const said = g.querySelector("title").textContent.split("\n");
        const frame = {
            g, rect, text: g.querySelector("text"), name: said[0], said: said.join("   "), parent: null, children: [],
            x: Number(rect.getAttribute("x")), width: Number(rect.getAttribute("data-w")), y: Number(rect.getAttribute("y")),
        };
        while (open.length && open[open.length - 1].y >= frame.y) open.pop();
        frame.parent = open[open.length - 1] || null;
        if (frame.parent) frame.parent.children.push(frame);
        open.push(frame);
        return frame;
    });
    if (!frames.length) return;
    const root = frames[0];
    const byElement = new Map(frames.map((frame) => [frame.g, frame]));
    let zoomed = root;

    function label(frame, width) {
        const letters = Math.floor((width - 8) / LETTER);
        const name = frame.name;
        return letters < 3 ? "" : name.length <= letters ? name : name.slice(0, letters - 1) + "\u2026";
    }

    function draw() {
        const wide = svg.clientWidth || drawn;
        const scale = wide / zoomed.width;
        const above = new Set();
        for (let frame = zoomed.parent; frame; frame = frame.parent) above.add(frame);
        svg.setAttribute("viewBox", `0 0 ${wide} ${height}`);
        svg.setAttribute("height", height);
        svg.querySelectorAll(".right").forEach((part) => part.setAttribute("x", wide - Number(part.dataset.right)));
        for (const frame of frames) {
            const isAbove = above.has(frame);
            const x = isAbove ? 0 : (frame.x - zoomed.x) * scale;
            const width = isAbove ? wide : frame.width * scale;
            const isShown = isAbove || (frame.y >= zoomed.y && x > -CLOSE * wide && x + width < wide * (1 + CLOSE) && width >= NARROWEST);
            frame.g.style.display = isShown ? "" : "none";
            if (!isShown) continue;
            frame.rect.setAttribute("x", x);
            frame.rect.setAttribute("width", Math.max(width - 0.5, NARROWEST));
            frame.text.setAttribute("x", x + 4);
            frame.text.textContent = label(frame, width);
        }
    }

    function zoom(frame) {
        zoomed = frame;
        draw();
        say(frame);
    }

    function say(frame) {
        detail.textContent = frame ? frame.said : zoomed.said;
    }

    function frameOf(event) {
        const g = event.target.closest ? event.target.closest(".f") : null;
        return g ? byElement.get(g) : null;
    }

    // the share of what matches: of frames one inside of the other the outer one counts
    function search() {
        const wanted = field.value.trim().toLowerCase();
        let sum = 0;
        let outer = null;
        svg.classList.toggle("searching", wanted !== "");
        for (const frame of frames) {
            const isHit = wanted !== "" && frame !== root && frame.name.toLowerCase().includes(wanted);
            frame.g.classList.toggle("hit", isHit);
            if (outer && !(frame.y > outer.y && frame.x < outer.x + outer.width - CLOSE)) outer = null;
            if (isHit && !outer) {
                outer = frame;
                sum += frame.width;
            }
        }
        found.textContent = wanted ? `${((100 * sum) / root.width).toFixed(1)}% matches` : "";
    }

    function neighbour(frame, step) {
        const row = frame.parent ? frame.parent.children : [frame];
        return row[row.indexOf(frame) + step];
    }

    function onKey(event) {
        if (event.target === field) {
            if (event.key === "Escape") {
                field.value = "";
                search();
                field.blur();
            }
            return;
        }
        const frame = frameOf(event) || zoomed;
        const next = { ArrowDown: frame.children[0], ArrowUp: frame.parent, ArrowLeft: neighbour(frame, -1), ArrowRight: neighbour(frame, 1) }[event.key];
        if (next && next.g.style.display !== "none") {
            next.g.focus();
            say(next);
        } else if (event.key === "Enter" || event.key === " ") {
            zoom(frame);
        } else if (event.key === "Escape") {
            zoom(root);
        } else if (event.key === "/" && field) {
            field.focus();
        } else {
            return;
        }
        event.preventDefault();
    }

    svg.addEventListener("click", (event) => {
        const frame = frameOf(event);
        if (frame) zoom(frame === zoomed && frame.parent ? frame.parent : frame);
    });
    svg.addEventListener("pointermove", (event) => say(frameOf(event)));
    svg.addEventListener("pointerleave", () => say(null));
    svg.addEventListener("keydown", onKey);
    if (svg === document.documentElement) document.addEventListener("keydown", (event) => event.target === svg || svg.contains(event.target) || onKey(event));
    if (field) field.addEventListener("input", search);
    window.addEventListener("resize", draw);
    svg.classList.add("live");
    draw();
    say(null);
})();
