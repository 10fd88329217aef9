#include "findings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy.h"
#include "units.h"

static const double undecided_ratio = 0.5; /* of regret */

static void name_variant(const struct rue_variant_findings *variant, char *out, size_t bytes)
{
    const char *format = variant->variant.format, *dtype = variant->variant.dtype;
    if (variant->label)
        snprintf(out, bytes, "%s%s%s%s%s", variant->label, *format ? " " : "", format, *dtype ? " " : "",
                 dtype);
    else
        rue_variant_describe(&variant->variant, out, bytes);
}

const char *rue_findings_last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* With the shape and codec of chunks. */
static void name_stored(const struct rue_variant_findings *variant, char *out, size_t bytes)
{
    name_variant(variant, out, bytes);
    size_t used = strlen(out);
    if (variant->data.layout[0] && used < bytes)
        snprintf(out + used, bytes - used, " %s", variant->data.layout);
}

size_t rue_findings_name_among(const struct rue_findings *findings,
                               const struct rue_variant_findings *variant, char *out, size_t bytes)
{
    char other_name[192];
    const char *path = variant->variant.path;
    bool same_name = false, same_folder = false, same_data = false;
    name_stored(variant, out, bytes);
    for (size_t v = 0; v < findings->variant_count; v++) {
        const struct rue_variant_findings *other = &findings->variants[v];
        if (other == variant) continue;
        name_stored(other, other_name, sizeof other_name);
        if (strcmp(out, other_name) != 0) continue;
        same_name = true;
        if (variant->job.deployment.ranks && rue_variant_equal(&other->variant, &variant->variant)) {
            same_data = true;
            continue;
        }
        same_folder |= strcmp(rue_findings_last_part(path), rue_findings_last_part(other->variant.path)) == 0;
    }
    size_t used = strlen(out);
    if (same_name && used < bytes && *path)
        snprintf(out + used, bytes - used, " %s", same_folder ? path : rue_findings_last_part(path));
    used = strlen(out);
    if (same_data && used < bytes)
        snprintf(out + used, bytes - used, " on %" PRIu64 " rank%s, %" PRIu64 " images each",
                 variant->job.deployment.ranks, variant->job.deployment.ranks == 1 ? "" : "s",
                 variant->job.images);
    size_t mode = strlen(rue_findings_mode(variant)) + 1;
    return mode < strlen(out) ? mode : strlen(out);
}

bool rue_findings_compares_ranks(const struct rue_findings *findings)
{
    const struct rue_variant_findings *variants = findings->variants;
    for (size_t v = 0; v < findings->variant_count; v++)
        for (size_t other = 0; other < findings->variant_count && variants[v].job.deployment.ranks == 1;
             other++)
            if (variants[other].job.deployment.ranks > 1 &&
                rue_variant_equal(&variants[other].variant, &variants[v].variant))
                return true;
    return false;
}

bool rue_findings_is_counted(const struct rue_findings *findings, const struct rue_variant_findings *variant)
{
    return !rue_findings_compares_ranks(findings) || variant->job.deployment.ranks == 1;
}

bool rue_findings_runner_is_own(const struct rue_findings *findings)
{
    return strcmp(findings->runner.measured_with, "rue") == 0;
}

const char *rue_findings_mode(const struct rue_variant_findings *variant)
{
    return variant->label ? variant->label : rue_mode_names[variant->variant.mode];
}

bool rue_findings_mode_is_known(const struct rue_variant_findings *variant)
{
    return !variant->label || strcmp(variant->label, rue_mode_names[variant->variant.mode]) == 0;
}

int rue_findings_compare(const void *left, const void *right)
{
    const struct rue_variant_findings *a = left, *b = right;
    char names[2][256];
    if (a->variant.mode != b->variant.mode) return a->variant.mode < b->variant.mode ? -1 : 1;
    name_variant(a, names[0], sizeof names[0]);
    name_variant(b, names[1], sizeof names[1]);
    int order = strcmp(names[0], names[1]);
    if (order != 0) return order;
    if (a->job.images != b->job.images) return a->job.images < b->job.images ? -1 : 1;
    return strcmp(a->data.digest, b->data.digest);
}

size_t rue_findings_config(const struct rue_cost_matrix *matrix, const struct rue_config *config)
{
    const struct rue_config *found =
        matrix->config_count && rue_config_knobs(config) == rue_config_knobs(&matrix->configs[0])
            ? bsearch(config, matrix->configs, matrix->config_count, sizeof *config, rue_config_compare)
            : NULL;
    return found ? (size_t)(found - matrix->configs) : rue_cost_matrix_config(matrix, config);
}

void rue_findings_count_trial(struct rue_variant_findings *variant, const struct rue_trial_result *result)
{
    struct rue_trial_findings *trials = &variant->trials;
    size_t *counts[RUE_OUTCOME_COUNT] = {[RUE_TRIAL_OK] = &trials->ok,
                                         [RUE_TRIAL_INFEASIBLE] = &trials->infeasible,
                                         [RUE_TRIAL_FAILED] = &trials->failed,
                                         [RUE_TRIAL_TIMEOUT] = &trials->timeout};
    ++*counts[result->outcome];
    if (result->bad_images > (int64_t)trials->bad_images) trials->bad_images = (uint64_t)result->bad_images;
    if (result->outcome != RUE_TRIAL_OK) return;
    trials->cache_missed += result->cache_missed == 1;
    if (result->sleep_overshoot_ns == RUE_ABSENT || result->compute_ns == RUE_ABSENT) return;
    trials->meant_ns += (double)(result->compute_ns - result->sleep_overshoot_ns);
    trials->late_ns += (double)result->sleep_overshoot_ns;
}

void rue_findings_count_queue(struct rue_variant_findings *variant, const struct rue_trial_result *result)
{
    const double rarely_ratio = 0.05;
    struct rue_queue_findings *queue = &variant->trials.queue;
    double batches = (double)result->batches;
    if (result->outcome != RUE_TRIAL_OK || result->queue_waits < 0 || result->queue_fills < 0 ||
        batches < 3 * (double)rue_config_window(&result->config, 0))
        return;
    bool empty = (double)result->queue_waits > rarely_ratio * batches,
         full = (double)result->queue_fills > rarely_ratio * batches;
    queue->ample += !empty;
    queue->uneven += empty && full;
    queue->bound += empty && !full;
    uint64_t batch_ns = (uint64_t)((double)result->end_to_end_ns / batches);
    if (empty && !full && batch_ns > queue->batch_ns) queue->batch_ns = batch_ns;
}

size_t rue_findings_best_batches(const struct rue_variant_findings *variant, bool fixed)
{
    const struct rue_selection *selection = variant->selection;
    for (size_t i = 0; i < selection->ranked_count; i++) {
        size_t config = selection->ranked[i];
        int strategy = variant->matrix->configs[config].value[RUE_BATCH_STRATEGY];
        if ((strategy < RUE_BATCHES_MEMORY) == fixed) return config;
    }
    return RUE_NONE;
}

void rue_findings_count_sizes(struct rue_variant_findings *variant, const struct rue_trial_result *result)
{
    size_t best = rue_findings_best_batches(variant, false);
    if (best == RUE_NONE || result->outcome != RUE_TRIAL_OK || result->batches < 1) return;
    if (!rue_config_equal(&result->config, &variant->matrix->configs[best])) return;
    int64_t size = result->config.value[RUE_BATCH_SIZE], batches = (result->images + size - 1) / size;
    ++*(result->batches == batches ? &variant->trials.sizes.kept : &variant->trials.sizes.changed);
}

bool rue_findings_is_doubtful(const struct rue_findings *findings)
{
    return findings->changes.disturbance[0] || findings->changes.busy_before[0] ||
           findings->changes.busy_after[0] || rue_findings_is_unsteady(findings);
}

bool rue_findings_is_unsteady(const struct rue_findings *findings)
{
    static const double most_ratio = 0.5;
    const struct rue_contention_findings *contention = &findings->changes.contention;
    return contention->affected_ratio > most_ratio ||
           (contention->affected_ratio > 0 && !contention->has_clean_pair);
}

bool rue_findings_corrects_contention(const struct rue_findings *findings)
{
    const struct rue_strategy_ops *strategy = rue_strategy_find(findings->run.strategy);
    return findings->changes.contention.contended_ratio > 0 && strategy && strategy->expect;
}

bool rue_findings_withholds_ratios(const struct rue_findings *findings)
{
    return rue_findings_is_unsteady(findings) && !findings->run.accepts_busy;
}

bool rue_findings_speedup(const struct rue_findings *findings, const struct rue_variant_findings *variant,
                          size_t config, size_t other, struct rue_speedup *out)
{
    bool found =
        !rue_findings_withholds_ratios(findings) &&
        rue_speedup_find(variant->matrix, variant->selection, config, other, RUE_DEFAULT_CONFIDENCE, out);
    if (!found) *out = (struct rue_speedup){0};
    if (rue_findings_is_unsteady(findings)) *out = (struct rue_speedup){.ratio = out->ratio};
    return found;
}

void rue_findings_withhold(struct rue_variant_findings *variant)
{
    variant->claim = (struct rue_claim_findings){0};
    variant->interval = (struct rue_regret_interval){0};
    variant->baselines.found_gain = (struct rue_speedup){0};
    for (size_t b = 0; b < variant->baselines.count; b++)
        variant->baselines.rows[b].gain = (struct rue_speedup){0};
}

double rue_findings_bound_percent(double ratio)
{
    return fmax(1, ceil(1000 * ratio * (1 - 1e-12))) / 10;
}

const char *rue_findings_say_affected(const struct rue_findings *findings, char out[RUE_WHY_NOT_BYTES])
{
    const struct rue_contention_findings *contention = &findings->changes.contention;
    snprintf(out, RUE_WHY_NOT_BYTES, "other programs or changes of speed affected %.0f %% of the time%s",
             100 * contention->affected_ratio,
             contention->has_clean_pair ? "" : ", and every comparison of the recommended configuration");
    return out;
}

const char *rue_findings_why_not(const struct rue_findings *findings,
                                 const struct rue_variant_findings *variant, char out[RUE_WHY_NOT_BYTES])
{
    const struct rue_regret_interval *interval = &variant->interval;
    const struct rue_claim_findings *claim = &variant->claim;
    const struct rue_selection *selection = variant->selection;
    bool worst = selection->objective == RUE_OBJECTIVE_WORST;
    double low = worst ? interval->worst_low : interval->mean_low,
           high = worst ? interval->worst_high : interval->mean_high;
    out[0] = 0;
    if (selection->recommended == RUE_NONE)
        snprintf(out, RUE_WHY_NOT_BYTES, "no configuration was measured on every model");
    else if (rue_findings_is_unsteady(findings) &&
             !(findings->run.accepts_busy && selection->rows[selection->recommended].repeats))
        rue_findings_say_affected(findings, out);
    else if (findings->run.partial && selection->ranked_count == 1 && selection->config_count > 1)
        snprintf(out, RUE_WHY_NOT_BYTES, "only one of %zu configurations was measured on every model",
                 selection->config_count);
    else if (claim->confidence > 0 && claim->bound_ratio > undecided_ratio)
        snprintf(out, RUE_WHY_NOT_BYTES,
                 "another configuration may be %.1f points better, at %.3g %% confidence",
                 rue_findings_bound_percent(claim->bound_ratio), 100 * claim->confidence);
    else if (interval->confidence > 0 && high - low > undecided_ratio)
        snprintf(out, RUE_WHY_NOT_BYTES, "its regret is between %.1f %% and %.1f %%, at %.3g %% confidence",
                 100 * low, 100 * high, 100 * interval->confidence);
    return out;
}

const char *rue_findings_next_step(const struct rue_findings *findings,
                                   const struct rue_variant_findings *variant)
{
    if (rue_findings_is_unsteady(findings) && !findings->run.accepts_busy)
        return "tune again with the same options when the machine is idle, or with --accept-busy if it never "
               "is";
    return findings->run.partial || variant->knowledge
               ? "tune again with the same options to continue, or raise --budget"
           : findings->run.repeats_planned ? "raise --repeats"
                                           : "measure each configuration more often";
}

bool rue_findings_is_decided(const struct rue_findings *findings, const struct rue_variant_findings *variant)
{
    char why[RUE_WHY_NOT_BYTES];
    return !*rue_findings_why_not(findings, variant, why);
}

const struct rue_variant_findings *rue_findings_first_undecided(const struct rue_findings *findings)
{
    for (size_t v = 0; v < findings->variant_count; v++) {
        const struct rue_variant_findings *variant = &findings->variants[v];
        if (rue_findings_is_counted(findings, variant) && !rue_findings_is_decided(findings, variant))
            return variant;
    }
    return NULL;
}

double rue_findings_overshoot_ratio(const struct rue_variant_findings *variant)
{
    return variant->trials.meant_ns > 0 ? variant->trials.late_ns / variant->trials.meant_ns : NAN;
}

enum rue_basis rue_findings_basis(const struct rue_ranking_row *row)
{
    if (!row->predicted) return RUE_BASIS_FULL;
    return row->repeats ? RUE_BASIS_TRUNCATED : RUE_BASIS_PREDICTED;
}

bool rue_findings_has_worst(const struct rue_ranking_row *row)
{
    return row->max_regret_ratio >= 0.0005;
}

size_t rue_findings_first_miss(const struct rue_variant_findings *variant, size_t config)
{
    size_t first = RUE_NONE;
    bool missing = true; /* `first` was not measured, but did not fail */
    for (size_t m = 0; m < variant->selection->model_count; m++) {
        enum rue_cell_state state = rue_cost_matrix_cell(variant->matrix, m, config)->state;
        if (state == RUE_CELL_OK || (state == RUE_CELL_MISSING && !missing)) continue;
        bool worse = missing && state != RUE_CELL_MISSING;
        if (first != RUE_NONE && !worse &&
            strcmp(variant->matrix->models[first], variant->matrix->models[m]) < 0)
            continue;
        first = m;
        missing = state == RUE_CELL_MISSING;
    }
    return first;
}

void rue_findings_repeats(const struct rue_variant_findings *variant, size_t *least, size_t *most)
{
    *least = *most = 0;
    for (size_t m = 0; m < variant->selection->model_count; m++)
        for (size_t c = 0; c < variant->selection->config_count; c++) {
            size_t repeats = rue_cost_matrix_cell(variant->matrix, m, c)->repeats;
            if (repeats == 0) continue;
            if (*least == 0 || repeats < *least) *least = repeats;
            if (repeats > *most) *most = repeats;
        }
}

const struct rue_knobs *rue_findings_knobs(const struct rue_findings *findings)
{
    for (size_t v = 0; v < findings->variant_count; v++)
        if (findings->variants[v].matrix && findings->variants[v].matrix->config_count)
            return rue_config_knobs(&findings->variants[v].matrix->configs[0]);
    return &rue_own_knobs;
}

static int batch_size(const struct rue_cost_matrix *matrix, size_t config)
{
    return matrix->configs[config].value[RUE_BATCH_SIZE];
}

bool rue_batch_best_next(const struct rue_variant_findings *variant, struct rue_batch_best *at)
{
    const struct rue_ranking_row *rows = variant->selection->rows;
    size_t configs = variant->matrix->config_count, c = at->next;
    if (c >= configs) return false;
    at->batch_size = batch_size(variant->matrix, c);
    at->config = RUE_NONE;
    for (; c < configs && batch_size(variant->matrix, c) == at->batch_size; c++) {
        if (!rows[c].ranked) continue;
        if (at->config == RUE_NONE || rue_selection_is_better(variant->selection, c, at->config))
            at->config = c;
    }
    at->next = c;
    return true;
}

static void describe_ratio(const char *subject, double ratio, char out[64])
{
    char times[RUE_UNIT_TEXT_BYTES];
    rue_format_times(ratio < 1 ? 1 / ratio : ratio, times, sizeof times);
    if (strcmp(times, "1.000") == 0 || ratio == 1)
        snprintf(out, 64, "%s is unchanged", subject);
    else
        snprintf(out, 64, "%s is %s times %s", subject, times, ratio < 1 ? "faster" : "slower");
}

void rue_notice_text(const struct rue_notice *notice, char *out, size_t bytes)
{
    bool same = notice->load_ratio == notice->compute_ratio;
    char loading[64], computing[64];
    describe_ratio(same ? "the machine" : "loading", notice->load_ratio, loading);
    describe_ratio("computing", notice->compute_ratio, computing);
    snprintf(out, bytes, "since trial %zu of trials.csv, %s%s%s%s%s%s; times are corrected for it",
             notice->trial, loading, same ? "" : " and ", same ? "" : computing, notice->cause[0] ? " (" : "",
             notice->cause, notice->cause[0] ? ")" : "");
}

void rue_dropped_node_text(const struct rue_dropped_node *node, char *out, size_t bytes)
{
    char discarded[80] = "";
    if (node->discarded < node->discarded_end)
        snprintf(discarded, sizeof discarded, ", and its trials %zu to %zu are not used", node->discarded,
                 node->discarded_end - 1);
    snprintf(out, bytes, "rank %" PRIu64 " (%s) %s; it was dropped%s", node->rank, node->node, node->why,
             discarded);
}

bool rue_findings_noise_is_measured(const struct rue_variant_findings *variant, size_t a, size_t b)
{
    size_t least, most;
    bool estimated = true;
    rue_findings_repeats(variant, &least, &most);
    for (size_t m = 0; m < variant->matrix->model_count; m++)
        estimated &= !rue_cost_matrix_cell(variant->matrix, m, a)->times_ns &&
                     !rue_cost_matrix_cell(variant->matrix, m, b)->times_ns;
    return most > 1 || estimated;
}

bool rue_findings_gives_torch(const struct rue_findings *findings, const struct rue_config *config, size_t k)
{
    const struct rue_knob_info *knob = rue_config_knobs(config)->at[k];
    return knob->torch && (config->value[RUE_NUM_WORKERS] > 0 || !knob->needs_workers) &&
           (findings->runner.pins_memory || k != RUE_PIN_MEMORY);
}
