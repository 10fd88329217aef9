#include "process.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "interrupt.h"
#include "keeper.h"
#include "units.h"

enum { LONGEST = 1000 };
static const uint64_t timeout_ns = 30 * RUE_NS_PER_S, grace_ns = 100 * RUE_NS_PER_MS;

static struct rue_process *process;

static void setup(void)
{
    signal(SIGPIPE, SIG_IGN);
}

TestSuite(process, .init = setup, .timeout = 120);

static void start(const char *const argv[])
{
    rue_error error = {0};
    cr_assert_eq(rue_process_open(argv, &process, &error), RUE_OK, "%s", error.message);
}

static void start_shell(const char *script)
{
    start((const char *const[]){"/bin/sh", "-c", script, NULL});
}

static void send_line(const char *line)
{
    rue_error error = {0};
    cr_assert_eq(rue_process_write_line(process, line, rue_clock_now_ns() + timeout_ns, &error), RUE_OK, "%s",
                 error.message);
}

static void expect_line(const char *expected)
{
    rue_error error = {0};
    const char *line;
    rue_status status =
        rue_process_read_line(process, rue_clock_now_ns() + timeout_ns, LONGEST, &line, &error);
    cr_assert_eq(status, RUE_OK, "%s", error.message);
    cr_assert_str_eq(line, expected);
}

static const char *expect_failure(uint64_t patience, rue_status expected)
{
    static rue_error error;
    const char *line;
    error = (rue_error){0};
    rue_status status = rue_process_read_line(process, rue_clock_now_ns() + patience, LONGEST, &line, &error);
    cr_assert_eq(status, expected, "%s: %s", rue_status_text(status), error.message);
    return error.message;
}

Test(process, lines_are_echoed)
{
    start((const char *const[]){"cat", NULL});
    send_line("hello");
    expect_line("hello");
    send_line("");
    expect_line("");
    send_line("one");
    send_line("two\nthree");
    expect_line("one");
    expect_line("two");
    expect_line("three");
    cr_assert_str_eq(rue_process_close(process, timeout_ns).text, "ended");
}

Test(process, a_long_line_is_echoed)
{
    enum { BYTES = 300000 };
    static char text[BYTES + 1];
    const char *line;
    memset(text, 'x', BYTES);
    start_shell("read -r line; printf '%300000s\\n' | tr ' ' x; echo after");
    send_line("go");
    rue_error error = {0};
    cr_assert_eq(rue_process_read_line(process, UINT64_MAX, BYTES, &line, &error), RUE_OK, "%s",
                 error.message);
    cr_assert(strcmp(line, text) == 0);
    expect_line("after");
    rue_process_close(process, timeout_ns);
}

Test(process, a_line_may_arrive_in_pieces)
{
    start_shell("printf one; sleep 0.1; printf ' line\\nand '; sleep 0.1; echo another");
    expect_line("one line");
    expect_line("and another");
    rue_process_close(process, timeout_ns);
}

Test(process, a_line_can_be_read_after_a_missed_deadline)
{
    start_shell("read -r line; echo late");
    const char *message = expect_failure(20 * RUE_NS_PER_MS, RUE_TIMEOUT);
    cr_assert(strstr(message, "no answer"), "%s", message);
    send_line("go");
    expect_line("late");
    rue_process_close(process, timeout_ns);
}

Test(process, a_deadline_that_is_past_fails_at_once)
{
    start((const char *const[]){"cat", NULL});
    const char *line;
    cr_assert_eq(rue_process_read_line(process, 0, LONGEST, &line, NULL), RUE_TIMEOUT);
    rue_process_close(process, timeout_ns);
}

Test(process, a_line_that_is_too_long_is_refused)
{
    start_shell("head -c 5000 /dev/zero | tr '\\0' x; exec sleep 100");
    const char *message = expect_failure(timeout_ns, RUE_RUNNER);
    cr_assert(strstr(message, "more than 1000 bytes"), "%s", message);
    rue_process_close(process, 0);
    start_shell("head -c 1001 /dev/zero | tr '\\0' x; echo; exec sleep 100");
    message = expect_failure(timeout_ns, RUE_RUNNER);
    cr_assert(strstr(message, "more than 1000 bytes"), "an end in the same read changes nothing: %s",
              message);
    rue_process_close(process, 0);
}

Test(process, a_line_of_the_maximum_length_is_accepted)
{
    char text[LONGEST + 1];
    memset(text, 'x', LONGEST);
    text[LONGEST] = 0;
    start((const char *const[]){"cat", NULL});
    send_line(text);
    expect_line(text);
    rue_process_close(process, timeout_ns);
}

Test(process, the_end_of_a_process_is_reported_at_the_next_read)
{
    start_shell("echo last; printf unfinished");
    expect_line("last");
    cr_assert_str_eq(expect_failure(timeout_ns, RUE_RUNNER), "ended");
    cr_assert_str_eq(rue_process_close(process, timeout_ns).text, "ended");
}

Test(process, the_end_of_a_process_is_described)
{
    static const struct {
        char script[40], words[40];
        int exit_code;
        bool killed;
    } cases[] = {
        {"exit 0", "ended", 0, false},
        {"exit 3", "ended with exit code 3", 3, false},
        {"kill -SEGV $$", "was killed by SIGSEGV", -1, false},
        {"kill -KILL $$", "was killed by SIGKILL", -1, true},
        {"kill -BUS $$", "was killed by SIGBUS", -1, false},
        {"exit 139", "ended with exit code 139 (SIGSEGV)", 139, false}, /* as a shell reports a signal */
        {"exit 137", "ended with exit code 137 (SIGKILL)", 137, true},
        {"exec /no/such/program 2>/dev/null", "ended with exit code 127", 127, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start_shell(cases[i].script);
        cr_assert_str_eq(expect_failure(timeout_ns, RUE_RUNNER), "ended");
        const struct rue_process_end end = rue_process_close(process, timeout_ns);
        cr_assert_str_eq(end.text, cases[i].words, "'%s' %s", cases[i].script, end.text);
        cr_expect_eq(end.exit_code, cases[i].exit_code, "'%s': %d", cases[i].script, end.exit_code);
        cr_expect_eq(end.killed, cases[i].killed, "'%s'", cases[i].script);
    }
}

Test(process, a_missing_program_ends_at_once)
{
    int quiet = open("/dev/null", O_WRONLY);
    dup2(quiet, STDERR_FILENO);
    close(quiet);
    start((const char *const[]){"/no/such/program", NULL});
    cr_assert_str_eq(expect_failure(timeout_ns, RUE_RUNNER), "ended");
    cr_assert_str_eq(rue_process_close(process, timeout_ns).text, "ended with exit code 127");
}

Test(process, a_write_to_an_ended_process_is_an_error)
{
    rue_error error = {0};
    start_shell("exit 0");
    expect_failure(timeout_ns, RUE_RUNNER);
    /* Its ends of the pipes are closed one after the other: the first writes may still find a reader. */
    for (int i = 0; i < 1000 && rue_process_write_line(process, "hello?", UINT64_MAX, &error) == RUE_OK; i++)
        usleep(1000);
    cr_assert_eq(error.status, RUE_RUNNER);
    cr_assert_str_eq(error.message, "ended");
    rue_process_close(process, timeout_ns);
}

Test(process, a_process_that_ends_with_its_input_is_not_killed)
{
    start_shell("cat >/dev/null; exit 5");
    cr_assert_str_eq(rue_process_close(process, timeout_ns).text, "ended with exit code 5");
}

Test(process, a_process_that_stays_gets_sigterm_first)
{
    start_shell("exec 2>/dev/null; trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done");
    expect_line("ready");
    cr_assert_str_eq(rue_process_close(process, 2 * RUE_NS_PER_S).text, "ended with exit code 9");
}

Test(process, a_process_that_ignores_sigterm_is_killed)
{
    start_shell("trap '' TERM; echo ready; while :; do sleep 0.05; done");
    expect_line("ready");
    cr_assert_str_eq(rue_process_close(process, grace_ns).text, "was killed by SIGKILL");
}

/* Whether all holders of the pipe's other end are gone within the patience. */
static bool all_ended(int reading_end)
{
    struct pollfd wait = {.fd = reading_end, .events = POLLIN};
    char byte;
    return poll(&wait, 1, (int)(timeout_ns / RUE_NS_PER_MS)) == 1 && read(reading_end, &byte, 1) == 0;
}

/* Starts `script` with one end of a pipe that all its descendants inherit; returns the other. */
static int start_watched(const char *script)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    start_shell(script);
    close(ends[1]);
    return ends[0];
}

Test(process, children_of_a_process_are_ended_with_it)
{
    static const char *const scripts[] = {
        "sleep 1000 & echo ready; cat",                        /* it goes by itself, its child does not */
        "(trap '' TERM; sleep 1000) & echo ready; sleep 1000", /* it is told to go */
        "trap '' TERM; sleep 1000 & echo ready; while :; do sleep 1; done", /* it is killed */
        "(sleep 1000 & sleep 1000) & echo ready; kill -SEGV $$",            /* it crashed */
        "setsid sleep 1000 & echo ready; cat",                              /* its child has a session */
        "(setsid sh -c 'sleep 1000 & setsid sleep 1000 & sleep 1000' &); echo ready; sleep 1000",
        "setsid sh -c \"(trap '' TERM HUP; sleep 1000) & exit\"; echo ready; kill -KILL $$",
    };
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        int watch = start_watched(scripts[i]);
        expect_line("ready");
        rue_process_close(process, grace_ns);
        cr_assert(all_ended(watch), "'%s' left something running", scripts[i]);
        close(watch);
    }
}

Test(process, a_write_to_a_process_that_does_not_read_fails_in_time)
{
    enum { BYTES = 1 << 20 }; /* more than a pipe holds */
    static char text[BYTES + 1];
    rue_error error = {0};
    memset(text, 'x', BYTES);
    start_shell("echo ready; exec sleep 1000");
    expect_line("ready");
    uint64_t deadline = rue_clock_now_ns() + 50 * RUE_NS_PER_MS;
    cr_assert_eq(rue_process_write_line(process, text, deadline, &error), RUE_TIMEOUT, "%s", error.message);
    rue_process_close(process, 0);
}

Test(process, a_slow_reader_gets_all_of_a_long_line)
{
    enum { BYTES = 1 << 20 };
    static char text[BYTES + 1];
    memset(text, 'x', BYTES);
    start_shell("sleep 0.1; head -c 1048577 | wc -c");
    send_line(text);
    expect_line("1048577");
    rue_process_close(process, timeout_ns);
}

Test(process, a_process_that_closes_its_output_has_not_ended)
{
    start_shell("exec >/dev/null; exec sleep 1000");
    cr_assert_str_eq(expect_failure(timeout_ns, RUE_RUNNER), "closed its output");
    rue_process_close(process, 0);
}

Test(process, a_stopped_process_is_reported)
{
    start((const char *const[]){"cat", NULL});
    cr_assert_eq(rue_process_suspensions(process), 0);
    rue_keeper_signal(rue_process_keeper_socket(process), SIGSTOP);
    while (!rue_process_stop_signal(process)) rue_process_suspensions(process);
    cr_assert_str_eq(rue_process_stop_signal(process), "STOP");
    rue_keeper_signal(rue_process_keeper_socket(process), SIGCONT);
    while (rue_process_stop_signal(process)) rue_process_suspensions(process);
    cr_assert_eq(rue_process_suspensions(process), 1);
    send_line("awake");
    expect_line("awake");
    rue_process_close(process, timeout_ns);
}

Test(process, a_stopped_process_can_be_ended)
{
    start_shell("kill -STOP $$");
    while (!rue_process_stop_signal(process)) rue_process_suspensions(process);
    cr_assert_str_eq(rue_process_close(process, grace_ns).text, "was killed by SIGKILL");
}

Test(process, a_process_leads_its_own_group)
{
    char group[32];
    const char *line;
    start_shell("echo $$; cut -d' ' -f5 /proc/$$/stat");
    cr_assert_eq(rue_process_read_line(process, UINT64_MAX, LONGEST, &line, NULL), RUE_OK);
    snprintf(group, sizeof group, "%s", line);
    expect_line(group);
    cr_assert_neq(atoi(group), getpgrp());
    rue_process_close(process, timeout_ns);
}

Test(process, a_process_inherits_no_pipe_of_another)
{
    start((const char *const[]){"cat", NULL});
    struct rue_process *first = process;
    start((const char *const[]){"cat", NULL});
    cr_assert_str_eq(rue_process_close(first, timeout_ns).text, "ended",
                     "the first sees the end of its input while the second runs");
    send_line("still here");
    expect_line("still here");
    rue_process_close(process, timeout_ns);
}

Test(process, a_signal_ends_the_waiting)
{
    rue_interrupt_install("tune");
    rue_interrupt_defer(true);
    start((const char *const[]){"cat", NULL});
    raise(SIGTERM);
    expect_failure(timeout_ns, RUE_TERMINATED);
    cr_assert_str_eq(rue_process_close(process, timeout_ns).text, "ended");
}

Test(process, control_c_ends_the_waiting)
{
    rue_interrupt_install("tune");
    rue_interrupt_defer(true);
    start((const char *const[]){"cat", NULL});
    raise(SIGINT);
    expect_failure(timeout_ns, RUE_INTERRUPTED);
    rue_process_close(process, timeout_ns);
}

Test(process, close_accepts_null)
{
    cr_assert_str_eq(rue_process_close(NULL, 0).text, "ended");
}

/* ---- a program at a socket ---- */

static int adopt(void)
{
    int ends[2];
    rue_error error = {0};
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    cr_assert_eq(rue_process_adopt(ends[0], &process, &error), RUE_OK, "%s", error.message);
    return ends[1];
}

Test(process, a_socket_is_written_and_read_and_stays_open)
{
    char line[8];
    int peer = adopt();
    send_line("hello");
    cr_assert_eq(read(peer, line, sizeof line), 6);
    cr_assert_eq(write(peer, "here\n", 5), 5);
    expect_line("here");
    cr_assert(strstr(expect_failure(20 * RUE_NS_PER_MS, RUE_TIMEOUT), "no answer"));
    cr_assert_eq(rue_process_suspensions(process), 0);
    cr_assert_str_eq(rue_process_close(process, timeout_ns).text, "ended");
    cr_assert_eq(write(peer, "more", 4), 4, "the socket is borrowed");
}

Test(process, the_end_of_a_connection_is_the_end_of_the_program)
{
    int peer = adopt();
    close(peer);
    expect_failure(timeout_ns, RUE_RUNNER);
    cr_assert(rue_process_is_gone(process));
    rue_error error = {0};
    cr_assert_eq(rue_process_write_line(process, "x", UINT64_MAX, &error), RUE_RUNNER);
    cr_assert_str_eq(error.message, "ended");
    rue_process_close(process, timeout_ns);
}

/* The grace is longer than the test may take. */
static void close_stubborn(unsigned delay_us)
{
    pid_t tuner = getpid();
    start_shell("trap '' TERM; echo ready; while :; do sleep 1; done");
    expect_line("ready");
    rue_interrupt_install("test");
    rue_interrupt_defer(true);
    pid_t sender = delay_us ? fork() : -1;
    if (sender == 0) {
        usleep(delay_us);
        kill(tuner, SIGTERM);
        _exit(0);
    }
    if (!delay_us) raise(SIGTERM);
    cr_assert_str_eq(rue_process_close(process, 3600 * RUE_NS_PER_S).text, "was killed by SIGKILL");
}

Test(process, a_signal_shortens_the_grace)
{
    close_stubborn(0);
}

Test(process, a_signal_ends_the_grace_that_has_begun)
{
    close_stubborn(200000);
}
