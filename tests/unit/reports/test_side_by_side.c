#include "side_by_side.h"

#include "findings_fixture.h"

TestSuite(side_by_side, .timeout = 60);

enum { RAW, PREPARED, COPY, SIDES };

static const char *const models[] = {"ape", "bee"};
static struct fixture fixture;
static struct rue_side sides[SIDES];
static struct rue_side_by_side all;

/* Jobs of 100 of 1,000 images: an epoch is ten jobs. */
static void begin(void)
{
    static const double times_s[SIDES][2] = {{10, 50}, {2, 50}, {9.9, 40}};
    static struct rue_config config;
    config = fixture_config(32, 4);
    fixture_open(&fixture);
    memset(sides, 0, sizeof sides);
    for (int s = 0; s < SIDES; s++) {
        const struct fixture_grid grid = {.mode = s == PREPARED ? RUE_PREPROCESSED : RUE_RAW,
                                          .configs = &config,
                                          .config_count = 1,
                                          .models = models,
                                          .model_count = 2,
                                          .times_s = times_s[s]};
        struct rue_variant_findings *variant = fixture_add(&fixture, &grid);
        variant->job.images = 100;
        variant->data.images = 1000;
        sides[s].build_s = s == RAW ? 0 : 160;
        sides[s].storage_bytes = 1e6 * (s + 1);
        sides[s].common_regret_ratio = 0.01 * s;
        sides[s].cache = "warm";
        sides[s].own = (struct rue_side_loading){1000 * (s + 1), 0.25, 1e-3, 5e8};
        sides[s].common = (struct rue_side_loading){NAN, NAN, NAN, NAN};
        snprintf(sides[s].name, sizeof sides[s].name, "variant %d", s);
    }
    for (int s = 0; s < SIDES; s++) sides[s].variant = &fixture.variants[s];
    all = (struct rue_side_by_side){.findings = &fixture.findings,
                                    .common = config,
                                    .has_common = true,
                                    .side_count = SIDES,
                                    .sides = sides};
}

static struct rue_payoff payoff(int side, size_t model)
{
    return rue_side_payoff(&sides[RAW], &sides[side], model);
}

static double pays_after(int side, size_t model)
{
    return payoff(side, model).epochs;
}

Test(side_by_side, making_pays_after_what_it_takes_over_what_an_epoch_saves)
{
    begin();
    cr_assert_float_eq(rue_side_epoch_s(&sides[RAW], &sides[RAW], 0), 100, 1e-9);
    cr_assert_float_eq(pays_after(PREPARED, 0), 2, 1e-9);
    cr_assert(isinf(pays_after(PREPARED, 1)), "it saves nothing");
    cr_assert(isinf(pays_after(COPY, 0)), "a hundredth is no gain");
    cr_assert_float_eq(pays_after(COPY, 1), 1.6, 1e-9);
    cr_assert_eq(pays_after(RAW, 0), 0);
    sides[PREPARED].build_s = NAN;
    cr_assert(isnan(pays_after(PREPARED, 0)));
    fixture.variants[RAW].job.images = 0;
    cr_assert(isnan(rue_side_epoch_s(&sides[RAW], &sides[RAW], 0)));
    fixture_close(&fixture);
}

static char *show(void)
{
    static char *text;
    static size_t bytes;
    const struct rue_report_style style = {.columns = 0};
    FILE *stream = open_memstream(&text, &bytes);
    cr_assert_eq(rue_side_by_side_show(&all, &style, stream, NULL), RUE_OK);
    fclose(stream);
    return text;
}

Test(side_by_side, the_page_says_what_pays_and_what_does_not)
{
    begin();
    char *text = show();
    cr_expect(
        strstr(text, "variant 1: making it takes about 2 m 40 s; it pays after 2 epochs of ape, and not at"),
        "%s", text);
    cr_expect(
        strstr(text, "variant 2: making it takes about 2 m 40 s; it pays after 2 epochs of bee, and not at"),
        "%s", text);
    cr_expect(strstr(text, "All of them at 32/4"), "%s", text);
    cr_expect(strstr(text, "Job of 100 images, read warm.") &&
                  strstr(text, "extended from jobs of 100 images"),
              "%s", text);
    free(text);
    sides[COPY].cannot_be_made = true;
    sides[COPY].build_s = NAN;
    sides[COPY].cache = "as-is";
    fixture.variants[COPY].data.images = 80;
    text = show();
    cr_expect(strstr(text, "variant 2: it cannot be made from the first"), "%s", text);
    cr_expect(strstr(text, "variant 2 was read as-is. variant 2 holds 80 images, not as many"), "%s", text);
    free(text);
    sides[COPY].build_s = 160;
    sides[COPY].cannot_be_made = false;
    sides[PREPARED].build_s = NAN;
    all.has_common = false;
    fixture.variants[COPY].job.images = 0;
    text = show();
    cr_expect(strstr(text, "variant 1: what making it takes is not known."), "%s", text);
    cr_expect(strstr(text, "variant 2: making it takes about 2 m 40 s; it is not known whether it pays."),
              "%s", text);
    cr_expect(strstr(text, "There is no configuration of which the time on every variant"), "%s", text);
    free(text);
    fixture_close(&fixture);
}

Test(side_by_side, a_common_configuration_that_is_predicted_is_called_so)
{
    begin();
    char *text = show();
    cr_expect(!strstr(text, "predicted"), "%s", text);
    free(text);
    all.common_predicted = true;
    text = show();
    cr_expect(strstr(text, "is predicted to be best for all") && strstr(text, "~1.0 %"), "%s", text);
    free(text);
    fixture_close(&fixture);
}

/* As if a side's trials of the model had been made two times more, off by that; the median is what it was. */
static void repeat(int side, size_t model, double off)
{
    double ns = rue_cost_matrix_cell(fixture.matrices[side], model, 0)->median_ns;
    const double more[] = {(1 - off) * ns, (1 + off) * ns};
    cr_assert_eq(rue_cost_matrix_add_repeats(fixture.matrices[side], model, 0, more, 2, false, NULL), RUE_OK);
    fixture.variants[side].interval.confidence = 0.95;
}

static void repeat_all(double off)
{
    for (int s = 0; s < SIDES; s++)
        for (size_t m = 0; m < 2; m++) repeat(s, m, off);
}

Test(side_by_side, repeats_give_an_interval_in_epochs)
{
    begin();
    cr_assert_eq(payoff(PREPARED, 0).confidence, 0, "one repeat tells nothing of noise");
    repeat_all(0.02);
    struct rue_payoff found = payoff(PREPARED, 0); /* saves 80 of 100 s */
    cr_assert(found.confidence == 0.95 && found.epochs == 2);
    cr_assert(found.low_epochs > 1.85 && found.low_epochs < 1.97, "%f", found.low_epochs);
    cr_assert(found.high_epochs > 2.03 && found.high_epochs < 2.2, "%f", found.high_epochs);
    found = payoff(PREPARED, 1); /* the same time */
    cr_assert(isinf(found.epochs) && isinf(found.high_epochs) && isfinite(found.low_epochs));
    cr_assert_eq(payoff(RAW, 0).confidence, 0, "it need not be made");
    fixture_close(&fixture);
}

Test(side_by_side, what_is_no_noise_counts_however_little_it_is)
{
    begin();
    repeat(RAW, 0, 0.0005);
    repeat(COPY, 0, 0.0005);
    struct rue_payoff found = payoff(COPY, 0); /* saves a hundredth */
    cr_assert_float_eq(found.epochs, 160, 1e-6, "%f", found.epochs);
    cr_assert(found.low_epochs < 160 && found.high_epochs > 160 && isfinite(found.high_epochs));
    fixture_close(&fixture);
}

Test(side_by_side, the_page_and_the_document_have_the_interval)
{
    char *text;
    size_t bytes;
    begin();
    text = show();
    cr_expect(strstr(text, "--repeats 3 tells") && !strstr(text, "CI"), "%s", text);
    free(text);
    repeat_all(0.02);
    fixture.variants[COPY].interval.confidence = 0;
    text = show();
    cr_expect(strstr(text, "it pays after 2.0 epochs of ape (95 % CI 1.9 to 2.1), and not at all"), "%s",
              text);
    cr_expect(strstr(text, "it pays after 2 epochs of bee, and not"), "%s", text);
    cr_expect(strstr(text, "what the noise of trials leaves open") && !strstr(text, "--repeats"), "%s", text);
    free(text);
    repeat(COPY, 1, 0.9);
    repeat(RAW, 1, 0.9);
    text = show();
    cr_expect(strstr(text, "epochs of bee (95 % CI ") && strstr(text, " or more: it may never pay back)"),
              "%s", text);
    free(text);
    FILE *stream = open_memstream(&text, &bytes);
    cr_assert_eq(rue_side_by_side_json(&all, stream, NULL), RUE_OK);
    fclose(stream);
    cr_expect(strstr(text, "\"break_even_interval\": null") && strstr(text, "\"confidence\": 0.95") &&
                  strstr(text, "\"low_epochs\": 0.") && strstr(text, "\"high_epochs\": null"),
              "%s", text);
    free(text);
    fixture_close(&fixture);
}

Test(side_by_side, an_epoch_is_of_the_images_of_the_first)
{
    begin();
    fixture.variants[PREPARED].data.images = 10; /* a sample of them, say */
    cr_assert_float_eq(rue_side_epoch_s(&sides[RAW], &sides[PREPARED], 0), 20, 1e-9);
    cr_assert_float_eq(pays_after(PREPARED, 0), 2, 1e-9);
    fixture_close(&fixture);
}

Test(side_by_side, the_document_has_null_for_what_is_not_known)
{
    char *text;
    size_t bytes;
    begin();
    sides[PREPARED].build_s = NAN;
    FILE *stream = open_memstream(&text, &bytes);
    cr_assert_eq(rue_side_by_side_json(&all, stream, NULL), RUE_OK);
    fclose(stream);
    cr_expect(strstr(text, "\"format\": \"rue.compare/1\"") && strstr(text, "\"build_ns\": null") &&
                  strstr(text, "\"pays\": null") && strstr(text, "\"pays\": false") &&
                  strstr(text, "\"pays\": true"),
              "%s", text);
    free(text);
    fixture_close(&fixture);
}
