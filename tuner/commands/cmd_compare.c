/* Compares variants of the data: a study of all of them, then their loaders side by side, and samples that
 * are converted from the first one. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codec.h"
#include "commands.h"
#include "data_options.h"
#include "dry_run.h"
#include "file_system.h"
#include "interrupt.h"
#include "output.h"
#include "part.h"
#include "prepare.h"
#include "side_by_side.h"
#include "sort.h"
#include "study_opening.h"
#include "study_options.h"
#include "study_outcome.h"
#include "study_show.h"
#include "study_trials.h"
#include "suspension.h"
#include "terminal.h"
#include "units.h"

enum { ROUNDS = 3, IMAGES_MAX = 4096 };

/* What the rounds of one variant and configuration told; medians of them are shown. */
struct rounds {
    size_t count;
    double images_per_s[ROUNDS], first_batch_s[ROUNDS], cpu_s_per_image[ROUNDS], memory_bytes[ROUNDS];
};

/* ---- loading ---- */

static double known_or_nan(int64_t value)
{
    return value == RUE_ABSENT ? NAN : (double)value;
}

static void note(struct rounds *rounds, const struct rue_trial_result *result)
{
    if (result->outcome != RUE_TRIAL_OK || result->end_to_end_ns <= 0 || result->images <= 0) return;
    double took_s = (double)result->end_to_end_ns / 1e9, images = (double)result->images;
    size_t i = rounds->count++;
    rounds->images_per_s[i] = images / took_s;
    rounds->first_batch_s[i] = known_or_nan(result->first_batch_ns) / 1e9;
    rounds->cpu_s_per_image[i] = result->cpu_ratio * took_s / images;
    rounds->memory_bytes[i] = known_or_nan(result->anon_peak_bytes);
}

static double median(double *values, size_t count)
{
    if (count == 0) return NAN;
    for (size_t i = 0; i < count; i++)
        if (isnan(values[i])) return NAN;
    rue_sort_doubles(values, count);
    return values[count / 2];
}

static struct rue_side_loading medians(struct rounds *rounds)
{
    return (struct rue_side_loading){.images_per_s = median(rounds->images_per_s, rounds->count),
                                     .first_batch_s = median(rounds->first_batch_s, rounds->count),
                                     .cpu_s_per_image = median(rounds->cpu_s_per_image, rounds->count),
                                     .memory_bytes = median(rounds->memory_bytes, rounds->count)};
}

static uint64_t round_images(const struct rue_study_setup *setup, size_t variant)
{
    uint64_t job = setup->variants[variant].job_images;
    return job < IMAGES_MAX ? job : IMAGES_MAX;
}

static rue_status load_once(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                            size_t variant, const struct rue_config *config, size_t round,
                            struct rounds *rounds, rue_error *error)
{
    struct rue_trial_request request = {
        .measure = RUE_LOAD, .config = *config, .images = round_images(setup, variant)};
    struct rue_trial_result result;
    rue_status status =
        rue_study_measure(setup, ledger, variant, RUE_NONE, &request, round, 0, &result, error);
    if (status != RUE_OK) return status;
    note(rounds, &result);
    if (result.outcome != RUE_TRIAL_OK && round == 0)
        rue_progress_note(setup->progress, "%s: a trial of the loader alone was not ok: %s",
                          setup->variants[variant].variant.path, result.reason);
    rue_trial_result_close(&result);
    return rue_interrupt_status();
}

/* Round by round, so that what disturbs the machine disturbs all alike. */
static rue_status load_all(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                           struct rue_side_by_side *out, rue_error *error)
{
    struct rounds(*rounds)[2] = calloc(out->side_count, sizeof *rounds);
    if (!rounds) return rue_fail_memory(error, "loading", out->side_count * sizeof *rounds);
    rue_status status = RUE_OK;
    for (size_t r = 0; status == RUE_OK && r < ROUNDS; r++)
        for (size_t s = 0; status == RUE_OK && s < out->side_count; s++) {
            const struct rue_variant_findings *variant = out->sides[s].variant;
            size_t best = variant->selection->recommended;
            if (s == 0)
                rue_progress_show(setup->progress, "comparing loaders, round %zu of %d", r + 1, ROUNDS);
            if (best != RUE_NONE)
                status =
                    load_once(setup, ledger, s, &variant->matrix->configs[best], r, &rounds[s][0], error);
            if (status == RUE_OK && out->has_common)
                status = load_once(setup, ledger, s, &out->common, r, &rounds[s][1], error);
        }
    for (size_t s = 0; s < out->side_count; s++) {
        out->sides[s].own = medians(&rounds[s][0]);
        out->sides[s].common = medians(&rounds[s][1]);
    }
    free(rounds);
    return status;
}

/* ---- making one from another ---- */

static enum rue_compression compression_by_name(const char *name)
{
    const char *suffix = strrchr(name, '.');
    for (int c = RUE_COMPRESS_NONE + 1; suffix && c < RUE_COMPRESSION_COUNT; c++)
        if (strcmp(suffix, rue_codecs[c].suffix) == 0) return (enum rue_compression)c;
    return RUE_COMPRESS_NONE;
}

/* Of shards, by the name of one of them. */
static enum rue_compression compression_of(const char *path)
{
    enum rue_compression found = compression_by_name(path);
    DIR *folder = opendir(path);
    struct dirent *entry;
    while (folder && found == RUE_COMPRESS_NONE && (entry = readdir(folder)))
        if (entry->d_name[0] != '.') found = compression_by_name(entry->d_name);
    if (folder) closedir(folder);
    return found;
}

/* Whether the first variant can be made into this one. */
static bool can_be_made(const struct rue_variant *from, const struct rue_variant *to)
{
    const struct rue_sink_ops *sink = rue_sink_find(to->format);
    bool decoded = from->mode == RUE_PREPROCESSED;
    if (!sink || !sink->holds[to->mode] || (decoded && to->mode == RUE_RAW)) return false;
    return !decoded || strcmp(from->dtype, to->dtype) == 0 || strcmp(from->dtype, "uint8") == 0;
}

/* What making all of it takes, by a sample. */
static rue_status build_side(const struct rue_study_setup *setup, size_t index, uint64_t images,
                             struct rue_side *side, rue_error *error)
{
    const struct rue_study_variant *from = &setup->variants[0], *to = &setup->variants[index];
    char sample[PATH_MAX], part[RUE_PART_BYTES], path[RUE_PART_BYTES + 8];
    rue_error why = {0};
    struct rue_prepared done = {0};
    side->cannot_be_made = !can_be_made(&from->variant, &to->variant);
    if (side->cannot_be_made) return RUE_OK;
    int dtype = rue_word_find(rue_dtype_names, RUE_DTYPE_COUNT, to->variant.dtype);
    const struct rue_prepare_options options = {
        .source = {.format = from->variant.format,
                   .image_key = setup->goal.data.keys.image_key,
                   .label_key = setup->goal.data.keys.label_key},
        .format = to->variant.format,
        .mode = (int)to->variant.mode,
        .dtype = dtype < 0 ? RUE_DTYPE_COUNT : dtype,
        .compression = compression_of(to->variant.path),
        .split = "sample",
        .shard_bytes = UINT64_C(256) << 20,
        .images = images,
        .seed = setup->goal.loader.workload.seed,
        .max_pixels = setup->goal.loader.workload.max_pixels,
        .bad_images = setup->goal.loader.workload.bad_images,
    };
    rue_study_sample_name(setup, sample);
    rue_progress_show(setup->progress, "converting a sample to what %s is", to->variant.path);
    int lock = rue_part_open(sample, false, part);
    snprintf(path, sizeof path, "%s/data", part);
    rue_status status =
        lock >= 0 ? rue_prepare_convert(from->variant.path, path, &options, NULL, &done, &why)
                  : rue_fail(&why, RUE_STORE, "cannot write to %s: %s", setup->place.folder, strerror(errno));
    if (lock >= 0) close(lock);
    rue_part_remove(part);
    if (status == RUE_INTERRUPTED || status == RUE_TERMINATED)
        return rue_fail(error, status, "%s", why.message);
    if (status != RUE_OK)
        rue_progress_note(setup->progress, "what making %s takes is not known: %s", to->variant.path,
                          why.message);
    else
        side->build_s = (double)done.elapsed_ns / 1e9 / (double)done.images * (double)from->opened.images;
    return RUE_OK;
}

/* ---- all of it ---- */

/* The answer over all variants, where there is one. */
static void take_common(const struct rue_findings *findings, struct rue_side_by_side *out)
{
    for (size_t s = 0; s < out->side_count; s++) out->sides[s].common_regret_ratio = NAN;
    if (findings->overall_count == 0) return;
    const struct rue_overall *overall = &findings->overall[findings->overall_count - 1];
    if (overall->part_count != out->side_count) return;
    for (size_t s = 0; s < out->side_count; s++)
        out->sides[s].common_regret_ratio = overall->parts[s].mean_regret_ratio;
    if (overall->best == RUE_NONE) return;
    out->has_common = true;
    out->common_predicted = overall->best != overall->selection->recommended;
    out->common = overall->matrix->configs[overall->best];
}

/* Loads with each variant alone, at its best and at the common configuration, and converts `sample_images` of
 * the first variant to the format of each other one. The trials become rows of the findings, too. `out` is to
 * be closed also where this fails. */
static rue_status measure_compared(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                   struct rue_findings *findings, uint64_t sample_images,
                                   struct rue_side_by_side *out, rue_error *error)
{
    *out = (struct rue_side_by_side){
        .findings = findings, .sample_images = sample_images, .side_count = findings->variant_count};
    out->sides = calloc(out->side_count + 1, sizeof *out->sides);
    if (!out->sides) return rue_fail_memory(error, "a comparison", out->side_count * sizeof *out->sides);
    for (size_t s = 0; s < out->side_count; s++) {
        struct rue_side *side = &out->sides[s];
        side->variant = &findings->variants[s];
        side->build_s = s ? NAN : 0;
        side->storage_bytes = rue_storage_of(&side->variant->variant, side->variant->data.bytes);
        side->cache = setup->variants[s].workload.cache;
        rue_findings_name_among(findings, side->variant, side->name, sizeof side->name);
    }
    take_common(findings, out);
    rue_status status = load_all(setup, ledger, out, error);
    for (size_t s = 1; status == RUE_OK && s < out->side_count; s++)
        status = build_side(setup, s, sample_images, &out->sides[s], error);
    rue_progress_close(setup->progress);
    return status;
}

/* What that will do, in words. */
static void describe_compared(const struct rue_study_setup *setup, uint64_t sample_images, char *out,
                              size_t bytes)
{
    char images[RUE_UNIT_TEXT_BYTES], sample[RUE_UNIT_TEXT_BYTES];
    rue_format_count(round_images(setup, 0), images, sizeof images);
    snprintf(out, bytes,
             "%d rounds of the loaders alone, %s images each; samples of up to %s images converted; both "
             "beside the budget",
             ROUNDS, images, rue_format_count(sample_images, sample, sizeof sample));
}

static void close_compared(struct rue_side_by_side *compared)
{
    free(compared->sides);
    compared->sides = NULL;
}

enum {
    MODEL,
    DEVICE,
    BATCH_SIZE,
    NUM_WORKERS,
    IMAGES,
    BUDGET,
    STRATEGY,
    REPEATS,
    SAMPLE,
    RUNNER,
    OUT,
    FRESH,
    TRIAL_TIMEOUT,
    WORKLOAD,
    IMAGE_KEY = WORKLOAD + RUE_WORKLOAD_OPTIONS,
    LABEL_KEY,
    MAX_MEMORY,
    DRY_RUN,
    JSON,
    QUIET
};

static const struct rue_option options_table[] = {
    [MODEL] = RUE_STUDY_OPTION_MODEL,
    [DEVICE] = RUE_STUDY_OPTION_DEVICE,
    [BATCH_SIZE] = RUE_STUDY_OPTION_BATCH_SIZE,
    [NUM_WORKERS] = RUE_STUDY_OPTION_NUM_WORKERS,
    [IMAGES] = {"images", RUE_OPTION_COUNT, "N", NULL, "the job that is compared for [one epoch]", 1,
                UINT64_C(1) << 40, NULL},
    [BUDGET] = {"budget", RUE_OPTION_BUDGET, "LIMIT", NULL,
                "to find each variant's best, such as 300s or 500trials [2m]", 0, 0, NULL},
    [STRATEGY] = {"strategy", RUE_OPTION_WORD, "NAME", RUE_STRATEGY_AUTO, "how it is found, as for rue tune",
                  0, 0, rue_strategy_names},
    [REPEATS] = RUE_STUDY_OPTION_REPEATS,
    [SAMPLE] = {"sample", RUE_OPTION_COUNT, "N", "256",
                "convert N images of the first variant to see what making another takes", 1, 1000000, NULL},
    [RUNNER] = RUE_STUDY_OPTION_RUNNER,
    [OUT] = {"out", RUE_OPTION_PATH, "DIR", NULL, "where the study is kept [rue-out/<data>]", 0, 0, NULL,
             .set_by = RUE_SET_BY_USER},
    [FRESH] = RUE_STUDY_OPTION_FRESH,
    [TRIAL_TIMEOUT] = RUE_STUDY_OPTION_TRIAL_TIMEOUT,
    RUE_WORKLOAD_OPTION_ROWS(WORKLOAD)[IMAGE_KEY] = RUE_DATA_IMAGE_KEY,
    [LABEL_KEY] = RUE_DATA_LABEL_KEY,
    [MAX_MEMORY] = RUE_STUDY_OPTION_MAX_MEMORY,
    [DRY_RUN] = {"dry-run", RUE_OPTION_FLAG, NULL, NULL, "probe, show the plan and its cost, and stop", 0, 0,
                 NULL},
    [JSON] = {"json", RUE_OPTION_FLAG, NULL, NULL, "the comparison as JSON on standard output", 0, 0, NULL},
    [QUIET] = {"quiet", RUE_OPTION_FLAG, NULL, NULL, "no progress", 0, 0, NULL},
};

static struct rue_study_goal read_goal(const struct rue_options *options)
{
    struct rue_study_goal goal = {
        .data.count = (size_t)rue_options_argument_count(options),
        .data.paths = rue_options_arguments(options),
        .loader.runner = rue_options_text(options, RUNNER),
        .data.modes = {true, true},
        .models.device = rue_options_text(options, DEVICE),
        .models.names = rue_options_text(options, MODEL),
        .job.images = rue_options_number(options, IMAGES),
        .search.strategy = rue_strategy_names[rue_options_word(options, STRATEGY)],
        .search.budget = rue_options_budget(options, BUDGET),
        .search.epsilon_ratio = RUE_USUAL_EPSILON,
        .search.confidence = RUE_USUAL_CONFIDENCE,
        .search.repeats = (int)rue_options_number(options, REPEATS),
        .search.rules = {.top_n = 3, .set_epsilon_ratio = 0.02, .confidence = RUE_USUAL_CONFIDENCE},
        .loader.memory_bytes = rue_options_number(options, MAX_MEMORY),
        .loader.workload = rue_workload_of_options(options),
        .loader.trial_timeout_ns = rue_options_number(options, TRIAL_TIMEOUT),
        .output.folder = rue_options_text(options, OUT),
        .output.reports = rue_reports,
        .output.fresh = rue_options_flag(options, FRESH) && !rue_options_flag(options, DRY_RUN),
        .output.dry_run = rue_options_flag(options, DRY_RUN),
        .output.command_line = rue_options_command_line(options),
    };
    if (!rue_options_text(options, BUDGET)) goal.search.budget.time_ns = RUE_STUDY_BUDGET_NS;
    return goal;
}

static rue_status show(const struct rue_options *options, const struct rue_side_by_side *compared,
                       rue_error *error)
{
    const struct rue_report_style style = rue_terminal_style(stdout, RUE_TABLE_COLUMNS);
    return rue_options_flag(options, JSON) ? rue_side_by_side_json(compared, stdout, error)
                                           : rue_side_by_side_show(compared, &style, stdout, error);
}

/* What follows the study is beside its budget. */
static void show_rest(const struct rue_study_setup *setup, const struct rue_options *options,
                      const struct rue_report_style *style, FILE *stream)
{
    char text[160];
    describe_compared(setup, rue_options_number(options, SAMPLE), text, sizeof text);
    rue_study_show_step("then", text, style, stream);
}

/* A comparison under way. */
struct comparing {
    const struct rue_options *options;
    struct rue_side_by_side compared;
};

static rue_status show_plan(const struct rue_study *study, void *context, rue_error *error)
{
    const struct rue_options *options = ((const struct comparing *)context)->options;
    const struct rue_study_setup *setup = &study->setup;
    bool dry = setup->goal.output.dry_run, as_json = rue_options_flag(options, JSON);
    FILE *stream = dry ? stdout : stderr;
    const struct rue_report_style style = rue_terminal_style(stream, RUE_TABLE_COLUMNS);
    if (!dry && rue_options_flag(options, QUIET)) return RUE_OK;
    if (dry) {
        rue_status status = rue_dry_run_show(setup, &study->ledger, options, as_json, error);
        if (status != RUE_OK || as_json) return status;
    } else {
        rue_study_show_plan(setup, &study->ledger, &style, stream);
    }
    show_rest(setup, options, &style, stream);
    if (!dry) fputc('\n', stream);
    return RUE_OK;
}

/* The first variant that nothing could be recommended for. */
static rue_status judge(const struct rue_study_setup *setup, const struct rue_findings *findings,
                        rue_error *error)
{
    for (size_t v = 0; v < findings->variant_count; v++)
        if (findings->variants[v].selection->recommended == RUE_NONE)
            return rue_fail(error, RUE_INCONCLUSIVE,
                            "nothing could be recommended for %s: run it again to go on, or with a larger "
                            "--budget; rue show %s says more",
                            findings->variants[v].variant.path, setup->place.folder);
    return RUE_OK;
}

static rue_status measure_sides(struct rue_study *study, struct rue_findings *findings, void *context,
                                rue_error *error)
{
    struct comparing *comparing = context;
    return measure_compared(&study->setup, &study->ledger, findings,
                            rue_options_number(comparing->options, SAMPLE), &comparing->compared, error);
}

/* Whatever ended it, what was measured is on the disk. */
static rue_status conclude(const struct rue_study *study, struct rue_findings *findings,
                           const struct rue_study_end *end, void *context, rue_error *error)
{
    struct comparing *comparing = context;
    const char *folder = study->setup.place.folder;
    rue_error lost = end->lost;
    rue_status status = lost.status;
    bool kept = !findings->alone && end->ran != RUE_STORE;
    char written[256];
    if (kept && status == RUE_OK)
        status = rue_output_write_reports(rue_reports, findings, folder, written, sizeof written, &lost);
    if (end->ran != RUE_OK)
        status = rue_fail(error, end->ran, "%s; what was measured is kept in %s: the same command goes on",
                          end->why.message[0] ? end->why.message : rue_status_text(end->ran), folder);
    else if (status != RUE_OK)
        rue_fail(error, status, "%s", lost.message);
    if (status == RUE_OK) status = show(comparing->options, &comparing->compared, error);
    if (status == RUE_OK) status = judge(&study->setup, findings, error);
    return status;
}

static rue_status run_compare(const struct rue_options *options, rue_error *error)
{
    struct rue_study_goal goal = read_goal(options);
    rue_status status = rue_knob_choices_read(options, &goal.space.knobs, error);
    if (status == RUE_OK)
        status = rue_data_options_keys(options, IMAGE_KEY, LABEL_KEY, &goal.data.keys, error);
    if (status != RUE_OK) return status;
    struct rue_progress progress = rue_progress_open(rue_options_flag(options, QUIET));
    static const struct rue_study_steps steps = {
        .planned = show_plan, .beside = measure_sides, .found = conclude};
    struct comparing comparing = {.options = options};
    rue_suspension_install();
    status = rue_study_perform(&goal, &progress, &steps, &comparing, error);
    close_compared(&comparing.compared);
    rue_progress_close(&progress);
    return status;
}

const struct rue_command rue_command_compare = {
    .name = "compare",
    .arguments = "A B...",
    .summary = "Compare variants of the data, and say when making one pays.",
    .details = "  rue compare photos/ photos.tensor\n"
               "  rue compare photos/ photos.tensor --model resnet50 --budget 5m\n\n"
               "The first one is what the others would be made from. Each variant is tuned for as rue tune\n"
               "does, in one study; then their loaders run side by side.",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .min_arguments = 2,
    .max_arguments = RUE_STUDY_VARIANTS_MAX,
    .run = run_compare,
};
