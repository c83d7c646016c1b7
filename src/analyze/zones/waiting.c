/* SPDX-License-Identifier: Apache-2.0 */
/* A name is taken apart at its last '.' or "::": the owner ("threading.Condition") and the word ("wait"). Some words
 * say it alone; others only together with the end of their owner: a queue's get waits, a dictionary's does not. */
#include "analyze/zones/waiting.h"

#include <string.h>

#include "base/count_of.h"

static const char *const words[] = {
    "sleep",        "usleep",
    "nanosleep",    "clock_nanosleep",
    "sleep_for",    "sleep_until",
    "wait",         "wait_for",
    "wait_until",   "timedwait",
    "wait3",        "wait4",
    "waitid",       "waitpid",
    "pause",        "sigwait",
    "sigwaitinfo",  "sigtimedwait",
    "select",       "pselect",
    "poll",         "ppoll",
    "epoll_wait",   "epoll_pwait",
    "kevent",       "accept",
    "accept4",      "recv",
    "recv_into",    "recvfrom",
    "recvmsg",      "recvmmsg",
    "recv_bytes",   "recvfrom_into",
    "acquire",      "lock",
    "futex",        "pthread_mutex_lock",
    "pthread_join", "pthread_cond_wait",
    "sem_wait",     "pthread_cond_timedwait",
    "mq_receive",   "pthread_rwlock_rdlock",
    "msgrcv",       "pthread_rwlock_wrlock",
    "communicate",  "pthread_barrier_wait",
    "idle",         "_wait_for_tstate_lock",
    "barrier",      "MPI_Barrier",
    "MPI_Wait",     "MPI_Waitall",
    "MPI_Recv",     "MPI_Probe",
    "synchronize",  "clFinish",
};

static const struct {
    const char *owner_end, *word;
} owned[] = {
    {"Queue", "get"},
    {"Queue", "put"},
    {"queue", "get"},
    {"queue", "pop"},
    {"Queue", "pop"},
    {"Thread", "join"},
    {"thread", "join"},
    {"Process", "join"},
    {"Pool", "join"},
    {"Executor", "shutdown"},
    {"Future", "result"},
    {"future", "get"},
    {"Lock", "__enter__"},
    {"Condition", "__enter__"},
    {"Semaphore", "__enter__"},
    /* Where Python's library blocks in the system call: what a wait, a recv or a read of a socket ends in. */
    {"Popen", "_wait"},
    {"Popen", "_try_wait"},
    {"Connection", "_recv"},
    {"SocketIO", "readinto"},
    {"SSLSocket", "read"},
    {"Hub", "run"}, /* gevent's loop */
};

/* Whole names: too common as the last word of others. */
static const char *const whole[] = {"join", "queue", "waiting"};

/* What people call a zone around such a call: "wait for data", "waiting: lock". */
static const char *const beginnings[] = {"wait ", "wait: ", "waiting ", "waiting: "};

static bool ends_with(const char *text, size_t length, const char *end)
{
    size_t end_length = strlen(end);
    return length >= end_length && memcmp(text + length - end_length, end, end_length) == 0;
}

/* What libraries in C call a function that waits: "uv_cond_wait", "chip_wait", "cudaDeviceSynchronize"; and
 * those that say that they do not wait. */
static bool is_waiting_word(const char *word)
{
    size_t length = strlen(word);
    return ends_with(word, length, "Synchronize") || ends_with(word, length, "_synchronize") ||
           (ends_with(word, length, "_wait") && !ends_with(word, length, "no_wait") &&
            !ends_with(word, length, "dont_wait") && !ends_with(word, length, "try_wait") &&
            !ends_with(word, length, "to_wait"));
}

bool waiting_is_name(const char *name)
{
    const char *dot = strrchr(name, '.'), *colon = strrchr(name, ':');
    const char *before = colon && (!dot || colon > dot) ? colon : dot;
    const char *word = before ? before + 1 : name;
    size_t owner_length = before ? (size_t)(before - name) : 0;
    while (owner_length && name[owner_length - 1] == ':') /* of "::" */
        owner_length--;
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strcmp(word, words[i]) == 0)
            return true;
    }
    if (is_waiting_word(word))
        return true;
    for (size_t i = 0; i < COUNT_OF(owned); i++) {
        if (strcmp(word, owned[i].word) == 0 && ends_with(name, owner_length, owned[i].owner_end))
            return true;
    }
    for (size_t i = 0; i < COUNT_OF(whole); i++) {
        if (strcmp(name, whole[i]) == 0)
            return true;
    }
    for (size_t i = 0; i < COUNT_OF(beginnings); i++) {
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    }
    return false;
}
