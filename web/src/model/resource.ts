// SPDX-License-Identifier: Apache-2.0
// An answer that depends on the window: the old one stays, dimmed, until the new one is there.
import { signal } from "@preact/signals";
import { address, getJson, RequestFailed, type Parameters } from "./api";

export class Resource<T> {
    readonly data = signal<T | null>(null);
    readonly error = signal<string | null>(null);
    readonly loading = signal(false);
    /** What is shown answers another question than the one that was asked last; not so while a trace only grows. */
    readonly dim = signal(false);
    private key = "";
    private stamp = 0;
    private next: (() => void) | null = null;
    private running: AbortController | null = null;

    constructor(private readonly accept: (answer: T) => void | Promise<void> = () => undefined) {}

    /**
     * Asks unless it asked the same before. Another question takes the place of the one that is on its way; another stamp
     * (the trace has grown) waits for its answer, so that a fast recording does not starve a slow question.
     */
    load(path: string, parameters: Parameters, stamp = 0): void {
        const key = `${stamp} ${address(path, parameters)}`;
        if (key === this.key) return;
        if (this.loading.peek() && stamp !== this.stamp) {
            this.next = () => this.load(path, parameters, stamp);
            return;
        }
        this.dim.value = stamp === this.stamp && this.data.peek() !== null;
        this.key = key;
        this.stamp = stamp;
        this.next = null;
        this.running?.abort();
        const mine = new AbortController();
        this.running = mine;
        this.loading.value = true;
        void this.fetch(path, parameters, mine);
    }

    /** Forgets what is there, so that the next load asks again. */
    reset(): void {
        this.running?.abort();
        this.key = "";
        this.next = null;
        this.data.value = null;
        this.error.value = null;
        this.loading.value = false;
        this.dim.value = false;
    }

    private async fetch(path: string, parameters: Parameters, mine: AbortController): Promise<void> {
        try {
            const answer = await getJson<T>(path, parameters, mine.signal);
            if (mine !== this.running) return;
            await this.accept(answer);
            this.data.value = answer;
            this.error.value = null;
        } catch (error) {
            if (mine !== this.running || mine.signal.aborted) return;
            this.key = "";
            this.error.value = error instanceof RequestFailed ? error.message : "The server does not answer.";
        } finally {
            if (mine === this.running) {
                this.loading.value = false;
                this.dim.value = false;
                const next = this.next;
                this.next = null;
                next?.();
            }
        }
    }
}
