/* How much other programs slowed a trial down, by using CPUs that its loader needed.
 *
 * The workers need as many CPUs as there are workers, at most all. The process had those that it used, and
 * those that were idle. If both together are less than what the workers needed, loading took longer by the
 * quotient. The trial is slower by as much if it waits for the loader, and not at all if it waits for the
 * model. So a machine that is slow for other reasons, such as storage, is not contended: its CPUs are idle.
 *
 * Limit: work for the loader in other processes, such as file systems in user space, counts as that of other
 * programs. Pure. */
#ifndef RUE_CONTENTION_H
#define RUE_CONTENTION_H

#include "trial.h"

struct rue_contention {
    double load_ratio;  /* by which loading took longer; 1: as usual, or not known */
    double whole_ratio; /* by which the trial took longer */
    double sd;          /* of the logarithm of whole_ratio */
    double other_cpus;  /* that the workers needed and other programs used */
};

/* `cpus`: those that the process may use; 0: times count as measured. */
struct rue_contention rue_contention_find(const struct rue_trial_result *result, int cpus);

#endif
