#include "budget.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

static const double share_max = 1000;
static const unsigned long long trials_max = 1000000000; /* more than any study can hold */

static bool parse_trials(const char *text, size_t *out)
{
    char *unit;
    if (!isdigit((unsigned char)*text)) return false;
    errno = 0;
    unsigned long long count = strtoull(text, &unit, 10);
    if (errno || count == 0 || count > trials_max) return false;
    if (strcmp(unit, "trials") != 0 && strcmp(unit, "trial") != 0) return false;
    *out = (size_t)count;
    return true;
}

bool rue_budget_parse(const char *text, struct rue_budget *out)
{
    *out = (struct rue_budget){0};
    if (rue_parse_duration_ns(text, &out->time_ns, NULL)) return out->time_ns > 0;
    return parse_trials(text, &out->trials) ||
           (rue_parse_percentage(text, &out->share) && out->share > 0 && out->share <= share_max);
}

const char *rue_budget_format(const struct rue_budget *budget, char *out, size_t bytes)
{
    if (budget->share > 0) {
        snprintf(out, bytes, "%g %%", 100 * budget->share);
        return out;
    }
    if (!budget->trials) return rue_format_duration(budget->time_ns, out, bytes);
    char count[RUE_UNIT_TEXT_BYTES];
    snprintf(out, bytes, "%s trial%s", rue_format_count(budget->trials, count, sizeof count),
             budget->trials == 1 ? "" : "s");
    return out;
}
