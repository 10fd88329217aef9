#include "study_opening.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder_lock.h"
#include "interrupt.h"
#include "kept_findings.h"
#include "output.h"
#include "part.h"

/* "/data/photos/" becomes "photos": only letters, digits, '.', '_' and '-'. */
static void study_name(const char *data, char *out, size_t bytes)
{
    size_t length = strlen(data), used = 0;
    while (length > 1 && data[length - 1] == '/') length--;
    size_t begin = length;
    while (begin > 0 && data[begin - 1] != '/') begin--;
    for (size_t i = begin; i < length && used + 1 < bytes; i++) {
        bool plain = strchr("._-", data[i]) || (data[i] >= '0' && data[i] <= '9') ||
                     ((data[i] | 32) >= 'a' && (data[i] | 32) <= 'z');
        out[used++] = plain ? data[i] : '_';
    }
    out[used] = 0;
    if (!out[0] || out[0] == '.') snprintf(out, bytes, "data");
}

/* Whether the last result in the folder is about data at another path. */
static bool is_about_other_data(const char *folder, const char *path)
{
    struct rue_store *store;
    struct rue_recommendation *last;
    int64_t run_id;
    char file[PATH_MAX + 32];
    snprintf(file, sizeof file, "%s/" RUE_STORE_FILE, folder);
    if (rue_store_open_copy(file, false, &store, NULL) != RUE_OK) return false;
    bool read = rue_kept_read_last(store, &run_id, &last, NULL) == RUE_OK && last && last->count;
    bool differs =
        read && last->at[0].found.variant.path[0] && strcmp(last->at[0].found.variant.path, path) != 0;
    rue_recommendation_close(last);
    rue_store_close(store);
    return differs;
}

/* rue-out/<name of the data>, plus a number if other data of the same name use that folder. */
void rue_study_choose_folder(struct rue_study_setup *setup)
{
    char name[128];
    const struct rue_study_goal *goal = &setup->goal;
    if (goal->output.folder) {
        snprintf(setup->place.folder, sizeof setup->place.folder, "%s", goal->output.folder);
        return;
    }
    const char *source = goal->data.count ? goal->data.paths[0] : goal->data.table;
    study_name(source ? source : rue_study_hello(setup)->loader, name, sizeof name);
    if (goal->output.name_suffix)
        snprintf(name + strlen(name), sizeof name - strlen(name), "%s", goal->output.name_suffix);
    snprintf(setup->place.folder, sizeof setup->place.folder, "rue-out/%s", name);
    for (int number = 2;
         number < 1000 && is_about_other_data(setup->place.folder, setup->variants[0].variant.path); number++)
        snprintf(setup->place.folder, sizeof setup->place.folder, "rue-out/%s-%d", name, number);
}

void rue_study_sample_name(const struct rue_study_setup *setup, char out[PATH_MAX])
{
    snprintf(out, PATH_MAX, "%s/" RUE_STUDY_SAMPLE, setup->place.folder);
}

/* The length of the part of the path that exists. */
static size_t find_existing_length(const char *path)
{
    char part[PATH_MAX];
    size_t length = strlen(path);
    memcpy(part, path, length + 1);
    while (length && access(part, F_OK) != 0) {
        while (length && part[length - 1] == '/') length--;
        while (length && part[length - 1] != '/') length--;
        part[length] = 0;
    }
    return length;
}

rue_status rue_study_open_folder(struct rue_study_setup *setup, rue_error *error)
{
    rue_study_choose_folder(setup);
    setup->place.existing_length = find_existing_length(setup->place.folder);
    bool is_new = !setup->place.folder[setup->place.existing_length];
    if (setup->goal.output.dry_run && !is_new) return RUE_OK;
    rue_status status = rue_folder_acquire(setup->place.folder, "--out", &setup->place.lock, error);
    if (status == RUE_OK)
        status = rue_output_check_reports(setup->goal.output.reports, setup->place.folder,
                                          setup->goal.data.table, error);
    if (status != RUE_OK) return status;
    if (setup->goal.output.dry_run) return RUE_OK;
    char sample[PATH_MAX];
    rue_study_sample_name(setup, sample);
    rue_part_sweep(sample);
    return RUE_OK;
}

/* Suffixes of the files that SQLite makes for a store. */
static const char *const endings[] = {"", "-wal", "-shm", "-journal"};

static void name_store(const struct rue_study_setup *setup, size_t index, char out[PATH_MAX + 32])
{
    snprintf(out, PATH_MAX + 32, "%s/" RUE_STORE_FILE "%s", setup->place.folder, endings[index]);
}

/* Whether none of these files exists. */
static bool is_store_new(const struct rue_study_setup *setup)
{
    char path[PATH_MAX + 32];
    struct stat about;
    bool found = false;
    for (size_t i = 0; !found && i < sizeof endings / sizeof *endings; i++) {
        name_store(setup, i, path);
        found = lstat(path, &about) == 0 || errno != ENOENT;
    }
    return !found;
}

rue_status rue_study_open_store(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                rue_error *error)
{
    char path[PATH_MAX + 32];
    bool kept = !setup->goal.output.keep_nothing;
    name_store(setup, 0, path);
    setup->place.store_is_new = kept && is_store_new(setup);
    bool copied = kept && setup->goal.output.dry_run && !setup->place.store_is_new;
    if (setup->goal.output.dry_run) kept = setup->place.store_is_new = false;
    rue_status status =
        copied ? rue_store_open_copy(path, true, &ledger->store, error)
               : rue_store_open(kept ? path : NULL, setup->goal.output.fresh, &ledger->store, error);
    if (status == RUE_OK) status = rue_store_count_trials(ledger->store, &ledger->found_trials, error);
    if (status == RUE_OK)
        status = rue_store_begin_run(ledger->store, setup->goal.output.command_line, RUE_VERSION,
                                     setup->started, rue_study_hello(setup)->space.knobs, error);
    return status;
}

void rue_study_discard(const struct rue_study_setup *setup)
{
    char path[PATH_MAX + 32];
    for (size_t i = 0; setup->place.store_is_new && i < sizeof endings / sizeof *endings; i++) {
        name_store(setup, i, path);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s", setup->place.folder);
    for (size_t length = strlen(path); length > setup->place.existing_length;) {
        if (rmdir(path) != 0 && errno != ENOENT) return; /* it has other files */
        while (length && path[length - 1] == '/') length--;
        while (length && path[length - 1] != '/') length--;
        path[length] = 0;
    }
}
