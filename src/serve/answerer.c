/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/answerer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct job_list {
    struct job *first, *last;
};

struct answerer {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t given;
    struct job_list waiting, done;
    int event;
    bool is_started, is_ending;
    struct query query;    /* of the thread */
    struct job *now;       /* what is being answered; NULL */
    uint64_t zones_before; /* that had been read of its trace */
};

static void append(struct job_list *list, struct job *job)
{
    job->next = NULL;
    *(list->last ? &list->last->next : &list->first) = job;
    list->last = job;
}

static struct job *take_first(struct job_list *list)
{
    struct job *job = list->first;
    if (job) {
        list->first = job->next;
        if (!list->first)
            list->last = NULL;
    }
    return job;
}

void job_free(struct job *job)
{
    if (job->closes_trace) {
        serve_trace_close(job->trace);
        free(job->trace);
    }
    free(job->target);
    bytes_free(&job->out);
    free(job);
}

/* Every block that is read asks whether somebody still waits. */
static void set_stop(const struct job *job, const bool *stop)
{
    trace_set_stop(job->trace->trace, stop);
    if (job->other)
        trace_set_stop(job->other->trace, stop);
}

static void answer(struct answerer *answerer, struct job *job)
{
    if (!job->entry || __atomic_load_n(&job->is_cancelled, __ATOMIC_RELAXED))
        return;
    job->status = query_parse(&answerer->query, job->target, job->target_length, &job->err);
    if (!job->status)
        job->status = serve_trace_prepare(job->trace, &job->err);
    if (!job->status && job->other)
        job->status = serve_trace_prepare(job->other, &job->err);
    if (job->status)
        return;
    set_stop(job, &job->is_cancelled);
    job->status = job->other
                      ? job->entry->answer_two(job->trace, job->other, &answerer->query, &job->out, &job->err)
                      : job->entry->answer(job->trace, &answerer->query, &job->out, &job->err);
    set_stop(job, NULL);
}

static void *work(void *context)
{
    struct answerer *answerer = context;
    pthread_mutex_lock(&answerer->mutex);
    while (!answerer->is_ending) {
        struct job *job = take_first(&answerer->waiting);
        if (!job) {
            pthread_cond_wait(&answerer->given, &answerer->mutex);
            continue;
        }
        answerer->now = job->entry ? job : NULL;
        answerer->zones_before = job->entry ? trace_zones_read(job->trace->trace) : 0;
        pthread_mutex_unlock(&answerer->mutex);
        answer(answerer, job);
        pthread_mutex_lock(&answerer->mutex);
        answerer->now = NULL;
        append(&answerer->done, job);
        eventfd_write(answerer->event, 1);
    }
    pthread_mutex_unlock(&answerer->mutex);
    return NULL;
}

int answerer_start(struct answerer **out, struct error *err)
{
    struct answerer *answerer = *out = calloc(1, sizeof *answerer);
    if (!answerer)
        return error_no_memory(err, "the server");
    pthread_mutex_init(&answerer->mutex, NULL);
    pthread_cond_init(&answerer->given, NULL);
    answerer->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    int code = answerer->event < 0 ? errno : pthread_create(&answerer->thread, NULL, work, answerer);
    answerer->is_started = code == 0;
    if (code) {
        answerer_stop(answerer);
        *out = NULL;
        return error_set_errno(err, code, "a thread for long questions");
    }
    return 0;
}

void answerer_stop(struct answerer *answerer)
{
    struct job *job;
    if (!answerer)
        return;
    if (answerer->is_started) {
        pthread_mutex_lock(&answerer->mutex);
        answerer->is_ending = true;
        if (answerer->now)
            __atomic_store_n(&answerer->now->is_cancelled, true, __ATOMIC_RELAXED);
        pthread_cond_signal(&answerer->given);
        pthread_mutex_unlock(&answerer->mutex);
        pthread_join(answerer->thread, NULL);
    }
    while ((job = take_first(&answerer->waiting)) || (job = take_first(&answerer->done)))
        job_free(job);
    if (answerer->event >= 0)
        close(answerer->event);
    pthread_cond_destroy(&answerer->given);
    pthread_mutex_destroy(&answerer->mutex);
    free(answerer);
}

void answerer_give(struct answerer *answerer, struct job *job)
{
    pthread_mutex_lock(&answerer->mutex);
    append(&answerer->waiting, job);
    pthread_cond_signal(&answerer->given);
    pthread_mutex_unlock(&answerer->mutex);
}

struct job *answerer_take(struct answerer *answerer)
{
    eventfd_t count;
    pthread_mutex_lock(&answerer->mutex);
    struct job *job = take_first(&answerer->done);
    if (!job)
        eventfd_read(answerer->event, &count);
    pthread_mutex_unlock(&answerer->mutex);
    return job;
}

int answerer_fd(const struct answerer *answerer)
{
    return answerer->event;
}

bool answerer_progress(struct answerer *answerer, struct answerer_progress *progress)
{
    pthread_mutex_lock(&answerer->mutex);
    const struct job *job = answerer->now;
    if (job)
        *progress = (struct answerer_progress){.question = job->entry->name,
                                               .trace = job->ids[0],
                                               .zones_read = trace_zones_read(job->trace->trace) -
                                                             answerer->zones_before,
                                               .zones = trace_get_info(job->trace->trace)->zones};
    pthread_mutex_unlock(&answerer->mutex);
    return job != NULL;
}
