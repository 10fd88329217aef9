#include "tcp.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 128, CONNECT_TIMEOUT_MS = 10000 };

/* Splits "HOST", "HOST:PORT", "[HOST]:PORT". An address of IPv6 without brackets has no port. */
static bool split_place(const char *place, char host[256], char port[8])
{
    const char *end = place[0] == '[' ? strchr(place, ']') : strchr(place, ':');
    bool bare = place[0] != '[' && end && strchr(end + 1, ':');
    size_t skip = place[0] == '[', length = end && !bare ? (size_t)(end - place) - skip : strlen(place);
    const char *rest = end && !bare ? end + skip : "";
    if ((skip && !end) || length == 0 || length >= 256 || (*rest && *rest != ':') || strlen(rest) > 6)
        return false;
    snprintf(host, 256, "%.*s", (int)length, place + skip);
    snprintf(port, 8, "%s", *rest ? rest + 1 : "0");
    return port[0] && port[strspn(port, "0123456789")] == 0 && atoi(port) <= 65535;
}

static rue_status look_up(const char *place, struct addrinfo **out, rue_error *error)
{
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    char host[256], port[8];
    if (!split_place(place, host, port))
        return rue_fail(error, RUE_USAGE,
                        "%.200s: expected HOST or HOST:PORT, such as node1 or 10.0.0.1:7000", place);
    int code = getaddrinfo(host, port, &hints, out);
    if (code == 0) return RUE_OK;
    return rue_fail(error, RUE_USAGE, "%.200s: %s", place, gai_strerror(code));
}

/* All addresses of this machine, or those of several machines. IPv6 has the addresses of IPv4, too. */
static bool is_several(const struct sockaddr *address)
{
    const struct in6_addr *six = &((const struct sockaddr_in6 *)address)->sin6_addr;
    in_addr_t four = ((const struct sockaddr_in *)address)->sin_addr.s_addr;
    bool mapped = address->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(six);
    if (address->sa_family == AF_INET6 && !mapped)
        return IN6_IS_ADDR_UNSPECIFIED(six) || IN6_IS_ADDR_MULTICAST(six);
    if (mapped) memcpy(&four, &six->s6_addr[12], sizeof four);
    return four == INADDR_ANY || four == INADDR_BROADCAST || IN_MULTICAST(ntohl(four));
}

static void describe(int fd, char name[RUE_TCP_NAME_BYTES])
{
    struct sockaddr_storage bound;
    socklen_t bytes = sizeof bound;
    char host[256] = "", port[32] = "";
    getsockname(fd, (struct sockaddr *)&bound, &bytes);
    getnameinfo((struct sockaddr *)&bound, bytes, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(name, RUE_TCP_NAME_BYTES, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

rue_status rue_tcp_listen(const char *place, int *fd, char name[RUE_TCP_NAME_BYTES], rue_error *error)
{
    struct addrinfo *found;
    static const int on = 1;
    rue_status status = look_up(place, &found, error);
    if (status != RUE_OK) return status;
    if (is_several(found->ai_addr)) {
        freeaddrinfo(found);
        return rue_fail(error, RUE_USAGE,
                        "%.200s: ranks cannot connect to it; give one address of this machine", place);
    }
    *fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd >= 0) setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    bool listens = *fd >= 0 && bind(*fd, found->ai_addr, found->ai_addrlen) == 0 && listen(*fd, BACKLOG) == 0;
    int why = errno;
    freeaddrinfo(found);
    if (listens) return describe(*fd, name), RUE_OK;
    if (*fd >= 0) close(*fd);
    *fd = -1;
    return rue_fail(error, RUE_USAGE, "%.200s: cannot listen there: %s", place, strerror(why));
}

/* Waits until a connection that was begun is made; returns errno. */
static int finish_connecting(int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    int why = 0;
    socklen_t bytes = sizeof why;
    int ready;
    while ((ready = poll(&wait, 1, CONNECT_TIMEOUT_MS)) < 0 && errno == EINTR) continue;
    if (ready <= 0) return ready ? errno : ETIMEDOUT;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &bytes);
    return why;
}

void rue_tcp_prepare(int fd)
{
    static const int on = 1, idle_s = 30, interval_s = 10, probes = 3, unanswered_ms = 60000;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, sizeof unanswered_ms);
}

bool rue_tcp_has_ended(int fd)
{
    char byte;
    ssize_t got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

rue_status rue_tcp_connect(const char *name, int *fd, rue_error *error)
{
    struct addrinfo *found;
    rue_status status = look_up(name, &found, error);
    if (status != RUE_OK) return status;
    *fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int why = *fd < 0 || connect(*fd, found->ai_addr, found->ai_addrlen) != 0 ? errno : 0;
    freeaddrinfo(found);
    if (why == EINPROGRESS) why = finish_connecting(*fd);
    if (why == 0) return rue_tcp_prepare(*fd), RUE_OK;
    if (*fd >= 0) close(*fd);
    *fd = -1;
    return rue_fail(error, RUE_RUNNER, "cannot connect to the tuner at %.200s: %s", name, strerror(why));
}
