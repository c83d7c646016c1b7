/* SPDX-License-Identifier: Apache-2.0 */
#include "present/report/words.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/report/advice.h"
#include "base/count_of.h"
#include "ops/finish.h"

#define VARIES 10 /* the longest run of an op against its fastest */

const char *perf_format_us(struct number_text *out, double us)
{
    return format_time_real(out, us * 1000);
}

const char *perf_share_text(const struct perf *perf)
{
    return perf->gaps_dominate ? "of the device time" : "of the run";
}

/* --- one line of advice --- */

void perf_append_headline(const struct perf *perf, const struct perf_advice *advice, struct bytes *out)
{
    struct number_text gain;
    const char *name = perf_text(perf, advice->shown);
    uint32_t id = perf_at(perf, advice->row)->id;
    bool is_gap = advice->rule == PERF_RULE_GAP;
    if (advice->rule == PERF_RULE_MODEL)
        bytes_append_text(out, "in doubt: ");
    else
        bytes_append_format(out, "saves %s (%.1f %% %s): ", perf_format_us(&gain, advice->gain_us),
                            advice->gain_percent, is_gap ? "of the run" : perf_share_text(perf));
    if (advice->count == 1)
        bytes_append_format(out, "%s, id %" PRIu32, name, id);
    else if (is_gap)
        bytes_append_format(out, "gaps before %u ops, the longest before %s", advice->count, name);
    else
        bytes_append_format(out, "%u x %s, the costliest id %" PRIu32, advice->count, name, id);
}

static void append_figures(const struct perf *perf, const struct perf_row *row, struct bytes *out)
{
    const struct perf_figures figures = perf_figures(perf, row);
    const char *before = "";
    if (!isnan(figures.dram_percent)) {
        bytes_append_format(out, "DRAM %.1f %% of %.0f GB/s", figures.dram_percent, perf->machine->dram_gb_s);
        before = ", ";
    }
    if (!isnan(figures.cache_percent)) {
        bytes_append_format(out, "%s %.1f %% of %.0f GB/s", machine_cache_text(row->cache_plus_1 - 1u),
                            figures.cache_percent, perf->machine->caches[row->cache_plus_1 - 1].gb_s);
        before = ", ";
    }
    if (!isnan(figures.flops_percent)) {
        bytes_append_format(out, "%sFLOPs %.1f %%", before, figures.flops_percent);
        before = ", ";
    }
    if (!isnan(figures.link_percent)) {
        bytes_append_format(out, "%slinks %.1f %%", before, figures.link_percent);
        before = ", ";
    }
    if (perf_cores(perf, row) > 0)
        bytes_append_format(out, "%s%.0f of %.0f cores", before, perf_cores(perf, row),
                            perf_core_budget(perf, row));
}

/* Which op: by its id where these are shown, else by its name. */
static void append_op(const struct perf *perf, const struct perf_row *row, bool has_ids, struct bytes *out)
{
    if (has_ids)
        bytes_append_format(out, "id %" PRIu32, row->id);
    else
        bytes_append_text(out, perf_text(perf, perf_work_of(perf, row)->shown));
}

/* Equal ops of which one took very much longer: that is not how fast the op is. */
static void append_variation(double time_us, double fastest_us, struct bytes *out)
{
    struct number_text fastest;
    if (fastest_us > 0 && time_us >= VARIES * fastest_us)
        bytes_append_format(out,
                            "; it varies %.0f-fold (the fastest takes %s): see what held this one up first",
                            time_us / fastest_us, perf_format_us(&fastest, fastest_us));
}

void perf_append_evidence(const struct perf *perf, const struct perf_advice *advice, bool has_ids,
                          struct bytes *out)
{
    const struct perf_row *row = perf_at(perf, advice->row);
    struct number_text mark, average, longest;
    perf_format_us(&average, advice->time_us / advice->count);
    if (advice->rule == PERF_RULE_GAP) {
        bytes_append_format(out, "gaps of more than %s, %s on average; the longest, %s, before ",
                            perf_format_us(&mark, perf->machine->gap_mark_us), average.text,
                            perf_format_us(&longest, row->shown_gap_us));
        append_op(perf, row, has_ids, out);
        return;
    }
    if (advice->rule == PERF_RULE_HOST) {
        bytes_append_format(out, "%s on the host on average", average.text);
        return;
    }
    if (advice->count > 1 && has_ids)
        bytes_append_format(out, "id %" PRIu32 " takes %s (%s on average): ", row->id,
                            perf_format_us(&longest, perf_time_us(row)), average.text);
    else if (advice->count > 1)
        bytes_append_format(out, "the longest takes %s (%s on average): ",
                            perf_format_us(&longest, perf_time_us(row)), average.text);
    if (advice->rule == PERF_RULE_LAYOUT && isnan(perf_figures(perf, row).ideal_us))
        bytes_append_format(out, "%s%s", advice->count > 1 ? "" : average.text,
                            advice->count > 1 ? "no DRAM traffic" : ", no DRAM traffic");
    else
        append_figures(perf, row, out);
    append_variation(perf_time_us(row), advice->fastest_us, out);
}

/* What can be changed about how a slow matmul is cut; a higher fidelity would not save time. */
static void append_matmul_action(const struct perf *perf, const struct perf_row *row, struct bytes *out)
{
    struct perf_matmul slow = perf_matmul_of(perf, row);
    struct perf_matmul_advice advice;
    const char *fidelity;
    bool is_too_high = perf_fidelity_verdict(&slow, &fidelity) == PERF_VERDICT_TOO_HIGH, is_any = false;
    slow.bound = PERF_BOUND_SLOW;
    perf_advise_matmul(&slow, &advice);
    for (size_t i = 0; i < advice.count; i++) {
        bool is_fidelity = fidelity && strcmp(advice.texts[i], fidelity) == 0;
        if (strstr(advice.texts[i], "as they should be") || (is_fidelity && !is_too_high))
            continue;
        bytes_append_format(out, "%s%s", is_any ? "; " : "", advice.texts[i]);
        is_any = true;
    }
    if (!is_any)
        bytes_append_text(out,
                          "its blocks are cut as they should be: look at how its inputs reach the cores");
}

static const char *slow_action(const struct perf *perf, const struct perf_row *row)
{
    const struct perf_work *work = perf_work_of(perf, row);
    double memory_us = perf_memory_us(perf, row);
    if (memory_us >= perf_figures(perf, row).ideal_us)
        return "keep its tensors in L1 between ops, or fuse it with the op that makes or uses them";
    if (work->class_ == PERF_CLASS_CONV)
        return "give each core larger blocks (act_block_h), double-buffer activations and weights, or lower the "
               "fidelity";
    if (work->class_ == PERF_CLASS_ATTENTION)
        return "use larger chunks of queries and keys for each core, or lower the fidelity";
    return "it is too small for its cores: fuse it with the op before or after it";
}

static const char *layout_action(const char *name)
{
    if (strstr(name, "Halo"))
        return "it copies the edges that the next convolution needs: larger shards have fewer edges";
    if (strstr(name, "Cache"))
        return "the cache has to be written: give it more cores, or let it write several steps at once";
    return "leave it out: let the op before it write the layout that the op after it reads";
}

/* L1, sharded memory and program configs are those of one family of chips, as are its fidelities. */
static bool is_other_family(const struct machine *machine)
{
    return machine->dram_sharded_cores == 0;
}

/* What can be done about an op on any chip; NULL: what is said anyhow. */
static const char *general_action(const struct perf *perf, const struct perf_row *row, unsigned rule)
{
    const struct perf_work *work = perf_work_of(perf, row);
    double memory_us = perf_memory_us(perf, row);
    if (rule == PERF_RULE_LAYOUT)
        return "leave it out where what it moves can stay where it is, or let it run beside other work";
    if (rule == PERF_RULE_DRAM)
        return "it reads more than it computes: batch more rows into it, or use smaller types for the weights";
    if (rule == PERF_RULE_SLOW && memory_us >= perf_figures(perf, row).ideal_us)
        return "fuse it with the op that makes or uses its tensors, or use a smaller data type";
    bool is_matrix = work->class_ == PERF_CLASS_CONV || work->class_ == PERF_CLASS_ATTENTION;
    if (rule == PERF_RULE_MATMUL || (rule == PERF_RULE_SLOW && is_matrix))
        return "give it more work at once (batch), its cores larger blocks, or use a smaller data type";
    return NULL;
}

/* A product of 32-bit floats by one of the kernels that cuBLAS, CUTLASS and cuDNN have for the CUDA cores: they say so
 * in their names. */
static bool lacks_tensor_cores(const struct perf *perf, const struct perf_row *row)
{
    static const char *const names[] = {"sgemm", "_ffma_", "_simt_"};
    const struct perf_work *work = perf_work_of(perf, row);
    const uint32_t *runs;
    if ((work->class_ != PERF_CLASS_MATMUL && work->class_ != PERF_CLASS_CONV) ||
        work->types[0] == OPS_NONE || strcmp(perf_text(perf, work->types[0]), "FLOAT32") != 0)
        return false;
    size_t count = ops_line_runs(perf->ops, perf_line(perf, row), &runs);
    for (size_t i = 0; i < count; i++) {
        const char *name = ops_get_text(perf->ops, perf->ops->runs[runs[i]].name);
        for (size_t k = 0; k < COUNT_OF(names); k++) {
            if (strstr(name, names[k]))
                return true;
        }
    }
    return false;
}

/* What can be done about an op of PyTorch; NULL: what is said of any other. */
static const char *torch_action(const struct perf *perf, const struct perf_row *row, unsigned rule)
{
    const struct perf_work *work = perf_work_of(perf, row);
    double memory_us = perf_memory_us(perf, row);
    bool is_memory = memory_us >= perf_figures(perf, row).ideal_us;
    bool is_product = work->class_ == PERF_CLASS_MATMUL || work->class_ == PERF_CLASS_CONV;
    if (rule == PERF_RULE_GAP && perf_is_cpu(perf) && !perf->looks_like_compilation)
        return "use fewer, larger ops (batch, torch.compile), and do less of the program's own in the loop: between "
               "ops the CPU runs Python and torch";
    if (rule == PERF_RULE_GAP)
        return perf->looks_like_compilation
                   ? NULL
                   : "let the device run ahead of the host: torch.compile, CUDA graphs, fewer and larger ops, no "
                     ".item() or .cpu() between them";
    if (lacks_tensor_cores(perf, row))
        return "its kernel multiplies without tensor cores: torch.set_float32_matmul_precision(\"high\") lets it use "
               "TF32 (torch.backends.cudnn.allow_tf32 for convolutions), torch.autocast 16-bit types";
    if (rule == PERF_RULE_LAYOUT)
        return "leave it out: .contiguous(), .to() and slices copy; keep one layout, data type and device";
    if (rule == PERF_RULE_DRAM)
        return "it reads more than it computes: batch more rows into it, or use smaller types for the weights";
    if (rule == PERF_RULE_CORES && (is_product || work->class_ == PERF_CLASS_ATTENTION))
        return "it divides into too few blocks for the chip: more rows at once (batch), or several such ops as one";
    if (rule == PERF_RULE_CORES)
        return "it is too small to fill the chip: fuse it with its neighbours (torch.compile; foreach=True or "
               "fused=True for optimizers), or do more at once";
    if (rule != PERF_RULE_SLOW && rule != PERF_RULE_MATMUL)
        return NULL;
    if (is_memory)
        return "fuse it with the op that makes or uses its tensors (torch.compile), or use a smaller data type";
    if (is_product)
        return "give it more work at once (batch), sizes that are multiples of 8 or 16, or a smaller data type "
               "(torch.autocast; channels_last for convolutions)";
    if (work->class_ == PERF_CLASS_ATTENTION)
        return "see which kernel it has (torch.nn.attention.sdpa_kernel): masks and types decide";
    return NULL;
}

static const char *fixed_action(const struct perf *perf, const struct perf_advice *advice)
{
    const struct perf_row *row = perf_at(perf, advice->row);
    bool is_torch = perf_work_of(perf, row)->is_torch || perf_is_cpu(perf); /* names of any kind */
    const char *own = is_torch ? torch_action(perf, row, advice->rule) : NULL;
    if (!own && is_other_family(perf->machine))
        own = general_action(perf, row, advice->rule);
    if (own)
        return own;
    struct perf_matmul matmul;
    const char *text = NULL;
    switch (advice->rule) {
    case PERF_RULE_GAP:
        return perf->looks_like_compilation
                   ? "measure a later iteration: start the report at a signpost after the first one"
                   : "let the device run ahead of the host: replay a recorded trace, or dispatch without "
                     "waiting for results";
    case PERF_RULE_HOST:
        return "use an op that runs on the device, so that the data stays there";
    case PERF_RULE_FIDELITY:
        matmul = perf_matmul_of(perf, row);
        perf_fidelity_verdict(&matmul, &text);
        return text ? text : "lower the math fidelity";
    case PERF_RULE_DRAM:
        return "read DRAM faster: a DRAM-sharded program config where there are few rows, else larger blocks "
               "with input 0 in L1; smaller weights (BFP8, BFP4) are less to read";
    case PERF_RULE_CORES:
        return "spread the work over more cores: a larger grid, or a shape that divides into more blocks";
    case PERF_RULE_LAYOUT:
        return layout_action(perf_text(perf, perf_work_of(perf, row)->name));
    default:
        return slow_action(perf, row);
    }
}

/* "the model gives conv2d 2.99 ms, 300 times what its memory traffic would take: check tiling or engine" */
static void append_doubt(const struct perf *perf, const struct perf_row *row, struct bytes *out)
{
    const struct perf_figures figures = perf_figures(perf, row);
    double time_us = perf_time_us(row);
    bool is_memory = isnan(figures.flops_percent) ||
                     fmax(figures.dram_percent, figures.cache_percent) >= figures.flops_percent;
    struct number_text time;
    bytes_append_format(out, "the model gives %s %s", perf_text(perf, perf_work_of(perf, row)->shown),
                        perf_format_us(&time, time_us));
    if (figures.ideal_us > 0)
        bytes_append_format(out, ", %.*f times what its %s would take",
                            time_us / figures.ideal_us < 100 ? 1 : 0, time_us / figures.ideal_us,
                            is_memory ? "memory traffic" : "arithmetic");
    bytes_append_text(out, ": check tiling or engine");
}

void perf_append_action(const struct perf *perf, const struct perf_advice *advice, struct bytes *out)
{
    const struct perf_row *row = perf_at(perf, advice->row);
    double links = (double)perf_work_of(perf, row)->link_count;
    if (advice->rule == PERF_RULE_MODEL)
        append_doubt(perf, row, out);
    else if (advice->rule == PERF_RULE_MATMUL && !is_other_family(perf->machine))
        append_matmul_action(perf, row, out);
    else if (advice->rule == PERF_RULE_LINK && !isnan(links))
        bytes_append_format(out, "use more links than %.0f, or a ring where the devices form one", links);
    else if (advice->rule == PERF_RULE_LINK)
        bytes_append_text(out, "use more links (num_links) or a ring where the devices form one");
    else
        bytes_append_text(out, fixed_action(perf, advice));
}

void perf_append_row_advice(const struct perf *perf, size_t i, struct bytes *out)
{
    const struct perf_row *row = perf_at(perf, i);
    struct perf_advice advice = {.row = (uint32_t)i};
    struct number_text gain;
    for (unsigned k = 0; k < 2; k++) {
        double gain_us = (double)(k == 0 ? row->advice_gain_us : row->gap_gain_us);
        bool is_doubt = k == 0 && row->advice_rule_plus_1 == PERF_RULE_MODEL + 1;
        if (!(gain_us > 0) && !is_doubt)
            continue;
        advice.rule = k == 0 ? (uint32_t)row->advice_rule_plus_1 - 1 : PERF_RULE_GAP;
        if (k && row->advice_gain_us > 0)
            bytes_append_text(out, " \xe2\x80\xa2 ");
        bytes_append_text(out, perf_rules[advice.rule].name); /* without printf: this is asked for each op */
        if (!is_doubt) {
            bytes_append_text(out, " (saves ");
            bytes_append_text(out, perf_format_us(&gain, gain_us));
            bytes_append_text(out, ")");
        }
        bytes_append_text(out, ": ");
        perf_append_action(perf, &advice, out);
    }
    if (row->doubt) {
        bytes_append_text(out, row->gap_gain_us > 0 ? " \xe2\x80\xa2 " : "");
        bytes_append_text(out, "not modelled: ");
        bytes_append_text(out, perf_doubt_text(row->doubt));
    }
}

/* --- all of it --- */

const char *perf_no_advice_text(const struct perf *perf)
{
    if (!perf->has_machine)
        return "nothing can be said: what this machine can do is not known (--machine)";
    for (size_t i = 0; i < perf->count; i++) {
        if (!isnan(perf_figures(perf, perf_at(perf, i)).ideal_us))
            return perf->doubt_count ? "nothing: every op whose model holds reaches the target"
                                     : "nothing: every op whose roofline is known reaches the target";
    }
    if (perf->doubt_count)
        return "nothing can be said: the model of no op holds (the notes say why)";
    return "nothing can be said: no op has a time and a roofline";
}

void perf_append_advice_sum(const struct perf *perf, struct bytes *out)
{
    double gain_us = perf->advice_gain_us - (perf->gaps_dominate ? perf->advice_gap_gain_us : 0);
    double whole_us = perf->gaps_dominate ? perf->total_time_us : perf->total_us;
    struct number_text gain;
    if (!(gain_us > 0))
        return;
    if (gain_us > whole_us) { /* a share of more than all says nothing */
        bytes_append_format(out, "%s of ops that ran at the same time: the run itself took less",
                            perf_format_us(&gain, gain_us));
        return;
    }
    bytes_append_format(
        out, "%s%s, %.1f %% %s",
        perf->gaps_dominate ? "If all of it but the gaps were done: " : "If all of it were done: ",
        perf_format_us(&gain, gain_us), whole_us > 0 ? gain_us / whole_us * 100 : 0, perf_share_text(perf));
}

void perf_append_gap_verdict(const struct perf *perf, struct bytes *out)
{
    double share = perf->total_us > 0 ? perf->total_gap_us / perf->total_us * 100 : 0;
    if (perf->is_estimate && (perf->gaps_dominate || share >= 30))
        bytes_append_format(out, "estimated: nothing computes for %.1f %% of the time%s", share,
                            perf->gaps_dominate ? "; shares are of the device time" : "");
    else if (perf->gaps_dominate && perf->looks_like_compilation)
        bytes_append_format(out,
                            "gaps are %.1f %% of the time: this looks like compilation or a first iteration; "
                            "shares are of the device time",
                            share);
    else if (perf_is_cpu(perf) && (perf->gaps_dominate || share >= 30))
        bytes_append_format(out, "the CPU is between ops for %.1f %% of the time%s", share,
                            perf->gaps_dominate ? "; shares are of the ops' time" : "");
    else if (perf->gaps_dominate)
        bytes_append_format(
            out,
            "host-bound: the device waits for %.1f %% of the time%s; shares are of the device "
            "time",
            share, perf->host_op_count ? ", host ops lie in between" : "");
    else if (share >= 30)
        bytes_append_format(out, "host-bound: the device waits for %.1f %% of the time%s", share,
                            perf->host_op_count ? "; host ops lie in between" : "");
}
