/* Ranks that a launcher starts, here a script on this machine: a team that makes each trial together, and a
 * farm whose nodes make trials of their own. */
#include "own_program.h"
#include "runners_fixture.h"

static void launcher_write(const char *script)
{
    deployment.launcher.words = shell_launcher_make(script);
}

/* What a rank says first, as a word of such a script. */
#define JOIN(rank, world_size)                                                                               \
    "'{\"protocol\":\"rue.rank/1\",\"token\":\"'${RUE_TUNER##*/}'\",\"node\":\"n" #rank "\",\"rank\":" #rank \
    ",\"world_size\":" #world_size ",\"local_rank\":0}\n'"

static void begin(void)
{
    runners_begin();
    deployment.launcher = (struct rue_launcher){.listen = "127.0.0.1", .timeout_ns = UINT64_C(60000000000)};
    launcher_write(shell_launcher_all);
}

TestSuite(launch, .init = begin, .fini = runners_end, .timeout = 120);

/* What a node says about the last trial. */
static bool is_among_ranks(const char *text)
{
    return result.ranks && strstr(result.ranks, text);
}

/* ---- a team ---- */

Test(launch, ranks_make_a_trial_together)
{
    shell_runner_write("", "ns=$((SLURM_PROCID + 1))000000; answer");
    open_well();
    cr_assert(runners->count == 1 && deployment.ranks == 2);
    expect_success();
    cr_assert_eq(result.end_to_end_ns, 2000000, "the slowest counts");
    for (int i = 0; i < 2; i++) {
        char node[32];
        snprintf(node, sizeof node, "\"rank\":%d,\"node\":\"n%d\"", i, i);
        cr_assert(is_among_ranks(node), "%s", result.ranks);
    }
    cr_assert(is_among_ranks("start_late_ns"), "the agents add what they know: %s", result.ranks);
    cr_assert_not(rue_runner_was_suspended(&runners->at[0]));
}

Test(launch, a_rank_that_fails_is_named_and_starts_again)
{
    shell_runner_write("", "[ $SLURM_PROCID$start = 11 ] && kill -SEGV $$ || answer");
    open_well();
    expect_failure("on rank 1 (n1): the runner was killed by SIGSEGV during the trial");
    cr_assert_not(result.retry, "it would fail again");
    expect_success();
}

Test(launch, a_rank_that_hangs_is_ended_by_its_agent)
{
    shell_runner_write("", "[ $SLURM_PROCID$start = 11 ] || answer");
    open_well();
    cr_assert_eq(make_trial_within(0, 300000000), RUE_OK, "%s", error.message);
    cr_assert_eq(result.outcome, RUE_TRIAL_TIMEOUT, "%s", result.reason);
    cr_assert(strstr(result.reason, "the runner gave no answer within "), "%s", result.reason);
    expect_success();
}

/* The first runner of rank 1 kills its agent, as if its node had failed. */
static const char kills_agent[] =
    "if [ $SLURM_PROCID$start = 11 ]; then read -r pid <$OUT/agent1; kill -9 $pid; else "
    "answer; fi";

Test(launch, ranks_that_are_lost_are_launched_again)
{
    shell_runner_write("", kills_agent);
    open_well();
    expect_failure("on rank 1 (n1): ");
    cr_assert(result.retry, "it was no fault of the configuration");
    expect_success();
}

Test(launch, as_many_ranks_as_before_are_launched_again)
{
    shell_runner_write("", kills_agent);
    open_well();
    launcher_write("world_size=3; for i in 0 1 2; do rank $i \"$@\" & done");
    expect_failure("on rank 1 (n1): ");
    expect_error(make_trial_within(0, UINT64_C(60000000000)), RUE_RUNNER,
                 "the launcher started 3 ranks again, instead of 2");
}

Test(launch, the_share_of_shards_is_asked_of_each_rank)
{
    struct rue_opened opened;
    const struct rue_variant variant = {.path = "/data", .format = "webdataset"};
    struct rue_workload workload = rue_workload_default();
    workload.share = RUE_SHARE_SHARDS;
    shell_runner_write("opened='{\"status\":\"ok\",\"images\":100,\"digest\":\"d1\",\"cache\":\"warm\","
                       "\"share_images\":'$((30 "
                       "+ SLURM_PROCID))'}'",
                       "answer");
    cr_assert_eq(open_runners(), RUE_OK, "%s", error.message);
    rue_deployment_apply(&deployment, &workload);
    cr_assert_eq(rue_runners_open_data(runners, &variant, &workload, 0, &opened, &error), RUE_OK, "%s",
                 error.message);
    cr_assert_eq(opened.share_images, 31);
}

Test(launch, cold_data_are_judged_by_all_that_a_node_has_read)
{
    struct rue_trial_request request = {.measure = RUE_JOINT, .config = rue_config_default(), .images = 64};
    request.workload = rue_workload_default();
    strcpy(request.workload.cache, "cold");
    shell_runner_write("", "more=',\"read_bytes\":1,\"data_bytes\":1000000'; answer");
    open_well();
    rue_deployment_apply(&deployment, &request.workload);
    cr_assert_eq(rue_runner_trial(&runners->at[0], &request, NULL, UINT64_C(60000000000), &result, &error),
                 RUE_OK);
    cr_assert_eq(result.cache_missed, 1);
    cr_assert(strstr(result.reason, "on n0: "), "%s", result.reason);
}

Test(launch, rues_own_runner_is_started_in_each_rank)
{
    address.command = NULL;
    cr_assert_eq(open_runners(), RUE_OK, "%s", error.message);
    cr_assert_str_eq(runners->hello->loader, "rue");
}

/* ---- a farm ---- */

static void kill_agent(int rank)
{
    char name[16];
    size_t bytes;
    snprintf(name, sizeof name, "agent%d", rank);
    char *pid = (char *)temporary_read(name, &bytes);
    cr_assert_eq(kill(atoi(pid), SIGKILL), 0);
    free(pid);
}

Test(launch, nodes_of_a_farm_make_their_own_trials)
{
    deployment.launcher.farm = true;
    shell_runner_write("", "ns=$((SLURM_PROCID + 1))000000; answer");
    open_well();
    cr_assert(runners->count == 2 && deployment.nodes == 2);
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(make_trial_within(i, UINT64_C(60000000000)), RUE_OK, "%s", error.message);
        cr_assert_eq(result.end_to_end_ns, (int64_t)(i + 1) * 1000000);
        cr_assert_eq(runners->at[i].rank->rank, (int)i);
        cr_assert(is_among_ranks(i == 1 ? "n1" : "n0"), "%s", result.ranks);
    }
}

Test(launch, a_node_that_ends_is_lost_and_the_others_continue)
{
    deployment.launcher.farm = true;
    shell_runner_write("", "[ $SLURM_PROCID$start = 11 ] && exit 3 || answer");
    open_well();
    cr_assert_eq(make_trial_within(1, UINT64_C(60000000000)), RUE_OK);
    cr_assert(strstr(result.reason, "the runner ended with exit code 3 during the trial"), "%s",
              result.reason);
    bool begun = false;
    cr_assert_not(rue_runner_is_lost(&runners->at[1]), "its agent starts a new one");
    cr_assert_eq(rue_runner_begin_restart(&runners->at[1], &begun, &error), RUE_OK);
    cr_assert(begun);
    cr_assert_eq(rue_runner_finish(&runners->at[1], NULL, &error), RUE_OK, "%s", error.message);
    kill_agent(0);
    rue_status status = make_trial_within(0, UINT64_C(60000000000));
    cr_assert(status == RUE_RUNNER || result.outcome == RUE_TRIAL_FAILED);
    cr_assert(rue_runner_is_lost(&runners->at[0]));
    cr_assert_eq(make_trial_within(1, UINT64_C(60000000000)), RUE_OK);
    cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
}

Test(launch, closing_a_farm_ends_trials_in_progress)
{
    struct rue_trial_request request = {.measure = RUE_JOINT,
                                        .config = rue_config_default(),
                                        .workload = rue_workload_default(),
                                        .images = 64};
    deployment.launcher.farm = true;
    shell_runner_write("", "");
    open_well();
    for (size_t i = 0; i < 2; i++)
        cr_assert_eq(rue_runner_begin(&runners->at[i], &request, NULL, UINT64_C(3600000000000), &error),
                     RUE_OK);
    rue_runners_close(runners);
    runners = NULL;
}

Test(launch, a_farm_has_one_rank_on_each_node)
{
    deployment.launcher.farm = true;
    launcher_write("node=same; for i in 0 1; do rank $i \"$@\" & done");
    expect_error(open_runners(), RUE_USAGE, "--farm: a node has 2 ranks, which would slow each other down");
}

Test(launch, nodes_whose_data_differ_are_refused)
{
    deployment.launcher.farm = true;
    shell_runner_write("[ $SLURM_PROCID = 1 ] && opened=$(echo \"$opened\" | sed s/d1/d2/)", "answer");
    cr_assert_eq(open_runners(), RUE_OK, "%s", error.message);
    expect_error(open_data(""), RUE_DATA, "on rank 1 (n1): the data differ from those on rank 0 (n0)");
    shell_runner_write(
        "[ $SLURM_PROCID = 1 ] && opened='{\"status\":\"failed\",\"reason\":\"no such folder\"}'", "answer");
    cr_assert_eq(open_runners(), RUE_OK, "%s", error.message);
    expect_error(open_data(""), RUE_DATA, "on rank 1 (n1): the runner cannot open the data: no such folder");
}

Test(launch, what_one_node_notes_is_noted_with_its_name)
{
    struct rue_opened opened;
    const struct rue_variant variant = {.path = "/data", .format = "folder"};
    const struct rue_workload workload = rue_workload_default();
    deployment.launcher.farm = true;
    shell_runner_write("[ $SLURM_PROCID = 1 ] && opened='{\"status\":\"ok\",\"images\":100,\"digest\":\"d1\","
                       "\"cache\":\"as-is\",\"cache_reason\":\"too large\",\"note\":\"7 are damaged\"}'",
                       "answer");
    cr_assert_eq(open_runners(), RUE_OK, "%s", error.message);
    cr_assert_eq(rue_runners_open_data(runners, &variant, &workload, 0, &opened, &error), RUE_OK, "%s",
                 error.message);
    cr_assert_str_eq(opened.note, "on rank 1 (n1): 7 are damaged");
    cr_assert_str_eq(opened.cache, "as-is", "one that cannot warm its data decides for all");
    cr_assert_str_eq(opened.cache_reason, "too large");
}

Test(launch, a_runner_that_a_rank_cannot_start_is_reported_with_its_node)
{
    shell_runner_write("[ $SLURM_PROCID = 1 ] && exit 127", "answer");
    expect_error(open_runners(), RUE_RUNNER, "on rank 1 (n1): ");
}

/* ---- launchers that fail ---- */

static void refuse_launcher(const char *script, const char *words)
{
    launcher_write(script);
    expect_error(open_runners(), RUE_RUNNER, words);
}

Test(launch, a_launcher_that_ends_early_is_reported)
{
    refuse_launcher("exit 3", "launcher.sh' ended with exit code 3 before any rank connected to 127.0.0.1:");
    refuse_launcher("$1 runner --say " JOIN(1, 3) "; exit 4",
                    "ended with exit code 4 when only 1 of 3 ranks had connected; missing: rank 0, 2");
    refuse_launcher("$1 runner --say " JOIN(1, 5) "; exit 4", "missing: rank 0, 2 to 4");
}

Test(launch, ranks_that_do_not_come_in_time_are_missing)
{
    deployment.launcher.timeout_ns = 30000000;
    refuse_launcher("$1 runner --say ''",
                    "still ran after 30 ms (--launch-timeout) before any rank connected");
}

Test(launch, numbers_that_contradict_each_other_are_refused)
{
    refuse_launcher("rank 1 \"$@\" & rank 1 \"$@\" &",
                    "gave two ranks the number 1: SLURM_PROCID on n1 and SLURM_PROCID on n1");
    refuse_launcher("rank 1 \"$@\" & world_size=3; rank 0 \"$@\" &", "a world size of ");
    refuse_launcher("$1 runner --say " JOIN(0, 2) " " JOIN(0, 2),
                    "gave two ranks no number: on n0 and on n0");
    refuse_launcher("SLURM_PROCID=1 \"$@\" &",
                    "without a number: SLURM_PROCID is set, but SLURM_NTASKS is not");
}

Test(launch, strangers_are_refused)
{
    refuse_launcher("(RUE_TUNER=${RUE_TUNER%/*}/0123; rank 1 \"$@\"); exit 2",
                    "a connection was refused: it has a wrong token");
    refuse_launcher("$1 runner --say '{}\n'; exit 2",
                    "refused: it sent something else than a rue.rank/1 line");
    refuse_launcher("$1 runner --say \"$(printf '%2000d' 1)\"; exit 2",
                    "refused: it sent a line that is too long");
    refuse_launcher("unset RUE_TUNER OMPI_RUE_TUNER; (rank 1 \"$@\"); exit 5",
                    "ended with exit code 5 before any rank connected");
}

Test(launch, a_rank_that_its_launcher_starts_again_takes_its_place)
{
    launcher_write("$1 runner --say " JOIN(0, 2) "; for i in 0 1; do rank $i \"$@\" & done");
    open_well();
    expect_success();
}

Test(launch, a_signal_ends_the_wait_for_ranks)
{
    expect_signal();
    launcher_write("kill -INT $TEST_PID; $1 runner --say ''");
    expect_error(open_runners(), RUE_INTERRUPTED, "interrupted");
}

Test(launch, an_address_that_cannot_be_listened_at_is_refused)
{
    deployment.launcher.listen = "0.0.0.0";
    expect_error(open_runners(), RUE_USAGE, "--listen 0.0.0.0: ranks cannot connect to it");
    deployment.launcher.listen = "192.0.2.1";
    expect_error(open_runners(), RUE_USAGE, "--listen 192.0.2.1: cannot listen there: ");
}
