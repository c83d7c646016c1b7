// SPDX-License-Identifier: Apache-2.0
// How a name is painted, as one byte: for the rasteriser, which knows no names.

/** A name whose own share of its total is smaller than this is a wrapper and painted pale. */
export const WRAPPER_SELF_RATIO = 0.1;

/** Style of a name as the rasteriser wants it: colour in the low four bits. */
export const STYLE_PALE = 16;
export const STYLE_WAIT = 32;
export const STYLE_UNKNOWN = 255;
