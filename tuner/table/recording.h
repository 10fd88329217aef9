/* A table of recorded times in place of a machine: the data, models and configurations that it has times for,
 * and what each trial took. It knows whole jobs alone. */
#ifndef RUE_RECORDING_H
#define RUE_RECORDING_H

#include "runner_client.h"
#include "table.h"

/* J where neither the table nor the user says it, and the largest batch allows it. */
enum { RUE_RECORDING_IMAGES = 10000 };

struct rue_recording {
    struct rue_table table;
    uint64_t job_images;
    bool assumed;                  /* nobody says J */
    struct rue_findings *findings; /* of all of it: matrices of its times */
    size_t variant_count;
    struct rue_variant variants[RUE_HELLO_LIST_MAX]; /* `path` is what the table calls the mode */
    const struct rue_variant_findings *found[RUE_HELLO_LIST_MAX]; /* what the table has of them */
    size_t model_count;
    const char *models[RUE_HELLO_LIST_MAX]; /* in the order of the table */
    bool knobs[RUE_OWN_KNOB_COUNT];         /* that the table has columns of */
    struct rue_space space;                 /* the values in them */
    size_t min_trials;                      /* the least number of trials of a cell that has any */
};

/* Reads the table at `path`; `map` as in rue_table_read. `images` is J, 0: as the table says. RUE_USAGE where
 * the table has jobs of other lengths, or of several and J is not said; RUE_DATA where it has more models,
 * modes or values than a study holds; else as rue_table_read.
 * `*out` is closed by the caller. */
rue_status rue_recording_open(const char *path, const char *map, uint64_t images, struct rue_recording **out,
                              rue_error *error) RUE_MUST_CHECK;
void rue_recording_close(struct rue_recording *recording);

/* The runner's name, which holds the table's digest. */
void rue_recording_name(const struct rue_recording *recording, char *out, size_t bytes);

/* The variant's digest, different for each. */
void rue_recording_digest(const struct rue_recording *recording, const struct rue_variant *variant,
                          char out[32]);

/* The times of a cell; NULL where there is none. */
const struct rue_cell *rue_recording_find_cell(const struct rue_recording *recording,
                                               const struct rue_variant *variant, const char *model,
                                               const struct rue_config *config);

/* Answers trials with the times of a recording, which is the state. */
extern const struct rue_local_runner rue_recording_runner;

#endif
