/* The loader for Python, by ctypes: what native.py calls beside functions of librue (exports.map lists both).
 * Options are JSON: knobs, and fields of the workload, by their names. */
#ifndef RUE_PYTHON_H
#define RUE_PYTHON_H

#include "loader.h"

/* Changes with this file, and with a function of librue or struct rue_batch, which native.py repeats. */
enum { RUE_PYTHON_ABI = 6 };
int rue_python_abi(void);

/* Opens data, or a subset of them (NULL: all). Ends with RUE_INTERRUPTED when another thread sets `*stop`. */
rue_status rue_python_open_data(const char *path, const char *subset, const char *options, const int *stop,
                                struct rue_source **out, rue_error *error) RUE_MUST_CHECK;

struct rue_python_facts {
    uint64_t items, whole_items, digest, classes; /* whole_items: without the subset */
    uint32_t views, shape[RUE_VIEWS_MAX][3];      /* of the tensors of an item, with these options */
    int32_t raw, has_labels;
    char format[16], dtype[16]; /* dtype of preprocessed items; "": raw */
    float mean[RUE_CHANNELS], std[RUE_CHANNELS];
    char augment[RUE_VIEWS_TEXT_BYTES]; /* the text of the views; "": not for training */
};

rue_status rue_python_facts(const struct rue_source *source, const char *options,
                            struct rue_python_facts *out, rue_error *error) RUE_MUST_CHECK;

/* Replaces items by their numbers in the data without the subset. */
void rue_python_number(const struct rue_source *source, uint64_t *items, uint64_t count);

/* Sets `*share` to the images of the rank in an epoch, and `*images` to how many it loads so that ranks are
 * `even`. RUE_USAGE: the rank is out of range, or has nothing to load. */
rue_status rue_python_images(const struct rue_source *source, const char *options, enum rue_even even,
                             uint64_t *share, uint64_t *images, rue_error *error) RUE_MUST_CHECK;

/* Opens a loader of epochs of `images`, which begins to load. The consumer holds up to `max_held` batches. */
rue_status rue_python_open_loader(const struct rue_source *source, const char *options, uint64_t images,
                                  int max_held, struct rue_loader **out, rue_error *error) RUE_MUST_CHECK;

/* Releases `*batch` and sets it to NULL, in one step: a signal that interrupts Python cannot come between. */
void rue_python_release(struct rue_loader *loader, struct rue_batch **batch);

#endif
