#include "loading_code.h"

#include <stdio.h>
#include <string.h>

#include "wrap.h"

/* A text as Python writes it. Lines to copy have plain spaces. */
static void say_literal(struct rue_page *page, const char *text, enum rue_look look)
{
    rue_say(page, "\"");
    for (; *text; text++) {
        bool escaped = *text == '"' || *text == '\\';
        if (*text == ' ' && look != RUE_LOOK_CODE)
            rue_say(page, RUE_NO_BREAK);
        else
            rue_say(page, "%s%c", escaped ? "\\" : "", *text);
    }
    rue_say(page, "\"");
}

static void begin_line(struct rue_page *page, enum rue_look look, int indent, const char *code)
{
    rue_page_sentence(page, look, indent);
    rue_say(page, "%s", code);
}

const char *rue_loading_literal(const struct rue_knob_info *knob, int value, char out[RUE_LITERAL_BYTES])
{
    char text[RUE_KNOB_TEXT_BYTES];
    const char *quote = knob->kind == RUE_KIND_CATEGORY ? "\"" : "";
    rue_knob_format(knob, value, text);
    if (knob->kind == RUE_KIND_FLAG) text[0] = value ? 'T' : 'F';
    snprintf(out, RUE_LITERAL_BYTES, "%s%s%s", quote, text, quote);
    return out;
}

/* PyTorch's own loader, which was measured. */
static void say_torch(struct rue_page *page, const struct rue_findings *findings,
                      const struct rue_config *config)
{
    const struct rue_knobs *knobs = rue_config_knobs(config);
    for (size_t k = 0; k < knobs->count; k++) {
        const struct rue_knob_info *knob = knobs->at[k];
        char literal[RUE_LITERAL_BYTES];
        if (!rue_findings_gives_torch(findings, config, k)) continue;
        rue_say(page, ", %s=%s", knob->torch, rue_loading_literal(knob, config->value[k], literal));
    }
    rue_say(page, ")");
}

/* Variants of its mode, which is all that the code can name. */
static size_t count_mode(const struct rue_findings *findings, const struct rue_variant_findings *variant)
{
    size_t count = 0;
    for (size_t v = 0; v < findings->variant_count; v++)
        count += findings->variants[v].variant.mode == variant->variant.mode;
    return count;
}

void rue_loading_code_put(struct rue_page *page, const struct rue_findings *findings,
                          const struct rue_variant_findings *variant, enum rue_look look, int indent)
{
    bool own = rue_findings_runner_is_own(findings),
         torch = strcmp(findings->runner.measured_with, "torch") == 0;
    size_t best = variant->selection->recommended;
    if (variant->label || variant->data.sample || !rue_findings_is_decided(findings, variant) ||
        (own && count_mode(findings, variant) > 1))
        return;
    if (torch) {
        begin_line(page, look, indent, "DataLoader(dataset");
        return say_torch(page, findings, &variant->matrix->configs[best]);
    }
    if (!findings->folder[0] || (own && !variant->variant.path[0])) return;
    if (own) {
        begin_line(page, look, indent,
                   "from rue_tuner import Loader  # PyTorch's best num_workers can differ");
        begin_line(page, look, indent, "loader = Loader.from_recommendation(");
    } else {
        begin_line(page, look, indent, "config = rue_tuner.load(");
    }
    say_literal(page, findings->folder, look);
    if (own && findings->variant_count > 1)
        rue_say(page, ", mode=\"%s\"", rue_mode_names[variant->variant.mode]);
    rue_say(page, own ? ")" : ").config");
}
