#include <criterion/criterion.h>
#include <math.h>

#include "job_length.h"

enum { CONFIGS_MAX = 8 };

/* A job takes start + images * each, the same on every model up to a factor. */
struct line {
    int batch, workers;
    double start_s, image_s;
};

struct world {
    const struct line *lines;
    size_t count, models;
    uint64_t longest[CONFIGS_MAX]; /* that was asked for */
};

static struct world world;

static double time_s(const void *context, size_t model, size_t config, uint64_t images)
{
    const struct line *line = &((const struct world *)context)->lines[config];
    if (images > world.longest[config]) world.longest[config] = images;
    return (double)(model + 1) * (line->start_s + (double)images * line->image_s);
}

static double cost_s(const struct line *line, double images)
{
    return line->start_s + images * line->image_s;
}

/* Looks for the lengths with `lines`; `missing`: a configuration that does not run on the last model. */
static struct rue_job_lengths find(const struct line *lines, size_t count, uint64_t job, size_t recommended,
                                   double epsilon, size_t missing)
{
    static const char *const names[] = {"a", "b"};
    struct rue_selection_rules rules = {.top_n = 3, .objective = RUE_OBJECTIVE_MEAN};
    struct rue_config configs[CONFIGS_MAX];
    struct rue_cost_matrix *matrix;
    struct rue_job_lengths found;
    world = (struct world){lines, count, 2, {0}};
    for (size_t c = 0; c < count; c++) {
        configs[c] = rue_config_default();
        configs[c].value[RUE_BATCH_SIZE] = lines[c].batch;
        configs[c].value[RUE_NUM_WORKERS] = lines[c].workers;
    }
    cr_assert_eq(rue_cost_matrix_open(configs, count, names, 2, &matrix, NULL), RUE_OK);
    for (size_t i = 0; i < 2 * count; i++)
        if (i != count + missing)
            cr_assert_eq(rue_cost_matrix_add(matrix, i / count, i % count,
                                             1e9 * time_s(&world, i / count, i % count, job), false, NULL),
                         RUE_OK);
    struct rue_selection *selection;
    cr_assert_eq(rue_selection_open(matrix, &rules, &selection, NULL), RUE_OK);
    selection->recommended = recommended;
    struct rue_job_length_setup question = {.matrix = matrix,
                                            .selection = selection,
                                            .job_images = job,
                                            .epsilon_ratio = epsilon,
                                            .time_s = time_s,
                                            .context = &world};
    cr_assert_eq(rue_job_lengths_find(&question, &found, NULL), RUE_OK);
    for (size_t c = 0; c < count; c++)
        cr_assert_leq(world.longest[c], job + 8 * (uint64_t)(lines[c].batch * lines[c].workers),
                      "no longer job is asked for");
    rue_selection_close(selection);
    rue_cost_matrix_close(matrix);
    cr_assert_geq(found.count, 1u);
    for (size_t i = 0; i < found.count; i++) {
        cr_assert_leq(found.at[i].from_images, found.at[i].to_images);
        if (i) cr_assert_eq(found.at[i].from_images, found.at[i - 1].to_images + 1);
        if (i) cr_assert_neq(found.at[i].config, found.at[i - 1].config);
    }
    return found;
}

/* Few workers start soon, many go far. */
static const struct line crossing[] = {{16, 1, 0.1, 0.010}, {16, 4, 0.5, 0.004}, {16, 8, 3.5, 0.0025}};

Test(job_length, the_answer_changes_where_the_lines_cross)
{
    struct rue_job_lengths found = find(crossing, 3, 1000, 1, 0.005, SIZE_MAX / 4);
    cr_assert_eq(found.count, 3u);
    cr_assert_eq(found.at[0].config, 0u);
    cr_assert_eq(found.at[1].config, 1u);
    cr_assert_eq(found.at[2].config, 2u);
    cr_assert_eq(found.at[0].from_images, 16u);
    cr_assert_float_eq((double)found.at[1].from_images, 0.4 / 0.006, 8);
    cr_assert_float_eq((double)found.at[2].from_images, 2000, 250);
    cr_assert_eq(found.at[2].to_images, 1000u * RUE_JOB_LONGEST);
}

Test(job_length, results_hardly_depend_on_the_reference_job)
{
    static const struct {
        uint64_t job;
        size_t best;
    } from[] = {{30, 0}, {300, 1}, {1500, 1}, {100000, 2}};
    for (size_t i = 0; i < 4; i++) {
        struct rue_job_lengths found = find(crossing, 3, from[i].job, from[i].best, 0.005, SIZE_MAX / 4);
        cr_assert_eq(found.count, 3u, "from %d", (int)from[i].job);
        cr_assert_float_eq((double)found.at[2].from_images, 2000, 250);
    }
}

Test(job_length, less_than_epsilon_is_not_a_change)
{
    static const struct line near[] = {{16, 1, 1, 0.0100}, {16, 2, 1.001, 0.00999}};
    struct rue_job_lengths found = find(near, 2, 1000, 1, 0.005, SIZE_MAX / 4);
    cr_assert_eq(found.count, 1u);
    cr_assert_eq(found.at[0].config, 1u);
    found = find(near, 2, 1000, 1, 0.0001, SIZE_MAX / 4);
    cr_assert_eq(found.count, 2u, "below a hundred images the other one");
}

Test(job_length, a_batch_larger_than_the_job_is_not_an_answer)
{
    static const struct line sizes[] = {{16, 1, 1, 0.010}, {256, 1, 1, 0.008}};
    struct rue_job_lengths found = find(sizes, 2, 5000, 1, 0.005, SIZE_MAX / 4);
    cr_assert_eq(found.count, 2u);
    cr_assert_eq(found.at[0].config, 0u);
    cr_assert_leq(found.at[0].to_images, 256u);
    cr_assert_geq(found.at[0].to_images, 200u);
}

Test(job_length, a_failed_configuration_is_not_an_answer)
{
    struct rue_job_lengths found = find(crossing, 3, 1000, 1, 0.005, 2);
    cr_assert_eq(found.count, 2u);
    cr_assert_eq(found.at[1].config, 1u);
    cr_assert_gt(cost_s(&crossing[1], 1e6), cost_s(&crossing[2], 1e6), "though it would be better");
}

Test(job_length, one_configuration_is_the_answer_throughout)
{
    struct rue_job_lengths found = find(crossing, 1, 16, 0, 0.005, SIZE_MAX / 4);
    cr_assert_eq(found.count, 1u);
    cr_assert_eq(found.at[0].from_images, 16u);
    cr_assert_eq(found.at[0].to_images, 16u * RUE_JOB_LONGEST);
}

Test(job_length, a_job_shorter_than_a_batch_has_an_answer)
{
    struct rue_job_lengths found = find(crossing, 3, 5, 0, 0.005, SIZE_MAX / 4);
    cr_assert_eq(found.at[0].from_images, 5u);
    cr_assert_eq(found.at[0].config, 0u);
}
