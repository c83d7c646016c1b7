/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes what the sampler of GPUs sends to the collector: messages of a process that a vendor's library may have
 * spoiled become rows of a trace, or words about what is wrong. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/gpu/metrics.h"
#include "collect/gpu/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A descriptor that gives the bytes, then ends. */
static int sent_as(const uint8_t *data, size_t size)
{
    int fd = memfd_create("wire", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct trace_writer_options options = {.program = "fuzz", .command = "fuzz", .host = "fuzz"};
    struct trace_writer *writer;
    struct error err = {0};
    if (trace_writer_open(&writer, "/dev/null", &options, &err) != 0)
        abort();
    uint32_t process = trace_writer_process(
        writer, &(struct trace_process){.id = TRACE_NONE, .parent = TRACE_NONE, .command = "c", .host = ""});
    struct gpu_metrics *metrics = gpu_metrics_of(sent_as(data, size));
    if (!metrics)
        abort();
    uint64_t samples = gpu_metrics_poll(metrics, writer, process);
    assert(samples <= size / sizeof(struct gpu_message));
    gpu_metrics_stop(metrics, writer, process);
    assert(strlen(gpu_metrics_trouble(metrics)) < 1200);
    gpu_metrics_free(metrics);
    assert(trace_writer_finish(writer, &err) == 0);
    return 0;
}
