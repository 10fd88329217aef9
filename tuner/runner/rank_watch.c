#include "rank_watch.h"

#include <sys/epoll.h>
#include <unistd.h>

#include "interrupt.h"
#include "protocol.h"
#include "suspension.h"

enum { EVENTS_MAX = 64 };

static const uint64_t has_line = 1ULL << 32;

/* The ranks that are watched. */
struct watch {
    struct rue_process *const *ranks;
    int set;     /* of epoll */
    size_t left; /* ranks without a line */
    int first;   /* rank that ended; -1: none */
};

/* Each event is reported once, so that a later one takes its place behind those of other ranks. */
static bool set_events(const struct watch *watch, int operation, int fd, uint32_t events, uint64_t data)
{
    struct epoll_event event = {.events = events | EPOLLONESHOT, .data.u64 = data};
    return epoll_ctl(watch->set, operation, fd, &event) == 0;
}

/* A rank that has sent its line may still end. */
static void handle_event(struct watch *watch, const struct epoll_event *event)
{
    size_t index = event->data.u64 & ~has_line;
    struct rue_process *rank = watch->ranks[index];
    bool ended = event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR), waits = !(event->data.u64 & has_line);
    if (ended && watch->first < 0) watch->first = (int)index;
    if (waits && rue_process_collect(rank, RUE_PROTOCOL_LINE_MAX)) {
        watch->left--;
        waits = false;
    }
    if (waits)
        set_events(watch, EPOLL_CTL_MOD, rue_process_output(rank), EPOLLIN | EPOLLRDHUP, index);
    else if (!ended)
        set_events(watch, EPOLL_CTL_MOD, rue_process_output(rank), EPOLLRDHUP, index | has_line);
}

/* epoll(7) reports sockets in the order in which something happened, however late it is asked; poll(2) does
 * not. */
int rue_rank_watch(struct rue_process *const *ranks, size_t count, uint64_t deadline_ns)
{
    struct watch watch = {.ranks = ranks, .set = epoll_create1(EPOLL_CLOEXEC), .first = -1};
    if (watch.set < 0) return -1;
    for (size_t i = 0; i < count; i++)
        watch.left += ranks[i] && set_events(&watch, EPOLL_CTL_ADD, rue_process_output(ranks[i]),
                                             EPOLLIN | EPOLLRDHUP, i);
    set_events(&watch, EPOLL_CTL_ADD, rue_interrupt_fd(), EPOLLIN, count);
    while (watch.left && rue_suspension_awake_ns() < deadline_ns && rue_interrupt_status() == RUE_OK) {
        struct epoll_event events[EVENTS_MAX];
        int found = epoll_wait(watch.set, events, EVENTS_MAX, 100);
        for (int i = 0; i < found; i++)
            if (events[i].data.u64 != count) handle_event(&watch, &events[i]);
    }
    close(watch.set);
    return watch.first;
}
