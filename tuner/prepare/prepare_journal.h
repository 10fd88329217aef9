/* How far a conversion has come that was stopped: a small file beside what it has written so far. */
#ifndef RUE_PREPARE_JOURNAL_H
#define RUE_PREPARE_JOURNAL_H

#include "error.h"
#include "prepare_proof.h"
#include "sink.h"

struct rue_prepare_journal {
    uint64_t identity; /* of data and options: what was written by others is of no use */
    struct rue_sink_mark mark;
    struct rue_prepare_digest digest; /* of the items before the mark */
    uint64_t bad_images;              /* replaced among them */
    uint64_t elapsed_ns;              /* spent on them */
};

/* False, and zeros, where there is none in the folder, or none that is whole. */
bool rue_prepare_journal_read(const char *folder, struct rue_prepare_journal *out);

/* On the disk when it returns. One that was stopped leaves a file that is not whole. RUE_STORE. */
rue_status rue_prepare_journal_write(const char *folder, const struct rue_prepare_journal *journal,
                                     rue_error *error) RUE_MUST_CHECK;

#endif
