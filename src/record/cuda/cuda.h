/* SPDX-License-Identifier: Apache-2.0 */
/* The adapter for CUDA: libopscope_cuda.so, which the driver loads into the program (CUDA_INJECTION64_PATH).
 *
 * Three threads meet here:
 *   - the program's, in callbacks of the driver's calls (calls.c): which op makes this launch, and what is its name;
 *   - CUPTI's own, with buffers of records that have got their times (deliver.c): it makes runs of them;
 *   - ours (flush.c), which asks CUPTI every 10 ms to fetch the times of what has ended.
 * What they share is the file of session/cuda_file.h. Nothing here may fail loudly: the program goes on as it was. */
#ifndef OPSCOPE_RECORD_CUDA_CUDA_H
#define OPSCOPE_RECORD_CUDA_CUDA_H

#include <stdbool.h>

#include "opscope/opscope.h"
#include "record/cuda/abi.h"
#include "session/cuda_file.h"
#include "session/cuda_record.h"

#define CUDA_DEVICES 64u
#define CUDA_NANOSECONDS 1e9 /* ticks of a device: CUPTI converts its times to CLOCK_MONOTONIC_RAW */

struct cuda_state {
    struct cupti cupti;
    struct cuda_driver driver;
    void *subscriber;
    uint8_t *file; /* NULL: none; memory of struct cuda_file_layout */
    struct cuda_file_header *header;
    struct cuda_file_layout layout;
    int owner_pid;
    bool is_active;        /* launches are recorded */
    bool is_off;           /* by hand: cuda_set_active */
    bool is_over;          /* the program is at its end, or a child of it: CUPTI is not called any more */
    uint32_t was_launched; /* since the last flush */
    uint32_t replays;      /* of graphs, so far */
    uint32_t node_order;
};
extern struct cuda_state cuda;

/* library.c: finding libcupti */
bool library_load(struct cuda_state *state, char *text, size_t size); /* text: its path, or what is wrong */

/* file.c: the file, its buffers and tables */
bool file_open(struct cuda_state *state, char *trouble, size_t size);
uint8_t *file_lend_buffer(void); /* zeroed; NULL: none is free */
void file_take_back(uint8_t *buffer, size_t used);
struct cuda_buffer *file_buffer_state(const uint8_t *buffer); /* NULL: not one of ours */
uint32_t file_open_records(void);
void file_put_launch(uint32_t correlation, uint64_t call, uint32_t name, uint32_t session);
void file_put_paused_launch(uint32_t correlation);
bool file_get_launch(uint32_t correlation, struct cuda_launch *out);
void file_put_node(uint64_t id, uint64_t call, uint32_t name);
bool file_get_node(uint64_t id, struct cuda_node *out);

/* names.c: names of kernels */
struct kernel_name {
    const char *text; /* demangled where that can be done; stays */
    uint32_t id;      /* in the segment */
};
struct kernel_name kernel_name_of(const void *key, const char *symbol);

/* calls.c: callbacks */
cupti_callback_fn call_back;
void calls_enable(void);

/* memory.c: a release that begins (true: it is recorded); an allocation, or another release, that succeeded */
bool memory_releases(const struct cupti_call *call);
void memory_called(const struct cupti_call *call, unsigned kind);

/* tracks.c: devices and streams */
void tracks_expect_context(void *context);
void tracks_expect_stream(void *context, void *stream);
void tracks_make_expected(void); /* on our own thread */
uint32_t tracks_of(uint32_t device, uint32_t context, uint32_t stream);
uint32_t tracks_multiprocessors(uint32_t device);
void tracks_sync_clocks(void);
OPSCOPE_API int opscope_cuda_name_stream_(void *handle, const char *name); /* 0: it is not known */
uint32_t device_of_context(void *context, uint32_t context_id);

/* deliver.c */
cupti_request_fn buffer_requested;
cupti_complete_fn buffer_completed;

/* flush.c */
void flush_start(void);
void flush_finish(void); /* at the end of the program: until nothing is open any more */
void flush_on_leave(int is_over);

/* inject.c */
/* Records of kernels, copies and sets: on or off, exactly from here on. Switched off by hand they stay off. */
void cuda_set_active(bool is_active);
void cuda_pause(void);
bool cuda_resume(void);                   /* false: off by hand */
void cuda_profiler_called(bool is_start); /* cuProfilerStart or cuProfilerStop */
void cuda_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
