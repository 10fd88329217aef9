#include <limits.h>

#include "findings_fixture.h"
#include "utf8.h"
#include "verdict.h"

/* All sentences of the page, which is closed, one behind the other; blanks where no line should break. */
static const char *page_text(struct rue_page *page)
{
    static char plain[8192];
    size_t used = 0;
    cr_assert_not(page->failed);
    for (size_t i = 0; i < page->count; i++) {
        rue_utf8_clean(page->sections[i].text, true, plain + used, sizeof plain - used);
        used += strlen(plain + used);
    }
    rue_page_close(page);
    return plain;
}

static const char *use_text(const struct fixture *fixture, size_t variant)
{
    struct rue_page page = {0};
    rue_page_sentence(&page, RUE_LOOK_PLAIN, 0);
    rue_verdict_use(&page, &fixture->findings, &fixture->variants[variant]);
    return page_text(&page);
}

static const char *notes_text(const struct rue_variant_findings *variant)
{
    struct rue_page page = {0};
    rue_verdict_notes(&page, &(struct rue_findings){0}, variant, false);
    return page_text(&page);
}

static const char *above_text(const struct rue_variant_findings *variant, bool brief)
{
    struct rue_page page = {0};
    rue_verdict_above(&page, variant, brief);
    return page_text(&page);
}

static const char *evidence_text(const struct rue_variant_findings *variant,
                                 const struct rue_waiting *waiting)
{
    struct rue_page page = {0};
    rue_verdict_evidence(&page, variant, waiting, true);
    return page_text(&page);
}

/* Trials of 128/8 on the raw data that compute for `computing_s` of `total_s`; the first batch takes a
 * second, and so does the shut-down. */
static void add_trial(struct fixture *fixture, const char *model, double computing_s, double total_s)
{
    struct rue_trial_row *row = &fixture->rows[fixture->row_count++];
    *row = (struct rue_trial_row){.id = fixture->row_count,
                                  .request = {.measure = RUE_JOINT,
                                              .variant = fixture->variants[0].variant,
                                              .config = fixture_config(128, 8),
                                              .images = 9469},
                                  .result = rue_trial_result_empty()};
    row->result.config = row->request.config;
    snprintf(row->request.model, sizeof row->request.model, "%s", model);
    row->result.outcome = RUE_TRIAL_OK;
    row->result.images = 9469;
    row->result.end_to_end_ns = (int64_t)(1e9 * total_s);
    row->result.first_batch_ns = row->result.shutdown_ns = 1000000000;
    row->result.load_wait_ns = (int64_t)(1e9 * (total_s - computing_s - 1));
    row->result.compute_ns = (int64_t)(1e9 * computing_s);
}

/* What is said of the models' waiting. */
static const char *waiting_text(const struct fixture *fixture)
{
    struct rue_page page = {0};
    struct rue_breakdown *breakdown;
    cr_assert_eq(rue_breakdown_open(&fixture->findings, &breakdown, NULL), RUE_OK);
    rue_page_sentence(&page, RUE_LOOK_PLAIN, 0);
    const struct rue_variant_findings *variant = &fixture->variants[0];
    const struct rue_waiting waiting =
        rue_waiting_find(&fixture->findings, breakdown, variant, variant->selection->recommended);
    rue_verdict_waiting(&page, variant, &waiting);
    rue_breakdown_close(breakdown);
    return page_text(&page);
}

static const char *confidence_text(const struct fixture *fixture)
{
    struct rue_page page = {0};
    rue_page_sentence(&page, RUE_LOOK_PLAIN, 0);
    rue_verdict_confidence(&page, &fixture->findings);
    return page_text(&page);
}

/* What is said of 9,469 images where other lengths have other answers; configurations are numbers of the
 * plain fixture: 32/2, 32/4, 128/0, 128/8. */
static const char *lengths_note(const struct rue_job_interval *intervals, size_t count)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    struct rue_variant_findings *variant = &fixture.variants[0];
    variant->lengths.count = count;
    for (size_t i = 0; i < count; i++) variant->lengths.at[i] = intervals[i];
    const char *said = notes_text(variant);
    fixture_close(&fixture);
    return said;
}

/* What is said of trials of 128/8 with 100 batches of 20 ms each: 16 may be in flight. */
static const char *queue_note(const int64_t (*waits_and_fills)[2], size_t count)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    struct rue_variant_findings *variant = &fixture.variants[0];
    struct rue_trial_result result = rue_trial_result_empty();
    result.outcome = RUE_TRIAL_OK;
    result.config = fixture_config(128, 8);
    result.batches = 100;
    result.end_to_end_ns = 100 * 20000000;
    for (size_t i = 0; i < count; i++) {
        result.queue_waits = waits_and_fills[i][0];
        result.queue_fills = waits_and_fills[i][1];
        rue_findings_count_queue(variant, &result);
    }
    result.batches = 40; /* too short to tell */
    rue_findings_count_queue(variant, &result);
    const char *said = notes_text(variant);
    fixture_close(&fixture);
    return said;
}

Test(verdict, what_a_longer_queue_gains_is_said)
{
    static const int64_t bound[][2] = {{90, 0}, {0, 60}, {40, 5}}, ample[][2] = {{5, 90}, {0, 0}},
                         uneven[][2] = {{20, 30}, {90, 0}}, unknown[][2] = {{RUE_ABSENT, RUE_ABSENT}};
    cr_assert_str_eq(
        queue_note(bound, 3),
        "A queue longer than 16 batches is only a head start of 20 ms for each further batch, once: "
        "loading sets the pace in 2 of 3 trials.");
    cr_assert_str_eq(queue_note(ample, 2),
                     "A queue longer than 16 batches gains nothing: it did not run empty.");
    cr_assert_str_eq(queue_note(uneven, 2), "A queue longer than 16 batches may raise the rate: in 1 of 2 "
                                            "trials it was empty at times and full at others.");
    cr_assert_str_eq(queue_note(unknown, 1), "");
}

/* Of fixed batches and of others, each with the times of two models; of the others' trials, `changed` and
 * `kept` changed their sizes or not. */
static const char *batches_note(double fixed_s, double other_s, bool predicted, bool repeated, size_t changed,
                                size_t kept)
{
    static const char *const models[] = {"ape", "bee"};
    struct rue_config configs[2] = {fixture_config(32, 2), fixture_config(64, 2)};
    const double times_s[] = {fixed_s, other_s, 2 * fixed_s, 2 * other_s};
    struct fixture fixture;
    configs[1].value[RUE_BATCH_STRATEGY] = RUE_BATCHES_ADAPTIVE;
    const struct fixture_grid grid = {.configs = configs,
                                      .config_count = 2,
                                      .models = models,
                                      .model_count = 2,
                                      .times_s = times_s,
                                      .predicted = predicted};
    fixture_open(&fixture);
    struct rue_variant_findings *variant = fixture_add(&fixture, &grid);
    if (repeated) { /* the selection counts the repeats */
        fixture_repeat(&fixture, 0.01);
        struct rue_selection_rules rules = {.top_n = 3};
        rue_selection_close(fixture.selections[0]);
        cr_assert_eq(rue_selection_open(fixture.matrices[0], &rules, &fixture.selections[0], NULL), RUE_OK);
        variant->selection = fixture.selections[0];
    }
    struct rue_trial_result result = rue_trial_result_empty();
    result.outcome = RUE_TRIAL_OK;
    result.images = 1000;
    for (size_t i = 0; i < changed + kept; i++) {
        result.config = configs[1];
        result.batches = i < changed ? 20 : 16;
        rue_findings_count_sizes(variant, &result);
        result.config = configs[0]; /* does not count */
        rue_findings_count_sizes(variant, &result);
    }
    struct rue_page page = {0};
    rue_page_sentence(&page, RUE_LOOK_PLAIN, 0);
    rue_verdict_batches(&page, &fixture.findings, variant, false);
    const char *said = page_text(&page);
    fixture_close(&fixture);
    return said;
}

Test(verdict, whether_adapting_beats_fixed_batches_is_said)
{
    const char *said = batches_note(12, 10, false, true, 2, 1);
    cr_assert(strstr(said, "Batches of the strategy adaptive beat the best fixed ones: 64/2 "
                           "batch_strategy=adaptive is 1.20 times as fast as 32/2 (95 % CI 1."),
              "%s", said);
    cr_assert(strstr(said, "changed in only 2 of 3 trials. The two also differ in batch_size."), "%s", said);
    said = batches_note(10, 10, false, true, 3, 0);
    cr_assert(strstr(said, "adaptive are not proven to beat the best fixed ones: ") &&
                  strstr(said, "is 1.00 times as fast as 32/2 (95 % CI 0.9") && !strstr(said, "in only"),
              "%s", said);
    said = batches_note(10, 12, false, true, 3, 0);
    cr_assert(strstr(said, "are not proven to beat") && strstr(said, "is 0.83 times as fast"), "%s", said);
    said = batches_note(12, 10, true, false, 1, 0);
    cr_assert(strstr(said, "are not proven to beat") && strstr(said, ", from short runs)."), "%s", said);
}

Test(verdict, batches_of_one_size_or_of_one_trial_prove_nothing)
{
    const char *said = batches_note(12, 10, false, true, 0, 3);
    cr_assert_str_eq(said, "Batches of the strategy adaptive (64/2 batch_strategy=adaptive) are not compared "
                           "with fixed ones (32/2): the sizes never changed in this job.");
    said = batches_note(12, 10, false, true, 0, 0); /* as in a study that was stored without the counts */
    cr_assert_str_eq(said, "Batches of the strategy adaptive (64/2 batch_strategy=adaptive) are not compared "
                           "with fixed ones (32/2): whether the sizes changed is unknown.");
    said = batches_note(12, 10, false, true, 1, 2);
    cr_assert(strstr(said, "are not proven to beat") && strstr(said, "changed in only 1 of 3"), "%s", said);
    said = batches_note(12, 10, false, false, 1, 0);
    cr_assert(strstr(said, "are not proven to beat") && strstr(said, "(measured once)."), "%s", said);
}

Test(verdict, the_same_answer_for_all_lengths_gets_no_sentence)
{
    const struct rue_job_interval one[] = {{32, 900000, 3}};
    cr_assert_str_eq(lengths_note(one, 1), "");
    cr_assert_str_eq(lengths_note(one, 0), "");
}

Test(verdict, other_lengths_have_other_answers)
{
    const struct rue_job_interval intervals[] = {{32, 1104, 0}, {1105, 123455, 3}, {123456, 900000, 1}};
    cr_assert_str_eq(lengths_note(intervals, 3), "Best by job length (predicted): 32/2 below 1,100 images, "
                                                 "128/8 below 120,000, then 32/4.");
    cr_assert_str_eq(lengths_note(intervals, 2),
                     "Best by job length (predicted): 32/2 below 1,100 images, then 128/8.");
}

Test(verdict, a_bound_is_rounded_up)
{
    static const struct {
        double bound_ratio;
        const char *words;
    } cases[] = {{0.00549, "more than 0.6 points better (95 % confidence)."},
                 {0.0004, "more than 0.1 points better (95 % confidence)."},
                 {0.018, "more than 1.8 points better (95 % confidence)."},
                 {0.007, "more than 0.7 points better (95 % confidence)."},
                 {0, "more than 0.1 points better (95 % confidence)."}};
    struct fixture fixture;
    fixture_open_plain(&fixture);
    struct rue_variant_findings *variant = &fixture.variants[0];
    variant->claim.confidence = 0.95;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        variant->claim.bound_ratio = cases[i].bound_ratio;
        const char *plain = evidence_text(&fixture.variants[0], &(struct rue_waiting){0});
        cr_assert(strstr(plain, cases[i].words), "%g: %s", cases[i].bound_ratio, plain);
    }
    fixture_close(&fixture);
}

Test(verdict, a_predicted_recommendation_says_so_and_how_to_confirm_it)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    struct rue_ranking_row *row = &fixture.selections[0]->rows[fixture.selections[0]->recommended];
    cr_expect(!strstr(use_text(&fixture, 0), "predicted"));
    row->predicted = true;
    cr_expect(strstr(use_text(&fixture, 0), ", estimated from runs shorter than the job."));
    row->repeats = 0;
    cr_expect(strstr(use_text(&fixture, 0), ", as predicted. It was not measured on every model: confirm "
                                            "it with a larger budget."));
    fixture_close(&fixture);
}

Test(verdict, configurations_above_the_recommendation_are_explained)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    struct rue_selection *selection = fixture.selections[0];
    cr_expect_str_eq(above_text(&fixture.variants[0], false), "");
    selection->recommended = selection->ranked[1];
    cr_expect_str_eq(above_text(&fixture.variants[0], true),
                     "128/8 is predicted to be better, but it was not measured on every model.");
    fixture.variants[0].baselines.count = 1;
    fixture.variants[0].baselines.found = selection->ranked[0];
    cr_expect_str_eq(above_text(&fixture.variants[0], true), "", "the evidence says so");
    cr_expect(strstr(above_text(&fixture.variants[0], false),
                     "128/8 has less regret, but it is not proven to be faster than "));
    selection->recommended = RUE_NONE;
    cr_expect_str_eq(above_text(&fixture.variants[0], false), "");
    fixture_close(&fixture);
}

Test(verdict, the_upper_end_of_an_interval_is_never_zero)
{
    static const struct {
        double low, high;
        const char *words;
    } cases[] = {{0, 0.018, "(95 % CI 0 to 1.8 %)"},
                 {0, 0, "(95 % CI 0 to 0.1 %)"},
                 {0.0004, 0.0006, "(95 % CI 0 to 0.1 %)"},
                 {0.01, 0.02, "(95 % CI 1.0 to 2.0 %)"}};
    struct fixture fixture;
    fixture_open_plain(&fixture);
    struct rue_variant_findings *variant = &fixture.variants[0];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        variant->interval = (struct rue_regret_interval){
            .confidence = 0.95, .mean_low = cases[i].low, .mean_high = cases[i].high};
        const char *plain = use_text(&fixture, 0);
        cr_assert(strstr(plain, cases[i].words), "%s: %s", cases[i].words, plain);
    }
    fixture_close(&fixture);
}

Test(verdict, an_answer_found_on_a_busy_machine_is_of_low_confidence)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    char *const facts[] = {fixture.findings.changes.busy_before, fixture.findings.changes.busy_after,
                           fixture.findings.changes.disturbance};
    for (int i = -1; i < 3; i++) {
        if (i >= 0) strcpy(facts[i], "other processes used 1.3 CPUs");
        const char *text = confidence_text(&fixture);
        cr_expect_eq(strstr(text, "other processes used 1.3 CPUs") != NULL, i >= 0, "%d: %s", i, text);
        if (i >= 0) facts[i][0] = 0;
    }
    fixture_close(&fixture);
}

Test(verdict, a_change_of_speed_is_never_1_00_times)
{
    static const struct {
        double load_ratio, compute_ratio;
        const char *said;
    } cases[] = {{1.3, 1.3, "the machine is 1.30 times slower"},
                 {1.004, 1.004, "the machine is 1.004 times slower"},
                 {0.5, 1, "loading is 2.00 times faster and computing is unchanged"},
                 {1.0003, 1.2, "loading is unchanged and computing is 1.20 times slower"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct rue_notice notice = {
            .trial = 7, .load_ratio = cases[i].load_ratio, .compute_ratio = cases[i].compute_ratio};
        char text[RUE_NOTICE_TEXT_BYTES];
        rue_notice_text(&notice, text, sizeof text);
        cr_expect(strstr(text, cases[i].said), "%s", text);
    }
}

Test(verdict, only_an_answer_that_was_mostly_affected_is_not_reliable)
{
    static const struct {
        struct rue_contention_findings found;
        const char *said;
    } cases[] = {
        {{0}, ""},
        {{.affected_ratio = 0.49,
          .contended_ratio = 0.22,
          .other_cpus = 1,
          .cpus = 2,
          .has_clean_pair = true},
         ""},
        {{.affected_ratio = 0.63,
          .contended_ratio = 0.63,
          .other_cpus = 1,
          .cpus = 2,
          .has_clean_pair = true},
         "Not reliable: other programs or changes of speed affected 63 % of the time; run again when the "
         "machine is idle."},
        {{.affected_ratio = 0.2, .cpus = 2},
         "Not reliable: other programs or changes of speed affected 20 % of the time, and every comparison "
         "of "
         "the recommended configuration; run again when the machine is idle."}};
    struct fixture fixture;
    fixture_open_plain(&fixture);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rue_page page = {0};
        fixture.findings.changes.contention = cases[i].found;
        rue_page_sentence(&page, RUE_LOOK_PLAIN, 0);
        rue_verdict_partial(&page, &fixture.findings);
        cr_expect_str_eq(page_text(&page), cases[i].said);
        cr_expect_eq(rue_findings_is_doubtful(&fixture.findings), cases[i].said[0] != 0);
    }
    fixture_close(&fixture);
}

Test(verdict, what_other_programs_took_follows_the_answer)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    fixture.findings.changes.contention = (struct rue_contention_findings){
        .affected_ratio = 0.3, .contended_ratio = 0.22, .other_cpus = 1, .cpus = 2, .has_clean_pair = true};
    static const char *const said[][2] = {{"duel", "corrected"}, {"grid", "not corrected"}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        struct rue_page page = {0};
        char text[128];
        snprintf(fixture.findings.run.strategy, sizeof fixture.findings.run.strategy, "%s", said[i][0]);
        snprintf(text, sizeof text,
                 "used 1 of 2 CPUs for 22 %% of the time; the times of those trials are %s.", said[i][1]);
        rue_verdict_background(&page, &fixture.findings, true);
        cr_expect(strstr(page_text(&page), text), "%s", said[i][0]);
    }
    fixture_close(&fixture);
}

Test(verdict, waiting_is_what_is_neither_computing_nor_copying)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    cr_expect_str_eq(waiting_text(&fixture), "", "nothing was measured");
    add_trial(&fixture, "resnet152", 19, 20);
    add_trial(&fixture, "resnet18", 6, 12);
    cr_expect_str_eq(waiting_text(&fixture), "", "one model is unknown");
    add_trial(&fixture, "mobilenet_v3_small", 6.6, 11);
    cr_expect_str_eq(waiting_text(&fixture),
                     "Loading slows down 2 of 3 models: resnet18 waits for data 50 % of the time. "
                     "A perfect loader would be 1.52 times as fast.");
    fixture_close(&fixture);
}

Test(verdict, a_gain_is_said_beside_that_of_a_perfect_loader)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    struct rue_variant_findings *variant = &fixture.variants[0];
    const struct rue_waiting known = {.models = 3, .perfect_ratio = 1.02},
                             part = {.models = 2, .perfect_ratio = 1.02};
    variant->baselines = (struct rue_baseline_findings){
        .rows = {{.name = "workers = CPUs", .config = 1, .gain = {0.95, 1.29, 1.24, 1.34}}},
        .count = 1,
        .found = variant->selection->recommended};
    const char *said = evidence_text(variant, &known);
    cr_expect(strstr(said, "The recommendation is 1.29 of at most 1.32 times as fast as workers = CPUs, 32/4 "
                           "(95 % CI 1.24 to 1.34"),
              "%s", said);
    said = evidence_text(variant, &part);
    cr_expect(strstr(said, "The recommendation is 1.29 times as fast"), "some models' waiting is unknown: %s",
              said);
    fixture_close(&fixture);
}

Test(verdict, waiting_is_a_share_of_the_corrected_time)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    add_trial(&fixture, "resnet152", 19, 20);
    add_trial(&fixture, "resnet18", 6, 24); /* the cell says 12 s */
    add_trial(&fixture, "mobilenet_v3_small", 10.5, 11);
    cr_expect_str_eq(waiting_text(&fixture),
                     "Loading slows down 1 of 3 models: resnet18 waits for data 50 % of the time. "
                     "A perfect loader would be 1.30 times as fast.");
    fixture_close(&fixture);
}

Test(verdict, variants_with_equal_names_get_the_name_of_their_data)
{
    static const char *const models[] = {"ape"};
    static const double times_s[] = {1.0};
    struct rue_config config = fixture_config(32, 4);
    const struct fixture_grid grid = {.mode = RUE_RAW,
                                      .configs = &config,
                                      .config_count = 1,
                                      .models = models,
                                      .model_count = 1,
                                      .times_s = times_s};
    static const char *const paths[] = {"/data/shards", "/data/packed", "/data/packed"};
    static const char *const names[] = {"raw folder shards", "raw folder /data/packed",
                                        "raw folder /data/packed"};
    struct fixture fixture;
    char wanted[64];
    fixture_open(&fixture);
    for (int v = 0; v < 3; v++)
        snprintf(fixture_add(&fixture, &grid)->variant.path, PATH_MAX, "%s", paths[v]);
    for (int v = 0; v < 3; v++) {
        const char *text = use_text(&fixture, (size_t)v);
        snprintf(wanted, sizeof wanted, "for %s data", names[v]);
        cr_expect(strstr(text, wanted), "%s", text);
    }
    fixture_close(&fixture);
}

/* What is said of sleeping models that were to sleep `meant_ns` and slept `late_ns` longer. */
static const char *sleep_note(double meant_ns, double late_ns)
{
    struct fixture fixture;
    fixture_open_plain(&fixture);
    fixture.variants[0].trials.meant_ns = meant_ns;
    fixture.variants[0].trials.late_ns = late_ns;
    const char *said = notes_text(&fixture.variants[0]);
    fixture_close(&fixture);
    return said;
}

Test(verdict, overshoot_above_one_percent_is_reported)
{
    cr_assert_str_eq(sleep_note(0, 0), "", "nothing slept");
    cr_assert_str_eq(sleep_note(1e9, 9e6), "");
    const char *said = sleep_note(1e9, 0.25e9);
    cr_assert(strstr(said, "slept 25.0 % too long"), "%s", said);
}

Test(verdict, only_reported_overshoots_count)
{
    struct rue_variant_findings variant = {0};
    struct rue_trial_result result = rue_trial_result_empty();
    result.compute_ns = 110;
    result.outcome = RUE_TRIAL_OK;
    rue_findings_count_trial(&variant, &result);
    cr_assert(isnan(rue_findings_overshoot_ratio(&variant)), "it does not sleep");
    result.sleep_overshoot_ns = 10;
    rue_findings_count_trial(&variant, &result);
    rue_findings_count_trial(&variant, &result);
    cr_assert_eq(rue_findings_overshoot_ratio(&variant), 0.1);
    result.outcome = RUE_TRIAL_TIMEOUT;
    result.sleep_overshoot_ns = 100;
    rue_findings_count_trial(&variant, &result);
    cr_assert_eq(rue_findings_overshoot_ratio(&variant), 0.1, "it was not ok");
}
