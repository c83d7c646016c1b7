// SPDX-License-Identifier: Apache-2.0
// What usually shortens a gap, by the host code that filled it. It names the code, since it is a guess about it.
import { duration, percent } from "./format";
import { sameGaps } from "./gaps";
import { shortName } from "./text";
import type { Gap, HostPart } from "./types";

const REMEDIES: readonly [RegExp, string][] = [
    [/data_?loader|\bloader\b|__next__|next_batch|prefetch|collate|dataset/i, "Make the next batch while the device works: more loader workers, workers that stay alive between epochs, and a longer queue of batches that are ready."],
    [/compile|jit|lower|codegen|nvrtc|build_program|autotun|torch\._dynamo|inductor/i, "This compiles. Do it once before what is measured, and keep the compiler's cache between runs."],
    [/synchroni[sz]e|\bitem\b|\.item|tolist|\.cpu\b|\bnumpy\b|device_to_host|dtoh|to_host|from_device|wait_for_event|EventQuery|block_until_ready/i, "The host waits for a result before it launches more. Read results less often, or those of the step before, so that launches run ahead."],
    [/malloc|\balloc|empty_cache|reserve|cudaFree|\bfree\b|mmap/i, "Allocate once and use the memory again: allocation on the way makes the device wait."],
    [/checkpoint|save|dump|write|\blog\b|logg|print|flush|json|pickle|wandb|tensorboard/i, "Write from another thread, or less often: the device does not need what is written."],
    [/\bopen\b|read|load|decode|recv|socket|http|select|poll/i, "Read ahead in another thread, so that what comes next is there when the device is free."],
    [/lock|mutex|acquire|semaphore|condition|queue|\bget\b|join/i, "The thread that launches waits for another one. Look at what that one does meanwhile; launches should not depend on it."],
    [/import|find_spec|exec_module/i, "Modules are imported here. Import them before what is measured."],
    [/\bgc\b|collect/i, "The garbage collector runs here. Freeze what stays, or collect between steps."],
];

const MANY_GAPS = 32;

function host(part: HostPart): string {
    return part.name === null ? "nothing that was recorded" : shortName(part.text);
}

/** A sentence or two; null where nothing is known of the host. */
export function remedyOf(gap: Gap, all: readonly Gap[]): string | null {
    const [first] = gap.host;
    if (!first || first.name === null) return null;
    const share = first.ns / Math.max(1, gap.duration);
    const found = gap.host.find((part) => part.name !== null && part.ns > gap.duration / 4 && REMEDIES.some(([pattern]) => pattern.test(part.text)));
    const advice = REMEDIES.find(([pattern]) => found && pattern.test(found.text))?.[1];
    const same = sameGaps(gap, all);
    const sum = same.reduce((total, one) => total + one.duration, 0);
    const gain = same.length > 1 ? ` At most ${duration(sum)} in ${same.length} gaps.` : ` At most ${duration(gap.duration)}.`;
    if (advice && found) return `${found === first ? "" : `${host(found)}: `}${advice}${gain}`;
    if (all.length >= MANY_GAPS && gap.class === "host working") {
        return `${host(first)} takes ${percent(share)} of this gap, and there are many such: launch more at once (larger ops, a captured graph), or launch earlier, so that the device has work in its queue.${gain}`;
    }
    return gap.class === "host waiting"
        ? `The host waits in ${host(first)}. The device finished its last op ${duration(gap.duration)} before the next one: look for what delays the return.${gain}`
        : `${host(first)} takes ${percent(share)} of this gap. Make it shorter, do it before the launches that come first, or in another thread.${gain}`;
}
