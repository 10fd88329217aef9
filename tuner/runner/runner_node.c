#include "runner_node.h"

#include <sys/socket.h>

#include "runner_members.h"

static const struct rue_hello *node_hello(const void *state)
{
    const struct rue_member *member = state;
    return &member->all->hello;
}

static rue_status node_begin_open(void *state, const struct rue_variant *variant,
                                  const struct rue_workload *workload, uint64_t images, rue_error *error)
{
    struct rue_member *member = state;
    rue_error why = {0};
    rue_status status = rue_connection_begin_open(member->connection, variant, workload, images, &why);
    return status == RUE_OK ? RUE_OK : rue_member_fail(member, status, &why, error);
}

static rue_status node_finish_open(void *state, const struct rue_variant *variant,
                                   const struct rue_workload *workload, struct rue_opened *out,
                                   rue_error *error)
{
    struct rue_member *member = state;
    rue_error why = {0};
    rue_status status = rue_connection_finish_open(member->connection, variant, workload, out, &why);
    return status == RUE_OK ? RUE_OK : rue_member_fail(member, status, &why, error);
}

static rue_status node_trial(void *state, struct rue_trial_request *request, const char *profile,
                             uint64_t timeout_ns, struct rue_trial_result *result, rue_error *error)
{
    struct rue_member *member = state;
    rue_error why = {0};
    rue_status status = rue_connection_begin(member->connection, request, profile, timeout_ns, &why);
    if (status == RUE_OK) status = rue_connection_finish(member->connection, result, &why);
    if (status != RUE_OK) return rue_member_fail(member, status, &why, error);
    member->result = (struct rue_trial_result){.outcome = result->outcome, .spent = result->spent};
    result->ranks = rue_members_describe(member, 1);
    return RUE_OK;
}

static bool node_has_ended(const void *state)
{
    const struct rue_member *member = state;
    return !rue_connection_reply(member->connection) || member->result.spent;
}

static rue_status node_restart(void *state, rue_error *error)
{
    struct rue_member *member = state;
    rue_error why = {0};
    rue_status status = rue_connection_prepare(member->connection, &why);
    return status == RUE_OK ? RUE_OK : rue_member_fail(member, status, &why, error);
}

static bool node_is_lost(const void *state)
{
    return rue_connection_is_lost(((const struct rue_member *)state)->connection);
}

static bool node_was_suspended(const void *state)
{
    return rue_connection_was_suspended(((const struct rue_member *)state)->connection);
}

/* The end of its connection ends its thread's work. */
static void node_interrupt(void *state)
{
    shutdown(rue_member_socket(state), SHUT_RDWR);
}

const struct rue_runner_ops rue_runner_node = {
    .hello = node_hello,
    .begin_open = node_begin_open,
    .finish_open = node_finish_open,
    .trial = node_trial,
    .has_ended = node_has_ended,
    .restart = node_restart,
    .is_lost = node_is_lost,
    .was_suspended = node_was_suspended,
    .interrupt = node_interrupt,
};
