#include "study_baselines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study_space.h"
#include "suggest.h"
#include "word_list.h"

enum { USUAL_BATCH_SIZE = 32 };

static int usual_batch_size(const struct rue_space *space)
{
    const int *values = space->values[RUE_BATCH_SIZE];
    int best = values[0];
    for (int i = 1; i < space->count[RUE_BATCH_SIZE]; i++)
        if (fabs(log2((double)values[i] / USUAL_BATCH_SIZE)) < fabs(log2((double)best / USUAL_BATCH_SIZE)))
            best = values[i];
    return best;
}

/* What is not named: without workers, and every other knob as it is where nobody sets it. */
static struct rue_config usual_config(const struct rue_space *space)
{
    struct rue_config config;
    for (int k = 0; k < RUE_KNOB_COUNT; k++) {
        int fallback = rue_knobs[k].fallback;
        config.value[k] = rue_space_has(space, k, fallback) ? fallback : space->values[k][0];
    }
    config.value[RUE_BATCH_SIZE] = usual_batch_size(space);
    config.value[RUE_NUM_WORKERS] = 0;
    return config;
}

static void add(struct rue_study *study, const struct rue_config *config, const char *name)
{
    struct rue_study_baseline *baseline = &study->baselines[study->baseline_count++];
    *baseline = (struct rue_study_baseline){.config = *config, .column = RUE_NONE};
    snprintf(baseline->name, sizeof baseline->name, "%s", name);
}

/* Where the space has them: without workers it has the first values of the knobs that are about workers.
 * Whose CPUs and defaults a table is about nobody knows. */
static void add_usual(struct rue_study *study)
{
    const struct rue_space *space = &study->space;
    const struct rue_hello *hello = rue_runner_hello(study->runner);
    struct rue_config config = usual_config(space);
    if (study->recording) return;
    bool torch = strcmp(hello->loader, "torch") == 0;
    struct rue_config alone = config;
    alone.value[RUE_PREFETCH_FACTOR] = space->values[RUE_PREFETCH_FACTOR][0];
    alone.value[RUE_PARALLELISM] = space->values[RUE_PARALLELISM][0];
    if (rue_space_holds(space, &alone)) add(study, &alone, torch ? "PyTorch's default" : "no workers");
    config.value[RUE_NUM_WORKERS] = rue_study_usable_cpus(hello);
    if (rue_space_holds(space, &config)) add(study, &config, "workers = CPUs");
}

/* "batch_size=32" of the list; `word` is changed. */
static rue_status parse_knob(const struct rue_study *study, char *word, struct rue_config *config,
                             rue_error *error)
{
    const char *origin = study->goal->baseline_origin, *names[RUE_KNOB_COUNT];
    const struct rue_hello *hello = rue_runner_hello(study->runner);
    char near[RUE_SUGGESTION_BYTES], *value = strchr(word, '=');
    if (!value)
        return rue_fail(
            error, RUE_USAGE,
            "%s: '%.100s' is not KNOB=VALUE; give such as batch_size=32,num_workers=2, or " RUE_BASELINE_NONE,
            origin, word);
    *value++ = 0;
    int knob = rue_knob_find(word);
    for (int k = 0; k < RUE_KNOB_COUNT; k++) names[k] = rue_knobs[k].name;
    if (knob < 0)
        return rue_fail(error, RUE_USAGE, "%s: '%.100s' is not a knob%s", origin, word,
                        rue_did_you_mean(word, names, RUE_KNOB_COUNT, "", near));
    int asked;
    if (!rue_knob_parse(knob, value, &asked) && rue_knobs[knob].words)
        return rue_fail(error, RUE_USAGE, "%s: %s is %s or %s, not '%.100s'", origin, names[knob],
                        rue_knobs[knob].words[0], rue_knobs[knob].words[1], value);
    if (!rue_knob_parse(knob, value, &asked))
        return rue_fail(error, RUE_USAGE, "%s: %s is a whole number from %d to %d, not '%.100s'", origin,
                        names[knob], rue_knobs[knob].min, rue_knobs[knob].max, value);
    if (hello->has_space && !hello->knobs[knob] && asked != config->value[knob])
        return rue_fail(error, RUE_USAGE, "%s: the runner %s cannot vary %s; leave it out", origin,
                        hello->runner, names[knob]);
    config->value[knob] = asked;
    return RUE_OK;
}

/* What no other configuration of this study may exceed either. */
static rue_status check_limits(const struct rue_study *study, const struct rue_config *config,
                               rue_error *error)
{
    const struct rue_study_goal *goal = study->goal;
    int workers = config->value[RUE_NUM_WORKERS], batch = config->value[RUE_BATCH_SIZE];
    if (goal->limits_workers && workers > goal->max_workers)
        return rue_fail(error, RUE_USAGE,
                        "%s: num_workers=%d is more than %s %d allows; lower it, or raise the limit",
                        goal->baseline_origin, workers, goal->max_workers_origin, goal->max_workers);
    for (size_t v = 0; v < study->variant_count; v++)
        if ((uint64_t)batch > study->variants[v].job_images)
            return rue_fail(
                error, RUE_USAGE,
                "%s: batch_size=%d is more than the job of %llu images; lower it, or raise --images",
                goal->baseline_origin, batch, (unsigned long long)study->variants[v].job_images);
    return RUE_OK;
}

rue_status rue_study_choose_baselines(struct rue_study *study, rue_error *error)
{
    const char *asked = study->goal->baseline;
    char copy[1024], *rest = copy;
    if (!asked || strcmp(asked, RUE_BASELINE_NONE) == 0) return RUE_OK;
    if (strcmp(asked, RUE_BASELINE_USUAL) == 0) return add_usual(study), RUE_OK;
    struct rue_config config = usual_config(&study->space);
    snprintf(copy, sizeof copy, "%s", asked);
    rue_status status = RUE_OK;
    for (char *word; status == RUE_OK && (word = rue_word_list_next(&rest));)
        status = parse_knob(study, word, &config, error);
    if (status == RUE_OK) status = check_limits(study, &config, error);
    if (status == RUE_OK) add(study, &config, "the baseline");
    return status;
}

void rue_study_list_baselines(struct rue_study *study)
{
    bool usual = study->goal->baseline && strcmp(study->goal->baseline, RUE_BASELINE_USUAL) == 0;
    for (size_t b = 0; b < study->baseline_count; b++) {
        struct rue_study_baseline *baseline = &study->baselines[b];
        for (size_t c = 0; c < study->config_count; c++)
            if (rue_config_equal(&study->configs[c], &baseline->config)) baseline->column = c;
        if (baseline->column != RUE_NONE || usual) continue;
        baseline->column = study->config_count++;
        study->configs[baseline->column] = baseline->config;
    }
}
