/* What the name of a column says of what it holds: a time, and in which unit, or a rate. */
#ifndef RUE_COLUMN_GUESS_H
#define RUE_COLUMN_GUESS_H

#include <stdbool.h>
#include <stddef.h>

#include "columns.h"

/* The one of `names` [count] that is likeliest to hold times of jobs, and as which of our columns of times;
 * NULL when none is. A rate is never guessed. */
const char *rue_column_guess_time(const char *const *names, size_t count, enum rue_column *column);

/* "images_per_s", "throughput", "fps", ...: more is better. */
bool rue_column_is_rate(const char *name);

#endif
