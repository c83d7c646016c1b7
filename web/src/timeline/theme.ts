// SPDX-License-Identifier: Apache-2.0
// The tokens of app.css as numbers, for what is drawn on canvases.
import { css, DENSITY_STRENGTHS, INK, labelOn, mix, PAPER, parseColour, pixel, type Rgb } from "../model/colour";
import { STEP_COLOURS, STEPS_DEVICE, STEPS_ESTIMATE, STEPS_HOST, STEPS_UNKNOWN, STEPS_WAIT, type Palette } from "./raster";

const TOKENS = [
    "bg", "panel", "hover", "line", "line2", "grid", "tx", "tx2", "tx3", "acc", "accbg", "work", "gap", "gapbg", "gaptx",
    "wait", "loss", "lossbg", "est", "host", "none", "idle",
] as const;
type Token = (typeof TOKENS)[number];

export interface Theme {
    dark: boolean;
    forced: boolean;
    rgb: Record<Token, Rgb>;
    css: Record<Token, string>;
    names: Rgb[];
    font: string;
}

export const PALE = 0.4;
export const OPEN = 0.6;

export function readTheme(): Theme {
    const root = document.documentElement;
    const probe = document.createElement("span");
    root.append(probe);
    const read = (name: string): Rgb => {
        probe.style.color = `var(--${name})`;
        return parseColour(getComputedStyle(probe).color);
    };
    const rgb = Object.fromEntries(TOKENS.map((name) => [name, read(name)])) as Record<Token, Rgb>;
    const texts = Object.fromEntries(TOKENS.map((name) => [name, css(rgb[name])])) as Record<Token, string>;
    const names = Array.from({ length: 10 }, (_, index) => read(`n${index}`));
    probe.remove();
    const dark = (rgb.panel[0] + rgb.panel[1] + rgb.panel[2]) / 3 < 128;
    const forced = matchMedia("(forced-colors: active)").matches;
    return { dark, forced, rgb, css: texts, names, font: getComputedStyle(document.body).fontFamily };
}

export function fillOf(theme: Theme, colour: number, pale: boolean): Rgb {
    const full = theme.names[colour] ?? theme.rgb.none;
    return pale ? mix(full, theme.rgb.panel, PALE) : full;
}

export function labelColour(theme: Theme, colour: number, pale: boolean): string {
    if (theme.forced) return theme.css.tx;
    if (pale) return css(theme.dark ? PAPER : INK);
    return css(labelOn(fillOf(theme, colour, false)));
}

export function buildPalette(theme: Theme): Palette {
    const { rgb } = theme;
    const fills = new Uint32Array(20);
    const edges = new Uint32Array(20);
    const open = new Uint32Array(20);
    const steps = new Uint32Array(STEP_COLOURS);
    const addSteps = (at: number, colour: Rgb) => {
        DENSITY_STRENGTHS.forEach((strength, step) => (steps[at + step] = pixel(mix(colour, rgb.panel, strength))));
    };
    for (let index = 0; index < 20; index++) {
        const fill = fillOf(theme, index % 10, index >= 10);
        fills[index] = pixel(fill);
        edges[index] = pixel(mix(INK, fill, 0.2));
        open[index] = pixel(mix(fill, rgb.panel, OPEN));
        addSteps(index * 4, theme.forced ? rgb.tx : fill);
    }
    addSteps(STEPS_WAIT, mix(rgb.wait, rgb.idle, 0.5));
    addSteps(STEPS_DEVICE, mix(rgb.work, rgb.bg, 0.62));
    addSteps(STEPS_HOST, mix(rgb.host, rgb.bg, 0.62));
    addSteps(STEPS_UNKNOWN, rgb.none);
    addSteps(STEPS_ESTIMATE, mix(rgb.est, rgb.panel, 0.5));
    return {
        fills, edges, open, steps,
        gap: pixel(mix(rgb.gap, rgb.gapbg, 0.6)),
        gapBack: pixel(rgb.gapbg),
        wait: pixel(mix(rgb.wait, rgb.idle, 0.6)),
        waitBack: pixel(rgb.idle),
        estimate: pixel(rgb.est),
        unknown: pixel(mix(rgb.none, rgb.panel, 0.5)),
        panel: pixel(rgb.panel),
        outline: theme.forced ? pixel(rgb.tx) : null,
    };
}
