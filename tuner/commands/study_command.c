#include "study_command.h"

#include <inttypes.h>
#include <string.h>

#include "plan.h"
#include "plan_text.h"
#include "subject_options.h"
#include "suspension.h"
#include "terminal.h"

/* The values of options that were not given, and the buffers of their texts. */
struct defaults {
    char knobs[RUE_KNOBS_MAX][1024], names[RUE_KNOBS_MAX][RUE_KNOB_TEXT_BYTES];
    char models[RUE_STUDY_MODELS_MAX * RUE_MODEL_NAME_BYTES], images[32], memory[32];
    struct rue_unset unset[48];
    size_t count;
};

static void append_word(char *list, size_t bytes, const char *word)
{
    size_t used = strlen(list);
    snprintf(list + used, bytes - used, "%s%s", used ? "," : "", word);
}

static void add_default(struct defaults *defaults, const char *name, const char *text)
{
    defaults->unset[defaults->count++] = (struct rue_unset){name, text};
}

static void add_space(struct defaults *defaults, const struct rue_study_setup *setup)
{
    const struct rue_knobs *knobs = setup->space.knobs;
    char value[RUE_KNOB_TEXT_BYTES];
    for (size_t k = 0; k < knobs->count; k++) {
        if (!rue_study_shows_knob(setup, k)) continue;
        for (int i = 0; i < setup->space.count[k]; i++) {
            rue_knob_format(knobs->at[k], setup->space.values[k][i], value);
            append_word(defaults->knobs[k], sizeof defaults->knobs[k], value);
        }
        add_default(defaults, rue_study_option_name(knobs->at[k], defaults->names[k]), defaults->knobs[k]);
    }
}

static void find_defaults(const struct rue_study_setup *setup, struct defaults *out)
{
    *out = (struct defaults){0};
    add_space(out, setup);
    for (size_t m = 0; m < setup->model_count; m++)
        append_word(out->models, sizeof out->models, setup->models[m].name);
    const struct rue_study_variant *first = &setup->variants[0];
    bool several = rue_deployment_is_several(&setup->goal.loader.deployment);
    bool shared = several && !setup->goal.job.batches; /* one epoch of all loaders */
    snprintf(out->images, sizeof out->images, "%" PRIu64, shared ? first->opened.images : first->job_images);
    snprintf(out->memory, sizeof out->memory, "%" PRIu64 "M", setup->memory_bytes >> 20);
    add_default(out, "augment", "mild, if --transform is train");
    add_default(out, "model", out->models);
    add_default(out, "images", out->images);
    add_default(out, "max-memory", out->memory);
    add_default(out, "budget", setup->host.recording ? "10%" : "2m");
    add_default(out, "out", setup->place.folder);
    add_default(out, NULL, NULL);
}

static void show_dry_run(const struct rue_study *study, const struct rue_options *options)
{
    const struct rue_report_style style = rue_terminal_style(stdout, RUE_TABLE_COLUMNS);
    struct defaults defaults;
    find_defaults(&study->setup, &defaults);
    printf("Options:\n");
    rue_options_show(options, defaults.unset, &style, stdout);
    printf("Plan:\n");
    rue_study_show_plan(&study->setup, &study->ledger, &style, stdout);
}

static void show_plan(const struct rue_study *study, const struct rue_options *options)
{
    struct rue_report_style style = rue_terminal_style(stderr, RUE_TABLE_COLUMNS);
    if (study->setup.goal.output.dry_run) return show_dry_run(study, options);
    if (rue_options_flag(options, "quiet")) return;
    rue_study_show_plan(&study->setup, &study->ledger, &style, stderr);
    fputc('\n', stderr);
}

rue_status rue_study_command_read(const struct rue_options *options, struct rue_study_goal *goal,
                                  rue_error *error)
{
    goal->search.budget = rue_options_budget(options, "budget");
    goal->output.folder = rue_options_text(options, "out");
    goal->output.dry_run = rue_options_flag(options, "dry-run");
    goal->output.fresh = rue_options_flag(options, "fresh") && !goal->output.dry_run;
    if (goal->output.dry_run && rue_options_flag(options, "json"))
        return rue_fail(error, RUE_USAGE, "--dry-run prints the plan as text: remove --json");
    return rue_subject_options_read(options, goal, error);
}

rue_status rue_study_command_run(const struct rue_study_goal *goal, const struct rue_options *options,
                                 rue_status (*perform)(struct rue_study *study,
                                                       const struct rue_options *options, rue_error *error),
                                 rue_error *error)
{
    struct rue_study *study = NULL;
    struct rue_progress progress = rue_progress_open(rue_options_flag(options, "quiet"));
    rue_suspension_install();
    rue_status status = rue_study_open(goal, &progress, &study, error);
    if (status == RUE_OK) status = rue_study_plan(study, error);
    if (status == RUE_OK) show_plan(study, options);
    if (status == RUE_OK && !goal->output.dry_run) status = perform(study, options, error);
    rue_study_close(study);
    status = rue_subject_advise(status, goal, error);
    rue_progress_close(&progress);
    return status;
}
