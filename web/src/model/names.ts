// SPDX-License-Identifier: Apache-2.0
// Names by id, fetched in pages of 1024 as they turn up: a trace may have a million of them.
import { signal } from "@preact/signals";
import { getJson } from "./api";
import { STYLE_PALE, STYLE_UNKNOWN, STYLE_WAIT, WRAPPER_SELF_RATIO } from "./styles";

export interface Name {
    id: number;
    text: string;
    file: string;
    line: number;
    colour: number;
    /** The colour that the server sent. */
    sent: number;
    selfRatio: number;
    wait: boolean;
}

type NameRow = [number, string, string, number, number, number, number];

const PAGE = 1024;
export class Names {
    /** Counts up whenever names have come in, for those who draw them. */
    readonly version = signal(0);
    private readonly known = new Map<number, Name>();
    private readonly pages = new Map<number, Promise<void>>();
    private readonly partial = new Set<number>();
    private readonly byText = new Map<string, number>();
    styles = new Uint8Array(PAGE).fill(STYLE_UNKNOWN);
    /** Colours other than the server's; undefined: the server's. */
    private own: ((text: string) => number | undefined) | null = null;

    constructor(private readonly trace: number) {}

    get(id: number): Name | undefined {
        return this.known.get(id);
    }

    text(id: number | null): string {
        if (id === null) return "other";
        return this.known.get(id)?.text ?? "…";
    }

    idOf(text: string): number | undefined {
        return this.byText.get(text);
    }

    colour(id: number | null): number {
        return id === null ? 7 : (this.known.get(id)?.colour ?? 7);
    }

    /** Fetches what is not known yet; resolves when all of it is there. */
    async need(ids: Iterable<number>): Promise<void> {
        const waiting: Promise<void>[] = [];
        for (const id of ids) {
            if (this.known.has(id)) continue;
            const page = Math.floor(id / PAGE);
            let fetching = this.pages.get(page);
            if (!fetching) {
                fetching = this.fetchPage(page);
                this.pages.set(page, fetching);
            }
            waiting.push(fetching);
        }
        if (waiting.length) await Promise.allSettled(waiting);
    }

    /** The trace has grown: pages that were not full may have more names now. */
    grown(): void {
        for (const page of this.partial) this.pages.delete(page);
        this.partial.clear();
    }

    /** Which of the ids in a column are unknown, without a closure per entry: it runs for each tile. */
    unknownIn(column: Uint32Array): Set<number> {
        const missing = new Set<number>();
        for (let at = 0; at < column.length; at++) {
            const id = column[at] as number;
            if (id !== 0xffffffff && (this.styles[id] ?? STYLE_UNKNOWN) === STYLE_UNKNOWN) missing.add(id);
        }
        return missing;
    }

    /** Gives names other colours; null: those that the server sent. */
    recolour(own: ((text: string) => number | undefined) | null): void {
        if (!own && !this.own) return;
        this.own = own;
        let changed = false;
        for (const [id, name] of this.known) {
            const colour = own?.(name.text) ?? name.sent;
            if (colour === name.colour) continue;
            changed = true;
            name.colour = colour;
            this.styles[id] = ((this.styles[id] as number) & ~15) | (colour & 15);
        }
        if (changed) this.version.value = this.version.peek() + 1;
    }

    private async fetchPage(page: number): Promise<void> {
        try {
            const answer = await getJson<{ names: NameRow[] }>(`/t/${this.trace}/names`, { page });
            this.grow((page + 1) * PAGE);
            for (const row of answer.names) this.add(row);
            if (answer.names.length < PAGE) this.partial.add(page);
            this.version.value++;
        } catch {
            this.pages.delete(page);
        }
    }

    private grow(count: number): void {
        if (this.styles.length >= count) return;
        const larger = new Uint8Array(Math.max(count, this.styles.length * 2)).fill(STYLE_UNKNOWN);
        larger.set(this.styles);
        this.styles = larger;
    }

    private add([id, text, file, line, sent, selfRatio, wait]: NameRow): void {
        const colour = this.own?.(text) ?? sent;
        this.known.set(id, { id, text, file, line, colour, sent, selfRatio, wait: wait === 1 });
        if (!this.byText.has(text)) this.byText.set(text, id);
        const pale = selfRatio < WRAPPER_SELF_RATIO ? STYLE_PALE : 0;
        this.styles[id] = (colour & 15) | pale | (wait === 1 ? STYLE_WAIT : 0);
    }
}
