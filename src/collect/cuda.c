/* SPDX-License-Identifier: Apache-2.0 */
/* What a process that used CUDA had not handed over when it ended: kernels whose times were there become runs, those
 * without an end are counted. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/count_of.h"
#include "collect/cuda_buffers.h"
#include "collect/internal.h"

struct taking {
    struct source *source;
    uint32_t process_id;
    uint64_t lost; /* without a track */
};

static void take_run(void *context, const struct cuda_left_run *left)
{
    struct taking *t = context;
    struct source *s = t->source;
    struct trace_writer *w = s->collector->writer;
    const struct cuda_record *r = &left->record;
    char shape[CUDA_SHAPE_BYTES];
    struct trace_run run = {
        .call = left->call,
        .process = t->process_id,
        .name = left->name ? source_name(s, left->name)
                           : trace_writer_name(w, cuda_record_title(r), "", "", 0, 0),
        .session = left->session,
        .part_count = 1,
        .start = r->start_ns,
        .duration = r->end_ns - r->start_ns,
    };
    if (left->may_be_known && device_run_is_last(s, left->track, run.start, run.duration))
        return;
    struct trace_run_part part = {.kind = TRACE_FIGURE_BYTES, .whole = r->bytes};
    if (r->kind == CUDA_KIND_KERNEL) {
        cuda_shape_text(r, shape);
        part = (struct trace_run_part){.name = trace_writer_name(w, CUDA_SHAPE_FIGURE, "", "", 0, 0),
                                       .kind = TRACE_FIGURE_TEXT,
                                       .whole = trace_writer_name(w, shape, "", "", 0, 0)};
    } else {
        part.name = trace_writer_name(w, CUDA_BYTES_FIGURE, "", "", 0, 0);
    }
    run.parts = &part;
    t->lost += device_run(s, t->process_id, left->track, &run) != 0;
}

static void note_losses(const struct taking *t, const struct cuda_left *left)
{
    const struct {
        uint32_t reason;
        uint64_t records;
    } losses[] = {{TRACE_LOSS_NO_END, left->open + left->unplaced},
                  {TRACE_LOSS_DEVICE, left->dropped + t->lost},
                  {TRACE_LOSS_DAMAGED, left->unreadable}};
    for (size_t i = 0; i < COUNT_OF(losses); i++) {
        if (!losses[i].records)
            continue;
        uint64_t now_ns = collector_now_ns(t->source->collector);
        struct trace_loss loss = {.process = t->process_id,
                                  .track = TRACE_NONE,
                                  .reason = losses[i].reason,
                                  .from_ns = now_ns,
                                  .to_ns = now_ns,
                                  .records = losses[i].records};
        trace_writer_loss(t->source->collector->writer, &loss);
        t->source->collector->stats.lost_records += losses[i].records;
    }
}

/* A copy of what matters of the file; the process may still be writing to it, and others may cut it short. Most of it
 * has never had memory, and is neither read nor touched. */
static uint8_t *read_file(int fd, size_t *length)
{
    struct cuda_file_header header;
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
        pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header)
        return NULL;
    size_t wanted = cuda_buffers_length(&header), have = 0;
    if ((uint64_t)st.st_size < wanted)
        wanted = (size_t)st.st_size;
    uint8_t *bytes = wanted ? calloc(1, wanted) : NULL;
    while (bytes && have < wanted) {
        off_t data = lseek(fd, (off_t)have, SEEK_DATA), hole = lseek(fd, (off_t)have, SEEK_HOLE);
        bool is_hole = data < 0 ? errno == ENXIO : data > (off_t)have;
        if (is_hole) {
            have = data > 0 && (size_t)data < wanted ? (size_t)data : wanted;
            continue;
        }
        size_t end = hole > (off_t)have && (size_t)hole < wanted ? (size_t)hole : wanted;
        ssize_t n = pread(fd, bytes + have, end - have, (off_t)have);
        if (n <= 0 && !(n < 0 && errno == EINTR))
            break;
        have += n > 0 ? (size_t)n : 0;
    }
    *length = have;
    return bytes;
}

void cuda_take(struct source *s, uint32_t slot)
{
    struct session_process p;
    char name[256];
    const char *segment = session_segment_name(s->segment);
    size_t stem = strlen(segment) - strlen(SESSION_SEGMENT_SUFFIX);
    if (!session_segment_process(s->segment, slot, &p) || stem > 200)
        return;
    snprintf(name, sizeof name, "%.*s.%u" CUDA_FILE_SUFFIX, (int)stem, segment, p.pid);
    int folder = s->collector->folder->fd;
    int fd = openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return;
    size_t length = 0;
    uint8_t *bytes = read_file(fd, &length);
    struct taking taking = {s, source_process_id(s, slot), 0};
    struct cuda_left left;
    if (bytes) {
        const uint32_t taken = 1;
        cuda_buffers_read(bytes, length, &left, take_run, &taking);
        note_losses(&taking, &left);
        if (pwrite(fd, &taken, sizeof taken, offsetof(struct cuda_file_header, taken)) < 0)
            s->collector->stats.broken_segments++; /* `recover` would read it again */
    }
    free(bytes);
    close(fd);
    if (!(s->collector->flags & COLLECTOR_RECOVER))
        unlinkat(folder, name, 0);
}
