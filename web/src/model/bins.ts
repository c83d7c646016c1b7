// SPDX-License-Identifier: Apache-2.0
// Values in bins, for histograms.

export interface Bin {
    from: number;
    to: number;
    count: number;
}

/** How many of these values are how large: bins of equal width, or of equal ratio where they differ much. */
export function binsOf(values: readonly number[], count: number): Bin[] {
    const low = Math.min(...values);
    const high = Math.max(...values);
    if (!values.length || !(high > low)) return values.length ? [{ from: low, to: low + 1, count: values.length }] : [];
    const log = low > 0 && high / low > 20;
    const edge = (at: number) => (log ? low * Math.pow(high / low, at / count) : low + ((high - low) * at) / count);
    const bins = Array.from({ length: count }, (_, at): Bin => ({ from: edge(at), to: edge(at + 1), count: 0 }));
    for (const value of values) {
        const share = log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
        (bins[Math.min(count - 1, Math.floor(share * count))] as Bin).count++;
    }
    return bins;
}
