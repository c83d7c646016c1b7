// SPDX-License-Identifier: Apache-2.0
// Several zones, runs and gaps that were selected together (Ctrl + click): how long they are, and how far apart.
import { useEffect } from "preact/hooks";
import { duration, exactNs, percent, plural } from "../model/format";
import * as state from "../model/state";
import { safeText, shortName } from "../model/text";
import type { RunDetail, ZoneDetail } from "../model/types";
import type { Item } from "../model/url";
import { Facts, trackLabel, useAnswer } from "./facts";
import { Part } from "./inspector";

const WORDS = { zone: "zone", run: "run", gap: "gap" } as const;

function question(item: Item): [string, Record<string, number>] {
    switch (item.kind) {
        case "zone": return ["zone", { track: item.track, depth: item.depth, at: item.start }];
        case "run": return ["run", { track: item.track, lane: item.lane, at: item.start }];
        case "gap": return ["", {}];
    }
}

/** A row; what comes from a link learns its length here. */
function Row({ item, index, sum }: { item: Item; index: number; sum: number }) {
    const names = state.names.value;
    void names.version.value;
    const known = item.kind === "gap" || (item.end > item.start && item.name !== undefined);
    const [path, given] = question(item);
    const { data } = useAnswer<ZoneDetail | RunDetail>(known ? "" : path, given);
    useEffect(() => {
        const chosen = state.selection.peek();
        if (known || !data || chosen?.kind !== "set") return;
        if (data.name !== null) void names.need([data.name]);
        const learnt: Item = { ...item, start: data.start, end: data.start + data.duration, ...(data.name === null ? {} : { name: data.name }) };
        state.selection.value = { kind: "set", items: chosen.items.map((one, at) => (at === index ? learnt : one)) };
    }, [data, known]);
    const length = known || data ? item.end - item.start : null;
    const name = item.kind === "gap" ? "gap" : shortName(names.text(item.name ?? null));
    const colour = item.kind === "gap" ? "gap" : `c${names.colour(item.name ?? null)}`;
    return (
        <button onClick={() => state.select(item, { reveal: true })} title={`${safeText(trackLabel(item.track))}, from ${duration(item.start, 5)}`}>
            <i class={`swatch ${colour}`} /><span class="el">{name} <span class="t3">{trackLabel(item.track)}</span></span>
            <span>{length === null ? "…" : duration(length)}</span><span class="r t2">{length === null || sum <= 0 ? "" : percent(length / sum)}</span>
        </button>
    );
}

export function SetDetails({ items }: { items: readonly Item[] }) {
    const kinds = (["zone", "run", "gap"] as const).map((kind) => [kind, items.filter((item) => item.kind === kind).length] as const).filter(([, count]) => count > 0);
    const lengths = items.map((item) => item.end - item.start);
    const sum = lengths.reduce((total, length) => total + length, 0);
    const from = Math.min(...items.map((item) => item.start));
    const to = Math.max(...items.map((item) => item.end));
    return (
        <>
            <div class="between"><span class="tag">Several</span><span class="t3">Ctrl + click adds and removes</span></div>
            <h2>{kinds.map(([kind, count]) => plural(count, WORDS[kind])).join(", ")}</h2>
            <div class="t2"><b title={exactNs(sum)}>{duration(sum)}</b> in all</div>
            <Part title="How long">
                <Facts rows={[
                    ["mean", duration(lengths.length ? sum / lengths.length : 0)], ["shortest", duration(Math.min(...lengths))], ["longest", duration(Math.max(...lengths))],
                    ["from first to last", <button class="link" onClick={() => state.select({ kind: "range", from, to }, { reveal: true })}>{duration(to - from)}</button>],
                ]} />
            </Part>
            <Part title="Which" last>
                <div class="list-rows">{items.map((item, index) => <Row key={`${item.kind}${item.track}:${item.start}`} item={item} index={index} sum={sum} />)}</div>
            </Part>
        </>
    );
}
