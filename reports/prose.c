#include "prose.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "utf8.h"

#define NB RUE_NO_BREAK

enum { FIGURE_BYTES = 32, REASON_COLUMNS = 100, NAME_BYTES = PATH_MAX + 256 };

/* What floating point adds to a tenth is nothing to round up for. */
double rue_prose_bound_percent(double ratio)
{
    return fmax(1, ceil(1000 * ratio * (1 - 1e-12))) / 10;
}

const char *rue_prose_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void say_byte(struct rue_page *page, char byte, bool no_break)
{
    const char text[2] = {byte, 0};
    rue_say(page, "%s", no_break ? NB : text);
}

void rue_say_unbroken(struct rue_page *page, const char *text)
{
    for (; *text; text++) say_byte(page, *text, *text == ' ');
}

void rue_say_config(struct rue_page *page, const struct rue_config *config)
{
    char text[RUE_CONFIG_TEXT_BYTES];
    rue_config_describe(config, text);
    for (const char *at = text; *at; at++) say_byte(page, *at, *at == ' ' && at > text && at[-1] != ',');
}

void rue_say_variant(struct rue_page *page, const struct rue_findings *findings,
                     const struct rue_variant_findings *variant)
{
    char text[NAME_BYTES];
    rue_findings_name_among(findings, variant, text, sizeof text);
    rue_say(page, "%s", text);
}

void rue_say_reason(struct rue_page *page, const char *before, const char *reason, const char *after)
{
    char text[RUE_REASON_BYTES + 4];
    rue_utf8_shorten(reason, REASON_COLUMNS, true, text, sizeof text);
    if (text[0]) rue_say(page, "%s%s%s", before, text, after);
}

/* To a tenth as long as that is seen. */
static void say_figure(char out[FIGURE_BYTES], double value, bool tenths)
{
    if (value < 0.05)
        snprintf(out, FIGURE_BYTES, "<" NB "0.1");
    else
        snprintf(out, FIGURE_BYTES, tenths || value < 9.95 ? "%.1f" : "%.0f", value);
}

void rue_say_interval(struct rue_page *page, double confidence, double low, double high, const char *unit)
{
    char from[FIGURE_BYTES], to[FIGURE_BYTES];
    if (confidence == 0) return;
    say_figure(from, low, unit[0]);
    say_figure(to, high, unit[0]);
    rue_say(page, " (%.3g" NB "%%" NB "CI ", 100 * confidence);
    if (!isfinite(high))
        rue_say(page, "%s" NB "or" NB "more: it may never pay back)", from);
    else if (unit[0] && strcmp(from, to) == 0)
        rue_say(page, "%s%s)", to, unit);
    else
        rue_say(page, "%s" NB "to" NB "%s%s)", from, to, unit);
}

void rue_say_payback(struct rue_page *page, double epochs, double confidence, double low, double high)
{
    char text[FIGURE_BYTES];
    say_figure(text, epochs, false);
    if (epochs <= 1)
        rue_say(page, "within the first epoch");
    else if (confidence > 0)
        rue_say(page, "after %s" NB "epochs", text);
    else
        rue_say(page, "after %.0f" NB "epochs", ceil(epochs));
    rue_say_interval(page, confidence, low, high, "");
}
