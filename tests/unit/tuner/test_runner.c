#include <criterion/criterion.h>

#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"
#include "runners.h"
#include "units.h"

/* A runner whose trials wait until they are let go. */
struct gate {
    int fd; /* an eventfd: one trial or start for each count */
    bool ended, lost, suspended, interrupted, closed;
    size_t trials, starts;
    rue_status status;
};

static rue_status pass_gate(struct gate *gate)
{
    uint64_t count;
    if (read(gate->fd, &count, sizeof count) != (ssize_t)sizeof count) abort();
    return gate->status;
}

static rue_status gate_trial(void *state, struct rue_trial_request *request, const char *profile,
                             uint64_t timeout_ns, struct rue_trial_result *result, rue_error *error)
{
    struct gate *gate = state;
    (void)profile;
    rue_status status = pass_gate(gate);
    gate->trials++;
    result->images = (int64_t)request->images;
    result->end_to_end_ns = (int64_t)timeout_ns;
    return status == RUE_OK ? RUE_OK : rue_fail(error, status, "the gate is closed");
}

static bool gate_has_ended(const void *state)
{
    return ((const struct gate *)state)->ended;
}

static rue_status gate_restart(void *state, rue_error *error)
{
    struct gate *gate = state;
    rue_status status = pass_gate(gate);
    gate->starts++;
    return status == RUE_OK ? RUE_OK : rue_fail(error, status, "the gate is closed");
}

static bool gate_is_lost(const void *state)
{
    return ((const struct gate *)state)->lost;
}

static void gate_interrupt(void *state)
{
    struct gate *gate = state;
    gate->interrupted = true;
    gate->status = RUE_RUNNER;
    eventfd_write(gate->fd, 1);
}

static void gate_close(void *state)
{
    ((struct gate *)state)->closed = true;
}

static const struct rue_runner_ops gate_ops = {.trial = gate_trial,
                                               .has_ended = gate_has_ended,
                                               .restart = gate_restart,
                                               .is_lost = gate_is_lost,
                                               .interrupt = gate_interrupt,
                                               .close = gate_close};

enum { COUNT = 3 };
static struct gate gates[COUNT];
static struct rue_runner runners[COUNT];
static struct rue_trial_request request = {.images = 7};

static void begin(void)
{
    for (size_t i = 0; i < COUNT; i++) {
        gates[i] = (struct gate){.fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE)};
        runners[i] = (struct rue_runner){.ops = &gate_ops, .state = &gates[i], .concurrent = true};
    }
}

static void end(void)
{
    for (size_t i = 0; i < COUNT; i++) {
        rue_runner_close(&runners[i]);
        close(gates[i].fd);
    }
}

TestSuite(runner, .init = begin, .fini = end, .timeout = 60);

static void let_go(size_t index)
{
    cr_assert_eq(eventfd_write(gates[index].fd, 1), 0);
}

static size_t wait_for_one(int timeout_ms)
{
    size_t index;
    cr_assert_eq(rue_runner_wait(runners, COUNT, timeout_ms, &index, NULL), RUE_OK);
    return index;
}

static void begin_trial(size_t index)
{
    cr_assert_eq(rue_runner_begin(&runners[index], &request, NULL, 5, NULL), RUE_OK);
}

Test(runner, the_first_that_ends_is_found)
{
    for (size_t i = 0; i < COUNT; i++) begin_trial(i);
    cr_assert_eq(wait_for_one(0), SIZE_MAX);
    let_go(1);
    cr_assert_eq(wait_for_one(30000), 1);
    struct rue_trial_result result;
    cr_assert_eq(rue_runner_finish(&runners[1], &result, NULL), RUE_OK);
    cr_assert(result.images == 7 && result.end_to_end_ns == 5);
    cr_assert_eq(wait_for_one(0), SIZE_MAX, "it is not found again");
    let_go(0);
    let_go(2);
}

Test(runner, a_failure_has_its_reason)
{
    rue_error error = {0};
    struct rue_trial_result result;
    gates[0].status = RUE_DATA;
    begin_trial(0);
    let_go(0);
    cr_assert_eq(rue_runner_finish(&runners[0], &result, &error), RUE_DATA);
    cr_assert_str_eq(error.message, "the gate is closed");
}

Test(runner, one_whose_process_ended_starts_again_beside_the_others)
{
    bool begun;
    cr_assert_eq(rue_runner_begin_restart(&runners[0], &begun, NULL), RUE_OK);
    cr_assert_not(begun, "it still runs");
    gates[0].ended = true;
    cr_assert_eq(rue_runner_begin_restart(&runners[0], &begun, NULL), RUE_OK);
    cr_assert(begun);
    begin_trial(1);
    let_go(1);
    cr_assert_eq(wait_for_one(30000), 1);
    struct rue_trial_result result;
    cr_assert_eq(rue_runner_finish(&runners[1], &result, NULL), RUE_OK);
    let_go(0);
    cr_assert_eq(wait_for_one(30000), 0);
    cr_assert_eq(rue_runner_finish(&runners[0], NULL, NULL), RUE_OK);
    cr_assert(gates[0].starts == 1 && gates[0].trials == 0);
}

Test(runner, one_that_is_lost_does_not_start_again)
{
    bool begun;
    gates[0].ended = gates[0].lost = true;
    cr_assert_eq(rue_runner_begin_restart(&runners[0], &begun, NULL), RUE_OK);
    cr_assert_not(begun);
}

Test(runner, closing_ends_what_it_does)
{
    begin_trial(2);
    rue_runner_close(&runners[2]);
    cr_assert(gates[2].interrupted && gates[2].closed && gates[2].trials == 1);
}

Test(runner, one_alone_works_when_it_is_finished)
{
    struct rue_trial_result result;
    runners[0].concurrent = false;
    begin_trial(0);
    cr_assert_eq(wait_for_one(0), 0, "there is nothing to wait for");
    cr_assert_eq(gates[0].trials, 0);
    let_go(0);
    cr_assert_eq(rue_runner_finish(&runners[0], &result, NULL), RUE_OK);
    cr_assert_eq(gates[0].trials, 1);
    begin_trial(0); /* and may be closed before */
}
