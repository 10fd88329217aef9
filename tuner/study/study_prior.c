#include "study_prior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json_canonical.h"
#include "machine.h"
#include "recommendation_file.h"

/* Standard deviation of the change of a loader's parameters, as logarithms: on the same machine with the same
 * data, with other data, and on another machine. */
static const double same_sd = 0.25, similar_sd = 0.5, other_sd = 1;
static const double most_offset = 7;    /* of logarithms: an error by a factor of 1000 means a damaged file */
static const double unchanged_sd = 0.1; /* if nothing has changed, the hypothesis of a check */

void rue_study_prior_close(struct rue_study_prior *prior)
{
    rue_knowledge_close(prior->knowledge);
    free(prior->offsets);
    *prior = (struct rue_study_prior){0};
}

/* Whether machine and runner are those of `earlier`. */
static bool is_same_machine(const struct rue_study_setup *setup, const struct rue_recommendation *earlier)
{
    const struct rue_hello *hello = rue_study_hello(setup);
    struct rue_machine machine = rue_machine_read();
    char words[sizeof hello->machine_json + 64];
    rue_json_canonical(hello->machine_json, words, sizeof words);
    return strcmp(hello->runner, earlier->found.runner.name) == 0 &&
           strcmp(words, earlier->found.machine.json) == 0 &&
           hello->virtual_clock == earlier->found.runner.virtual_clock &&
           strcmp(machine.cpu, earlier->found.machine.cpu) == 0 &&
           machine.usable_cpus == earlier->found.machine.usable_cpus;
}

/* Whether the data of a variant and its workload are those of `earlier`. */
static bool is_same_data(const struct rue_study_variant *variant, const struct rue_recommended *earlier)
{
    return variant->variant.mode == earlier->found.variant.mode &&
           rue_findings_mode_is_known(&earlier->found) &&
           strcmp(variant->variant.format, earlier->found.variant.format) == 0 &&
           strcmp(variant->variant.dtype, earlier->found.variant.dtype) == 0 &&
           strcmp(variant->opened.digest, earlier->found.data.digest) == 0 &&
           earlier->found.job.workload_known &&
           rue_workload_same_cost(&variant->workload, &earlier->found.job.workload);
}

int rue_study_variant_similarity(const struct rue_variant *one, const struct rue_variant *other)
{
    return 4 * (strcmp(one->format, other->format) == 0) + 2 * (strcmp(one->dtype, other->dtype) == 0) +
           (strcmp(one->path, other->path) == 0);
}

/* The part about data of the same mode that are most similar. */
static struct rue_recommended *find_part(const struct rue_recommendation *earlier,
                                         const struct rue_variant *variant)
{
    struct rue_recommended *found = NULL;
    int most = -1;
    for (size_t i = 0; i < earlier->count; i++) {
        struct rue_recommended *part = &earlier->at[i];
        if (!rue_findings_mode_is_known(&part->found) || part->found.variant.mode != variant->mode) continue;
        int similarity = rue_study_variant_similarity(&part->found.variant, variant);
        if (similarity <= most) continue;
        most = similarity;
        found = part;
    }
    return found;
}

/* Whether a model of the same name needs the same time: it has the same profile, or no profile and runs on
 * the same machine. */
static bool is_same_model(const struct rue_study_model *model, const char *earlier, bool same_machine)
{
    char profile[RUE_RECOMMENDED_PROFILE_BYTES];
    rue_json_canonical(model->profile_json, profile, sizeof profile);
    return earlier[0] ? strcmp(profile, earlier) == 0 : same_machine;
}

static bool has_knowledge(const struct rue_knowledge_model *known)
{
    return known->curve.count || !isnan(known->consumer.batch_s);
}

static void copy_models(const struct rue_study_setup *setup, const struct rue_recommended *part,
                        bool same_machine, struct rue_study_prior *out)
{
    for (size_t m = 0; m < setup->model_count; m++) {
        size_t earlier = rue_cost_matrix_model(part->matrix, setup->models[m].name);
        if (earlier == RUE_NONE || !is_same_model(&setup->models[m], part->profiles[earlier], same_machine))
            continue;
        for (size_t i = 0; i < 2; i++)
            out->knowledge->consumers[2 * m + i] = part->knowledge->consumers[2 * earlier + i];
    }
}

static void copy_offsets(const struct rue_study_setup *setup, const struct rue_recommended *part,
                         size_t config, size_t column, struct rue_study_prior *out)
{
    for (size_t m = 0; m < setup->model_count; m++) {
        size_t earlier = rue_cost_matrix_model(part->matrix, setup->models[m].name);
        if (earlier == RUE_NONE) continue;
        double measured_s = rue_recommended_s(part, earlier, config);
        double predicted_s =
            rue_knowledge_job_s(out->knowledge, m, &setup->configs[column], part->found.job.images);
        double offset = log(measured_s / predicted_s);
        if (fabs(offset) < most_offset) out->offsets[m * setup->config_count + column] = offset;
    }
}

static void copy_configs(const struct rue_study_setup *setup, const struct rue_recommended *part,
                         struct rue_study_prior *out)
{
    for (size_t column = 0; column < setup->config_count; column++) {
        size_t earlier = rue_cost_matrix_config(part->matrix, &setup->configs[column]);
        if (earlier == RUE_NONE) continue;
        if (earlier == part->best) out->prior.config = column;
        if (out->prior.same_machine) copy_offsets(setup, part, earlier, column, out);
    }
}

static void report_use(const struct rue_study_setup *setup, size_t variant, bool same_machine)
{
    const struct rue_prior *prior = &setup->priors[variant].prior;
    const char *mode = rue_mode_names[setup->variants[variant].variant.mode];
    const char *origin = prior->same_machine ? "this machine and these data"
                         : same_machine      ? "this machine, with other data"
                                             : "another machine";
    size_t models = 0;
    for (size_t m = 0; m < setup->model_count; m++) {
        const struct rue_knowledge_model *known = &prior->knowledge->consumers[2 * m];
        models += has_knowledge(&known[0]) || has_knowledge(&known[1]);
    }
    rue_progress_note(
        setup->progress,
        "%s: %s: starting from a study of %s, with its estimates of the loader and of %zu of %zu models",
        setup->goal.search.prior->path, mode, origin, models, setup->model_count);
}

/* Makes a prior from a part that has knowledge. Close `out` in any case. */
static rue_status make_prior(const struct rue_study_setup *setup, const struct rue_recommended *part,
                             bool same_machine, bool same_data, struct rue_study_prior *out, rue_error *error)
{
    rue_status status = rue_knowledge_open(setup->model_count, &out->knowledge, error);
    if (status != RUE_OK) return status;
    out->offsets = calloc(setup->model_count * setup->config_count + 1, sizeof *out->offsets);
    if (!out->offsets) return rue_fail_memory(error, "a prior", setup->config_count);
    out->knowledge->loader = part->knowledge->loader;
    out->knowledge->hand_over = part->knowledge->hand_over;
    memcpy(out->knowledge->covariance, part->knowledge->covariance, sizeof out->knowledge->covariance);
    bool same = same_machine && same_data;
    out->prior = (struct rue_prior){.knowledge = out->knowledge,
                                    .widen_sd = same           ? same_sd
                                                : same_machine ? similar_sd
                                                               : other_sd,
                                    .same_machine = same,
                                    .offsets = out->offsets,
                                    .config = RUE_NONE};
    copy_models(setup, part, same_machine, out);
    copy_configs(setup, part, out);
    out->used = true;
    return RUE_OK;
}

/* The part that can be a variant's prior, with its knowledge; NULL: none, and `why`. */
static struct rue_recommended *find_usable_part(const struct rue_study_setup *setup,
                                                const struct rue_variant *variant, char *why, size_t bytes)
{
    const struct rue_hello *hello = rue_study_hello(setup);
    const struct rue_recommendation *earlier = setup->goal.search.prior;
    struct rue_recommended *part = find_part(earlier, variant);
    rue_error unfit = {0};
    if (!part)
        snprintf(why, bytes, "it has nothing about %s data", rue_mode_names[variant->mode]);
    else if (strcmp(part->measured_with, hello->loader) != 0)
        snprintf(why, bytes, "it was measured with %s, not with %s", part->measured_with, hello->loader);
    else if (rue_recommended_make_knowledge(part, rue_recommendation_cpus(earlier),
                                            strcmp(hello->loader, "rue") != 0, &unfit) != RUE_OK)
        snprintf(why, bytes, "%s", unfit.message);
    else
        return part;
    return NULL;
}

static rue_status make_variant_prior(struct rue_study_setup *setup, size_t variant, rue_error *error)
{
    const struct rue_study_variant *data = &setup->variants[variant];
    char why[RUE_ERROR_MESSAGE_BYTES];
    const struct rue_recommended *part = find_usable_part(setup, &data->variant, why, sizeof why);
    if (!part) {
        rue_progress_note(setup->progress, "%s is not used: %s", setup->goal.search.prior->path, why);
        return RUE_OK;
    }
    bool machine = is_same_machine(setup, setup->goal.search.prior);
    rue_status status =
        make_prior(setup, part, machine, is_same_data(data, part), &setup->priors[variant], error);
    if (status == RUE_OK) report_use(setup, variant, machine);
    return status;
}

/* Makes the prior of a check, which assumes that nothing has changed. */
static rue_status make_checked_prior(struct rue_study_setup *setup, rue_error *error)
{
    const struct rue_hello *hello = rue_study_hello(setup);
    const struct rue_recommendation *earlier = setup->goal.search.prior;
    struct rue_recommended *part = setup->goal.search.checked;
    if (strcmp(part->measured_with, hello->loader) != 0)
        return rue_fail(error, RUE_USAGE,
                        "%s was measured with %s, not with %s: give its runner with --runner", earlier->path,
                        part->measured_with, hello->loader);
    rue_status status = rue_recommended_make_knowledge(part, rue_recommendation_cpus(earlier),
                                                       strcmp(hello->loader, "rue") != 0, error);
    if (status == RUE_OK) status = make_prior(setup, part, true, true, &setup->priors[0], error);
    if (status != RUE_OK) return status;
    setup->priors[0].prior.widen_sd = unchanged_sd;
    setup->priors[0].prior.whole_jobs = !part->predicted;
    return RUE_OK;
}

rue_status rue_study_make_priors(struct rue_study_setup *setup, rue_error *error)
{
    rue_status status = RUE_OK;
    if (setup->goal.search.checked) return make_checked_prior(setup, error);
    if (!setup->goal.search.prior) return RUE_OK;
    if (!rue_study_predicts(setup)) {
        rue_progress_note(setup->progress, "%s is not used: --strategy %s does not predict",
                          setup->goal.search.prior->path, setup->plan.strategy->name);
        return RUE_OK;
    }
    for (size_t v = 0; status == RUE_OK && v < setup->variant_count; v++)
        status = make_variant_prior(setup, v, error);
    return status;
}
