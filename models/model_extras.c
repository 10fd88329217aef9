#include "model_extras.h"

#include <stdio.h>
#include <string.h>

#include "units.h"

static const struct {
    const char *begin;
    size_t offset; /* of the ratio in a profile */
} extras[] = {{"+jitter=", offsetof(struct rue_profile, jitter_ratio)},
              {"+host=", offsetof(struct rue_profile, host_ratio)}};
enum { EXTRAS = sizeof extras / sizeof *extras };

static double *ratio_of(struct rue_profile *profile, size_t extra)
{
    return (double *)((char *)profile + extras[extra].offset);
}

const char *rue_model_extras(const char *spec)
{
    const char *first = spec + strlen(spec);
    for (size_t i = 0; i < EXTRAS; i++) {
        const char *at = strstr(spec, extras[i].begin);
        if (at && at < first) first = at;
    }
    return first;
}

/* Reads one of them; `*at` moves behind it. */
static bool read_extra(const char **at, struct rue_profile *out)
{
    char percentage[16];
    size_t extra = 0;
    while (extra < EXTRAS && strncmp(*at, extras[extra].begin, strlen(extras[extra].begin)) != 0) extra++;
    if (extra == EXTRAS || *ratio_of(out, extra) > 0) return false;
    *at += strlen(extras[extra].begin);
    size_t length = strcspn(*at, "+");
    if (length >= sizeof percentage) return false;
    snprintf(percentage, sizeof percentage, "%.*s", (int)length, *at);
    *at += length;
    double *ratio = ratio_of(out, extra);
    return rue_parse_percentage(percentage, ratio) && *ratio > 0 && *ratio <= 1;
}

rue_status rue_model_extras_add(const char *spec, struct rue_profile *out, rue_error *error)
{
    const char *first = rue_model_extras(spec);
    if (*first && out->consumer != RUE_CONSUMER_SLEEP)
        return rue_fail(
            error, RUE_USAGE,
            "model '%s': %s is computed, not simulated, and takes the time that it takes; leave out "
            "'%s'",
            spec, out->name, first);
    for (const char *at = first; *at;)
        if (!read_extra(&at, out))
            return rue_fail(error, RUE_USAGE,
                            "model '%s': what stands behind the name is written like +jitter=5%% or "
                            "+host=20%%, above 0%% and up to 100%%, each once at most",
                            spec);
    size_t used = strlen(out->name);
    for (size_t i = 0; i < EXTRAS; i++)
        if (*ratio_of(out, i) > 0 && used < sizeof out->name)
            used += (size_t)snprintf(out->name + used, sizeof out->name - used, "%s%.9g%%", extras[i].begin,
                                     *ratio_of(out, i) * 100);
    if (used < sizeof out->name) return RUE_OK;
    return rue_fail(error, RUE_USAGE, "model name '%.40s...' is too long", spec);
}
