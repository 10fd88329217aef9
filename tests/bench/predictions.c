/* How far predictions are off: every cell of a grid is measured, and predicted from a strategy's probes
 * alone.
 *
 *   predictions PATH [-r ROUNDS] [-n IMAGES] [-b SIZES] [-w WORKERS] [-p PREFETCHES] [-o CELLS.csv]
 *
 * Cells are measured in another order each round; what a round predicts is compared with the medians of all
 * rounds. */
#include <getopt.h>
#include <math.h>

#include "bench.h"
#include "machine.h"
#include "model_sleep.h"
#include "source.h"
#include "space.h"
#include "strategy.h"
#include "trial_loop.h"

enum { MODELS = 4, ROUNDS_MAX = BENCH_REPEATS_MAX };

/* What a model takes for an image: shares of what the loader takes at its best. */
static const double model_share[MODELS] = {0.25, 0.8, 1.25, 3};

struct cell {
    double measured_s[ROUNDS_MAX], predicted_s[ROUNDS_MAX];
};

static const char *path;
static struct rue_source *source;
static struct rue_space space;
static struct rue_config *configs; /* [config_count] */
static size_t config_count;
static struct rue_profile profiles[MODELS];
static struct rue_model models[MODELS];
static struct cell *cells; /* [MODELS * config_count] */
static uint64_t images;
static int rounds = 3;

/* ---- trials ---- */

/* Closed by the caller. */
static struct rue_trial_result run_trial(enum rue_measure measure, struct rue_model *model,
                                         const struct rue_config *config, uint64_t part, uint64_t batches)
{
    struct rue_trial_request request = {.measure = measure,
                                        .config = *config,
                                        .workload = rue_workload_default(),
                                        .images = part ? part : images,
                                        .job_images = images,
                                        .batches = batches,
                                        .detail = true};
    struct rue_trial_result result;
    rue_trial_run(NULL, &request, source, model, &result);
    if (result.outcome == RUE_TRIAL_OK) return result;
    fprintf(stderr, "%s: %s\n", path, result.reason);
    exit(1);
}

/* ---- predictions ---- */

/* Lets the strategy probe until it wants to measure jointly. */
static void forecast(int round)
{
    struct rue_strategy_setup setup =
        rue_strategy_setup_default((struct rue_setup_grid){MODELS, config_count, configs}, images);
    setup.runner =
        (struct rue_setup_runner){.measures = {true, true, true}, .cpus = rue_machine_read().usable_cpus};
    setup.seed = (uint64_t)round;
    struct rue_model none = rue_model_none();
    rue_error error = {0};
    struct rue_question ask;
    void *state;
    double probed_s = 0;
    bench_check(rue_strategy_duel.open(&setup, &state, &error), &error);
    while (rue_strategy_duel.ask(state, 0, &ask) && ask.measure != RUE_JOINT) {
        double start = bench_now();
        struct rue_trial_result result =
            run_trial(ask.measure, ask.measure == RUE_LOAD ? &none : &models[ask.scenario],
                      &configs[ask.config], ask.images, ask.batches);
        result.cost_ns = (int64_t)(1e9 * (bench_now() - start));
        probed_s += bench_now() - start;
        rue_strategy_duel.observe(state, &ask, &result);
        rue_trial_result_close(&result);
    }
    for (size_t i = 0; i < MODELS * config_count; i++) {
        struct rue_estimate estimate;
        if (!rue_strategy_duel.estimate(state, i / config_count, i % config_count, &estimate))
            estimate.time_s = NAN;
        cells[i].predicted_s[round] = estimate.time_s;
    }
    rue_strategy_duel.close(state);
    fprintf(stderr, "round %d: probes took %.1f s\n", round + 1, probed_s);
}

static void measure(int round, unsigned *seed)
{
    size_t count = MODELS * config_count;
    int *order = calloc(count, sizeof *order);
    for (size_t i = 0; i < count; i++) order[i] = (int)i;
    bench_shuffle(order, (int)count, seed);
    for (size_t i = 0; i < count; i++) {
        struct cell *cell = &cells[order[i]];
        struct rue_trial_result result = run_trial(RUE_JOINT, &models[(size_t)order[i] / config_count],
                                                   &configs[(size_t)order[i] % config_count], 0, 0);
        cell->measured_s[round] = (double)result.end_to_end_ns / 1e9;
        rue_trial_result_close(&result);
    }
    free(order);
}

/* ---- what comes out ---- */

static const char *name_group(const struct rue_config *config)
{
    if (config->value[RUE_NUM_WORKERS] == 0) return "no workers";
    return config->value[RUE_PARALLELISM] == RUE_PARALLEL_SAMPLE ? "sample" : "batch";
}

/* How far a prediction is off, as a ratio. */
static double relative_error(const struct cell *cell, int round)
{
    double sorted[ROUNDS_MAX];
    memcpy(sorted, cell->measured_s, sizeof sorted);
    return cell->predicted_s[round] / bench_median(sorted, rounds) - 1;
}

static void show_group(const char *group)
{
    double *errors = calloc(MODELS * config_count * (size_t)rounds, sizeof *errors);
    size_t count = 0;
    for (size_t i = 0; i < MODELS * config_count; i++)
        for (int r = 0; r < rounds; r++) {
            double error = fabs(relative_error(&cells[i], r));
            if (strcmp(group, name_group(&configs[i % config_count])) == 0 && isfinite(error) &&
                cells[i].predicted_s[r] > 0)
                errors[count++] = 100 * error;
        }
    qsort(errors, count, sizeof *errors, bench_compare);
    char what[160];
    snprintf(what, sizeof what, "%s, from probes: median error, %zu predictions", group, count);
    if (count) bench_row(what, "%", errors[count / 2], "the goal", 5, "<= 1");
    snprintf(what, sizeof what, "%s, from probes: 95 %% of errors", group);
    if (count) bench_row(what, "%", errors[(count - 1) * 95 / 100], "the goal", 15, "<= 1");
    free(errors);
}

static void write_cells(const char *name)
{
    FILE *out = fopen(name, "w");
    if (!out) {
        perror(name);
        exit(1);
    }
    fprintf(
        out,
        "model_share,batch_size,num_workers,prefetch_factor,parallelism,round,measured_s,from_probes_s\n");
    for (size_t i = 0; i < MODELS * config_count; i++)
        for (int r = 0; r < rounds; r++) {
            const int *value = configs[i % config_count].value;
            fprintf(out, "%g,%d,%d,%d,%s,%d,%g,%g\n", model_share[i / config_count], value[RUE_BATCH_SIZE],
                    value[RUE_NUM_WORKERS], value[RUE_PREFETCH_FACTOR],
                    name_group(&configs[i % config_count]), r, cells[i].measured_s[r],
                    cells[i].predicted_s[r]);
        }
    fclose(out);
}

/* ---- life ---- */

static void set_values(enum rue_knob knob, const char *list)
{
    space.count[knob] = 0;
    char *text = strdup(list), *rest = text, *word;
    while ((word = strsep(&rest, ","))) rue_space_add(&space, knob, atoi(word));
    free(text);
}

/* Without workers the other knobs say nothing. */
static void open_configs(void)
{
    rue_space_add(&space, RUE_PARALLELISM, RUE_PARALLEL_BATCH);
    rue_space_add(&space, RUE_PARALLELISM, RUE_PARALLEL_SAMPLE);
    configs = calloc(rue_space_size(&space), sizeof *configs);
    for (size_t i = 0; i < rue_space_size(&space); i++) {
        struct rue_config config = rue_space_at(&space, i);
        bool first = config.value[RUE_PARALLELISM] == RUE_PARALLEL_BATCH &&
                     config.value[RUE_PREFETCH_FACTOR] == space.values[RUE_PREFETCH_FACTOR][0];
        if (config.value[RUE_NUM_WORKERS] > 0 || first) configs[config_count++] = config;
    }
    cells = calloc(MODELS * config_count, sizeof *cells);
}

/* Models that are lighter and heavier than what the loader brings with a worker on every CPU. */
static void open_models(void)
{
    struct rue_config config = rue_config_default();
    struct rue_model none = rue_model_none();
    rue_error error = {0};
    config.value[RUE_BATCH_SIZE] = space.values[RUE_BATCH_SIZE][0];
    config.value[RUE_NUM_WORKERS] = rue_machine_read().usable_cpus;
    double best_ns = INFINITY;
    for (int r = 0; r < 3; r++) {
        struct rue_trial_result result = run_trial(RUE_LOAD, &none, &config, 0, 0);
        best_ns = fmin(best_ns, (double)result.end_to_end_ns / (double)result.images);
        rue_trial_result_close(&result);
    }
    for (size_t m = 0; m < MODELS; m++) {
        profiles[m] = (struct rue_profile){.per_image_ns = model_share[m] * best_ns, .per_batch_ns = 1e6};
        bench_check(rue_model_sleep_open(&profiles[m], &models[m], &error), &error);
    }
}

int main(int argc, char **argv)
{
    const char *cells_name = NULL;
    unsigned seed = 1;
    rue_error error = {0};
    space = rue_space_default(&rue_own_knobs);
    set_values(RUE_BATCH_SIZE, "16,32,64,128");
    set_values(RUE_NUM_WORKERS, "0,1,2,4,8");
    set_values(RUE_PREFETCH_FACTOR, "1,2,4");
    for (int option; (option = getopt(argc, argv, "r:n:b:w:p:o:")) != -1;) {
        if (option == '?') return 2;
        if (option == 'r') rounds = atoi(optarg);
        if (option == 'n') images = (uint64_t)atoll(optarg);
        if (option == 'b') set_values(RUE_BATCH_SIZE, optarg);
        if (option == 'w') set_values(RUE_NUM_WORKERS, optarg);
        if (option == 'p') set_values(RUE_PREFETCH_FACTOR, optarg);
        if (option == 'o') cells_name = optarg;
    }
    path = argv[optind];
    if (!path || rounds < 1 || rounds > ROUNDS_MAX)
        return fputs("predictions PATH: see its head\n", stderr), 2;
    bench_check(rue_source_open(path, NULL, &source, &error), &error);
    if (images == 0 || images > rue_source_count(source)) images = rue_source_count(source);
    open_configs();
    open_models();
    for (int r = 0; r < rounds; r++) {
        forecast(r);
        measure(r, &seed);
    }
    static const char *const groups[] = {"batch", "sample", "no workers"};
    for (int g = 0; g < 3; g++) show_group(groups[g]);
    if (cells_name) write_cells(cells_name);
    for (size_t m = 0; m < MODELS; m++) rue_model_close(&models[m]);
    rue_source_close(source);
    free(configs);
    free(cells);
}
