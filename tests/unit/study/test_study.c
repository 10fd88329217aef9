/* Whole studies of a simulated machine. */
#include "served_study.h"

#include "plan_text.h"

TestSuite(study, .init = study_begin, .fini = study_end, .timeout = 120);

/* By how much the recommended configuration is slower than the best one, as the mean over the models. */
static double excess(void)
{
    double sum = 0;
    size_t best = 0;
    while (!rue_config_equal(study_best(0), &served.machine.configs[best])) best++;
    for (size_t m = 0; m < SERVED_MODELS; m++) {
        double least_s = INFINITY;
        for (size_t c = 0; c < CONFIGS; c++)
            if (is_served(c)) least_s = fmin(least_s, truth_s(&served.machine, m, c));
        sum += truth_s(&served.machine, m, best) / least_s - 1;
    }
    return sum / SERVED_MODELS;
}

Test(study, a_large_budget_measures_everything_and_recommends)
{
    study_succeed();
    cr_assert_str_eq(study->setup.plan.strategy->name, "grid");
    cr_assert_eq(findings->variants[0].selection->ranked_count, SERVED_CELLS / SERVED_MODELS);
    cr_assert_lt(excess(), 0.05, "%g", excess());
    cr_assert(strstr(study->end.written, "recommendation.json"));
    struct rue_recommendation *written = read_earlier();
    cr_assert_eq(written->count, 1);
    cr_assert(rue_config_equal(&written->at[0].matrix->configs[written->at[0].best], study_best(0)));
    rue_recommendation_close(written);
}

Test(study, a_study_continues_in_its_folder_and_fresh_starts_over)
{
    goal.search.strategy = "grid";
    study_succeed();
    study_succeed();
    cr_assert(is_noted("continuing the study in "));
    cr_assert_eq(served.trials, 0, "nothing is measured again");
    cr_assert_geq(findings->run.reused_trials, SERVED_CELLS);
    goal.output.fresh = true;
    study_succeed();
    cr_assert_geq(served.trials, SERVED_CELLS);
    cr_assert_eq(access(temporary_path("out/study.db.old"), F_OK), 0, "the older study is kept");
}

Test(study, a_small_budget_is_spent_on_predictions)
{
    goal.search.budget.time_ns = served_all_ns() / 3;
    study_succeed();
    cr_assert_str_eq(study->setup.plan.strategy->name, "duel");
    cr_assert(strstr(findings->run.strategy_why, "than half of the budget"), "%s",
              findings->run.strategy_why);
    cr_assert(findings->variants[0].claim.bound_ratio < 0.05 && findings->variants[0].knowledge);
    cr_assert_lt(excess(), 0.05, "%g", excess());
}

Test(study, few_configurations_may_cost_twice_the_budget)
{
    rue_knob_choices_add(&goal.space.knobs, "num_workers", "4,8", "--num-workers");
    rue_knob_choices_add(&goal.space.knobs, "batch_size", "64", "--batch-size");
    goal.search.budget.time_ns = 600 * RUE_NS_PER_S;
    study_succeed();
    cr_assert_str_eq(study->setup.plan.strategy->name, "grid");
    cr_assert(strstr(findings->run.strategy_why, "less than twice the budget of 10"), "%s",
              findings->run.strategy_why);
}

Test(study, a_budget_of_trials_chooses_by_their_number)
{
    static const struct {
        size_t trials;
        int repeats;
        const char *strategy, *why;
    } cases[] = {{10000, 1, "grid", "the budget suffices"},
                 {5 * SERVED_CELLS, 5, "duel", "does not leave room for reference trials"},
                 {20, 1, "duel", "the budget is smaller"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rue_error error = {0};
        goal.search.budget = (struct rue_budget){.trials = cases[i].trials};
        goal.search.repeats = cases[i].repeats;
        cr_assert_eq(study_plan(&error), RUE_OK, "%s", error.message);
        cr_assert_str_eq(study->setup.plan.strategy->name, cases[i].strategy);
        cr_assert(strstr(study->setup.plan.why, cases[i].why), "%s", study->setup.plan.why);
    }
    goal.search.budget.trials = SERVED_MODELS - 1;
    goal.output.fresh = true;
    study_refuse(RUE_USAGE, "to compare two, give at least --budget 6trials");
}

Test(study, a_budget_of_time_that_is_too_small_says_what_suffices)
{
    static const char *const strategies[] = {"auto", "grid"};
    for (size_t i = 0; i < 2; i++) {
        goal.search.strategy = strategies[i];
        goal.search.budget.time_ns = RUE_NS_PER_S;
        goal.search.repeats = i == 1 ? 2 : 1;
        goal.output.fresh = true; /* stored trials may suffice with any budget */
        study_refuse(RUE_USAGE, "the budget of 1 s is too small");
    }
}

Test(study, other_goals_are_measured_with_short_trials)
{
    goal.search.minimise = RUE_GOAL_THROUGHPUT;
    goal.search.budget.time_ns = served_all_ns() / 2;
    study_succeed();
    cr_assert_str_eq(study->setup.plan.strategy->name, "grid");
    cr_assert(study->setup.plan.short_trials);
    cr_assert_str_eq(findings->run.strategy_why, "only the time of the job can be predicted");
    cr_assert_neq(findings->variants[0].selection->recommended, RUE_NONE);
}

/* ---- failures ---- */

Test(study, a_run_that_fails_keeps_the_earlier_recommendation)
{
    rue_error error = {0};
    goal.search.strategy = "grid";
    study_succeed();
    struct rue_config best = *study_best(0);
    served.fails[RUE_JOINT] = "no such device";
    rue_knob_choices_add(&goal.space.knobs, "prefetch_factor", "4", "--prefetch-factor");
    served.hello = "{\"space\":{\"batch_size\":[64],\"num_workers\":[2,4],\"prefetch_factor\":[2,4]}}";
    cr_assert_eq(study_tune(&error), RUE_INFEASIBLE);
    cr_assert(strstr(error.message, "no such device"), "%s", error.message);
    cr_assert(findings->unsaved && study->end.kept[0]);
    cr_assert(is_noted("kept the earlier result, "));
    struct rue_recommendation *earlier = read_earlier();
    cr_assert(rue_config_equal(&earlier->at[0].matrix->configs[earlier->at[0].best], &best));
    rue_recommendation_close(earlier);
}

Test(study, a_program_that_ends_ends_the_study_and_keeps_its_trials)
{
    rue_error error = {0};
    goal.search.strategy = "grid";
    served.ends = 15;
    cr_assert_eq(study_tune(&error), RUE_RUNNER);
    cr_assert(strstr(error.message, "the program that serves the trials ended"), "%s", error.message);
    cr_assert_gt(study->ledger.row_count, 8);
    served.ends = 0;
    study_succeed();
    cr_assert_gt(findings->run.reused_trials, 6);
}

Test(study, a_loader_whose_first_trials_fail_ends_the_study_with_the_reason)
{
    static const struct {
        const char *strategy, *reason, *words;
        bool infeasible;
    } cases[] = {
        {"auto", "no room", "the first trials on the runner's data failed: no room", false},
        {"auto", "9 GB needed", "the smallest batch size is infeasible: 9 GB needed", true},
        {"duel", "no room", "stopped after 5 identical failures: no room", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rue_error error = {0};
        goal.search.strategy = cases[i].strategy;
        goal.output.fresh = true;
        served.fails[RUE_LOAD] = cases[i].reason;
        served.infeasible = cases[i].infeasible;
        cr_assert_eq(study_tune(&error), RUE_INFEASIBLE, "%s", error.message);
        cr_assert(strstr(error.message, cases[i].words), "%s", error.message);
    }
}

Test(study, a_model_that_computes_on_a_gpu_is_tried_before_anything_else)
{
    served.hello = "{\"loader\":\"rue\",\"models\":[],\"space\":null}";
    goal.models.names = "resnet18@cuda";
    served.fails[RUE_COMPUTE] = "no CUDA device";
    study_refuse(RUE_INFEASIBLE, "no CUDA device");
    cr_assert_eq(served.trials, 1);
    cr_assert_neq(access(out_folder, F_OK), 0, "nothing is left");
}

Test(study, a_device_table_has_its_own_models)
{
    rue_error error = {0};
    char device[128];
    snprintf(device, sizeof device, "%s/gpu.json", temporary_folder);
    temporary_text("gpu.json",
                   "{\"format\":\"rue.device/1\",\"title\":\"Mine\",\"models\":[{\"model\":\"mine\","
                   "\"batch_size\":[16],\"batch_ns\":[1000]},{\"model\":\"resnet18\",\"batch_size\":[16],"
                   "\"batch_ns\":[2000]}]}");
    served.hello = "{\"models\":[]}";
    goal.models.device = device;
    cr_assert_eq(study_open(&error), RUE_OK, "%s", error.message);
    cr_assert_eq(study->setup.model_count, 2);
    cr_assert_eq(strncmp(study->setup.models[0].name, "mine@", 5), 0);
    temporary_text("gpu.json", "{\"format\":\"rue.device/1\",\"title\":\"Mine\",\"models\":[]}");
    study_refuse(RUE_USAGE, "gpu.json has no models; write it again with rue calibrate");
}

Test(study, weights_decide_between_models)
{
    struct rue_model_weight weight = {.model = "m2", .weight = 1000};
    goal.search.rules.weights = &weight;
    goal.search.rules.weight_count = 1;
    goal.search.strategy = "duel";
    goal.search.budget.time_ns = served_all_ns();
    study_succeed();
    const struct rue_cost_matrix *matrix = findings->variants[0].matrix;
    double best_s = INFINITY, chosen_s = 0;
    for (size_t c = 0; c < CONFIGS; c++) {
        double s = truth_s(&served.machine, 2, c);
        if (rue_cost_matrix_config(matrix, &served.machine.configs[c]) != RUE_NONE) best_s = fmin(best_s, s);
        if (rue_config_equal(study_best(0), &served.machine.configs[c])) chosen_s = s;
    }
    cr_assert_lt(chosen_s, 1.03 * best_s);
}

Test(study, curves_vary_two_knobs_alone)
{
    rue_error error = {0};
    goal.space.curves = true;
    cr_assert_eq(study_open(&error), RUE_OK, "%s", error.message);
    cr_assert_eq(study->setup.config_count, 5, "3 batch sizes and 3 numbers of workers cross once");
    served.hello = "{\"space\":{\"batch_size\":[16,64],\"num_workers\":[0,4],\"prefetch_factor\":[2,4]}}";
    rue_knob_choices_add(&goal.space.knobs, "prefetch_factor", "2,4", "--prefetch-factor");
    study_refuse(RUE_USAGE, "--prefetch-factor: only batch_size and num_workers vary along curves");
    goal.space.knobs.count = 0;
    rue_knob_choices_add(&goal.space.knobs, "prefetch_facto", "2", "--knob");
    study_refuse(RUE_USAGE, "--knob: the runner served 1.0 does not declare the knob prefetch_facto");
}

Test(study, a_folder_has_one_study_at_a_time)
{
    rue_error error = {0};
    struct rue_study *other = NULL;
    cr_assert_eq(study_open(&error), RUE_OK, "%s", error.message);
    struct served first = served;
    served_begin();
    cr_assert_neq(rue_study_open(&goal, &progress, &other, &error), RUE_OK);
    cr_assert(strstr(error.message, out_folder), "%s", error.message);
    close(served.fd);
    pthread_join(served.thread, NULL);
    served.thread = first.thread, served.fd = first.fd;
}

Test(study, a_dry_run_writes_nothing)
{
    rue_error error = {0};
    goal.output.dry_run = true;
    cr_assert_eq(study_plan(&error), RUE_OK, "%s", error.message);
    cr_assert_neq(access(out_folder, F_OK), 0);
    goal.output.dry_run = false;
    study_succeed();
    goal.output.dry_run = true;
    cr_assert_eq(study_plan(&error), RUE_OK, "%s", error.message);
    cr_assert_gt(study->setup.plan.stored_s, 0, "the plan knows what is stored");
}

/* ---- models, data, baselines ---- */

Test(study, models_are_chosen_from_those_of_the_runner_and_the_catalogue)
{
    static const struct {
        const char *names, *device, *refusal;
    } cases[] = {{"m1,resnet50", NULL, NULL},
                 {"m1,none", NULL, NULL},
                 {"m1,m1", NULL, "m1 is named twice; remove one"},
                 {"m1,,m2", NULL, "a name is empty in 'm1,,m2'"},
                 {"m7", NULL, "does not know the model 'm7'"},
                 {"nothing-like-it", NULL, "in rue's catalogue: "},
                 {"m1", "h100", "all models are those of the runner served 1.0; remove the option"},
                 {"resnet50@host:1", NULL, "does not compute resnet50"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rue_error error = {0};
        goal.models.names = cases[i].names;
        goal.models.device = cases[i].device;
        rue_status status = study_open(&error);
        cr_assert_eq(status, cases[i].refusal ? RUE_USAGE : RUE_OK, "%s: %s", cases[i].names, error.message);
        cr_assert(!cases[i].refusal || strstr(error.message, cases[i].refusal), "%s", error.message);
        if (!cases[i].refusal) cr_assert_eq(study->setup.model_count, 2);
    }
}

Test(study, more_models_than_a_study_can_have_are_refused)
{
    char names[5000] = "";
    for (int i = 0; i <= RUE_STUDY_MODELS_MAX; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%ssleep:%dms/batch", i ? "," : "",
                 i + 1);
    goal.models.names = names;
    study_refuse(RUE_USAGE, "more than 64 models; give fewer");
    memset(names, 'm', sizeof names - 1);
    study_refuse(RUE_USAGE, "the list is too long: name at most 64 models");
    names[200] = 0;
    served.hello = "{\"models\":[]}";
    goal.models.device = "h100";
    study_refuse(RUE_USAGE, "is too long");
}

Test(study, a_runner_without_suitable_data_asks_for_some)
{
    served.hello = "{\"variants\":[]}";
    study_refuse(RUE_USAGE, "DATA is missing: give a folder of images");
    served.hello = NULL;
    goal.data.modes[RUE_RAW] = false;
    study_refuse(RUE_USAGE, "the runner served 1.0 has no data of the mode given with --mode");
}

Test(study, what_the_data_cannot_be_read_as_is_refused)
{
    snprintf(goal.loader.workload.cache, sizeof goal.loader.workload.cache, "cold");
    study_refuse(RUE_INFEASIBLE, "cannot be read cold: trials of the runner served 1.0 are warm");
    served.opened = "{\"cache\":\"as-is\",\"cache_reason\":\"it is on tmpfs\"}";
    study_refuse(RUE_INFEASIBLE, "the runner's data cannot be read cold: it is on tmpfs; give --cache warm");
    served.opened = "{\"status\":\"failed\",\"reason\":\"photo 3 is damaged\"}";
    study_refuse(RUE_DATA, "photo 3 is damaged");
}

Test(study, the_configuration_in_use_is_a_baseline)
{
    goal.space.baseline = "batch_size=64,num_workers=0";
    study_succeed();
    const struct rue_baseline_findings *baselines = &findings->variants[0].baselines;
    cr_assert_eq(baselines->count, 1);
    cr_assert_str_eq(baselines->rows[0].name, "the baseline");
    goal.space.baseline = "usual";
    study_succeed();
    cr_assert_eq(findings->variants[0].baselines.count, 1, "no workers; 12 workers are not in the space");
    cr_assert_str_eq(findings->variants[0].baselines.rows[0].name, "no workers");
}

Test(study, a_baseline_that_cannot_be_measured_is_refused)
{
    static const struct {
        const char *baseline, *refusal;
    } cases[] = {{"batch_size", "--baseline: 'batch_size' is not KNOB=VALUE"},
                 {"batch_sise=16", "'batch_sise' is not a knob"},
                 {"batch_size=many", "--baseline: batch_size must be "},
                 {"pin_memory=false", "the runner served 1.0 cannot vary pin_memory; remove it"},
                 {"num_workers=16", "num_workers=16 exceeds --max-workers 8"}};
    goal.space.limits_workers = true;
    goal.space.max_workers = 8;
    goal.space.max_workers_origin = "--max-workers";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        goal.space.baseline = cases[i].baseline;
        study_refuse(RUE_USAGE, cases[i].refusal);
    }
}

Test(study, a_job_in_batches_is_that_many_of_the_largest)
{
    rue_error error = {0};
    goal.job.batches = 3;
    cr_assert_eq(study_open(&error), RUE_OK, "%s", error.message);
    cr_assert_eq(study->setup.variants[0].job_images, 3 * 256);
    goal.job.batches = 0;
    goal.job.images = 64;
    rue_knob_choices_add(&goal.space.knobs, "batch_size", "64,128,256", "--batch-size");
    cr_assert_eq(study_open(&error), RUE_OK, "%s", error.message);
    cr_assert(is_noted("the job of 64 images is one batch of 64, so larger batches are not measured"));
}

/* ---- the plan as text ---- */

static char *plan_text(void)
{
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    const struct rue_report_style style = {.columns = 1000};
    rue_study_show_plan(&study->setup, &study->ledger, &style, stream);
    fclose(stream);
    return text;
}

static void expect_plan(const char *const *words)
{
    rue_error error = {0};
    cr_assert_eq(study_plan(&error), RUE_OK, "%s", error.message);
    char *text = plan_text();
    for (; *words; words++) cr_assert(strstr(text, *words), "'%s' is not in:\n%s", *words, text);
    free(text);
}

#define EXPECT_PLAN(...) expect_plan((const char *const[]){__VA_ARGS__, NULL})

Test(study, the_plan_says_what_will_be_done)
{
    goal.space.baseline = "batch_size=64,num_workers=0";
    EXPECT_PLAN("6,000 images, read warm", "m0, m1, m2", "64, 128, 256",
                "grid, which measures all: ", "27: 9 configurations x 3 models x 1 variant x 1 repeat",
                "64/0 (the baseline)", "every 5 trials one load-only trial of ", " expected, budget ");
    goal.search.strategy = "duel";
    EXPECT_PLAN("duel, which measures some", "as many trials as the decision needs",
                "more than 0.5 points better (95 % confidence)", "up to ");
    goal.search.budget = (struct rue_budget){.trials = 20};
    EXPECT_PLAN("no time limit, budget 20 trials");
    goal.search.strategy = "grid";
    EXPECT_PLAN("as many configurations as the budget allows");
    study_succeed();
    goal.search.budget = (struct rue_budget){.time_ns = UINT64_C(1) << 40};
    EXPECT_PLAN("(the store saves ");
    study_succeed();
    EXPECT_PLAN("nothing, as the store holds all trials");
}
