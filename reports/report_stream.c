#include "report_stream.h"

#include <errno.h>
#include <string.h>

rue_status rue_report_finish(FILE *stream, rue_error *error)
{
    errno = 0;
    if (fflush(stream) == 0 && !ferror(stream)) return RUE_OK;
    return rue_fail(error, RUE_STORE, "cannot write the report: %s",
                    errno ? strerror(errno) : "an earlier write failed");
}
