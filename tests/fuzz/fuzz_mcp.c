/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes what `opscope mcp` reads: lines with messages, answered on a small trace. Every answer has to be one line of
 * JSON. */
#include <stdlib.h>
#include <string.h>

#include "serve/mcp/mcp.h"
#include "small_trace.h"
#include "text/json/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct mcp *mcp;

static void open_mcp(void)
{
    struct small_trace made;
    small_trace_make(&made);
    if (mcp_open(&mcp, (const char *const[]){made.path}, 1, NULL) != 0)
        abort();
    small_trace_remove(&made);
}

static void answer(const char *line, size_t length)
{
    struct json_document document = {0};
    struct bytes out = {0};
    mcp_answer(mcp, line, length, &out);
    const uint8_t *end = out.length ? memchr(out.data, '\n', out.length) : NULL;
    if (out.length && (end != out.data + out.length - 1 ||
                       json_read(&document, (const char *)out.data, out.length, NULL) != 0))
        abort();
    json_document_free(&document);
    bytes_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* the revision that has batches; it also makes each input independent of the last one */
    static const char first[] = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
                                "\"params\":{\"protocolVersion\":\"2025-03-26\"}}";
    if (!mcp)
        open_mcp();
    answer(first, strlen(first));
    while (size) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t length = end ? (size_t)(end - data) + 1 : size;
        answer((const char *)data, length);
        data += length;
        size -= length;
    }
    return 0;
}
