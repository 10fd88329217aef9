#include "mixture.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "shell_quote.h"

#define NONE SIZE_MAX

/* The row at hand. */
struct row {
    struct rue_mixture *mixture;
    const struct rue_columns *columns;
    const char *const *header;
    const struct rue_tally *tally;
    const struct rue_csv_record *record;
    const char *map;
};

static const char *repeat_of(const struct row *row)
{
    size_t field = row->columns->field[RUE_COLUMN_REPEAT];
    return field == NONE ? "" : row->record->fields[field];
}

/* The number of the cell, that of the first row of its kind where it is new. */
static rue_status number_cell(const struct row *row, size_t *out, rue_error *error)
{
    const struct rue_tally_trial *trial = &row->tally->trials[row->tally->trial_count - 1];
    char key[RUE_COLUMN_TEXT_BYTES];
    int used = snprintf(key, sizeof key, "%zu %zu", trial->group, trial->model);
    for (int k = 0; k < RUE_OWN_KNOB_COUNT; k++)
        used += snprintf(key + used, sizeof key - (size_t)used, " %d", trial->config.value[k]);
    snprintf(key + used, sizeof key - (size_t)used, " %.200s", repeat_of(row));
    return rue_names_number(&row->mixture->cells, key, out, error);
}

static rue_status find_unread(const struct row *row, rue_error *error)
{
    struct rue_mixture *mixture = row->mixture;
    if (mixture->unread) return RUE_OK;
    mixture->unread = malloc((row->columns->count + 1) * sizeof *mixture->unread);
    if (!mixture->unread) return rue_fail_memory(error, "columns", row->columns->count);
    for (size_t f = 0; f < row->columns->count; f++)
        if (!rue_columns_reads(row->columns, f)) mixture->unread[mixture->unread_count++] = f;
    return RUE_OK;
}

/* A word, not a number or a date. */
static bool is_word(const char *text)
{
    return isalpha((unsigned char)*text) || (unsigned char)*text >= 0x80;
}

/* What a column that holds both texts may be, one of ours that the file lacks; RUE_COLUMN_REPEAT when only
 * the repeats are left; RUE_COLUMN_COUNT when it says nothing. */
static enum rue_column suspect(const struct rue_columns *columns, const char *a, const char *b)
{
    static const enum rue_column words[] = {RUE_COLUMN_MODE, RUE_COLUMN_MODEL, RUE_COLUMN_FORMAT,
                                            RUE_COLUMN_DTYPE};
    if (strcmp(a, b) == 0 || !*a || !*b) return RUE_COLUMN_COUNT;
    for (int k = 0; k < RUE_OWN_KNOB_COUNT; k++) {
        int value;
        enum rue_column column = (enum rue_column)(RUE_COLUMN_KNOBS + k);
        if (columns->field[column] == NONE && rue_own_knobs.at[k]->always_shown &&
            rue_knob_parse(rue_own_knobs.at[k], a, &value) && rue_knob_parse(rue_own_knobs.at[k], b, &value))
            return column;
    }
    if (!is_word(a) || !is_word(b)) return RUE_COLUMN_COUNT;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (columns->field[words[i]] == NONE) return words[i];
    return RUE_COLUMN_REPEAT;
}

static rue_status fail_mixed(const struct row *row, size_t field, enum rue_column column, rue_error *error)
{
    const char *theirs = row->header[field], *ours = rue_column_name(column),
               *comma = row->map && *row->map ? "," : "", *map = row->map ? row->map : "";
    char list[RUE_COLUMN_TEXT_BYTES], typed[2 * RUE_COLUMN_TEXT_BYTES], asked[sizeof typed + 96] = "";
    if (column != RUE_COLUMN_REPEAT) {
        snprintf(list, sizeof list, "%s=%.200s%s%.300s", ours, theirs, comma, map);
        rue_shell_quote(list, typed, sizeof typed);
        snprintf(asked, sizeof asked, ": is it the %s? --map %s; if it only tells repeats apart", ours,
                 typed);
    }
    snprintf(list, sizeof list, "repeat=%.200s%s%.300s", theirs, comma, map);
    rue_shell_quote(list, typed, sizeof typed);
    return rue_fail(error, RUE_DATA, "line %" PRIu64 ": rows of one cell differ in '%.60s'%s: --map %s",
                    row->record->line, theirs, asked, typed);
}

static rue_status compare(const struct row *row, const char *const *first, rue_error *error)
{
    const struct rue_mixture *mixture = row->mixture;
    for (size_t u = 0; u < mixture->unread_count; u++) {
        size_t field = mixture->unread[u];
        enum rue_column column = suspect(row->columns, first[u], row->record->fields[field]);
        if (column != RUE_COLUMN_COUNT) return fail_mixed(row, field, column, error);
    }
    return RUE_OK;
}

rue_status rue_mixture_note(struct rue_mixture *mixture, const struct rue_columns *columns,
                            const char *const *header, const struct rue_tally *tally,
                            const struct rue_csv_record *record, const char *map, rue_error *error)
{
    const struct row row = {mixture, columns, header, tally, record, map};
    size_t cell, before = mixture->cells.count;
    rue_status status = find_unread(&row, error);
    size_t width = mixture->unread_count;
    if (status != RUE_OK || width == 0) return status;
    status = number_cell(&row, &cell, error);
    if (status != RUE_OK) return status;
    if (cell < before) return compare(&row, mixture->values + cell * width, error);
    status = rue_array_grow(&mixture->values, &mixture->capacity, (cell + 1) * width, sizeof *mixture->values,
                            "cells of a table", error);
    for (size_t u = 0; status == RUE_OK && u < width; u++)
        mixture->values[cell * width + u] = record->fields[mixture->unread[u]];
    return status;
}

void rue_mixture_close(struct rue_mixture *mixture)
{
    free(mixture->unread);
    free(mixture->values);
    rue_names_close(&mixture->cells);
    *mixture = (struct rue_mixture){0};
}
