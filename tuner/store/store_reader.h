/* A store that is only looked at: nothing is written, neither to it nor beside it where no tuner is at work,
 * so it may lie in a folder that is read-only. A tuner may be writing meanwhile. One thread at a time. */
#ifndef RUE_STORE_READER_H
#define RUE_STORE_READER_H

#include "store.h"

struct rue_store_reader;

/* RUE_DATA when there is no file; RUE_STORE when it is no store, of another rue, damaged or unreadable, or,
 * with `*torn`, when it seemed so since a tuner began to write it: it is to be read anew. */
rue_status rue_store_reader_open(const char *path, struct rue_store_reader **out, bool *torn,
                                 rue_error *error) RUE_MUST_CHECK;
void rue_store_reader_close(struct rue_store_reader *reader);

/* The next trial, in the order of storing, its result to be closed by the caller. `*found` is false behind
 * the last one. RUE_STORE when a row makes no sense or the file is damaged. */
rue_status rue_store_reader_next(struct rue_store_reader *reader, bool *found, struct rue_store_trial *out,
                                 rue_error *error) RUE_MUST_CHECK;

/* What the last run that kept its findings found out (a recommendation.json), returned owned, and the number
 * of that run; NULL where none did. RUE_STORE, RUE_MEMORY. */
rue_status rue_store_reader_findings(struct rue_store_reader *reader, int64_t *run, char **out,
                                     rue_error *error) RUE_MUST_CHECK;

/* Whether a tuner began to write while the file was read as one that nobody writes: what was read may be
 * torn, and is to be read anew. */
bool rue_store_reader_is_torn(const struct rue_store_reader *reader);

#endif
