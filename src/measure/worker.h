/* SPDX-License-Identifier: Apache-2.0 */
/* A worker: a child process that holds ops and times calls of them, asked over a pair of pipes of its own (its standard
 * streams belong to the ops). One JSON object per line, one answer per question:
 *
 *     {"do":"list"}
 *         {"provider":"torch","version":"1.13.1","pid":123,"tid":123,"loop_ns":41.5,"description":"...",
 *          "ops":[{"name":"torch.add","group":"binary","reason":null},...]}
 *     {"do":"measure","op":"torch.add","calls":20,"repeats":5,"warmup":5,"first":true,"trace":false,
 *      "limit_ns":30000000000}
 *         {"op":"torch.add","dispatch_ns":[...],"total_ns":[...],"windows":[[start,end],...],
 *          "error":null,"left_out":null,"is_memory":false,"is_early":false,"slow_ns":0}
 *     {"do":"quit"}
 *
 * dispatch_ns and total_ns have one figure per repeat: ns per call, the loop's cost included. windows, when a trace is
 * recorded, say when the calls of dispatch_ns were made (CLOCK_MONOTONIC_RAW). An answer to "list" with "error"
 * instead of "ops" says why there are none. */
#ifndef OPSCOPE_MEASURE_WORKER_H
#define OPSCOPE_MEASURE_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/error.h"
#include "text/json/reader.h"

struct worker {
    pid_t pid;       /* the process we started: the worker, or `opscope run` around it */
    pid_t inner_pid; /* the worker itself; 0 until it has said so */
    int to, from;
    int wait_status; /* once it has ended */
    bool is_running;
    struct bytes buffer; /* what was read, the newest answer first */
    size_t line_length;  /* of that answer, to be dropped before the next */
};

struct worker_options {
    char *const *argv;   /* "{fds}" stands for the two descriptors, as "5,6" */
    const char *package; /* put first on PYTHONPATH; may be NULL */
    int cpu;             /* < 0: not pinned */
    bool is_recorded;    /* argv begins with opscope run: it is given time to finish its trace */
};

enum worker_answer {
    WORKER_ANSWERED = 0,
    WORKER_SILENT = 1 /* at the time limit; killed */,
    WORKER_DIED = 2
};

int worker_start(struct worker *w, const struct worker_options *options, struct error *err);

/* Asks, and reads the answer into `document`, whose texts live until the next question. After anything but
 * WORKER_ANSWERED the process has been waited for. A negative errno: the answer is not JSON, or there is no memory;
 * the worker has been killed. */
int worker_ask(struct worker *w, const char *question, uint64_t limit_ns, struct json_document *document,
               struct error *err);

/* Asks it to quit, gives it `grace_ns`, and kills it then. Frees everything. */
void worker_end(struct worker *w, uint64_t grace_ns);

#endif
