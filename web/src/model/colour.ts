// SPDX-License-Identifier: Apache-2.0
// Colours as numbers. The values themselves are in app.css; here is how they are mixed and measured.

export type Rgb = readonly [number, number, number];

export function parseColour(text: string): Rgb {
    const hex = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(text.trim())?.[1];
    if (hex) {
        const full = hex.length === 3 ? hex.replace(/./g, "$&$&") : hex;
        const value = parseInt(full, 16);
        return [value >> 16, (value >> 8) & 255, value & 255];
    }
    const parts = /^rgba?\(([^)]*)\)/.exec(text.trim())?.[1]?.split(/[\s,/]+/).map(Number);
    return parts && parts.length >= 3 ? [parts[0] ?? 0, parts[1] ?? 0, parts[2] ?? 0] : [128, 128, 128];
}

/** `over` laid on `under` with the given strength, 0 … 1. */
export function mix(over: Rgb, under: Rgb, strength: number): Rgb {
    const at = (index: 0 | 1 | 2) => Math.round(under[index] + (over[index] - under[index]) * strength);
    return [at(0), at(1), at(2)];
}

export function css(colour: Rgb): string {
    return `rgb(${colour[0]},${colour[1]},${colour[2]})`;
}

/** As a pixel of little-endian RGBA memory. */
export function pixel(colour: Rgb, alpha = 255): number {
    return ((alpha << 24) | (colour[2] << 16) | (colour[1] << 8) | colour[0]) >>> 0;
}

function linear(channel: number): number {
    const value = channel / 255;
    return value <= 0.04045 ? value / 12.92 : Math.pow((value + 0.055) / 1.055, 2.4);
}

export function luminance(colour: Rgb): number {
    return 0.2126 * linear(colour[0]) + 0.7152 * linear(colour[1]) + 0.0722 * linear(colour[2]);
}

/** WCAG 2 contrast ratio. */
export function contrast(a: Rgb, b: Rgb): number {
    const [x, y] = [luminance(a), luminance(b)];
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

export const INK: Rgb = [0x0d, 0x11, 0x17];
export const PAPER: Rgb = [255, 255, 255];

/** Ink or paper, whichever is easier to read on it. */
export function labelOn(fill: Rgb): Rgb {
    return contrast(fill, INK) >= 4.5 || contrast(fill, INK) >= contrast(fill, PAPER) ? INK : PAPER;
}

/** Strength with which a cell is painted, by the share of it that is covered: four steps. */
export const DENSITY_STRENGTHS = [0.36, 0.56, 0.78, 1] as const;

export function densityStep(coverage: number): 0 | 1 | 2 | 3 {
    return coverage > 0.8 ? 3 : coverage > 0.5 ? 2 : coverage > 0.25 ? 1 : 0;
}
