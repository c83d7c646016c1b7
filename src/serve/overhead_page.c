/* SPDX-License-Identifier: Apache-2.0 */
/* What the page shows of a run is the answer to one question of its own, "dispatch" (web/src/model/dispatch.ts). */
#include "serve/overhead_page.h"

#include <math.h>
#include <string.h>

#include "serve/snapshot.h"

#define REPEATS_SHOWN 400u /* of an op; of more, every n-th */

static const char *file_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash && slash[1] ? slash + 1 : path;
}

static void put_repeats(struct json *j, const struct overhead_op *op)
{
    size_t step = op->repeat_count / REPEATS_SHOWN + 1;
    json_key(j, "repeats_ns");
    json_array(j, JSON_INLINE);
    for (size_t i = 0; i < op->repeat_count; i += step)
        json_real(j, round(op->dispatch_ns[i] * 10) / 10);
    json_end(j);
}

static void put_op(struct json *j, const struct overhead_op *op)
{
    json_object(j, JSON_INLINE);
    json_member_text(j, "name", op->name);
    json_member_text(j, "group", op->group);
    json_member_text(j, "state", overhead_state_name(op->state));
    json_member_text(j, "reason", op->reason);
    json_member_bool(j, "early", op->is_early);
    json_member_unsigned(j, "count", op->count);
    json_member_real(j, "min_ns", op->min_ns);
    json_member_real(j, "p50_ns", op->p50_ns);
    json_member_real(j, "p99_ns", op->p99_ns);
    json_member_real(j, "mean_ns", op->mean_ns);
    json_member_real(j, "mean_total_ns", op->mean_total_ns);
    json_member_real(j, "ci_low_ns", op->ci_low_ns);
    json_member_real(j, "ci_high_ns", op->ci_high_ns);
    json_member_real(j, "native_ns", op->native_ns);
    put_repeats(j, op);
    json_end(j);
}

static void put_gate_rows(struct json *j, const struct overhead_gate *gate)
{
    json_key(j, "rows");
    json_array(j, JSON_LINES);
    for (size_t i = 0; i < gate->row_count; i++) {
        const struct overhead_gate_row *row = &gate->rows[i];
        json_object(j, JSON_INLINE);
        json_member_text(j, "name", row->name);
        json_member_text(j, "group", row->group);
        json_member_text(j, "verdict", overhead_verdict_name(row->verdict));
        json_member_real(j, "reference_ns", row->reference_ns);
        json_member_real(j, "now_ns", row->floor_ns);
        json_member_real(j, "ratio", row->ratio);
        json_member_unsigned(j, "rounds", row->rounds);
        json_member_text(j, "reason", row->reason);
        json_end(j);
    }
    json_end(j);
}

static void put_gate(struct json *j, const struct overhead_page *page)
{
    const struct overhead_gate *gate = page->gate;
    json_object(j, JSON_LINES);
    json_member_text(j, "reference", file_name(page->reference));
    json_member_bool(j, "passes", page->passes);
    json_member_real(j, "tolerance", gate->tolerance);
    json_member_text(j, "why_absolute", gate->is_normalised ? NULL : gate->why_absolute);
    json_member_real(j, "factor", gate->factor);
    json_member_real(j, "margin", gate->margin);
    json_member_unsigned(j, "rounds", gate->rounds);
    json_member_unsigned(j, "quiet_rounds", gate->quiet_rounds);
    put_gate_rows(j, gate);
    json_key(j, "calibration");
    json_array(j, JSON_LINES);
    for (size_t i = 0; i < gate->calibration_count; i++) {
        json_object(j, JSON_INLINE);
        json_member_text(j, "name", gate->calibrations[i].name);
        json_member_real(j, "reference_ns", gate->calibrations[i].reference_ns);
        json_member_real(j, "now_ns", gate->calibrations[i].floor_ns);
        json_end(j);
    }
    json_end(j);
    json_end(j);
}

static int put_run(const struct overhead_page *page, struct bytes *out, struct error *err)
{
    const struct overhead_run *run = page->run;
    struct json j = query_json(out);
    json_object(&j, JSON_LINES);
    json_member_text(&j, "source", file_name(run->source));
    json_member_text(&j, "provider", run->provider);
    json_member_text(&j, "provider_version", run->provider_version);
    json_member_text(&j, "machine", run->machine);
    json_member_real(&j, "loop_ns", run->loop_ns);
    json_member_real(&j, "noise", run->noise);
    json_member_bool(&j, "noisy", run->is_noisy);
    json_key(&j, "ops");
    json_array(&j, JSON_LINES);
    for (size_t i = 0; i < run->op_count; i++) {
        if (!run->ops[i].is_calibration)
            put_op(&j, &run->ops[i]);
    }
    json_end(&j);
    json_key(&j, "gate");
    if (page->gate)
        put_gate(&j, page);
    else
        json_null(&j);
    json_end(&j);
    return query_json_end(&j, out, err);
}

int overhead_page_write(const struct overhead_page *page, const char *path, struct error *err)
{
    struct bytes answer = {0};
    int status = put_run(page, &answer, err);
    if (!status)
        status = snapshot_write_answer("dispatch", &answer, path, err);
    bytes_free(&answer);
    return status;
}
