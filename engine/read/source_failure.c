#include "source_failure.h"

#include <errno.h>
#include <string.h>

#include "advice.h"

rue_status rue_source_failure(int error_number)
{
    switch (error_number) {
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        return RUE_INFEASIBLE;
    case EIO:
        return RUE_STORE;
    default:
        return RUE_DATA;
    }
}

rue_status rue_fail_open(rue_error *error, const char *path)
{
    int why = errno;
    return rue_fail(error, rue_source_failure(why), "cannot open %s: %s%s", path, strerror(why),
                    rue_advice(why));
}
