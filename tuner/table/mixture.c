#include "mixture.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
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

static bool same_cell(const struct rue_tally_trial *a, const struct rue_tally_trial *b)
{
    return a->group == b->group && a->model == b->model && rue_config_equal(&a->config, &b->config);
}

static uint64_t hash_of(const struct rue_tally_trial *trial, const char *repeat)
{
    uint64_t hash = rue_hash(RUE_HASH_START, repeat, strlen(repeat));
    hash = rue_hash(hash, &trial->group, sizeof trial->group);
    hash = rue_hash(hash, &trial->model, sizeof trial->model);
    return rue_hash(hash, trial->config.value, sizeof trial->config.value);
}

static const char **values_of(const struct rue_mixture *mixture, size_t cell)
{
    return mixture->values + cell * (mixture->unread_count + 1);
}

/* The slot that holds the trial's cell, or the free one where it belongs. */
static size_t *slot_of(const struct rue_mixture *mixture, const struct rue_tally *tally, size_t trial,
                       const char *repeat)
{
    const struct rue_tally_trial *own = &tally->trials[trial];
    for (size_t at = hash_of(own, repeat);; at++) {
        size_t *slot = &mixture->slots[at & (mixture->slot_count - 1)];
        if (*slot == 0) return slot;
        bool same = strcmp(values_of(mixture, *slot - 1)[mixture->unread_count], repeat) == 0;
        if (same && same_cell(own, &tally->trials[mixture->trials[*slot - 1]])) return slot;
    }
}

/* At most half of the slots are taken. */
static rue_status make_room(struct rue_mixture *mixture, const struct rue_tally *tally, rue_error *error)
{
    if (mixture->count < mixture->capacity) return RUE_OK;
    size_t capacity = mixture->capacity ? 2 * mixture->capacity : 256, width = mixture->unread_count + 1;
    size_t *trials = realloc(mixture->trials, capacity * sizeof *trials);
    if (trials) mixture->trials = trials;
    const char **values = trials ? realloc(mixture->values, capacity * width * sizeof *values) : NULL;
    if (values) mixture->values = values;
    size_t *slots = values ? calloc(2 * capacity, sizeof *slots) : NULL;
    if (!slots) return rue_fail_memory(error, "cells of a table", capacity * width * sizeof *values);
    free(mixture->slots);
    mixture->slots = slots;
    mixture->slot_count = 2 * capacity;
    mixture->capacity = capacity;
    for (size_t i = 0; i < mixture->count; i++)
        *slot_of(mixture, tally, mixture->trials[i], values_of(mixture, i)[width - 1]) = i + 1;
    return RUE_OK;
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

static rue_status compare(const struct row *row, size_t cell, rue_error *error)
{
    const struct rue_mixture *mixture = row->mixture;
    const char **first = values_of(mixture, cell);
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
    rue_status status = find_unread(&row, error);
    if (status != RUE_OK || mixture->unread_count == 0) return status;
    status = make_room(mixture, tally, error);
    if (status != RUE_OK) return status;
    size_t *slot = slot_of(mixture, tally, tally->trial_count - 1, repeat_of(&row));
    if (*slot) return compare(&row, *slot - 1, error);
    const char **values = values_of(mixture, mixture->count);
    for (size_t u = 0; u < mixture->unread_count; u++) values[u] = record->fields[mixture->unread[u]];
    values[mixture->unread_count] = repeat_of(&row);
    mixture->trials[mixture->count] = tally->trial_count - 1;
    *slot = ++mixture->count;
    return RUE_OK;
}

void rue_mixture_close(struct rue_mixture *mixture)
{
    free(mixture->unread);
    free(mixture->trials);
    free(mixture->values);
    free(mixture->slots);
    *mixture = (struct rue_mixture){0};
}
