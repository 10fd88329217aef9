/* Whether batches whose size changes beat batches of a fixed size. */
#include "prose.h"
#include "verdict.h"

#define NB RUE_NO_BREAK

static const double confidence = 0.95;

/* The best ranked configuration whose batches have a fixed size, or of the others. */
static size_t find_best(const struct rue_variant_findings *variant, bool fixed)
{
    const struct rue_selection *selection = variant->selection;
    for (size_t i = 0; i < selection->ranked_count; i++) {
        size_t config = selection->ranked[i];
        int strategy = variant->matrix->configs[config].value[RUE_BATCH_STRATEGY];
        if ((strategy < RUE_BATCHES_MEMORY) == fixed) return config;
    }
    return RUE_NONE;
}

/* Only whole jobs prove it: in a short run a strategy has not yet found its size. */
void rue_verdict_batches(struct rue_page *page, const struct rue_variant_findings *variant)
{
    size_t fixed = find_best(variant, true), other = find_best(variant, false);
    struct rue_speedup gain;
    if (fixed == RUE_NONE || other == RUE_NONE) return;
    const struct rue_config *config = &variant->matrix->configs[other];
    const char *strategy = rue_batch_strategy_names[config->value[RUE_BATCH_STRATEGY]];
    char labels[2][RUE_CONFIG_TEXT_BYTES];
    rue_config_label(config, labels[0]);
    rue_config_label(&variant->matrix->configs[fixed], labels[1]);
    if (!rue_speedup_find(variant->matrix, variant->selection, other, fixed, confidence, &gain)) {
        rue_say(page, "Batches of the strategy %s (%s) were not compared with fixed ones (%s).", strategy,
                labels[0], labels[1]);
        return;
    }
    const struct rue_ranking_row *rows = variant->selection->rows;
    bool measured = rows[other].repeats && rows[fixed].repeats,
         whole = measured && !rows[other].predicted && !rows[fixed].predicted;
    rue_say(page,
            "Batches of the strategy %s %s the best fixed ones: %s is %.2f" NB "times as fast as %s (%.3g" NB
            "%%" NB "CI %.2f" NB "to" NB "%.2f%s).",
            strategy, whole && rue_speedup_is_proven(&gain) ? "beat" : "are not proven to beat", labels[0],
            gain.ratio, labels[1], 100 * confidence, gain.low, gain.high,
            whole      ? ""
            : measured ? ", from short runs"
                       : ", predicted");
}
