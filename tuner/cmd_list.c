#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "json_document.h"
#include "record.h"
#include "terminal.h"
#include "text_table.h"

enum { JSON };
enum { DEPTH_MAX = 3, ENOUGH_VOTES = 3 };

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
    struct rue_json_document document;
    json_t *array;
};

/* ---- one study ---- */

/* "raw 128/8 (1.2 %)" for each mode. */
static void describe_best(const struct rue_findings *findings, char *out, size_t bytes)
{
    size_t used = 0;
    out[0] = 0;
    for (size_t v = 0; v < findings->variant_count && used < bytes; v++) {
        const struct rue_variant_findings *variant = &findings->variants[v];
        const char *name = variant->label ? variant->label : rue_mode_names[variant->variant.mode];
        char label[RUE_CONFIG_TEXT_BYTES] = "nothing ranked";
        size_t best = variant->selection->recommended;
        if (best != RUE_NONE) rue_config_label(rue_cost_matrix_config(variant->matrix, best), label);
        used += (size_t)snprintf(out + used, bytes - used, "%s%.40s %s", v ? ", " : "", name, label);
    }
}

static const char *state_of(const struct rue_record *record)
{
    return record->running ? "running" : record->partial ? "partial" : "complete";
}

static void new_line(struct list *list)
{
    if (rue_text_table_row(list->table, false)) return;
    rue_text_table_print(list->table, &list->style, stdout); /* full: a second table follows */
    list->table->row_count = 0;
    rue_text_table_row(list->table, false);
}

static void add_line(struct list *list, const char *path, const struct rue_record *record, const char *best)
{
    const struct rue_record_set *newest = record->set_count ? &record->sets[0] : NULL;
    new_line(list);
    rue_text_table_cell(list->table, 0, "%s", path);
    rue_text_table_cell(list->table, 1, "%s", state_of(record));
    rue_text_table_cell(list->table, 2, "%zu", record->trials_ok);
    rue_text_table_cell(list->table, 3, "%zu", record->trials_not_ok);
    rue_text_table_cell(list->table, 4, "%s", newest ? newest->recorded : "");
    rue_text_table_cell(list->table, 5, "%s", best);
    rue_text_table_cell(list->table, 6, "%s", newest && newest->data ? newest->data : "");
}

static json_t *recommendations_json(struct list *list, const struct rue_findings *findings)
{
    json_t *array = json_array();
    for (size_t v = 0; findings && v < findings->variant_count; v++) {
        const struct rue_variant_findings *variant = &findings->variants[v];
        size_t best = variant->selection->recommended;
        char text[RUE_CONFIG_TEXT_BYTES];
        json_t *object = json_object();
        if (best != RUE_NONE) rue_config_canonical(rue_cost_matrix_config(variant->matrix, best), text);
        rue_json_put(&list->document, object, "mode",
                     rue_json_text(variant->label ? variant->label : rue_mode_names[variant->variant.mode]));
        rue_json_put(&list->document, object, "config",
                     best == RUE_NONE ? json_null() : json_loads(text, 0, NULL));
        rue_json_put(
            &list->document, object, "mean_regret_ratio",
            rue_json_real(best == RUE_NONE ? NAN : variant->selection->rows[best].mean_regret_ratio));
        rue_json_put(&list->document, object, "job_images", rue_json_integer_or_null(variant->job_images));
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

static void add_damaged(struct list *list, const char *path, const char *why)
{
    json_t *object = json_object();
    if (!list->json) {
        new_line(list);
        rue_text_table_cell(list->table, 0, "%s", path);
        rue_text_table_cell(list->table, 1, "unreadable");
        rue_text_table_cell(list->table, 5, "%s", why);
    }
    rue_json_put(&list->document, object, "study", rue_json_text(path));
    rue_json_put(&list->document, object, "state", json_string("unreadable"));
    rue_json_put(&list->document, object, "reason", rue_json_text(why));
    rue_json_push(&list->document, list->array, object);
}

static rue_status add_study(struct list *list, const char *path, rue_error *error)
{
    struct rue_record record;
    struct rue_findings *findings = NULL;
    rue_error why = {0};
    char best[RUE_TEXT_CELL_BYTES] = "";
    list->studies++;
    rue_status status = rue_record_read(path, &record, &why);
    if (status == RUE_MEMORY) return rue_fail(error, status, "%s", why.message);
    if (status != RUE_OK) return add_damaged(list, path, why.message), RUE_OK;
    if (record.set_count) status = rue_record_findings(&record, 0, ENOUGH_VOTES, &findings, error);
    if (findings) describe_best(findings, best, sizeof best);
    if (status == RUE_OK && list->json) add_object(list, path, &record, findings);
    if (status == RUE_OK && !list->json) add_line(list, path, &record, best);
    rue_tally_findings_close(findings);
    rue_record_close(&record);
    return status;
}

/* ---- folders ---- */

static int is_folder(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN);
}

static rue_status walk(struct list *list, const char *path, int depth, rue_error *error)
{
    char below[PATH_MAX];
    struct stat facts;
    struct dirent **entries = NULL;
    rue_status status = RUE_OK;
    snprintf(below, sizeof below, "%s/study.db", path);
    if (lstat(below, &facts) == 0) status = add_study(list, path, error);
    int count = depth < DEPTH_MAX ? scandir(path, &entries, is_folder, alphasort) : 0;
    for (int i = 0; i < count; i++) {
        int length = snprintf(below, sizeof below, "%s/%s", path, entries[i]->d_name);
        bool folder = length < (int)sizeof below && lstat(below, &facts) == 0 && S_ISDIR(facts.st_mode);
        if (status == RUE_OK && folder) status = walk(list, below, depth + 1, error);
        free(entries[i]);
    }
    free(entries);
    return status;
}

static void start_table(struct list *list)
{
    static const struct rue_text_column columns[] = {{"study", false, 16, 0},   {"state", false, 0, 0},
                                                     {"ok", true, 0, 0},        {"not ok", true, 0, 2},
                                                     {"measured", false, 0, 3}, {"recommended", false, 24, 0},
                                                     {"data", false, 12, 1}};
    rue_text_table_clear(list->table, list->style.unicode);
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
        rue_text_table_column(list->table, columns[c]);
}

static rue_status finish(struct list *list, const char *path, rue_error *error)
{
    if (list->json) return rue_json_write(&list->document, list->array, stdout, error);
    if (list->studies == 0)
        printf("There is no study below %s yet: 'rue tune FOLDER' makes one.\n", path);
    else
        rue_text_table_print(list->table, &list->style, stdout);
    return rue_report_finish(stdout, error);
}

static rue_status run(const struct rue_options *options, rue_error *error)
{
    bool given = rue_options_argument_count(options) > 0;
    const char *path = given ? rue_options_argument(options, 0) : default_folder;
    struct stat facts;
    bool there = stat(path, &facts) == 0;
    if ((given && !there) || (there && !S_ISDIR(facts.st_mode)))
        return rue_fail(error, RUE_DATA, "cannot list %s: %s; give a folder that holds studies", path,
                        there ? "it is no folder" : strerror(errno));
    struct list list = {.json = rue_options_flag(options, JSON),
                        .style = rue_terminal_style(stdout, RUE_TABLE_COLUMNS),
                        .table = calloc(1, sizeof *list.table),
                        .array = json_array()};
    rue_status status = RUE_OK;
    if (!list.table || !list.array) status = rue_fail_memory(error, "the list", sizeof *list.table);
    if (status == RUE_OK) start_table(&list);
    if (status == RUE_OK && there) status = walk(&list, path, 0, error);
    if (status == RUE_OK) status = finish(&list, path, error);
    json_decref(list.array);
    free(list.table);
    return status;
}

const struct rue_command rue_command_list = {
    .name = "list",
    .arguments = "[DIR]",
    .summary = "List the studies below a folder [rue-out].",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .min_arguments = 0,
    .max_arguments = 1,
    .run = run,
};
