// SPDX-License-Identifier: Apache-2.0
// The words of the search field: text, and what restricts it: file:model.py track:stream kind:matmul >10ms. A field that
// begins with ">" and no time lists commands.
import { parseTime } from "./format";

export interface Query {
    /** Names, files, messages and tracks that contain this; "*" stands for anything, /…/ is a regular expression. */
    text: string;
    file: string;
    track: string;
    kind: string;
    /** At least one call takes so long, in ns. */
    longest: number;
    /** Null: no command is looked for. */
    command: string | null;
}

export function parseQuery(typed: string): Query {
    const query: Query = { text: "", file: "", track: "", kind: "", longest: 0, command: null };
    const words: string[] = [];
    const trimmed = typed.trim();
    if (trimmed.startsWith(">") && !/^>\s*[\d.]/.test(trimmed)) return { ...query, command: trimmed.slice(1).trim() };
    for (const word of trimmed.replace(/>\s+(?=\d)/g, ">").split(/\s+/)) {
        const restriction = /^(file|track|kind):(.*)$/i.exec(word);
        const time = word.startsWith(">") ? parseTime(word.slice(1)) : NaN;
        if (restriction) query[(restriction[1] as string).toLowerCase() as "file" | "track" | "kind"] = restriction[2] ?? "";
        else if (time > 0) query.longest = time;
        else if (word) words.push(word);
    }
    return { ...query, text: words.join(" ") };
}

export function isEmpty(query: Query): boolean {
    return !query.text && !query.file && !query.track && !query.kind && query.longest <= 0 && query.command === null;
}

export function isExpression(text: string): boolean {
    return text.length > 2 && text.startsWith("/") && text.endsWith("/");
}
