/* What a study found, and the part of it that is stored. */
#ifndef RUE_STUDY_OUTCOME_H
#define RUE_STUDY_OUTCOME_H

#include "study_parts.h"

/* Stores the findings. RUE_STORE, RUE_MEMORY. */
rue_status rue_study_keep_findings(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                                   const struct rue_findings *findings, rue_error *error) RUE_MUST_CHECK;

/* For a run that ended early: whether to keep the last result in the store, because it has a recommendation
 * for a variant and `findings` do not. If `findings` have no recommendation at all, every variant counts.
 * True: `out` describes that result. It becomes the result of this run if it is about this study. */
bool rue_study_keep_earlier(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                            const struct rue_findings *findings, char *out, size_t bytes);

/* Reports how many trials the store has, and how many of them are of this study. RUE_STORE, RUE_MEMORY. */
rue_status rue_study_note_continued(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                    rue_error *error) RUE_MUST_CHECK;

/* Loads the changes of the machine that the last run of the same scenario knew. RUE_STORE, RUE_MEMORY. */
rue_status rue_study_load_changes(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                  rue_error *error) RUE_MUST_CHECK;

/* Stores the run's scenarios and rules, in case it is killed. RUE_STORE, RUE_MEMORY. */
rue_status rue_study_note_under_way(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                    rue_error *error) RUE_MUST_CHECK;

/* Adds a change to the ledger and the store. Trials that may have been made before or after it are not
 * reused. RUE_STORE, RUE_MEMORY. */
rue_status rue_study_note_change(struct rue_study_ledger *ledger, const struct rue_notice *notice,
                                 rue_error *error) RUE_MUST_CHECK;

/* The same for a node of a farm that was dropped; its discarded trials are not reused. */
rue_status rue_study_note_dropped(struct rue_study_ledger *ledger, const struct rue_dropped_node *node,
                                  rue_error *error) RUE_MUST_CHECK;

/* The runner that measures, and the device of its models. */
void rue_study_describe_runner(const struct rue_study_setup *setup, struct rue_runner_findings *out);

/* Applies the rules to a variant, and compares the recommendation with the baselines. The caller closes
 * `*out`. RUE_MEMORY. */
rue_status rue_study_select(const struct rue_study *study, size_t variant, struct rue_selection **out,
                            rue_error *error) RUE_MUST_CHECK;

/* Applies the rules to all variants. `*out` borrows from the study but owns the matrices from then on; close
 * it with rue_findings_close. */
rue_status rue_study_findings(struct rue_study *study, struct rue_findings **out,
                              rue_error *error) RUE_MUST_CHECK;

#endif
