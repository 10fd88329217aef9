#include "probing.h"

#include <math.h>
#include <stdlib.h>

#include "probes.h"

enum { WITNESSES = 3 };

static const double slow_ratio = 1.06;    /* a probe that something disturbed */
static const double again_share = 0.06;   /* of the budget, for probes again */
static const double longer_share = 0.008; /* of it: what costs no more is asked again, twice as long */

struct rue_probing {
    const struct rue_strategy_setup *setup;
    struct rue_ask load[RUE_PROBES_LOAD_MAX]; /* [load_count] */
    size_t load_count;
    struct rue_consumers consumers;
    bool *computed; /* [models][configs] what is computed on with the config was measured, or will be */
    size_t left;    /* probes that there is room for */
    bool trusting;  /* the prior stands in for most probes */
};

rue_status rue_probing_open(const struct rue_strategy_setup *setup, struct rue_probing **out,
                            rue_error *error)
{
    struct rue_probing *probing = calloc(1, sizeof *probing);
    if (!probing) return rue_fail_memory(error, "probes", sizeof *probing);
    size_t cells = setup->scenario_count * setup->config_count;
    probing->setup = setup;
    probing->consumers = rue_consumers_of(setup->scenario_count, setup->configs, setup->config_count);
    struct rue_probes_room room = rue_probes_room(setup);
    probing->load_count = rue_probes_load(setup, probing->load);
    if (probing->load_count > room.load) probing->load_count = room.load;
    probing->left = room.all;
    probing->trusting = setup->prior;
    probing->computed = calloc(cells, sizeof *probing->computed);
    if (!probing->computed) {
        free(probing);
        return rue_fail_memory(error, "probes", cells);
    }
    *out = probing;
    return RUE_OK;
}

void rue_probing_close(struct rue_probing *probing)
{
    if (!probing) return;
    free(probing->computed);
    free(probing);
}

/* The prior is of this very loader: three of its probes are enough to see that. */
static size_t load_count(const struct rue_probing *probing)
{
    bool few = probing->trusting && probing->setup->prior->same && probing->load_count > WITNESSES;
    return few ? WITNESSES : probing->load_count;
}

/* Nothing is pushed where that would leave no room for `reserve` more. */
static rue_status push(struct rue_probing *probing, const struct rue_ask *ask, size_t reserve,
                       struct rue_ask_queue *queue, rue_error *error)
{
    if (probing->left <= reserve) return RUE_OK;
    probing->left -= probing->left < SIZE_MAX;
    return rue_ask_queue_push(queue, ask, error);
}

rue_status rue_probing_push_load(struct rue_probing *probing, struct rue_ask_queue *queue, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < load_count(probing); i++)
        status = push(probing, &probing->load[i], 0, queue, error);
    return status;
}

rue_status rue_probing_push_again(struct rue_probing *probing, const struct rue_prediction *prediction,
                                  struct rue_ask_queue *queue, rue_error *error)
{
    const struct rue_strategy_setup *setup = probing->setup;
    double left_s = again_share * setup->budget_s, most_s = longer_share * setup->budget_s;
    size_t reserve = setup->measures[RUE_COMPUTE] ? probing->consumers.count : 0;
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < load_count(probing); i++) {
        struct rue_ask again = probing->load[i];
        bool slow = rue_prediction_slow_ratio(prediction, again.config) > slow_ratio;
        bool whole = again.images >= setup->job_images; /* no longer one tells more */
        if (!slow && (whole || setup->budget_trials > 0)) continue;
        again.repeat = slow;
        if (!slow) again.images = 2 * again.images < setup->job_images ? 2 * again.images : setup->job_images;
        again.expected_s =
            rue_prediction_trial_s(prediction, RUE_PREDICTION_NO_MODEL, again.config, again.images);
        if (again.expected_s > left_s || (!slow && again.expected_s > most_s)) continue;
        left_s -= again.expected_s;
        status = push(probing, &again, reserve, queue, error);
    }
    return status;
}

/* What the prior knows of the model's compute with batches that lie as `config` says. */
static const struct rue_compute_curve *believed_curve(const struct rue_probing *probing, size_t model,
                                                      size_t config)
{
    const struct rue_strategy_setup *setup = probing->setup;
    size_t consumer = rue_consumers_find(&probing->consumers, model, &setup->configs[config]);
    return &rue_knowledge_of(setup->prior->knowledge, &probing->consumers, consumer)->curve;
}

/* Whether the prior knows the model's compute at the batch size of `config`. */
static bool is_believed(const struct rue_probing *probing, size_t model, size_t config)
{
    if (!probing->trusting) return false;
    const struct rue_compute_curve *curve = believed_curve(probing, model, config);
    int batch_size = probing->setup->configs[config].value[RUE_BATCH_SIZE];
    for (size_t i = 0; i < curve->count; i++)
        if (curve->points[i].batch_size == batch_size) return true;
    return false;
}

bool rue_probing_is_computed(const struct rue_probing *probing, size_t model, size_t config)
{
    return !probing->setup->measures[RUE_COMPUTE] ||
           probing->computed[model * probing->setup->config_count + config] ||
           is_believed(probing, model, config);
}

static rue_status push_size(struct rue_probing *probing, size_t model, size_t config,
                            struct rue_ask_queue *queue, rue_error *error)
{
    const struct rue_strategy_setup *setup = probing->setup;
    for (size_t c = 0; c < setup->config_count; c++)
        probing->computed[model * setup->config_count + c] |= rue_probes_tell_alike(setup, c, config);
    struct rue_ask probe = rue_probes_compute(model, config);
    return push(probing, &probe, 0, queue, error);
}

rue_status rue_probing_push_size(struct rue_probing *probing, size_t model, size_t config, bool *pushed,
                                 struct rue_ask_queue *queue, rue_error *error)
{
    *pushed = probing->left > 0 && !rue_probing_is_computed(probing, model, config);
    return *pushed ? push_size(probing, model, config, queue, error) : RUE_OK;
}

/* The models whose compute the prior has as the least and the most: if these are as they were, so are the
 * others. */
static rue_status push_witnesses(struct rue_probing *probing, size_t config, struct rue_ask_queue *queue,
                                 rue_error *error)
{
    size_t least = SIZE_MAX, most = SIZE_MAX;
    double least_s = INFINITY, most_s = -INFINITY;
    int batch_size = probing->setup->configs[config].value[RUE_BATCH_SIZE];
    for (size_t m = 0; m < probing->setup->scenario_count; m++) {
        if (!is_believed(probing, m, config)) continue;
        struct rue_pipeline_consumer consumer =
            rue_compute_curve_at(believed_curve(probing, m, config), batch_size);
        double batch_s = consumer.batch_s + consumer.image_s * batch_size;
        if (batch_s < least_s) least = m, least_s = batch_s;
        if (batch_s > most_s) most = m, most_s = batch_s;
    }
    rue_status status = RUE_OK;
    if (least != SIZE_MAX) status = push_size(probing, least, config, queue, error);
    if (status == RUE_OK && most != least) status = push_size(probing, most, config, queue, error);
    return status;
}

rue_status rue_probing_push_compute(struct rue_probing *probing, struct rue_ask_queue *queue,
                                    rue_error *error)
{
    size_t sizes[RUE_PROBES_SIZES_MAX], count = rue_probes_compute_sizes(probing->setup, sizes);
    rue_status status = RUE_OK;
    bool pushed;
    if (!probing->setup->measures[RUE_COMPUTE]) return RUE_OK;
    if (probing->trusting) status = push_witnesses(probing, sizes[0], queue, error);
    for (size_t m = 0, models = probing->setup->scenario_count; m < models; m++)
        for (size_t i = 0; status == RUE_OK && i < count; i++)
            if (i == 0 || probing->left >= models - m) /* one of every model comes first */
                status = rue_probing_push_size(probing, m, sizes[i], &pushed, queue, error);
    return status;
}

rue_status rue_probing_push_distrusted(struct rue_probing *probing, const struct rue_prediction *prediction,
                                       bool *pushed, struct rue_ask_queue *queue, rue_error *error)
{
    rue_status status = RUE_OK;
    *pushed = probing->trusting && !rue_prediction_trusts_prior(prediction);
    if (!*pushed) return RUE_OK;
    size_t asked = probing->setup->measures[RUE_LOAD] ? load_count(probing) : probing->load_count;
    probing->trusting = false;
    for (size_t i = asked; status == RUE_OK && i < probing->load_count; i++)
        status = push(probing, &probing->load[i], 0, queue, error);
    return status == RUE_OK ? rue_probing_push_compute(probing, queue, error) : status;
}
