/* Whether batches whose size changes beat batches of a fixed size. */
#include "prose.h"
#include "units.h"
#include "verdict.h"

#define NB RUE_NO_BREAK

/* " The two also differ in num_workers." */
static void say_other_knobs(struct rue_page *page, const struct rue_config *a, const struct rue_config *b)
{
    const struct rue_knobs *knobs = rue_config_knobs(a);
    const char *before = " The two also differ in ";
    for (size_t k = 0; k < knobs->count; k++) {
        if (k == RUE_BATCH_STRATEGY || a->value[k] == b->value[k]) continue;
        rue_say(page, "%s%s", before, knobs->at[k]->name);
        before = ", ";
    }
    if (before[0] == ',') rue_say(page, ".");
}

static const char single[] = ", from single trials";

/* What weakens the comparison; "": nothing. */
static const char *find_weakness(const struct rue_ranking_row *a, const struct rue_ranking_row *b)
{
    if (!a->repeats || !b->repeats) return ", predicted";
    if (a->predicted || b->predicted) return ", from short runs";
    return a->repeats < 2 || b->repeats < 2 ? single : "";
}

/* Only repeated whole jobs prove it: in a short run a strategy has not yet found its size. */
void rue_verdict_batches(struct rue_page *page, const struct rue_findings *findings,
                         const struct rue_variant_findings *variant, bool named)
{
    size_t fixed = rue_findings_best_batches(variant, true),
           other = rue_findings_best_batches(variant, false);
    const struct rue_sizes_findings *sizes = &variant->trials.sizes;
    struct rue_speedup gain;
    if (fixed == RUE_NONE || other == RUE_NONE) return;
    const struct rue_config *config = &variant->matrix->configs[other];
    char labels[2][RUE_CONFIG_TEXT_BYTES];
    rue_config_label(config, labels[0]);
    rue_config_label(&variant->matrix->configs[fixed], labels[1]);
    rue_say(page, "Batches of the strategy %s", rue_batch_strategy_names[config->value[RUE_BATCH_STRATEGY]]);
    if (named) rue_verdict_data(page, findings, variant);
    if (!sizes->changed) {
        rue_say(page, " (%s) are not compared with fixed ones (%s): %s.", labels[0], labels[1],
                sizes->kept ? "the sizes never changed in this job" : "whether the sizes changed is unknown");
        return;
    }
    if (!rue_findings_speedup(findings, variant, other, fixed, &gain) || !(gain.confidence > 0)) {
        rue_say(page, " (%s) were not compared with fixed ones (%s).", labels[0], labels[1]);
        return;
    }
    const struct rue_ranking_row *rows = variant->selection->rows;
    char times[RUE_UNIT_TEXT_BYTES], interval[RUE_GAIN_BYTES];
    const char *weakness = find_weakness(&rows[other], &rows[fixed]);
    bool proven = !weakness[0] && sizes->changed >= sizes->kept && rue_speedup_is_proven(&gain);
    bool measured = rue_findings_noise_is_measured(variant, other, fixed);
    if (!measured) gain.confidence = 0;
    rue_say(page, " %s the best fixed ones: %s is %s" NB "times as fast as %s (%s%s).",
            proven ? "beat" : "are not proven to beat", labels[0],
            rue_format_times(gain.ratio, times, sizeof times), labels[1],
            rue_prose_gain_interval(&gain, interval), !measured && weakness == single ? "" : weakness);
    if (sizes->kept)
        rue_say(page, " The sizes changed in only %zu of %zu trials.", sizes->changed,
                sizes->changed + sizes->kept);
    say_other_knobs(page, config, &variant->matrix->configs[fixed]);
}
