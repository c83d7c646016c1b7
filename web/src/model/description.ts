// SPDX-License-Identifier: Apache-2.0
// What is known of an op, as tables: its tensors, its attributes as keys and values, its kernels. The texts are those of the trace
// ("shape=1x32;dtype=BFLOAT16", "KEY=VALUE", "{'key': 'value'; ...}"); what is written in another way stays as it is.
export interface Part {
    role: string;
    text: string;
}

export interface Tensor {
    role: string;
    /** The whole text where it is not made of keys and values. */
    shape: string;
    dtype: string;
    layout: string;
    memory: string;
}

export interface Described {
    tensors: Tensor[];
    attributes: [string, string][];
    /** Attributes that were given no value. */
    unset: string[];
    kernels: [string, string][];
}

const MEMORY_WORDS: Record<string, string> = { DRAM: "DRAM", L1: "L1" };

/** "DEV_0_L1_WIDTH_SHARDED" is "L1 width sharded". */
export function memoryText(text: string): string {
    return text.replace(/^DEV_\d+_/, "").split("_").map((word) => MEMORY_WORDS[word] ?? word.toLowerCase()).join(" ");
}

/** "1x1x32x64" is "32×64": leading ones say nothing. */
function sizesText(shape: string, padded: string | undefined): string {
    const written = (text: string) => text.replace(/^(?:1x)+(?=\d+x\d+$)/, "").replace(/x/g, "×");
    return padded && padded !== shape ? `${written(shape)} (padded ${written(padded)})` : written(shape);
}

function tensorOf({ role, text }: Part): Tensor {
    const fields = new Map(text.split(";").map((one) => {
        const at = one.indexOf("=");
        return at < 0 ? ["", one] as const : [one.slice(0, at), one.slice(at + 1)] as const;
    }));
    const shape = fields.get("shape");
    if (shape === undefined) return { role, shape: text, dtype: "", layout: "", memory: "" };
    return { role, shape: sizesText(shape, fields.get("padded")), dtype: fields.get("dtype") ?? "", layout: (fields.get("layout") ?? "").toLowerCase(), memory: memoryText(fields.get("memory") ?? "") };
}

/** "{'a': '1'; 'b': '2'}" as pairs; null where it is something else. */
function pairsOf(text: string): [string, string][] | null {
    if (!/^\{\s*'/.test(text)) return null;
    return [...text.matchAll(/'([^']*)': (?:'([^']*)'|([^;}]*))/g)].map(([, key = "", quoted, plain = ""]) => [key, quoted ?? plain.trim()]);
}

/** "8×1" cores, where the attributes say over which the output is sharded. */
function gridOf(pairs: readonly [string, string][]): string {
    const config = pairs.find(([key]) => key === "output_mem_config" || key === "memory_config")?.[1] ?? "";
    const found = /"start":\{"x":(\d+);"y":(\d+)\};"end":\{"x":(\d+);"y":(\d+)\}\}?\]/.exec(config);
    if (!found) return "";
    const [x0 = 0, y0 = 0, x1 = 0, y1 = 0] = found.slice(1).map(Number);
    return `${x1 - x0 + 1}×${y1 - y0 + 1}`;
}

const UNSET = new Set(["std::nullopt", "None", ""]);

export function describe(parts: readonly Part[]): Described {
    const made: Described = { tensors: [], attributes: [], unset: [], kernels: [] };
    for (const part of parts) {
        const at = part.text.indexOf("=");
        const key = at > 0 ? part.text.slice(0, at) : "";
        const value = at > 0 ? part.text.slice(at + 1) : part.text;
        if (part.role === "input" || part.role === "output") made.tensors.push(tensorOf(part));
        else if (part.role === "kernel") made.kernels.push(["kernel", part.text]);
        else if (part.role === "attribute" && /KERNEL/.test(key)) made.kernels.push([key.toLowerCase(), value]);
        else if (part.role !== "location") made.attributes.push([key ? key.toLowerCase() : part.role, value]);
    }
    made.attributes = made.attributes.flatMap(([key, value]) => {
        const pairs = key === "attributes" ? pairsOf(value) : null;
        const grid = pairs ? gridOf(pairs) : "";
        for (const tensor of made.tensors) if (grid && tensor.role === "output" && tensor.memory.endsWith("sharded")) tensor.memory += ` ${grid}`;
        return pairs ?? [[key, value]];
    });
    made.unset = made.attributes.filter(([, value]) => UNSET.has(value)).map(([key]) => key);
    made.attributes = made.attributes.filter(([, value]) => !UNSET.has(value));
    return made;
}
