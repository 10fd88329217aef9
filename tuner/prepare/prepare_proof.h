/* What was written, item for item: data, label, class, and of formats that keep them names and places; and
 * whether the same is read back. */
#ifndef RUE_PREPARE_PROOF_H
#define RUE_PREPARE_PROOF_H

#include "error.h"
#include "progress.h"
#include "sink.h"

/* Of so many items. Those of formats whose sources sort them have the same digest in any order. */
struct rue_prepare_digest {
    uint64_t items;
    uint64_t sum; /* of a hash of each */
};

struct rue_prepare_proof {
    const struct rue_sink_ops *format; /* that is written */
    bool labelled;                     /* labels mean something: there are classes, or numbers are kept */
    struct rue_prepare_digest digest;  /* of what was written so far, by earlier runs, too */
};

/* Adds what the sink was given and took; `class_name` and `key` (rue_sink_key) are nullable. */
void rue_prepare_proof_add(struct rue_prepare_proof *proof, const struct rue_item *item,
                           const char *class_name, const char *key);

/* Reads back all that is at `path` and compares. RUE_DATA names what is damaged or says that it is not what
 * was written; what reading may say; RUE_INTERRUPTED. `progress` is nullable. */
rue_status rue_prepare_proof_check(const struct rue_prepare_proof *proof, const char *path,
                                   struct rue_progress *progress, rue_error *error) RUE_MUST_CHECK;

#endif
