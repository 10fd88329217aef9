#include "columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suggest.h"

#define NONE SIZE_MAX

static const char *const names[RUE_COLUMN_KNOBS] = {
    [RUE_COLUMN_MODE] = "mode",
    [RUE_COLUMN_FORMAT] = "format",
    [RUE_COLUMN_DTYPE] = "dtype",
    [RUE_COLUMN_MODEL] = "model",
    [RUE_COLUMN_MEASURE] = "measure",
    [RUE_COLUMN_REQUESTED_IMAGES] = "requested_images",
    [RUE_COLUMN_JOB_IMAGES] = "job_images",
    [RUE_COLUMN_STATUS] = "status",
    [RUE_COLUMN_REASON] = "reason",
    [RUE_COLUMN_TIME_S] = "time_s",
    [RUE_COLUMN_TIME_MS] = "time_ms",
    [RUE_COLUMN_TIME_NS] = "time_ns",
    [RUE_COLUMN_END_TO_END_NS] = "end_to_end_ns",
};

static const double ns_per_unit[RUE_COLUMN_COUNT] = {[RUE_COLUMN_TIME_S] = 1e9,
                                                     [RUE_COLUMN_TIME_MS] = 1e6,
                                                     [RUE_COLUMN_TIME_NS] = 1,
                                                     [RUE_COLUMN_END_TO_END_NS] = 1};

const char *rue_column_name(enum rue_column column)
{
    return column < RUE_COLUMN_KNOBS ? names[column] : rue_own_knobs.at[column - RUE_COLUMN_KNOBS]->name;
}

/* "mode, model, ..." */
static void list_columns(char *out, size_t bytes)
{
    size_t used = 0;
    for (int c = 0; c < RUE_COLUMN_COUNT && used < bytes; c++)
        used += (size_t)snprintf(out + used, bytes - used, "%s%s", c ? ", " : "", rue_column_name(c));
}

struct column_search {
    const struct rue_csv_record *header;
    const char *file;
    char *map;                            /* owned copy, split at commas */
    const char *mapped[RUE_COLUMN_COUNT]; /* into `map`; NULL: the column has rue's name */
    char list[RUE_COLUMN_TEXT_BYTES];     /* the file's columns, for messages */
};

static void add_to_list(char *list, const char *name)
{
    size_t used = strlen(list);
    snprintf(list + used, RUE_COLUMN_TEXT_BYTES - used, "%s%.60s", used ? ", " : "", name);
}

static rue_status read_map_entry(struct column_search *search, char *entry, rue_error *error)
{
    entry = rue_csv_trim(entry);
    char *equals = strchr(entry, '=');
    if (!equals || equals == entry || !equals[1 + strspn(equals + 1, " \t")])
        return rue_fail(error, RUE_USAGE, "--map: '%.100s' is not NAME=COLUMN, such as time_s=seconds",
                        entry);
    *equals = 0;
    entry = rue_csv_trim(entry);
    char *column = rue_csv_trim(equals + 1);
    const char *known[RUE_COLUMN_COUNT];
    for (int c = 0; c < RUE_COLUMN_COUNT; c++) {
        known[c] = rue_column_name(c);
        if (strcmp(known[c], entry) != 0) continue;
        if (search->mapped[c]) return rue_fail(error, RUE_USAGE, "--map: %s is given twice", entry);
        search->mapped[c] = column;
        return RUE_OK;
    }
    char near[RUE_SUGGESTION_BYTES];
    if (*rue_did_you_mean(entry, known, RUE_COLUMN_COUNT, "", near))
        return rue_fail(error, RUE_USAGE, "--map: unknown name '%.60s'%s", entry, near);
    char list[512];
    list_columns(list, sizeof list);
    return rue_fail(error, RUE_USAGE, "--map: unknown name '%.60s'; known names: %s", entry, list);
}

static rue_status read_map(struct column_search *search, const char *map, rue_error *error)
{
    char *save = NULL;
    rue_status status = RUE_OK;
    if (!map) return RUE_OK;
    if (!(search->map = strdup(map))) return rue_fail_memory(error, "--map", strlen(map));
    for (char *entry = strtok_r(search->map, ",", &save); status == RUE_OK && entry;
         entry = strtok_r(NULL, ",", &save))
        status = read_map_entry(search, entry, error);
    return status;
}

/* Prefers the exact name to one that differs in case; NONE: no such column. */
static rue_status find_field(const struct column_search *search, const char *name, size_t *out,
                             rue_error *error)
{
    *out = NONE;
    for (int exact = 1; exact >= 0 && *out == NONE; exact--)
        for (size_t f = 0; f < search->header->count; f++) {
            const char *field = search->header->fields[f];
            if (exact ? strcmp(field, name) != 0 : strcasecmp(field, name) != 0) continue;
            if (*out != NONE)
                return rue_fail(error, RUE_DATA, "%s: two columns have the name '%s'; rename one of them",
                                search->file, field);
            *out = f;
        }
    return RUE_OK;
}

static rue_status find_mapped(const struct column_search *search, enum rue_column column, size_t *out,
                              rue_error *error)
{
    const char *field = search->mapped[column];
    rue_status status = find_field(search, field, out, error);
    if (status != RUE_OK || *out != NONE) return status;
    const char *near = rue_suggest(field, (const char *const *)search->header->fields, search->header->count);
    return rue_fail(error, RUE_DATA, "%s has no column '%.60s' (--map %s=%.60s)%s%.60s%s; its columns: %s",
                    search->file, field, rue_column_name(column), field, near ? ": did you mean '" : "",
                    near ? near : "", near ? "'?" : "", search->list);
}

static rue_status fail_missing(const struct column_search *search, const char *content,
                               enum rue_column column, rue_error *error)
{
    const char *name = search->header->fields[0];
    if (search->header->count == 1 && name[strcspn(name, ";\t")])
        return rue_fail(error, RUE_DATA, "%s: its columns seem to be separated by %s; save it with commas",
                        search->file, strchr(name, ';') ? "';'" : "tabs");
    return rue_fail(error, RUE_DATA, "%s: no column of %s; name it with --map %s=COLUMN; its columns: %s",
                    search->file, content, rue_column_name(column), search->list);
}

/* Chooses the column of times that was mapped, else the only one. */
static rue_status choose_time(const struct column_search *search, struct rue_columns *out, rue_error *error)
{
    int chosen = -1;
    for (int mapped = 1; mapped >= 0 && chosen < 0; mapped--)
        for (int c = RUE_COLUMN_TIME_S; c <= RUE_COLUMN_END_TO_END_NS; c++) {
            if (out->field[c] == NONE || (search->mapped[c] != NULL) != (mapped == 1)) continue;
            if (chosen >= 0)
                return rue_fail(error, RUE_DATA,
                                "%s: two columns of times, %s and %s: choose one with --map %s=%.60s",
                                search->file, rue_column_name(chosen), rue_column_name(c),
                                rue_column_name(chosen), search->header->fields[out->field[chosen]]);
            chosen = c;
        }
    if (chosen < 0)
        return fail_missing(search, "times (time_s, time_ms or time_ns)", RUE_COLUMN_TIME_S, error);
    out->time = (enum rue_column)chosen;
    out->ns_per_unit = ns_per_unit[chosen];
    return RUE_OK;
}

static rue_status check_knobs(const struct column_search *search, const struct rue_columns *columns,
                              rue_error *error)
{
    for (int k = 0; k < RUE_OWN_KNOB_COUNT; k++) {
        enum rue_column column = (enum rue_column)(RUE_COLUMN_KNOBS + k);
        if (rue_own_knobs.at[k]->always_shown && columns->field[column] == NONE)
            return fail_missing(search, rue_column_name(column), column, error);
    }
    return RUE_OK;
}

/* Of the columns of times, only the chosen one is used. */
static bool is_used(const struct rue_columns *columns, size_t field)
{
    for (int c = 0; c < RUE_COLUMN_COUNT; c++) {
        bool time = c >= RUE_COLUMN_TIME_S && c <= RUE_COLUMN_END_TO_END_NS;
        if ((!time || c == (int)columns->time) && columns->field[c] == field) return true;
    }
    return false;
}

static rue_status find_all(struct column_search *search, struct rue_columns *out, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t f = 0; f < search->header->count; f++) add_to_list(search->list, search->header->fields[f]);
    for (int c = 0; status == RUE_OK && c < RUE_COLUMN_COUNT; c++)
        status = search->mapped[c] ? find_mapped(search, c, &out->field[c], error)
                                   : find_field(search, rue_column_name(c), &out->field[c], error);
    if (status == RUE_OK) status = choose_time(search, out, error);
    if (status == RUE_OK) status = check_knobs(search, out, error);
    for (size_t f = 0; status == RUE_OK && f < search->header->count; f++)
        if (!is_used(out, f)) add_to_list(out->ignored, search->header->fields[f]);
    return status;
}

rue_status rue_columns_find(const char *map, const struct rue_csv_record *header, const struct rue_csv *csv,
                            struct rue_columns *out, rue_error *error)
{
    struct column_search search = {.header = header, .file = rue_csv_name(csv)};
    *out = (struct rue_columns){.count = header->count};
    rue_status status = read_map(&search, map, error);
    if (status == RUE_OK) status = find_all(&search, out, error);
    free(search.map);
    return status;
}
