/* SPDX-License-Identifier: Apache-2.0 */
/* The colour of a name: 0 to 9, the same in every trace, on the page and in pictures. The values are in the style
 * sheets: web/src/app.css, present/assets/flame.css. */
#ifndef OPSCOPE_PRESENT_NAME_COLOUR_H
#define OPSCOPE_PRESENT_NAME_COLOUR_H

#define NAME_COLOURS 10u

/* By its text without digits that are followed by more of it: "layer.3.norm" and "layer.7.norm" are the same part of
 * one model, "kernel 3" and "kernel 7" are two kernels. */
unsigned name_colour(const char *name);

#endif
