/* What was written, item for item: data, label, class, and of formats that keep them names and places; and
 * whether the same is read back. */
#ifndef RUE_PREPARE_PROOF_H
#define RUE_PREPARE_PROOF_H

#include "data_digest.h"
#include "error.h"
#include "progress.h"
#include "sink.h"

struct rue_prepare_proof {
    const struct rue_sink_ops *format; /* that is written */
    bool labelled;                     /* labels mean something: there are classes, or numbers are kept */
    bool itemized;                     /* tells which item it is that differs, for 8 bytes an item */
    struct rue_data_digest earlier;    /* of the items of earlier runs */
    struct rue_data_digest digest;     /* of all so far */
    uint64_t *hashes;                  /* [digest.items - earlier.items] where `itemized` */
    size_t capacity;
};

/* Adds what the sink was given and took; `class_name` and `key` (rue_sink_key) are nullable. RUE_MEMORY. */
rue_status rue_prepare_proof_add(struct rue_prepare_proof *proof, const struct rue_item *item,
                                 const char *class_name, const char *key, rue_error *error) RUE_MUST_CHECK;

/* Reads back all that is at `path` and compares; the proof is of no use then. RUE_DATA names file and item;
 * what reading may say; RUE_INTERRUPTED. `progress` is nullable. */
rue_status rue_prepare_proof_check(struct rue_prepare_proof *proof, const char *path,
                                   struct rue_progress *progress, rue_error *error) RUE_MUST_CHECK;
void rue_prepare_proof_close(struct rue_prepare_proof *proof);

#endif
