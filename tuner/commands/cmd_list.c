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
#include "record.h"
#include "terminal.h"
#include "text_table.h"
#include "utf8.h"
#include "wrap.h"

enum { JSON };
enum { DEPTH_MAX = 3 };

static const char default_folder[] = "rue-out";

static const struct rue_option options_table[] = {
    [JSON] = {"json", RUE_OPTION_FLAG, NULL, NULL, "write JSON", 0, 0, NULL},
};

/* The list that is being made: a table, or a JSON array. */
struct list {
    bool json;
    size_t studies;
    struct rue_report_style style;
    struct rue_text_table *table;
    struct rue_names reasons; /* why studies of the table are unreadable */
    struct rue_json_document document;
    json_t *array;
};

enum { STUDY, STATE, OK, NOT_OK, MEASURED, MODE, RECOMMENDED, DATA };

/* ---- one study ---- */

static const char *state_of(const struct rue_record *record)
{
    if (record->running) return "running";
    if (record->set_count == 0) return record->probes ? "only probed" : "empty";
    return record->partial ? "partial" : "complete";
}

static void new_line(struct list *list)
{
    if (rue_text_table_row(list->table, false)) return;
    rue_text_table_print(list->table, &list->style, stdout); /* full: a second table follows */
    list->table->row_count = 0;
    rue_text_table_row(list->table, false);
}

/* "128/8 (1.2 %)", "128/8 (worst 1.2 %, throughput)": by what, where that is said otherwise than usual. */
static void put_best(struct list *list, const struct rue_variant_findings *variant)
{
    char label[RUE_CONFIG_TEXT_BYTES];
    size_t best = variant->selection->recommended;
    rue_text_table_cell(list->table, MODE, "%s", rue_findings_mode(variant));
    if (best == RUE_NONE) {
        rue_text_table_cell(list->table, RECOMMENDED, "nothing ranked");
        return;
    }
    rue_config_label(&variant->matrix->configs[best], label);
    const struct rue_ranking_row *row = &variant->selection->rows[best];
    bool worst = variant->selection->objective == RUE_OBJECTIVE_WORST, time = variant->goal == RUE_GOAL_TIME;
    rue_text_table_cell(list->table, RECOMMENDED, "%s (%s%.1f %%%s%s%s)", label, worst ? "worst " : "",
                        100 * (worst ? row->max_regret_ratio : row->mean_regret_ratio),
                        variant->selection->weights ? ", weighted" : "", time ? "" : ", ",
                        time ? "" : rue_goal_names[variant->goal]);
}

/* A line, and one more for each mode behind the first. */
static void add_lines(struct list *list, const char *path, const struct rue_record *record,
                      const struct rue_findings *findings)
{
    const struct rue_record_set *newest = record->set_count ? &record->sets[0] : NULL;
    new_line(list);
    rue_text_table_cell(list->table, STUDY, "%s", path);
    rue_text_table_cell(list->table, STATE, "%s", state_of(record));
    rue_text_table_cell(list->table, OK, "%zu", record->trials_ok);
    rue_text_table_cell(list->table, NOT_OK, "%zu", record->trials_not_ok);
    rue_text_table_cell(list->table, MEASURED, "%s", newest ? newest->recorded : "");
    rue_text_table_cell(list->table, DATA, "%s", newest && newest->data ? newest->data : "");
    for (size_t v = 0; findings && v < findings->variant_count; v++) {
        if (v) new_line(list);
        put_best(list, &findings->variants[v]);
    }
}

static json_t *recommendations_json(struct list *list, const struct rue_findings *findings)
{
    json_t *array = json_array();
    for (size_t v = 0; findings && v < findings->variant_count; v++) {
        const struct rue_variant_findings *variant = &findings->variants[v];
        size_t best = variant->selection->recommended;
        json_t *object = json_object();
        rue_json_put(&list->document, object, "mode", rue_json_text(rue_findings_mode(variant)));
        rue_json_put(&list->document, object, "config",
                     best == RUE_NONE
                         ? json_null()
                         : rue_json_config(&list->document, &variant->matrix->configs[best], false));
        rue_json_put(
            &list->document, object, "mean_regret_ratio",
            rue_json_real(best == RUE_NONE ? NAN : variant->selection->rows[best].mean_regret_ratio));
        rue_json_put(&list->document, object, "job_images", rue_json_integer_or_null(variant->job.images));
        rue_json_put_rules(&list->document, object, variant);
        rue_json_put_goal(&list->document, object, variant);
        rue_json_push(&list->document, array, object);
    }
    return array;
}

static void add_object(struct list *list, const char *path, const struct rue_record *record,
                       const struct rue_findings *findings)
{
    const struct rue_record_set *newest = record->set_count ? &record->sets[0] : NULL;
    json_t *object = json_object();
    rue_json_put(&list->document, object, "study", rue_json_text(path));
    rue_json_put(&list->document, object, "state", json_string(state_of(record)));
    rue_json_put(&list->document, object, "data",
                 rue_json_text_or_null(newest && newest->data ? newest->data : ""));
    rue_json_put(&list->document, object, "measured", rue_json_text_or_null(newest ? newest->recorded : ""));
    rue_json_put(&list->document, object, "trials_ok", rue_json_integer(record->trials_ok));
    rue_json_put(&list->document, object, "trials_not_ok", rue_json_integer(record->trials_not_ok));
    rue_json_put(&list->document, object, "recommendations", recommendations_json(list, findings));
    rue_json_push(&list->document, list->array, object);
}

static rue_status add_unreadable(struct list *list, const char *path, const char *why, rue_error *error)
{
    size_t number;
    if (!list->json) {
        new_line(list);
        rue_text_table_cell(list->table, STUDY, "%s", path);
        rue_text_table_cell(list->table, STATE, "unreadable");
        return rue_names_number(&list->reasons, why, &number, error);
    }
    json_t *object = json_object();
    rue_json_put(&list->document, object, "study", rue_json_text(path));
    rue_json_put(&list->document, object, "state", json_string("unreadable"));
    rue_json_put(&list->document, object, "reason", rue_json_text(why));
    rue_json_push(&list->document, list->array, object);
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
    if (read && record.set_count)
        status = rue_record_findings(&record, 0, rue_record_rules(&record), &findings, &why);
    if (status == RUE_OK && list->json) add_object(list, path, &record, findings);
    if (status == RUE_OK && !list->json) add_lines(list, path, &record, findings);
    rue_tally_findings_close(findings);
    if (read) rue_record_close(&record);
    if (status == RUE_OK) return RUE_OK;
    bool own = status == RUE_MEMORY || status == RUE_INTERRUPTED || status == RUE_TERMINATED;
    return own ? rue_fail(error, status, "%s", why.message) : add_unreadable(list, path, why.message, error);
}

/* ---- folders ---- */

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void tell_unreadable(const struct list *list, const char *path, int why)
{
    char clean[PATH_MAX];
    rue_utf8_clean(path, list->style.unicode, clean, sizeof clean);
    fprintf(stderr, "cannot look into %s: %s\n", clean, strerror(why));
}

static rue_status walk(struct list *list, char *path, rue_error *error)
{
    char store[PATH_MAX + sizeof RUE_STORE_FILE], *const roots[] = {path, NULL};
    struct stat facts;
    rue_status status = RUE_OK;
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    if (!tree) return rue_fail_memory(error, "a walk through folders", sizeof *tree);
    for (FTSENT *entry; status == RUE_OK && (entry = fts_read(tree));) {
        bool hidden = entry->fts_level > 0 && entry->fts_name[0] == '.';
        if (entry->fts_info == FTS_DNR) tell_unreadable(list, entry->fts_path, entry->fts_errno);
        if (entry->fts_info != FTS_D) continue;
        if (hidden || entry->fts_level == DEPTH_MAX) fts_set(tree, entry, FTS_SKIP);
        if (hidden) continue;
        snprintf(store, sizeof store, "%s/" RUE_STORE_FILE, entry->fts_path);
        if (lstat(store, &facts) == 0) {
            status = add_study(list, entry->fts_path, error);
        } else if (errno != ENOENT) {
            tell_unreadable(list, entry->fts_path, errno);
            fts_set(tree, entry, FTS_SKIP);
        }
    }
    fts_close(tree);
    return status;
}

static void start_table(struct list *list)
{
    static const struct rue_text_column columns[] = {[STUDY] = {"study", false, 16, 0},
                                                     [STATE] = {"state", false, 0, 0},
                                                     [OK] = {"ok", true, 0, 3},
                                                     [NOT_OK] = {"not ok", true, 0, 2},
                                                     [MEASURED] = {"measured", false, 0, 4},
                                                     [MODE] = {"mode", false, 8, 0},
                                                     [RECOMMENDED] = {"recommended", false, 0, 0},
                                                     [DATA] = {"data", false, 12, 1}};
    rue_text_table_clear(list->table, list->style.unicode);
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
        rue_text_table_column(list->table, columns[c]);
}

static void put_reasons(const struct list *list)
{
    char clean[RUE_ERROR_MESSAGE_BYTES];
    if (list->reasons.count) putchar('\n');
    for (size_t i = 0; i < list->reasons.count; i++) {
        rue_utf8_clean(list->reasons.texts[i], list->style.unicode, clean, sizeof clean);
        rue_wrap(stdout, clean, list->style.columns, 2);
        putchar('\n');
    }
}

static rue_status finish(struct list *list, const char *path, rue_error *error)
{
    if (list->json) return rue_json_write(&list->document, list->array, stdout, error);
    if (list->studies == 0)
        rue_terminal_say(
            stdout, "There is no study in %s nor up to %d folders below it: 'rue tune FOLDER' makes one.",
            path, DEPTH_MAX);
    else
        rue_text_table_print(list->table, &list->style, stdout);
    put_reasons(list);
    return rue_report_finish(stdout, error);
}

/* Without slashes at the end, so that none is doubled. */
static rue_status take_path(const struct rue_options *options, char out[PATH_MAX], rue_error *error)
{
    bool given = rue_options_argument_count(options) > 0;
    const char *path = given ? rue_options_argument(options, 0) : default_folder;
    struct stat facts;
    bool there = stat(path, &facts) == 0, folder = there && S_ISDIR(facts.st_mode);
    if ((given && !there) || (there && !folder))
        return rue_fail(error, RUE_DATA, "cannot list %s: %s; give a folder that holds studies", path,
                        there ? "it is no folder" : strerror(errno));
    snprintf(out, PATH_MAX, "%s", path);
    for (size_t end = strlen(out); end > 1 && out[end - 1] == '/';) out[--end] = 0;
    return RUE_OK;
}

static rue_status run(const struct rue_options *options, rue_error *error)
{
    char path[PATH_MAX];
    rue_status status = take_path(options, path, error);
    if (status != RUE_OK) return status;
    struct list list = {.json = rue_options_flag(options, JSON),
                        .style = rue_terminal_style(stdout, 0),
                        .table = calloc(1, sizeof *list.table),
                        .array = json_array()};
    if (!list.table || !list.array) status = rue_fail_memory(error, "the list", sizeof *list.table);
    if (status == RUE_OK) start_table(&list);
    if (status == RUE_OK && access(path, F_OK) == 0) status = walk(&list, path, error);
    if (status == RUE_OK) status = finish(&list, path, error);
    json_decref(list.array);
    rue_names_close(&list.reasons);
    free(list.table);
    return status;
}

const struct rue_command rue_command_list = {
    .name = "list",
    .arguments = "[DIR]",
    .summary = "List the studies below a folder [rue-out].",
    .details = "It looks into the folder itself and up to three folders below it.\n\n"
               "  rue list\n"
               "  rue list rue-out/ --json",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .min_arguments = 0,
    .max_arguments = 1,
    .run = run,
};
