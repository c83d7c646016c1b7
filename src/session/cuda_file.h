/* SPDX-License-Identifier: Apache-2.0 */
/* The file in which CUPTI writes the records of one process, in the session's folder: FOLDER/<segment>.<pid>.cuda.
 *
 *   header | buffers' states | streams | launches | graph nodes | buffers
 *
 * CUPTI gets its buffers in this file and writes in place: a record when a kernel is launched, with all but its times
 * and with bit 31 of its kind set («open»); the times, and that bit, when it has fetched them from the device. So a
 * process that is killed leaves every kernel here that it has not yet handed over. What a record does not say by
 * itself, or says by addresses of the dead process, is beside it, under the numbers that a record has: the track of its
 * stream, the op and the name of its launch (by correlation id), those of the node of a graph. Names and tracks are ids
 * of the process's segment.
 *
 * The process writes, the collector reads when the process has ended (and sets `taken`), and trusts nothing. */
#ifndef OPSCOPE_SESSION_CUDA_FILE_H
#define OPSCOPE_SESSION_CUDA_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define CUDA_FILE_SUFFIX ".cuda"
#define CUDA_FILE_MAGIC UINT64_C(0x314144554353504f) /* "OPSCUDA1" */
#define CUDA_FILE_VERSION 2u

#define CUDA_BUFFER_BYTES ((size_t)64 << 10) /* 300 kernels: handed over within 2 ms under load */
#define CUDA_BUFFERS 1024u
#define CUDA_STREAMS 4096u
#define CUDA_LAUNCHES (1u << 17) /* correlation ids in flight; a call that is not a launch takes one, too */
#define CUDA_NODE_PAGES 4096u    /* 524,288 nodes of graphs, captured ones and clones */
#define CUDA_NODE_PAGE_BYTES 4096u
#define CUDA_NODES_OF_PAGE 128u
#define CUDA_NODE_PROBES 16u
#define CUDA_KINDS 64u

#define CUDA_RECORD_OPEN UINT32_C(0x80000000)
/* Kinds that are recorded: CUpti_ActivityKind. */
#define CUDA_KIND_MEMCPY 1u
#define CUDA_KIND_MEMSET 2u
#define CUDA_KIND_KERNEL 10u
#define CUDA_KIND_PEER_COPY 22u

struct cuda_file_header {
    uint64_t magic;
    uint32_t version;
    uint32_t pid;
    uint32_t cupti_version;
    uint32_t buffers_used; /* buffers [0, this) have had memory */
    uint32_t stream_count;
    uint32_t taken;               /* by the collector */
    uint32_t strides[CUDA_KINDS]; /* bytes of a record by kind; 0: not known */
    uint64_t dropped;             /* records that CUPTI had no buffer for */
    uint64_t without_launch;      /* whose launch was no longer among `launches` */
    uint64_t delivered;           /* handed to the recorder */
    uint64_t delivering; /* `delivered` of the record under way, + 1; equal to delivered when none is */
};

enum cuda_buffer_state { CUDA_BUFFER_FREE = 0, CUDA_BUFFER_LENT = 1 };
struct cuda_buffer {
    uint32_t state; /* enum cuda_buffer_state */
    uint32_t done;  /* bytes whose records have been handed to the recorder */
};

struct cuda_stream {
    uint32_t device, context, stream;
    uint32_t track; /* id in the segment; stored last */
};

struct cuda_launch {
    uint64_t call; /* the op it was made in; 0 = none */
    uint32_t name; /* id in the segment; 0 = not known */
    uint32_t correlation;
    uint32_t session;   /* number of the replay, for the launch of a graph */
    uint32_t is_paused; /* made while recording was paused: its record is not shown */
};

struct cuda_node {
    uint64_t id;
    uint64_t call;
    uint32_t name;
    uint32_t order; /* of creation: the oldest makes room */
};

struct cuda_file_layout {
    size_t states, streams, launches, nodes, buffers, total;
};

static inline struct cuda_file_layout cuda_file_layout(void)
{
    struct cuda_file_layout l = {.states = 4096};
    l.streams = l.states + CUDA_BUFFERS * sizeof(struct cuda_buffer);
    l.launches = l.streams + CUDA_STREAMS * sizeof(struct cuda_stream);
    l.nodes = l.launches + CUDA_LAUNCHES * sizeof(struct cuda_launch);
    l.buffers = l.nodes + (size_t)CUDA_NODE_PAGES * CUDA_NODE_PAGE_BYTES;
    l.total = l.buffers + CUDA_BUFFERS * CUDA_BUFFER_BYTES;
    return l;
}

_Static_assert(sizeof(struct cuda_file_header) <= 4096, "header");
_Static_assert(sizeof(struct cuda_buffer) * CUDA_BUFFERS % 4096 == 0, "streams begin with a page");
_Static_assert(sizeof(struct cuda_stream) * CUDA_STREAMS % 4096 == 0, "launches begin with a page");
_Static_assert(sizeof(struct cuda_launch) * CUDA_LAUNCHES % 4096 == 0, "nodes begin with a page");
_Static_assert(sizeof(struct cuda_node) * CUDA_NODES_OF_PAGE <= CUDA_NODE_PAGE_BYTES, "nodes of a page");

/* Where a node's entry may be, from the first of them on: nodes of one graph have neighbouring ids and share pages. */
static inline size_t cuda_node_offset(uint64_t id, uint32_t probe)
{
    uint64_t group = id / CUDA_NODES_OF_PAGE;
    uint64_t page =
        hash_mix(group ^ UINT64_C(0x9e3779b97f4a7c15), 2 * (uint64_t)probe + UINT64_C(0xd6e8feb86659fd93));
    return (page % CUDA_NODE_PAGES) * CUDA_NODE_PAGE_BYTES +
           id % CUDA_NODES_OF_PAGE * sizeof(struct cuda_node);
}

#endif
