/* A process with children of the test's making, and a word between them and the test: each step of a child is
 * begun by `tree_go`, and told of by `tree_await`. */
#ifndef RUE_TREE_FIXTURE_H
#define RUE_TREE_FIXTURE_H

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t tree_root;
static int tree_steps[2], tree_words[2];

static inline void tree_require(bool good)
{
    if (!good) abort();
}

/* In a child: waits for tree_go. */
static inline void tree_step(void)
{
    char byte;
    if (read(tree_steps[0], &byte, 1) != 1) _exit(1);
}

/* In a child: says that something is done. */
static inline void tree_say(void)
{
    if (write(tree_words[1], "x", 1) != 1) _exit(1);
}

static inline void tree_go(void)
{
    tree_require(write(tree_steps[1], "x", 1) == 1);
}

static inline void tree_await(void)
{
    char byte;
    tree_require(read(tree_words[0], &byte, 1) == 1);
}

/* Begins a process that begins children itself (`work` in it), waits for whatever ends below it, and says so
 * for each. It ends with the test. */
static inline void tree_open(void (*work)(void))
{
    tree_require(pipe(tree_steps) == 0 && pipe(tree_words) == 0);
    tree_root = fork();
    if (tree_root != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    close(tree_steps[1]);
    work();
    for (;;) {
        if (waitpid(-1, NULL, 0) > 0)
            tree_say();
        else
            pause();
    }
}

static inline void tree_close(void)
{
    close(tree_steps[1]); /* children read nothing more, and end */
    kill(tree_root, SIGKILL);
    waitpid(tree_root, NULL, 0);
}

/* In the root, or in a child of its: a child that does `work`. One that waits in tree_step ends with the
 * test, others see to that themselves. */
static inline void tree_fork(void (*work)(void))
{
    if (fork() != 0) return;
    work();
    _exit(0);
}

static inline long tree_used_ms(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
           (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
}

/* Uses `ms` of CPU time. */
static inline void tree_burn(int ms)
{
    volatile unsigned long sum = 0;
    long until = tree_used_ms() + ms + 1;
    do
        for (int i = 0; i < 100000; i++) sum += (unsigned long)i;
    while (tree_used_ms() < until);
}

#endif
