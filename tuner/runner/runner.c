#include "runner.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "interrupt.h"

struct rue_runner_work {
    struct rue_runner *runner;
    bool restarts;
    struct rue_trial_request request; /* of a trial */
    const char *profile;
    uint64_t timeout_ns;
    pthread_t thread;
    int ended_fd; /* an eventfd, readable once it has ended; -1: no thread, the work is done when finished */
    struct rue_trial_result result;
    rue_status status;
    rue_error why;
};

rue_status rue_runner_trial(struct rue_runner *runner, struct rue_trial_request *request, const char *profile,
                            uint64_t timeout_ns, struct rue_trial_result *result, rue_error *error)
{
    *result = rue_trial_result_empty();
    result->config = request->config;
    if (rue_interrupt_status() != RUE_OK) return rue_fail(error, rue_interrupt_status(), "interrupted");
    return runner->ops->trial(runner->state, request, profile, timeout_ns, result, error);
}

static void do_work(struct rue_runner_work *work)
{
    struct rue_runner *runner = work->runner;
    if (work->restarts)
        work->status = runner->ops->restart(runner->state, &work->why);
    else
        work->status = rue_runner_trial(runner, &work->request, work->profile, work->timeout_ns,
                                        &work->result, &work->why);
}

static void *thread_main(void *context)
{
    struct rue_runner_work *work = context;
    do_work(work);
    eventfd_write(work->ended_fd, 1);
    return NULL;
}

static int start_thread(struct rue_runner_work *work)
{
    work->ended_fd = eventfd(0, EFD_CLOEXEC);
    if (work->ended_fd < 0) return errno;
    int failed = rue_interrupt_start_thread(&work->thread, thread_main, work);
    if (failed) close(work->ended_fd);
    return failed;
}

/* A runner may be slow to read, to answer or to end at any point. So one of several has a thread while it
 * works, which owns the runner until it is joined. */
static rue_status begin_work(struct rue_runner *runner, const struct rue_runner_work *work, rue_error *error)
{
    runner->work = malloc(sizeof *runner->work);
    if (!runner->work) return rue_fail_memory(error, "a trial", sizeof *runner->work);
    *runner->work = *work;
    runner->work->runner = runner;
    runner->work->result = rue_trial_result_empty();
    runner->work->ended_fd = -1;
    int failed = runner->concurrent ? start_thread(runner->work) : 0;
    if (!failed) return RUE_OK;
    free(runner->work);
    runner->work = NULL;
    return rue_fail(error, RUE_INTERNAL, "cannot start the thread of a runner: %s", strerror(failed));
}

rue_status rue_runner_begin(struct rue_runner *runner, const struct rue_trial_request *request,
                            const char *profile, uint64_t timeout_ns, rue_error *error)
{
    struct rue_runner_work work = {.request = *request, .profile = profile, .timeout_ns = timeout_ns};
    return begin_work(runner, &work, error);
}

rue_status rue_runner_begin_restart(struct rue_runner *runner, bool *begun, rue_error *error)
{
    struct rue_runner_work work = {.restarts = true};
    *begun = runner->ops->has_ended && runner->ops->has_ended(runner->state) && !rue_runner_is_lost(runner);
    return *begun ? begin_work(runner, &work, error) : RUE_OK;
}

rue_status rue_runner_finish(struct rue_runner *runner, struct rue_trial_result *result, rue_error *error)
{
    struct rue_runner_work *work = runner->work;
    if (work->ended_fd >= 0) {
        pthread_join(work->thread, NULL);
        close(work->ended_fd);
    } else {
        do_work(work);
    }
    rue_status status = work->status;
    if (status != RUE_OK) rue_fail(error, status, "%s", work->why.message);
    if (result)
        *result = work->result; /* its lists are the caller's now */
    else
        rue_trial_result_close(&work->result);
    free(work);
    runner->work = NULL;
    return status;
}

static int ended_fd(const struct rue_runner *runner)
{
    return runner->work ? runner->work->ended_fd : -1;
}

/* The first runner whose work has ended; SIZE_MAX: none. */
static size_t find_ended(const struct rue_runner *runners, size_t count, struct pollfd *wait, int timeout_ms)
{
    for (size_t i = 0; i < count; i++) {
        if (runners[i].work && !runners[i].concurrent) return i;
        wait[i] = (struct pollfd){ended_fd(&runners[i]), POLLIN, 0};
    }
    wait[count] = (struct pollfd){rue_interrupt_fd(), POLLIN, 0};
    if (poll(wait, count + 1, timeout_ms) <= 0) return SIZE_MAX;
    for (size_t i = 0; i < count; i++)
        if (wait[i].revents) return i;
    return SIZE_MAX;
}

rue_status rue_runner_wait(const struct rue_runner *runners, size_t count, int timeout_ms, size_t *index,
                           rue_error *error)
{
    struct pollfd *wait = calloc(count + 1, sizeof *wait);
    if (!wait) return rue_fail_memory(error, "runners", count * sizeof *wait);
    *index = find_ended(runners, count, wait, timeout_ms);
    free(wait);
    rue_status status = rue_interrupt_status();
    return status == RUE_OK ? RUE_OK : rue_fail(error, status, "interrupted");
}

void rue_runner_close(struct rue_runner *runner)
{
    struct rue_trial_result result;
    if (runner->work && !runner->concurrent) {
        free(runner->work);
        runner->work = NULL;
    } else if (runner->work) {
        if (runner->ops->interrupt) runner->ops->interrupt(runner->state);
        (void)!rue_runner_finish(runner, &result, NULL);
        rue_trial_result_close(&result);
    }
    if (runner->ops->close) runner->ops->close(runner->state);
}

bool rue_runner_was_suspended(const struct rue_runner *runner)
{
    return runner->ops->was_suspended && runner->ops->was_suspended(runner->state);
}

bool rue_runner_is_lost(const struct rue_runner *runner)
{
    return runner->ops->is_lost && runner->ops->is_lost(runner->state);
}
