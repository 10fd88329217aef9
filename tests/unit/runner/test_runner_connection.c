/* A runner as a child process: what happens to its trials when it fails. */
#include "runners_fixture.h"

#include "runner_connection.h"

TestSuite(runner_connection, .init = runners_begin, .fini = runners_end, .timeout = 60);

Test(runner_connection, a_trial_is_requested_and_answered)
{
    open_well();
    cr_assert_str_eq(runners->hello->runner, "shell 1.0");
    expect_success();
    cr_assert_eq(result.images, 64);
    cr_assert_eq(result.end_to_end_ns, 1000000);
    cr_assert_not(rue_runner_was_suspended(&runners->at[0]));
}

Test(runner_connection, a_runner_that_crashes_fails_its_trial_and_is_started_again)
{
    static const struct {
        const char *end, *reason;
    } ends[] = {{"kill -SEGV $$", "the runner was killed by SIGSEGV during the trial"},
                {"exit 3", "the runner ended with exit code 3 during the trial"},
                {"exit 0", "the runner ended during the trial"},
                {"echo nonsense", "the runner sent "},
                {"echo '{\"id\":7}'", "the runner sent a wrong field: trial.id is not 1: got 7"},
                {"echo '{\"id\":\"x\"}'", "trial.id is not 1"}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char trial[96];
        snprintf(trial, sizeof trial, "if [ $start = 1 ]; then %s; else answer; fi", ends[i].end);
        unlink(temporary_path("starts"));
        shell_runner_write("", trial);
        open_well();
        expect_failure(ends[i].reason);
        expect_success();
    }
}

Test(runner_connection, a_runner_that_hangs_is_killed_and_the_next_trial_has_a_new_one)
{
    shell_runner_write("", "[ $start = 2 ] && answer");
    open_well();
    cr_assert_eq(make_trial_within(0, 20000000), RUE_OK, "%s", error.message);
    cr_assert_eq(result.outcome, RUE_TRIAL_TIMEOUT);
    cr_assert_str_eq(result.reason, "the runner gave no answer within 20 ms and was killed");
    expect_success();
}

Test(runner_connection, a_runner_that_is_spent_is_replaced)
{
    shell_runner_write("[ $start = 1 ] && more=',\"spent\":true'", "answer");
    open_well();
    expect_success();
    cr_assert(result.spent);
    expect_success();
    cr_assert_not(result.spent);
}

Test(runner_connection, late_answers_to_earlier_trials_are_skipped)
{
    shell_runner_write("", "[ $id = 1 ] || echo '{\"id\":1,\"status\":\"ok\"}'; ns=${id}000000; answer");
    open_well();
    expect_success();
    expect_success();
    cr_assert_eq(result.end_to_end_ns, 2000000);
}

Test(runner_connection, a_runner_that_comes_back_as_another_one_ends_the_study)
{
    shell_runner_write("[ $start = 2 ] && hello=$(echo \"$hello\" | sed s/shell/other/)", "exit 3");
    open_well();
    expect_failure("exit code 3");
    expect_error(make_trial_within(0, UINT64_C(60000000000)), RUE_RUNNER,
                 "the restarted runner answers 'hello' differently: \"runner\" was \"shell 1.0\" and is "
                 "\"other 1.0\"");
}

Test(runner_connection, data_that_changed_at_a_restart_end_the_study)
{
    shell_runner_write("[ $start = 2 ] && opened=$(echo \"$opened\" | sed s/d1/d2/)", "exit 3");
    open_well();
    expect_failure("exit code 3");
    expect_error(make_trial_within(0, UINT64_C(60000000000)), RUE_DATA,
                 "the data changed during the study: \"digest\" was \"d1\" and is \"d2\"");
}

Test(runner_connection, a_runner_is_started_three_times_at_most)
{
    shell_runner_write("[ $start = 1 ] || exit 5", "exit 3");
    open_well();
    expect_failure("exit code 3");
    expect_error(make_trial_within(0, UINT64_C(60000000000)), RUE_RUNNER, "ended with exit code 5");
    size_t bytes;
    char *starts = (char *)temporary_read("starts", &bytes);
    cr_assert_eq(atoi(starts), 4, "once, and three times again");
    free(starts);
}

Test(runner_connection, a_runner_that_does_not_speak_the_protocol_is_refused)
{
    static const struct {
        const char *command, *words;
    } cases[] = {
        {"/no/such/program", "The shell found no such program: give a path from this folder"},
        {"sh -c 'exit 4'", "it ended with exit code 4. Run it by hand and type {\"op\":\"hello\"}"},
        {"echo hello; cat >/dev/null", "did not answer 'hello' correctly: it sent "},
        {"echo '{\"status\":\"failed\",\"reason\":\"no module named torch\"}'; cat >/dev/null",
         "cannot work: no module named torch"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        address.command = cases[i].command;
        expect_error(open_runners(), RUE_RUNNER, cases[i].words);
    }
}

Test(runner_connection, what_happens_while_data_are_opened_is_reported)
{
    static const struct {
        const char *setup;
        rue_status status;
        const char *words;
    } cases[] = {
        {"opened='{\"status\":\"failed\",\"reason\":\"a.jpg is damaged\"}'", RUE_DATA,
         "the runner cannot open the data: a.jpg is damaged"},
        {"opened='{\"status\":\"infeasible\",\"reason\":\"no memory\"}'", RUE_INFEASIBLE, "no memory"},
        {"opened=nonsense", RUE_RUNNER, "the runner did not answer 'open' correctly: it sent "},
        {"read -r line; echo \"$hello\"; read -r line; exit 6", RUE_RUNNER,
         "the runner did not answer 'open' correctly: it ended with exit code 6"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shell_runner_write(cases[i].setup, "answer");
        cr_assert_eq(open_runners(), RUE_OK, "%s", error.message);
        expect_error(open_data(""), cases[i].status, cases[i].words);
    }
}

Test(runner_connection, paths_are_sent_as_utf8_and_data_sets_are_counted)
{
    struct rue_opened opened;
    struct rue_variant variant = {.path = "/data/\xff", .format = "folder"};
    const struct rue_workload workload = rue_workload_default();
    cr_assert_eq(open_runners(), RUE_OK, "%s", error.message);
    expect_error(rue_runners_open_data(runners, &variant, &workload, 0, &opened, &error), RUE_USAGE,
                 "is not UTF-8: rename it, or link to it under another name");
    for (int i = 0; i < 64; i++) cr_assert_eq(open_data("d1"), RUE_OK);
    error = (rue_error){0};
    expect_error(open_data("d1"), RUE_USAGE, "more than 64 data sets");
}

Test(runner_connection, a_signal_ends_the_trial)
{
    shell_runner_write("", "kill -INT $TEST_PID");
    expect_signal();
    open_well();
    expect_error(make_trial_within(0, UINT64_C(60000000000)), RUE_INTERRUPTED, "interrupted");
}

Test(runner_connection, a_signal_ends_the_start)
{
    expect_signal();
    shell_runner_write("kill -INT $TEST_PID; read -r line; read -r line", "answer");
    expect_error(open_runners(), RUE_INTERRUPTED, "interrupted");
}

/* ---- several GPUs of this machine ---- */

Test(runner_connection, each_gpu_has_a_loader_and_the_slowest_one_counts)
{
    deployment.gpu_list = "0,1,2";
    shell_runner_write("", "ns=$((CUDA_VISIBLE_DEVICES + 1))000000 more=',\"read_bytes\":10'; answer");
    open_well();
    cr_assert_eq(runners->count, 1);
    cr_assert_eq(deployment.gpus, 3);
    cr_assert(strstr(runners->hello->machine_json, "\"loaders\": 3") ||
                  strstr(runners->hello->machine_json, "\"loaders\":3"),
              "%s", runners->hello->machine_json);
    expect_success();
    cr_assert_eq(result.end_to_end_ns, 3000000);
    cr_assert_eq(result.read_bytes, 30, "they have read it together");
    cr_assert_null(result.ranks);
}

Test(runner_connection, a_failure_of_one_gpu_is_that_of_the_trial)
{
    deployment.gpu_list = "0,1";
    shell_runner_write("", "[ $CUDA_VISIBLE_DEVICES = 1 ] && fail 'no memory' || answer");
    open_well();
    expect_failure("on GPU 1: no memory");
}

Test(runner_connection, a_signal_ends_the_trial_of_all_gpus)
{
    deployment.gpu_list = "0,1";
    shell_runner_write("", "[ $CUDA_VISIBLE_DEVICES = 0 ] && answer || kill -INT $TEST_PID");
    expect_signal();
    open_well();
    expect_error(make_trial_within(0, UINT64_C(60000000000)), RUE_INTERRUPTED, "interrupted");
}

Test(runner_connection, the_team_has_the_gpus_of_all_its_loaders)
{
    deployment.gpu_list = "0,1";
    shell_runner_write(
        "hello=$(echo \"$hello\" | sed 's/:4}/:1,\"visible_gpus\":\"'$CUDA_VISIBLE_DEVICES'\"}/')", "answer");
    cr_assert_eq(open_runners(), RUE_OK, "%s", error.message);
    cr_assert(strstr(runners->hello->machine_json, "0,1"), "%s", runners->hello->machine_json);
    cr_assert(strstr(runners->hello->machine_json, "\"usable_cpus\":1") ||
                  strstr(runners->hello->machine_json, "\"usable_cpus\": 1"),
              "each has one CPU at least: %s", runners->hello->machine_json);
}

Test(runner_connection, none_starts_if_one_is_not_ready)
{
    deployment.gpu_list = "0,1";
    shell_runner_write("[ $CUDA_VISIBLE_DEVICES = 1 ] && unready='fail unfit'", "touch $OUT/begun; answer");
    open_well();
    expect_failure("on GPU 1: unfit");
    cr_assert_neq(access(temporary_path("begun"), F_OK), 0);
}

Test(runner_connection, loaders_of_a_team_are_equal)
{
    deployment.gpu_list = "0,1";
    shell_runner_write("[ $CUDA_VISIBLE_DEVICES = 1 ] && hello=$(echo \"$hello\" | sed s/shell/other/)",
                       "answer");
    expect_error(open_runners(), RUE_RUNNER,
                 "the runner on GPU 1 answers 'hello' differently from the runner on GPU 0: \"runner\" was");
    shell_runner_write("[ $CUDA_VISIBLE_DEVICES = 1 ] && opened=$(echo \"$opened\" | sed s/d1/d2/)",
                       "answer");
    cr_assert_eq(open_runners(), RUE_OK, "%s", error.message);
    expect_error(open_data(""), RUE_DATA, "on GPU 1: the data differ from those on GPU 0");
}
