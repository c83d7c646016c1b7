/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/capture.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/command.h"

static int set_text(char *out, size_t size, const char *text, size_t length, struct error *err)
{
    if (length >= size)
        return error_set(err, EINVAL, "--capture: a name has at most %zu bytes", size - 1);
    memcpy(out, text, length);
    out[length] = '\0';
    return 0;
}

static int parse_signposts(const char *text, struct session_capture *out, struct error *err)
{
    const char *dots = strstr(text, "..");
    if (!dots || (dots == text && !dots[2]))
        return error_set(err, EINVAL,
                         "--capture signpost:%s: two signposts are wanted, as in signpost:warm..done", text);
    out->kind = CAPTURE_SIGNPOSTS;
    int status = set_text(out->from, sizeof out->from, text, (size_t)(dots - text), err);
    return status ? status : set_text(out->to, sizeof out->to, dots + 2, strlen(dots + 2), err);
}

static bool read_step(const char **text, uint64_t *step)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    *step = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0 && *step > 0;
}

static int parse_steps(const char *text, struct session_capture *out, struct error *err)
{
    const char *at = text;
    out->kind = CAPTURE_STEPS;
    bool is_good = read_step(&at, &out->first_step);
    out->last_step = out->first_step;
    if (is_good && *at == '-') {
        at++;
        is_good = read_step(&at, &out->last_step);
    }
    if (!is_good || *at || out->last_step < out->first_step)
        return error_set(
            err, EINVAL,
            "--capture steps:%s: a number or a range is wanted, counted from 1, as in steps:20-25", text);
    return 0;
}

int run_capture_parse(const char *text, struct session_capture *out, struct error *err)
{
    const char *rest = strchr(text, ':');
    size_t kind = rest ? (size_t)(rest - text) : strlen(text);
    rest = rest ? rest + 1 : "";
    *out = (struct session_capture){0};
    if (strcmp(text, "cuda-profiler-api") == 0) {
        out->kind = CAPTURE_PROFILER_API;
        return 0;
    }
    if (kind == 8 && strncmp(text, "signpost", kind) == 0)
        return parse_signposts(rest, out, err);
    if (kind == 5 && strncmp(text, "steps", kind) == 0)
        return parse_steps(rest, out, err);
    if (kind == 4 && strncmp(text, "zone", kind) == 0 && *rest) {
        out->kind = CAPTURE_ZONE;
        return set_text(out->from, sizeof out->from, rest, strlen(rest), err);
    }
    return error_set(
        err, EINVAL,
        "--capture %s: not known; cuda-profiler-api, signpost:A..B, zone:NAME and steps:20-25 are", text);
}

bool run_capture_begins_paused(const struct session_capture *capture)
{
    bool is_from_start = capture->kind == CAPTURE_SIGNPOSTS && !capture->from[0];
    return capture->kind != CAPTURE_ALWAYS && !is_from_start;
}

void run_capture_why_nothing(const struct session_capture *capture, char *text, size_t size)
{
    uint32_t kind = run_capture_begins_paused(capture) ? capture->kind : CAPTURE_ALWAYS;
    if (kind == CAPTURE_PROFILER_API)
        snprintf(text, size, "no process started a profiler (torch.cuda.profiler.start, cudaProfilerStart)");
    else if (kind == CAPTURE_SIGNPOSTS)
        snprintf(text, size, "no signpost %s came", capture->from);
    else if (kind == CAPTURE_ZONE)
        snprintf(text, size, "no zone is called %s (opscope zones has the names of a whole recording)",
                 capture->from);
    else if (kind == CAPTURE_STEPS)
        snprintf(text, size,
                 "no process got to step %" PRIu64
                 " (frames, or steps of a PyTorch optimizer: opscope frames "
                 "counts those of a whole recording)",
                 capture->first_step);
    else
        snprintf(text, size, "nobody said opscope resume");
}
