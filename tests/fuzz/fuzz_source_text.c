/* SPDX-License-Identifier: Apache-2.0 */
/* Source files of any bytes, in whatever encoding they claim: each line that is counted can be read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text/source_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    struct source_text source;
    struct error err = {0};
    if (source_text_parse(&source, data, length, &err) != 0)
        return 0;
    size_t read = 0;
    for (uint32_t line = 1; line <= source.line_count; line++)
        read += strlen(source_text_line(&source, line)) + 1;
    if (read > source.text.length || source_text_line(&source, 0) ||
        source_text_line(&source, (uint32_t)source.line_count + 1))
        abort();
    source_text_free(&source);
    return 0;
}
