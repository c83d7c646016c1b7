// SPDX-License-Identifier: Apache-2.0
// A table that sorts, and that draws only the rows in sight when there are many. Width buys columns, not air.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { durationFigure, type Figure } from "../model/format";
import { currentTable } from "./share";

const ROW_HEIGHT = 23;
const HEAD_HEIGHT = 26;
const VIRTUAL_FROM = 200;
const FIRST_COLUMN_MAX = 440;
const FIRST_COLUMN_MIN = 200;

export interface Column<T> {
    id: string;
    label: string;
    width: number;
    text?: boolean;
    /** Shown only where there is room, in order. */
    optional?: boolean;
    narrowOut?: boolean;
    /** Left out first, the largest before the others, where the first column would have too little room. */
    gives?: number;
    title?: string;
    value: (row: T) => number | string | null;
    /** By what it is sorted, where that is not its value. */
    order?: (row: T) => number | string | null;
    cell?: (row: T) => ComponentChildren;
}

interface Properties<T> {
    label: string;
    columns: Column<T>[];
    rows: readonly T[];
    sort: string;
    keyOf: (row: T) => string;
    isSelected?: (row: T) => boolean;
    onSelect?: (row: T) => void;
    empty: ComponentChildren;
    dim?: boolean;
    /** The first column holds sentences: it may be as wide as there is room. */
    freeText?: boolean;
}

export function FigureCell({ figure }: { figure: Figure }) {
    return <>{figure.value}<span class="unit">{figure.unit}</span></>;
}

export function durationCell(ns: number | null | undefined): ComponentChildren {
    return ns === null || ns === undefined ? "–" : <FigureCell figure={durationFigure(ns)} />;
}

function compare(a: number | string | null, b: number | string | null): number {
    if (a === b) return 0;
    if (a === null) return -1;
    if (b === null) return 1;
    return a < b ? -1 : 1;
}

function shownColumns<T>(columns: Column<T>[], width: number): Column<T>[] {
    const fixed = columns.slice(1).filter((column) => !column.optional).reduce((sum, column) => sum + column.width, 0);
    let room = width - fixed - FIRST_COLUMN_MAX;
    const chosen = new Set<string>();
    for (const column of columns) {
        if (!column.optional) continue;
        if (room < column.width) break;
        room -= column.width;
        chosen.add(column.id);
    }
    const gone = new Set<string>();
    let first = width - fixed;
    for (const column of [...columns].filter((one) => one.gives).sort((a, b) => (b.gives ?? 0) - (a.gives ?? 0))) {
        if (first >= FIRST_COLUMN_MIN) break;
        first += column.width;
        gone.add(column.id);
    }
    return columns.filter((column) => !gone.has(column.id) && (!column.optional || chosen.has(column.id)));
}

function csvCell(value: number | string | null): string {
    const text = value === null ? "" : String(value);
    return /[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

export function Table<T>(properties: Properties<T>) {
    const { rows, keyOf, onSelect, isSelected } = properties;
    const order = useSignal({ id: properties.sort, down: true });
    const top = useSignal(0);
    /** The row that the keyboard stops at: a table is one stop, arrow keys go on from there. */
    const stop = useSignal<string | null>(null);
    const size = useSignal({ width: 900, height: 200 });
    const wrap = useRef<HTMLDivElement>(null);
    useEffect(() => {
        const element = wrap.current;
        if (!element) return;
        const watcher = new ResizeObserver(() => (size.value = { width: element.clientWidth, height: element.clientHeight }));
        watcher.observe(element);
        return () => watcher.disconnect();
    }, []);
    const columns = shownColumns(properties.columns, size.value.width);
    const by = properties.columns.find((column) => column.id === order.value.id) ?? properties.columns[0];
    const sign = order.value.down ? -1 : 1;
    const sorted = by ? [...rows].sort((a, b) => sign * compare((by.order ?? by.value)(a), (by.order ?? by.value)(b))) : [...rows];
    useEffect(() => {
        currentTable.write = () => [properties.columns.map((column) => csvCell(column.id)),
            ...sorted.map((row) => properties.columns.map((column) => csvCell(column.value(row))))]
            .map((cells) => cells.join(",")).join("\n");
    });
    const many = sorted.length >= VIRTUAL_FROM;
    const first = many ? Math.max(0, Math.floor(top.value / ROW_HEIGHT) - 10) : 0;
    const last = many ? Math.min(sorted.length, first + Math.ceil(size.value.height / ROW_HEIGHT) + 20) : sorted.length;
    const sortBy = (column: Column<T>) => {
        const same = order.value.id === column.id;
        order.value = { id: column.id, down: same ? !order.value.down : !column.text };
    };
    const act = (row: T) => onSelect?.(row);
    const stopped = stop.value === null ? -1 : sorted.findIndex((row) => keyOf(row) === stop.value);
    const wanted = stopped >= 0 ? stopped : isSelected ? sorted.findIndex(isSelected) : -1;
    const stopAt = wanted >= first && wanted < last ? wanted : first;
    const moveTo = (index: number) => {
        const row = sorted[index];
        const element = wrap.current;
        if (!row || !element) return;
        stop.value = keyOf(row);
        if (many) { // it may not be drawn yet
            const y = index * ROW_HEIGHT;
            if (y < element.scrollTop) element.scrollTop = y;
            else if (y + 2 * ROW_HEIGHT + HEAD_HEIGHT > element.scrollTop + element.clientHeight) element.scrollTop = y + 2 * ROW_HEIGHT + HEAD_HEIGHT - element.clientHeight;
            top.value = element.scrollTop;
        }
        requestAnimationFrame(() => element.querySelector<HTMLElement>(`tr[aria-rowindex="${index + 2}"]`)?.focus());
    };
    const onKeys = (event: KeyboardEvent, index: number) => {
        const to = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: sorted.length - 1 }[event.key];
        if (to !== undefined) moveTo(to);
        else if (event.key === "Enter" || event.key === " ") act(sorted[index] as T);
        else return;
        event.preventDefault();
        event.stopPropagation();
    };
    return (
        <div class={`table-wrap ${properties.dim ? "dim" : ""}`} ref={wrap} onScroll={(event) => (top.value = event.currentTarget.scrollTop)}>
            <table style={properties.freeText ? {} : { maxWidth: `${columns.slice(1).reduce((sum, column) => sum + column.width, FIRST_COLUMN_MAX)}px` }} aria-label={properties.label} aria-rowcount={sorted.length + 1}>
                <colgroup>
                    {columns.map((column, index) => (
                        <col key={column.id} class={column.narrowOut ? "narrow-out" : ""} style={index ? { width: `${column.width}px` } : {}} />
                    ))}
                </colgroup>
                <thead>
                    <tr aria-rowindex={1}>
                        {columns.map((column) => <HeadCell key={column.id} column={column} order={order.value} onSort={() => sortBy(column)} />)}
                    </tr>
                </thead>
                <tbody>
                    {first > 0 && <tr class="pad"><td colSpan={columns.length} style={{ height: `${first * ROW_HEIGHT}px` }} /></tr>}
                    {sorted.slice(first, last).map((row, index) => (
                        <tr key={keyOf(row)} aria-rowindex={first + index + 2} aria-selected={isSelected?.(row) ?? false} tabIndex={first + index === stopAt ? 0 : -1}
                            onClick={() => act(row)} onFocus={() => (stop.value = keyOf(row))} onKeyDown={(event) => onKeys(event, first + index)}>
                            {columns.map((column) => (
                                <td key={column.id} class={`${column.text ? "text" : ""} ${column.narrowOut ? "narrow-out" : ""}`}>
                                    {column.cell ? column.cell(row) : (column.value(row) ?? "–")}
                                </td>
                            ))}
                        </tr>
                    ))}
                    {last < sorted.length && (
                        <tr class="pad"><td colSpan={columns.length} style={{ height: `${(sorted.length - last) * ROW_HEIGHT}px` }} /></tr>
                    )}
                </tbody>
            </table>
            {rows.length === 0 && <div class="empty">{properties.empty}</div>}
        </div>
    );
}

/** Keys on a row of a small table, of which only the first row is a stop. */
export function rowKeys(event: KeyboardEvent & { currentTarget: HTMLElement }, act: () => void): void {
    const row = event.currentTarget;
    if (event.key === "Enter" || event.key === " ") act();
    else if (event.key === "ArrowDown") (row.nextElementSibling as HTMLElement | null)?.focus();
    else if (event.key === "ArrowUp") (row.previousElementSibling as HTMLElement | null)?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
}

function HeadCell<T>({ column, order, onSort }: { column: Column<T>; order: { id: string; down: boolean }; onSort: () => void }) {
    const active = order.id === column.id;
    const sort = active ? (order.down ? "descending" : "ascending") : "none";
    return (
        <th class={`${column.text ? "text" : ""} ${column.narrowOut ? "narrow-out" : ""}`} aria-sort={sort} title={column.title}>
            <button onClick={onSort}>{column.label}{active ? (order.down ? " ▾" : " ▴") : ""}</button>
        </th>
    );
}

export function ShareBar({ share, largest, text }: { share: number; largest: number; text: string }) {
    return (
        <>
            <span class="share-bar" aria-hidden="true"><i style={{ width: `${largest > 0 ? (share / largest) * 100 : 0}%` }} /></span>
            <span class="share-text">{text}</span>
        </>
    );
}
