/* SPDX-License-Identifier: Apache-2.0 */
/* The files of present/assets/, put into the program when it is built: page.css is asset_page_css. */
#ifndef OPSCOPE_PRESENT_ASSETS_H
#define OPSCOPE_PRESENT_ASSETS_H

extern const char asset_flame_css[];
extern const char asset_flame_js[];
extern const char asset_page_css[];
extern const char asset_page_js[];

#endif
