/* The first trials of a duel. Load-only ones measure the loader, compute-only ones each model. Where a
 * runner has joint ones alone, or trials are too few for others, it surveys: each of the
 * configurations that would tell most of the loader runs on the next model in turn, where trials are few one
 * on every model. */
#include <math.h>

#include "duel.h"
#include "probes.h"

/* Where an earlier study was of this machine, with these data, a few tell what has changed. */
void rue_duel_push_load_probes(struct rue_duel *duel)
{
    struct rue_question asks[RUE_PROBES_LOAD_MAX];
    size_t models = duel->setup.grid.scenario_count, room = rue_probes_budget(&duel->setup).load,
           count = rue_probes_load(&duel->setup, asks), end = count < room ? count : room;
    const struct rue_prior *prior = duel->setup.known.prior;
    if (prior && prior->same_machine && end > RUE_PROBES_LOAD_MIN) end = RUE_PROBES_LOAD_MIN;
    if (duel->surveys && end < models) end = models;
    for (size_t i = 0; i < end; i++) {
        struct rue_question ask = asks[room ? i % count : count > 1];
        if (duel->surveys) ask.measure = RUE_JOINT;
        if (duel->surveys) ask.scenario = i % models;
        rue_duel_push(duel, &ask);
    }
}

/* One model after the other; where there is no room for all, first one probe of each. */
void rue_duel_push_compute_probes(struct rue_duel *duel)
{
    size_t sizes[RUE_PROBES_SIZES_MAX], count = rue_probes_compute_sizes(&duel->setup, sizes);
    size_t models = duel->setup.grid.scenario_count, all = models * count,
           room = rue_probes_budget(&duel->setup).compute;
    const struct rue_prior *prior = duel->setup.known.prior;
    if (!duel->setup.runner.measures[RUE_COMPUTE]) return;
    for (size_t i = 0; i < all && i < room; i++) {
        size_t model = room < all ? i % models : i / count, size = room < all ? i / models : i % count;
        size_t consumer = rue_consumer_index(model, &duel->setup.grid.configs[sizes[size]]);
        /* One is enough where an earlier study knows how long others take beside it. */
        if (size > 0 && prior && prior->same_machine && prior->knowledge->consumers[consumer].curve.count > 1)
            continue;
        rue_duel_push(duel, &(struct rue_question){.measure = RUE_COMPUTE,
                                                   .scenario = model,
                                                   .config = sizes[size],
                                                   .batches = RUE_PROBES_COMPUTE_BATCHES});
    }
}
