#include "runner_farm.h"

#include <poll.h>
#include <stdlib.h>

#include "interrupt.h"
#include "runner_members.h"
#include "suspension.h"
#include "units.h"

static const uint64_t start_timeout_ns = 60 * RUE_NS_PER_S;

rue_status rue_runner_farm_begin(struct rue_runner_group *group, size_t lane,
                                 const struct rue_trial_request *request, const char *profile,
                                 uint64_t timeout_ns, rue_error *error)
{
    struct rue_member *member = &group->members[lane];
    rue_error why = {0};
    member->request = *request;
    rue_status status = rue_connection_begin(member->connection, &member->request, profile, timeout_ns, &why);
    member->started = status == RUE_OK;
    member->deadline_ns = rue_suspension_awake_ns() + timeout_ns;
    return status == RUE_OK ? RUE_OK : rue_member_fail(group, member, status, &why, error);
}

rue_status rue_runner_farm_wait(struct rue_runner_group *group, size_t *lane, rue_error *error)
{
    rue_status status;
    struct pollfd *wait = calloc(group->count + 1, sizeof *wait);
    if (!wait) return rue_fail_memory(error, "lanes", group->count * sizeof *wait);
    wait[group->count] = (struct pollfd){rue_interrupt_fd(), POLLIN, 0};
    for (size_t i = 0; i < group->count; i++)
        wait[i] = (struct pollfd){group->members[i].started ? rue_launch_socket(group->launch, i) : -1,
                                  POLLIN | POLLRDHUP, 0};
    for (*lane = SIZE_MAX; (status = rue_interrupt_status()) == RUE_OK && *lane == SIZE_MAX;) {
        poll(wait, group->count + 1, 100);
        uint64_t now = rue_suspension_awake_ns();
        for (size_t i = group->count; i-- > 0;)
            if (group->members[i].started && (wait[i].revents || now >= group->members[i].deadline_ns))
                *lane = i;
    }
    free(wait);
    return status == RUE_OK ? RUE_OK : rue_fail(error, status, "interrupted");
}

rue_status rue_runner_farm_finish(struct rue_runner_group *group, size_t lane,
                                  struct rue_trial_result *result, rue_error *error)
{
    struct rue_member *member = &group->members[lane];
    rue_error why = {0};
    member->started = false;
    rue_status status = rue_connection_finish(member->connection, result, &why);
    if (status != RUE_OK) return rue_member_fail(group, member, status, &why, error);
    member->result = *result; /* its outcome is described; the lists are the caller's */
    result->ranks = rue_members_describe(group, lane, lane + 1);
    return RUE_OK;
}

bool rue_runner_farm_restart(struct rue_runner_group *group, size_t lane)
{
    struct rue_member *member = &group->members[lane];
    bool ended = !rue_connection_reply(member->connection) || member->result.spent;
    if (!ended || rue_connection_is_lost(member->connection)) return false;
    rue_connection_wake(member->connection);
    member->started = true;
    member->deadline_ns = rue_suspension_awake_ns() + start_timeout_ns;
    return true;
}

void rue_runner_farm_end_restart(struct rue_runner_group *group, size_t lane)
{
    group->members[lane].started = false;
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
