/* Runners that work in threads of their own, under ThreadSanitizer. */
#include <stdlib.h>
#include <time.h>

#include "race_fixture.h"
#include "runner.h"

enum { COUNT = 3, ROUNDS = 120 };

struct worker {
    size_t trials, starts;
    bool ended;
};

static void nap(size_t microseconds)
{
    nanosleep(&(struct timespec){0, (long)microseconds * 1000}, NULL);
}

static rue_status worker_trial(void *state, struct rue_trial_request *request, const char *profile,
                               uint64_t timeout_ns, struct rue_trial_result *result, rue_error *error)
{
    struct worker *worker = state;
    (void)profile, (void)timeout_ns, (void)error;
    nap(50 * (1 + request->images % 5));
    result->ranks = malloc(16);
    result->images = (int64_t)request->images;
    worker->ended = ++worker->trials % 7 == 0;
    return RUE_OK;
}

static bool worker_has_ended(const void *state)
{
    return ((const struct worker *)state)->ended;
}

static rue_status worker_restart(void *state, rue_error *error)
{
    struct worker *worker = state;
    (void)error;
    nap(100);
    worker->starts++;
    worker->ended = false;
    return RUE_OK;
}

static const struct rue_runner_ops worker_ops = {
    .trial = worker_trial, .has_ended = worker_has_ended, .restart = worker_restart};

/* What one runner has ended: a trial, or a start after every seventh. */
static const char *end_work(struct rue_runner *runner, bool *starts, uint64_t images)
{
    struct rue_trial_result result;
    if (*starts) {
        *starts = false;
        return rue_runner_finish(runner, NULL, NULL) == RUE_OK ? NULL : "it does not start";
    }
    if (rue_runner_finish(runner, &result, NULL) != RUE_OK) return "a trial failed";
    bool right = result.images == (int64_t)images;
    rue_trial_result_close(&result);
    if (!right) return "the result is that of another runner";
    return rue_runner_begin_restart(runner, starts, NULL) == RUE_OK ? NULL : "no thread";
}

static const char *run(struct rue_runner *runners)
{
    bool starts[COUNT] = {0};
    for (size_t done = 0; done < COUNT * ROUNDS; done++) {
        for (size_t i = 0; i < COUNT; i++) {
            struct rue_trial_request request = {.images = i};
            if (!runners[i].work && rue_runner_begin(&runners[i], &request, NULL, 1, NULL) != RUE_OK)
                return "no thread";
        }
        size_t ended = SIZE_MAX;
        while (ended == SIZE_MAX)
            if (rue_runner_wait(runners, COUNT, 1000, &ended, NULL) != RUE_OK) return "the wait failed";
        const char *fault = end_work(&runners[ended], &starts[ended], ended);
        if (fault) return fault;
    }
    return NULL;
}

int main(void)
{
    struct worker workers[COUNT] = {0};
    struct rue_runner runners[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        runners[i] = (struct rue_runner){.ops = &worker_ops, .state = &workers[i], .concurrent = true};
    const char *fault = run(runners);
    size_t trials = 0, starts = 0;
    for (size_t i = 0; i < COUNT; i++) {
        rue_runner_close(&runners[i]); /* waits for what it does */
        trials += workers[i].trials;
        starts += workers[i].starts;
    }
    if (!fault && (trials < COUNT * ROUNDS / 2 || starts < 10)) fault = "too few trials or starts";
    race_case(fault, "runners work in threads, and start again");
    return race_end();
}
