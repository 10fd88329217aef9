/* What the race tests share. They are plain programs, since Criterion does not start under ThreadSanitizer: a
 * line a case, a summary, and an exit code. */
#ifndef RUE_RACE_FIXTURE_H
#define RUE_RACE_FIXTURE_H

#include <stdarg.h>
#include <stdio.h>

static int race_passed, race_failed;

/* One case; `fault` is NULL when it passed. */
__attribute__((format(printf, 2, 3))) static inline void race_case(const char *fault, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("%s: ", fault ? "FAIL" : "pass");
    vprintf(format, arguments);
    va_end(arguments);
    printf("%s%s\n", fault ? ": " : "", fault ? fault : "");
    fflush(stdout);
    fault ? race_failed++ : race_passed++;
}

/* The summary; returns the exit code. */
static inline int race_end(void)
{
    printf("%d passed, %d failed\n", race_passed, race_failed);
    return race_failed ? 1 : 0;
}

#endif
