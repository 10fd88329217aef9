/* Finds the answers beside the winner and puts them into findings. */
#ifndef RUE_FURTHER_ANSWERS_H
#define RUE_FURTHER_ANSWERS_H

#include "findings.h"
#include "ranking_rules.h"

/* Fills in `answers`, owned, of every variant, `overall`, and `interval` and the bound where none was claimed
 * and repeats tell one. The memory of batches in flight is known of our own loader. Must be closed also where
 * it fails. RUE_MEMORY.
 */
rue_status rue_further_answers_find(struct rue_findings *findings, const struct rue_ranking_rules *rules,
                                    rue_error *error) RUE_MUST_CHECK;
void rue_further_answers_close(struct rue_findings *findings);

#endif
