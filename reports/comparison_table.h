/* Two variants, model by model. */
#ifndef RUE_COMPARISON_TABLE_H
#define RUE_COMPARISON_TABLE_H

#include "comparison.h"
#include "section.h"

/* Adds a sentence, and a table of each model's time per epoch. */
void rue_comparison_put(struct rue_page *page, const struct rue_findings *findings,
                        const struct rue_comparison *comparison);

#endif
