#include "advice.h"

#include <errno.h>
#include <stddef.h>

static const struct {
    int error_number;
    const char *text;
} advices[] = {
    {ENOSPC, "; free some space or write elsewhere"},
    {EDQUOT, "; free some space or write elsewhere"},
    {EFBIG, "; raise the file size limit (ulimit -f)"},
    {EMFILE, "; raise the limit on open files (ulimit -n)"},
    {ENFILE, "; the system has too many open files: close other programs"},
    {ENOMEM, "; free some memory, or raise the memory limit (ulimit -v)"},
    {EAGAIN, "; raise the limit on processes and threads (ulimit -u)"},
};

const char *rue_advice_or(int error_number, const char *otherwise)
{
    for (size_t i = 0; i < sizeof advices / sizeof *advices; i++)
        if (advices[i].error_number == error_number) return advices[i].text;
    return otherwise;
}

const char *rue_advice(int error_number)
{
    return rue_advice_or(error_number, "");
}
