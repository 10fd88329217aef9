#include "runner_farm.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "interrupt.h"
#include "runner_members.h"

/* A runner may be slow to read, to answer or to end at any point. So each lane has a thread while it works,
 * which owns the connection until it is joined. */
static void *lane_main(void *context)
{
    struct rue_member *member = context;
    struct rue_lane_work *work = member->work;
    work->status = work->restarts ? rue_connection_prepare(member->connection, &work->why)
                                  : rue_connection_begin(member->connection, &member->request, work->profile,
                                                         work->timeout_ns, &work->why);
    if (work->status == RUE_OK && !work->restarts)
        work->status = rue_connection_finish(member->connection, &member->result, &work->why);
    eventfd_write(work->ended_fd, 1);
    return NULL;
}

/* The thread blocks all signals: other threads handle them. */
static int start_thread(struct rue_member *member)
{
    sigset_t all, mask;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    int failed = pthread_create(&member->work->thread, NULL, lane_main, member);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return failed;
}

static void free_work(struct rue_member *member)
{
    if (member->work->ended_fd >= 0) close(member->work->ended_fd);
    free(member->work);
    member->work = NULL;
}

static rue_status begin_work(struct rue_member *member, struct rue_lane_work work, rue_error *error)
{
    member->work = malloc(sizeof *member->work);
    if (!member->work) return rue_fail_memory(error, "a lane", sizeof *member->work);
    *member->work = work;
    member->work->ended_fd = eventfd(0, EFD_CLOEXEC);
    int failed = member->work->ended_fd < 0 ? errno : start_thread(member);
    if (!failed) return RUE_OK;
    free_work(member);
    return rue_fail(error, RUE_INTERNAL, "cannot start the thread of a lane: %s", strerror(failed));
}

/* Waits for the end of the work. */
static rue_status join_work(struct rue_member *member, rue_error *why)
{
    pthread_join(member->work->thread, NULL);
    rue_status status = member->work->status;
    *why = member->work->why;
    free_work(member);
    return status;
}

rue_status rue_runner_farm_begin(struct rue_runner_group *group, size_t lane,
                                 const struct rue_trial_request *request, const char *profile,
                                 uint64_t timeout_ns, rue_error *error)
{
    struct rue_member *member = &group->members[lane];
    member->request = *request;
    member->result = rue_trial_result_empty();
    return begin_work(member, (struct rue_lane_work){.profile = profile, .timeout_ns = timeout_ns}, error);
}

/* The first lane whose work has ended; SIZE_MAX: none. */
static size_t find_ended(const struct rue_runner_group *group, struct pollfd *wait, int timeout_ms)
{
    for (size_t i = 0; i < group->count; i++)
        wait[i] = (struct pollfd){group->members[i].work ? group->members[i].work->ended_fd : -1, POLLIN, 0};
    wait[group->count] = (struct pollfd){rue_interrupt_fd(), POLLIN, 0};
    if (poll(wait, group->count + 1, timeout_ms) <= 0) return SIZE_MAX;
    for (size_t i = 0; i < group->count; i++)
        if (wait[i].revents) return i;
    return SIZE_MAX;
}

rue_status rue_runner_farm_wait(struct rue_runner_group *group, int timeout_ms, size_t *lane,
                                rue_error *error)
{
    rue_status status;
    struct pollfd *wait = calloc(group->count + 1, sizeof *wait);
    if (!wait) return rue_fail_memory(error, "lanes", group->count * sizeof *wait);
    *lane = find_ended(group, wait, timeout_ms);
    status = rue_interrupt_status();
    free(wait);
    return status == RUE_OK ? RUE_OK : rue_fail(error, status, "interrupted");
}

bool rue_runner_farm_has_ended(const struct rue_runner_group *group, size_t lane, int timeout_ms)
{
    struct pollfd wait[2] = {{group->members[lane].work->ended_fd, POLLIN, 0},
                             {rue_interrupt_fd(), POLLIN, 0}};
    return poll(wait, 2, timeout_ms) > 0 && wait[0].revents;
}

rue_status rue_runner_farm_finish(struct rue_runner_group *group, size_t lane,
                                  struct rue_trial_result *result, rue_error *error)
{
    struct rue_member *member = &group->members[lane];
    rue_error why = {0};
    rue_status status = join_work(member, &why);
    char *ranks = status == RUE_OK ? rue_members_describe(group, lane, lane + 1) : NULL;
    *result = member->result; /* its lists are the caller's now */
    result->ranks = ranks;
    member->result = rue_trial_result_empty();
    member->result.spent = result->spent;
    return status == RUE_OK ? RUE_OK : rue_member_fail(group, member, status, &why, error);
}

rue_status rue_runner_farm_restart(struct rue_runner_group *group, size_t lane, bool *begun, rue_error *error)
{
    struct rue_member *member = &group->members[lane];
    bool ended = !rue_connection_reply(member->connection) || member->result.spent;
    *begun = ended && !rue_connection_is_lost(member->connection);
    return *begun ? begin_work(member, (struct rue_lane_work){.restarts = true}, error) : RUE_OK;
}

rue_status rue_runner_farm_end_restart(struct rue_runner_group *group, size_t lane, rue_error *error)
{
    struct rue_member *member = &group->members[lane];
    rue_error why = {0};
    rue_status status = join_work(member, &why);
    return status == RUE_OK ? RUE_OK : rue_member_fail(group, member, status, &why, error);
}

/* The end of its connection ends the work. */
void rue_runner_farm_close(struct rue_runner_group *group)
{
    rue_error why = {0};
    for (size_t i = 0; i < group->total; i++)
        if (group->members[i].work) shutdown(rue_launch_socket(group->launch, i), SHUT_RDWR);
    for (size_t i = 0; i < group->total; i++) {
        if (!group->members[i].work) continue;
        (void)!join_work(&group->members[i], &why);
        rue_trial_result_close(&group->members[i].result);
    }
}

bool rue_runner_farm_was_suspended(const struct rue_runner_group *group, size_t lane)
{
    return rue_connection_was_suspended(group->members[lane].connection);
}

bool rue_runner_farm_is_lost(const struct rue_runner_group *group, size_t lane)
{
    return rue_connection_is_lost(group->members[lane].connection);
}

const struct rue_rank *rue_runner_farm_rank(const struct rue_runner_group *group, size_t lane)
{
    return rue_launch_rank(group->launch, lane);
}
