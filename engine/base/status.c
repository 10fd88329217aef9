#include "status.h"

#include <assert.h>
#include <stddef.h>

static const struct {
    int exit_code;
    const char *text;
} statuses[] = {
#define X(name, exit_code, text) {exit_code, text},
    RUE_STATUS_MAP(X)
#undef X
};

const char *rue_status_text(rue_status status)
{
    assert((size_t)status < sizeof statuses / sizeof *statuses);
    return statuses[status].text;
}

int rue_status_exit_code(rue_status status)
{
    assert((size_t)status < sizeof statuses / sizeof *statuses);
    return statuses[status].exit_code;
}
