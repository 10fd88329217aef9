/* A table of recorded times that replaces a machine: its data, models and configurations, and the time of
 * each trial. It contains only whole jobs. */
#ifndef RUE_RECORDING_H
#define RUE_RECORDING_H

#include "runner.h"
#include "table.h"

/* Job length if neither the table nor the user gives one; more if the largest batch needs it. */
enum { RUE_RECORDING_IMAGES = 10000 };

struct rue_recording {
    struct rue_table table;
    uint64_t job_images;
    bool assumed;                  /* neither the table nor the user gave job_images */
    struct rue_findings *findings; /* matrices of all times */
    size_t variant_count;
    struct rue_variant variants[RUE_HELLO_LIST_MAX];              /* `path`: the table's name of the mode */
    const struct rue_variant_findings *found[RUE_HELLO_LIST_MAX]; /* of each variant */
    size_t model_count;
    const char *models[RUE_HELLO_LIST_MAX]; /* in the order of the table */
    bool knobs[RUE_OWN_KNOB_COUNT];         /* true: the table has a column of it */
    struct rue_space space;                 /* values of these knobs */
    size_t min_trials;                      /* smallest number of trials of a cell that has trials */
    struct rue_hello hello;                 /* of its runner */
};

/* Reads the table at `path`; `map` as in rue_table_read. `images`: the job length; 0: that of the table.
 * RUE_USAGE: the table has only jobs of other lengths, or several and `images` is 0; RUE_DATA: more models,
 * modes or values than a study can have; otherwise as rue_table_read. The caller closes `*out`. */
rue_status rue_recording_open(const char *path, const char *map, uint64_t images, struct rue_recording **out,
                              rue_error *error) RUE_MUST_CHECK;
void rue_recording_close(struct rue_recording *recording);

/* NULL: the table has no such cell. */
const struct rue_cell *rue_recording_find_cell(const struct rue_recording *recording,
                                               const struct rue_variant *variant, const char *model,
                                               const struct rue_config *config);

/* A runner that answers trials with the times of a recording, its state. */
extern const struct rue_runner_ops rue_recording_runner;

#endif
