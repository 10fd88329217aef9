#include "csv_field.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

/* Includes the full-width signs of East Asian keyboards. */
static bool begins_formula(const char *text)
{
    static const char *const signs[] = {"=", "+", "-", "@", "\uFF1D", "\uFF0B", "\uFF0D", "\uFF20"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strncmp(text, signs[i], strlen(signs[i])) == 0) return true;
    return false;
}

/* Skips single quotes, so that reading restores quotes of the text itself. */
static bool is_quoted_formula(const char *text)
{
    double number;
    const char *begin = text + strspn(text, "'");
    return begins_formula(begin) && !rue_csv_get_number(begin, &number);
}

void rue_csv_put_text(FILE *stream, const char *text)
{
    char clean[PATH_MAX];
    rue_utf8_clean(text, true, clean, sizeof clean);
    const char *quote = is_quoted_formula(clean) ? "'" : "";
    if (!clean[strcspn(clean, ",\"")]) {
        fprintf(stream, "%s%s", quote, clean);
        return;
    }
    fprintf(stream, "\"%s", quote);
    for (const char *at = clean; *at; at++) {
        if (*at == '"') fputc('"', stream);
        fputc(*at, stream);
    }
    fputc('"', stream);
}

const char *rue_csv_get_text(const char *field)
{
    return field[0] == '\'' && is_quoted_formula(field) ? field + 1 : field;
}

bool rue_csv_get_number(const char *field, double *out)
{
    char *end;
    if (!*field || field[strspn(field, "+-.0123456789eE")]) return false;
    *out = strtod(field, &end);
    return *end == 0 && isfinite(*out);
}
