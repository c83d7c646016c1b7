/* SPDX-License-Identifier: Apache-2.0 */
/* The files of present/assets/, put into the program when it is built: flame.css is asset_flame_css. */
#ifndef OPSCOPE_PRESENT_ASSETS_H
#define OPSCOPE_PRESENT_ASSETS_H

extern const char asset_flame_css[];
extern const char asset_flame_js[];

#endif
