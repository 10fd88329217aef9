/* Findings made by hand, for the tests of the reports. */
#ifndef RUE_FINDINGS_FIXTURE_H
#define RUE_FINDINGS_FIXTURE_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

enum { FIXTURE_VARIANTS = 4, FIXTURE_ROWS = 8 };

/* Cells that hold no time. */
#define MISSING    NAN
#define INFEASIBLE (-1.0)
#define FAILED     (-2.0)

struct fixture {
    struct rue_findings findings;
    struct rue_variant_findings variants[FIXTURE_VARIANTS];
    struct rue_cost_matrix *matrices[FIXTURE_VARIANTS];
    struct rue_selection *selections[FIXTURE_VARIANTS];
    struct rue_answers *answers[FIXTURE_VARIANTS];
    struct rue_trial_row rows[FIXTURE_ROWS];
};

/* What is ranked; `times_s` [model_count][config_count] in seconds, or one of the words above. */
struct fixture_grid {
    enum rue_mode mode;
    const struct rue_config *configs;
    size_t config_count;
    const char *const *models;
    size_t model_count;
    const double *times_s;
    bool predicted;
    const char *reason; /* of the cells that are infeasible or failed */
};

static inline struct rue_config fixture_config(int batch_size, int num_workers)
{
    struct rue_config config = rue_config_default();
    config.value[RUE_BATCH_SIZE] = batch_size;
    config.value[RUE_NUM_WORKERS] = num_workers;
    return config;
}

static inline void fixture_open(struct fixture *fixture)
{
    memset(fixture, 0, sizeof *fixture);
    struct rue_findings *findings = &fixture->findings;
    strcpy(findings->study, "photos");
    strcpy(findings->measured_with, "rue");
    strcpy(findings->runner, "rue 0.1.0");
    strcpy(findings->consumer, "an NVIDIA RTX A5000");
    strcpy(findings->rue_version, "0.1.0");
    strcpy(findings->cpu, "AMD Ryzen Threadripper PRO 3995WX 64-Cores");
    findings->usable_cpus = 64;
    findings->memory_bytes = UINT64_C(270000000000);
    strcpy(findings->kernel, "Linux 6.1.0");
    strcpy(findings->libraries, "libjpeg-turbo 2.1.5, SQLite 3.40.1");
    strcpy(findings->machine_json, "{\"hostname\":\"bench\",\"numa_nodes\":1}");
    strcpy(findings->command_line, "rue tune photos --images 9469");
    strcpy(findings->started, "2024-05-01T12:00:00Z");
    findings->duration_s = 812.25;
    findings->seed = 1;
    findings->repeats_planned = 1;
    findings->variants = fixture->variants;
    findings->rows = fixture->rows;
}

static inline void fixture_fill(struct rue_cost_matrix *matrix, const struct fixture_grid *grid,
                                struct rue_variant_findings *variant)
{
    for (size_t m = 0; m < grid->model_count; m++)
        for (size_t c = 0; c < grid->config_count; c++) {
            double time_s = grid->times_s[m * grid->config_count + c];
            if (isnan(time_s)) continue;
            if (time_s > 0) {
                cr_assert_eq(rue_cost_matrix_add(matrix, m, c, time_s * 1e9, grid->predicted, NULL), RUE_OK);
                variant->trials_ok++;
                continue;
            }
            bool infeasible = time_s == INFEASIBLE;
            rue_cost_matrix_miss(matrix, m, c, infeasible ? RUE_TRIAL_INFEASIBLE : RUE_TRIAL_FAILED,
                                 grid->reason);
            variant->trials_infeasible += infeasible;
            variant->trials_failed += !infeasible;
        }
}

/* The batches in flight of a configuration take a megabyte an image and worker. */
static inline void fixture_answer(struct fixture *fixture, size_t v, const struct fixture_grid *grid)
{
    double *bytes = calloc(grid->config_count, sizeof *bytes);
    cr_assert_not_null(bytes);
    for (size_t c = 0; c < grid->config_count; c++)
        bytes[c] =
            1e6 * grid->configs[c].value[RUE_BATCH_SIZE] * (1 + grid->configs[c].value[RUE_NUM_WORKERS]);
    cr_assert_eq(rue_answers_open(fixture->matrices[v], fixture->selections[v], 0.05, bytes,
                                  &fixture->answers[v], NULL),
                 RUE_OK);
    free(bytes);
}

/* Adds a variant; returns it for changes. */
static inline struct rue_variant_findings *fixture_add(struct fixture *fixture,
                                                       const struct fixture_grid *grid)
{
    size_t v = fixture->findings.variant_count++;
    cr_assert_lt(v, (size_t)FIXTURE_VARIANTS);
    struct rue_variant_findings *variant = &fixture->variants[v];
    cr_assert_eq(rue_cost_matrix_open(grid->configs, grid->config_count, grid->models, grid->model_count,
                                      &fixture->matrices[v], NULL),
                 RUE_OK);
    fixture_fill(fixture->matrices[v], grid, variant);
    struct rue_selection_rules rules = {.top_n = 3};
    cr_assert_eq(rue_selection_open(fixture->matrices[v], &rules, &fixture->selections[v], NULL), RUE_OK);
    variant->matrix = fixture->matrices[v];
    variant->selection = fixture->selections[v];
    fixture_answer(fixture, v, grid);
    variant->answers = fixture->answers[v];
    bool raw = grid->mode == RUE_RAW;
    variant->variant.mode = grid->mode;
    strcpy(variant->variant.format, raw ? "folder" : "tensor");
    strcpy(variant->variant.dtype, raw ? "" : "float32");
    strcpy(variant->variant.path, raw ? "/data/photos" : "/data/photos.tensor");
    strcpy(variant->data_digest, "00f1e2d3c4b5a697");
    variant->job_images = variant->data_images = 9469;
    variant->data_bytes = raw ? UINT64_C(1100000000) : UINT64_C(9469) * 602112;
    return variant;
}

static inline void fixture_close(struct fixture *fixture)
{
    for (size_t v = 0; v < FIXTURE_VARIANTS; v++) {
        rue_answers_close(fixture->answers[v]);
        rue_selection_close(fixture->selections[v]);
        rue_cost_matrix_close(fixture->matrices[v]);
    }
}

static const char *const fixture_models[] = {"resnet152", "resnet18", "mobilenet_v3_small"};

/* Two variants of three models and four configurations, everything measured; raw 128/8 and preprocessed 32/4
 * win. */
static inline void fixture_open_plain(struct fixture *fixture)
{
    static const double raw_s[] = {30, 24, 33, 20, 25, 18, 31, 12, 24, 16, 30, 11};
    static const double preprocessed_s[] = {20, 18, 21, 19, 9, 8, 10, 8.5, 8, 7, 9, 7.5};
    const struct rue_config configs[] = {fixture_config(32, 2), fixture_config(32, 4), fixture_config(128, 0),
                                         fixture_config(128, 8)};
    struct fixture_grid grid = {RUE_RAW, configs, 4, fixture_models, 3, raw_s, false, ""};
    fixture_open(fixture);
    fixture_add(fixture, &grid);
    grid.mode = RUE_PREPROCESSED;
    grid.times_s = preprocessed_s;
    fixture_add(fixture, &grid)->build_s_per_image = 0.0021;
}

/* As if all of it had been measured two times more, off by that; medians are what they were. */
static inline void fixture_repeat(struct fixture *fixture, double off)
{
    for (size_t v = 0; v < fixture->findings.variant_count; v++) {
        struct rue_cost_matrix *matrix = fixture->matrices[v];
        size_t configs = matrix->config_count;
        for (size_t i = 0; i < matrix->model_count * configs; i++) {
            double ns = rue_cost_matrix_cell(matrix, i / configs, i % configs)->median_ns;
            const double more[] = {(1 - off) * ns, (1 + off) * ns};
            cr_assert_eq(rue_cost_matrix_add_repeats(matrix, i / configs, i % configs, more, 2, false, NULL),
                         RUE_OK);
        }
        fixture->variants[v].interval.confidence = 0.95;
    }
}

/* One raw variant; in every column but the first something is missing. */
static inline void fixture_open_gaps(struct fixture *fixture)
{
    static const double times_s[] = {30, INFEASIBLE, MISSING, 20, 25, 18, 31, FAILED, 24, 16, 30, 11};
    const struct rue_config configs[] = {fixture_config(32, 2), fixture_config(32, 4), fixture_config(128, 0),
                                         fixture_config(128, 8)};
    struct fixture_grid grid = {RUE_RAW, configs, 4,    fixture_models,
                                3,       times_s, true, "slabs of 9.2 GB, 8 GB allowed"};
    fixture_open(fixture);
    fixture_add(fixture, &grid);
}

/* One raw variant in which no configuration ran on every model. */
static inline void fixture_open_nothing(struct fixture *fixture)
{
    static const double times_s[] = {30, INFEASIBLE, INFEASIBLE, FAILED};
    const struct rue_config configs[] = {fixture_config(32, 2), fixture_config(32, 4)};
    struct fixture_grid grid = {RUE_RAW, configs, 2, fixture_models, 2, times_s, false, "out of \"memory\""};
    fixture_open(fixture);
    fixture_add(fixture, &grid);
}

/* Names and paths with quotes, newlines, escapes, UTF-8 and bytes that are none; PyTorch without workers
 * wins; the run is partial. */
static inline void fixture_open_odd(struct fixture *fixture)
{
    static const double times_s[] = {5, 6, 7, 9};
    static const char *const models[] = {"größe \"µ\"\n\033[31mred",
                                         "模型 with a very long name that no table can show"};
    const struct rue_config configs[] = {fixture_config(64, 0), fixture_config(64, 2)};
    struct fixture_grid grid = {RUE_RAW, configs, 2, models, 2, times_s, true, ""};
    fixture_open(fixture);
    struct rue_variant_findings *variant = fixture_add(fixture, &grid);
    strcpy(variant->variant.path, "/data/\"quoted\", spaced\nÜbung/\xff\xfe/模型");
    struct rue_findings *findings = &fixture->findings;
    strcpy(findings->measured_with, "torch");
    strcpy(findings->runner, "torch 2.2.0");
    findings->consumer[0] = findings->machine_json[0] = 0;
    findings->seed = UINT64_MAX;
    findings->partial = true;
    strcpy(findings->partial_reason, "interrupted after 4 of 20 trials");
}

/* What a report writes, as owned text. */
static inline char *fixture_render(const struct rue_report *report, const struct fixture *fixture,
                                   struct rue_report_style style)
{
    char *text = NULL;
    size_t bytes = 0;
    rue_error error = {0};
    FILE *stream = open_memstream(&text, &bytes);
    cr_assert_not_null(stream);
    rue_status status = report->render(&fixture->findings, &style, stream, &error);
    cr_assert_eq(status, RUE_OK, "%s: %s", report->name, error.message);
    fclose(stream);
    return text;
}

#endif
