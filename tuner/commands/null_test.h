/* The null test: with a loader that takes no time the simulated accelerator must not idle, or what is
 * measured with a real one is not the loader's doing. */
#ifndef RUE_NULL_TEST_H
#define RUE_NULL_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

/* What must not idle more than this passes. */
#define RUE_NULL_TEST_UTILISATION 0.99

struct rue_null_test {
    uint64_t sleep_ns; /* of a batch */
    size_t batches;
    double utilisation_ratio; /* what the batches take, over the trial's time after the first one came */
    uint64_t p99_lateness_ns; /* of their ends; the largest where there are fewer than 100 */
    bool passed;
};

/* A trial of batches of `sleep_ns` each, `time_ns` long in all but of 2 batches at least and 5000 at most.
 * They are loaded in the consumer's own thread: handing over from a worker is the loader's work. RUE_MEMORY;
 * RUE_INTERNAL when the trial fails. */
rue_status rue_null_test_run(uint64_t sleep_ns, uint64_t time_ns, struct rue_null_test *out,
                             rue_error *error) RUE_MUST_CHECK;

#endif
