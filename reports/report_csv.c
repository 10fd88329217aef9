/* trials.csv: one line per trial; unknown values are empty. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report.h"

static void add_columns(struct rue_page *page, const struct rue_knobs *knobs)
{
    static const char *const leading[] = {"id", "started_ns", "mode", "format", "dtype", "model", "measure"};
    static const char *const middle[] = {"requested_images", "job_images", "status"};
    rue_page_table(page, NULL, 0);
    for (size_t i = 0; i < sizeof leading / sizeof *leading; i++)
        rue_page_column(page, (struct rue_table_column){.key = leading[i]});
    for (size_t k = 0; k < knobs->count; k++)
        rue_page_column(page, (struct rue_table_column){.key = knobs->at[k]->name});
    for (size_t i = 0; i < sizeof middle / sizeof *middle; i++)
        rue_page_column(page, (struct rue_table_column){.key = middle[i]});
    for (size_t i = 0; i < rue_trial_field_count; i++)
        rue_page_column(page, (struct rue_table_column){.key = rue_trial_fields[i].name,
                                                        .unit = rue_trial_fields[i].real ? RUE_UNIT_NUMBER
                                                                                         : RUE_UNIT_COUNT});
    rue_page_column(page, (struct rue_table_column){.key = "disturbed"});
    rue_page_column(page, (struct rue_table_column){.key = "reason"});
}

static void put_field(struct rue_page *page, const struct rue_trial_result *result,
                      const struct rue_trial_field *field)
{
    const char *at = (const char *)result + field->offset;
    double real;
    int64_t integer;
    memcpy(field->real ? (void *)&real : &integer, at, sizeof real);
    if (!field->real) real = integer == RUE_ABSENT ? NAN : (double)integer;
    rue_put_number(page, real);
}

/* A runner may have declared other knobs when it made the trial. */
static void put_knob(struct rue_page *page, const struct rue_config *config, const char *name)
{
    const struct rue_knobs *knobs = rue_config_knobs(config);
    int knob = rue_knob_find(knobs, name);
    char value[RUE_KNOB_TEXT_BYTES] = "";
    if (knob >= 0) rue_knob_format(knobs->at[knob], config->value[knob], value);
    rue_put_text(page, value);
}

static void put_row(struct rue_page *page, const struct rue_trial_row *row, const struct rue_knobs *knobs)
{
    const struct rue_trial_request *request = &row->request;
    rue_page_row(page, false);
    rue_put_words(page, "%" PRIu64, row->id);
    rue_put_words(page, "%" PRIu64, row->started_ns);
    rue_put_text(page, row->label ? row->label : rue_mode_names[request->variant.mode]);
    rue_put_text(page, request->variant.format);
    rue_put_text(page, request->variant.dtype);
    rue_put_text(page, request->model);
    rue_put_text(page, rue_measure_names[request->measure]);
    for (size_t k = 0; k < knobs->count; k++) put_knob(page, &request->config, knobs->at[k]->name);
    rue_put_words(page, "%" PRIu64, request->images);
    rue_put_words(page, "%" PRIu64, request->job_images);
    rue_put_text(page, rue_outcome_names[row->result.outcome]);
    for (size_t i = 0; i < rue_trial_field_count; i++) put_field(page, &row->result, &rue_trial_fields[i]);
    rue_put_text(page, row->disturbed ? "1" : "");
    rue_put_text(page, row->result.reason);
}

/* One row at a time, to limit memory. */
static rue_status render(const struct rue_findings *findings, const struct rue_report_style *style,
                         FILE *stream, rue_error *error)
{
    (void)style;
    struct rue_page page = {0};
    const struct rue_knobs *knobs = rue_findings_knobs(findings);
    add_columns(&page, knobs);
    rue_status status = rue_page_write_csv(&page, true, stream, error);
    struct rue_trial_row row;
    for (size_t i = 0; status == RUE_OK && findings->row_at; i++) {
        if (!findings->row_at(findings->row_context, i, &row)) break;
        put_row(&page, &row, knobs);
        status = rue_page_write_csv(&page, false, stream, error);
        rue_page_clear_rows(&page);
    }
    rue_page_close(&page);
    return status == RUE_OK ? rue_report_finish(stream, error) : status;
}

const struct rue_report rue_report_csv = {
    .name = "csv", .file = "trials.csv", .mark = "id,started_ns,mode,", .render = render};
