/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA device's peaks: copies inside its memory by the driver, and matrix products by cuBLAS (cublasLt), both opened
 * at run time: nothing of CUDA is needed to build this. Products have random values: zeros take less power, and with
 * that reach rates that no program sees. */
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "measure/peaks/peaks.h"

#define COPY_BYTES ((size_t)1 << 30)
#define SIDE 8192u
#define WORKSPACE_BYTES ((size_t)64 << 20)
#define RANDOM_BYTES ((size_t)8 << 20)

/* --- the driver --- */

enum { ATTRIBUTE_SMS = 16 };

#define DRIVER(F)                                                                                            \
    F(int, cuInit, "cuInit", (unsigned flags))                                                               \
    F(int, cuDeviceGet, "cuDeviceGet", (int *device, int number))                                            \
    F(int, cuDeviceGetName, "cuDeviceGetName", (char *name, int size, int device))                           \
    F(int, cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *value, int what, int device))                 \
    F(int, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (void **context, int device))               \
    F(int, cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (int device))                          \
    F(int, cuCtxSetCurrent, "cuCtxSetCurrent", (void *context))                                              \
    F(int, cuMemAlloc, "cuMemAlloc_v2", (uint64_t * address, size_t bytes))                                  \
    F(int, cuMemFree, "cuMemFree_v2", (uint64_t address))                                                    \
    F(int, cuMemcpyHtoD, "cuMemcpyHtoD_v2", (uint64_t to, const void *from, size_t bytes))                   \
    F(int, cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2",                                                        \
      (uint64_t to, uint64_t from, size_t bytes, void *stream))                                              \
    F(int, cuEventCreate, "cuEventCreate", (void **event, unsigned flags))                                   \
    F(int, cuEventDestroy, "cuEventDestroy_v2", (void *event))                                               \
    F(int, cuEventRecord, "cuEventRecord", (void *event, void *stream))                                      \
    F(int, cuEventSynchronize, "cuEventSynchronize", (void *event))                                          \
    F(int, cuEventElapsedTime, "cuEventElapsedTime", (float *ms, void *begin, void *end))

/* --- cuBLAS --- */

enum {
    TYPE_FP32 = 0,
    TYPE_FP64 = 1,
    TYPE_FP16 = 2,
    TYPE_INT8 = 3,
    TYPE_INT32 = 10,
    TYPE_BF16 = 14,
    TYPE_E4M3 = 28
};
enum { COMPUTE_FP32 = 68, COMPUTE_FP64 = 70, COMPUTE_INT32 = 72, COMPUTE_TF32 = 77 };
enum { DESCRIPTION_TRANSPOSE_A = 3, TRANSPOSED = 1, PREFERENCE_WORKSPACE = 1 };

struct heuristic {
    uint64_t algorithm[8];
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
};

#define CUBLAS(F)                                                                                            \
    F(int, cublasLtCreate, "cublasLtCreate", (void **handle))                                                \
    F(int, cublasLtDestroy, "cublasLtDestroy", (void *handle))                                               \
    F(int, cublasLtMatmulDescCreate, "cublasLtMatmulDescCreate",                                             \
      (void **description, int compute, int scale))                                                          \
    F(int, cublasLtMatmulDescDestroy, "cublasLtMatmulDescDestroy", (void *description))                      \
    F(int, cublasLtMatmulDescSetAttribute, "cublasLtMatmulDescSetAttribute",                                 \
      (void *description, int what, const void *value, size_t bytes))                                        \
    F(int, cublasLtMatrixLayoutCreate, "cublasLtMatrixLayoutCreate",                                         \
      (void **layout, int type, uint64_t rows, uint64_t columns, int64_t leading))                           \
    F(int, cublasLtMatrixLayoutDestroy, "cublasLtMatrixLayoutDestroy", (void *layout))                       \
    F(int, cublasLtMatmulPreferenceCreate, "cublasLtMatmulPreferenceCreate", (void **preference))            \
    F(int, cublasLtMatmulPreferenceDestroy, "cublasLtMatmulPreferenceDestroy", (void *preference))           \
    F(int, cublasLtMatmulPreferenceSetAttribute, "cublasLtMatmulPreferenceSetAttribute",                     \
      (void *preference, int what, const void *value, size_t bytes))                                         \
    F(int, cublasLtMatmulAlgoGetHeuristic, "cublasLtMatmulAlgoGetHeuristic",                                 \
      (void *handle, void *description, void *a, void *b, void *c, void *d, void *preference, int wanted,    \
       struct heuristic *results, int *found))                                                               \
    F(int, cublasLtMatmul, "cublasLtMatmul",                                                                 \
      (void *handle, void *description, const void *alpha, uint64_t a, void *a_layout, uint64_t b,           \
       void *b_layout, const void *beta, uint64_t c, void *c_layout, uint64_t d, void *d_layout,             \
       const uint64_t *algorithm, uint64_t workspace, size_t workspace_bytes, void *stream))

struct cuda {
#define FUNCTION(result, name, symbol, parameters) result(*name) parameters;
    DRIVER(FUNCTION)
    CUBLAS(FUNCTION)
#undef FUNCTION
    void *driver, *cublas;
    int device;
    void *context, *begin, *end, *handle;
    uint64_t a, b, d, workspace;
};

static bool find(void *place, void *library, const char *symbol)
{
    void *found = dlsym(library, symbol);
    memcpy(place, &found, sizeof found);
    return found != NULL;
}

/* Where wheels of PyPI, conda and CUDA's own installer put it; the newest that opens. */
static void *open_cublas(const char *folder)
{
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11",
                                        "libcublasLt.so"};
    static const char *const places[] = {
        "/usr/local/cuda/lib64",
        "/usr/local/lib/python3*/*-packages/nvidia/*/lib",
        "/usr/lib/python3*/*-packages/nvidia/*/lib",
        "/opt/*/lib/python3*/site-packages/nvidia/*/lib",
        "/opt/*/*/lib/python3*/site-packages/nvidia/*/lib",
    };
    void *library = NULL;
    for (size_t i = 0; !library && i < COUNT_OF(names); i++)
        library = folder ? NULL : dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; !library && i < (folder ? 1 : COUNT_OF(places)); i++) {
        for (size_t k = 0; !library && k < COUNT_OF(names); k++) {
            char pattern[4200];
            glob_t found;
            snprintf(pattern, sizeof pattern, "%s/%s", folder ? folder : places[i], names[k]);
            if (glob(pattern, 0, NULL, &found) != 0)
                continue;
            for (size_t j = 0; !library && j < found.gl_pathc; j++)
                library = dlopen(found.gl_pathv[j], RTLD_NOW | RTLD_LOCAL);
            globfree(&found);
        }
    }
    return library;
}

static int open_driver(struct cuda *cuda, const struct peaks_options *options, struct error *err)
{
    bool has_all = true;
    int status;
    cuda->driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!cuda->driver)
        return error_set(err, ENODEV, "there is no CUDA driver here (libcuda.so.1)");
#define FUNCTION(result, name, symbol, parameters) has_all &= find(&cuda->name, cuda->driver, symbol);
    DRIVER(FUNCTION)
#undef FUNCTION
    if (!has_all)
        return error_set(err, ENODEV, "the CUDA driver here is too old");
    if ((status = cuda->cuInit(0)) != 0 ||
        (status = cuda->cuDeviceGet(&cuda->device, (int)options->device)) != 0)
        return error_set(err, ENODEV, "there is no CUDA device %u (error %d of the driver)", options->device,
                         status);
    if ((status = cuda->cuDevicePrimaryCtxRetain(&cuda->context, cuda->device)) != 0 ||
        (status = cuda->cuCtxSetCurrent(cuda->context)) != 0 ||
        (status = cuda->cuEventCreate(&cuda->begin, 0)) != 0 ||
        (status = cuda->cuEventCreate(&cuda->end, 0)) != 0)
        return error_set(err, EIO, "the CUDA device cannot be used (error %d of the driver)", status);
    const struct {
        uint64_t *address;
        size_t bytes;
    } buffers[] = {{&cuda->a, COPY_BYTES},
                   {&cuda->b, COPY_BYTES},
                   {&cuda->d, COPY_BYTES},
                   {&cuda->workspace, WORKSPACE_BYTES}};
    for (size_t i = 0; i < COUNT_OF(buffers); i++) {
        if ((status = cuda->cuMemAlloc(buffers[i].address, buffers[i].bytes)) != 0)
            return error_set(err, ENOMEM,
                             "there is no room on the CUDA device for %zu MiB (error %d of the driver)",
                             buffers[i].bytes >> 20, status);
    }
    return 0;
}

static void close_driver(struct cuda *cuda)
{
    const uint64_t buffers[] = {cuda->a, cuda->b, cuda->d, cuda->workspace};
    for (size_t i = 0; i < COUNT_OF(buffers); i++)
        if (buffers[i])
            cuda->cuMemFree(buffers[i]);
    if (cuda->handle)
        cuda->cublasLtDestroy(cuda->handle);
    if (cuda->begin)
        cuda->cuEventDestroy(cuda->begin);
    if (cuda->end)
        cuda->cuEventDestroy(cuda->end);
    if (cuda->context)
        cuda->cuDevicePrimaryCtxRelease(cuda->device);
}

/* Seconds that one call takes on the device: as many as fit into the time that was given, and a first one for nothing.
 * 0: it failed. */
static double time_calls(struct cuda *cuda, int (*call)(struct cuda *cuda, void *what), void *what,
                         double seconds)
{
    double best = 0, one = 0;
    for (unsigned round = 0; round < 4; round++) {
        unsigned count = one > 0 ? (unsigned)(seconds / 3 / one) + 1 : 1;
        float ms = 0;
        cuda->cuEventRecord(cuda->begin, NULL);
        for (unsigned i = 0; i < count; i++)
            if (call(cuda, what) != 0)
                return 0;
        cuda->cuEventRecord(cuda->end, NULL);
        if (cuda->cuEventSynchronize(cuda->end) != 0 ||
            cuda->cuEventElapsedTime(&ms, cuda->begin, cuda->end) != 0 || ms <= 0)
            return 0;
        one = (double)ms / 1e3 / count;
        if (round && (best == 0 || one < best)) /* the first loads code */
            best = one;
    }
    return best;
}

static int copy_call(struct cuda *cuda, void *unused)
{
    (void)unused;
    return cuda->cuMemcpyDtoDAsync(cuda->b, cuda->a, COPY_BYTES, NULL);
}

/* --- products --- */

struct product {
    enum peak_type peak;
    int type, compute, scale, result;
    const char *name;
    uint8_t bytes;
    uint32_t keep, set; /* of each element's random bits: values between 1/4 and 1 with either sign */
};

static const struct product products[] = {
    {PEAK_8_BIT, TYPE_E4M3, COMPUTE_FP32, TYPE_FP32, TYPE_BF16, "FP8", 1, 0x8f, 0x28},
    {PEAK_8_BIT, TYPE_INT8, COMPUTE_INT32, TYPE_INT32, TYPE_INT32, "INT8", 1, 0xff, 0},
    {PEAK_16_BIT, TYPE_BF16, COMPUTE_FP32, TYPE_FP32, TYPE_BF16, "BF16", 2, 0x80ff, 0x3e80},
    {PEAK_16_BIT, TYPE_FP16, COMPUTE_FP32, TYPE_FP32, TYPE_FP16, "FP16", 2, 0x87ff, 0x3400},
    {PEAK_TF32, TYPE_FP32, COMPUTE_TF32, TYPE_FP32, TYPE_FP32, "TF32", 4, 0x80ffffff, 0x3e800000},
    {PEAK_FP32, TYPE_FP32, COMPUTE_FP32, TYPE_FP32, TYPE_FP32, "FP32", 4, 0x80ffffff, 0x3e800000},
};

static int fill(struct cuda *cuda, const struct product *p)
{
    uint32_t *values = malloc(RANDOM_BYTES), state = 12345;
    int status = 0;
    size_t bytes = (size_t)SIDE * SIDE * p->bytes;
    uint32_t keep = p->bytes == 1 ? p->keep * 0x01010101u : p->bytes == 2 ? p->keep * 0x00010001u : p->keep;
    uint32_t set = p->bytes == 1 ? p->set * 0x01010101u : p->bytes == 2 ? p->set * 0x00010001u : p->set;
    for (size_t i = 0; values && i < RANDOM_BYTES / sizeof *values; i++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        values[i] = (state & keep) | set;
    }
    for (size_t at = 0; values && status == 0 && at < bytes; at += RANDOM_BYTES) {
        size_t part = bytes - at < RANDOM_BYTES ? bytes - at : RANDOM_BYTES;
        status = cuda->cuMemcpyHtoD(cuda->a + at, values, part);
        if (status == 0)
            status = cuda->cuMemcpyHtoD(cuda->b + at, values, part);
    }
    free(values);
    return values ? status : -1;
}

struct plan {
    const struct product *product;
    void *description, *a, *b, *d, *preference;
    struct heuristic best;
};

static int product_call(struct cuda *cuda, void *what)
{
    const struct plan *plan = what;
    const float one = 1, zero = 0;
    const int32_t whole_one = 1, whole_zero = 0;
    bool is_whole = plan->product->scale == TYPE_INT32;
    return cuda->cublasLtMatmul(cuda->handle, plan->description, is_whole ? (const void *)&whole_one : &one,
                                cuda->a, plan->a, cuda->b, plan->b,
                                is_whole ? (const void *)&whole_zero : &zero, cuda->d, plan->d, cuda->d,
                                plan->d, plan->best.algorithm, cuda->workspace, WORKSPACE_BYTES, NULL);
}

/* TFLOP/s of a product; 0: this device or this cuBLAS has none of that type. */
static double measure_product(struct cuda *cuda, const struct product *p, double seconds)
{
    struct plan plan = {.product = p};
    const int32_t transposed = TRANSPOSED;
    const size_t room = WORKSPACE_BYTES;
    int found = 0;
    double took = 0;
    bool is_ready =
        cuda->cublasLtMatmulDescCreate(&plan.description, p->compute, p->scale) == 0 &&
        cuda->cublasLtMatmulDescSetAttribute(plan.description, DESCRIPTION_TRANSPOSE_A, &transposed,
                                             sizeof transposed) == 0 &&
        cuda->cublasLtMatrixLayoutCreate(&plan.a, p->type, SIDE, SIDE, SIDE) == 0 &&
        cuda->cublasLtMatrixLayoutCreate(&plan.b, p->type, SIDE, SIDE, SIDE) == 0 &&
        cuda->cublasLtMatrixLayoutCreate(&plan.d, p->result, SIDE, SIDE, SIDE) == 0 &&
        cuda->cublasLtMatmulPreferenceCreate(&plan.preference) == 0 &&
        cuda->cublasLtMatmulPreferenceSetAttribute(plan.preference, PREFERENCE_WORKSPACE, &room,
                                                   sizeof room) == 0 &&
        cuda->cublasLtMatmulAlgoGetHeuristic(cuda->handle, plan.description, plan.a, plan.b, plan.d, plan.d,
                                             plan.preference, 1, &plan.best, &found) == 0 &&
        found && fill(cuda, p) == 0;
    if (is_ready)
        took = time_calls(cuda, product_call, &plan, seconds);
    if (plan.preference)
        cuda->cublasLtMatmulPreferenceDestroy(plan.preference);
    void *layouts[] = {plan.a, plan.b, plan.d};
    for (size_t i = 0; i < COUNT_OF(layouts); i++)
        if (layouts[i])
            cuda->cublasLtMatrixLayoutDestroy(layouts[i]);
    if (plan.description)
        cuda->cublasLtMatmulDescDestroy(plan.description);
    return took > 0 ? 2.0 * SIDE * SIDE * SIDE / took / 1e12 : 0;
}

static void measure_products(struct cuda *cuda, struct peaks *peaks, const struct peaks_options *options)
{
    bool has_all = (cuda->cublas = open_cublas(options->folder)) != NULL;
#define FUNCTION(result, name, symbol, parameters)                                                           \
    has_all = has_all && find(&cuda->name, cuda->cublas, symbol);
    CUBLAS(FUNCTION)
#undef FUNCTION
    if (!has_all || cuda->cublasLtCreate(&cuda->handle) != 0) {
        snprintf(peaks->notes, sizeof peaks->notes,
                 "cuBLAS (libcublasLt) %s: no matrix rates; --library FOLDER names where it is",
                 cuda->cublas ? "cannot be used" : "was not found");
        return;
    }
    for (size_t i = 0; i < COUNT_OF(products); i++) {
        const struct product *p = &products[i];
        double tflops = measure_product(cuda, p, options->seconds);
        struct peak *peak = &peaks->rates[p->peak];
        if (tflops <= peak->tflops)
            continue;
        peak->tflops = tflops;
        snprintf(peak->how, sizeof peak->how, "%s product, %u x %u x %u, cuBLAS, random values", p->name,
                 SIDE, SIDE, SIDE);
    }
}

int peaks_cuda(struct peaks *peaks, const struct peaks_options *options, struct error *err)
{
    struct cuda cuda = {0};
    int sms = 0;
    *peaks = (struct peaks){.core_unit = "SMs"};
    int status = open_driver(&cuda, options, err);
    if (status == 0) {
        cuda.cuDeviceGetName(peaks->name, sizeof peaks->name, cuda.device);
        cuda.cuDeviceGetAttribute(&sms, ATTRIBUTE_SMS, cuda.device);
        peaks->cores = sms > 0 ? (uint32_t)sms : 1;
        double took = time_calls(&cuda, copy_call, NULL, options->seconds);
        peaks->copy_gb_s = took > 0 ? 2.0 * COPY_BYTES / took / 1e9 : 0;
        snprintf(peaks->copy_how, sizeof peaks->copy_how,
                 "copy of 1 GiB inside the device's memory, read and written");
        if (took <= 0)
            status = error_set(err, EIO, "a copy inside the CUDA device's memory failed");
    }
    if (status == 0)
        measure_products(&cuda, peaks, options);
    close_driver(&cuda);
    return status;
}
