/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the page, put into the program when it was built (cmake/Web.cmake). None where it was built without. */
#ifndef OPSCOPE_SERVE_ASSETS_H
#define OPSCOPE_SERVE_ASSETS_H

#include <stddef.h>

struct web_asset {
    const char *path; /* "/app.js" */
    const char *type; /* of its content */
    const unsigned char *data;
    size_t length;
    const char *sha256; /* hexadecimal */
};
extern const struct web_asset web_assets[];               /* ended by path == NULL */
const struct web_asset *web_asset_find(const char *path); /* NULL */

#define WEB_ASSETS_HOW                                                                                                \
    "install npm and build in a new folder (make clean all), or give -DOPSCOPE_WEB_DIST=FOLDER with a page that was " \
    "built elsewhere to cmake"

#endif
