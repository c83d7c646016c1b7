// SPDX-License-Identifier: Apache-2.0
// The code that launched a run, or the runs of an op: a click on a place shows its source.
import { useSignal } from "@preact/signals";
import { duration, plural } from "../model/format";
import { safeText, shortName } from "../model/text";
import type { LaunchPlace, SourceAnswer } from "../model/types";
import { place, Source, useAnswer } from "./facts";
import { Part } from "./inspector";

function SourceThere({ file, line }: { file: string; line: number }) {
    const { data, error } = useAnswer<SourceAnswer>("source", { file, line });
    if (data?.source) return <Source source={data.source} />;
    return <p class="t2">{error ? safeText(error) : data ? `No source text: ${safeText(data.advice ?? data.state)}.` : "…"}</p>;
}

/** Several calls of a library may be made from one line. */
const keyOf = (one: LaunchPlace) => `${one.text} ${one.library?.text ?? ""}`;

export function LaunchedFrom({ places, count = places.length }: { places: LaunchPlace[]; count?: number }) {
    const chosen = useSignal<string | null>(null);
    if (!places.length) return null;
    const shown = chosen.value ?? (places.length === 1 && places[0] ? keyOf(places[0]) : "");
    const open = places.find((one) => keyOf(one) === shown);
    return (
        <Part title="Launched from" side={count > 1 ? plural(count, "place") : ""}>
            <div class="list-rows launch">
                {places.map((one) => (
                    <button key={keyOf(one)} title={safeText(one.library ? `${one.text}, by ${one.library.text}` : one.text)} aria-expanded={one === open} disabled={one.file === null}
                        onClick={() => (chosen.value = one === open ? "" : keyOf(one))}>
                        <span class="el"><span class={one.file === null ? "" : "link"}>{place(one.file ?? one.text, one.line)}</span>{one.function ? <span class="t2"> ({shortName(one.function)})</span> : ""}
                            {one.library && <span class="t3"> by {place(one.library.file ?? one.library.text, one.library.line)}</span>}</span>
                        {one.device_ns !== undefined && count > 1 && <span class="r">{duration(one.device_ns)}</span>}
                    </button>
                ))}
            </div>
            {count > places.length && <p class="t3">{plural(count - places.length, "place")} more with less time</p>}
            {open?.file != null && open.line !== null && <SourceThere file={open.file} line={open.line} />}
        </Part>
    );
}
