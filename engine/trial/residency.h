/* The items that a trial reads, and whether they lie in memory: brought there before a warm trial, put out of
 * there before a cold one. */
#ifndef RUE_RESIDENCY_H
#define RUE_RESIDENCY_H

#include "sampler.h"
#include "source.h"
#include "trial.h"

struct rue_residency;

/* The first `images` of the workload's order, each item once. `source` is borrowed. RUE_MEMORY. */
rue_status rue_residency_open(const struct rue_source *source, const struct rue_workload *workload,
                              uint64_t images, struct rue_residency **out, rue_error *error) RUE_MUST_CHECK;
void rue_residency_close(struct rue_residency *residency);

/* That all of its items have on storage. */
uint64_t rue_residency_bytes(const struct rue_residency *residency);

/* How many of them lie in memory, `ratio` from 0 to 1: of all items, or of a sample of 1,024 where there are
 * more. False where that cannot be told. */
bool rue_residency_ratio(const struct rue_residency *residency, double *ratio);

/* Reads what has left memory; where most of it has, no more than half of the memory that is free. Failures of
 * storage and of damaged items are the trial's to find. */
rue_status rue_residency_warm(const struct rue_residency *residency, rue_error *error) RUE_MUST_CHECK;

/* Puts the files that hold the items out of memory. False where the source does not tell which these are. */
bool rue_residency_evict(const struct rue_residency *residency);

/* Whether the items can be read from storage: puts them out of memory and reads a few, whose bytes the kernel
 * has to count. False with the reason, `why` [bytes]. */
bool rue_residency_try_cold(const struct rue_residency *residency, char *why, size_t bytes);

/* What the kernel counted of a trial that was to be warm or cold: whether it was, else the reason. */
bool rue_residency_judge(const struct rue_residency *residency, const struct rue_workload *workload,
                         uint64_t read_bytes, char *why, size_t bytes);

/* The same of items that have `data_bytes` on storage and are loaded so many times, by whomever. */
bool rue_residency_judge_bytes(const struct rue_workload *workload, uint64_t read_bytes, uint64_t data_bytes,
                               double times, char *why, size_t bytes);

/* The order that a workload asks for, of data that can be read in any order and have one item: `items` and
 * `window` are for who knows the data to fill in. */
struct rue_sampler rue_workload_sampler(const struct rue_workload *workload);

#endif
