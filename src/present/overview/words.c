/* SPDX-License-Identifier: Apache-2.0 */
/* The overview's sentence: how much of the time something worked, and what it did instead. */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analyze/labels.h"
#include "analyze/losses.h"
#include "base/count_of.h"
#include "present/format.h"
#include "present/loss_text.h"
#include "present/overview/overview.h"

#define NAME_BYTES 60

/* From this share on, gaps are the answer; of this mean length, no dispatch makes them. */
#define GAP_SHARE 0.9
#define COMPILATION_GAP_NS 1e6

static const struct {
    const char *key, *label, *meaning;
} keys[OVERVIEW_KEYS] = {
    [OVERVIEW_BUSY] = {"busy", "device busy", "work"},
    [OVERVIEW_IDLE_HOST_WORKING] = {"idle_host_working", "idle, host working", "gap"},
    [OVERVIEW_IDLE_HOST_WAITING] = {"idle_host_waiting", "idle, host waiting", "wait"},
    [OVERVIEW_IDLE_HOST_UNKNOWN] = {"idle_host_unknown", "idle, host not recorded", "gap"},
    [OVERVIEW_COMPUTE] = {"compute", "computing", "work"},
    [OVERVIEW_DMA] = {"dma", "moving data only", "wait"},
    [OVERVIEW_IDLE] = {"idle", "idle", "gap"},
    [OVERVIEW_WORKING] = {"working", "working", "work"},
    [OVERVIEW_WAITING] = {"waiting", "waiting", "wait"},
    [OVERVIEW_IMPORTS] = {"imports", "imports", "gap"},
    [OVERVIEW_PAUSED] = {"paused", "recording was paused", NULL},
    [OVERVIEW_NOTHING] = {"nothing", "nothing recorded", NULL},
};

const char *overview_key_text(enum overview_key key)
{
    return keys[key].key;
}

/* Of ops that the host computed itself: there is no device that could be busy or idle. */
static const char *cpu_label(enum overview_key key)
{
    return key == OVERVIEW_BUSY                ? "ops on the CPU"
           : key == OVERVIEW_IDLE_HOST_WORKING ? "between ops, working"
           : key == OVERVIEW_IDLE_HOST_WAITING ? "between ops, waiting"
           : key == OVERVIEW_IDLE_HOST_UNKNOWN ? "between ops, not recorded"
                                               : keys[key].label;
}

const char *overview_label(const struct overview *o, enum overview_key key)
{
    return perf_is_cpu(&o->perf) ? cpu_label(key) : keys[key].label;
}

const char *overview_basis_text(const struct overview *o)
{
    return !o->is_device ? "main thread" : perf_is_cpu(&o->perf) ? "CPU" : "device";
}

const char *overview_meaning(enum overview_key key)
{
    return keys[key].meaning;
}

const char *overview_kind_text(const struct overview *o)
{
    static const char *const kinds[] = {
        [OVERVIEW_EMPTY] = "empty", [OVERVIEW_PROGRAM] = "c", [OVERVIEW_PYTHON] = "python",
        [OVERVIEW_OPS] = "ops",     [OVERVIEW_GPU] = "gpu",   [OVERVIEW_ESTIMATE] = "estimate"};
    return kinds[o->kind];
}

const char *overview_class_text(enum overview_class class_)
{
    return class_ == OVERVIEW_HOST_WORKING   ? "host working"
           : class_ == OVERVIEW_HOST_WAITING ? "host waiting"
                                             : "host not recorded";
}

/* --- the window --- */

/* "steps 2 to 9"; "frame 2", where it is one. */
static void append_steps(struct bytes *out, const char *name, uint64_t first, uint64_t last)
{
    size_t length = strlen(name);
    bool is_word = length && ((name[length - 1] | 0x20) >= 'a' && (name[length - 1] | 0x20) <= 'r');
    is_word = is_word || (length && (name[length - 1] | 0x20) >= 't' && (name[length - 1] | 0x20) <= 'z');
    bytes_append_format(out, "%.*s%s %" PRIu64, NAME_BYTES, length ? name : "frame",
                        first != last && (is_word || !length) ? "s" : "", first);
    if (first != last)
        bytes_append_format(out, " to %" PRIu64, last);
}

void overview_append_source(const struct overview *o, struct bytes *out)
{
    struct number_text from, to;
    uint64_t start = trace_get_info(o->trace)->start_ns;
    switch (o->source) {
    case OVERVIEW_STEPS:
        append_steps(out, o->step_name, o->first_step, o->last_step);
        break;
    case OVERVIEW_ASKED:
        bytes_append_format(out, "%s to %s",
                            format_duration(&from, o->from_ns > start ? o->from_ns - start : 0),
                            format_duration(&to, o->to_ns > start ? o->to_ns - start : 0));
        break;
    case OVERVIEW_SIGNPOST:
        bytes_append_format(out, "%.*s", 2 * NAME_BYTES,
                            o->perf.window == OPS_NONE ? "after the last signpost with 5% of the device time"
                                                       : perf_text(&o->perf, o->perf.window));
        break;
    default:
        bytes_append_text(out, "whole trace");
    }
}

void overview_append_left_out(const struct overview *o, struct bytes *what, struct bytes *reason)
{
    struct number_text longest, median, ops;
    uint64_t shown = o->perf.device_op_count + o->perf.host_op_count;
    if (o->source == OVERVIEW_STEPS && !o->left_out_steps) {
        bytes_append_text(what, "what comes before");
        bytes_append_format(reason, "start-up: %s, the median step is %s",
                            format_duration(&longest, o->longest_left_out_ns),
                            format_duration(&median, o->step_median_ns));
    } else if (o->source == OVERVIEW_STEPS) {
        append_steps(what, o->step_name, o->first_step - o->left_out_steps, o->first_step - 1);
        bytes_append_format(reason, "warm-up: %s%s, others %s", o->left_out_steps > 1 ? "up to " : "",
                            format_duration(&longest, o->longest_left_out_ns),
                            format_duration(&median, o->step_median_ns));
    } else if (o->source == OVERVIEW_SIGNPOST && o->perf.window != OPS_NONE &&
               o->perf.read_op_count > shown) {
        bytes_append_text(what, format_things(&ops, o->perf.read_op_count - shown, "op"));
        bytes_append_text(reason, o->perf.has_window_end ? "outside of these" : "before that signpost");
    } else if (o->source == OVERVIEW_SIGNPOST) {
        bool has_end = o->to_ns < trace_get_info(o->trace)->end_ns;
        bytes_append_text(what, has_end ? "the rest" : "what is earlier");
        bytes_append_text(reason, has_end ? "outside of that part" : "before that signpost");
    }
}

void overview_append_left_out_text(const struct overview *o, struct bytes *out)
{
    struct bytes what = {0}, reason = {0};
    overview_append_left_out(o, &what, &reason);
    const char *said = what.length ? bytes_text(&what) : "", *why = bytes_text(&reason);
    const char *figures = o->source == OVERVIEW_STEPS ? strstr(why, ": ") : NULL;
    bool is_many = o->source == OVERVIEW_STEPS ? o->left_out_steps > 1 : strstr(said, " ops") != NULL;
    if (*said)
        bytes_append_format(out, "%c%s %s left out", toupper((unsigned char)*said), said + 1,
                            is_many ? "are" : "is");
    if (*said && figures)
        bytes_append_format(out, " as %.*s (%s)", (int)(figures - why), why, figures + 2);
    else if (*said)
        bytes_append_format(out, ": %s", why);
    bytes_free(&what);
    bytes_free(&reason);
}

/* --- names --- */

/* How many characters a part of a name that says nothing has; 0: none. */
static size_t noise_at(const char *name, const char *at)
{
    static const char *const noise[] = {"DeviceOperation",
                                        "at::native::", "(anonymous namespace)::", "std::", "void "};
    for (size_t i = 0; i < COUNT_OF(noise); i++) {
        size_t length = strlen(noise[i]);
        bool is_whole = strlen(name) == length;
        if (!is_whole && strncmp(at, noise[i], length) == 0)
            return length;
    }
    return 0;
}

void overview_append_short(struct bytes *out, const char *name)
{
    unsigned depth = 0; /* of template arguments */
    for (const char *at = name; *at;) {
        size_t noise = depth ? 0 : noise_at(name, at);
        bool is_open = *at == '<' && at > name && (isalnum((unsigned char)at[-1]) || at[-1] == '_');
        if (noise) {
            at += noise;
            continue;
        }
        depth += is_open && strchr(at, '>');
        if (!depth)
            bytes_append(out, at, 1);
        depth -= depth && *at == '>';
        at++;
    }
}

/* --- shares --- */

void overview_tenths(const struct overview *o, unsigned tenths[OVERVIEW_PARTS])
{
    double rest[OVERVIEW_PARTS] = {0};
    unsigned sum = 0;
    for (size_t i = 0; i < o->part_count; i++) {
        double exact = o->total_ns ? (double)o->parts[i].ns / (double)o->total_ns * 1000 : 0;
        tenths[i] = (unsigned)exact;
        rest[i] = exact - tenths[i];
        sum += tenths[i];
    }
    for (; o->total_ns && sum < 1000; sum++) {
        size_t most = 0;
        for (size_t i = 1; i < o->part_count; i++)
            most = rest[i] > rest[most] ? i : most;
        tenths[most]++;
        rest[most] = -1;
    }
}

/* --- the sentence --- */

void sentence_say(struct sentence *s, bool is_strong, const char *meaning, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0 || s->count == SENTENCE_PHRASES) {
        s->text.failed = true;
    } else {
        size_t begin = s->text.length;
        bytes_append(&s->text, text, (size_t)length);
        s->phrases[s->count++] = (struct phrase){begin, s->text.length, is_strong, meaning};
    }
    free(length < 0 ? NULL : text);
}

#define WORDS(...) sentence_say(s, false, NULL, __VA_ARGS__)
#define STRONG(meaning, text) sentence_say(s, true, meaning, "%s", text)

static double share_of(const struct overview *o, uint64_t ns)
{
    return o->total_ns ? (double)ns / (double)o->total_ns : 0;
}

/* The share of a part, or of all others, as the bar has it: the sentence and the legend say the same. */
static const char *say_share(const struct overview *o, enum overview_key key, bool is_others,
                             struct number_text *out)
{
    unsigned tenths[OVERVIEW_PARTS], sum = 0;
    uint64_t ns = 0;
    overview_tenths(o, tenths);
    for (size_t i = 0; i < o->part_count; i++) {
        if ((o->parts[i].key == key) != is_others) {
            sum += tenths[i];
            ns += o->parts[i].ns;
        }
    }
    double share = (double)sum / 1000;
    if (sum == 1000 && ns < o->total_ns)
        share = 0.9999; /* of what is there, nothing is 0 and nothing is all */
    return format_share(out, share >= 0.0995 && share < 0.9 ? share_of(o, ns) : !sum && ns ? 1e-9 : share);
}

static const char *program_name(const struct overview *o, uint32_t name)
{
    return trace_get_name(o->trace, name)->name;
}

/* "The device", "The 4 devices", by the name of the device where it is a GPU. */
static void say_devices(const struct overview *o, struct sentence *s)
{
    const char *name = perf_text(&o->perf, o->perf.device_text);
    const char *word =
        strncasecmp(name, "gpu", 3) == 0 || strncasecmp(name, "cuda", 4) == 0 ? "GPU" : "device";
    if (o->device_count > 1 && o->kind == OVERVIEW_GPU)
        WORDS("At least one of %" PRIu32 " %ss worked ", o->device_count, word);
    else if (o->device_count > 1)
        WORDS("The %" PRIu32 " %ss worked ", o->device_count, word);
    else
        WORDS("The %s worked ", word);
}

static void say_ops_of_window(const struct overview *o, struct sentence *s)
{
    struct number_text shown, all;
    if (o->source == OVERVIEW_SIGNPOST && o->perf.window != OPS_NONE)
        WORDS(" %s of %s are in this window, %.*s.",
              format_count(&shown, o->perf.device_op_count + o->perf.host_op_count),
              format_things(&all, o->perf.read_op_count, "op"), 2 * NAME_BYTES,
              perf_text(&o->perf, o->perf.window));
}

static void say_gaps(const struct overview *o, struct sentence *s)
{
    struct number_text share;
    double mean = o->gap_count ? (double)o->gap_sum_ns / (double)o->gap_count : 0;
    STRONG("gap", say_share(o, OVERVIEW_BUSY, true, &share));
    if (mean > COMPILATION_GAP_NS)
        WORDS(" of this window is gaps: it looks like compilation or a first iteration.");
    else
        WORDS(" of this window is gaps: the device waits for the host.");
    say_ops_of_window(o, s);
}

static void sentence_of_ops(const struct overview *o, struct sentence *s)
{
    struct number_text share, total, waited, gaps;
    uint64_t busy = overview_part_ns(o, OVERVIEW_BUSY), idle = o->total_ns - busy;
    if (!o->total_ns) {
        WORDS("%s without device times.",
              format_things(&gaps, o->perf.device_op_count + o->perf.host_op_count, "op"));
        return;
    }
    if (share_of(o, idle) > GAP_SHARE) {
        say_gaps(o, s);
        return;
    }
    say_devices(o, s);
    STRONG("work", say_share(o, OVERVIEW_BUSY, false, &share));
    WORDS(" of %s", format_duration(&total, o->total_ns));
    if (!idle) {
        WORDS(", without gaps.");
    } else {
        WORDS(". %s waited ", o->device_count > 1 ? "They" : "It");
        STRONG("gap", format_duration(&waited, idle));
        if (o->gap_count && o->gap_sum_ns > idle / 2)
            WORDS(", most of it before %s.", format_things(&gaps, o->gap_count, "op"));
        else
            WORDS(", in short gaps.");
    }
    say_ops_of_window(o, s);
}

/* 0: the numbers are not of steps. */
static uint64_t step_count(const struct overview *o)
{
    return o->source == OVERVIEW_STEPS ? o->last_step - o->first_step + 1 : 0;
}

/* Ops that the host computed itself: nothing stands still between them, and nobody waits for a device. */
static void sentence_of_cpu(const struct overview *o, struct sentence *s)
{
    struct number_text share, span, between;
    uint64_t steps = step_count(o), idle = o->total_ns - overview_part_ns(o, OVERVIEW_BUSY);
    WORDS("The CPU worked on ops ");
    STRONG("work", say_share(o, OVERVIEW_BUSY, false, &share));
    if (steps)
        WORDS(" of the time. In every %s step ", format_duration(&span, o->total_ns / steps));
    else
        WORDS(" of %s. For ", format_duration(&span, o->total_ns));
    STRONG("gap", format_duration(&between, steps ? idle / steps : idle));
    WORDS(steps ? " were between ops." : " it was between ops.");
}

static void sentence_of_gpu(const struct overview *o, struct sentence *s)
{
    struct number_text share, total, step, waited;
    uint64_t busy = overview_part_ns(o, OVERVIEW_BUSY), idle = o->total_ns - busy;
    uint64_t steps = step_count(o);
    if (perf_is_cpu(&o->perf)) {
        sentence_of_cpu(o, s);
        return;
    }
    say_devices(o, s);
    STRONG("work", say_share(o, OVERVIEW_BUSY, false, &share));
    if (steps) {
        WORDS(" of the time. In every %s step %s stood still for ",
              format_duration(&step, o->total_ns / steps), o->device_count > 1 ? "all" : "it");
        STRONG("gap", format_duration(&waited, idle / steps));
        WORDS(".");
        return;
    }
    WORDS(" of %s. %s stood still for ", format_duration(&total, o->total_ns),
          o->device_count > 1 ? "All" : "It");
    STRONG("gap", format_duration(&waited, idle));
    uint64_t working = overview_part_ns(o, OVERVIEW_IDLE_HOST_WORKING),
             waiting = overview_part_ns(o, OVERVIEW_IDLE_HOST_WAITING);
    if (working > idle / 2)
        WORDS(", mostly while the host worked.");
    else if (waiting > idle / 2)
        WORDS(", mostly while the host waited.");
    else
        WORDS(".");
}

/* "The main thread", "The main thread of python3" where there are several processes, "Thread worker"; of one without a
 * name "Thread 4711", or just that it did most. */
static void say_thread(const struct overview *o, struct sentence *s)
{
    const struct trace_track *track =
        o->main_track == TRACE_NONE ? NULL : trace_get_track(o->trace, o->main_track);
    const struct trace_process *process = track ? trace_get_process(o->trace, track->process) : NULL;
    char label[NAME_BYTES + 4], program[NAME_BYTES + 4];
    bool is_main = !process || process->pid <= 0 || (uint64_t)process->pid == track->number ||
                   strncasecmp(track->name, "main", 4) == 0;
    const char *name = track ? label_track(o->trace, o->main_track, label, sizeof label) : "";
    if (is_main)
        WORDS("The main thread");
    else if (!*track->name && !track->number)
        WORDS("The busiest thread");
    else
        WORDS("Thread %.*s", NAME_BYTES, strncasecmp(name, "thread ", 7) == 0 ? name + 7 : name);
    if (process && trace_process_count(o->trace) > 1)
        WORDS(" of %s", label_program(process, program, sizeof program));
    WORDS(" worked ");
}

static void sentence_of_thread(const struct overview *o, struct sentence *s)
{
    struct number_text share, total, waited, imports, own;
    uint64_t working = overview_part_ns(o, OVERVIEW_WORKING), waiting = overview_part_ns(o, OVERVIEW_WAITING);
    uint64_t importing = overview_part_ns(o, OVERVIEW_IMPORTS);
    say_thread(o, s);
    STRONG("work", say_share(o, OVERVIEW_WORKING, false, &share));
    WORDS(" of %s", format_duration(&total, o->total_ns));
    if (share_of(o, waiting) >= 0.001) {
        WORDS(" and waited ");
        STRONG("wait", format_duration(&waited, waiting));
        if (o->main_wait.count && o->main_wait.self_ns > waiting / 2)
            WORDS(", most of it in %.*s", NAME_BYTES, program_name(o, o->main_wait.name));
    }
    WORDS(".");
    if (share_of(o, waiting) < 0.001 && o->working_count && o->working[0].self_ns) {
        WORDS(" Most own time is in %.*s: ", NAME_BYTES, program_name(o, o->working[0].name));
        STRONG(NULL, format_duration(&own, o->working[0].self_ns));
        WORDS(o->working[0].self_ns > working ? " over all threads." : ".");
    }
    if (importing) {
        WORDS(" ");
        STRONG("gap", say_share(o, OVERVIEW_IMPORTS, false, &imports));
        WORDS(" is imports.");
    }
}

static void sentence_of_estimate(const struct overview *o, struct sentence *s)
{
    struct number_text total, share;
    uint64_t compute = overview_part_ns(o, OVERVIEW_COMPUTE), dma = overview_part_ns(o, OVERVIEW_DMA);
    bool is_dma = dma > compute;
    WORDS("Estimated ");
    STRONG("work", format_duration(&total, o->total_ns));
    WORDS(", %s for ", is_dma ? "moving data only" : "computing");
    STRONG(is_dma ? "wait" : "work", say_share(o, is_dma ? OVERVIEW_DMA : OVERVIEW_COMPUTE, false, &share));
    WORDS(" of it. %s", o->caveat ? o->caveat : "It is an estimate, not a measurement.");
}

/* The program that was started, for a trace that holds nothing else, and what is known of why. */
static void sentence_of_nothing(const struct overview *o, struct sentence *s)
{
    struct number_text length;
    struct loss_sums sums;
    struct loss_text lost;
    WORDS("This trace has no zones and no ops.");
    for (uint32_t i = 0; i < trace_process_count(o->trace); i++) {
        const struct trace_process *process = trace_get_process(o->trace, i);
        if (!(process->flags & TRACE_PROCESS_ROOT) || process->end_ns <= process->start_ns)
            continue;
        WORDS(" The program ran ");
        STRONG(NULL, format_duration(&length, process->end_ns - process->start_ns));
        if (process->exit_status != TRACE_STATUS_UNKNOWN && WIFEXITED(process->exit_status))
            WORDS(" and exited with %d.", WEXITSTATUS(process->exit_status));
        else if (process->exit_status != TRACE_STATUS_UNKNOWN && WIFSIGNALED(process->exit_status))
            WORDS(" and was ended by signal %d (%s).", WTERMSIG(process->exit_status),
                  strsignal(WTERMSIG(process->exit_status)));
        else
            WORDS(".");
        break;
    }
    loss_sums_make(&sums, o->trace, NULL);
    if (sums.paused_ns)
        WORDS(" Recording was paused for %s.", format_duration(&length, sums.paused_ns));
    if (sums.lost.events || sums.old.events) {
        const struct loss_sum *sum = sums.lost.events ? &sums.lost : &sums.old;
        loss_sum_text(&lost, sum);
        WORDS(" Of what it recorded %s %s %s.", lost.text, sum->zones + sum->records == 1 ? "was" : "were",
              sums.lost.events ? "lost" : "dropped as old");
    }
    if (!sums.paused_ns && !sums.lost.events && !sums.old.events)
        WORDS(" It may not be instrumented: docs/python.md, docs/troubleshooting.md.");
}

void overview_sentence(const struct overview *o, struct sentence *s)
{
    *s = (struct sentence){0};
    switch (o->kind) {
    case OVERVIEW_EMPTY:
        sentence_of_nothing(o, s);
        break;
    case OVERVIEW_OPS:
        sentence_of_ops(o, s);
        break;
    case OVERVIEW_GPU:
        sentence_of_gpu(o, s);
        break;
    case OVERVIEW_ESTIMATE:
        sentence_of_estimate(o, s);
        break;
    default:
        sentence_of_thread(o, s);
    }
}

void sentence_free(struct sentence *s)
{
    bytes_free(&s->text);
    *s = (struct sentence){0};
}
