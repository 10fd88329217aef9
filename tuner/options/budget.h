/* The budget of a study. */
#ifndef RUE_BUDGET_H
#define RUE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One of them is set; the others are 0. */
struct rue_budget {
    uint64_t time_ns;
    size_t trials;
    double share; /* of the time in a table */
};

#define RUE_BUDGET_WORDS                                                                                     \
    "a time such as 2m or 300s, a number of trials such as 500trials, or a share of a table's time such as " \
    "10%"

/* "2m", "300s", "500trials", "1trial", "10%"; false for anything else, also for "0s". */
bool rue_budget_parse(const char *text, struct rue_budget *out);

/* "2 m 00 s", "500 trials", "10 %". */
const char *rue_budget_format(const struct rue_budget *budget, char *out, size_t bytes);

#endif
