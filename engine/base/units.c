#include "units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *suffix;
    double ns;
} durations[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"m", 60e9}, {"h", 3600e9}};

static const double most = 0x1p58; /* nine years in ns, 256 PiB: as large as a value of a trial */

/* A non-negative decimal number, without the hexadecimal numbers, infinities and signs of strtod. */
static bool parse_number(const char *text, double *out, const char **end)
{
    size_t digits = strspn(text, "0123456789.");
    if (digits == 0 || digits > 24) return false;
    char copy[32], *stop;
    memcpy(copy, text, digits);
    copy[digits] = 0;
    *out = strtod(copy, &stop);
    *end = text + digits;
    return *stop == 0;
}

bool rue_parse_duration_ns(const char *text, uint64_t *out_ns, const char **end)
{
    double number;
    const char *unit;
    if (!parse_number(text, &number, &unit)) return false;
    size_t letters = 0;
    while ((unit[letters] | 32) >= 'a' && (unit[letters] | 32) <= 'z') letters++;
    for (size_t i = 0; i < sizeof durations / sizeof *durations; i++) {
        if (strlen(durations[i].suffix) != letters || strncmp(unit, durations[i].suffix, letters) != 0)
            continue;
        if (!end && unit[letters]) return false;
        double ns = round(number * durations[i].ns);
        if (!(ns <= most)) return false;
        if (end) *end = unit + letters;
        *out_ns = (uint64_t)ns;
        return true;
    }
    return false;
}

bool rue_parse_bytes(const char *text, uint64_t *out_bytes)
{
    static const char suffixes[] = "KMGTP";
    double number;
    const char *unit;
    if (!parse_number(text, &number, &unit)) return false;
    double scale = 1;
    const char *suffix = *unit ? strchr(suffixes, *unit & ~32) : NULL;
    if (suffix && *suffix) {
        scale = ldexp(1, 10 * (int)(suffix - suffixes + 1));
        unit++;
    }
    if (*unit && strcasecmp(unit, "b") != 0 && (!suffix || strcasecmp(unit, "ib") != 0)) return false;
    double count = round(number * scale);
    if (!(count <= most)) return false;
    *out_bytes = (uint64_t)count;
    return true;
}

bool rue_parse_percentage(const char *text, double *out_ratio)
{
    double number;
    const char *unit;
    if (!parse_number(text, &number, &unit) || strcmp(unit, "%") != 0) return false;
    *out_ratio = number / 100;
    return true;
}

const char *rue_format_duration(uint64_t ns, char *out, size_t bytes)
{
    double s = (double)ns / 1e9;
    uint64_t seconds = (uint64_t)(s + 0.5);
    if (ns < 1000)
        snprintf(out, bytes, ns ? "%" PRIu64 " ns" : "%" PRIu64 " s", ns);
    else if (s < 999.5e-6)
        snprintf(out, bytes, "%.0f us", s * 1e6);
    else if (s < 999.5e-3)
        snprintf(out, bytes, "%.3g ms", s * 1e3);
    else if (s < 99.95)
        snprintf(out, bytes, "%.3g s", s);
    else if (seconds < 3600)
        snprintf(out, bytes, "%" PRIu64 " m %02" PRIu64 " s", seconds / 60, seconds % 60);
    else
        snprintf(out, bytes, "%" PRIu64 " h %02" PRIu64 " m", seconds / 3600, seconds / 60 % 60);
    return out;
}

const char *rue_format_bytes(uint64_t count, char *out, size_t bytes)
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
    double value = (double)count;
    size_t unit = 0;
    while (value >= 999.5 && unit + 1 < sizeof units / sizeof *units) value /= 1000, unit++;
    snprintf(out, bytes, value < 9.95 && unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return out;
}

const char *rue_format_scaled(uint64_t number, char *out, size_t bytes)
{
    static const char suffixes[] = " KMGTPE";
    double value = (double)number;
    size_t suffix = 0;
    while (value >= 999.5) value /= 1000, suffix++;
    snprintf(out, bytes, suffix ? "%.3g %c" : "%.0f", value, suffixes[suffix]);
    return out;
}

const char *rue_format_count(uint64_t count, char *out, size_t bytes)
{
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, count);
    size_t used = 0;
    for (int i = 0; i < n && used + 2 < bytes; i++) {
        if (i && (n - i) % 3 == 0) out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = 0;
    return out;
}

const char *rue_format_times(double ratio, char *out, size_t bytes)
{
    snprintf(out, bytes, ratio < 9.995 ? "%.2f" : ratio < 99.95 ? "%.1f" : "%.0f", ratio);
    if (strcmp(out, "1.00") == 0 && ratio != 1) snprintf(out, bytes, "%.3f", ratio);
    return out;
}
