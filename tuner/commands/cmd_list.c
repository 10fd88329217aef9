#include <errno.h>
#include <fts.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "json_findings.h"
#include "page_writers.h"
#include "program_name.h"
#include "record.h"
#include "section.h"
#include "study_options.h"
#include "terminal.h"

enum { DEPTH_MAX = 3 };

static const char default_folder[] = "rue-out";

static const struct rue_option options_table[] = {
    {RUE_STUDY_OPTION_JSON},
};

/* The output: a table or a JSON array. */
struct list {
    bool json;
    size_t studies;
    struct rue_report_style style;
    struct rue_page page;
    struct rue_names reasons; /* why studies of the table are unreadable */
    json_t *array;
};

/* In the words of the report. `findings` is nullable. */
static const char *study_state(const struct rue_record *record, const struct rue_findings *findings)
{
    if (record->running) return "running";
    if (rue_record_is_empty(record)) return record->probes ? "only probed" : "empty";
    if (record->partial) return "partial";
    if (findings && rue_findings_is_unsteady(findings)) return "not reliable";
    if (findings && rue_findings_first_undecided(findings)) return "not decided";
    return findings && rue_findings_is_doubtful(findings) ? "low confidence" : "complete";
}

/* Path of the first data that are not a converted sample; "" if unknown. */
static const char *study_data(const struct rue_findings *findings)
{
    for (size_t v = 0; findings && v < findings->variant_count; v++) {
        const struct rue_variant_findings *variant = &findings->variants[v];
        if (!variant->data.sample && variant->variant.path[0]) return variant->variant.path;
    }
    return "";
}

/* "128/8 (1.2 %)", or "128/8 (worst 1.2 %, throughput)" for other rules than the default. */
static void describe_best(const struct rue_variant_findings *variant, char *out, size_t bytes)
{
    char label[RUE_CONFIG_TEXT_BYTES];
    size_t best = variant->selection->recommended;
    snprintf(out, bytes, "none yet");
    if (best == RUE_NONE) return;
    rue_config_label(&variant->matrix->configs[best], label);
    const struct rue_ranking_row *row = &variant->selection->rows[best];
    bool worst = variant->selection->objective == RUE_OBJECTIVE_WORST, time = variant->goal == RUE_GOAL_TIME;
    snprintf(out, bytes, "%s (%s%.1f %%%s%s%s)", label, worst ? "worst " : "",
             100 * (worst ? row->max_regret_ratio : row->mean_regret_ratio),
             variant->selection->weights ? ", weighted" : "", time ? "" : ", ",
             time ? "" : rue_goal_names[variant->goal]);
}

/* A line of a study, for one of its variants; NULL: it has none. */
struct line {
    const char *path, *state, *ok, *not_ok, *measured, *data;
    const struct rue_variant_findings *variant;
};

static void put_line(struct rue_page *page, const struct line *line)
{
    char best[RUE_CONFIG_TEXT_BYTES + 64] = "";
    if (line->variant) describe_best(line->variant, best, sizeof best);
    const struct rue_table_column row[] = {
        {NULL, "study", .text = line->path, .shrink_to = 16},
        {NULL, "state", .text = line->state},
        {NULL, "ok", .text = line->ok, .right = true, .drop = 3},
        {NULL, "not ok", .text = line->not_ok, .right = true, .drop = 2},
        {NULL, "measured", .text = line->measured, .drop = 4},
        {NULL, "mode", .text = line->variant ? rue_findings_mode(line->variant) : "", .shrink_to = 8},
        {NULL, "recommended", .text = best},
        {NULL, "data", .text = line->data, .shrink_to = 12, .drop = 1},
    };
    rue_page_row(page, false, row, sizeof row / sizeof *row);
}

/* Only the first line repeats what is the same for all variants. */
static void add_lines(struct list *list, const char *path, const struct rue_record *record,
                      const struct rue_findings *findings)
{
    size_t modes = findings ? findings->variant_count : 0;
    char ok[32], not_ok[32];
    snprintf(ok, sizeof ok, "%zu", record->trials_ok);
    snprintf(not_ok, sizeof not_ok, "%zu", record->trials_not_ok);
    struct line line = {
        path, study_state(record, findings), ok, not_ok, record->recorded, study_data(findings), NULL};
    for (size_t v = 0; v == 0 || v < modes; v++) {
        if (v) line = (struct line){0};
        if (modes) line.variant = &findings->variants[v];
        put_line(&list->page, &line);
    }
}

static json_t *recommendations_json(const struct rue_findings *findings)
{
    json_t *array = json_array();
    for (size_t v = 0; findings && v < findings->variant_count; v++) {
        const struct rue_variant_findings *variant = &findings->variants[v];
        size_t best = variant->selection->recommended;
        double regret = best == RUE_NONE ? NAN : variant->selection->rows[best].mean_regret_ratio;
        json_t *object =
            rue_json_make("mode:t config:o mean_regret_ratio:r job_images:N", rue_findings_mode(variant),
                          rue_json_config_at(variant, best), regret, variant->job.images);
        rue_json_put_rules(&object, variant);
        rue_json_push(&array, object);
    }
    return array;
}

static void add_object(struct list *list, const char *path, const struct rue_record *record,
                       const struct rue_findings *findings)
{
    json_t *object =
        rue_json_make("study:t state:t data:T measured:T trials_ok:n trials_not_ok:n recommendations:o", path,
                      study_state(record, findings), study_data(findings), record->recorded,
                      record->trials_ok, record->trials_not_ok, recommendations_json(findings));
    rue_json_push(&list->array, object);
}

static rue_status add_unreadable(struct list *list, const char *path, const char *why, rue_error *error)
{
    size_t number;
    if (!list->json) {
        put_line(&list->page, &(struct line){.path = path, .state = "unreadable"});
        return rue_names_number(&list->reasons, why, &number, error);
    }
    rue_json_push(&list->array, rue_json_make("study:t state:t reason:t", path, "unreadable", why));
    return RUE_OK;
}

static rue_status add_study(struct list *list, const char *path, rue_error *error)
{
    struct rue_record record;
    struct rue_findings *findings = NULL;
    rue_error why = {0};
    list->studies++;
    rue_status status = rue_record_read(path, &record, &why);
    bool read = status == RUE_OK;
    if (read && !rue_record_is_empty(&record))
        status = rue_record_findings(&record, &record.last->rules, &findings, &why);
    if (status == RUE_OK && list->json) add_object(list, path, &record, findings);
    if (status == RUE_OK && !list->json) add_lines(list, path, &record, findings);
    rue_findings_close(findings);
    if (read) rue_record_close(&record);
    if (status == RUE_OK) return RUE_OK;
    bool fatal = status == RUE_MEMORY || status == RUE_INTERRUPTED || status == RUE_TERMINATED;
    return fatal ? rue_fail(error, status, "%s", why.message)
                 : add_unreadable(list, path, why.message, error);
}

static int compare_names(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void warn_unreadable(const char *path, int why)
{
    rue_terminal_print(stderr, "cannot read the folder %s: %s", path, strerror(why));
}

static rue_status walk_folders(struct list *list, char *path, rue_error *error)
{
    char store[PATH_MAX + sizeof RUE_STORE_FILE], *const roots[] = {path, NULL};
    struct stat info;
    rue_status status = RUE_OK;
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, compare_names);
    if (!tree) return rue_fail_memory(error, "a walk through folders", sizeof *tree);
    for (FTSENT *entry; status == RUE_OK && (entry = fts_read(tree));) {
        bool hidden = entry->fts_level > 0 && entry->fts_name[0] == '.';
        if (entry->fts_info == FTS_DNR) warn_unreadable(entry->fts_path, entry->fts_errno);
        if (entry->fts_info != FTS_D) continue;
        if (hidden || entry->fts_level == DEPTH_MAX) fts_set(tree, entry, FTS_SKIP);
        if (hidden) continue;
        snprintf(store, sizeof store, "%s/" RUE_STORE_FILE, entry->fts_path);
        if (lstat(store, &info) == 0) {
            status = add_study(list, entry->fts_path, error);
        } else if (errno != ENOENT) {
            warn_unreadable(entry->fts_path, errno);
            fts_set(tree, entry, FTS_SKIP);
        }
    }
    fts_close(tree);
    return status;
}

static rue_status finish_list(struct list *list, const char *path, rue_error *error)
{
    if (list->json) return rue_json_write(json_incref(list->array), stdout, error);
    rue_page_sentence(&list->page, RUE_LOOK_PLAIN, 0);
    if (list->studies == 0)
        rue_say(&list->page, "No study in %s or up to %d folders below it. To make one: %s tune FOLDER", path,
                DEPTH_MAX, rue_program_name());
    rue_page_gap(&list->page);
    for (size_t i = 0; i < list->reasons.count; i++) {
        rue_page_sentence(&list->page, RUE_LOOK_PLAIN, 2);
        rue_say(&list->page, "%s", list->reasons.texts[i]);
    }
    return rue_page_write(&list->page, &list->style, stdout, error);
}

/* Trailing slashes are cut, as names are appended with one. */
static rue_status read_path(const struct rue_options *options, char out[PATH_MAX], rue_error *error)
{
    bool given = rue_options_argument_count(options) > 0;
    const char *path = given ? rue_options_arguments(options)[0] : default_folder;
    struct stat info;
    bool exists = stat(path, &info) == 0, folder = exists && S_ISDIR(info.st_mode);
    if ((given && !exists) || (exists && !folder))
        return rue_fail(error, RUE_DATA, "cannot list %s: %s; give a folder that holds studies", path,
                        exists ? "not a folder" : strerror(errno));
    snprintf(out, PATH_MAX, "%s", path);
    for (size_t end = strlen(out); end > 1 && out[end - 1] == '/';) out[--end] = 0;
    return RUE_OK;
}

static rue_status run_list(const struct rue_options *options, rue_error *error)
{
    char path[PATH_MAX];
    rue_status status = read_path(options, path, error);
    if (status != RUE_OK) return status;
    struct list list = {.json = rue_options_flag(options, "json"),
                        .style = rue_terminal_style(stdout, 0),
                        .array = json_array()};
    rue_page_table(&list.page);
    if (access(path, F_OK) == 0) status = walk_folders(&list, path, error);
    if (status == RUE_OK) status = finish_list(&list, path, error);
    json_decref(list.array);
    rue_names_close(&list.reasons);
    rue_page_close(&list.page);
    return status;
}

const struct rue_command rue_command_list = {
    .name = "list",
    .arguments = "[DIR]",
    .summary = "List the studies below a folder [rue-out].",
    .details = "  rue list\n"
               "  rue list rue-out/ --json\n\n"
               "The folder is searched to a depth of three folders.",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .run = run_list,
};
