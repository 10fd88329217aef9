/* Addresses at which ranks connect. */
#include <criterion/criterion.h>

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tcp.h"

static char name[RUE_TCP_NAME_BYTES];
static int listener = -1, fd = -1;

static void listen_at(const char *place)
{
    rue_error error = {0};
    cr_assert_eq(rue_tcp_listen(place, &listener, name, &error), RUE_OK, "%s", error.message);
}

Test(tcp, ranks_connect_to_the_name_of_the_listener)
{
    rue_error error = {0};
    char text[8];
    listen_at("127.0.0.1");
    cr_assert_eq(strncmp(name, "127.0.0.1:", 10), 0, "%s", name);
    cr_assert_eq(rue_tcp_connect(name, &fd, &error), RUE_OK, "%s", error.message);
    int peer = accept(listener, NULL, NULL);
    cr_assert_not(rue_tcp_has_ended(peer));
    cr_assert_eq(send(fd, "hello", 5, 0), 5);
    cr_assert_eq(recv(peer, text, 5, MSG_WAITALL), 5);
    close(fd);
    cr_assert_eq(recv(peer, text, 1, MSG_PEEK), 0);
    cr_assert(rue_tcp_has_ended(peer));
    close(peer);
    close(listener);
}

Test(tcp, a_port_that_nobody_listens_at_is_reported)
{
    rue_error error = {0};
    char taken[RUE_TCP_NAME_BYTES];
    listen_at("127.0.0.1");
    int again;
    cr_assert_eq(rue_tcp_listen(name, &again, taken, &error), RUE_USAGE);
    cr_assert(strstr(error.message, ": cannot listen there: "), "%s", error.message);
    close(listener);
    error = (rue_error){0};
    cr_assert_eq(rue_tcp_connect(name, &fd, &error), RUE_RUNNER);
    cr_assert(strstr(error.message, "cannot connect to the tuner at 127.0.0.1:"), "%s", error.message);
}

Test(tcp, what_is_not_an_address_of_this_machine_is_refused)
{
    static const struct {
        const char *place, *words;
    } cases[] = {{"", "expected HOST or HOST:PORT"},
                 {"[::1", "expected HOST or HOST:PORT"},
                 {"node:1x", "expected HOST or HOST:PORT"},
                 {"node:70000", "expected HOST or HOST:PORT"},
                 {"[::1]x", "expected HOST or HOST:PORT"},
                 {"0.0.0.0", "give one address of this machine"},
                 {"[::]:7000", "give one address of this machine"},
                 {"::ffff:0.0.0.0", "give one address of this machine"},
                 {"224.0.0.1", "give one address of this machine"},
                 {"192.0.2.1", "cannot listen there"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rue_error error = {0};
        cr_assert_eq(rue_tcp_listen(cases[i].place, &fd, name, &error), RUE_USAGE, "%s", cases[i].place);
        cr_assert(strstr(error.message, cases[i].words), "%s: %s", cases[i].place, error.message);
    }
}
