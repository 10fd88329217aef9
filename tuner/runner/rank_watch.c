#include "rank_watch.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "interrupt.h"
#include "suspension.h"

enum { EVENTS_MAX = 64 };

static bool watch(int set, int fd, uint64_t index)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.u64 = index};
    return fd >= 0 && epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool has_ended(int fd)
{
    char byte;
    ssize_t got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

/* epoll(7) reports sockets in the order in which something happened, however late it is asked; poll(2) does
 * not. */
int rue_rank_watch(const int *sockets, size_t count, uint64_t deadline_ns)
{
    int first = -1, set = epoll_create1(EPOLL_CLOEXEC);
    size_t left = 0;
    if (set < 0) return -1;
    for (size_t i = 0; i < count; i++) left += watch(set, sockets[i], i);
    watch(set, rue_interrupt_fd(), count);
    while (left && rue_suspension_awake_ns() < deadline_ns && rue_interrupt_status() == RUE_OK) {
        struct epoll_event events[EVENTS_MAX];
        int found = epoll_wait(set, events, EVENTS_MAX, 100);
        for (int i = 0; i < found; i++) {
            size_t at = events[i].data.u64;
            if (at == count) continue;
            if (first < 0 && has_ended(sockets[at])) first = (int)at;
            epoll_ctl(set, EPOLL_CTL_DEL, sockets[at], NULL);
            left--;
        }
    }
    close(set);
    return first;
}
