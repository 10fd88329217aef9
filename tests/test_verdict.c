#include "findings_fixture.h"
#include "verdict.h"

/* What is said of 9,469 images where other lengths have other answers; configurations are numbers of the
 * plain fixture: 32/2, 32/4, 128/0, 128/8. */
static const char *said_of(const struct rue_job_interval *intervals, size_t count)
{
    static char text[RUE_VERDICT_BYTES], plain[RUE_VERDICT_BYTES];
    struct fixture fixture;
    fixture_open_plain(&fixture);
    struct rue_variant_findings *variant = &fixture.variants[0];
    variant->lengths.count = count;
    for (size_t i = 0; i < count; i++) variant->lengths.at[i] = intervals[i];
    rue_verdict_lengths(variant, text, sizeof text);
    size_t used = 0;
    for (const char *at = text; *at; at++) {
        bool no_break = strncmp(at, "\xC2\xA0", 2) == 0;
        plain[used++] = no_break ? ' ' : *at;
        at += no_break;
    }
    plain[used] = 0;
    fixture_close(&fixture);
    return plain;
}

Test(verdict, the_same_answer_for_all_lengths_is_no_news)
{
    const struct rue_job_interval one[] = {{32, 900000, 3}};
    cr_assert_str_eq(said_of(one, 1), "");
    cr_assert_str_eq(said_of(one, 0), "");
}

Test(verdict, other_lengths_have_other_answers)
{
    const struct rue_job_interval intervals[] = {{32, 1104, 0}, {1105, 123455, 3}, {123456, 900000, 1}};
    cr_assert_str_eq(said_of(intervals, 3),
                     "Jobs of other lengths, as predicted: below 1,100 images 32/2 is better, "
                     "from 120,000 images on 32/4 is better.");
    cr_assert_str_eq(said_of(intervals, 2),
                     "Jobs of other lengths, as predicted: below 1,100 images 32/2 is better.");
    cr_assert_str_eq(said_of(intervals + 1, 2),
                     "Jobs of other lengths, as predicted: from 120,000 images on 32/4 is better.");
}

Test(verdict, of_many_lengths_the_nearest_are_named)
{
    const struct rue_job_interval intervals[] = {
        {32, 99, 2}, {100, 999, 0}, {1000, 20000, 3}, {20001, 50000, 1}, {50001, 900000, 0}};
    const char *said = said_of(intervals, 5);
    cr_assert(strstr(said, "below 1,000 images 32/2") && strstr(said, "from 20,000 images on 32/4"), "%s",
              said);
    cr_assert(strstr(said, "by_job_images") && !strstr(said, "128/0"), "%s", said);
}
