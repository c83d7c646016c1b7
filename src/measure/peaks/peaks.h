/* SPDX-License-Identifier: Apache-2.0 */
/* What a machine reaches: copy bandwidth and arithmetic rates, measured on it. Peaks are the best of several rounds. */
#ifndef OPSCOPE_MEASURE_PEAKS_PEAKS_H
#define OPSCOPE_MEASURE_PEAKS_PEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* FP16 is apart where it has a rate of its own, on CPUs: there the other type of 16 bits is BF16. */
enum peak_type { PEAK_8_BIT, PEAK_16_BIT, PEAK_TF32, PEAK_FP32, PEAK_FP64, PEAK_FP16, PEAK_TYPES };

#define PEAK_CACHES 2u /* L2, L3 */
struct peak_cache {
    double bytes, gb_s; /* of all of that level; 0: there is none, or it was not measured */
    char how[96];
};

struct peak {
    double tflops; /* of the whole machine; 0: not measured */
    char how[96];  /* "matrix product of FP8, 8192 x 8192 x 8192" */
};

struct peaks {
    char name[64]; /* of the device, as it calls itself */
    uint32_t cores;
    const char *core_unit; /* "SMs" */
    double copy_gb_s;      /* bytes read and written */
    char copy_how[96];
    double one_gb_s; /* the same by one thread; 0: not measured */
    struct peak_cache caches[PEAK_CACHES];
    double clock_mhz; /* of a CPU under load; 0: not known */
    struct peak rates[PEAK_TYPES];
    char notes[256]; /* what could not be measured, and why; "": nothing */
};

struct peaks_options {
    uint32_t threads;   /* of the CPU; 0: one for each CPU that this process may use */
    uint32_t device;    /* number of the CUDA device */
    double seconds;     /* for each figure */
    const char *folder; /* with CUDA's libraries; NULL: where they usually are */
};

int peaks_cpu(struct peaks *peaks, const struct peaks_options *options, struct error *err);
/* -ENODEV: no driver, or no device of that number. */
int peaks_cuda(struct peaks *peaks, const struct peaks_options *options, struct error *err);

#endif
