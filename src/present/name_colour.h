/* SPDX-License-Identifier: Apache-2.0 */
/* The colour of a name: 0 to 9, the same in every trace, on the page and in pictures. The values are in the style
 * sheets: web/src/app.css, present/assets/flame.css. */
#ifndef OPSCOPE_PRESENT_NAME_COLOUR_H
#define OPSCOPE_PRESENT_NAME_COLOUR_H

#define NAME_COLOURS 10u

unsigned name_colour(const char *name); /* by its text without digits */

#endif
