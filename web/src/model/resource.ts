// SPDX-License-Identifier: Apache-2.0
// An answer that depends on the window: the old one stays, dimmed, until the new one is there.
import { signal } from "@preact/signals";
import { address, getJson, RequestFailed, type Parameters } from "./api";

/** Of the time that an answer took: so it is asked for at most a fifth of the time. */
const REST = 4;

export class Resource<T> {
    readonly data = signal<T | null>(null);
    readonly error = signal<string | null>(null);
    readonly loading = signal(false);
    /** What is shown answers another question than the one that was asked last; not so while a trace only grows. */
    readonly dim = signal(false);
    /** The stamp of what is shown. */
    readonly shown = signal(0);
    /** Whether another stamp means that there is more of the same, and still more to come. */
    static grows = (): boolean => false;
    private key = "";
    private stamp = 0;
    private next: (() => void) | null = null;
    private running: AbortController | null = null;
    private timer = 0;
    private restUntil = 0;

    constructor(private readonly accept: (answer: T) => void | Promise<void> = () => undefined) {}

    /**
     * Asks unless it asked the same before. Another question takes the place of the one that is on its way; another stamp
     * (the trace has grown) waits for its answer, and then four times as long as that took: a fast recording neither starves
     * a slow question nor keeps the server counting.
     */
    load(path: string, parameters: Parameters, stamp = 0): void {
        const key = `${stamp} ${address(path, parameters)}`;
        if (key === this.key) return;
        clearTimeout(this.timer);
        const rest = this.restUntil - performance.now();
        if (stamp !== this.stamp && Resource.grows() && (this.loading.peek() || rest > 0)) {
            this.next = () => this.load(path, parameters, stamp);
            if (!this.loading.peek()) this.timer = window.setTimeout(this.next, rest);
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
        clearTimeout(this.timer);
        this.key = "";
        this.next = null;
        this.restUntil = 0;
        this.data.value = null;
        this.error.value = null;
        this.loading.value = false;
        this.dim.value = false;
    }

    private async fetch(path: string, parameters: Parameters, mine: AbortController): Promise<void> {
        const began = performance.now();
        const { stamp } = this;
        try {
            const answer = await getJson<T>(path, parameters, mine.signal);
            if (mine !== this.running) return;
            await this.accept(answer);
            this.data.value = answer;
            this.shown.value = stamp;
            this.error.value = null;
        } catch (error) {
            if (mine !== this.running || mine.signal.aborted) return;
            this.key = "";
            this.error.value = error instanceof RequestFailed ? error.message : "The server does not answer.";
        } finally {
            if (mine === this.running) {
                this.restUntil = performance.now() + REST * (performance.now() - began);
                this.loading.value = false;
                this.dim.value = false;
                const next = this.next;
                this.next = null;
                next?.();
            }
        }
    }
}
