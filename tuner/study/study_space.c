#include "study_space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "json_number.h"
#include "knob_list.h"
#include "machine.h"
#include "progress.h"
#include "recommendation_file.h"
#include "suggest.h"
#include "word_list.h"

enum { CURVE_WORKERS = 8 };

int rue_study_usable_cpus(const struct rue_hello *hello)
{
    int cpus = rue_json_number(hello->machine_json, "usable_cpus");
    if (cpus <= 0) cpus = rue_json_number(hello->machine_json, "cpus");
    if (cpus > 0) return cpus;
    /* A simulated or recorded machine: as many CPUs as its space has workers. */
    const int *workers = hello->space.values[RUE_NUM_WORKERS], count = hello->space.count[RUE_NUM_WORKERS];
    if (hello->virtual_clock && hello->varies[RUE_NUM_WORKERS])
        return workers[count - 1] > 1 ? workers[count - 1] : 1;
    return rue_machine_read().usable_cpus;
}

struct rue_contention rue_study_contention(const struct rue_study_setup *setup,
                                           const struct rue_trial_result *result)
{
    return rue_contention_find(result,
                               rue_study_predicts(setup) ? rue_study_usable_cpus(rue_study_hello(setup)) : 0);
}

/* Batch sizes 16 to 256 in powers of 2; workers 0, 1, 2, 4, ... to twice the usable CPUs, and the number of
 * CPUs; for curves 0 to CURVE_WORKERS on any machine. */
static void default_values(struct rue_space *space, size_t knob, int cpus, bool curves)
{
    if (knob == RUE_BATCH_SIZE) {
        space->count[knob] = 0;
        for (int b = 16; b <= 256; b *= 2) rue_space_add(space, knob, b);
    } else if (knob == RUE_NUM_WORKERS && curves) {
        space->count[knob] = 0;
        for (int w = 0; w <= CURVE_WORKERS; w++) rue_space_add(space, knob, w);
    } else if (knob == RUE_NUM_WORKERS) {
        int most = rue_own_knobs.at[knob]->max;
        space->count[knob] = 0;
        rue_space_add(space, knob, 0);
        for (int w = 1; w <= 2 * cpus && w <= most; w *= 2) rue_space_add(space, knob, w);
        rue_space_add(space, knob, cpus < most ? cpus : most);
    }
}

/* The option that gave values of one of rue's own knobs, or NULL. */
static const char *knob_origin(const struct rue_study_goal *goal, enum rue_knob knob)
{
    const struct rue_knob_choice *choice =
        rue_knob_choices_find(&goal->space.knobs, rue_own_knobs.at[knob]->name);
    return choice ? choice->origin : NULL;
}

static rue_status fail_without_batch(int batch_size, uint64_t job_images, rue_error *error)
{
    return rue_fail(error, RUE_USAGE,
                    "with drop_last, a job of %llu images has no batch of %d: use smaller batches or more "
                    "images, or keep the last batch",
                    (unsigned long long)job_images, batch_size);
}

/* The job is one batch of any size that is not smaller, so the smallest of those is enough. Sizes that were
 * not requested are at most the job, if the runner has such sizes. */
static rue_status bound_batch_size(struct rue_space *space, const struct rue_study_goal *goal,
                                   const struct rue_hello *hello, uint64_t job_images, rue_error *error)
{
    int *count = &space->count[RUE_BATCH_SIZE], *values = space->values[RUE_BATCH_SIZE], least = values[0];
    const char *origin = knob_origin(goal, RUE_BATCH_SIZE);
    bool drop_last = goal->loader.workload.drop_last;
    if (drop_last && origin && (uint64_t)values[*count - 1] > job_images)
        return fail_without_batch(values[*count - 1], job_images, error);
    while (*count > 1 && (uint64_t)values[*count - 2] >= job_images) --*count;
    if ((uint64_t)values[*count - 1] <= job_images || origin) return RUE_OK;
    --*count;
    if (*count > 0) return RUE_OK;
    if (hello->has_space && drop_last) return fail_without_batch(least, job_images, error);
    rue_space_add(space, RUE_BATCH_SIZE, hello->has_space ? least : (int)job_images);
    return RUE_OK;
}

void rue_study_note_batches(const struct rue_study_setup *setup, int requested, uint64_t job_images)
{
    int count = setup->space.count[RUE_BATCH_SIZE];
    if (count < requested && knob_origin(&setup->goal, RUE_BATCH_SIZE))
        rue_progress_note(setup->progress,
                          "the job of %llu images is one batch of %d, so larger batches are not measured",
                          (unsigned long long)job_images, setup->space.values[RUE_BATCH_SIZE][count - 1]);
}

/* Removes numbers of workers above the limit. */
static rue_status bound_workers(struct rue_space *space, const struct rue_study_goal *goal, rue_error *error)
{
    int *count = &space->count[RUE_NUM_WORKERS], *values = space->values[RUE_NUM_WORKERS];
    const char *origin = knob_origin(goal, RUE_NUM_WORKERS);
    while (goal->space.limits_workers && *count > 0 && values[*count - 1] > goal->space.max_workers) {
        if (origin)
            return rue_fail(error, RUE_USAGE, "%s: %d workers exceed %s %d: remove them, or raise the limit",
                            origin, values[*count - 1], goal->space.max_workers_origin,
                            goal->space.max_workers);
        --*count;
    }
    if (*count > 0) return RUE_OK;
    return rue_fail(error, RUE_USAGE, "%s %d: the runner needs at least %d workers; raise the limit",
                    goal->space.max_workers_origin, goal->space.max_workers, values[0]);
}

/* A model that computes on a GPU; NULL: none. */
static const struct rue_study_model *find_gpu_model(const struct rue_study_setup *setup)
{
    for (size_t m = 0; m < setup->model_count; m++)
        if (setup->models[m].profile.consumer == RUE_CONSUMER_CUDA) return &setup->models[m];
    return NULL;
}

/* The knob has an effect only for models on a GPU and for runners that declare it in their space. Elsewhere
 * noise would choose its value. */
rue_status rue_study_check_pinning(const struct rue_study_setup *setup, rue_error *error)
{
    const struct rue_hello *hello = rue_study_hello(setup);
    const char *origin = knob_origin(&setup->goal, RUE_PIN_MEMORY);
    if (!origin || hello->has_space || find_gpu_model(setup)) return RUE_OK;
    return rue_fail(error, RUE_USAGE,
                    "%s: no model computes on a GPU here, so page-locked memory makes no difference; add a "
                    "model such as resnet50@cuda, or remove the option",
                    origin);
}

/* Fails if a model that is prepared for batches of one size would get others. */
static rue_status check_strategy(const struct rue_study_setup *setup, const char *origin, int strategy,
                                 rue_error *error)
{
    const struct rue_study_model *model = find_gpu_model(setup);
    if (!model || strategy < RUE_BATCHES_MEMORY) return RUE_OK;
    return rue_fail(error, RUE_USAGE,
                    "%s: %s computes batches of one size on a GPU, so batch_strategy cannot be %s; remove "
                    "that value, or use a simulated model",
                    origin, model->name, rue_batch_strategy_names[strategy]);
}

rue_status rue_study_check_batches(const struct rue_study_setup *setup, rue_error *error)
{
    const char *origin = knob_origin(&setup->goal, RUE_BATCH_STRATEGY);
    rue_status status = RUE_OK;
    for (int i = 0; origin && status == RUE_OK && i < setup->space.count[RUE_BATCH_STRATEGY]; i++)
        status = check_strategy(setup, origin, setup->space.values[RUE_BATCH_STRATEGY][i], error);
    return status;
}

static rue_status choose_values(struct rue_space *space, const struct rue_hello *hello,
                                const struct rue_knob_choice *choice, rue_error *error)
{
    const char *names[RUE_KNOBS_MAX];
    char near[RUE_SUGGESTION_BYTES];
    int knob = rue_knob_find(space->knobs, choice->name);
    for (size_t k = 0; k < space->knobs->count; k++) names[k] = space->knobs->at[k]->name;
    if (knob < 0)
        return rue_fail(error, RUE_USAGE, "%s: the runner %s does not declare the knob %s%s", choice->origin,
                        hello->runner, choice->name,
                        rue_did_you_mean(choice->name, names, space->knobs->count, "", near));
    if (!hello->varies[knob])
        return rue_fail(error, RUE_USAGE, "%s: the runner %s cannot vary it; remove the option",
                        choice->origin, hello->runner);
    return rue_knob_list_parse(space, (size_t)knob, choice->values, choice->origin, error);
}

/* For curves no other knob varies. */
static rue_status bound_curves(struct rue_space *space, const struct rue_knob_choices *choices,
                               rue_error *error)
{
    for (size_t k = 0; k < space->knobs->count; k++) {
        const char *name = space->knobs->at[k]->name;
        const struct rue_knob_choice *choice = rue_knob_choices_find(choices, name);
        if (k == RUE_BATCH_SIZE || k == RUE_NUM_WORKERS) continue;
        if (choice && space->count[k] > 1)
            return rue_fail(error, RUE_USAGE,
                            "%s: only batch_size and num_workers vary along curves; give one value of %s",
                            choice->origin, name);
        space->count[k] = 1;
    }
    return RUE_OK;
}

rue_status rue_study_space(const struct rue_study_goal *goal, const struct rue_hello *hello,
                           uint64_t job_images, struct rue_space *out, rue_error *error)
{
    const struct rue_knob_choices *choices = &goal->space.knobs;
    int cpus = rue_study_usable_cpus(hello);
    *out = hello->space;
    for (size_t k = 0; !hello->has_space && k < out->knobs->count; k++)
        default_values(out, k, cpus, goal->space.curves);
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < choices->count; i++)
        status = choose_values(out, hello, &choices->at[i], error);
    if (status == RUE_OK) status = bound_workers(out, goal, error);
    if (status == RUE_OK && goal->space.curves) status = bound_curves(out, choices, error);
    if (status != RUE_OK) return status;
    return bound_batch_size(out, goal, hello, job_images, error);
}

enum { CONFIGS_MAX = 65536, USUAL_FIXED_BATCH = 64, USUAL_FIXED_WORKERS = 4 };

struct rue_study_curves rue_study_curves(const struct rue_study_setup *setup)
{
    return (struct rue_study_curves){rue_space_nearest(&setup->space, RUE_BATCH_SIZE, USUAL_FIXED_BATCH),
                                     rue_space_nearest(&setup->space, RUE_NUM_WORKERS, USUAL_FIXED_WORKERS)};
}

/* Configurations that failed or were too late in the earlier study are skipped, whatever their times. */
static void list_checked(struct rue_study_setup *setup, const struct rue_recommended *checked)
{
    const struct rue_cost_matrix *matrix = checked->matrix;
    for (size_t c = 0; c < matrix->config_count; c++)
        if (c == checked->best || !rue_recommended_is_unfit(checked, c))
            setup->configs[setup->config_count++] = matrix->configs[c];
}

rue_status rue_study_list_configs(struct rue_study_setup *setup, rue_error *error)
{
    const struct rue_recommended *checked = setup->goal.search.checked;
    size_t size = checked ? checked->matrix->config_count : rue_space_size(&setup->space);
    if (size > CONFIGS_MAX)
        return rue_fail(error, RUE_USAGE,
                        "the space has %zu configurations, and the limit is %d; give fewer values", size,
                        CONFIGS_MAX);
    setup->configs = calloc(size + RUE_BASELINES_MAX, sizeof *setup->configs);
    if (!setup->configs) return rue_fail_memory(error, "configurations", size * sizeof *setup->configs);
    const struct rue_study_curves curves = rue_study_curves(setup);
    if (checked) list_checked(setup, checked);
    for (size_t i = 0; !checked && i < size; i++) {
        struct rue_config config = rue_space_at(&setup->space, i);
        bool on_curve = config.value[RUE_BATCH_SIZE] == curves.batch_size,
             on_other = config.value[RUE_NUM_WORKERS] == curves.num_workers,
             listed =
                 setup->goal.loader.deployment.numbers.count ? on_curve && on_other : on_curve || on_other;
        if (setup->goal.space.curves && !listed) continue;
        if (!rue_space_is_duplicate(&setup->space, &config)) setup->configs[setup->config_count++] = config;
    }
    return RUE_OK;
}

struct rue_strategy_setup rue_study_strategy_setup(const struct rue_study_setup *setup, size_t variant)
{
    const struct rue_hello *hello = rue_study_hello(setup);
    const struct rue_setup_grid grid = {setup->model_count, setup->config_count, setup->configs};
    struct rue_strategy_setup strategy_setup =
        rue_strategy_setup_default(grid, setup->variants[variant].job_images);
    memcpy(strategy_setup.runner.measures, hello->measures, sizeof strategy_setup.runner.measures);
    strategy_setup.runner.whole_jobs = hello->whole_jobs;
    strategy_setup.runner.distinct_results = hello->answers;
    strategy_setup.runner.cpus = rue_study_usable_cpus(hello);
    strategy_setup.runner.round_robin = strcmp(hello->loader, "rue") != 0;
    strategy_setup.job.drop_last = setup->variants[variant].workload.drop_last;
    strategy_setup.seed = setup->goal.loader.workload.seed;
    strategy_setup.stop = rue_interrupt_status;
    return strategy_setup;
}

enum { USUAL_BATCH_SIZE = 32 };

static int default_batch_size(const struct rue_space *space)
{
    const int *values = space->values[RUE_BATCH_SIZE];
    int best = values[0];
    for (int i = 1; i < space->count[RUE_BATCH_SIZE]; i++)
        if (fabs(log2((double)values[i] / USUAL_BATCH_SIZE)) < fabs(log2((double)best / USUAL_BATCH_SIZE)))
            best = values[i];
    return best;
}

struct rue_config rue_study_default_config(const struct rue_space *space)
{
    struct rue_config config = rue_config_default_for(space->knobs);
    for (size_t k = 0; k < space->knobs->count; k++) {
        int fallback = space->knobs->at[k]->fallback;
        config.value[k] = rue_space_has_value(space, k, fallback) ? fallback : space->values[k][0];
    }
    config.value[RUE_BATCH_SIZE] = default_batch_size(space);
    config.value[RUE_NUM_WORKERS] = 0;
    return config;
}

static void add_baseline(struct rue_study_setup *setup, const struct rue_config *config, const char *name)
{
    struct rue_study_baseline *baseline = &setup->baselines.at[setup->baselines.count++];
    *baseline = (struct rue_study_baseline){.config = *config};
    snprintf(baseline->name, sizeof baseline->name, "%s", name);
}

/* Adds the default baselines that lie in the space. Without workers, knobs that need workers have their first
 * value. A table has none, because its CPUs and defaults are unknown. */
static void add_default_baselines(struct rue_study_setup *setup)
{
    const struct rue_space *space = &setup->space;
    const struct rue_hello *hello = rue_study_hello(setup);
    struct rue_config config = rue_study_default_config(space);
    if (setup->host.recording) return;
    bool torch = strcmp(hello->loader, "torch") == 0;
    struct rue_config alone = config;
    for (size_t k = 0; k < space->knobs->count; k++)
        if (space->knobs->at[k]->needs_workers) alone.value[k] = space->values[k][0];
    if (rue_space_contains(space, &alone))
        add_baseline(setup, &alone, torch ? "PyTorch's default" : "no workers");
    config.value[RUE_NUM_WORKERS] = rue_study_usable_cpus(hello);
    if (rue_space_contains(space, &config)) add_baseline(setup, &config, "workers = CPUs");
}

/* "batch_size=32" of the list; `word` is changed. */
static rue_status parse_knob(const struct rue_study_setup *setup, char *word, struct rue_config *config,
                             rue_error *error)
{
    const char *origin = setup->goal.space.baseline_origin, *names[RUE_KNOBS_MAX];
    const struct rue_hello *hello = rue_study_hello(setup);
    const struct rue_knobs *knobs = setup->space.knobs;
    char near[RUE_SUGGESTION_BYTES], known[256], *value = strchr(word, '=');
    if (!value)
        return rue_fail(error, RUE_USAGE,
                        "%s: '%.100s' is not KNOB=VALUE; give for example batch_size=32,num_workers=2, "
                        "or " RUE_BASELINE_NONE,
                        origin, word);
    *value++ = 0;
    int knob = rue_knob_find(knobs, word);
    for (size_t k = 0; k < knobs->count; k++) names[k] = knobs->at[k]->name;
    if (knob < 0)
        return rue_fail(error, RUE_USAGE, "%s: '%.100s' is not a knob%s", origin, word,
                        rue_did_you_mean(word, names, knobs->count, "", near));
    int requested;
    rue_knob_describe(knobs->at[knob], known, sizeof known);
    if (!rue_knob_parse(knobs->at[knob], value, &requested))
        return rue_fail(error, RUE_USAGE, "%s: %s must be %s, not '%.100s'", origin, names[knob], known,
                        value);
    if (!hello->varies[knob] && requested != config->value[knob])
        return rue_fail(error, RUE_USAGE, "%s: the runner %s cannot vary %s; remove it", origin,
                        hello->runner, names[knob]);
    config->value[knob] = requested;
    return RUE_OK;
}

/* The limits for all configurations of the study. */
static rue_status check_limits(const struct rue_study_setup *setup, const struct rue_config *config,
                               rue_error *error)
{
    const struct rue_study_goal *goal = &setup->goal;
    int workers = config->value[RUE_NUM_WORKERS], batch = config->value[RUE_BATCH_SIZE];
    if (goal->space.limits_workers && workers > goal->space.max_workers)
        return rue_fail(error, RUE_USAGE, "%s: num_workers=%d exceeds %s %d; lower it, or raise the limit",
                        goal->space.baseline_origin, workers, goal->space.max_workers_origin,
                        goal->space.max_workers);
    for (size_t v = 0; v < setup->variant_count; v++)
        if (goal->loader.workload.drop_last && (uint64_t)batch > setup->variants[v].job_images)
            return fail_without_batch(batch, setup->variants[v].job_images, error);
    return RUE_OK;
}

rue_status rue_study_choose_baselines(struct rue_study_setup *setup, rue_error *error)
{
    const char *requested = setup->goal.space.baseline;
    char copy[1024], *list = copy;
    if (!requested || strcmp(requested, RUE_BASELINE_NONE) == 0) return RUE_OK;
    if (strcmp(requested, RUE_BASELINE_USUAL) == 0) return add_default_baselines(setup), RUE_OK;
    struct rue_config config = rue_study_default_config(&setup->space);
    snprintf(copy, sizeof copy, "%s", requested);
    rue_status status = RUE_OK;
    for (char *word; status == RUE_OK && (word = rue_word_list_next(&list));)
        status = parse_knob(setup, word, &config, error);
    if (status == RUE_OK) status = check_limits(setup, &config, error);
    if (status == RUE_OK)
        status =
            check_strategy(setup, setup->goal.space.baseline_origin, config.value[RUE_BATCH_STRATEGY], error);
    if (status == RUE_OK) add_baseline(setup, &config, "the baseline");
    return status;
}

void rue_study_list_baselines(struct rue_study_setup *setup)
{
    bool usual = setup->goal.space.baseline && strcmp(setup->goal.space.baseline, RUE_BASELINE_USUAL) == 0;
    struct rue_study_baselines *baselines = &setup->baselines;
    size_t count = baselines->count;
    baselines->count = 0;
    for (size_t b = 0; b < count; b++) {
        struct rue_study_baseline baseline = baselines->at[b];
        for (baseline.column = 0; baseline.column < setup->config_count; baseline.column++)
            if (rue_config_equal(&setup->configs[baseline.column], &baseline.config)) break;
        bool listed = baseline.column < setup->config_count;
        if (!listed && usual) continue;
        if (!listed) setup->configs[setup->config_count++] = baseline.config;
        baselines->at[baselines->count++] = baseline;
    }
}
