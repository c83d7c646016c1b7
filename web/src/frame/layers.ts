// SPDX-License-Identifier: Apache-2.0
// What lies above the page: menus, help. Escape closes the topmost alone.
import { useEffect } from "preact/hooks";

const open: (() => void)[] = [];

/** While the component is there, Escape closes it before what lies under it. */
export function useLayer(close: () => void): void {
    useEffect(() => {
        open.push(close);
        return () => {
            const at = open.lastIndexOf(close);
            if (at >= 0) open.splice(at, 1);
        };
    }, []);
}

/** Closes what lies on top; false where nothing does. */
export function closeTopmost(): boolean {
    const close = open.pop(); // at once: a component goes a moment later
    close?.();
    return !!close;
}
