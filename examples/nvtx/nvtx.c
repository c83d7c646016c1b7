/* SPDX-License-Identifier: Apache-2.0 */
/* A program that is marked up with NVTX alone: it knows nothing of opscope, needs no GPU, and is recorded as it is.
 *
 *     opscope run -o nvtx.opscope build/examples/nvtx
 *     opscope zones nvtx.opscope
 *
 * A loop of steps: ranges that nest, a range of a domain of its own with category, colour and payload, a range that is
 * begun by one thread and ended by another, marks, and a named thread. */
#if defined(__has_include)
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define HAS_NVTX
#endif
#endif
#ifndef HAS_NVTX
#include "nvtx_minimal.h"
#endif

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STEPS = 5, BATCH = 20000, CATEGORY_LOADER = 1 };

static double work(double seed)
{
    for (int i = 0; i < BATCH; i++)
        seed = sqrt(seed * seed + 1.0 / (1 + i));
    return seed;
}

struct request {
    nvtxRangeId_t range;
    double value;
};

static void *answer(void *data)
{
    struct request *request = data;
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "answering");
    nvtxRangePushA("answer");
    request->value = work(request->value);
    nvtxRangePop();
    nvtxRangeEnd(request->range);
    return NULL;
}

static double load(nvtxDomainHandle_t domain, uint64_t step)
{
    nvtxEventAttributes_t event = {0};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.category = CATEGORY_LOADER;
    event.colorType = NVTX_COLOR_ARGB;
    event.color = 0xff76b900;
    event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    event.payload.ullValue = step;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = "load batch";
    nvtxDomainRangePushEx(domain, &event);
    double value = work((double)step);
    nvtxDomainRangePop(domain);
    return value;
}

int main(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("loader");
    double sum = 0;
    nvtxDomainNameCategoryA(domain, CATEGORY_LOADER, "input");
    for (uint64_t step = 0; step < STEPS; step++) {
        nvtxRangePushA("step");
        double value = load(domain, step);
        nvtxRangePushA("forward");
        sum += work(value);
        nvtxRangePop();
        nvtxRangePop();
        nvtxMarkA("step done");
    }
    struct request request = {.range = nvtxRangeStartA("request"), .value = sum};
    pthread_t thread;
    if (pthread_create(&thread, NULL, answer, &request) == 0)
        pthread_join(thread, NULL);
    nvtxDomainDestroy(domain);
    printf("%.3f\n", request.value);
    return 0;
}
