#include "json_findings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

enum { CPUS_MAX = 1 << 20 };

#define SECONDS_MAX UINT64_C(1000000000)

/* ---- configurations and models by column and row ---- */

json_t *rue_json_config_at(const struct rue_variant_findings *variant, size_t config)
{
    if (config == RUE_NONE) return json_null();
    return rue_json_config(&variant->matrix->configs[config], false);
}

json_t *rue_json_model_at(const struct rue_variant_findings *variant, size_t model)
{
    return model == RUE_NONE ? json_null() : rue_json_text(variant->matrix->models[model]);
}

static json_t *write_config_index(const void *at, const void *context)
{
    return rue_json_config_at(context, *(const size_t *)at);
}

static void read_config_index(struct rue_json_reader *reader, const json_t *value, void *at)
{
    struct rue_config config;
    const struct rue_cost_matrix *matrix = reader->context;
    rue_json_read_config(reader, value, &config);
    size_t *out = at;
    *out = rue_cost_matrix_config(matrix, &config);
    if (*out == RUE_NONE) rue_json_refuse(reader, NULL, "one of the configs");
}

const struct rue_field_type rue_json_config_index = {.write = write_config_index, .read = read_config_index};

#define CONFIG_INDEX(structure, member) \
    RUE_FIELD_OTHER, RUE_FIELD_AT(structure, member), .type = &rue_json_config_index

/* ---- ranking ---- */

static const struct rue_ranking_row unranked = {
    .mean_regret_ratio = NAN, .max_regret_ratio = NAN, .worst_model = RUE_NONE, .top_n_count = SIZE_MAX};

void rue_json_put_score(json_t **object, const struct rue_variant_findings *variant, size_t config)
{
    const struct rue_ranking_row *row = config == RUE_NONE ? &unranked : &variant->selection->rows[config];
    rue_json_add(object, "config:o mean_regret_ratio:r max_regret_ratio:r worst_model:o top_n_count:n",
                 rue_json_config_at(variant, config), row->mean_regret_ratio, row->max_regret_ratio,
                 rue_json_model_at(variant, row->worst_model), row->top_n_count);
}

json_t *rue_json_score(const struct rue_variant_findings *variant, size_t config)
{
    if (config == RUE_NONE) return json_null();
    json_t *object = json_object();
    rue_json_put_score(&object, variant, config);
    return object;
}

const char *rue_json_verified(const struct rue_variant_findings *variant, size_t config)
{
    static const char *const names[] = {
        [RUE_BASIS_FULL] = "full", [RUE_BASIS_TRUNCATED] = "truncated", [RUE_BASIS_PREDICTED] = "predicted"};
    const struct rue_ranking_row *row = config == RUE_NONE ? NULL : &variant->selection->rows[config];
    return row && row->ranked ? names[rue_findings_basis(row)] : "";
}

void rue_json_put_row(json_t **object, const struct rue_variant_findings *variant, size_t config)
{
    const struct rue_ranking_row *row = &variant->selection->rows[config];
    const char *source = row->predicted ? "predicted" : "measured";
    rue_json_put_score(object, variant, config);
    rue_json_add(object, "ranked:b source:T verified:T repeats:n missed_repeats:n", row->ranked,
                 row->covered ? source : "", rue_json_verified(variant, config), row->repeats, row->missed);
}

void rue_json_put_rules(json_t **object, const struct rue_variant_findings *variant)
{
    const struct rue_selection *selection = variant->selection;
    json_t *weights = selection->weights ? json_object() : json_null();
    for (size_t m = 0; selection->weights && m < selection->model_count; m++)
        rue_json_put_named(&weights, variant->matrix->models[m], rue_json_real(selection->weights[m]));
    rue_json_add(object, "top_n:n objective:t weights:o goal:t max_first_batch_ns:N", selection->top_n,
                 rue_objective_names[selection->objective], weights, rue_goal_names[variant->goal],
                 variant->matrix->first_limit_ns);
}

/* ---- gains ---- */

static json_t *write_proven(const void *at, const void *context)
{
    (void)context;
    return json_boolean(rue_speedup_is_proven(at));
}

static json_t *write_recommended(const void *at, const void *context)
{
    const struct rue_baseline_row *row = at;
    const struct rue_variant_findings *variant = context;
    return json_boolean(row->config == variant->selection->recommended);
}

static const struct rue_field_type proven = {.write = write_proven},
                                   recommended = {.write = write_recommended};

static const struct rue_field gain_fields[] = {
    {"confidence", RUE_FIELD_REAL, RUE_FIELD_AT(rue_speedup, confidence), RUE_FIELD_NULL},
    {"speedup_ratio", RUE_FIELD_REAL, RUE_FIELD_AT(rue_speedup, ratio), RUE_FIELD_KEY},
    {"low_ratio", RUE_FIELD_REAL, RUE_FIELD_AT(rue_speedup, low)},
    {"high_ratio", RUE_FIELD_REAL, RUE_FIELD_AT(rue_speedup, high)},
    {"proven", RUE_FIELD_OTHER, .flags = RUE_FIELD_WRITTEN, .type = &proven},
    {0}};

static const struct rue_field baseline_fields[] = {
    {"name", RUE_FIELD_TEXT, RUE_FIELD_AT(rue_baseline_row, name)},
    {"config", CONFIG_INDEX(rue_baseline_row, config)},
    {"recommended", RUE_FIELD_OTHER, .flags = RUE_FIELD_WRITTEN, .type = &recommended},
    {"gain", RUE_FIELD_STRUCT, RUE_FIELD_AT(rue_baseline_row, gain), RUE_FIELD_NULL, .fields = gain_fields},
    {0}};

const struct rue_field rue_json_baselines_fields[] = {
    {"rows", RUE_FIELD_LIST, RUE_FIELD_AT(rue_baseline_findings, rows), RUE_FIELD_KEY,
     .fields = baseline_fields, .count = offsetof(struct rue_baseline_findings, count),
     .element = sizeof(struct rue_baseline_row)},
    {0}};

json_t *rue_json_baselines(const struct rue_variant_findings *variant)
{
    const struct rue_baseline_findings *baselines = &variant->baselines;
    json_t *object = rue_json_struct(rue_json_baselines_fields, baselines, variant), *replaced = json_null();
    if (baselines->count == 0) return object;
    if (baselines->found != variant->selection->recommended)
        replaced = rue_json_make("config:o gain:o", rue_json_config_at(variant, baselines->found),
                                 rue_json_struct(gain_fields, &baselines->found_gain, NULL));
    rue_json_put(&object, "replaced", replaced);
    return object;
}

/* ---- the variant ---- */

#define VARIANT(member) RUE_FIELD_AT(rue_variant_findings, member)

const struct rue_field rue_json_data_fields[] = {
    {"label", RUE_FIELD_STRING, VARIANT(label), RUE_FIELD_NULL},
    {"mode", RUE_FIELD_WORD, VARIANT(variant.mode), RUE_FIELD_OPTIONAL, .words = rue_mode_names},
    {"format", RUE_FIELD_TEXT, VARIANT(variant.format)},
    {"dtype", RUE_FIELD_TEXT, VARIANT(variant.dtype), RUE_FIELD_NULL},
    {"path", RUE_FIELD_TEXT, VARIANT(variant.path), RUE_FIELD_NULL},
    {"image_key", RUE_FIELD_TEXT, VARIANT(variant.image_key), RUE_FIELD_NULL},
    {"label_key", RUE_FIELD_TEXT, VARIANT(variant.label_key), RUE_FIELD_NULL},
    {"subset", RUE_FIELD_TEXT, VARIANT(variant.subset), RUE_FIELD_NULL},
    {0}};

#define TRIALS(member) RUE_FIELD_NUMBER, VARIANT(trials.member), RUE_FIELD_OPTIONAL

const struct rue_field rue_json_evidence_fields[] = {{"trials_ok", TRIALS(ok)},
                                                     {"trials_failed", TRIALS(failed)},
                                                     {"trials_infeasible", TRIALS(infeasible)},
                                                     {"trials_timeout", TRIALS(timeout)},
                                                     {"trials_disturbed", TRIALS(disturbed)},
                                                     {"trials_cache_missed", TRIALS(cache_missed)},
                                                     {"bad_images", TRIALS(bad_images)},
                                                     {"queue_bound", TRIALS(queue.bound)},
                                                     {"queue_uneven", TRIALS(queue.uneven)},
                                                     {"queue_ample", TRIALS(queue.ample)},
                                                     {"queue_batch_ns", TRIALS(queue.batch_ns)},
                                                     {"sizes_changed", TRIALS(sizes.changed)},
                                                     {"sizes_kept", TRIALS(sizes.kept)},
                                                     {0}};

static const struct rue_field claim_fields[] = {
    {"bound_ratio", RUE_FIELD_REAL, RUE_FIELD_AT(rue_claim_findings, bound_ratio), .most = SECONDS_MAX},
    {"confidence", RUE_FIELD_REAL, RUE_FIELD_AT(rue_claim_findings, confidence), RUE_FIELD_KEY},
    {"prediction_error_ratio", RUE_FIELD_REAL, RUE_FIELD_AT(rue_claim_findings, prediction_error_ratio),
     RUE_FIELD_NULL},
    {"measured_only", RUE_FIELD_FLAG, RUE_FIELD_AT(rue_claim_findings, measured_only), RUE_FIELD_OPTIONAL},
    {0}};

static const struct rue_field interval_fields[] = {
    {"confidence", RUE_FIELD_REAL, RUE_FIELD_AT(rue_regret_interval, confidence), RUE_FIELD_KEY},
    {"mean_low_ratio", RUE_FIELD_REAL, RUE_FIELD_AT(rue_regret_interval, mean_low)},
    {"mean_high_ratio", RUE_FIELD_REAL, RUE_FIELD_AT(rue_regret_interval, mean_high)},
    {"max_low_ratio", RUE_FIELD_REAL, RUE_FIELD_AT(rue_regret_interval, worst_low)},
    {"max_high_ratio", RUE_FIELD_REAL, RUE_FIELD_AT(rue_regret_interval, worst_high)},
    {0}};

static const struct rue_field length_fields[] = {
    {"from_images", RUE_FIELD_NUMBER, RUE_FIELD_AT(rue_job_interval, from_images)},
    {"to_images", RUE_FIELD_NUMBER, RUE_FIELD_AT(rue_job_interval, to_images)},
    {"config", CONFIG_INDEX(rue_job_interval, config)},
    {0}};

#define REPLAYED(member) RUE_FIELD_AT(rue_replayed, member)

static const struct rue_field replayed_best_fields[] = {
    {"", RUE_FIELD_FLAG, REPLAYED(knows_best), RUE_FIELD_KEY},
    {"config", RUE_FIELD_CONFIG, REPLAYED(best)},
    {"mean_regret_ratio", RUE_FIELD_REAL, REPLAYED(best_mean_regret_ratio)},
    {"max_regret_ratio", RUE_FIELD_REAL, REPLAYED(best_max_regret_ratio)},
    {0}};

static json_t *write_spent(const void *at, const void *context)
{
    const struct rue_replayed *replayed = at;
    (void)context;
    return rue_json_real(replayed->spent_s / replayed->table_s);
}

static const struct rue_field_type spent = {.write = write_spent};

static const struct rue_field replayed_fields[] = {
    {"table_ns", RUE_FIELD_SECONDS, REPLAYED(table_s), RUE_FIELD_KEY},
    {"spent_ns", RUE_FIELD_SECONDS, REPLAYED(spent_s)},
    {"spent_ratio", RUE_FIELD_OTHER, .flags = RUE_FIELD_WRITTEN, .type = &spent},
    {"trials", RUE_FIELD_NUMBER, REPLAYED(trials)},
    {"mean_regret_ratio", RUE_FIELD_REAL, REPLAYED(mean_regret_ratio)},
    {"max_regret_ratio", RUE_FIELD_REAL, REPLAYED(max_regret_ratio)},
    {"best", RUE_FIELD_STRUCT, .flags = RUE_FIELD_NULL, .fields = replayed_best_fields},
    {0}};

#define SLOW(member) RUE_FIELD_AT(rue_slow_rank_findings, member)

static const struct rue_field slow_rank_fields[] = {
    {"slower_ratio", RUE_FIELD_REAL, SLOW(slower_ratio), RUE_FIELD_KEY},
    {"rank", RUE_FIELD_NUMBER, SLOW(rank)},
    {"node", RUE_FIELD_TEXT, SLOW(node)},
    {"cause", RUE_FIELD_TEXT, SLOW(cause)},
    {0}};

const struct rue_field rue_json_variant_fields[] = {
    {"job_images", RUE_FIELD_NUMBER, VARIANT(job.images), RUE_FIELD_NULL},
    {"gpus", RUE_FIELD_NUMBER, VARIANT(job.deployment.gpus), RUE_FIELD_NULL},
    {"ranks", RUE_FIELD_NUMBER, VARIANT(job.deployment.ranks), RUE_FIELD_OMIT},
    {"slow_rank", RUE_FIELD_STRUCT, VARIANT(slow_rank), RUE_FIELD_OMIT, .fields = slow_rank_fields},
    {"data_images", RUE_FIELD_NUMBER, VARIANT(data.images), RUE_FIELD_OPTIONAL},
    {"data_bytes", RUE_FIELD_NUMBER, VARIANT(data.bytes), RUE_FIELD_NULL},
    {"data_digest", RUE_FIELD_TEXT, VARIANT(data.digest), RUE_FIELD_NULL},
    {"data_layout", RUE_FIELD_TEXT, VARIANT(data.layout), RUE_FIELD_OMIT},
    {"note", RUE_FIELD_TEXT, VARIANT(data.note), RUE_FIELD_OMIT},
    {"sample", RUE_FIELD_FLAG, VARIANT(data.sample)},
    {"build_s_per_image", RUE_FIELD_REAL, VARIANT(data.build_s_per_image), RUE_FIELD_NULL},
    {"certificate", RUE_FIELD_STRUCT, VARIANT(claim), RUE_FIELD_NULL, .fields = claim_fields},
    {"interval", RUE_FIELD_STRUCT, VARIANT(interval), RUE_FIELD_NULL, .fields = interval_fields},
    {"replay", RUE_FIELD_STRUCT, VARIANT(replayed), RUE_FIELD_OMIT, .fields = replayed_fields},
    {"workload", RUE_FIELD_STRUCT, VARIANT(job.workload), RUE_FIELD_OPTIONAL, .fields = rue_workload_fields},
    {"models_unnamed", RUE_FIELD_FLAG, VARIANT(models_unnamed), RUE_FIELD_OPTIONAL},
    {"by_job_images", RUE_FIELD_LIST, VARIANT(lengths.at), RUE_FIELD_NULL, .fields = length_fields,
     .count = offsetof(struct rue_variant_findings, lengths.count),
     .element = sizeof(struct rue_job_interval)},
    {0}};

/* ---- cells ---- */

#define CELL(member) RUE_FIELD_AT(rue_json_cell, member)

static const struct rue_field time_fields[] = {{"", RUE_FIELD_REAL, .most = UINT64_C(1) << 58}, {0}};

const struct rue_field rue_json_cell_fields[] = {
    {"times_ns", RUE_FIELD_LIST, CELL(times_ns), RUE_FIELD_OMIT | RUE_FIELD_POINTED,
     .most = RUE_JSON_REPEATS_MAX, .fields = time_fields, .count = offsetof(struct rue_json_cell, time_count),
     .element = sizeof(double)},
    {"estimate_ns", RUE_FIELD_REAL, CELL(estimate_ns), RUE_FIELD_OMIT, .most = UINT64_C(1) << 58},
    {"trials", RUE_FIELD_NUMBER, CELL(trials), RUE_FIELD_OMIT, .most = RUE_JSON_REPEATS_MAX},
    {"estimate_sd", RUE_FIELD_REAL, CELL(estimate_sd), RUE_FIELD_OMIT, .most = SECONDS_MAX},
    {"predicted", RUE_FIELD_FLAG, CELL(predicted), RUE_FIELD_OMIT},
    {"first_batches_ns", RUE_FIELD_LIST, CELL(first_batches_ns), RUE_FIELD_OMIT | RUE_FIELD_POINTED,
     .most = RUE_JSON_REPEATS_MAX, .fields = time_fields,
     .count = offsetof(struct rue_json_cell, first_count), .element = sizeof(double)},
    {"first_estimate_ns", RUE_FIELD_REAL, CELL(first_estimate_ns), RUE_FIELD_OMIT, .most = UINT64_C(1) << 58},
    {"missed", RUE_FIELD_NUMBER, CELL(missed), RUE_FIELD_OMIT, .most = RUE_JSON_REPEATS_MAX},
    {"infeasible", RUE_FIELD_NUMBER, CELL(infeasible), RUE_FIELD_OMIT, .most = RUE_JSON_REPEATS_MAX},
    {"reason", RUE_FIELD_STRING, CELL(reason), RUE_FIELD_OMIT},
    {0}};

/* ---- answers beside the winner ---- */

static json_t *set_json(const struct rue_variant_findings *variant)
{
    const struct rue_config_set *set = variant->answers->set;
    json_t *configs = json_array();
    for (size_t k = 0; k < set->config_count; k++) {
        json_t *models = json_array();
        for (size_t m = 0; m < set->scenario_count; m++)
            if (set->chosen[m] == set->configs[k]) rue_json_push(&models, rue_json_model_at(variant, m));
        rue_json_push(&configs, rue_json_make("config:o models:o",
                                              rue_json_config_at(variant, set->configs[k]), models));
    }
    return rue_json_make("epsilon_ratio:r exact:b mean_regret_ratio:r max_regret_ratio:r configs:o",
                         set->epsilon_ratio, set->exact, set->mean_regret_ratio, set->max_regret_ratio,
                         configs);
}

static json_t *left_out_json(const struct rue_variant_findings *variant)
{
    const struct rue_leave_one_out *left = variant->answers->leave_one_out;
    if (!left) return json_null();
    json_t *models = json_array();
    for (size_t m = 0; m < left->model_count; m++)
        rue_json_push(&models, rue_json_make("model:o config:o regret_ratio:r", rue_json_model_at(variant, m),
                                             rue_json_config_at(variant, left->rows[m].config),
                                             left->rows[m].regret_ratio));
    return rue_json_make("mean_regret_ratio:r max_regret_ratio:r worst_model:o models:o",
                         left->mean_regret_ratio, left->max_regret_ratio,
                         rue_json_model_at(variant, left->worst_model), models);
}

static json_t *front_json(const struct rue_variant_findings *variant)
{
    const struct rue_answers *answers = variant->answers;
    if (!answers->memory_bytes) return json_null();
    json_t *array = json_array();
    for (size_t i = 0; i < answers->front_count; i++) {
        size_t config = answers->front[i];
        rue_json_push(&array,
                      rue_json_make("config:o memory_bytes:d mean_regret_ratio:r",
                                    rue_json_config_at(variant, config), answers->memory_bytes[config],
                                    variant->selection->rows[config].mean_regret_ratio));
    }
    return array;
}

static json_t *best_by_model(const struct rue_variant_findings *variant)
{
    const struct rue_selection *selection = variant->selection;
    json_t *array = json_array();
    for (size_t m = 0; m < selection->model_count; m++) {
        json_t *object = json_object();
        rue_json_put(&object, "model", rue_json_model_at(variant, m));
        rue_json_put(&object, "config", rue_json_config_at(variant, selection->best_of_model[m]));
        rue_json_put(&object, rue_goal_keys[variant->goal], rue_json_nanoseconds(selection->best_ns[m]));
        rue_json_push(&array, object);
    }
    return array;
}

void rue_json_put_answers(json_t **object, const struct rue_variant_findings *variant)
{
    bool known = variant->answers;
    rue_json_put(object, "smallest_set", known ? set_json(variant) : json_null());
    rue_json_put(object, "leave_one_out", known ? left_out_json(variant) : json_null());
    rue_json_put(object, "pareto_front", known ? front_json(variant) : json_null());
    rue_json_put(object, "best_by_model", best_by_model(variant));
}

json_t *rue_json_sentence(void (*say)(struct rue_page *page, const struct rue_variant_findings *variant),
                          const struct rue_variant_findings *variant)
{
    struct rue_page page = {0};
    rue_page_sentence(&page, RUE_LOOK_PLAIN, 0);
    say(&page, variant);
    return rue_page_json_text(&page);
}

json_t *rue_json_sentences(const struct rue_page *page)
{
    json_t *array = page->failed ? NULL : json_array();
    for (size_t i = 0; array && i < page->count; i++) {
        const struct rue_section *section = &page->sections[i];
        if (section->kind != RUE_SECTION_SENTENCE || !rue_page_is_shown(page, i)) continue;
        char *plain = rue_utf8_cleaned(section->text, true, false);
        rue_json_push(&array, plain ? rue_json_text(plain) : NULL);
        free(plain);
    }
    return array;
}

/* ---- the run ---- */

#define RUN(member)    RUE_FIELD_AT(rue_findings, member)
#define NOTICE(member) RUE_FIELD_AT(rue_notice, member)

static const struct rue_field notice_fields[] = {
    {"trial", RUE_FIELD_NUMBER, NOTICE(trial)},
    {"noticed_after_trials", RUE_FIELD_NUMBER, NOTICE(noticed)},
    {"unsure_from", RUE_FIELD_NUMBER, NOTICE(uncertain)},
    {"unsure_until", RUE_FIELD_NUMBER, NOTICE(uncertain_end)},
    {"load_slowdown_ratio", RUE_FIELD_REAL, NOTICE(load_ratio)},
    {"compute_slowdown_ratio", RUE_FIELD_REAL, NOTICE(compute_ratio)},
    {"cause", RUE_FIELD_TEXT, NOTICE(cause), RUE_FIELD_NULL},
    {0}};

#define DROPPED(member) RUE_FIELD_AT(rue_dropped_node, member)

static const struct rue_field dropped_fields[] = {
    {"rank", RUE_FIELD_NUMBER, DROPPED(rank)},
    {"node", RUE_FIELD_TEXT, DROPPED(node)},
    {"discarded_from", RUE_FIELD_NUMBER, DROPPED(discarded)},
    {"discarded_until", RUE_FIELD_NUMBER, DROPPED(discarded_end)},
    {"reason", RUE_FIELD_TEXT, DROPPED(why)},
    {0}};

#define CONTENTION(member) RUE_FIELD_AT(rue_contention_findings, member)

const struct rue_field rue_json_contention_fields[] = {
    {"affected_ratio", RUE_FIELD_REAL, CONTENTION(affected_ratio), RUE_FIELD_KEY, .most = 1},
    {"contended_ratio", RUE_FIELD_REAL, CONTENTION(contended_ratio), .most = 1},
    {"other_cpus", RUE_FIELD_REAL, CONTENTION(other_cpus), .most = CPUS_MAX},
    {"cpus", RUE_FIELD_NUMBER, CONTENTION(cpus), .most = CPUS_MAX},
    {"has_clean_pair", RUE_FIELD_FLAG, CONTENTION(has_clean_pair)},
    {0}};

static const char *const clocks[] = {"real", "virtual", NULL};

const struct rue_field rue_json_provenance_fields[] = {
    {"rue_version", RUE_FIELD_TEXT, RUN(run.rue_version)},
    {"study", RUE_FIELD_TEXT, RUN(study), RUE_FIELD_NULL | RUE_FIELD_WRITTEN},
    {"runner", RUE_FIELD_TEXT, RUN(runner.name), RUE_FIELD_NULL},
    {"measured_with", RUE_FIELD_TEXT, RUN(runner.measured_with), RUE_FIELD_OPTIONAL},
    {"consumer", RUE_FIELD_TEXT, RUN(runner.consumer), RUE_FIELD_NULL},
    {"clock", RUE_FIELD_WORD, RUN(runner.virtual_clock), .words = clocks},
    {"cpu", RUE_FIELD_TEXT, RUN(machine.cpu), RUE_FIELD_NULL},
    {"usable_cpus", RUE_FIELD_NUMBER, RUN(machine.usable_cpus), RUE_FIELD_NULL, .most = CPUS_MAX},
    {"memory_bytes", RUE_FIELD_NUMBER, RUN(machine.memory_bytes), RUE_FIELD_NULL},
    {"kernel", RUE_FIELD_TEXT, RUN(machine.kernel), RUE_FIELD_NULL},
    {"libraries", RUE_FIELD_TEXT, RUN(machine.libraries), RUE_FIELD_NULL},
    {"busy_before", RUE_FIELD_TEXT, RUN(changes.busy_before), RUE_FIELD_NULL},
    {"busy_after", RUE_FIELD_TEXT, RUN(changes.busy_after), RUE_FIELD_NULL},
    {"seed", RUE_FIELD_NUMBER, RUN(run.seed), RUE_FIELD_OPTIONAL},
    {"repeats_planned", RUE_FIELD_NUMBER, RUN(run.repeats_planned), RUE_FIELD_OPTIONAL},
    {"reused_trials", RUE_FIELD_NUMBER, RUN(run.reused_trials), RUE_FIELD_OPTIONAL},
    {"accepts_busy", RUE_FIELD_FLAG, RUN(run.accepts_busy), RUE_FIELD_OPTIONAL},
    {"command_line", RUE_FIELD_TEXT, RUN(run.command_line), RUE_FIELD_NULL},
    {"started", RUE_FIELD_TEXT, RUN(run.started), RUE_FIELD_NULL},
    {"duration_s", RUE_FIELD_REAL, RUN(run.duration_s), RUE_FIELD_OPTIONAL, .most = SECONDS_MAX},
    {0}};

const struct rue_field rue_json_strategy_fields[] = {
    {"name", RUE_FIELD_TEXT, RUN(run.strategy), RUE_FIELD_NULL},
    {"why", RUE_FIELD_TEXT, RUN(run.strategy_why), RUE_FIELD_NULL},
    {0}};

const struct rue_field rue_json_run_fields[] = {
    {"partial", RUE_FIELD_FLAG, RUN(run.partial)},
    {"partial_reason", RUE_FIELD_TEXT, RUN(run.partial_reason), RUE_FIELD_NULL},
    {"notices", RUE_FIELD_LIST, RUN(changes.notices), RUE_FIELD_POINTED | RUE_FIELD_WRITTEN,
     .fields = notice_fields, .count = offsetof(struct rue_findings, changes.notice_count),
     .element = sizeof(struct rue_notice)},
    {"dropped_nodes", RUE_FIELD_LIST, RUN(changes.dropped),
     RUE_FIELD_POINTED | RUE_FIELD_OMIT | RUE_FIELD_WRITTEN, .fields = dropped_fields,
     .count = offsetof(struct rue_findings, changes.dropped_count),
     .element = sizeof(struct rue_dropped_node)},
    {"contention", RUE_FIELD_STRUCT, RUN(changes.contention), RUE_FIELD_NULL,
     .fields = rue_json_contention_fields},
    {"disturbance", RUE_FIELD_TEXT, RUN(changes.disturbance), RUE_FIELD_NULL},
    {0}};

/* ---- forecasts for later studies ---- */

static const struct rue_field consumer_fields[] = {
    {"batch_s", RUE_FIELD_REAL, RUE_FIELD_AT(rue_pipeline_consumer, batch_s), RUE_FIELD_KEY,
     .most = SECONDS_MAX},
    {"image_s", RUE_FIELD_REAL, RUE_FIELD_AT(rue_pipeline_consumer, image_s), .most = SECONDS_MAX},
    {0}};

static const struct rue_field point_fields[] = {
    {"batch_size", RUE_FIELD_NUMBER, RUE_FIELD_AT(rue_compute_point, batch_size), .least = 1, .most = 65536},
    {"batch_s", RUE_FIELD_REAL, RUE_FIELD_AT(rue_compute_point, batch_s), .most = SECONDS_MAX},
    {0}};

const struct rue_field rue_json_consumer_fields[] = {
    {"compute", RUE_FIELD_LIST, RUE_FIELD_AT(rue_knowledge_model, curve.points), .fields = point_fields,
     .count = offsetof(struct rue_knowledge_model, curve.count), .element = sizeof(struct rue_compute_point)},
    {"cpu_ratio", RUE_FIELD_REAL, RUE_FIELD_AT(rue_knowledge_model, curve.cpu_ratio), .most = CPUS_MAX},
    {"consumer", RUE_FIELD_STRUCT, RUE_FIELD_AT(rue_knowledge_model, consumer), RUE_FIELD_NULL,
     .fields = consumer_fields},
    {0}};

const struct rue_field rue_json_loader_fields[] = {
    {"cpus", RUE_FIELD_NUMBER, RUE_FIELD_AT(rue_knowledge, loader.cpus), .least = 1, .most = CPUS_MAX},
    {"in_turn", RUE_FIELD_FLAG, RUE_FIELD_AT(rue_knowledge, loader.round_robin)},
    {"hand_over", RUE_FIELD_STRUCT, RUE_FIELD_AT(rue_knowledge, hand_over), RUE_FIELD_NULL,
     .fields = consumer_fields},
    {0}};

#define PARAMETER(member) RUE_FIELD_AT(rue_json_parameter, member)

static const struct rue_field covariance_fields[] = {{"", RUE_FIELD_REAL, .offset = 0}, {0}};

static const struct rue_field parameter_fields[] = {
    {"name", RUE_FIELD_STRING, PARAMETER(name)},
    {"value", RUE_FIELD_REAL, PARAMETER(value), .most = SECONDS_MAX},
    {"log_covariance", RUE_FIELD_LIST, PARAMETER(covariance), .fields = covariance_fields,
     .count = offsetof(struct rue_json_parameter, covariance_count), .element = sizeof(double)},
    {0}};

const struct rue_field rue_json_parameters_fields[] = {
    {"loader", RUE_FIELD_LIST, RUE_FIELD_AT(rue_json_parameters, at), .fields = parameter_fields,
     .count = offsetof(struct rue_json_parameters, count), .element = sizeof(struct rue_json_parameter)},
    {0}};

struct rue_json_parameters rue_json_parameters(const struct rue_knowledge *knowledge)
{
    static const char *const names[] = {
#define X(name, text) #name,
        RUE_PIPELINE_PARAMETERS(X)
#undef X
    };
    struct rue_json_parameters out = {.count = RUE_PIPELINE_PARAMETER_COUNT};
    for (size_t p = 0; p < RUE_PIPELINE_PARAMETER_COUNT; p++) {
        out.at[p] = (struct rue_json_parameter){names[p], knowledge->loader.value[p], out.count, {0}};
        memcpy(out.at[p].covariance, knowledge->covariance[p], sizeof knowledge->covariance[p]);
    }
    return out;
}

static json_t *model_json(const struct rue_findings *findings, const struct rue_variant_findings *variant,
                          size_t model)
{
    const struct rue_knowledge_model *known = &variant->knowledge->consumers[2 * model],
                                     *pageable = known + 1;
    json_t *object = rue_json_struct(rue_json_consumer_fields, known, NULL);
    rue_json_add(&object, "model:o profile:o", rue_json_model_at(variant, model),
                 rue_json_parse(findings->profiles ? findings->profiles[model] : ""));
    if (pageable->curve.count || !isnan(pageable->consumer.batch_s))
        rue_json_put(&object, "pageable", rue_json_struct(rue_json_consumer_fields, pageable, NULL));
    return object;
}

json_t *rue_json_forecast(const struct rue_findings *findings, const struct rue_variant_findings *variant)
{
    const struct rue_knowledge *knowledge = variant->knowledge;
    if (!knowledge) return json_null();
    const struct rue_json_parameters parameters = rue_json_parameters(knowledge);
    json_t *models = json_array(), *object = rue_json_struct(rue_json_loader_fields, knowledge, NULL);
    for (size_t m = 0; m < knowledge->model_count; m++)
        rue_json_push(&models, model_json(findings, variant, m));
    rue_json_put_fields(&object, rue_json_parameters_fields, &parameters, NULL);
    rue_json_put(&object, "models", models);
    return object;
}
