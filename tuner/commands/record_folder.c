#include "record_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scale.h"

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
    const char *ending = strrchr(path, '.');
    if (!folder && ending && strcasecmp(ending, ".csv") == 0)
        return rue_fail(error, RUE_STORE, "%s: it is no study: for a CSV table, rue analyze %s", path, path);
    if (!folder || access(record->store, F_OK) == 0) return RUE_OK;
    if (errno != ENOENT)
        return rue_fail(error, RUE_STORE, "cannot open %s: %s; make the folder readable", record->store,
                        strerror(errno));
    return rue_fail(error, RUE_DATA,
                    "%s holds no study (no " RUE_STORE_FILE "); 'rue list %s' shows those below it", path,
                    path);
}

static uint64_t count_trials(const struct rue_record *record)
{
    return record->trials_ok + record->trials_not_ok + record->probes;
}

/* Findings of an earlier run than the one that measured last tell nothing of that one, which was killed. */
static const char *why_outdated(const struct rue_record *record, int64_t run)
{
    if (!record->kept) return "no report has been written";
    if (run < record->last_run || record->kept->ledger.under_way)
        return "the last run ended without a report";
    if (record->kept->ledger.trials != count_trials(record))
        return "trials were added or deleted since the last run";
    return NULL;
}

rue_status rue_record_read_findings(struct rue_record *record, struct rue_store_reader *reader,
                                    rue_error *error)
{
    char *text;
    int64_t run = 0;
    rue_status status = rue_store_reader_findings(reader, &run, &text, error);
    if (status == RUE_OK && text)
        status = rue_recommendation_read_kept(text, record->store, true, &record->kept, error);
    free(text);
    if (status != RUE_OK) return status;
    const char *why = why_outdated(record, run);
    if (why && rue_scale_ran_last(record->folder, count_trials(record), record->partial_reason,
                                  sizeof record->partial_reason)) {
        record->partial = record->partial_reason[0];
        return RUE_OK;
    }
    record->is_kept = !why;
    record->partial = why || record->kept->found.run.partial;
    snprintf(record->partial_reason, sizeof record->partial_reason, "%s",
             why ? why : record->kept->found.run.partial_reason);
    return RUE_OK;
}
