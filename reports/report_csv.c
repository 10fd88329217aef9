/* trials.csv: one line per trial; unknown values are empty. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report.h"

enum { NUMBER_BYTES = 24 };

static double field_number(const struct rue_trial_result *result, const struct rue_trial_field *field)
{
    const char *at = (const char *)result + field->offset;
    double real;
    int64_t integer;
    memcpy(field->real ? (void *)&real : &integer, at, sizeof real);
    return field->real ? real : integer == RUE_ABSENT ? NAN : (double)integer;
}

/* A runner may have declared other knobs when it made the trial. */
static void put_knob(struct rue_page *page, const struct rue_config *config, const char *name)
{
    const struct rue_knobs *knobs = rue_config_knobs(config);
    int knob = rue_knob_find(knobs, name);
    char value[RUE_KNOB_TEXT_BYTES] = "";
    if (knob >= 0) rue_knob_format(knobs->at[knob], config->value[knob], value);
    rue_page_put(page, &(struct rue_table_column){name, .text = value}, 1);
}

/* A double does not hold every such number. */
static const char *row_text(uint64_t number, char out[NUMBER_BYTES])
{
    snprintf(out, NUMBER_BYTES, "%" PRIu64, number);
    return out;
}

static void put_row(struct rue_page *page, const struct rue_trial_row *row, const struct rue_knobs *knobs)
{
    const struct rue_trial_request *request = &row->request;
    char texts[4][NUMBER_BYTES];
    const struct rue_table_column leading[] = {
        {"id", .text = row_text(row->id, texts[0])},
        {"started_ns", .text = row_text(row->started_ns, texts[1])},
        {"mode", .text = row->label ? row->label : rue_mode_names[request->variant.mode]},
        {"format", .text = request->variant.format},
        {"dtype", .text = request->variant.dtype},
        {"model", .text = request->model},
        {"measure", .text = rue_measure_names[request->measure]},
    };
    const struct rue_table_column middle[] = {
        {"requested_images", .text = row_text(request->images, texts[2])},
        {"job_images", .text = row_text(request->job_images, texts[3])},
        {"status", .text = rue_outcome_names[row->result.outcome]},
    };
    const struct rue_table_column trailing[] = {
        {"disturbed", .text = row->disturbed ? "1" : ""},
        {"reason", .text = row->result.reason},
    };
    rue_page_row(page, false, leading, sizeof leading / sizeof *leading);
    for (size_t k = 0; k < knobs->count; k++) put_knob(page, &request->config, knobs->at[k]->name);
    rue_page_put(page, middle, sizeof middle / sizeof *middle);
    for (size_t i = 0; i < rue_trial_field_count; i++) {
        const struct rue_trial_field *field = &rue_trial_fields[i];
        const struct rue_table_column column = {field->name, NULL,
                                                field->real ? RUE_UNIT_NUMBER : RUE_UNIT_COUNT,
                                                .number = field_number(&row->result, field)};
        rue_page_put(page, &column, 1);
    }
    rue_page_put(page, trailing, sizeof trailing / sizeof *trailing);
}

/* One row at a time, to limit memory. */
static rue_status render(const struct rue_findings *findings, const struct rue_report_style *style,
                         FILE *stream, rue_error *error)
{
    (void)style;
    struct rue_page page = {0};
    const struct rue_knobs *knobs = rue_findings_knobs(findings);
    struct rue_trial_row row = {0};
    rue_page_table(&page);
    put_row(&page, &row, knobs); /* an empty row: for its columns */
    rue_page_clear_rows(&page);
    rue_status status = rue_page_write_csv(&page, true, stream, error);
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
