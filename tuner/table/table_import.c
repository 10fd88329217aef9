#include "table_import.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "folder_lock.h"
#include "hash.h"
#include "interrupt.h"
#include "output.h"
#include "recording.h"
#include "store.h"
#include "terminal.h"

/* What stands for trial `index` of the table in the store and in trials.csv. */
static void describe(const struct rue_table *table, size_t index, struct rue_store_scenario *scenario,
                     struct rue_trial_request *request, struct rue_trial_result *result)
{
    const struct rue_tally_trial *trial = &table->tally.trials[index];
    const char *key = table->tally.keys.texts[trial->group];
    const struct rue_variant_findings *facts = &table->tally.groups[trial->group].facts;
    uint64_t digest = rue_hash(table->digest, key, strlen(key));
    *scenario = (struct rue_store_scenario){
        .variant = facts->variant, .workload = rue_workload_default(), .job_images = facts->job.images};
    if (!scenario->variant.format[0]) strcpy(scenario->variant.format, RUE_TABLE_FORMAT);
    if (facts->label) snprintf(scenario->variant.path, sizeof scenario->variant.path, "%s", facts->label);
    snprintf(scenario->data_digest, sizeof scenario->data_digest, "%016" PRIx64, digest);
    snprintf(scenario->model, sizeof scenario->model, "%s", table->tally.models.texts[trial->model]);
    snprintf(scenario->runner, sizeof scenario->runner, RUE_IMPORTED "%.80s #%016" PRIx64, table->name,
             table->digest);
    *request = (struct rue_trial_request){.measure = RUE_JOINT,
                                          .variant = scenario->variant,
                                          .config = trial->config,
                                          .workload = scenario->workload,
                                          .images = facts->job.images,
                                          .job_images = facts->job.images};
    memcpy(request->model, scenario->model, sizeof request->model);
    *result = rue_trial_result_empty();
    result->outcome = trial->outcome;
    result->config = trial->config;
    snprintf(result->reason, sizeof result->reason, "%s", trial->reason);
    if (trial->outcome != RUE_TRIAL_OK) return;
    result->end_to_end_ns = (int64_t)(trial->time_ns + 0.5);
    if (facts->job.images) result->images = (int64_t)facts->job.images;
}

static rue_status add_trials(const struct rue_table *table, const char *command_line, struct rue_store *store,
                             rue_error *error)
{
    char started[32];
    time_t now = time(NULL);
    struct tm parts;
    strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    rue_status status = rue_store_begin(store, error);
    if (status == RUE_OK)
        status = rue_store_begin_run(store, command_line, RUE_VERSION, started, &rue_own_knobs, error);
    for (size_t i = 0; status == RUE_OK && i < table->tally.trial_count; i++) {
        struct rue_store_scenario scenario;
        struct rue_trial_request request;
        struct rue_trial_result result;
        rue_status stopped = rue_interrupt_status(); /* without an end, the store keeps nothing of it */
        if (stopped != RUE_OK) return rue_fail(error, stopped, "interrupted; nothing was added to the study");
        describe(table, i, &scenario, &request, &result);
        status = rue_store_add(store, &scenario, &request, &result, 0, NULL, error);
    }
    return status == RUE_OK ? rue_store_end(store, error) : status;
}

/* The reports beside the store tell of all of it: it belongs to one table or to a tuner. */
static rue_status check_empty(struct rue_store *store, const char *folder, rue_error *error)
{
    uint64_t trials;
    rue_status status = rue_store_count(store, &trials, error);
    if (status != RUE_OK || trials == 0) return status;
    return rue_fail(
        error, RUE_STORE,
        "%s holds %" PRIu64
        " trial%s that are not of this table as it is; name another folder with --study, or move %s away",
        folder, trials, trials == 1 ? "" : "s", folder);
}

static rue_status fill_store(const struct rue_table *table, const char *command_line, const char *folder,
                             bool quiet, rue_error *error)
{
    char path[PATH_MAX + 16], runner[128];
    struct rue_store *store;
    uint64_t there = 0;
    snprintf(path, sizeof path, "%s/" RUE_STORE_FILE, folder);
    rue_status status = rue_store_open(path, false, &store, error);
    if (status != RUE_OK) return status;
    snprintf(runner, sizeof runner, RUE_IMPORTED "%.80s #%016" PRIx64, table->name, table->digest);
    status = rue_store_count_of(store, runner, &there, error);
    if (status == RUE_OK && there == 0) status = check_empty(store, folder, error);
    if (status == RUE_OK && there == 0) status = add_trials(table, command_line, store, error);
    rue_store_close(store);
    if (status != RUE_OK || quiet) return status;
    if (there)
        rue_terminal_say(stderr, "%s holds this table already: nothing was added", path);
    else
        rue_terminal_say(stderr, "%zu trial%s added to %s", table->tally.trial_count,
                         table->tally.trial_count == 1 ? " was" : "s were", path);
    return RUE_OK;
}

static void make_row(const void *context, size_t index, struct rue_trial_row *out)
{
    struct rue_store_scenario scenario;
    *out = (struct rue_trial_row){.id = index + 1};
    describe(context, index, &scenario, &out->request, &out->result);
    const struct rue_table *table = context;
    const struct rue_variant_findings *facts = &table->tally.groups[table->tally.trials[index].group].facts;
    out->label = facts->label;
    out->request.variant = facts->variant; /* with no format where the table has none */
}

rue_status rue_table_import(const struct rue_table *table, const char *input, const char *folder,
                            struct rue_findings *findings, bool quiet, rue_error *error)
{
    char path[PATH_MAX];
    int lock = -1;
    if (strlen(folder) >= sizeof path) return rue_fail(error, RUE_USAGE, "--study: the path is too long");
    snprintf(path, sizeof path, "%s", folder);
    rue_status status = rue_columns_check_whole(&table->columns, table->name, error);
    if (status == RUE_OK) status = rue_folder_acquire(path, "--study", &lock, error);
    if (status == RUE_OK) status = rue_output_check_reports(rue_reports, path, input, error);
    if (status == RUE_OK) status = fill_store(table, findings->run.command_line, path, quiet, error);
    findings->row_at = make_row;
    findings->row_context = table;
    findings->row_count = table->tally.trial_count;
    char written[256];
    if (status == RUE_OK)
        status = rue_output_write_reports(rue_reports, findings, path, written, sizeof written, error);
    rue_folder_release(lock);
    return status;
}
