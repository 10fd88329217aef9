#include "headroom_page.h"

#include <math.h>

#include "json_document.h"
#include "json_findings.h"
#include "prose.h"
#include "units.h"
#include "verdict.h"

#define NB RUE_NO_BREAK

static const char *const limit_names[RUE_LIMIT_COUNT] = {
    [RUE_LIMIT_NOTHING] = "nothing", [RUE_LIMIT_START] = "start",   [RUE_LIMIT_CALLER] = "no workers",
    [RUE_LIMIT_CPUS] = "CPUs",       [RUE_LIMIT_STEPS] = "steps",   [RUE_LIMIT_OTHERS] = "other programs",
    [RUE_LIMIT_WORKERS] = "workers", [RUE_LIMIT_WAITS] = "waiting", [RUE_LIMIT_UNKNOWN] = "unknown"};

double rue_headroom_loss(double speedup_ratio)
{
    return fmax(0, 1 - 1 / speedup_ratio);
}

const struct rue_headroom_row *rue_headroom_worst(const struct rue_headroom *headroom)
{
    const struct rue_headroom_row *worst = NULL;
    for (size_t i = 0; i < headroom->row_count; i++)
        if (!worst || headroom->rows[i].gain.ratio > worst->gain.ratio) worst = &headroom->rows[i];
    return worst;
}

static void say_loss(struct rue_page *page, const struct rue_headroom *headroom,
                     const struct rue_headroom_row *row)
{
    const struct rue_speedup *gain = &row->gain;
    char times[RUE_UNIT_TEXT_BYTES];
    rue_page_sentence(page, RUE_LOOK_BOLD, 0);
    rue_say(page, "Loading costs %.0f" NB "%% of an epoch", 100 * rue_headroom_loss(gain->ratio));
    if (headroom->row_count > 1) rue_say(page, " of %s", row->model);
    if (gain->confidence > 0)
        rue_say(page, " (%.3g" NB "%%" NB "CI %.0f" NB "to" NB "%.0f" NB "%%)", 100 * gain->confidence,
                100 * rue_headroom_loss(gain->low), 100 * rue_headroom_loss(gain->high));
    rue_say(page, ": a perfect loader would be %s times as fast.",
            rue_format_times(fmax(1, gain->ratio), times, sizeof times));
}

static void say_settings(struct rue_page *page, const struct rue_headroom *headroom,
                         const struct rue_headroom_row *row)
{
    char epoch[RUE_UNIT_TEXT_BYTES], steps[RUE_UNIT_TEXT_BYTES], count[RUE_UNIT_TEXT_BYTES];
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page, "With ");
    rue_say_config(page, &headroom->config);
    rue_say(page, " an epoch of %s images takes %s%s, and its steps alone %s.",
            rue_format_count(headroom->images, count, sizeof count),
            rue_format_duration((uint64_t)row->epoch_ns, epoch, sizeof epoch),
            row->predicted ? " (estimated from a shorter run)" : "",
            rue_format_duration((uint64_t)row->steps_ns, steps, sizeof steps));
}

static bool lacks_persistent_workers(const struct rue_config *config)
{
    int knob = rue_knob_find(rue_config_knobs(config), "persistent_workers");
    return knob >= 0 && !config->value[knob];
}

/* What limits loading, and what to do. */
static void say_limit(struct rue_page *page, const struct rue_headroom *headroom,
                      const struct rue_headroom_row *row)
{
    int workers = headroom->config.value[RUE_NUM_WORKERS];
    const char *plural = rue_prose_plural((uint64_t)headroom->cpus);
    char first[RUE_UNIT_TEXT_BYTES];
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    switch (row->limit) {
    case RUE_LIMIT_START:
        rue_say(page, "Most of it is the start: the first batch comes after %s. Longer epochs hide it%s.",
                rue_format_duration((uint64_t)row->first_batch_ns, first, sizeof first),
                lacks_persistent_workers(&headroom->config) ? ", and so does persistent_workers=True" : "");
        break;
    case RUE_LIMIT_CALLER:
        rue_say(page, "The thread of the steps loads by itself: workers (num_workers) would load beside it.");
        break;
    case RUE_LIMIT_CPUS:
        rue_say(
            page,
            "Loading is CPU-bound: it uses %.1f of %d CPU%s, and %.1f are idle. More workers do not help; "
            "smaller or preprocessed images do, and a faster decoder.",
            row->busy_cpus, headroom->cpus, plural, row->idle_cpus);
        break;
    case RUE_LIMIT_STEPS:
        rue_say(page, "The steps themselves use the CPUs: loading gets %.1f of %d.", row->busy_cpus,
                headroom->cpus);
        break;
    case RUE_LIMIT_OTHERS:
        rue_say(page, "Other programs use %.1f of %d CPU%s: measure again when the machine is idle.",
                row->other_cpus, headroom->cpus, plural);
        break;
    case RUE_LIMIT_WORKERS:
        rue_say(page, "Its %d worker%s all the time, and %.1f of %d CPU%s are idle: more workers help.",
                workers, workers == 1 ? " computes" : "s compute", row->idle_cpus, headroom->cpus, plural);
        break;
    case RUE_LIMIT_WAITS:
        rue_say(
            page,
            "Its workers mostly wait, for storage, the network or a lock: they use %.1f CPUs, and %.1f of "
            "%d are idle. More workers may help, or data nearer to the machine.",
            row->busy_cpus, row->idle_cpus, headroom->cpus);
        break;
    case RUE_LIMIT_NOTHING:
        rue_say(page, "The loader is as good as a perfect one here.");
        break;
    case RUE_LIMIT_UNKNOWN:
    default:
        break;
    }
}

static void put_rows(struct rue_page *page, const struct rue_headroom *headroom)
{
    const struct rue_headroom_row *worst = rue_headroom_worst(headroom);
    rue_page_table(page);
    for (size_t i = 0; i < headroom->row_count; i++) {
        const struct rue_headroom_row *row = &headroom->rows[i];
        bool known = row->gain.confidence > 0;
        const struct rue_table_column columns[] = {
            {"model", "model", .text = row->model},
            {"loss_ratio", "loading costs", RUE_UNIT_PERCENT, .number = rue_headroom_loss(row->gain.ratio)},
            {"loss_low_ratio", "at least", RUE_UNIT_PERCENT,
             .number = known ? rue_headroom_loss(row->gain.low) : NAN},
            {"loss_high_ratio", "at most", RUE_UNIT_PERCENT,
             .number = known ? rue_headroom_loss(row->gain.high) : NAN},
            {"perfect_speedup_ratio", "perfect loader", RUE_UNIT_TIMES, .number = fmax(1, row->gain.ratio)},
            {"epoch_ns", "epoch", RUE_UNIT_DURATION, .number = row->epoch_ns},
            {"steps_ns", "steps alone", RUE_UNIT_DURATION, .number = row->steps_ns},
            {"first_batch_ns", "first batch", RUE_UNIT_DURATION, .number = row->first_batch_ns, .drop = 1},
            {"limit", "limited by", .text = limit_names[row->limit]},
            {"busy_cpus", NULL, RUE_UNIT_NUMBER, .number = row->busy_cpus},
            {"idle_cpus", NULL, RUE_UNIT_NUMBER, .number = row->idle_cpus},
            {"other_cpus", NULL, RUE_UNIT_NUMBER, .number = row->other_cpus},
            {"confidence", NULL, RUE_UNIT_NUMBER, .number = known ? row->gain.confidence : NAN},
            {"trials", NULL, RUE_UNIT_COUNT, .number = 2 * (double)row->pairs},
        };
        rue_page_row(page, row == worst, columns, sizeof columns / sizeof *columns);
    }
}

void rue_headroom_put(struct rue_page *page, const struct rue_headroom *headroom)
{
    const struct rue_headroom_row *worst = rue_headroom_worst(headroom);
    if (!worst) return;
    say_loss(page, headroom, worst);
    say_limit(page, headroom, worst);
    say_settings(page, headroom, worst);
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_verdict_confidence(page, &headroom->findings);
    rue_page_sentence(page, RUE_LOOK_DIM, 0);
    rue_verdict_simulated(page, &headroom->findings);
    if (headroom->row_count < 2) return;
    rue_page_gap(page);
    put_rows(page, headroom);
}

json_t *rue_headroom_json(const struct rue_headroom *headroom)
{
    const struct rue_headroom_row *worst = rue_headroom_worst(headroom);
    struct rue_page page = {0}, rows = {0};
    rue_headroom_put(&page, headroom);
    json_t *sentences = rue_json_sentences(&page);
    rue_page_close(&page);
    put_rows(&rows, headroom);
    bool within = isnan(headroom->max_loss_ratio) ||
                  (worst && rue_headroom_loss(worst->gain.ratio) <= headroom->max_loss_ratio);
    return rue_json_make("format:t config:o images:n cpus:n max_loss_ratio:r within:b low_confidence:b "
                         "consumer:T worst_model:T models:o sentences:o",
                         "rue.headroom/1", rue_json_config(&headroom->config, false), headroom->images,
                         (uint64_t)headroom->cpus, headroom->max_loss_ratio, within,
                         rue_findings_is_doubtful(&headroom->findings), headroom->findings.runner.consumer,
                         worst ? worst->model : "", rue_page_json_table(&rows), sentences);
}
