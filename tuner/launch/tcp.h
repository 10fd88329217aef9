/* TCP connections between the tuner and ranks on other machines. */
#ifndef RUE_TCP_H
#define RUE_TCP_H

#include <stdbool.h>

#include "error.h"

enum { RUE_TCP_NAME_BYTES = 300 };

/* Listens at `place`: "HOST" or "HOST:PORT" (IPv6: "[::1]:7000"), at that address only. Without a port the
 * system chooses one. `name` gets the address that others connect to. RUE_USAGE: cannot listen there. */
rue_status rue_tcp_listen(const char *place, int *fd, char name[RUE_TCP_NAME_BYTES],
                          rue_error *error) RUE_MUST_CHECK;

/* Connects to such an address. RUE_RUNNER: nothing listens there, or it cannot be reached within 10 s. */
rue_status rue_tcp_connect(const char *name, int *fd, rue_error *error) RUE_MUST_CHECK;

/* Makes a connection send lines at once, and end within a minute after the other machine or the network is
 * lost. rue_tcp_connect does so already. */
void rue_tcp_prepare(int fd);

/* Whether the other end has ended the connection, or it is broken, as of now. */
bool rue_tcp_has_ended(int fd);

#endif
