#include "saving_interval.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

#include "time_scatter.h"

enum { DRAWS = 1000 };

struct bootstrap {
    const struct rue_saving_question *question;
    struct rue_time_scatter before, after;
    uint64_t seed;
    double saved[DRAWS];
};

static const struct rue_cell *cell_of(const struct rue_saving_side *side, size_t model)
{
    return rue_cost_matrix_cell(side->matrix, model, side->config);
}

static bool is_told(const struct bootstrap *bootstrap)
{
    const struct rue_saving_question *question = bootstrap->question;
    for (size_t p = 0; p < question->pair_count; p++) {
        const struct rue_saving_pair *pair = &question->pairs[p];
        if (!rue_time_scatter_tells(&bootstrap->before, cell_of(&question->before, pair->before)) ||
            !rue_time_scatter_tells(&bootstrap->after, cell_of(&question->after, pair->after)))
            return false;
    }
    return question->confidence > 0;
}

static double median_saved_ns(const struct rue_saving_question *question)
{
    double sum = 0;
    for (size_t p = 0; p < question->pair_count; p++)
        sum += question->before.scale * cell_of(&question->before, question->pairs[p].before)->median_ns -
               question->after.scale * cell_of(&question->after, question->pairs[p].after)->median_ns;
    return sum / (double)question->pair_count;
}

static double draw_saved_ns(struct bootstrap *bootstrap)
{
    const struct rue_saving_question *question = bootstrap->question;
    double sum = 0;
    for (size_t p = 0; p < question->pair_count; p++) {
        const struct rue_cell *before = cell_of(&question->before, question->pairs[p].before),
                              *after = cell_of(&question->after, question->pairs[p].after);
        sum +=
            question->before.scale * rue_time_scatter_draw_ns(&bootstrap->before, before, &bootstrap->seed);
        sum -= question->after.scale * rue_time_scatter_draw_ns(&bootstrap->after, after, &bootstrap->seed);
    }
    return sum / (double)question->pair_count;
}

/* A t distribution's quantile over the normal one's, of the side whose scatter is told by fewer repeats. */
static double widening(const struct bootstrap *bootstrap, double tail)
{
    double before = (double)bootstrap->before.freedom, after = (double)bootstrap->after.freedom;
    double least = before > 0 && after > 0 ? fmin(before, after) : fmax(before, after);
    return least > 0 ? gsl_cdf_tdist_Pinv(1 - tail, least) / gsl_cdf_ugaussian_Pinv(1 - tail) : 1;
}

static void find(struct bootstrap *bootstrap, struct rue_saving_interval *out)
{
    double told = median_saved_ns(bootstrap->question), *saved = bootstrap->saved;
    double tail = (1 - bootstrap->question->confidence) / 2, widen = widening(bootstrap, tail);
    for (size_t d = 0; d < DRAWS; d++) saved[d] = draw_saved_ns(bootstrap) - told;
    gsl_sort(saved, 1, DRAWS);
    *out = (struct rue_saving_interval){
        .confidence = bootstrap->question->confidence,
        .low_ns = told + widen * fmin(0, gsl_stats_quantile_from_sorted_data(saved, 1, DRAWS, tail)),
        .high_ns = told + widen * fmax(0, gsl_stats_quantile_from_sorted_data(saved, 1, DRAWS, 1 - tail))};
}

rue_status rue_saving_interval_find(const struct rue_saving_question *question,
                                    struct rue_saving_interval *out, rue_error *error)
{
    struct bootstrap bootstrap = {.question = question, .seed = 1};
    *out = (struct rue_saving_interval){.confidence = 0};
    rue_status status = rue_time_scatter_open(question->before.matrix, &bootstrap.before, error);
    if (status == RUE_OK) status = rue_time_scatter_open(question->after.matrix, &bootstrap.after, error);
    if (status == RUE_OK && is_told(&bootstrap)) find(&bootstrap, out);
    rue_time_scatter_close(&bootstrap.before);
    rue_time_scatter_close(&bootstrap.after);
    return status;
}
