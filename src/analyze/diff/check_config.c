/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/diff/check_config.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/count_of.h"
#include "text/suggest.h"
#include "text/values.h"

#define UNKNOWN_METRIC                                                                                       \
    "unknown metric '%s': it is one of step, device-time, gap, total, wall, count, zone:NAME and op:NAME"

#define CONFIG_NAME "opscope.toml"

int check_parse_percent(const char *text, double *percent, struct error *err)
{
    size_t length = strspn(text, "0123456789."); /* nothing else that strtod would take */
    char *end = NULL;
    double value = strtod(text, &end);
    if (length > 0 && end == text + length && (*end == '\0' || strcmp(end, "%") == 0) && value <= 1e6) {
        *percent = value;
        return 0;
    }
    return error_set(err, EINVAL, "'%s' is not a percentage; write it as 5%%", text);
}

/* --- finding the file --- */

static char *join(const char *folder, const char *name)
{
    struct bytes path = {0};
    bytes_append_format(&path, "%s%s%s", folder, folder[0] && folder[strlen(folder) - 1] == '/' ? "" : "/",
                        name);
    bytes_append_u8(&path, 0);
    return path.failed ? NULL : (char *)path.data;
}

/* One that nobody but this user and root can have written. A group is as good as its user where both have one number,
 * as systems give them to people; anybody may put a file into /tmp. */
static bool is_own(const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode))
        return false;
    bool is_private_group = about.st_gid == about.st_uid && about.st_gid == getegid();
    return (about.st_uid == geteuid() || about.st_uid == 0) && !(about.st_mode & S_IWOTH) &&
           (!(about.st_mode & S_IWGRP) || about.st_gid == 0 || is_private_group);
}

/* In this folder or one above it; NULL when there is none. */
static char *find_config(struct check_config *config)
{
    char folder[PATH_MAX];
    if (!getcwd(folder, sizeof folder))
        return NULL;
    for (;;) {
        char *path = join(folder, CONFIG_NAME);
        bool is_there = path && access(path, F_OK) == 0;
        if (!path || (is_there && is_own(path)))
            return path;
        if (is_there && !config->ignored)
            config->ignored = path;
        else
            free(path);
        char *slash = strrchr(folder, '/');
        if (!slash || folder[1] == '\0')
            return NULL;
        slash[slash == folder ? 1 : 0] = '\0';
    }
}

/* --- values --- */

static int want_text(const struct check_config *config, const struct toml_node *node, struct error *err)
{
    if (node->type == TOML_TEXT && node->text[0])
        return 0;
    return toml_error(&config->toml, node, err, "'%s' should be a text in quotes%s",
                      node->key ? node->key : "element", node->type == TOML_TEXT ? " that is not empty" : "");
}

/* A percentage as a text or a number. */
static int take_percent(const struct check_config *config, const struct toml_node *node, double *out,
                        struct error *err)
{
    struct error why = {0};
    if ((node->type == TOML_INTEGER || node->type == TOML_REAL) && node->real >= 0) {
        *out = node->real;
        return 0;
    }
    if (node->type != TOML_TEXT || check_parse_percent(node->text, out, &why) != 0)
        return toml_error(&config->toml, node, err, "'%s' should be a percentage: \"5%%\"", node->key);
    return 0;
}

static int take_time(const struct check_config *config, const struct toml_node *node, double *out,
                     struct error *err)
{
    uint64_t ns;
    if (node->type != TOML_TEXT || value_parse_duration(node->text, &ns, NULL) != 0)
        return toml_error(&config->toml, node, err, "'%s' should be a time with its unit: \"2ms\", \"150us\"",
                          node->key);
    *out = (double)ns;
    return 0;
}

static int take_count(const struct check_config *config, const struct toml_node *node, double *out,
                      struct error *err)
{
    if (node->type != TOML_INTEGER || node->integer < 0)
        return toml_error(&config->toml, node, err, "'%s' should be a whole number", node->key);
    *out = node->real;
    return 0;
}

static int unknown_key(const struct check_config *config, const struct toml_node *node, const char *where,
                       const char *const *known, size_t count, struct error *err)
{
    const char *near = suggest_word(node->key, known, count);
    return toml_error(&config->toml, node, err, "%s has no '%s'%s%s%s", where, node->key,
                      near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* --- budgets --- */

static const char *const budget_keys[] = {"zone",      "op",          "metric",  "max",
                                          "max-mean",  "max-median",  "max-p99", "max-total",
                                          "max-count", "max-regress", "optional"};
#define BUDGET_KEYS COUNT_OF(budget_keys)

static int take_subject(const struct check_config *config, const struct toml_node *node,
                        struct check_rule *rule, struct error *err)
{
    int status = want_text(config, node, err);
    if (status)
        return status;
    if (rule->subject != CHECK_SUBJECTS)
        return toml_error(&config->toml, node, err, "a budget is about one thing: zone, op or metric");
    rule->name = node->text;
    if (strcmp(node->key, "metric") != 0) {
        rule->subject = strcmp(node->key, "zone") == 0 ? CHECK_ZONE : CHECK_OP;
        return 0;
    }
    if (!check_parse_subject(node->text, &rule->subject, &rule->name))
        return toml_error(&config->toml, node, err, UNKNOWN_METRIC, node->text);
    return 0;
}

static int add_rule(struct check_config *config, const struct check_rule *about, const struct toml_node *node,
                    enum check_figure figure, double limit, struct error *err)
{
    struct bytes origin = {0};
    const char *slash = strrchr(config->path, '/');
    bytes_append_format(&origin, "%s:%zu", slash ? slash + 1 : config->path, node->line);
    bytes_append_u8(&origin, 0);
    if (origin.failed ||
        !array_reserve(&config->origins, &config->origin_capacity, config->origin_count + 1,
                       sizeof(char *)) ||
        !array_reserve(&config->budgets, &config->budget_capacity, config->budget_count + 1,
                       sizeof *config->budgets)) {
        bytes_free(&origin);
        return error_no_memory(err, "budgets");
    }
    config->origins[config->origin_count++] = (char *)origin.data;
    struct check_rule *rule = &config->budgets[config->budget_count++];
    *rule = *about;
    rule->figure = figure;
    rule->limit = limit;
    rule->origin = (const char *)origin.data;
    return 0;
}

static int take_limit(struct check_config *config, const struct check_rule *about,
                      const struct toml_node *node, struct error *err)
{
    enum check_figure figure = CHECK_REGRESS;
    double limit = 0;
    bool has_name = about->subject == CHECK_ZONE || about->subject == CHECK_OP;
    while (strcmp(node->key, check_figure_text(figure)) != 0)
        figure++;
    if (!has_name && figure != CHECK_MAX && figure != CHECK_REGRESS)
        return toml_error(&config->toml, node, err, "'%s' is for zones and ops; '%s' has max and max-regress",
                          node->key, check_subject_text(about->subject));
    bool is_count = figure == CHECK_CALLS || (figure == CHECK_MAX && about->subject == CHECK_COUNT);
    int status = figure == CHECK_REGRESS ? take_percent(config, node, &limit, err)
                 : is_count              ? take_count(config, node, &limit, err)
                                         : take_time(config, node, &limit, err);
    return status ? status : add_rule(config, about, node, figure, limit, err);
}

static int take_budget(struct check_config *config, const struct toml_node *table, struct error *err)
{
    struct check_rule about = {.subject = CHECK_SUBJECTS};
    size_t before = config->budget_count;
    int status = 0;
    for (size_t i = 0; i < table->child_count && !status; i++) {
        const struct toml_node *node = &table->children[i];
        size_t key = 0;
        while (key < BUDGET_KEYS && strcmp(node->key, budget_keys[key]) != 0)
            key++;
        if (key == BUDGET_KEYS)
            return unknown_key(config, node, "a budget", budget_keys, BUDGET_KEYS, err);
        if (key < 3) {
            status = take_subject(config, node, &about, err);
        } else if (strcmp(node->key, "optional") == 0) {
            if (node->type != TOML_BOOL)
                return toml_error(&config->toml, node, err, "'optional' should be true or false");
            about.is_optional = node->boolean;
        }
    }
    if (!status && about.subject == CHECK_SUBJECTS)
        return toml_error(&config->toml, table, err,
                          "this budget does not say what it is for: zone, op or metric");
    for (size_t i = 0; i < table->child_count && !status; i++) {
        if (strncmp(table->children[i].key, "max", 3) == 0)
            status = take_limit(config, &about, &table->children[i], err);
    }
    if (!status && config->budget_count == before)
        return toml_error(&config->toml, table, err,
                          "this budget has no limit: max, max-mean, max-regress ...");
    return status;
}

/* --- the table --- */

static int take_metrics(struct check_config *config, const struct toml_node *node, struct error *err)
{
    size_t count = node->type == TOML_ARRAY ? node->child_count : 1;
    for (size_t i = 0; i < count; i++) {
        const struct toml_node *item = node->type == TOML_ARRAY ? &node->children[i] : node;
        enum check_subject subject;
        const char *name;
        int status = want_text(config, item, err);
        if (status)
            return status;
        if (!check_parse_subject(item->text, &subject, &name))
            return toml_error(&config->toml, item, err, UNKNOWN_METRIC, item->text);
        if (!text_list_add(&config->metrics, item->text))
            return toml_error(&config->toml, item, err, "more than %u metrics", TEXT_LIST_MAX);
    }
    return 0;
}

/* Paths are beside the file. */
static int add_baseline(struct check_config *config, const struct toml_node *node, struct error *err)
{
    int status = want_text(config, node, err);
    const char *slash = strrchr(config->path, '/');
    char *path = NULL;
    if (status)
        return status;
    if (config->baseline_count == TEXT_LIST_MAX)
        return toml_error(&config->toml, node, err, "more than %u baselines", TEXT_LIST_MAX);
    if (node->text[0] == '/' || !slash) {
        path = strdup(node->text);
    } else {
        char *folder = strndup(config->path, (size_t)(slash - config->path));
        path = folder ? join(folder, node->text) : NULL;
        free(folder);
    }
    if (!path)
        return error_no_memory(err, "a path");
    config->baselines[config->baseline_count++] = path;
    return 0;
}

static int take_baselines(struct check_config *config, const struct toml_node *node, struct error *err)
{
    int status = 0;
    if (node->type != TOML_ARRAY)
        return add_baseline(config, node, err);
    for (size_t i = 0; i < node->child_count && !status; i++)
        status = add_baseline(config, &node->children[i], err);
    return status;
}

static int take_check(struct check_config *config, const struct toml_node *check, struct error *err)
{
    static const char *const keys[] = {"baseline", "max-regress", "metric", "budget"};
    int status = 0;
    if (check->type != TOML_TABLE)
        return toml_error(&config->toml, check, err, "'check' should be a table: [check]");
    for (size_t i = 0; i < check->child_count && !status; i++) {
        const struct toml_node *node = &check->children[i];
        if (strcmp(node->key, "baseline") == 0)
            status = take_baselines(config, node, err);
        else if (strcmp(node->key, "max-regress") == 0)
            status = take_percent(config, node, &config->max_regress, err);
        else if (strcmp(node->key, "metric") == 0)
            status = take_metrics(config, node, err);
        else if (strcmp(node->key, "budget") != 0)
            status = unknown_key(config, node, "[check]", keys, 4, err);
        else if (node->type != TOML_ARRAY || (node->child_count && node->children[0].type != TOML_TABLE))
            status = toml_error(&config->toml, node, err, "budgets are written as [[check.budget]]");
        else
            for (size_t k = 0; k < node->child_count && !status; k++)
                status = take_budget(config, &node->children[k], err);
    }
    return status;
}

int check_config_read(struct check_config *config, const char *path, struct error *err)
{
    static const char *const tables[] = {"check"};
    *config = (struct check_config){.max_regress = NAN};
    config->path = path ? strdup(path) : find_config(config);
    if (!config->path)
        return path ? error_no_memory(err, "a path") : 0;
    int status = toml_read(&config->toml, config->path, err);
    for (size_t i = 0; i < config->toml.root.child_count && !status; i++) {
        const struct toml_node *node = &config->toml.root.children[i];
        status = strcmp(node->key, "check") == 0
                     ? take_check(config, node, err)
                     : unknown_key(config, node, "the configuration", tables, 1, err);
    }
    return status;
}

void check_config_free(struct check_config *config)
{
    for (size_t i = 0; i < config->origin_count; i++)
        free(config->origins[i]);
    free(config->origins);
    free(config->budgets);
    for (size_t i = 0; i < config->baseline_count; i++)
        free(config->baselines[i]);
    free(config->path);
    free(config->ignored);
    toml_free(&config->toml);
}
