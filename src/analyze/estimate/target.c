/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/estimate/target.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "text/suggest.h"

static const struct {
    const char *key;
    size_t offset;
    unsigned required;
    double value;
    const char *what;
} figures[] = {
#define X(key, required, value, what) {#key, offsetof(struct estimate_target, key), required, value, what},
    ESTIMATE_FIGURES(X)
#undef X
};

static const char *const kinds[] = {
    [ESTIMATE_NO_TARGET] = "none", [ESTIMATE_DMA] = "dma", [ESTIMATE_CACHE] = "cache"};

static double *figure_at(struct estimate_target *target, size_t i)
{
    return (double *)(void *)((char *)target + figures[i].offset);
}

static size_t find(const char *key)
{
    size_t i = 0;
    while (i < COUNT_OF(figures) && strcmp(figures[i].key, key) != 0)
        i++;
    return i;
}

void estimate_target_defaults(struct estimate_target *target)
{
    *target = (struct estimate_target){0};
    for (size_t i = 0; i < COUNT_OF(figures); i++)
        *figure_at(target, i) = figures[i].value;
}

bool estimate_target_set_kind(struct estimate_target *target, const char *kind)
{
    for (unsigned i = ESTIMATE_DMA; i < COUNT_OF(kinds); i++) {
        if (strcmp(kinds[i], kind) == 0) {
            target->kind = (enum estimate_kind)i;
            return true;
        }
    }
    return false;
}

const char *estimate_kind_text(enum estimate_kind kind)
{
    return kinds[kind];
}

int estimate_target_set(struct estimate_target *target, const char *key, double value, struct error *err)
{
    size_t i = find(key);
    if (i == COUNT_OF(figures)) {
        const char *keys[COUNT_OF(figures)];
        for (size_t k = 0; k < COUNT_OF(figures); k++)
            keys[k] = figures[k].key;
        const char *near = suggest_word(key, keys, COUNT_OF(keys));
        return error_set(err, EINVAL, "there is no figure '%s'%s%s%s", key, near ? "; did you mean " : "",
                         near ? near : "", near ? "?" : "");
    }
    if (!isfinite(value) || value < 0)
        return error_set(err, EINVAL, "%s must be a number that is 0 or more", key);
    *figure_at(target, i) = value;
    return 0;
}

double estimate_target_get(const struct estimate_target *target, const char *key)
{
    struct estimate_target copy = *target;
    size_t i = find(key);
    return i == COUNT_OF(figures) ? 0 : *figure_at(&copy, i);
}

int estimate_target_option(struct estimate_target *target, const char *text, struct error *err)
{
    char key[64];
    const char *equal = strchr(text, '=');
    size_t length = equal ? (size_t)(equal - text) : 0;
    if (!length || length >= sizeof key || !equal[1])
        return error_set(err, EINVAL, "'%s' is not key=value", text);
    memcpy(key, text, length);
    key[length] = 0;
    char *end;
    double value = strtod(equal + 1, &end);
    if (*end)
        return error_set(err, EINVAL, "%s: '%s' is not a number", key, equal + 1);
    return estimate_target_set(target, key, value, err);
}

const char *estimate_target_missing(const struct estimate_target *target)
{
    struct estimate_target copy = *target;
    for (size_t i = 0; i < COUNT_OF(figures); i++) {
        if (figures[i].required >> target->kind & 1u && !(*figure_at(&copy, i) > 0))
            return figures[i].key;
    }
    return NULL;
}

bool estimate_target_is_calibrated(const struct estimate_target *target)
{
    struct estimate_target copy = *target;
    for (size_t i = 0; i < COUNT_OF(figures); i++) {
        if (strncmp(figures[i].key, "scale_", 6) == 0 && *figure_at(&copy, i) != 1)
            return true;
    }
    return false;
}
