#include "flight.h"
#include "scripted_study.h"

#include "findings_fill.h"
#include "study_space.h"

enum { GRID = MODELS * CONFIGS };

static struct scripted_study *own;

static void end(void)
{
    scripted_close(own);
    folder_remove();
}

TestSuite(scheduler, .init = folder_make, .fini = end, .timeout = 120);

static rue_status run(rue_error *error)
{
    return rue_study_run(&own->study, error);
}

static void run_well(void)
{
    rue_error error = {0};
    cr_assert_eq(run(&error), RUE_OK, "%s", error.message);
}

/* Closes the study and opens another one on the same store. */
static void open_again(size_t lanes, const struct rue_strategy_ops *strategy, double budget_s, size_t trials)
{
    scripted_close(own);
    own = scripted_open(lanes, strategy, budget_s, trials);
}

static size_t count_trials(enum rue_measure measure)
{
    size_t sum = 0;
    for (size_t l = 0; l < own->runners.count; l++) sum += own->scripts[l].trials[measure];
    return sum;
}

/* Cells of the matrix with a time. */
static size_t count_cells(void)
{
    size_t count = 0;
    const struct rue_cost_matrix *matrix = own->study.outcome.variants[0].matrix;
    for (size_t i = 0; i < GRID; i++)
        count += rue_cost_matrix_cell(matrix, i % MODELS, i / MODELS)->state == RUE_CELL_OK;
    return count;
}

static const struct rue_study_ledger *ledger(void)
{
    return &own->study.ledger;
}

/* ---- one machine ---- */

Test(scheduler, every_question_is_measured_once)
{
    own = scripted_open(1, &rue_strategy_grid, 0, 0);
    run_well();
    cr_assert_eq(count_trials(RUE_JOINT), GRID);
    cr_assert_eq(count_cells(), GRID);
    cr_assert_not(own->study.outcome.partial);
    cr_assert_geq(count_trials(RUE_LOAD), GRID / 10, "the machine is watched");
    cr_assert_eq(ledger()->notice_count, 0);
}

Test(scheduler, stored_answers_are_reused)
{
    own = scripted_open(1, &rue_strategy_grid, 0, 0);
    run_well();
    open_again(1, &rue_strategy_grid, 0, 0);
    run_well();
    cr_assert_eq(own->scripts[0].count, 0, "nothing is measured, and no reference made");
    cr_assert_eq(count_cells(), GRID);
    cr_assert_eq(ledger()->reused, GRID);
}

/* A reference may also answer a probe. */
Test(scheduler, no_trial_of_the_run_counts_as_reused_or_twice)
{
    own = scripted_open(1, &rue_strategy_duel, 60, 0);
    run_well();
    cr_assert_eq(ledger()->reused, 0);
    for (size_t i = 0; i < ledger()->row_count; i++)
        for (size_t j = 0; j < i; j++)
            cr_assert_neq(ledger()->rows[i].trial.id, ledger()->rows[j].trial.id, "rows %zu and %zu", i, j);
}

Test(scheduler, a_budget_of_trials_is_kept_and_continued)
{
    own = scripted_open(1, &rue_strategy_grid, 0, 40);
    run_well();
    cr_assert_leq(own->scripts[0].count, 40);
    cr_assert_geq(own->scripts[0].count, 36);
    cr_assert(own->study.outcome.partial);
    cr_assert_eq(strncmp(own->study.outcome.partial_reason, "the budget was spent after ", 27), 0);
    size_t first = count_cells();
    cr_assert_eq(first % MODELS, 0, "complete configurations");
    open_again(1, &rue_strategy_grid, 0, 40);
    run_well();
    cr_assert_geq(count_cells(), first + 30, "the stored trials count as well");
}

Test(scheduler, a_budget_of_time_is_kept)
{
    own = scripted_open(1, &rue_strategy_duel, 60, 0);
    run_well();
    double spent_s = (double)rue_study_spent_ns(&own->study.setup, ledger()) / 1e9;
    cr_assert_leq(spent_s, 66);
    cr_assert_geq(spent_s, 20);
    cr_assert(own->study.outcome.variants[0].claimed);
    cr_assert_float_eq(spent_s, own->scripts[0].clock_s, 1e-6, "all that the machine did");
}

Test(scheduler, a_signal_ends_the_run_and_keeps_what_was_measured)
{
    rue_interrupt_install("test");
    rue_interrupt_defer(true);
    own = scripted_open(1, &rue_strategy_grid, 0, 0);
    own->scripts[0].signals = 20;
    rue_error error = {0};
    cr_assert_eq(run(&error), RUE_INTERRUPTED);
    cr_assert_eq(own->scripts[0].count, 20);
    cr_assert_eq(count_rows(own->study.ledger.store), 19, "the last one had not ended yet");
    cr_assert(own->study.outcome.partial && count_cells() > 10);
    cr_assert_eq(strncmp(own->study.outcome.partial_reason, "interrupted after ", 18), 0);
}

static size_t observed;

static void observe_and_break(void *state, const struct rue_question *question,
                              const struct rue_trial_result *result)
{
    rue_strategy_grid.observe(state, question, result);
    if (!question->stored && ++observed == 3) sql_run(path, "DROP TABLE trial");
}

Test(scheduler, a_store_that_breaks_is_reported_and_is_no_spent_budget)
{
    own = scripted_open(1, &rue_strategy_grid, 0, 60);
    run_well();
    open_again(1, &rue_strategy_grid, 0, 3); /* then only stored answers are looked for */
    struct rue_strategy_ops breaking = rue_strategy_grid;
    breaking.observe = observe_and_break;
    own->study.setup.plan.strategy = &breaking;
    rue_error error = {0};
    rue_status status = run(&error);
    cr_assert_eq(status, RUE_STORE, "%d %s", status, error.message);
    cr_assert_eq(observed, 3);
}

Test(scheduler, five_identical_failures_end_the_run)
{
    own = scripted_open(1, &rue_strategy_grid, 0, 0);
    own->scripts[0].reason = "no such device";
    own->scripts[0].fails = (struct span){10, 100};
    rue_error error = {0};
    cr_assert_eq(run(&error), RUE_INFEASIBLE);
    cr_assert(strstr(error.message, "5 identical failures: no such device"), "%s", error.message);
    cr_assert(own->study.outcome.partial);
}

Test(scheduler, a_suspended_trial_is_repeated_at_no_cost)
{
    own = scripted_open(1, &rue_strategy_grid, 0, 0);
    own->scripts[0].suspends = (struct span){10, 14};
    run_well();
    cr_assert_eq(count_cells(), GRID);
    cr_assert_eq(count_rows(own->study.ledger.store) + 4, own->scripts[0].count, "four have no row");
    cr_assert(ledger()->clock.suspended);
}

Test(scheduler, a_suspended_probe_before_the_run_of_a_farm_costs_nothing)
{
    own = scripted_open(2, &rue_strategy_grid, 0, 0);
    scripted_make_real(own);
    own->scripts[0].suspends = (struct span){1, 3};
    struct rue_flight probe = {.at.model = RUE_NONE};
    probe.request = (struct rue_trial_request){.config = own->study.setup.configs[0], .images = 100};
    probe.request.measure = RUE_LOAD;
    rue_error error = {0};
    cr_assert_eq(rue_study_measure(&own->study.setup, &own->study.ledger, &probe, 0, &error), RUE_OK, "%s",
                 error.message);
    rue_trial_result_close(&probe.result);
    cr_assert_eq(own->scripts[0].count, 3);
    cr_assert_gt(ledger()->clock.suspended_ns, 0);
}

Test(scheduler, a_trial_that_is_suspended_five_times_fails)
{
    own = scripted_open(1, &rue_strategy_grid, 0, 0);
    own->scripts[0].suspends = (struct span){10, 15};
    run_well();
    size_t failed = 0;
    for (size_t i = 0; i < ledger()->row_count; i++)
        failed += strcmp(ledger()->rows[i].trial.result.reason,
                         "the trial was suspended and continued 5 times") == 0;
    cr_assert_eq(failed, 1);
}

Test(scheduler, a_change_of_speed_is_found_and_unsure_trials_are_repeated)
{
    own = scripted_open(1, &rue_strategy_grid, 0, 0);
    own->scripts[0].slows = (struct span){50, 1000};
    run_well();
    cr_assert_eq(ledger()->notice_count, 1);
    const struct rue_notice *notice = &ledger()->notices[0];
    cr_assert_float_eq(notice->load_ratio, 1.5, 0.1);
    cr_assert(notice->uncertain <= 50 && notice->uncertain_end >= 50, "%zu to %zu", notice->uncertain,
              notice->uncertain_end);
    cr_assert_gt(count_trials(RUE_JOINT), GRID, "some are repeated");
    cr_assert_eq(count_cells(), GRID);
    const struct rue_cost_matrix *matrix = own->study.outcome.variants[0].matrix;
    for (size_t i = 0; i < GRID; i++) {
        double measured_s = rue_cost_matrix_cell(matrix, i % MODELS, i / MODELS)->median_ns / 1e9,
               truth = truth_s(&own->scripts[0].machine, i % MODELS, i / MODELS);
        cr_assert_float_eq(measured_s / truth, 1, 0.15, "corrected to the former speed");
    }
}

Test(scheduler, a_change_between_two_runs_is_found)
{
    own = scripted_open(1, &rue_strategy_grid, 0, 60);
    run_well();
    open_again(1, &rue_strategy_grid, 0, 0);
    own->scripts[0].slows = (struct span){1, 1000};
    run_well();
    cr_assert_eq(ledger()->notice_count, 1);
}

Test(scheduler, other_programs_do_not_change_the_machine)
{
    own = scripted_open(1, &rue_strategy_duel, 200, 0);
    own->study.setup.goal.search.epsilon_ratio = 1e-4;
    own->scripts[0].contended = true;
    own->scripts[0].slows = (struct span){30, 10000};
    run_well();
    cr_assert_eq(ledger()->notice_count, 0);
    size_t contended = 0;
    for (size_t i = 0; i < ledger()->row_count; i++)
        contended += rue_study_contention(&own->study.setup, &ledger()->rows[i].trial.result).whole_ratio > 1;
    cr_assert_gt(contended, 5);
}

Test(scheduler, a_change_is_known_when_the_search_continues)
{
    own = scripted_open(1, &rue_strategy_duel, 120, 0);
    own->study.setup.goal.search.epsilon_ratio = 1e-4;
    own->scripts[0].slows = (struct span){30, 10000};
    run_well();
    cr_assert_eq(ledger()->notice_count, 1);
    struct rue_findings *findings;
    cr_assert_eq(rue_study_findings(&own->study, &findings, NULL), RUE_OK);
    cr_assert_eq(rue_study_keep_findings(&own->study.setup, &own->study.ledger, findings, NULL), RUE_OK);
    rue_findings_close(findings);
    own->study.outcome.variants[0].matrix = NULL;
    open_again(1, &rue_strategy_duel, 200, 0);
    own->study.setup.goal.search.epsilon_ratio = 1e-4;
    own->scripts[0].slows = (struct span){1, 10000};
    cr_assert_eq(ledger()->notice_count, 1, "it is loaded");
    run_well();
    cr_assert_eq(ledger()->notice_count, 1, "and is reported once");
    cr_assert(own->study.outcome.variants[0].claimed);
}

/* ---- several machines ---- */

static size_t count_rows_of(size_t node)
{
    size_t count = 0;
    for (size_t i = 0; i < ledger()->row_count; i++) count += ledger()->rows[i].node == node;
    return count;
}

Test(scheduler, lanes_measure_at_the_same_time)
{
    own = scripted_open(3, &rue_strategy_duel, 60, 0);
    run_well();
    double most_s = 0, sum_s = 0;
    for (size_t l = 0; l < 3; l++) {
        cr_assert_geq(count_rows_of(l + 1), 10);
        most_s = fmax(most_s, own->scripts[l].clock_s);
        sum_s += own->scripts[l].clock_s;
    }
    cr_assert_gt(sum_s, 2 * most_s);
    cr_assert_leq(most_s, 70, "each keeps the budget");
    cr_assert_eq(ledger()->dropped_count, 0);
    cr_assert(own->study.outcome.variants[0].claimed);
}

Test(scheduler, a_lane_that_differs_is_dropped)
{
    own = scripted_open(3, &rue_strategy_duel, 60, 0);
    own->scripts[1].slows = (struct span){1, 10000};
    run_well();
    cr_assert_eq(ledger()->dropped_count, 1);
    cr_assert_str_eq(ledger()->dropped[0].node, "n1");
    for (size_t i = 0; i < ledger()->row_count; i++)
        cr_assert(ledger()->rows[i].node != 2 || ledger()->rows[i].config == RUE_NONE);
    cr_assert_eq(ledger()->notice_count, 0);
}

Test(scheduler, a_lane_that_changes_alone_is_dropped)
{
    own = scripted_open(3, &rue_strategy_duel, 60, 0);
    own->scripts[2].slows = (struct span){12, 10000};
    run_well();
    cr_assert_eq(ledger()->dropped_count, 1);
    cr_assert_str_eq(ledger()->dropped[0].node, "n2");
    cr_assert_eq(ledger()->notice_count, 0, "the others have not changed");
}

Test(scheduler, a_change_of_all_lanes_is_corrected_and_drops_none)
{
    own = scripted_open(3, &rue_strategy_duel, 60, 0);
    all_slow = (struct span){50, 100000};
    run_well();
    cr_assert_eq(ledger()->dropped_count, 0, "%s", ledger()->dropped[0].why);
    cr_assert_eq(ledger()->notice_count, 1);
    cr_assert_float_eq(ledger()->notices[0].load_ratio, 1.5, 0.1);
    cr_assert(own->study.outcome.variants[0].claimed);
}

Test(scheduler, a_change_of_all_lanes_between_two_runs_does_not_concern_the_first)
{
    own = scripted_open(3, &rue_strategy_duel, 60, 0);
    run_well();
    size_t last = count_rows(own->study.ledger.store);
    open_again(3, &rue_strategy_duel, 120, 0);
    own->study.setup.goal.search.epsilon_ratio = 1e-4;
    all_slow = (struct span){1, 100000};
    run_well();
    cr_assert_eq(ledger()->dropped_count, 0, "%s", ledger()->dropped[0].why);
    cr_assert_eq(ledger()->notice_count, 1);
    cr_assert_gt(ledger()->notices[0].trial, last, "%zu of %zu", ledger()->notices[0].trial, last);
    cr_assert_gt(ledger()->notices[0].uncertain, last);
}

Test(scheduler, a_lane_that_changes_at_the_end_is_dropped)
{
    for (size_t from = 20; from < 40; from += 4) {
        own = scripted_open(3, &rue_strategy_duel, 60, 0);
        own->scripts[1].slows = (struct span){from, 10000};
        run_well();
        size_t slow = 0;
        for (size_t i = 0; i < ledger()->row_count; i++)
            slow += ledger()->rows[i].node == 2 && ledger()->rows[i].reference;
        cr_assert(own->scripts[1].count < from + 8 || ledger()->dropped_count == 1, "%zu of %zu: %zu", from,
                  own->scripts[1].count, slow);
        const struct rue_outcome_variant *out = &own->study.outcome.variants[0];
        cr_assert(out->claimed && out->claim.verified, "the other measured again what the search needs");
        if (from + 4 < 40) {
            scripted_close(own);
            folder_remove();
            folder_make();
        }
    }
}

Test(scheduler, a_lane_that_dies_is_dropped_and_its_question_asked_again)
{
    own = scripted_open(3, &rue_strategy_duel, 60, 0);
    own->scripts[1].dies = 9;
    run_well();
    cr_assert_eq(own->scripts[1].count, 9);
    cr_assert_eq(ledger()->dropped_count, 1);
    cr_assert_str_eq(ledger()->dropped[0].why, "ended its connection");
    cr_assert(own->study.outcome.variants[0].claimed);
}

Test(scheduler, without_a_lane_the_run_ends)
{
    own = scripted_open(2, &rue_strategy_duel, 60, 0);
    own->scripts[0].dies = 12;
    own->scripts[1].dies = 7;
    rue_error error = {0};
    cr_assert_eq(run(&error), RUE_RUNNER);
    cr_assert_str_eq(error.message, "no node is left: rank 0 (n0) ended its connection");
}

Test(scheduler, a_farm_of_one_lane_ends_alike)
{
    own = scripted_open(1, &rue_strategy_duel, 60, 0);
    own->at[0].rank = &own->scripts[0].rank;
    strcpy(own->scripts[0].rank.node, "n0");
    own->scripts[0].dies = 12;
    rue_error error = {0};
    cr_assert_eq(run(&error), RUE_RUNNER);
    cr_assert_str_eq(error.message, "no node is left: rank 0 (n0) ended its connection");
    const struct rue_ledger_row *last = &ledger()->rows[ledger()->row_count - 1];
    cr_assert_str_eq(last->trial.result.reason, "the runner ended", "only one node, so it is not named");
}

Test(scheduler, what_fails_on_one_lane_is_tried_on_another)
{
    own = scripted_open(3, &rue_strategy_duel, 300, 0);
    own->scripts[1].reason = "no such device";
    own->scripts[1].fails = (struct span){1, 10000};
    own->scripts[1].measures = true;
    own->scripts[1].fails_only = RUE_JOINT;
    own->study.setup.goal.search.epsilon_ratio = 1e-4;
    run_well();
    cr_assert_eq(ledger()->dropped_count, 1);
    cr_assert_str_eq(ledger()->dropped[0].why, "failed 5 trials, one after the other: no such device");
}

Test(scheduler, what_fails_on_all_lanes_ends_the_run)
{
    own = scripted_open(2, &rue_strategy_duel, 60, 0);
    for (size_t l = 0; l < 2; l++) {
        own->scripts[l].reason = "no such device";
        own->scripts[l].fails = (struct span){1, 10000};
        own->scripts[l].measures = true;
        own->scripts[l].fails_only = RUE_JOINT;
    }
    rue_error error = {0};
    cr_assert_eq(run(&error), RUE_INFEASIBLE);
    cr_assert(strstr(error.message, "5 identical failures"), "%s", error.message);
}

Test(scheduler, a_trial_of_a_lane_that_is_suspended_five_times_fails)
{
    own = scripted_open(2, &rue_strategy_duel, 60, 0);
    own->scripts[1].suspends = (struct span){9, 14};
    run_well();
    size_t failed = 0;
    for (size_t i = 0; i < ledger()->row_count; i++)
        failed += strcmp(ledger()->rows[i].trial.result.reason,
                         "on rank 1 (n1): the trial was suspended and continued 5 times") == 0;
    cr_assert_eq(failed, 1);
}

Test(scheduler, several_lanes_keep_a_budget_of_trials)
{
    own = scripted_open(3, &rue_strategy_duel, 0, 60);
    run_well();
    cr_assert_leq(ledger()->run_trials, 60);
    cr_assert_geq(ledger()->run_trials, 50);
}

Test(scheduler, a_farm_continues_with_what_is_stored)
{
    own = scripted_open(2, &rue_strategy_duel, 60, 0);
    run_well();
    size_t stored = count_rows(own->study.ledger.store);
    open_again(2, &rue_strategy_duel, 60, 0);
    run_well();
    cr_assert_gt(ledger()->reused, stored / 2);
    cr_assert(own->study.outcome.variants[0].claimed);
}

Test(scheduler, a_signal_ends_all_lanes)
{
    rue_interrupt_install("test");
    rue_interrupt_defer(true);
    own = scripted_open(3, &rue_strategy_duel, 60, 0);
    own->scripts[1].signals = 10;
    rue_error error = {0};
    cr_assert_eq(run(&error), RUE_INTERRUPTED);
    cr_assert_eq(own->scripts[1].count, 10);
}

/* ---- on the real clock ---- */

/* Whether trials of two nodes were in progress at the same time. */
static bool any_overlap(void)
{
    for (size_t i = 0; i < ledger()->row_count; i++)
        for (size_t j = 0; j < i; j++) {
            const struct rue_ledger_row *a = &ledger()->rows[i], *b = &ledger()->rows[j];
            uint64_t a_end = a->trial.started_ns + rue_study_cost_ns(&a->trial.result),
                     b_end = b->trial.started_ns + rue_study_cost_ns(&b->trial.result);
            if (a->node != b->node && a->trial.started_ns < b_end && b->trial.started_ns < a_end) return true;
        }
    return false;
}

Test(scheduler, real_lanes_work_in_threads)
{
    own = scripted_open(3, &rue_strategy_duel, 0, 60);
    scripted_make_real(own);
    run_well();
    for (size_t l = 0; l < 3; l++) cr_assert_gt(count_rows_of(l + 1), 0);
    cr_assert(any_overlap());
}

Test(scheduler, a_real_lane_starts_its_runner_again)
{
    own = scripted_open(2, &rue_strategy_duel, 0, 60);
    scripted_make_real(own);
    own->scripts[1].ends = 9;
    run_well();
    cr_assert_eq(own->scripts[1].starts, 1);
    cr_assert_gt(own->scripts[1].count, 9);
    cr_assert_eq(ledger()->dropped_count, 0);
}

Test(scheduler, a_real_lane_that_cannot_start_again_is_dropped)
{
    own = scripted_open(2, &rue_strategy_duel, 0, 60);
    scripted_make_real(own);
    own->scripts[1].ends = 9;
    own->scripts[1].cannot_start = true;
    run_well();
    cr_assert_eq(own->scripts[1].count, 9);
    cr_assert_eq(ledger()->dropped_count, 1);
    cr_assert_str_eq(ledger()->dropped[0].why, "cannot start its runner again");
}

Test(scheduler, alone_on_the_real_clock_thinking_counts)
{
    own = scripted_open(1, &rue_strategy_duel, 0, 60);
    scripted_make_real(own);
    own->scripts[0].ends = 9; /* the next trial starts it */
    run_well();
    cr_assert_eq(own->scripts[0].starts, 0);
    double trials_s = 0;
    for (size_t i = 0; i < ledger()->row_count; i++)
        trials_s += (double)rue_study_cost_ns(&ledger()->rows[i].trial.result) / 1e9;
    cr_assert_leq(trials_s, (double)rue_study_spent_ns(&own->study.setup, ledger()) / 1e9);
}
