/* SPDX-License-Identifier: Apache-2.0 */
/* Text inside HTML, SVG and XML. */
#ifndef OPSCOPE_TEXT_MARKUP_WRITE_H
#define OPSCOPE_TEXT_MARKUP_WRITE_H

#include <stdbool.h>

#include "base/bytes.h"

/* With & < > and quotes as references and control characters visible, for elements and attributes of HTML and SVG. */
void html_append_text(struct bytes *out, const char *text);

/* The same for XML 1.0 that is read back: line ends and tabs stay, as references inside an attribute; what XML cannot
 * hold becomes visible, or U+FFFD. */
void xml_append_text(struct bytes *out, const char *text, bool is_attribute);

#endif
