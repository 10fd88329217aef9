/* The end of a stream that a report was rendered to. */
#ifndef RUE_REPORT_STREAM_H
#define RUE_REPORT_STREAM_H

#include <stdio.h>

#include "error.h"

/* Flushes the stream; RUE_STORE when that or any write before it failed. */
rue_status rue_report_finish(FILE *stream, rue_error *error) RUE_MUST_CHECK;

#endif
