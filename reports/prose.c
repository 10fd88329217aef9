#include "prose.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "units.h"
#include "utf8.h"

#define NB RUE_NO_BREAK

enum { REASON_COLUMNS = 100, NAME_BYTES = PATH_MAX + 256 };

/* Ignores rounding errors of floating point. */
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

static void say_knobs(struct rue_page *page, const char *text)
{
    for (const char *at = text; *at; at++) say_byte(page, *at, *at == ' ' && at > text && at[-1] != ',');
}

void rue_say_config(struct rue_page *page, const struct rue_config *config)
{
    char text[RUE_CONFIG_TEXT_BYTES];
    rue_config_describe(config, text);
    say_knobs(page, text);
}

void rue_say_recommended(struct rue_page *page, const struct rue_variant_findings *variant)
{
    char text[RUE_CONFIG_TEXT_BYTES];
    const struct rue_cost_matrix *matrix = variant->matrix;
    rue_config_describe_varied(&matrix->configs[variant->selection->recommended], matrix->configs,
                               matrix->config_count, text);
    say_knobs(page, text);
}

void rue_say_ranks(struct rue_page *page, const struct rue_variant_findings *variant)
{
    char loaders[RUE_DEPLOYMENT_TEXT_BYTES];
    rue_say(page, "%s", rue_deployment_say(&variant->job.deployment, &variant->job.workload, " ", loaders));
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

const char *rue_prose_figure(double value, bool tenths, char out[RUE_FIGURE_BYTES])
{
    if (isinf(value))
        snprintf(out, RUE_FIGURE_BYTES, "never");
    else
        snprintf(out, RUE_FIGURE_BYTES, tenths || value < 9.95 ? "%.1f" : "%.0f", value);
    return out;
}

void rue_say_interval(struct rue_page *page, double confidence, double low, double high, const char *unit)
{
    char from[RUE_FIGURE_BYTES], to[RUE_FIGURE_BYTES];
    if (confidence == 0) return;
    rue_prose_figure(low, unit[0], from);
    rue_prose_figure(unit[0] ? fmax(high, 0.1) : high, unit[0], to);
    rue_say(page, " (%.3g" NB "%%" NB "CI ", 100 * confidence);
    if (low < 0.05) strcpy(from, "0");
    if (unit[0] && strcmp(from, to) == 0)
        rue_say(page, "%s%s)", to, unit);
    else
        rue_say(page, "%s" NB "to" NB "%s%s)", from, to, unit);
}

const char *rue_prose_gain_interval(const struct rue_speedup *gain, char out[RUE_GAIN_BYTES])
{
    char low[RUE_UNIT_TEXT_BYTES], high[RUE_UNIT_TEXT_BYTES];
    if (gain->confidence == 0) return strcpy(out, "measured once");
    snprintf(out, RUE_GAIN_BYTES, "%.3g" NB "%%" NB "CI %s" NB "to" NB "%s", 100 * gain->confidence,
             rue_format_times(gain->low, low, sizeof low), rue_format_times(gain->high, high, sizeof high));
    return out;
}

const char *rue_prose_judge_gain(const struct rue_speedup *gain)
{
    if (rue_speedup_is_proven(gain) || gain->confidence == 0) return "";
    return gain->high < 1 ? "slower" : "not proven to be faster";
}

void rue_say_payback(struct rue_page *page, double epochs, double confidence, double low, double high)
{
    char text[RUE_FIGURE_BYTES];
    if (epochs <= 1)
        rue_say(page, "within the first epoch of training");
    else if (confidence > 0)
        rue_say(page, "after %s" NB "epochs of training", rue_prose_figure(epochs, false, text));
    else
        rue_say(page, "after %.0f" NB "epochs of training", ceil(epochs));
    rue_say_interval(page, confidence, low, high, "");
}
