#include "check_junit.h"

#include "markup.h"
#include "utf8.h"

static double seconds(const struct rue_check *check)
{
    double sum_ns = 0;
    for (size_t i = 0; i < check->trial_count; i++)
        if (check->trials[i].result.end_to_end_ns > 0)
            sum_ns += (double)check->trials[i].result.end_to_end_ns;
    return sum_ns / 1e9;
}

static void write_attribute(FILE *stream, const char *name, const char *text)
{
    fprintf(stream, " %s=\"", name);
    rue_markup_put(stream, text);
    fputc('"', stream);
}

static void write_case(FILE *stream, const char *name, const struct rue_check *check)
{
    char sentence[4096] = "";
    struct rue_page page = {0};
    rue_page_sentence(&page, RUE_LOOK_PLAIN, 0);
    rue_check_say(&page, check);
    if (page.count && page.sections[0].text)
        rue_utf8_clean(page.sections[0].text, true, sentence, sizeof sentence);
    rue_page_close(&page);
    enum rue_recheck_verdict verdict = check->findings.verdict;
    fputs("<testcase classname=\"rue.check\"", stream);
    write_attribute(stream, "name", name);
    fprintf(stream, " time=\"%.3f\">", seconds(check));
    if (verdict != RUE_RECHECK_HOLDS) {
        fputs(verdict == RUE_RECHECK_UNTRIED ? "<skipped" : "<failure", stream);
        write_attribute(stream, "message", sentence);
        fputs("/>", stream);
    } else {
        fputs("<system-out>", stream);
        rue_markup_put(stream, sentence);
        fputs("</system-out>", stream);
    }
    fputs("</testcase>\n", stream);
}

rue_status rue_checks_write_junit(const void *context, FILE *stream, rue_error *error)
{
    const struct rue_checks *checks = context;
    size_t failures = 0, skipped = 0;
    char name[RUE_CHECK_NAME_BYTES];
    for (size_t i = 0; i < checks->count; i++) {
        enum rue_recheck_verdict verdict = checks->at[i].findings.verdict;
        skipped += verdict == RUE_RECHECK_UNTRIED;
        failures += verdict != RUE_RECHECK_HOLDS && verdict != RUE_RECHECK_UNTRIED;
    }
    fputs(RUE_CHECK_JUNIT_MARK "<testsuites name=\"rue check\">\n<testsuite", stream);
    write_attribute(stream, "name", checks->path);
    fprintf(stream, " tests=\"%zu\" failures=\"%zu\" skipped=\"%zu\" errors=\"0\">\n", checks->count,
            failures, skipped);
    for (size_t i = 0; i < checks->count; i++) {
        rue_checks_name(checks, i, name);
        write_case(stream, name, &checks->at[i]);
    }
    fputs("</testsuite>\n</testsuites>\n", stream);
    return ferror(stream) ? rue_fail(error, RUE_STORE, "the JUnit file cannot be written") : RUE_OK;
}
