#include "rank_watch.h"

#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "interrupt.h"
#include "process.h"
#include "suspension.h"

enum { EVENTS_MAX = 64 };

/* Each event is reported once, so that a later one takes its place behind those of other ranks. */
static void set_events(const struct rue_members *group, int operation, size_t index, uint32_t events)
{
    struct epoll_event event = {.events = events | EPOLLRDHUP | EPOLLONESHOT, .data.u64 = index};
    struct rue_process *process = rue_connection_process(group->members[index].connection);
    if (process) epoll_ctl(group->watch, operation, rue_process_output(process), &event);
}

void rue_rank_watch_open(struct rue_members *group)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = group->total};
    group->watch = rue_members_are_ranks(group) && group->total > 1 ? epoll_create1(EPOLL_CLOEXEC) : -1;
    group->events = 0;
    for (size_t i = 0; i < group->total; i++) {
        group->members[i].answered_at = group->members[i].ended_at = 0;
        if (group->watch >= 0) set_events(group, EPOLL_CTL_ADD, i, 0);
    }
    if (group->watch >= 0) epoll_ctl(group->watch, EPOLL_CTL_ADD, rue_interrupt_fd(), &event);
}

/* A rank that has sent its line may still end: then that comes behind what has happened since. */
static void handle_event(struct rue_members *group, const struct epoll_event *event)
{
    size_t index = event->data.u64;
    struct rue_member *member = &group->members[index];
    bool reads = member->waits;
    struct rue_process *process = rue_connection_process(member->connection);
    if (reads && rue_process_collect(process, RUE_PROTOCOL_LINE_MAX)) {
        size_t bytes;
        const char *line = rue_process_peek_line(process, &bytes);
        if (line && rue_protocol_is_interrupt(line, bytes) && rue_interrupt_status() == RUE_OK)
            raise(SIGINT); /* the others may wait for it */
        member->waits = false;
        member->answered_at = ++group->events;
    } else if (!reads) {
        member->ended_at = ++group->events;
        return;
    }
    set_events(group, EPOLL_CTL_MOD, index, member->waits ? EPOLLIN : 0);
}

static size_t count_waiting(const struct rue_members *group)
{
    size_t count = 0;
    for (size_t i = 0; i < group->count; i++) count += group->members[i].waits;
    return count;
}

/* epoll(7) reports sockets in the order in which something happened, however late it is asked; poll(2) does
 * not. */
void rue_rank_watch_wait(struct rue_members *group, uint64_t deadline_ns)
{
    struct epoll_event events[EVENTS_MAX];
    if (group->watch < 0) return;
    for (size_t i = 0; i < group->count; i++) {
        if (!group->members[i].waits) continue;
        group->members[i].answered_at = 0;
        set_events(group, EPOLL_CTL_MOD, i, EPOLLIN);
    }
    for (int found = 0; found > 0 || count_waiting(group);) {
        bool waits = count_waiting(group), late = rue_suspension_awake_ns() >= deadline_ns;
        if ((waits && late) || rue_interrupt_status() != RUE_OK) return;
        found = epoll_wait(group->watch, events, EVENTS_MAX, waits ? 100 : 0);
        for (int i = 0; i < found; i++)
            if (events[i].data.u64 < group->total) handle_event(group, &events[i]);
    }
}

void rue_rank_watch_close(struct rue_members *group)
{
    if (group->watch >= 0) close(group->watch);
    group->watch = -1;
}
