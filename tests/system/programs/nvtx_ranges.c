/* SPDX-License-Identifier: Apache-2.0 */
/* What NVTX programs do, right and wrong, by name of the case. Built with a stand-in for NVIDIA's header; the test
 * compiles it with that header, too, where it is (-DREAL_NVTX). */
#ifdef REAL_NVTX
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#else
#include "../../../examples/nvtx/nvtx_minimal.h"
#endif

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static nvtxEventAttributes_t event_of(const char *message)
{
    nvtxEventAttributes_t event = {0};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = message;
    return event;
}

static void nested(void)
{
    char buffer[16];
    for (int i = 0; i < 3; i++) {
        printf("%d", nvtxRangePushA("outer"));
        snprintf(buffer, sizeof buffer, "inner %d", i); /* one address, three texts */
        printf("%d", nvtxRangePushA(buffer));
        printf("%d", nvtxRangePop());
        printf("%d\n", nvtxRangePop());
    }
}

static void attributes(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
    nvtxEventAttributes_t event = event_of("with all");
    nvtxDomainNameCategoryA(domain, 7, "io");
    event.category = 7;
    event.colorType = NVTX_COLOR_ARGB;
    event.color = 0xff123456;
    event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    event.payload.ullValue = 42;
    for (int i = 0; i < 2; i++) {
        nvtxDomainRangePushEx(domain, &event);
        nvtxDomainRangePop(domain);
    }
    event = event_of(NULL);
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    event.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    event.payload.dValue = -1.5;
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePop(domain);
    event.message.registered = (nvtxStringHandle_t)(uintptr_t)0xdeadbeef; /* never registered */
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePop(domain);
    event = event_of("a mark");
    event.category = 7;
    nvtxDomainMarkEx(domain, &event);
    nvtxMarkA("plain mark");
    nvtxNameCudaStreamA((void *)(uintptr_t)0x123, "copies");
    nvtxDomainDestroy(domain);
    nvtxRangePushEx(&(nvtxEventAttributes_t){0});
    nvtxRangePop();
}

static void texts(void)
{
    static char large[100000];
    memset(large, 'x', sizeof large - 1);
    nvtxRangePushW(L"gr\u00f6\u00dfe \u65e5\u672c");
    nvtxRangePop();
    nvtxRangePushA("latin \xe4\xff");
    nvtxRangePop();
    nvtxRangePushA(large);
    nvtxRangePop();
    nvtxRangePushA("");
    nvtxRangePop();
}

/* As torch's emit_nvtx: the numbers are of the call, and never the same. */
static void torch(void)
{
    char buffer[128];
    for (int i = 0; i < 3; i++) {
        snprintf(buffer, sizeof buffer, "aten::linear, seq = %d, op_id = %d, sizes = [[2, 3], [4, 3]]", i,
                 10 * i);
        nvtxRangePushA(buffer);
        snprintf(buffer, sizeof buffer, "aten::t, op_id = %d", 10 * i + 1);
        nvtxRangePushA(buffer);
        nvtxRangePop();
        nvtxRangePop();
    }
    nvtxRangePushA("a, seq = of something else");
    nvtxRangePop();
}

/* Steps of which two lie between marks. */
static void marks(void)
{
    for (int i = 0; i < 5; i++) {
        if (i == 1)
            nvtxMarkA("go");
        if (i == 3)
            nvtxMarkA("stop");
        nvtxRangePushA("step");
        nvtxRangePop();
    }
}

/* Messages that are not there, of each type, before anything else is known of the thread. */
static void without_messages(void)
{
    const int types[] = {NVTX_MESSAGE_TYPE_ASCII, NVTX_MESSAGE_TYPE_UNICODE, NVTX_MESSAGE_TYPE_REGISTERED};
    for (int twice = 0; twice < 2; twice++) {
        for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
            nvtxEventAttributes_t event = event_of(NULL);
            event.messageType = types[i];
            printf("%d", nvtxRangePushEx(&event));
            printf("%d", nvtxRangePop());
        }
    }
    printf("\n");
}

static void unbalanced(void)
{
    printf("%s\n", nvtxRangePop() < 0 ? "nothing to pop" : "popped");
    for (int i = 0; i < 3; i++)
        nvtxRangePushA("left open");
    nvtxDomainHandle_t a = nvtxDomainCreateA("a"), b = nvtxDomainCreateA("b");
    nvtxEventAttributes_t first = event_of("first"), second = event_of("second");
    nvtxDomainRangePushEx(a, &first);
    nvtxDomainRangePushEx(b, &second);
    printf("%d", nvtxDomainRangePop(a));
    printf("%d\n", nvtxDomainRangePop(b));
    printf("%s\n", nvtxDomainRangePop(b) < 0 ? "nothing to pop" : "popped");
}

static nvtxRangeId_t handed_over;

static void *end_it(void *unused)
{
    (void)unused;
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "the other");
    nvtxRangePushA("on the other");
    nvtxRangePop();
    nvtxRangeEnd(handed_over);
    return NULL;
}

static void threads(void)
{
    nvtxRangeId_t crossing = nvtxRangeStartA("crossing");
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        handed_over = nvtxRangeStartA("handed over");
        if (pthread_create(&thread, NULL, end_it, NULL) == 0)
            pthread_join(thread, NULL);
    }
    nvtxRangeEnd(crossing);
    nvtxRangeEnd(crossing); /* once more, and one that never was */
    nvtxRangeEnd(12345);
}

static pthread_barrier_t barrier;
static uint32_t other_tid;

static void *work_and_wait(void *unused)
{
    (void)unused;
    other_tid = (uint32_t)syscall(SYS_gettid);
    for (int i = 0; i < 2; i++) {
        nvtxRangePushA("work");
        nvtxRangePop();
        pthread_barrier_wait(&barrier); /* has worked */
        pthread_barrier_wait(&barrier); /* may go on */
    }
    return NULL;
}

/* A thread that has used NVTX already is named by another one, twice. */
static void names(void)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    if (pthread_create(&thread, NULL, work_and_wait, NULL) != 0)
        return;
    pthread_barrier_wait(&barrier);
    nvtxNameOsThreadA(other_tid, "too early");
    nvtxNameOsThreadA(other_tid, "loader");
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
}

static void forks(void)
{
    nvtxRangePushA("before the fork");
    pid_t child = fork();
    if (child == 0) {
        nvtxRangePushA("in the child");
        nvtxRangePop();
        nvtxRangePop(); /* the parent's: ends nothing here */
        nvtxRangePushA("in the child");
        nvtxRangePop();
        _exit(0);
    }
    waitpid(child, NULL, 0);
    nvtxRangePop();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"nested", nested},   {"attributes", attributes},
                 {"texts", texts},     {"unbalanced", unbalanced},
                 {"threads", threads}, {"forks", forks},
                 {"torch", torch},     {"without_messages", without_messages},
                 {"marks", marks},     {"names", names}};
    for (int i = 1; i < argc; i++) {
        for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
            if (strcmp(argv[i], cases[k].name) == 0)
                cases[k].run();
    }
    return 0;
}
