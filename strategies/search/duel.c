#include "duel.h"

#include <math.h>
#include <stdlib.h>

#include "array.h"
#include "probes.h"
#include "random.h"

static rue_status ask_queue_push(struct rue_question_queue *queue, const struct rue_question *question,
                                 rue_error *error)
{
    if (queue->next == queue->count) queue->next = queue->count = 0;
    rue_status status =
        rue_array_grow(&queue->at, &queue->capacity, queue->count + 1, sizeof *queue->at, "questions", error);
    if (status != RUE_OK) return status;
    queue->at[queue->count++] = *question;
    return RUE_OK;
}

bool rue_question_queue_is_empty(const struct rue_question_queue *queue)
{
    return queue->next == queue->count;
}

bool rue_question_queue_pop(struct rue_question_queue *queue, size_t node, struct rue_question *out)
{
    size_t at = queue->next;
    while (at < queue->count &&
           ((queue->at[at].node && queue->at[at].node != node) || (node && queue->at[at].avoided == node)))
        at++;
    if (at == queue->count) return false;
    *out = queue->at[at];
    out->node = node;
    for (; at > queue->next; at--) queue->at[at] = queue->at[at - 1];
    queue->next++;
    for (at = queue->next; out->block && at < queue->count; at++)
        if (queue->at[at].block == out->block) queue->at[at].node = node;
    return true;
}

int rue_question_queue_count_same(const struct rue_question_queue *queue, const struct rue_question *question)
{
    int count = 0;
    for (size_t i = 0; i < queue->count; i++) {
        const struct rue_question *other = &queue->at[i];
        count += other->scenario == question->scenario && other->config == question->config &&
                 other->images >= question->images;
    }
    return count;
}

static bool changes_model(const struct rue_node_costs *node, size_t model)
{
    return !node->any_model || model != node->model;
}

static void add_trial_cost(struct rue_trial_cost *cost, double seconds)
{
    cost->mean_s += (fmax(0, seconds) - cost->mean_s) / ++cost->count;
}

void rue_trial_costs_add(struct rue_trial_costs *costs, const struct rue_question *question,
                         const struct rue_trial_result *result)
{
    struct rue_node_costs *node = &costs->nodes[question->node];
    costs->new_trials += !question->stored;
    if (result->cost_ns <= 0) return; /* free or unknown */
    bool computes = question->measure == RUE_COMPUTE;
    int64_t reported_ns = computes ? result->compute_ns : result->end_to_end_ns;
    double trial_s = (double)result->cost_ns / 1e9;
    *(question->stored ? &costs->stored_s : &costs->spent_s) += trial_s;
    if (!question->stored) node->spent_s += trial_s;
    if (result->outcome != RUE_TRIAL_OK || reported_ns == RUE_ABSENT) return;
    if (computes && result->batches > 0) reported_ns += reported_ns / result->batches; /* for the warm-up */
    double overhead_s = trial_s - (double)reported_ns / 1e9;
    if (question->measure != RUE_LOAD && changes_model(node, question->scenario))
        add_trial_cost(&costs->change, overhead_s - costs->overhead.mean_s);
    else
        add_trial_cost(&costs->overhead, overhead_s);
    if (question->measure == RUE_LOAD) return;
    node->any_model = true;
    node->model = question->scenario;
}

double rue_trial_costs_overhead_s(const struct rue_trial_costs *costs, size_t node, size_t model)
{
    return costs->overhead.mean_s + (changes_model(&costs->nodes[node], model) ? costs->change.mean_s : 0);
}

rue_status rue_duel_open(struct rue_duel *duel, const struct rue_strategy_setup *setup, rue_error *error)
{
    if (setup->grid.scenario_count == 0 || setup->grid.config_count == 0)
        return rue_fail(error, RUE_USAGE, "nothing to try: %zu scenarios, %zu configurations",
                        setup->grid.scenario_count, setup->grid.config_count);
    if (setup->runner.nodes > RUE_NODES_MAX)
        return rue_fail(error, RUE_USAGE, "%zu nodes; at most %d can make trials at the same time",
                        setup->runner.nodes, RUE_NODES_MAX);
    duel->setup = *setup;
    duel->seed = rue_mix64(setup->seed);
    duel->surveys = !setup->runner.measures[RUE_LOAD] || rue_probes_budget(setup).load == 0;
    return rue_forecast_open(&duel->setup, &duel->forecast, error);
}

void rue_duel_close(struct rue_duel *duel)
{
    rue_forecast_close(duel->forecast);
    free(duel->queue.at);
    free(duel->history.at);
}

rue_status rue_duel_status(const struct rue_duel *duel, rue_error *error)
{
    return duel->status == RUE_OK ? RUE_OK : rue_fail(error, duel->status, "%s", duel->error.message);
}

/* Asks another node. */
static void push_retry(struct rue_duel *duel, const struct rue_question *question)
{
    struct rue_question retry = *question;
    retry.retried = true;
    retry.avoided = rue_duel_node_count(duel) > 1 ? question->node : 0;
    retry.node = retry.block = 0;
    rue_duel_push(duel, &retry);
}

void rue_duel_observe(struct rue_duel *duel, const struct rue_question *question,
                      const struct rue_trial_result *result)
{
    bool joint = question->measure == RUE_JOINT, ok = result->outcome == RUE_TRIAL_OK;
    duel->nodes[question->node].busy = false;
    rue_trial_costs_add(&duel->costs, question, result);
    if (rue_question_is_repeated(question, result)) {
        push_retry(duel, question);
        return;
    }
    struct rue_question past = *question;
    past.failed = !ok;
    if (duel->status == RUE_OK && joint) duel->status = ask_queue_push(&duel->history, &past, &duel->error);
    if (joint && !ok) duel->forecast->excluded[question->config] = true;
    if (!ok || duel->status != RUE_OK) return;
    duel->joints += joint;
    duel->status =
        rue_forecast_add(duel->forecast, question, result,
                         duel->costs.nodes[question->node].spent_s + duel->costs.stored_s, &duel->error);
}

void rue_duel_update(struct rue_duel *duel)
{
    duel->status = rue_forecast_update(duel->forecast, &duel->error);
}

void rue_duel_push(struct rue_duel *duel, const struct rue_question *question)
{
    if (duel->status == RUE_OK) duel->status = ask_queue_push(&duel->queue, question, &duel->error);
}

void rue_duel_push_joint(struct rue_duel *duel, size_t model, size_t config, uint64_t images, size_t block)
{
    double expected_s = rue_forecast_trial_s(duel->forecast, model, config, images);
    rue_duel_push(duel, &(struct rue_question){.measure = RUE_JOINT,
                                               .scenario = model,
                                               .config = config,
                                               .images = images,
                                               .expected_s = expected_s,
                                               .block = block});
}

bool rue_duel_is_waiting(const struct rue_duel *duel)
{
    for (size_t n = 1; n <= duel->setup.runner.nodes; n++)
        if (duel->nodes[n].busy) return true;
    return false;
}

bool rue_duel_is_probing(const struct rue_duel *duel)
{
    for (size_t n = 1; n <= duel->setup.runner.nodes; n++)
        if (duel->nodes[n].busy && duel->nodes[n].question.measure != RUE_JOINT) return true;
    return false;
}

/* Load and compute trials are asked again, because all predictions need them. */
static bool repeat_forgotten(struct rue_duel *duel, size_t node, size_t since)
{
    bool any = false;
    for (int measure = 0; measure < RUE_MEASURE_COUNT; measure++) {
        const struct rue_trial_log *log = &duel->forecast->prediction->logs[measure];
        for (size_t i = 0; i < log->count; i++) {
            const struct rue_logged_trial *trial = &log->at[i];
            if (trial->node != node || trial->trial < since) continue;
            any = true;
            struct rue_question question = {
                .measure = (enum rue_measure)measure, .scenario = trial->model, .config = trial->config};
            if (measure == RUE_LOAD) question.images = trial->images;
            if (measure == RUE_COMPUTE) question.batches = trial->batches;
            if (measure == RUE_JOINT)
                duel->joints--;
            else
                rue_duel_push(duel, &question);
        }
    }
    return any;
}

/* All failures of the node are forgotten, and so the exclusions that rest on them: true if there are any. */
static bool prune_history(struct rue_duel *duel, size_t node, size_t since)
{
    struct rue_question_queue *history = &duel->history;
    bool *excluded = duel->forecast->excluded, any = false;
    size_t kept = 0;
    for (size_t i = 0; i < history->count; i++) {
        const struct rue_question *past = &history->at[i];
        bool forgets = past->node == node && (past->trial >= since || past->failed);
        if (forgets && past->failed) excluded[past->config] = false, any = true;
        if (!forgets) history->at[kept++] = *past;
    }
    history->count = kept;
    for (size_t i = 0; i < history->count; i++)
        if (history->at[i].failed) excluded[history->at[i].config] = true;
    return any;
}

bool rue_duel_drop(struct rue_duel *duel, size_t node, size_t since)
{
    struct rue_duel_node *dropped = &duel->nodes[node];
    if (dropped->busy) {
        dropped->question.node = dropped->question.block = 0;
        rue_duel_push(duel, &dropped->question);
    }
    for (size_t i = duel->queue.next; i < duel->queue.count; i++)
        if (duel->queue.at[i].node == node) duel->queue.at[i].node = 0;
    *dropped = (struct rue_duel_node){.dropped = true};
    for (size_t i = duel->queue.next; i < duel->queue.count; i++)
        if (rue_duel_node_count(duel) == 1) duel->queue.at[i].avoided = 0;
    bool forgets = repeat_forgotten(duel, node, since);
    forgets |= prune_history(duel, node, since);
    rue_forecast_forget(duel->forecast, node, since);
    return forgets;
}

size_t rue_duel_node_count(const struct rue_duel *duel)
{
    size_t count = !duel->setup.runner.nodes;
    for (size_t n = 1; n <= duel->setup.runner.nodes; n++) count += !duel->nodes[n].dropped;
    return count;
}

double rue_duel_budget_s(const struct rue_duel *duel)
{
    return duel->setup.budget.seconds * (double)rue_duel_node_count(duel);
}

double rue_duel_remaining_s(const struct rue_duel *duel)
{
    double sum = 0;
    if (!duel->setup.runner.nodes) return duel->setup.budget.seconds - duel->costs.spent_s;
    for (size_t n = 1; n <= duel->setup.runner.nodes; n++) {
        const struct rue_duel_node *node = &duel->nodes[n];
        if (!node->dropped) sum += fmax(0, duel->setup.budget.seconds - duel->costs.nodes[n].spent_s);
        if (node->busy) sum -= node->question.expected_s;
    }
    return sum;
}

double rue_duel_node_remaining_s(const struct rue_duel *duel)
{
    return duel->setup.budget.seconds - duel->costs.nodes[duel->node].spent_s;
}

bool rue_duel_lacks_trials(const struct rue_duel *duel, size_t requested)
{
    size_t budget = duel->setup.budget.trials;
    for (size_t n = 1; n <= duel->setup.runner.nodes; n++) requested += duel->nodes[n].busy;
    return budget > 0 && duel->costs.new_trials + duel->costs.node_trials + requested > budget;
}

double rue_duel_cost_s(const struct rue_duel *duel, size_t model, size_t config, uint64_t images)
{
    return rue_forecast_trial_s(duel->forecast, model, config, images) +
           rue_trial_costs_overhead_s(&duel->costs, duel->node, model);
}
