/* Writes best.txt: a line such as "raw 128/8" for each variant with a recommendation. */
#include "report.h"

static rue_status render(const struct rue_findings *findings, const struct rue_report_style *style,
                         FILE *stream, rue_error *error)
{
    (void)style;
    for (size_t v = 0; v < findings->variant_count; v++) {
        const struct rue_variant_findings *variant = &findings->variants[v];
        char label[RUE_CONFIG_TEXT_BYTES];
        size_t best = variant->selection->recommended;
        if (best == RUE_NONE) continue;
        rue_config_label(&variant->matrix->configs[best], label);
        fprintf(stream, "%s %s\n", rue_mode_names[variant->variant.mode], label);
    }
    return rue_report_finish(stream, error);
}

const struct rue_report rue_report_line = {.name = "line", .file = "best.txt", .render = render};
