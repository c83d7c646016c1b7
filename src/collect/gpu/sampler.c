/* SPDX-License-Identifier: Apache-2.0 */
/* A device writes samples into a buffer of its own; every 50 ms they are decoded into an image of up to 1,000 samples,
 * evaluated one by one and sent on. A decode costs 0.5 to 1 ms whatever it finds, so more often would be waste; larger
 * images take long to clear. */
#include "collect/gpu/sampler.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/gpu/metric.h"

#define DECODE_MS 50
#define IMAGE_SAMPLES 1000u
#define HARDWARE_BYTES ((size_t)128 << 20)

struct sampled {
    uint32_t number;
    char name[256], chip[64];
    struct gpu_config config;
    uint8_t *availability;
    void *object; /* NULL: not sampled, or no longer */
    uint8_t *image;
    size_t image_size;
    uint64_t last_ns; /* end of the newest sample, CLOCK_REALTIME */
};

struct sampler {
    struct pm_library library;
    struct sampled *devices;
    uint32_t count;
    uint64_t interval_ns;
    int out_fd;
    bool is_cut_off; /* nobody listens any more */
};

/* --- what is sent --- */

static void send_bytes(struct sampler *s, const void *data, size_t length)
{
    for (size_t at = 0; at < length && !s->is_cut_off;) {
        ssize_t n = write(s->out_fd, (const char *)data + at, length - at);
        if (n > 0)
            at += (size_t)n;
        else if (n == 0 || errno != EINTR)
            s->is_cut_off = true;
    }
}

static void send_message(struct sampler *s, struct gpu_message *message, const char *text)
{
    size_t length = text ? strlen(text) : 0;
    length = length < GPU_TEXT_BYTES ? length : GPU_TEXT_BYTES;
    message->text_length = (uint32_t)length;
    send_bytes(s, message, sizeof *message);
    send_bytes(s, text, length);
}

static void send_trouble(struct sampler *s, const struct sampled *d, const struct error *err)
{
    char text[GPU_TEXT_BYTES];
    snprintf(text, sizeof text, "%s%s%s", d ? d->name : "", d && d->name[0] ? ": " : "", err->message);
    send_message(s, &(struct gpu_message){.kind = GPU_MESSAGE_TROUBLE, .device = d ? d->number : 0}, text);
}

/* --- one device --- */

static int enable(struct sampler *s, struct sampled *d, struct error *err)
{
    struct pm_library *l = &s->library;
    /* These cannot be triggered by time: their clock is of about 1 GHz, and samples have times of their own. */
    bool has_no_timer = strncmp(d->chip, "TU", 2) == 0 || strcmp(d->chip, "GA100") == 0;
    struct pm_enable on = {.device = d->number};
    int result = PM_CALL(l, cuptiPmSamplingEnable, &on);
    if (result != PM_OK)
        return gpu_error(l, result, d->chip, err);
    d->object = on.object;
    struct pm_set_config set = {.object = d->object,
                                .size = d->config.size,
                                .config = d->config.image,
                                .hardware_bytes = HARDWARE_BYTES,
                                .interval = s->interval_ns,
                                .trigger = has_no_timer ? PM_TRIGGER_CLOCKS : PM_TRIGGER_NS,
                                .append = PM_KEEP_OLDEST};
    result = PM_CALL(l, cuptiPmSamplingSetConfig, &set);
    if (result == PM_INVALID_PARAMETER) { /* CUDA 12.6: without `append`, and no other length is taken */
        set.struct_size = offsetof(struct pm_set_config, append);
        result = l->cuptiPmSamplingSetConfig(&set);
    }
    return result == PM_OK ? 0 : gpu_error(l, result, d->chip, err);
}

static void disable(struct sampler *s, struct sampled *d)
{
    struct pm_object off = {.object = d->object};
    if (d->object)
        PM_CALL(&s->library, cuptiPmSamplingDisable, &off);
    d->object = NULL;
}

static int clear_image(struct sampler *s, struct sampled *d)
{
    struct pm_image_clear clear = {.object = d->object, .size = d->image_size, .image = d->image};
    return PM_CALL(&s->library, cuptiPmSamplingCounterDataImageInitialize, &clear);
}

static int make_image(struct sampler *s, struct sampled *d, struct error *err)
{
    struct pm_image_size size = {.object = d->object,
                                 .names = d->config.names,
                                 .count = d->config.count,
                                 .most_samples = IMAGE_SAMPLES};
    int result = PM_CALL(&s->library, cuptiPmSamplingGetCounterDataSize, &size);
    if (result != PM_OK)
        return gpu_error(&s->library, result, d->chip, err);
    d->image_size = size.size;
    d->image = calloc(1, size.size ? size.size : 1);
    if (!d->image)
        return error_no_memory(err, "samples");
    result = clear_image(s, d);
    return result == PM_OK ? 0 : gpu_error(&s->library, result, d->chip, err);
}

/* Which counters this very device has; without it (older versions) all those of the chip. */
static void ask_availability(struct sampler *s, struct sampled *d)
{
    struct pm_availability ask = {.device = d->number};
    if (PM_CALL(&s->library, cuptiPmSamplingGetCounterAvailability, &ask) != PM_OK || !ask.size)
        return;
    ask.image = d->availability = calloc(1, ask.size);
    if (d->availability && PM_CALL(&s->library, cuptiPmSamplingGetCounterAvailability, &ask) != PM_OK) {
        free(d->availability);
        d->availability = NULL;
    }
}

static int open_device(struct sampler *s, struct sampled *d, struct error *err)
{
    struct pm_library *l = &s->library;
    struct pm_chip_name chip = {.device = d->number};
    int device;
    snprintf(d->name, sizeof d->name, "GPU %u", d->number);
    size_t length = strlen(d->name);
    if (l->cuDeviceGet(&device, (int)d->number) == 0 &&
        l->cuDeviceGetName(d->name + length + 1, (int)(sizeof d->name - length - 1), device) == 0)
        d->name[length] = ' ';
    int result = PM_CALL(l, cuptiDeviceGetChipName, &chip);
    if (result != PM_OK || !chip.name)
        return gpu_error(l, result, NULL, err);
    snprintf(d->chip, sizeof d->chip, "%s", chip.name);
    ask_availability(s, d);
    int status = gpu_config_make(&d->config, l, d->chip, d->availability, err);
    if (!status)
        status = enable(s, d, err);
    if (!status)
        status = make_image(s, d, err);
    return status;
}

static void close_device(struct sampler *s, struct sampled *d)
{
    disable(s, d);
    gpu_config_free(&d->config, &s->library);
    free(d->image);
    free(d->availability);
    d->image = d->availability = NULL;
}

/* --- samples --- */

/* CLOCK_MONOTONIC_RAW less CLOCK_REALTIME, now: the best of some readings. */
static int64_t clock_offset(void)
{
    uint64_t best = UINT64_MAX;
    int64_t offset = 0;
    for (int i = 0; i < 5; i++) {
        uint64_t before = clock_raw_ns(), real = clock_ns(CLOCK_REALTIME), after = clock_raw_ns();
        if (after - before < best) {
            best = after - before;
            offset = (int64_t)(before + (after - before) / 2) - (int64_t)real;
        }
    }
    return offset;
}

static void send_sample(struct sampler *s, struct sampled *d, size_t i, int64_t offset)
{
    struct pm_library *l = &s->library;
    double values[GPU_METRICS] = {0};
    struct pm_sample_info info = {.object = d->object, .image = d->image, .size = d->image_size, .sample = i};
    struct pm_evaluate evaluate = {.host = d->config.host,
                                   .image = d->image,
                                   .size = d->image_size,
                                   .sample = i,
                                   .names = d->config.names,
                                   .count = d->config.count,
                                   .values = values};
    if (PM_CALL(l, cuptiPmSamplingCounterDataGetSampleInfo, &info) != PM_OK || info.end <= info.start ||
        PM_CALL(l, cuptiProfilerHostEvaluateToGpuValues, &evaluate) != PM_OK)
        return;
    struct gpu_message message = {.kind = GPU_MESSAGE_SAMPLE,
                                  .device = d->number,
                                  .start_ns = info.start + (uint64_t)offset,
                                  .end_ns = info.end + (uint64_t)offset};
    for (size_t k = 0; k < d->config.count; k++) {
        bool is_bytes = gpu_metrics_list[d->config.which[k]].is_bytes;
        /* bytes in a ns are GB in a second */
        message.u.values[d->config.which[k]] =
            is_bytes ? values[k] / (double)(info.end - info.start) : values[k];
    }
    d->last_ns = info.end;
    send_message(s, &message, NULL);
}

static int start_sampling(struct sampler *s, struct sampled *d, struct error *err)
{
    struct pm_object start = {.object = d->object};
    int result = PM_CALL(&s->library, cuptiPmSamplingStart, &start);
    d->last_ns = clock_ns(CLOCK_REALTIME);
    return result == PM_OK ? 0 : gpu_error(&s->library, result, d->chip, err);
}

/* The device's buffer was full. Stopping and starting does not get it going again, a new beginning does. */
static int begin_again(struct sampler *s, struct sampled *d, struct error *err)
{
    uint64_t from_ns = d->last_ns;
    disable(s, d);
    int status = enable(s, d, err);
    if (!status && clear_image(s, d) != PM_OK)
        status = error_set(err, EIO, "an overflow of the device's buffer cannot be cleared");
    if (!status)
        status = start_sampling(s, d, err);
    uint64_t now_ns = clock_ns(CLOCK_REALTIME), count = (now_ns - from_ns) / s->interval_ns;
    int64_t offset = clock_offset();
    send_message(s,
                 &(struct gpu_message){.kind = GPU_MESSAGE_LOST,
                                       .device = d->number,
                                       .start_ns = from_ns + (uint64_t)offset,
                                       .end_ns = now_ns + (uint64_t)offset,
                                       .u.count = count ? count : 1},
                 NULL);
    return status;
}

/* Takes what the device has; `is_last`: sampling was stopped. */
static int take_samples(struct sampler *s, struct sampled *d, bool is_last, struct error *err)
{
    struct pm_library *l = &s->library;
    struct pm_decode decode;
    int64_t offset = clock_offset();
    do {
        decode = (struct pm_decode){.object = d->object, .image = d->image, .size = d->image_size};
        int result = PM_CALL(l, cuptiPmSamplingDecodeData, &decode);
        bool is_overflow = result == PM_OUT_OF_MEMORY || (result == PM_OK && decode.overflow);
        if (result != PM_OK && !is_overflow)
            return gpu_error(l, result, d->chip, err);
        struct pm_image_info info = {.image = d->image, .size = d->image_size};
        if (PM_CALL(l, cuptiPmSamplingGetCounterDataInfo, &info) != PM_OK)
            info.completed = 0;
        for (size_t i = 0; i < info.completed; i++)
            send_sample(s, d, i, offset);
        if (is_overflow && !is_last)
            return begin_again(s, d, err);
        if (is_overflow)
            return 0;
        if (info.completed && (result = clear_image(s, d)) != PM_OK)
            return gpu_error(l, result, d->chip, err);
        if (!info.completed)
            break;
    } while (decode.stopped == PM_STOPPED_IMAGE_FULL && !s->is_cut_off);
    return 0;
}

static void take_all(struct sampler *s, bool is_last)
{
    for (uint32_t i = 0; i < s->count; i++) {
        struct sampled *d = &s->devices[i];
        struct error err = {0};
        if (d->object && take_samples(s, d, is_last, &err) != 0) {
            send_trouble(s, d, &err);
            disable(s, d);
        }
    }
}

/* --- the process --- */

static int open_all(struct sampler *s, uint64_t interval_ns, const char *command, struct error *err)
{
    int count = 0;
    int status = pm_library_open(&s->library, command, err);
    if (!status)
        status = pm_library_open_driver(&s->library, &count, err);
    if (status)
        return status;
    struct pm_nothing nothing = {0};
    PM_CALL(&s->library, cuptiProfilerInitialize, &nothing); /* what it refuses, the next call says better */
    s->count = (uint32_t)count < GPU_DEVICES ? (uint32_t)count : GPU_DEVICES;
    s->interval_ns = interval_ns ? interval_ns : GPU_INTERVAL_NS * s->count;
    s->devices = calloc(s->count, sizeof *s->devices);
    if (!s->devices)
        return error_set(err, ENOMEM, "no memory");
    for (uint32_t i = 0; i < s->count; i++) {
        struct sampled *d = &s->devices[i];
        d->number = i;
        if (open_device(s, d, err) != 0) {
            send_trouble(s, d, err);
            close_device(s, d);
            continue;
        }
        struct gpu_message message = {.kind = GPU_MESSAGE_DEVICE, .device = i};
        for (size_t k = 0; k < d->config.count; k++)
            message.u.metrics |= 1u << d->config.which[k];
        send_message(s, &message, d->name);
    }
    return 0;
}

static bool has_device(const struct sampler *s)
{
    bool is_found = false;
    for (uint32_t i = 0; i < s->count; i++)
        is_found |= s->devices[i].object != NULL;
    return is_found;
}

static void start_all(struct sampler *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        struct error err = {0};
        if (s->devices[i].object && start_sampling(s, &s->devices[i], &err) != 0) {
            send_trouble(s, &s->devices[i], &err);
            disable(s, &s->devices[i]);
        }
    }
}

static bool is_asked_to_end(int go_fd)
{
    char byte;
    struct pollfd go = {.fd = go_fd, .events = POLLIN};
    return poll(&go, 1, DECODE_MS) > 0 && read(go_fd, &byte, 1) <= 0;
}

void gpu_sampler_work(uint64_t interval_ns, const char *command, int go_fd, int out_fd)
{
    struct sampler *s = calloc(1, sizeof *s);
    struct error err = {0};
    char byte;
    ssize_t n = 0;
    if (!s)
        return;
    s->out_fd = out_fd;
    /* We are not one of the programs that are recorded. */
    unsetenv("OPSCOPE_SESSION");
    unsetenv("CUDA_INJECTION64_PATH");
    if (open_all(s, interval_ns, command, &err) != 0)
        send_trouble(s, NULL, &err);
    if (has_device(s)) {
        send_message(s, &(struct gpu_message){.kind = GPU_MESSAGE_READY}, NULL);
        while ((n = read(go_fd, &byte, 1)) < 0 && errno == EINTR)
            ;
    }
    if (n == 1) {
        start_all(s);
        while (!s->is_cut_off && !is_asked_to_end(go_fd))
            take_all(s, false);
        for (uint32_t i = 0; i < s->count; i++) {
            struct pm_object stop = {.object = s->devices[i].object};
            if (stop.object)
                PM_CALL(&s->library, cuptiPmSamplingStop, &stop);
        }
        take_all(s, true);
    }
    for (uint32_t i = 0; i < s->count; i++)
        close_device(s, &s->devices[i]);
    free(s->devices);
    free(s);
}

int gpu_sampler_show(const char *chip, struct bytes *out, struct error *err)
{
    struct pm_library *library = calloc(1, sizeof *library);
    struct gpu_config config = {0};
    int status = library ? pm_library_open(library, NULL, err) : error_set(err, ENOMEM, "no memory");
    if (!status)
        status = gpu_config_make(&config, library, chip, NULL, err);
    if (!status) {
        bytes_append_format(out, "%s: %zu counters in one pass, an image of %zu bytes (%s)\n", chip,
                            config.count, config.size, library->path);
        for (size_t i = 0; i < config.count; i++)
            bytes_append_format(out, "%s: %s\n", gpu_metrics_list[config.which[i]].title, config.names[i]);
        gpu_config_free(&config, library);
    }
    free(library);
    return status;
}
