#include "json_findings.h"

#include <math.h>

json_t *rue_json_config_of(const struct rue_variant_findings *variant, size_t config, bool all)
{
    if (config == RUE_NONE) return json_null();
    return rue_json_config(&variant->matrix->configs[config], all);
}

json_t *rue_json_model_of(const struct rue_variant_findings *variant, size_t model)
{
    return model == RUE_NONE ? json_null() : rue_json_text(variant->matrix->models[model]);
}

json_t *rue_json_verified(const struct rue_variant_findings *variant, size_t config)
{
    static const char *const names[] = {[RUE_BASIS_FULL] = "full", [RUE_BASIS_TRUNCATED] = "truncated"};
    const struct rue_ranking_row *row = config == RUE_NONE ? NULL : &variant->selection->rows[config];
    if (!row || !row->ranked || rue_findings_basis(row) == RUE_BASIS_PREDICTED) return json_null();
    return json_string(names[rue_findings_basis(row)]);
}

void rue_json_put_standing(json_t **object, const struct rue_variant_findings *variant, size_t config)
{
    static const struct rue_ranking_row none = {
        .mean_regret_ratio = NAN, .max_regret_ratio = NAN, .worst_model = RUE_NONE};
    const struct rue_ranking_row *row = config == RUE_NONE ? &none : &variant->selection->rows[config];
    rue_json_put(object, "mean_regret_ratio", rue_json_real(row->mean_regret_ratio));
    rue_json_put(object, "max_regret_ratio", rue_json_real(row->max_regret_ratio));
    rue_json_put(object, "worst_model", rue_json_model_of(variant, row->worst_model));
    rue_json_put(object, "top_n_count",
                 config == RUE_NONE ? json_null() : rue_json_integer(row->top_n_count));
}

json_t *rue_json_standing(const struct rue_variant_findings *variant, size_t config, bool all)
{
    if (config == RUE_NONE) return json_null();
    json_t *object = json_object();
    rue_json_put(&object, "config", rue_json_config_of(variant, config, all));
    rue_json_put_standing(&object, variant, config);
    return object;
}

void rue_json_put_row(json_t **object, const struct rue_variant_findings *variant, size_t config, bool all)
{
    const struct rue_ranking_row *row = &variant->selection->rows[config];
    rue_json_put(object, "config", rue_json_config_of(variant, config, all));
    rue_json_put(object, "ranked", json_boolean(row->ranked));
    rue_json_put_standing(object, variant, config);
    rue_json_put(object, "source",
                 row->covered ? json_string(row->predicted ? "predicted" : "measured") : json_null());
    rue_json_put(object, "verified", rue_json_verified(variant, config));
    rue_json_put(object, "repeats", rue_json_integer(row->repeats));
    rue_json_put(object, "missed_repeats", rue_json_integer(row->missed));
}

void rue_json_put_rules(json_t **object, const struct rue_variant_findings *variant)
{
    const struct rue_selection *selection = variant->selection;
    json_t *weights = selection->weights ? json_object() : json_null();
    for (size_t m = 0; selection->weights && m < selection->model_count; m++)
        rue_json_put_named(&weights, variant->matrix->models[m], rue_json_real(selection->weights[m]));
    rue_json_put(object, "top_n", rue_json_integer(selection->top_n));
    rue_json_put(object, "objective", json_string(rue_objective_names[selection->objective]));
    rue_json_put(object, "weights", weights);
}

static json_t *set_json(const struct rue_variant_findings *variant, bool all)
{
    const struct rue_config_set *set = variant->answers->set;
    json_t *configs = json_array();
    for (size_t k = 0; k < set->config_count; k++) {
        json_t *models = json_array();
        for (size_t m = 0; m < set->scenario_count; m++)
            if (set->chosen[m] == set->configs[k]) rue_json_push(&models, rue_json_model_of(variant, m));
        rue_json_push(&configs, rue_json_make("config:o models:o",
                                              rue_json_config_of(variant, set->configs[k], all), models));
    }
    return rue_json_make("epsilon_ratio:r exact:b mean_regret_ratio:r max_regret_ratio:r configs:o",
                         set->epsilon_ratio, set->exact, set->mean_regret_ratio, set->max_regret_ratio,
                         configs);
}

static json_t *left_out_json(const struct rue_variant_findings *variant, bool all)
{
    const struct rue_leave_one_out *left = variant->answers->left;
    if (!left) return json_null();
    json_t *models = json_array();
    for (size_t m = 0; m < left->model_count; m++)
        rue_json_push(&models, rue_json_make("model:o config:o regret_ratio:r", rue_json_model_of(variant, m),
                                             rue_json_config_of(variant, left->rows[m].config, all),
                                             left->rows[m].regret_ratio));
    return rue_json_make("mean_regret_ratio:r max_regret_ratio:r worst_model:o models:o",
                         left->mean_regret_ratio, left->max_regret_ratio,
                         rue_json_model_of(variant, left->worst_model), models);
}

static json_t *front_json(const struct rue_variant_findings *variant, bool all)
{
    const struct rue_answers *answers = variant->answers;
    if (!answers->memory_bytes) return json_null();
    json_t *array = json_array();
    for (size_t i = 0; i < answers->front_count; i++) {
        size_t config = answers->front[i];
        rue_json_push(&array,
                      rue_json_make("config:o memory_bytes:d mean_regret_ratio:r",
                                    rue_json_config_of(variant, config, all), answers->memory_bytes[config],
                                    variant->selection->rows[config].mean_regret_ratio));
    }
    return array;
}

static json_t *interval_json(const struct rue_regret_interval *interval)
{
    if (interval->confidence == 0) return json_null();
    return rue_json_make("confidence:r mean_low_ratio:r mean_high_ratio:r max_low_ratio:r max_high_ratio:r",
                         interval->confidence, interval->mean_low, interval->mean_high, interval->worst_low,
                         interval->worst_high);
}

void rue_json_put_answers(json_t **object, const struct rue_variant_findings *variant, bool all)
{
    bool known = variant->answers;
    rue_json_put(object, "interval", interval_json(&variant->interval));
    rue_json_put(object, "smallest_set", known ? set_json(variant, all) : json_null());
    rue_json_put(object, "leave_one_out", known ? left_out_json(variant, all) : json_null());
    rue_json_put(object, "pareto_front", known ? front_json(variant, all) : json_null());
}

json_t *rue_json_best_by_model(const struct rue_variant_findings *variant, bool all)
{
    const struct rue_selection *selection = variant->selection;
    json_t *array = json_array();
    for (size_t m = 0; m < selection->model_count; m++) {
        json_t *object = json_object();
        rue_json_put(&object, "model", rue_json_model_of(variant, m));
        rue_json_put(&object, "config", rue_json_config_of(variant, selection->best_of_model[m], all));
        rue_json_put(&object, rue_goal_keys[variant->goal], rue_json_nanoseconds(selection->best_ns[m]));
        rue_json_push(&array, object);
    }
    return array;
}

json_t *rue_json_certificate(const struct rue_variant_findings *variant)
{
    const struct rue_claim_findings *claim = &variant->claim;
    if (claim->confidence == 0) return json_null();
    return rue_json_make("bound_ratio:r confidence:r far_off_ratio:r measured_only:b", claim->bound_ratio,
                         claim->confidence, claim->far_off_ratio > 0 ? claim->far_off_ratio : NAN,
                         claim->measured_only);
}

static json_t *gain_json(const struct rue_gain *gain)
{
    if (gain->confidence == 0) return json_null();
    return rue_json_make("confidence:r speedup_ratio:r low_ratio:r high_ratio:r proven:b", gain->confidence,
                         gain->ratio, gain->low, gain->high, rue_gain_is_proven(gain));
}

json_t *rue_json_baselines(const struct rue_variant_findings *variant, bool all)
{
    const struct rue_baseline_findings *baselines = &variant->baselines;
    size_t recommended = variant->selection->recommended;
    if (baselines->count == 0) return json_null();
    json_t *rows = json_array(), *replaced = json_null();
    for (size_t i = 0; i < baselines->count; i++) {
        const struct rue_baseline_row *row = &baselines->rows[i];
        rue_json_push(&rows, rue_json_make("name:t config:o recommended:b gain:o", row->name,
                                           rue_json_config_of(variant, row->config, all),
                                           row->config == recommended, gain_json(&row->gain)));
    }
    if (baselines->found != recommended)
        replaced = rue_json_make("config:o gain:o", rue_json_config_of(variant, baselines->found, all),
                                 gain_json(&baselines->found_gain));
    return rue_json_make("rows:o replaced:o", rows, replaced);
}

static json_t *notices_json(const struct rue_findings *findings)
{
    json_t *array = json_array();
    for (size_t i = 0; i < findings->changes.notice_count; i++) {
        const struct rue_notice *notice = &findings->changes.notices[i];
        char text[RUE_NOTICE_TEXT_BYTES];
        rue_notice_text(notice, text, sizeof text);
        rue_json_push(&array,
                      rue_json_make("trial:n noticed_after_trials:n unsure_from:n unsure_until:n "
                                    "load_slowdown_ratio:r compute_slowdown_ratio:r cause:T text:t",
                                    notice->trial, notice->noticed, notice->unsure, notice->unsure_end,
                                    exp(notice->load_log), exp(notice->compute_log), notice->cause, text));
    }
    return array;
}

void rue_json_put_course(json_t **object, const struct rue_findings *findings)
{
    rue_json_put(object, "partial", json_boolean(findings->run.partial));
    rue_json_put(object, "partial_reason",
                 findings->run.partial ? rue_json_text_or_null(findings->run.partial_reason) : json_null());
    rue_json_put(object, "notices", notices_json(findings));
    rue_json_put(object, "disturbance", rue_json_text_or_null(findings->changes.disturbance));
    rue_json_put(object, "low_confidence", json_boolean(rue_findings_is_doubtful(findings)));
}

json_t *rue_json_said(void (*say)(struct rue_page *page, const struct rue_variant_findings *variant),
                      const struct rue_variant_findings *variant)
{
    struct rue_page page = {0};
    rue_page_sentence(&page, RUE_LOOK_PLAIN, 0);
    say(&page, variant);
    return rue_page_json_text(&page);
}

void rue_json_put_goal(json_t **object, const struct rue_variant_findings *variant)
{
    rue_json_put(object, "goal", json_string(rue_goal_names[variant->goal]));
    rue_json_put(object, "max_first_batch_ns", rue_json_integer_or_null(variant->matrix->first_limit_ns));
}

/* ---- what a later study can start from ---- */

static json_t *parameters_json(const struct rue_knowledge *knowledge)
{
    static const char *const names[] = {
#define X(name, text) #name,
        RUE_PIPELINE_PARAMETERS(X)
#undef X
    };
    json_t *array = json_array();
    for (size_t p = 0; p < RUE_PIPELINE_PARAMETER_COUNT; p++)
        rue_json_push(&array,
                      rue_json_make("name:t value:r log_covariance:o", names[p], knowledge->loader.value[p],
                                    rue_json_reals(knowledge->covariance[p], RUE_PIPELINE_PARAMETER_COUNT)));
    return array;
}

static json_t *consumer_json(const struct rue_pipeline_consumer *consumer)
{
    if (isnan(consumer->batch_s)) return json_null();
    return rue_json_make("batch_s:r image_s:r", consumer->batch_s, consumer->image_s);
}

static json_t *curve_json(const struct rue_compute_curve *curve)
{
    json_t *array = json_array();
    for (size_t i = 0; i < curve->count; i++)
        rue_json_push(&array, rue_json_make("batch_size:i batch_s:r", curve->points[i].batch_size,
                                            curve->points[i].batch_s));
    return array;
}

static void put_known(json_t **object, const struct rue_knowledge_model *known)
{
    rue_json_put(object, "compute", curve_json(&known->curve));
    rue_json_put(object, "cpu_ratio", rue_json_real(known->curve.cpu_ratio));
    rue_json_put(object, "consumer", consumer_json(&known->consumer));
}

static json_t *model_json(const struct rue_findings *findings, const struct rue_variant_findings *variant,
                          size_t model)
{
    const struct rue_knowledge_model *known = &variant->knowledge->consumers[2 * model],
                                     *pageable = known + 1;
    const char *profile = findings->profiles ? findings->profiles[model] : "";
    json_t *object = json_object();
    rue_json_put(&object, "model", rue_json_text(variant->matrix->models[model]));
    rue_json_put(&object, "profile", rue_json_words(profile));
    put_known(&object, known);
    if (pageable->curve.count || !isnan(pageable->consumer.batch_s)) {
        json_t *other = json_object();
        put_known(&other, pageable);
        rue_json_put(&object, "pageable", other);
    }
    return object;
}

json_t *rue_json_forecast(const struct rue_findings *findings, const struct rue_variant_findings *variant)
{
    const struct rue_knowledge *knowledge = variant->knowledge;
    if (!knowledge) return json_null();
    json_t *models = json_array();
    for (size_t m = 0; m < knowledge->model_count; m++)
        rue_json_push(&models, model_json(findings, variant, m));
    return rue_json_make("cpus:i in_turn:b loader:o hand_over:o models:o", knowledge->loader.cpus,
                         knowledge->loader.in_turn, parameters_json(knowledge),
                         consumer_json(&knowledge->hand), models);
}
