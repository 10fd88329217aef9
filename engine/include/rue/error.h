/* An error message says what failed, where (file, byte or line), why, and what to do next. The caller owns
 * the rue_error and initialises it with {0}. Every `rue_error *` argument may be NULL. */
#ifndef RUE_ERROR_H
#define RUE_ERROR_H

#include <stddef.h>

#include "status.h"

enum { RUE_ERROR_MESSAGE_BYTES = 1024 };

typedef struct rue_error {
    rue_status status;
    char message[RUE_ERROR_MESSAGE_BYTES];
} rue_error;

/* Records the message, unless `error` is NULL or already holds an error: the first one is kept. Returns
 * `status`, for `return rue_fail(error, RUE_DATA, "...")`. Shortens messages that do not fit. */
rue_status rue_fail(rue_error *error, rue_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Copies `text` into `out` [bytes]. Removes the middle of a text that does not fit, because the end says why
 * and what to do. Never splits a UTF-8 character. */
void rue_error_shorten(const char *text, char *out, size_t bytes);

/* Records that `bytes` could not be allocated for `purpose`. Returns RUE_MEMORY. */
rue_status rue_fail_memory(rue_error *error, const char *purpose, unsigned long long bytes);

/* Clears the error, so that the next one is recorded. `error` may be NULL. */
void rue_error_clear(rue_error *error);

#endif
