#include "prose.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "utf8.h"

struct rue_prose rue_prose_start(char *out, size_t bytes)
{
    if (bytes) out[0] = 0;
    return (struct rue_prose){out, bytes, 0};
}

void rue_prose_say(struct rue_prose *prose, const char *format, ...)
{
    if (prose->used >= prose->bytes) return;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(prose->out + prose->used, prose->bytes - prose->used, format, arguments);
    va_end(arguments);
    if (length > 0) prose->used += (size_t)length;
}

/* What floating point adds to a tenth is nothing to round up for. */
double rue_prose_bound_percent(double ratio)
{
    return fmax(1, ceil(1000 * ratio * (1 - 1e-12))) / 10;
}

const char *rue_prose_end(double value, char out[RUE_PROSE_END_BYTES])
{
    if (value < 0.05)
        snprintf(out, RUE_PROSE_END_BYTES, "<" RUE_NO_BREAK "0.1");
    else
        snprintf(out, RUE_PROSE_END_BYTES, "%.1f", value);
    return out;
}

const char *rue_prose_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

void rue_prose_say_unbroken(struct rue_prose *prose, const char *text)
{
    for (; *text; text++) {
        if (*text == ' ')
            rue_prose_say(prose, RUE_NO_BREAK);
        else
            rue_prose_say(prose, "%c", *text);
    }
}

void rue_prose_say_config(struct rue_prose *prose, const struct rue_config *config)
{
    char text[RUE_CONFIG_TEXT_BYTES];
    rue_config_describe(config, text);
    for (const char *at = text; *at; at++) {
        if (*at == ' ' && at > text && at[-1] != ',')
            rue_prose_say(prose, RUE_NO_BREAK);
        else
            rue_prose_say(prose, "%c", *at);
    }
}

void rue_prose_say_variant(struct rue_prose *prose, const struct rue_findings *findings,
                           const struct rue_variant_findings *variant, bool unicode)
{
    char text[RUE_PROSE_NAME_BYTES], clean[RUE_PROSE_NAME_BYTES];
    rue_findings_name_among(findings, variant, text, sizeof text);
    rue_utf8_clean(text, unicode, clean, sizeof clean);
    rue_prose_say(prose, "%s", clean);
}

void rue_prose_say_model(struct rue_prose *prose, const struct rue_variant_findings *variant, size_t model,
                         bool unicode)
{
    char clean[RUE_PROSE_NAME_BYTES];
    rue_utf8_clean(variant->matrix->models[model], unicode, clean, sizeof clean);
    rue_prose_say(prose, "%s", clean);
}

/* To a tenth as long as that is seen. */
static const char *times_text(double times, char text[RUE_PROSE_END_BYTES])
{
    if (times < 9.95) return rue_prose_end(times, text);
    snprintf(text, RUE_PROSE_END_BYTES, "%.0f", times);
    return text;
}

void rue_prose_say_payback(struct rue_prose *prose, double times, bool exact, const char *what)
{
    char text[RUE_PROSE_END_BYTES];
    if (times <= 1)
        rue_prose_say(prose, "within the first %s", what);
    else if (exact)
        rue_prose_say(prose, "after %s" RUE_NO_BREAK "%ss", times_text(times, text), what);
    else
        rue_prose_say(prose, "after %.0f" RUE_NO_BREAK "%s%s", ceil(times), what,
                      rue_prose_plural((uint64_t)ceil(times)));
}

void rue_prose_say_payback_interval(struct rue_prose *prose, double confidence, double low, double high)
{
    char from[RUE_PROSE_END_BYTES], to[RUE_PROSE_END_BYTES];
    rue_prose_say(prose, " (%.3g" RUE_NO_BREAK "%%" RUE_NO_BREAK "CI %s" RUE_NO_BREAK, 100 * confidence,
                  times_text(low, from));
    if (isfinite(high))
        rue_prose_say(prose, "to" RUE_NO_BREAK "%s)", times_text(high, to));
    else
        rue_prose_say(prose, "or" RUE_NO_BREAK "more: it may never pay back)");
}
