// SPDX-License-Identifier: Apache-2.0
// All keys on one sheet.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { useLayer } from "../frame/layers";
import * as state from "../model/state";
import { wheelZooms } from "../timeline/input";

const KEYS: [string, string][] = [
    ["zoom at the pointer", "Ctrl + wheel, pinch, W S, + −"],
    ["pan in time", "swipe, Shift + wheel, Shift + drag, right drag, A D (Shift: a page)"],
    ["scroll tracks", "wheel, PgUp PgDn"],
    ["zoom to a range", "middle drag, double click on a zone, f fits the selection"],
    ["select", "click, Ctrl + click adds; in the timeline ← → neighbour, ↑ ↓ parent, child; . , the same name; Esc clears"],
    ["select a range", "drag (Alt: free), r: selection to range, Shift + ← → moves its end, with Alt its beginning; Shift + drag: a second one beside it"],
    ["window = range or view", "Enter; Backspace goes back"],
    ["whole trace", "0 or Home, double click on the map"],
    ["undo a move", "z, Shift + z; Back for window, selection, panel"],
    ["mark", "click in the ruler, m, Shift + m keeps it"],
    ["next gap, longest first", "g, Shift + g"],
    ["from a zone to what it launched, from an estimate to what was measured, and back", "] and [ (on some keyboards with Shift or AltGr)"],
    ["search, find zone", "/ ; Shift + F; n and Shift + n: next and previous call"],
    ["narrow a search", "file:model.py, track:stream, kind:matmul, >10ms; * is anything; > lists commands"],
    ["on a track's name", "Enter folds or shows all rows, p pins, c makes its rows small, h hides, o shows only this, Alt + ↑ ↓ or dragging moves it"],
    ["drawer, inspector, tabs", "q, i, 1 … 9"],
    ["live: follow, pause", "l, Space"],
    ["regions of the page", "F6"],
];

export function Help() {
    const zooms = useSignal(wheelZooms.value);
    const close = useRef<HTMLButtonElement>(null);
    useLayer(() => (state.helpShown.value = false));
    useEffect(() => {
        const before = document.activeElement;
        close.current?.focus();
        return () => before instanceof HTMLElement && before.focus();
    }, []);
    return (
        <div class="help" role="dialog" aria-label="Keys and help">
            <div class="between"><h2>Keys</h2><button ref={close} class="icon-button" aria-label="Close" onClick={() => (state.helpShown.value = false)}>✕</button></div>
            <table>
                <tbody>{KEYS.map(([what, how]) => <tr key={what}><th scope="row">{what}</th><td>{how}</td></tr>)}</tbody>
            </table>
            <p>
                <label>
                    <input type="checkbox" checked={zooms.value} onChange={(event) => {
                        zooms.value = wheelZooms.value = event.currentTarget.checked;
                        localStorage.setItem("opscope.wheelZooms", zooms.value ? "1" : "0");
                    }} /> wheel zooms, as in Tracy
                </label>
            </p>
            <p class="t2">The window is what all numbers are about; the view is what the timeline shows. Panning never changes a number.</p>
            <p class="t3">opscope {state.version.value} · <a href={`/licenses.txt${location.search}`}>licences of what the page contains</a></p>
        </div>
    );
}
