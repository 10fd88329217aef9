#include "probes.h"

#include <math.h>
#include <stdlib.h>

#include "job_time.h"
#include "knowledge.h"

static double log2_size(double value)
{
    return log2(value + 0.5);
}

size_t rue_probes_nearest(const struct rue_config *configs, size_t count, double batch_size,
                          double num_workers)
{
    size_t best = SIZE_MAX;
    double min = INFINITY;
    for (size_t c = 0; c < count; c++) {
        const struct rue_knobs *knobs = rue_config_knobs(&configs[c]);
        const int *value = configs[c].value;
        double distance = fabs(log2_size(value[RUE_BATCH_SIZE]) - log2_size(batch_size)) +
                          1.01 * fabs(log2_size(value[RUE_NUM_WORKERS]) - log2_size(num_workers));
        for (size_t k = 0; k < knobs->count; k++) {
            const struct rue_knob_info *knob = knobs->at[k];
            if (k == RUE_BATCH_SIZE || k == RUE_NUM_WORKERS || value[k] == knob->fallback) continue;
            double off = rue_knob_position(knob, value[k]) - rue_knob_position(knob, knob->fallback);
            distance += 0.01 + 0.1 * fabs(off);
        }
        if (distance >= min) continue;
        min = distance;
        best = c;
    }
    return best;
}

/* Range of a knob in the space, and its geometric mean. */
struct range {
    double min, middle, max;
};

static struct range knob_range(const struct rue_strategy_setup *setup, enum rue_knob knob)
{
    struct range range = {INFINITY, 0, 0};
    for (size_t c = 0; c < setup->grid.config_count; c++) {
        range.min = fmin(range.min, setup->grid.configs[c].value[knob]);
        range.max = fmax(range.max, setup->grid.configs[c].value[knob]);
    }
    if (knob == RUE_NUM_WORKERS && range.max >= 1) range.min = fmax(1, range.min);
    range.middle = sqrt(fmax(range.min, 1) * range.max);
    return range;
}

static uint64_t probe_images(const struct rue_strategy_setup *setup, size_t config, double rounds)
{
    if (setup->runner.whole_jobs) return setup->job.images;
    const struct rue_config *own = &setup->grid.configs[config];
    uint64_t images = (uint64_t)(rounds * (double)(rue_trial_loaders(own) * rue_trial_batch(own)));
    return images < setup->job.images ? images : setup->job.images;
}

static bool is_config_asked(const struct rue_question *questions, size_t count, size_t config)
{
    for (size_t i = 0; i < count; i++)
        if (questions[i].config == config) return true;
    return false;
}

size_t rue_probes_load(const struct rue_strategy_setup *setup, struct rue_question *out)
{
    struct range batch = knob_range(setup, RUE_BATCH_SIZE), workers = knob_range(setup, RUE_NUM_WORKERS);
    double low = sqrt(workers.min * workers.middle), high = sqrt(workers.middle * workers.max);
    double large = sqrt(batch.middle * batch.max);
    const double probes[RUE_PROBES_LOAD_MAX][3] = {
        {batch.min, workers.min, 6}, {batch.middle, workers.middle, 3}, {batch.min, high, 4},
        {batch.min, 0, 16},          {batch.middle, high, 2},           {batch.min, workers.max, 3},
        {batch.min, low, 6},         {large, workers.middle, 1},        {batch.middle, workers.max, 1},
        {large, workers.min, 1},
    };
    size_t count = 0;
    for (int p = 0; p < RUE_PROBES_LOAD_MAX; p++) {
        size_t config =
            rue_probes_nearest(setup->grid.configs, setup->grid.config_count, probes[p][0], probes[p][1]);
        if (is_config_asked(out, count, config)) continue;
        out[count++] = (struct rue_question){
            .measure = RUE_LOAD, .config = config, .images = probe_images(setup, config, probes[p][2])};
    }
    return count;
}

/* The configuration that differs only in pin_memory; SIZE_MAX: none. */
static size_t find_twin(const struct rue_strategy_setup *setup, size_t config)
{
    struct rue_config twin_config = setup->grid.configs[config];
    twin_config.value[RUE_PIN_MEMORY] = !rue_config_pins_memory(&twin_config);
    for (size_t c = 0; c < setup->grid.config_count; c++)
        if (rue_config_equal(&setup->grid.configs[c], &twin_config)) return c;
    return SIZE_MAX;
}

size_t rue_probes_compute_sizes(const struct rue_strategy_setup *setup, size_t *out)
{
    struct range batch = knob_range(setup, RUE_BATCH_SIZE);
    const double sizes[] = {batch.min, batch.middle};
    size_t count = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t config = rue_probes_nearest(setup->grid.configs, setup->grid.config_count, sizes[i], 1),
               twin = find_twin(setup, config);
        const int batch_size = setup->grid.configs[config].value[RUE_BATCH_SIZE];
        if (i > 0 && batch_size == setup->grid.configs[out[0]].value[RUE_BATCH_SIZE]) break;
        out[count++] = config;
        if (twin != SIZE_MAX) out[count++] = twin;
    }
    return count;
}

static size_t min_count(size_t count, size_t limit)
{
    return count < limit ? count : limit;
}

/* One per consumer. */
static size_t min_compute_probes(const struct rue_strategy_setup *setup)
{
    if (!setup->runner.measures[RUE_COMPUTE]) return 0;
    size_t pinned = 0, configs = setup->grid.config_count;
    for (size_t c = 0; c < configs; c++) pinned += rue_config_pins_memory(&setup->grid.configs[c]);
    return setup->grid.scenario_count * (pinned > 0 && pinned < configs ? 2 : 1);
}

struct rue_probes_budget rue_probes_budget(const struct rue_strategy_setup *setup)
{
    size_t models = setup->grid.scenario_count, budget = setup->budget.trials,
           compute = min_compute_probes(setup);
    size_t min = RUE_PROBES_LOAD_MIN + compute, total = budget / 2 > min ? budget / 2 : min;
    if (budget == 0) return (struct rue_probes_budget){SIZE_MAX, SIZE_MAX};
    if (budget < models + min) return (struct rue_probes_budget){0, 0};
    total = min_count(total, budget - models);
    size_t load = min_count(RUE_PROBES_LOAD_MAX, total - compute);
    return (struct rue_probes_budget){load, total - load};
}
