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

enum { ATTRIBUTE_SMS = 16, ATTRIBUTE_L2_BYTES = 38 };

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
    F(int, cuModuleLoadData, "cuModuleLoadData", (void **module, const void *image))                         \
    F(int, cuModuleUnload, "cuModuleUnload", (void *module))                                                 \
    F(int, cuModuleGetFunction, "cuModuleGetFunction", (void **function, void *module, const char *name))    \
    F(int, cuLaunchKernel, "cuLaunchKernel",                                                                 \
      (void *function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, unsigned threads_x,          \
       unsigned threads_y, unsigned threads_z, unsigned shared_bytes, void *stream, void **parameters,       \
       void **extra))                                                                                        \
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

/* --- L2 --- */

#define THREADS_OF_SM 2048u
#define THREADS_OF_BLOCK 1024u
#define EACH_READS 64u /* bytes of a thread in one go: four of 16 */
#define PASSES 50u

/* Threads read a buffer again and again, past L1 (.cg), four independent pieces at a time, of each thread a whole grid
 * apart. What they read is written where it makes a number that it never makes. */
static const char read_again[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry read_again(.param .u64 buffer, .param .u64 sink, .param .u32 goes, .param .u32 passes)\n"
    "{\n"
    ".reg .pred %p<3>;\n.reg .b32 %r<30>;\n.reg .b64 %rd<10>;\n"
    "ld.param.u64 %rd1, [buffer];\nld.param.u64 %rd2, [sink];\n"
    "ld.param.u32 %r1, [goes];\nld.param.u32 %r2, [passes];\n"
    "mov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\nmov.u32 %r5, %tid.x;\nmov.u32 %r6, %nctaid.x;\n"
    "mad.lo.u32 %r7, %r3, %r4, %r5;\n" /* this thread */
    "mul.lo.u32 %r8, %r6, %r4;\n"      /* all threads */
    "mul.wide.u32 %rd3, %r7, 16;\nmul.wide.u32 %rd4, %r8, 16;\n"
    "add.u64 %rd1, %rd1, %rd3;\n"
    "mov.u32 %r9, 0;\n"
    "PASS:\n"
    "mov.u64 %rd5, %rd1;\nmov.u32 %r10, %r1;\n"
    "GO:\n"
    "add.u64 %rd6, %rd5, %rd4;\nadd.u64 %rd7, %rd6, %rd4;\nadd.u64 %rd8, %rd7, %rd4;\n"
    "ld.global.cg.v4.u32 {%r11, %r12, %r13, %r14}, [%rd5];\n"
    "ld.global.cg.v4.u32 {%r15, %r16, %r17, %r18}, [%rd6];\n"
    "ld.global.cg.v4.u32 {%r19, %r20, %r21, %r22}, [%rd7];\n"
    "ld.global.cg.v4.u32 {%r23, %r24, %r25, %r26}, [%rd8];\n"
    "add.u64 %rd5, %rd8, %rd4;\n"
    "xor.b32 %r9, %r9, %r11;\nxor.b32 %r9, %r9, %r12;\nxor.b32 %r9, %r9, %r13;\nxor.b32 %r9, %r9, %r14;\n"
    "xor.b32 %r9, %r9, %r15;\nxor.b32 %r9, %r9, %r16;\nxor.b32 %r9, %r9, %r17;\nxor.b32 %r9, %r9, %r18;\n"
    "xor.b32 %r9, %r9, %r19;\nxor.b32 %r9, %r9, %r20;\nxor.b32 %r9, %r9, %r21;\nxor.b32 %r9, %r9, %r22;\n"
    "xor.b32 %r9, %r9, %r23;\nxor.b32 %r9, %r9, %r24;\nxor.b32 %r9, %r9, %r25;\nxor.b32 %r9, %r9, %r26;\n"
    "sub.u32 %r10, %r10, 1;\nsetp.ne.u32 %p1, %r10, 0;\n@%p1 bra GO;\n"
    "add.u32 %r9, %r9, %r10;\n"
    "sub.u32 %r2, %r2, 1;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra PASS;\n"
    "setp.eq.u32 %p2, %r9, 0x5eed5eed;\n@%p2 st.global.u32 [%rd2], %r9;\n"
    "ret;\n}\n";

struct reading {
    void *function;
    unsigned blocks;
    uint32_t goes; /* of each thread through half of the cache */
};

static int read_call(struct cuda *cuda, void *what)
{
    const struct reading *reading = what;
    uint64_t buffer = cuda->a, sink = cuda->d;
    uint32_t goes = reading->goes, passes = PASSES;
    void *parameters[] = {&buffer, &sink, &goes, &passes};
    return cuda->cuLaunchKernel(reading->function, reading->blocks, 1, 1, THREADS_OF_BLOCK, 1, 1, 0, NULL,
                                parameters, NULL);
}

/* The rate of reads that half of L2 holds. */
static void measure_l2(struct cuda *cuda, struct peaks *peaks, double seconds)
{
    struct reading reading = {.blocks = peaks->cores * (THREADS_OF_SM / THREADS_OF_BLOCK)};
    struct peak_cache *l2 = &peaks->caches[0];
    void *module = NULL;
    int bytes = 0;
    cuda->cuDeviceGetAttribute(&bytes, ATTRIBUTE_L2_BYTES, cuda->device);
    double sweep = (double)reading.blocks * THREADS_OF_BLOCK * EACH_READS;
    reading.goes = bytes > 0 ? (uint32_t)((double)bytes / 2 / sweep) : 0;
    reading.goes = reading.goes ? reading.goes : 1; /* an L2 that is smaller than what is under way */
    if (bytes <= 0 || sweep * reading.goes > (double)bytes ||
        cuda->cuModuleLoadData(&module, read_again) != 0)
        return;
    if (cuda->cuModuleGetFunction(&reading.function, module, "read_again") == 0) {
        double took = time_calls(cuda, read_call, &reading, seconds);
        double read = sweep * reading.goes * PASSES;
        if (took > 0)
            *l2 = (struct peak_cache){.bytes = bytes, .gb_s = read / took / 1e9};
        snprintf(l2->how, sizeof l2->how, "reads of %.1f MiB, again and again, past L1",
                 sweep * reading.goes / 1048576);
    }
    cuda->cuModuleUnload(module);
}

/* What is missing is said: a report without caches takes what comes from them for an op that cannot be. */
static void note_l2(struct peaks *peaks)
{
    if (!(peaks->caches[0].gb_s > 0))
        snprintf(peaks->notes, sizeof peaks->notes, "the rate of L2 could not be measured");
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
        size_t said = strlen(peaks->notes);
        snprintf(peaks->notes + said, sizeof peaks->notes - said,
                 "%scuBLAS (libcublasLt) %s: no matrix rates; --library FOLDER names where it is",
                 said ? "; " : "", cuda->cublas ? "cannot be used" : "was not found");
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
    if (status == 0) {
        measure_l2(&cuda, peaks, options->seconds);
        note_l2(peaks);
    }
    if (status == 0)
        measure_products(&cuda, peaks, options);
    close_driver(&cuda);
    return status;
}
