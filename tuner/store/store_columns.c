#include "store_columns.h"

#include "trial.h"

const char *const rue_store_table_names[RUE_STORE_TABLE_COUNT] = {
    [RUE_STORE_RUN] = "run", [RUE_STORE_TRIAL] = "trial"};

static const struct rue_store_column run[] = {
    {"id", "INTEGER PRIMARY KEY", false, "in the order of starting"},
    {"command_line", "TEXT NOT NULL", false, "as it was given"},
    {"rue_version", "TEXT NOT NULL", false, "that ran"},
    {"started", "TEXT NOT NULL", false, "wall clock, UTC"},
    {"knobs", "TEXT", false, "that the runner declares beside rue's own, JSON; NULL: none"},
    {"findings", "TEXT", false, "that it ended with, or had so far, JSON; NULL: none"},
    {RUE_STORE_CHECKSUM, "INTEGER", false, "of the findings"},
};

static const struct rue_store_column head[] = {
    {"id", "INTEGER PRIMARY KEY", false, "in the order of storing"},
    {"run_id", "INTEGER REFERENCES run(id)", false, "the run that measured it"},
    {"recorded", "TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))", false,
     "wall clock, when it was stored"},
    {"started_ns", "INTEGER NOT NULL", false, "on the clock of the study"},
    {"data_digest", "TEXT NOT NULL", true, "which data: names and sizes, not the path"},
    {"mode", "TEXT NOT NULL", true, "raw or preprocessed"},
    {"format", "TEXT NOT NULL", true, "how items lie on storage"},
    {"dtype", "TEXT NOT NULL", true, "of preprocessed items, '' for raw"},
    {"path", "TEXT NOT NULL", false, "where the data lay"},
    {"workload", "TEXT NOT NULL", true, "what was loaded in which order, JSON"},
    {"job_images", "INTEGER NOT NULL", true, "the job that the trial is about"},
    {"model", "TEXT NOT NULL", true, "'' for the measure load"},
    {"model_profile", "TEXT NOT NULL", true, "its costs, JSON, '' for the measure load"},
    {"runner", "TEXT NOT NULL", true, "what performed the trial"},
    {"machine", "TEXT NOT NULL", true, "fingerprint of the machine of the runner"},
    {"measure", "TEXT NOT NULL", true, "joint, load or compute"},
    {"config", "TEXT NOT NULL", true, "canonical JSON, knobs at their default left out"},
    {"config_hash", "TEXT NOT NULL", true, "FNV-1a of config, 16 hexadecimal digits"},
    {"images_requested", "INTEGER NOT NULL", false, "fewer than job_images in a truncated trial"},
    {"batches_requested", "INTEGER NOT NULL", false, "of the measure compute"},
    {"limit_time_ns", "INTEGER", false, "NULL: none"},
    {"limit_memory_bytes", "INTEGER", false, "NULL: none"},
    {"status", "TEXT NOT NULL", false, "ok, infeasible, failed or timeout"},
    {"reason", "TEXT NOT NULL", false, "'' when ok"},
};

/* Long, so behind everything else. */
static const struct rue_store_column tail[] = {
    {"batch_ready_ns", "TEXT", false, "JSON array: when each batch was delivered, from the start"},
    {"batch_compute_ns", "TEXT", false, "JSON array: what the model took for each batch"},
    {RUE_STORE_CHECKSUM, "INTEGER", false, "of the row as it was stored; NULL in rows of an older rue"},
};

enum { RUN = sizeof run / sizeof *run, HEAD = sizeof head / sizeof *head, TAIL = sizeof tail / sizeof *tail };

bool rue_store_column_at(enum rue_store_table table, size_t index, struct rue_store_column *out)
{
    if (table == RUE_STORE_RUN) return index < RUN && (*out = run[index], true);
    if (index < HEAD) return *out = head[index], true;
    index -= HEAD;
    if (index < rue_trial_field_count) {
        const struct rue_trial_field *field = &rue_trial_fields[index];
        *out = (struct rue_store_column){field->name, field->real ? "REAL" : "INTEGER", false, field->help};
        return true;
    }
    index -= rue_trial_field_count;
    if (index < TAIL) return *out = tail[index], true;
    return false;
}
