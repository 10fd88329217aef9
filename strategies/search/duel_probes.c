/* The first trials. Load probes measure the loader, compute probes each model. A survey replaces load probes
 * if the runner makes only joint trials, or the budget has few. It runs the most informative configurations
 * as joint trials, on the models in turn; with few trials, one configuration on every model. */
#include <math.h>

#include "duel.h"
#include "probes.h"

/* If an earlier study used this machine and these data, a few probes show the changes. */
void rue_duel_push_load_probes(struct rue_duel *duel)
{
    struct rue_question questions[RUE_PROBES_LOAD_MAX];
    size_t models = duel->setup.grid.scenario_count, budget = rue_probes_budget(&duel->setup).load,
           count = rue_probes_load(&duel->setup, questions), end = count < budget ? count : budget;
    const struct rue_prior *prior = duel->setup.known.prior;
    if (prior && prior->same_machine && end > RUE_PROBES_LOAD_MIN) end = RUE_PROBES_LOAD_MIN;
    if (duel->surveys && end < models) end = models;
    for (size_t i = 0; i < end; i++) {
        struct rue_question question = questions[budget ? i % count : count > 1];
        if (duel->surveys) question.measure = RUE_JOINT;
        if (duel->surveys) question.scenario = i % models;
        rue_duel_push(duel, &question);
    }
}

/* Model by model; if the budget does not suffice for all, first one probe of each model. */
void rue_duel_push_compute_probes(struct rue_duel *duel)
{
    size_t sizes[RUE_PROBES_SIZES_MAX], count = rue_probes_compute_sizes(&duel->setup, sizes);
    size_t models = duel->setup.grid.scenario_count, total = models * count,
           budget = rue_probes_budget(&duel->setup).compute;
    const struct rue_prior *prior = duel->setup.known.prior;
    if (!duel->setup.runner.measures[RUE_COMPUTE]) return;
    duel->blocks += models; /* so that a node changes its model less often */
    for (size_t i = 0; i < total && i < budget; i++) {
        size_t model = budget < total ? i % models : i / count,
               size = budget < total ? i / models : i % count;
        size_t consumer = rue_consumer_index(model, &duel->setup.grid.configs[sizes[size]]);
        /* An earlier study knows the ratio of the other sizes to this one. */
        if (size > 0 && prior && prior->same_machine && prior->knowledge->consumers[consumer].curve.count > 1)
            continue;
        rue_duel_push(duel, &(struct rue_question){.measure = RUE_COMPUTE,
                                                   .scenario = model,
                                                   .block = model + 1,
                                                   .config = sizes[size],
                                                   .batches = RUE_PROBES_COMPUTE_BATCHES});
    }
}
