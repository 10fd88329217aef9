/* The items that a trial reads, and whether they are in the page cache. Before a warm trial they are loaded
 * into it, before a cold one they are evicted. */
#ifndef RUE_RESIDENCY_H
#define RUE_RESIDENCY_H

#include "sampler.h"
#include "source.h"
#include "trial.h"

struct rue_residency;

/* Selects the first `images` of an order that is not open, each item once. `source` must stay open.
 * RUE_MEMORY, and the errors of rue_sampler_open. */
rue_status rue_residency_open(const struct rue_source *source, const struct rue_sampler *order,
                              uint64_t images, struct rue_residency **out, rue_error *error) RUE_MUST_CHECK;
void rue_residency_close(struct rue_residency *residency);

/* Bytes of all these items on storage. */
uint64_t rue_residency_bytes(const struct rue_residency *residency);

/* Sets `*ratio` to the share (0 to 1) of the items' bytes that are in memory, from a sample of 1,024 items if
 * there are more. False: it cannot be determined. */
bool rue_residency_ratio(const struct rue_residency *residency, double *ratio);

/* Reads the items that are not in memory, if they fit into half of the free memory. Ignores errors of storage
 * and damaged items: the trial will report them. */
rue_status rue_residency_warm(const struct rue_residency *residency, rue_error *error) RUE_MUST_CHECK;

/* Evicts the files of the items from memory. False: the source does not know their files. */
bool rue_residency_evict(const struct rue_residency *residency);

/* Whether the items can be read cold: evicts them, reads some, and checks that the kernel counts their bytes.
 * False: `why` [bytes] has the reason. */
bool rue_residency_try_cold(const struct rue_residency *residency, char *why, size_t bytes);

/* Whether a trial was warm or cold as requested, from the bytes that it read from storage. False: `why`
 * [bytes] has the reason. */
bool rue_residency_judge(const struct rue_residency *residency, const struct rue_workload *workload,
                         uint64_t read_bytes, char *why, size_t bytes);

/* The same for items of `data_bytes` on storage that are loaded for `epochs` epochs by any loaders. */
bool rue_residency_judge_bytes(const struct rue_workload *workload, uint64_t read_bytes, uint64_t data_bytes,
                               double epochs, char *why, size_t bytes);

#endif
