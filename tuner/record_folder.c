#include "record_folder.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether the file may be a store: one that cannot be read or is a study's own is left to those who say more
 * of it. */
static bool may_be_store(const char *path, const struct stat *facts)
{
    static const char magic[16] = "SQLite format 3";
    char begin[sizeof magic] = {0};
    const char *name = strrchr(path, '/');
    if (!S_ISREG(facts->st_mode) || strcmp(name ? name + 1 : path, RUE_STORE_FILE) == 0) return true;
    FILE *file = fopen(path, "re");
    if (!file) return true;
    bool read = fread(begin, 1, sizeof begin, file) == sizeof begin || !ferror(file);
    fclose(file);
    return !read || memcmp(begin, magic, sizeof magic) == 0;
}

/* The store's path and, resolved, the folder that it lies in. */
static rue_status find_place(const char *path, bool folder, struct rue_record *record, rue_error *error)
{
    int end = (int)strnlen(path, PATH_MAX);
    while (folder && end > 0 && path[end - 1] == '/') end--;
    int length =
        snprintf(record->store, sizeof record->store, "%.*s%s", end, path, folder ? "/" RUE_STORE_FILE : "");
    char *real = realpath(path, NULL);
    if (length >= (int)sizeof record->store || !real) {
        free(real);
        return rue_fail(error, RUE_DATA, "%s: the path is too long", path);
    }
    snprintf(record->folder, sizeof record->folder, "%s", real);
    free(real);
    if (!folder) *strrchr(record->folder, '/') = 0;
    const char *name = strrchr(record->folder, '/');
    snprintf(record->name, sizeof record->name, "%s", name && name[1] ? name + 1 : "/");
    return RUE_OK;
}

rue_status rue_record_find(const char *path, struct rue_record *record, rue_error *error)
{
    struct stat facts;
    if (stat(path, &facts) != 0)
        return rue_fail(error, RUE_DATA, "cannot open %s: %s; 'rue list DIR' shows the studies below DIR",
                        path, strerror(errno));
    bool folder = S_ISDIR(facts.st_mode);
    rue_status status = find_place(path, folder, record, error);
    if (status != RUE_OK) return status;
    if (!folder && !may_be_store(path, &facts))
        return rue_fail(error, RUE_STORE, "%s: it is no study: for a CSV table, rue analyze %s", path, path);
    if (!folder || access(record->store, F_OK) == 0) return RUE_OK;
    if (errno != ENOENT)
        return rue_fail(error, RUE_STORE, "cannot open %s: %s; make the folder readable", record->store,
                        strerror(errno));
    return rue_fail(error, RUE_DATA,
                    "%s holds no study (no " RUE_STORE_FILE "); 'rue list %s' shows those below it", path,
                    path);
}

/* Whether the report is of the run that measured last, or of a later one that found all in the store. That of
 * a table names no run. */
static rue_status is_current(const struct rue_record *record, struct rue_store_reader *reader,
                             const json_t *report, bool *current, rue_error *error)
{
    const char *started =
        json_string_value(json_object_get(json_object_get(report, "provenance"), "started"));
    int64_t run = 0;
    *current = report != NULL;
    if (!started) return RUE_OK;
    rue_status status = rue_store_reader_find_run(reader, started, &run, error);
    *current = run > 0 && run >= record->last_run;
    return status;
}

static void read_report(struct rue_record *record, const json_t *report)
{
    const char *reason = json_string_value(json_object_get(report, "partial_reason"));
    const json_t *first = json_array_get(json_object_get(report, "recommendations"), 0),
                 *evidence = json_object_get(first, "evidence");
    json_int_t asked = json_integer_value(json_object_get(evidence, "configs_asked")),
               told = json_integer_value(json_object_get(evidence, "trials_ok"));
    record->partial = json_is_true(json_object_get(report, "partial"));
    snprintf(record->partial_reason, sizeof record->partial_reason, "%s",
             reason ? reason : "the run ended early");
    record->configs_asked = asked > 0 ? (size_t)asked : 0;
    record->trials_told = told > 0 ? (size_t)told : 0;
}

rue_status rue_record_read_report(struct rue_record *record, struct rue_store_reader *reader,
                                  rue_error *error)
{
    char file[PATH_MAX + 32];
    bool current;
    snprintf(file, sizeof file, "%s/recommendation.json", record->folder);
    json_t *report = json_load_file(file, 0, NULL);
    rue_status status = is_current(record, reader, report, &current, error);
    record->partial = true;
    record->configs_asked = record->trials_told = 0;
    snprintf(record->partial_reason, sizeof record->partial_reason, "%s",
             report ? "the last run ended without a report" : "no report has been written");
    if (current) read_report(record, report);
    json_decref(report);
    return status;
}
