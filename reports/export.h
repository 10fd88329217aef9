/* What was recommended, as people paste it: arguments of PyTorch and of frameworks around it, settings, C. */
#ifndef RUE_EXPORT_H
#define RUE_EXPORT_H

#include <stdio.h>

#include "findings.h"

/* The names of all formats: "torch", "env", ..., NULL at the end. */
extern const char *const rue_export_names[];

/* Writes the only recommendation of `findings`, which is decided, in a format (its index). RUE_USAGE: the
 * format is for another loader than the one that was measured, cannot express a knob, or the study has
 * several variants that it could be about; RUE_STORE: the stream failed. */
rue_status rue_export_write(const struct rue_findings *findings, size_t format, FILE *stream,
                            rue_error *error) RUE_MUST_CHECK;

#endif
