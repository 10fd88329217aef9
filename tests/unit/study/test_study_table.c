/* Studies that replay a table of recorded times. */
#include "served_study.h"

#include "plan_text.h"

static char table[64 + 16];

/* The times of a simulated machine, of whole jobs. */
static void begin(void)
{
    study_begin();
    snprintf(table, sizeof table, "%s/times.csv", temporary_folder);
    FILE *file = fopen(table, "w");
    fprintf(file, "mode,model,batch_size,num_workers,time_s\n");
    for (size_t m = 0; m < MODELS; m++)
        for (size_t c = 0; c < CONFIGS; c++)
            fprintf(file, "raw,m%zu,%d,%d,%.6f\n", m, served.machine.configs[c].value[RUE_BATCH_SIZE],
                    served.machine.configs[c].value[RUE_NUM_WORKERS], truth_s(&served.machine, m, c));
    fclose(file);
    goal.data.table = table;
    goal.output.keep_nothing = true;
    goal.search.budget = (struct rue_budget){.share = 0.3};
}

TestSuite(study_table, .init = begin, .fini = study_end, .timeout = 120);

Test(study_table, a_search_of_a_table_is_judged_by_all_its_times)
{
    double regrets[CONFIGS], least = compute_regrets(&served.machine, regrets), all_s = 0;
    goal.search.strategy = "random";
    study_search();
    for (size_t m = 0; m < MODELS; m++)
        for (size_t c = 0; c < CONFIGS; c++) all_s += truth_s(&served.machine, m, c);
    const struct rue_replayed *replayed = &findings->variants[0].replayed;
    cr_assert_float_eq(replayed->table_s, all_s, 0.01);
    cr_assert_leq(replayed->spent_s, 0.3 * all_s + 0.01);
    cr_assert_eq(replayed->trials, findings->variants[0].trials.ok);
    cr_assert(replayed->knows_best);
    cr_assert_float_eq(replayed->best_mean_regret_ratio, least, 1e-4);
    cr_assert_geq(replayed->mean_regret_ratio, least - 1e-4);
    cr_assert_eq(findings->variants[0].job.images, 0, "the table does not say how long the job is");
}

Test(study_table, everything_costs_the_whole_table)
{
    goal.search.strategy = "grid";
    goal.search.budget = (struct rue_budget){.share = 1.1};
    study_search();
    cr_assert_eq(findings->variants[0].selection->ranked_count, CONFIGS);
    cr_assert_float_eq(findings->variants[0].replayed.mean_regret_ratio,
                       findings->variants[0].replayed.best_mean_regret_ratio, 1e-9);
}

Test(study_table, the_plan_names_the_table_and_an_assumed_job)
{
    rue_error error = {0};
    char *text = NULL;
    size_t bytes;
    const struct rue_report_style style = {.columns = 1000};
    goal.search.strategy = "grid";
    cr_assert_eq(study_plan(&error), RUE_OK, "%s", error.message);
    FILE *stream = open_memstream(&text, &bytes);
    rue_study_show_plan(&study->setup, &study->ledger, &style, stream);
    fclose(stream);
    cr_assert(strstr(text, "raw: times from a table, "), "%s", text);
    cr_assert(strstr(text, "10,000 images (assumed: the table does not say; set --images)"), "%s", text);
    free(text);
}

Test(study_table, a_share_of_a_budget_needs_times)
{
    rue_knob_choices_add(&goal.space.knobs, "batch_size", "17", "--batch-size");
    study_refuse(RUE_INFEASIBLE, "times.csv has no times for the requested models and configurations");
    goal.data.table = NULL;
    goal.space.knobs.count = 0;
    study_refuse(RUE_USAGE, "--budget 30%: a share needs a table (--table); give a time such as 2m");
    goal.data.table = table;
    goal.models.names = "resnet50";
    study_refuse(RUE_USAGE, "does not know the model 'resnet50'");
    goal.data.table = temporary_path("none.csv");
    study_refuse(RUE_DATA, "none.csv");
}
