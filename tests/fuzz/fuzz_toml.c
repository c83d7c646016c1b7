/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the configuration reader: any bytes give a tree or a message with a place. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text/toml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count_nodes(const struct toml_node *node)
{
    size_t count = 1;
    assert(node->type == TOML_TABLE || node->type == TOML_ARRAY || node->child_count == 0);
    assert(node->type != TOML_TEXT || node->text);
    for (size_t i = 0; i < node->child_count; i++) {
        assert(node->type != TOML_TABLE || node->children[i].key);
        assert(node->children[i].line > 0 && node->children[i].column > 0);
        count += count_nodes(&node->children[i]);
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct toml toml;
    struct error err = {0};
    if (toml_parse(&toml, "fuzz.toml", (const char *)data, size, &err) == 0)
        count_nodes(&toml.root);
    else
        assert(strncmp(err.message, "fuzz.toml", 9) == 0);
    toml_free(&toml);
    return 0;
}
