// SPDX-License-Identifier: Apache-2.0
// Names from a trace are foreign text: what could change the page around it is shown as an escape.

// Control characters, line and paragraph separators, and everything that turns the direction of writing.
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

function escapeCharacter(character: string): string {
    if (character === "\n") return "\\n";
    if (character === "\t") return "\\t";
    if (character === "\r") return "\\r";
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

export function safeText(text: string): string {
    return text.replace(UNSAFE, escapeCharacter);
}

function withoutTemplates(name: string): string {
    let out = "";
    let depth = 0;
    for (let at = 0; at < name.length; at++) {
        const c = name[at] as string;
        const before = name[at - 1] ?? "";
        if (depth > 0) {
            if (c === "<") depth++;
            else if (c === ">") depth--;
        } else if (c === "<" && /\w/.test(before) && name.indexOf(">", at) > 0) {
            depth = 1;
        } else {
            out += c;
        }
    }
    return depth === 0 ? out : name;
}

const NAMESPACES = /^(?:std|at::native|at|c10|tt::tt_metal|ttnn::operations(?:::\w+)*|\(anonymous namespace\))::/;

/** The name as a label shows it: without return type, template arguments, common namespaces. */
export function shortName(name: string): string {
    let text = withoutTemplates(name.replace(/^void\s+/, ""));
    if (/\boperator\b/.test(name)) text = name;
    for (let times = 0; times < 4 && NAMESPACES.test(text); times++) text = text.replace(NAMESPACES, "");
    text = text.replace(/DeviceOperation\b/, "").replace(/ unknown shape$/, "").replace(/(\d) x (?=\d)/g, "$1×").trim();
    return safeText(text || name);
}

export function capital(text: string): string {
    return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A path from the right: "…/nn/linear.py:114". */
export function shortPath(path: string, line?: number | null, parts = 2): string {
    const pieces = path.split("/").filter(Boolean);
    const short = pieces.length > parts ? `…/${pieces.slice(-parts).join("/")}` : path;
    return safeText(short) + (line ? `:${line}` : "");
}

export function fileName(path: string, line?: number | null): string {
    return safeText(path.replace(/\/+$/, "").split("/").pop() ?? path) + (line ? `:${line}` : "");
}

/** The name of a trace: while it is recorded its file has another ending. */
export function traceTitle(name: string): string {
    return fileName(name.replace(/\.partial$/, ""));
}

/** Matches "a*b" without regard to case; between slashes it is a regular expression; "" matches everything. */
export function matcher(pattern: string): (text: string) => boolean {
    const wanted = pattern.trim();
    if (!wanted) return () => true;
    if (wanted.length > 2 && wanted.startsWith("/") && wanted.endsWith("/")) {
        try {
            const expression = new RegExp(wanted.slice(1, -1), "i");
            return (text) => expression.test(text);
        } catch {
            return () => false;
        }
    }
    const pieces = wanted.toLowerCase().split("*");
    return (text) => {
        const lower = text.toLowerCase();
        let from = 0;
        for (const piece of pieces) {
            const at = lower.indexOf(piece, from);
            if (at < 0) return false;
            from = at + piece.length;
        }
        return true;
    };
}

/** A sentence about ops as a label shows it: names as in labels, times with three digits, "2 × matmul". */
export function labelText(text: string): string {
    const times = text.replace(/(\d+\.\d+) (ns|us|µs|ms|s)\b/g, (_, value: string, unit: string) => `${threeDigits(Number(value))} ${unit}`);
    return keepUnits(safeText(times.replace(/(^|[^\d.])0\.0 ?%/g, "$1<0.1%").replace(/DeviceOperation\b/g, "").replace(/^(\d+) x (?=\D)/, "$1\u00a0× ").replace(/(\d) x (?=\d)/g, "$1×")));
}

function threeDigits(value: number): string {
    return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** Keeps a number and its unit on one line. */
export function keepUnits(text: string): string {
    return text.replace(/(\d) us\b/g, "$1\u00a0µs").replace(/(\d) %/g, "$1%").replace(/(\d) (ns|µs|us|ms|s|min|h|d|B|KiB|MiB|GiB|GB\/s|TB\/s|TFLOP\/s|×)(?![\w])/g, "$1\u00a0$2");
}
