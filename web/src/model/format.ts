// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them: three significant digits and the unit that fits, exact values on demand.

export const NBSP = "\u00a0";
const MINUS = "\u2212";

/** A number and its unit apart, so that a table can give the unit a slot of its own. */
export interface Figure {
    value: string;
    unit: string;
}

function digits(value: number, significant: number): string {
    const size = Math.abs(value);
    const whole = size >= 100 ? 3 : size >= 10 ? 2 : 1;
    const text = value.toFixed(Math.max(0, significant - whole));
    // 99.96 has one decimal too many once it is rounded to 100.
    return Math.abs(Number(text)) >= Math.pow(10, whole) ? value.toFixed(Math.max(0, significant - whole - 1)) : text;
}

function scaled(value: number, units: readonly string[], base: number, significant: number): Figure {
    let at = 0;
    let size = value;
    while (at + 1 < units.length && Math.abs(Number(digits(size, significant))) >= base) {
        size /= base;
        at++;
    }
    return { value: digits(size, significant), unit: units[at] ?? "" };
}

export function group(count: number): string {
    return Math.round(count).toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

function longDuration(seconds: number): Figure {
    const whole = Math.round(seconds);
    if (whole < 3600) {
        const rest = whole % 60;
        return { value: `${Math.floor(whole / 60)}${NBSP}min${rest ? ` ${rest}` : ""}`, unit: rest ? "s" : "" };
    }
    if (whole < 86400) {
        const minutes = Math.floor((whole % 3600) / 60);
        return { value: `${Math.floor(whole / 3600)}${NBSP}h ${String(minutes).padStart(2, "0")}`, unit: "min" };
    }
    const hours = Math.floor((whole % 86400) / 3600);
    return { value: `${Math.floor(whole / 86400)}${NBSP}d ${hours}`, unit: "h" };
}

export function durationFigure(ns: number, significant = 3): Figure {
    if (!Number.isFinite(ns)) return { value: "–", unit: "" };
    if (ns === 0) return { value: "0", unit: "" };
    const sign = ns < 0 ? MINUS : "";
    const size = Math.abs(ns);
    if (size >= 59.95e9) {
        const long = longDuration(size / 1e9);
        return { value: sign + long.value, unit: long.unit };
    }
    if (size < 1000 && Number.isInteger(size)) return { value: sign + size, unit: "ns" };
    const figure = scaled(size, ["ns", "µs", "ms", "s"], 1000, significant);
    return { value: sign + figure.value, unit: figure.unit };
}

function joined(figure: Figure): string {
    return figure.unit ? figure.value + NBSP + figure.unit : figure.value;
}

export function duration(ns: number, significant = 3): string {
    return joined(durationFigure(ns, significant));
}

export function exactNs(ns: number): string {
    const whole = Math.round(ns);
    return `${whole < 0 ? MINUS : ""}${group(Math.abs(whole))}${NBSP}ns`;
}

export function percent(share: number): string {
    if (!Number.isFinite(share)) return "–";
    if (share === 0) return "0%";
    const value = Math.abs(share) * 100;
    const sign = share < 0 ? MINUS : "";
    if (value < 0.1) return `<${sign}0.1%`;
    if (value >= 99.95 && value < 100) return `>${sign}99.9%`; // not all of it
    const text = value.toFixed(1);
    return `${sign}${Number(text) >= 10 ? value.toFixed(0) : text}%`;
}

/** Shares of a partition with one decimal each, rounded by largest remainder so that they add up to 100.0. */
export function partitionPercents(parts: readonly number[]): string[] {
    const total = parts.reduce((sum, part) => sum + part, 0);
    if (!(total > 0)) return parts.map(() => "–");
    const exact = parts.map((part) => (part / total) * 1000);
    const tenths = exact.map(Math.floor);
    let missing = 1000 - tenths.reduce((sum, part) => sum + part, 0);
    const order = exact.map((value, index) => ({ index, rest: value - Math.floor(value) }));
    order.sort((a, b) => b.rest - a.rest || a.index - b.index);
    for (const { index } of order) {
        if (missing <= 0) break;
        tenths[index] = (tenths[index] ?? 0) + 1;
        missing--;
    }
    return tenths.map((tenth, index) => {
        if (tenth === 0 && (parts[index] ?? 0) > 0) return "<0.1%";
        if (tenth === 1000 && (parts[index] ?? 0) < total) return ">99.9%";
        return `${Math.floor(tenth / 10)}.${tenth % 10}%`;
    });
}

export function bytesFigure(bytes: number): Figure {
    if (bytes < 1024) return { value: group(bytes), unit: "B" };
    return scaled(bytes, ["B", "KiB", "MiB", "GiB", "TiB"], 1024, 3);
}

export function bytes(count: number): string {
    return joined(bytesFigure(count));
}

/** A plain quantity: 3 significant digits, k M G T after it from ten thousand on. */
export function quantity(value: number): string {
    if (value === 0) return "0";
    if (Math.abs(value) < 10000) return Number.isInteger(value) ? group(value) : digits(value, 3);
    const figure = scaled(value, ["", "k", "M", "G", "T"], 1000, 3);
    return figure.value + (figure.unit ? NBSP + figure.unit : "");
}

export function difference(ns: number, base: number): string {
    const sign = ns < 0 ? MINUS : "+";
    const share = base > 0 ? ` (${sign}${percent(Math.abs(ns) / base)})` : "";
    return `${sign}${duration(Math.abs(ns))}${share}`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
    return `${group(count)}${NBSP}${count === 1 ? one : many}`;
}

/** Millions for large counts of zones: "31.0 M zones". */
export function manyOf(count: number, one: string): string {
    return count < 1e6 ? plural(count, one) : `${quantity(count)} ${one}s`;
}

const STEPS = [1, 2, 5];

const MINUTE = 60e9;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LONG_STEPS = [MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 5 * DAY, 10 * DAY];

/** The distance between ticks, at least `least` ns: 1, 2 or 5 times a power of ten; from half a minute on what clocks have. */
export function tickStep(least: number): number {
    if (least > MINUTE / 2) return LONG_STEPS.find((step) => step >= least) ?? Math.ceil(least / (10 * DAY)) * 10 * DAY;
    const power = Math.pow(10, Math.floor(Math.log10(Math.max(least, 1))));
    for (const step of STEPS) if (step * power >= least) return Math.max(1, step * power);
    return Math.max(1, 10 * power);
}

/** "2 d 06 h", "3 h 15 min", "5 min": whole minutes, without what is 0 at their end. */
function longTick(time: number): string {
    if (time < 0) return `-${longTick(-time)}`;
    const minutes = Math.round(time / MINUTE);
    const [days, hours, rest] = [Math.floor(minutes / 1440), Math.floor((minutes % 1440) / 60), minutes % 60];
    const parts = [days ? `${days}${NBSP}d` : "", hours || (days && rest) ? `${hours}${NBSP}h` : "", rest ? `${rest}${NBSP}min` : ""].filter(Boolean);
    return parts.join(NBSP) || "0";
}

/** A tick's label: as many decimals as the distance of the ticks needs, in the unit of `largest`. */
export function tickLabel(time: number, step: number, largest: number): string {
    if (step >= MINUTE) return longTick(time);
    const units: [number, string][] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
    const [size, unit] = units.find(([u]) => largest >= u) ?? [1, "ns"];
    const decimals = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / size) - 1e-9)));
    const text = (time / size).toFixed(decimals);
    const [whole = "", rest] = text.split(".");
    return `${whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",")}${rest ? `.${rest}` : ""}${NBSP}${unit}`;
}

/** "2 d 3:14:05.120", the base that the ruler pins when its labels would need more than six digits. */
export function clockBase(ns: number): string {
    const seconds = Math.floor(ns / 1e9);
    const days = Math.floor(seconds / 86400);
    const hours = Math.floor((seconds % 86400) / 3600);
    const minutes = Math.floor((seconds % 3600) / 60);
    const two = (value: number) => String(value).padStart(2, "0");
    const millis = String(Math.floor((ns % 1e9) / 1e6)).padStart(3, "0");
    return `${days ? `${days}${NBSP}d ` : ""}${hours}:${two(minutes)}:${two(seconds % 60)}.${millis}`;
}

/** Reads "51.2ms", "303778123", "1.5s"; NaN when it is none of these. */
export function parseTime(text: string): number {
    const match = /^(-?\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s|min|h)?$/.exec(text.trim());
    if (!match) return NaN;
    const factor = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9, min: 60e9, h: 3600e9 }[match[2] ?? "ns"] ?? 1;
    return Math.round(Number(match[1]) * factor);
}
