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
};
extern const struct web_asset web_assets[]; /* ended by path == NULL */

#endif
