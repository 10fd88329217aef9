#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "interrupt.h"

TestSuite(interrupt, .timeout = 60);

enum { TEXT_BYTES = 256, SURVIVED = 7 };

/* What a child does between the installation and its end, which is SURVIVED where no signal ends it. */
typedef void child_acts(void);

/* The exit code of such a child, and what it wrote to standard error. */
static int run_child(child_acts *act, char text[TEXT_BYTES])
{
    int ends[2], how = 0;
    size_t used = 0;
    ssize_t got;
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        rue_interrupt_install("list");
        act();
        _exit(SURVIVED);
    }
    close(ends[1]);
    while ((got = read(ends[0], text + used, TEXT_BYTES - 1 - used)) > 0) used += (size_t)got;
    text[used] = 0;
    close(ends[0]);
    cr_assert_eq(waitpid(child, &how, 0), child);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

/* Long enough that the next signal is none of the same key. */
static void wait_a_little(void)
{
    struct timespec left = {.tv_nsec = 200000000};
    while (nanosleep(&left, &left) != 0) continue;
}

static void be_interrupted(void)
{
    raise(SIGINT);
}

static void be_terminated_with_a_line(void)
{
    rue_interrupt_set_line(true);
    raise(SIGTERM);
}

Test(interrupt, a_signal_without_work_ends_the_program_with_a_line)
{
    char text[TEXT_BYTES];
    cr_assert_eq(run_child(be_interrupted, text), 130);
    cr_assert_str_eq(text, "rue list: interrupted\n");
    cr_assert_eq(run_child(be_terminated_with_a_line, text), 143);
    cr_assert_str_eq(text, "\r\033[Krue list: terminated\n", "the line that stands is wiped");
}

static void finish_what_began(void)
{
    rue_interrupt_defer(true);
    rue_interrupt_defer(true);
    rue_interrupt_defer(false);
    raise(SIGTERM);
    if (rue_interrupt_status() != RUE_TERMINATED) _exit(1);
}

static void be_signalled_behind_it(void)
{
    finish_what_began();
    rue_interrupt_defer(false);
    wait_a_little();
    raise(SIGINT);
}

static void press_twice(void)
{
    rue_interrupt_defer(true);
    raise(SIGINT);
    raise(SIGINT);
    if (rue_interrupt_status() != RUE_INTERRUPTED) _exit(1);
    wait_a_little();
    raise(SIGINT);
}

Test(interrupt, started_work_is_finished_unless_a_second_signal_follows)
{
    char text[TEXT_BYTES];
    cr_assert_eq(run_child(finish_what_began, text), SURVIVED);
    cr_assert_str_eq(text, "");
    cr_assert_eq(run_child(be_signalled_behind_it, text), 130, "when it is finished the next signal ends it");
    cr_assert_eq(run_child(press_twice, text), 130, "two within a tenth of a second are one");
}

/* The other end stays open, and nobody reads. */
static void write_to_a_full_pipe(void)
{
    static const char block[4096];
    int ends[2];
    if (pipe(ends) != 0 || dup2(ends[1], STDOUT_FILENO) < 0) _exit(1);
    rue_interrupt_defer(true);
    raise(SIGTERM);
    for (int i = 0; i < 100; i++)
        if (write(STDOUT_FILENO, block, sizeof block) != sizeof block) _exit(1);
}

Test(interrupt, an_orderly_end_waits_for_no_reader)
{
    char text[TEXT_BYTES];
    cr_assert_eq(run_child(write_to_a_full_pipe, text), SURVIVED);
}
