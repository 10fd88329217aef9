#include "export.h"

#include <ctype.h>
#include <string.h>

#include "loading_code.h"
#include "shell_quote.h"

/* How a format writes a knob. */
struct spelling {
    const char *knob;
    const char *name;  /* NULL: it cannot be expressed */
    const char *usual; /* its value where the format does not name it; NULL: it is always named */
    const char *word;  /* (optional) start of the names of its values */
};

enum syntax { SYNTAX_PYTHON, SYNTAX_YAML, SYNTAX_SHELL, SYNTAX_OPTIONS, SYNTAX_C };
enum loader { LOADER_TORCH, LOADER_OWN, LOADER_ANY };

struct format {
    enum loader loader; /* whose studies it can express */
    enum syntax syntax;
    const char *before, *indent, *after;
    const struct spelling *spellings; /* up to a NULL knob; NULL: every knob has its own name */
};

/* The usual values are those of PyTorch's DataLoader. */
static const struct spelling trainer[] = {{"batch_size", "per_device_train_batch_size", NULL, NULL},
                                          {"num_workers", "dataloader_num_workers", NULL, NULL},
                                          {"prefetch_factor", "dataloader_prefetch_factor", NULL, NULL},
                                          {"pin_memory", "dataloader_pin_memory", NULL, NULL},
                                          {"persistent_workers", "dataloader_persistent_workers", NULL, NULL},
                                          {"multiprocessing_context", NULL, "fork", NULL},
                                          {"in_order", NULL, "true", NULL},
                                          {0}};
/* train.py of timm keeps its workers. */
static const struct spelling timm[] = {
    {"batch_size", "--batch-size", NULL, NULL}, {"num_workers", "--workers", NULL, NULL},
    {"pin_memory", "--pin-mem", "false", NULL}, {"prefetch_factor", NULL, "2", NULL},
    {"persistent_workers", NULL, "true", NULL}, {"multiprocessing_context", NULL, "fork", NULL},
    {"in_order", NULL, "true", NULL},           {0}};
static const struct spelling c_options[] = {
    {"batch_size", "batch_size", NULL, NULL},
    {"num_workers", "num_workers", NULL, NULL},
    {"prefetch_factor", "prefetch_factor", NULL, NULL},
    {"parallelism", "parallelism", NULL, "RUE_PARALLEL_"},
    {"pin_memory", NULL, "true", NULL}, /* by the caller's allocator */
    {"max_queue_size", "max_queue_size", NULL, NULL},
    {"read", "fetcher.read", NULL, "RUE_READ_"},
    {"batch_strategy", "batch_strategy", NULL, "RUE_BATCHES_"},
    {0}};

const char *const rue_export_names[] = {"torch", "lightning", "trainer", "accelerate", "hydra",
                                        "timm",  "env",       "c",       NULL};
static const struct format formats[] = {
    {LOADER_TORCH, SYNTAX_PYTHON, "loader = DataLoader(\n    dataset,\n", "    ", ")\n", NULL},
    {LOADER_TORCH, SYNTAX_PYTHON,
     "def train_dataloader(self):\n    return DataLoader(\n        self.train_dataset,\n", "        ",
     "    )\n", NULL},
    {LOADER_TORCH, SYNTAX_PYTHON, "arguments = TrainingArguments(\n    output_dir=\"out\",\n", "    ", ")\n",
     trainer},
    {LOADER_TORCH, SYNTAX_PYTHON, "loader = accelerator.prepare(DataLoader(\n    dataset,\n", "    ", "))\n",
     NULL},
    {LOADER_TORCH, SYNTAX_YAML, "_target_: torch.utils.data.DataLoader\n_partial_: true\n", "", "", NULL},
    {LOADER_TORCH, SYNTAX_OPTIONS, "", "", "\n", timm},
    {LOADER_ANY, SYNTAX_SHELL, "", "", "", NULL},
    {LOADER_OWN, SYNTAX_C, "struct rue_loader_options options = {\n", "    ",
     "    .sampler = {.seed = 1, .shuffle = true, .world_size = 1},\n    .images = "
     "rue_source_count(source),\n"
     "    .fetcher.max_pixels = RUE_MAX_PIXELS_DEFAULT,\n    .max_held = 1,\n};\n",
     c_options},
};
_Static_assert(sizeof formats / sizeof *formats == sizeof rue_export_names / sizeof *rue_export_names - 1,
               "every format has a name");

static void write_upper(FILE *stream, const char *text)
{
    for (; *text; text++) fputc(toupper((unsigned char)*text), stream);
}

static void write_value(FILE *stream, enum syntax syntax, const struct rue_knob_info *knob, int value,
                        const char *word)
{
    char text[RUE_KNOB_TEXT_BYTES], literal[RUE_LITERAL_BYTES], quoted[RUE_SHELL_WORD_BYTES];
    rue_knob_format(knob, value, text);
    if (word) {
        fputs(word, stream);
        write_upper(stream, text);
    } else if (syntax == SYNTAX_SHELL || syntax == SYNTAX_OPTIONS) {
        fputs(rue_shell_word(text, quoted), stream);
    } else { /* YAML writes true as Python writes True, and else the same */
        bool python = syntax == SYNTAX_PYTHON || knob->kind == RUE_KIND_CATEGORY;
        fputs(python ? rue_loading_literal(knob, value, literal) : text, stream);
    }
}

/* One knob, as the syntax assigns it. */
static void write_knob(FILE *stream, const struct format *format, const struct rue_knob_info *knob,
                       const struct spelling *spelling, int value)
{
    static const struct {
        const char *before, *assign, *end;
    } marks[] = {[SYNTAX_PYTHON] = {"", "=", ",\n"},
                 [SYNTAX_YAML] = {"", ": ", "\n"},
                 [SYNTAX_SHELL] = {"export ", "=", "\n"},
                 [SYNTAX_OPTIONS] = {"", " ", " "},
                 [SYNTAX_C] = {".", " = ", ",\n"}};
    enum syntax syntax = format->syntax;
    const char *name = spelling ? spelling->name : syntax <= SYNTAX_YAML ? knob->torch : knob->name;
    bool is_switch = syntax == SYNTAX_OPTIONS && knob->kind == RUE_KIND_FLAG; /* an option without a value */
    fprintf(stream, "%s%s", format->indent, marks[syntax].before);
    if (syntax == SYNTAX_SHELL)
        write_upper(stream, name);
    else
        fputs(name, stream);
    if (!is_switch) fputs(marks[syntax].assign, stream);
    if (!is_switch) write_value(stream, syntax, knob, value, spelling ? spelling->word : NULL);
    fputs(marks[syntax].end, stream);
}

static const struct spelling *find_spelling(const struct format *format, const char *knob)
{
    for (const struct spelling *at = format->spellings; at && at->knob; at++)
        if (strcmp(at->knob, knob) == 0) return at;
    return NULL;
}

/* Whether the knob can have an effect there: an argument of PyTorch, or a knob that the loader has. */
static bool has_place(const struct rue_findings *findings, const struct format *format,
                      const struct rue_config *config, size_t k)
{
    const struct rue_knobs *knobs = rue_config_knobs(config);
    if (knobs->at[k]->needs_workers && !config->value[RUE_NUM_WORKERS]) return false;
    if (format->loader != LOADER_TORCH) return rue_knobs_have(knobs, k);
    return k >= RUE_OWN_KNOB_COUNT || rue_findings_gives_torch(findings, config, k);
}

/* A knob that only the runner knows, and PyTorch does not, cannot be expressed. */
static bool can_express(const struct format *format, const struct rue_knob_info *knob,
                        const struct spelling *spelling)
{
    if (format->spellings) return spelling && spelling->name;
    return format->loader != LOADER_TORCH || knob->torch;
}

static rue_status write_config(const struct rue_findings *findings, const struct rue_config *config,
                               size_t index, FILE *stream, rue_error *error)
{
    const struct format *format = &formats[index];
    const struct rue_knobs *knobs = rue_config_knobs(config);
    for (int writes = 0; writes < 2; writes++) { /* nothing is written if a knob cannot be */
        if (writes) fputs(format->before, stream);
        for (size_t k = 0; k < knobs->count; k++) {
            const struct rue_knob_info *knob = knobs->at[k];
            const struct spelling *spelling = find_spelling(format, knob->name);
            char value[RUE_KNOB_TEXT_BYTES];
            if (!has_place(findings, format, config, k)) continue;
            rue_knob_format(knob, config->value[k], value);
            if (spelling && spelling->usual && strcmp(spelling->usual, value) == 0) continue;
            if (!can_express(format, knob, spelling))
                return rue_fail(
                    error, RUE_USAGE,
                    "--as %s cannot express %s=%s, which was measured: use another format, or tune "
                    "with its usual value",
                    rue_export_names[index], knob->name, value);
            if (writes) write_knob(stream, format, knob, spelling, config->value[k]);
        }
    }
    fputs(format->after, stream);
    return ferror(stream) ? rue_fail(error, RUE_STORE, "the output cannot be written") : RUE_OK;
}

/* The variant that the user will load: not the sample that was made to compare with. */
static rue_status find_variant(const struct rue_findings *findings, const struct rue_variant_findings **out,
                               rue_error *error)
{
    size_t count = 0;
    for (size_t v = 0; v < findings->variant_count; v++) {
        const struct rue_variant_findings *variant = &findings->variants[v];
        if (variant->data.sample || !rue_findings_is_counted(findings, variant)) continue;
        if (count++ == 0) *out = variant;
    }
    if (count == 1) return RUE_OK;
    return rue_fail(error, RUE_USAGE,
                    "%s has recommendations for %zu variants of the data: tune the one that you "
                    "will use",
                    findings->folder, count);
}

rue_status rue_export_write(const struct rue_findings *findings, size_t format, FILE *stream,
                            rue_error *error)
{
    const struct rue_variant_findings *variant = NULL;
    bool own = rue_findings_runner_is_own(findings),
         torch = strcmp(findings->runner.measured_with, "torch") == 0;
    rue_status status = find_variant(findings, &variant, error);
    if (status != RUE_OK) return status;
    enum loader loader = formats[format].loader;
    if ((loader == LOADER_TORCH && !torch) || (loader == LOADER_OWN && !own))
        return rue_fail(
            error, RUE_USAGE, "--as %s is for studies of %s, and this one measured %s: %s",
            rue_export_names[format], loader == LOADER_TORCH ? "PyTorch's DataLoader" : "rue's own loader",
            own     ? "rue's own loader"
            : torch ? "PyTorch's DataLoader"
                    : findings->runner.name,
            loader == LOADER_TORCH ? "tune with --runner \"python3 -m rue_tuner.runner\", or use --as env"
                                   : "tune without --runner, or use --as env");
    return write_config(findings, &variant->matrix->configs[variant->selection->recommended], format, stream,
                        error);
}
