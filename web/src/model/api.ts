// SPDX-License-Identifier: Apache-2.0
// Requests to the server, or to the file itself where there is none. Every number on the page comes through here; a
// query that takes long is announced, one that fails keeps what is shown and says so.
import { signal } from "@preact/signals";
import { embedded, NotHere } from "./embedded";

export class RequestFailed extends Error {
    constructor(readonly status: number, message: string) {
        super(message);
    }
}

const SLOW_MS = 300;

/** More than zero while an answer has been outstanding for long enough to say so. */
export const slowQueries = signal(0);
/** When the server stopped answering, by Date.now(); null while it answers. */
export const lostSince = signal<number | null>(null);

/** An answer was of a trace of which the server has found damaged blocks. */
export const damageSeen = signal(false);

/** The server that answers now does not know our token: it is another one. */
export const isStranger = signal(false);

const token = typeof location === "undefined" ? null : new URLSearchParams(location.search).get("token");

export type Parameters = Record<string, string | number | null | undefined>;

export function address(path: string, parameters: Parameters = {}): string {
    const query = new URLSearchParams();
    for (const [key, value] of Object.entries(parameters)) {
        if (value === null || value === undefined) continue;
        query.set(key, typeof value === "number" ? String(Math.round(value)) : value);
    }
    if (token) query.set("token", token);
    const text = query.toString().replace(/%3A/g, ":").replace(/%2C/g, ",");
    return text ? `/api${path}?${text}` : `/api${path}`;
}

async function request(path: string, parameters: Parameters, signalled?: AbortSignal): Promise<Response> {
    let announced = false;
    const timer = setTimeout(() => {
        announced = true;
        slowQueries.value++;
    }, SLOW_MS);
    try {
        const answer = await fetch(address(path, parameters), { signal: signalled ?? null, cache: "no-store" });
        isStranger.value = answer.status === 401;
        if (isStranger.value) lostSince.value ??= Date.now();
        else lostSince.value = null;
        if (answer.headers.has("Opscope-Damaged")) damageSeen.value = true;
        if (!answer.ok) {
            const body: unknown = await answer.json().catch(() => null);
            const said = body && typeof body === "object" && "error" in body ? String(body.error) : answer.statusText;
            throw new RequestFailed(answer.status, said);
        }
        return answer;
    } catch (error) {
        const aborted = error instanceof DOMException && error.name === "AbortError";
        if (!aborted && !(error instanceof RequestFailed)) lostSince.value ??= Date.now();
        throw error;
    } finally {
        clearTimeout(timer);
        if (announced) slowQueries.value--;
    }
}

/** What the file says, as the server would. */
async function fromFile<T>(answer: () => T, signalled?: AbortSignal): Promise<T> {
    await Promise.resolve();
    signalled?.throwIfAborted();
    try {
        return answer();
    } catch (error) {
        if (error instanceof NotHere) throw new RequestFailed(404, error.message);
        throw error;
    }
}

export async function getJson<T>(path: string, parameters: Parameters = {}, signalled?: AbortSignal): Promise<T> {
    if (embedded) return fromFile(() => embedded?.answer(path, parameters) as T, signalled);
    return (await (await request(path, parameters, signalled)).json()) as T;
}

export async function getBinary(path: string, parameters: Parameters, signalled?: AbortSignal): Promise<ArrayBuffer> {
    if (embedded) return fromFile(() => embedded?.rows(path, parameters) as ArrayBuffer, signalled);
    return (await request(path, parameters, signalled)).arrayBuffer();
}

/** Where the worker's script is. */
export function workerAddress(): string {
    return embedded ? URL.createObjectURL(embedded.worker()) : "/worker.js";
}
