/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of `opscope doctor`. Each adds rows: what was looked at, how it stands, what was found, and what to
 * do or what it means. */
#ifndef OPSCOPE_DOCTOR_DOCTOR_H
#define OPSCOPE_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "present/table.h"

enum doctor_status {
    DOCTOR_OK,
    DOCTOR_INFO, /* neither good nor bad */
    DOCTOR_WARN, /* works, but slower, smaller or with something missing */
    DOCTOR_FAIL, /* opscope cannot record or read here */
};

struct doctor {
    struct table table;
    unsigned warnings, failures;
};

void doctor_add(struct doctor *doctor, const char *check, enum doctor_status status, const char *advice,
                const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Is our adapter there, and is its variable free? Its path is put into `path`. */
bool doctor_check_adapter(struct doctor *doctor, const char *check, const char *library, const char *variable,
                          char *path, size_t size);
/* May this user read and write that file? If it is there and not, a row says so. */
bool doctor_check_access(struct doctor *doctor, const char *check, const char *file);
/* The name of the tool that has such a library; NULL: not known. */
const char *doctor_tool_of(const char *library);

void doctor_check_build(struct doctor *doctor);    /* versions, libraries, the recorder library */
void doctor_check_sessions(struct doctor *doctor); /* folders, free space, sessions left behind */
void doctor_check_kernel(struct doctor *doctor);   /* madvise, inotify, limits, priority */
void doctor_check_clock(struct doctor *doctor);
void doctor_check_memory(struct doctor *doctor);  /* cgroup */
void doctor_check_devices(struct doctor *doctor); /* adapters for runtimes of devices, and rival tools */
void doctor_check_opencl(struct doctor *doctor);
void doctor_check_torch(struct doctor *doctor); /* observers of PyTorch's ops */

#endif
