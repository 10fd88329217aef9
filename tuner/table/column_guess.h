/* What the name of a column says of what it holds: a time, and in which unit, or a rate. */
#ifndef RUE_COLUMN_GUESS_H
#define RUE_COLUMN_GUESS_H

#include <stdbool.h>
#include <stddef.h>

#include "columns.h"

/* The one of `names` [count] that is likeliest to hold times of jobs, and as which of our columns of times;
 * NULL when none is. A rate is never guessed. */
const char *rue_column_guess_time(const char *const *names, size_t count, enum rue_column *column);

/* The unit of a column of times that we have no column for ("microseconds"), and the column of ours whose
 * unit is nearest to it; NULL where the name tells of no such thing. */
const char *rue_column_foreign_unit(const char *name, enum rue_column *instead);

/* "images_per_s", "throughput", "fps", ...: more is better. */
bool rue_column_is_rate(const char *name);

#endif
