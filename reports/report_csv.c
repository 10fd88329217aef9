/* trials.csv: one line a trial, quoted as RFC 4180 says, lines ended by a line feed alone as tools expect it
 * here. What is not known is empty. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "csv_field.h"
#include "report.h"

static const char *const leading[] = {"id", "started_ns", "mode", "format", "dtype", "model", "measure"};
static const char *const middle[] = {"requested_images", "job_images", "status"};

static void put_header(const struct rue_knobs *knobs, FILE *stream)
{
    for (size_t i = 0; i < sizeof leading / sizeof *leading; i++) fprintf(stream, "%s,", leading[i]);
    for (size_t k = 0; k < knobs->count; k++) fprintf(stream, "%s,", knobs->at[k]->name);
    for (size_t i = 0; i < sizeof middle / sizeof *middle; i++) fprintf(stream, "%s,", middle[i]);
    for (size_t i = 0; i < rue_trial_field_count; i++) fprintf(stream, "%s,", rue_trial_fields[i].name);
    fputs("disturbed,reason\n", stream);
}

static void put_field(FILE *stream, const struct rue_trial_result *result,
                      const struct rue_trial_field *field)
{
    const char *at = (const char *)result + field->offset;
    if (field->real) {
        double real;
        memcpy(&real, at, sizeof real);
        if (isfinite(real)) fprintf(stream, "%.9g", real);
        return;
    }
    int64_t integer;
    memcpy(&integer, at, sizeof integer);
    if (integer != RUE_ABSENT) fprintf(stream, "%" PRId64, integer);
}

static void put_row(FILE *stream, const struct rue_trial_row *row)
{
    const struct rue_trial_request *request = &row->request;
    const char *const texts[] = {row->label ? row->label : rue_mode_names[request->variant.mode],
                                 request->variant.format, request->variant.dtype, request->model,
                                 rue_measure_names[request->measure]};
    fprintf(stream, "%" PRIu64 ",%" PRIu64 ",", row->id, row->started_ns);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        rue_csv_put_text(stream, texts[i]);
        fputc(',', stream);
    }
    const struct rue_knobs *knobs = rue_config_knobs(&request->config);
    for (size_t k = 0; k < knobs->count; k++) {
        char value[RUE_KNOB_TEXT_BYTES] = "";
        if (request->config.value[k] != RUE_KNOB_UNKNOWN)
            rue_knob_format(knobs->at[k], request->config.value[k], value);
        fprintf(stream, "%s,", value);
    }
    fprintf(stream, "%" PRIu64 ",%" PRIu64 ",%s,", request->images, request->job_images,
            rue_outcome_names[row->result.outcome]);
    for (size_t i = 0; i < rue_trial_field_count; i++) {
        put_field(stream, &row->result, &rue_trial_fields[i]);
        fputc(',', stream);
    }
    fputs(row->disturbed ? "1," : ",", stream);
    rue_csv_put_text(stream, row->result.reason);
    fputc('\n', stream);
}

static rue_status render(const struct rue_findings *findings, const struct rue_report_style *style,
                         FILE *stream, rue_error *error)
{
    (void)style;
    put_header(rue_findings_knobs(findings), stream);
    for (size_t i = 0; i < findings->row_count; i++) {
        struct rue_trial_row row;
        if (findings->row_at) findings->row_at(findings->row_context, i, &row);
        put_row(stream, findings->row_at ? &row : &findings->rows[i]);
    }
    return rue_report_finish(stream, error);
}

const struct rue_report rue_report_csv = {
    .name = "csv", .file = "trials.csv", .mark = "id,started_ns,mode,", .render = render};
