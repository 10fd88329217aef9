/* The code that loads with what was recommended. */
#ifndef RUE_LOADING_CODE_H
#define RUE_LOADING_CODE_H

#include "findings.h"
#include "section.h"

/* The value of a knob as Python writes it: 32, True, "spawn". Returns `out`. */
enum { RUE_LITERAL_BYTES = RUE_KNOB_TEXT_BYTES + 2 };
const char *rue_loading_literal(const struct rue_knob_info *knob, int value, char out[RUE_LITERAL_BYTES]);

/* Lines of Python, each a sentence, for the loader that was measured. Adds nothing if the
 * study is not decided, or Python cannot read it. */
void rue_loading_code_put(struct rue_page *page, const struct rue_findings *findings,
                          const struct rue_variant_findings *variant, enum rue_look look, int indent);

#endif
