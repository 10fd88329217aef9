/* Errors that people read: what failed, where (file, offset or line), why, and what to do next.
 * Owned by the caller, fixed size, nullable everywhere; the first error wins. */
#ifndef RUE_ERROR_H
#define RUE_ERROR_H

#include <stddef.h>

#include "status.h"

enum { RUE_ERROR_MESSAGE_BYTES = 1024 };

typedef struct rue_error {
    rue_status status;
    char message[RUE_ERROR_MESSAGE_BYTES];
} rue_error;

/* Records the message unless `error` is NULL or already holds one. Returns `status`, so that a function can
 * end with `return rue_fail(error, RUE_DATA, "...")`. Long messages are shortened. */
rue_status rue_fail(rue_error *error, rue_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Copies a message into `out` [bytes]. One that does not fit loses its middle, most often of a path: the
 * reason and what to do next come last. UTF-8 stays whole. */
void rue_error_shorten(const char *text, char *out, size_t bytes);

/* The message for an allocation of `bytes` for `what` that failed; returns RUE_MEMORY. */
rue_status rue_fail_memory(rue_error *error, const char *what, unsigned long long bytes);

/* Forgets a recorded error, so that the next one is recorded. */
void rue_error_clear(rue_error *error);

#endif
