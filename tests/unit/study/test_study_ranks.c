/* Studies whose trials are made by ranks of a launcher, together or one on each node. */
#include <signal.h>

#include "own_program.h"
#include "served_study.h"
#include "shell_runner.h"

static struct rue_deployment *deployment;

/* A trial takes longer with larger batches, and less with more ranks; the runner reports no times of parts.
 */
static void begin(void)
{
    signal(SIGPIPE, SIG_IGN); /* as in the program */
    study_begin();
    deployment = &goal.loader.deployment;
    goal.loader.runner.command =
        shell_runner_make("hello=$(echo \"$hello\" | sed "
                          "'s/\"measures\"/\"models\":[\"m0\"],\"variants\":[{\"path\":\"\",\"mode\":"
                          "\"raw\",\"format\":\"shell\"}],\"space\":{\"batch_size\":[8,16],\"num_workers\":["
                          "0]},\"measures\"/')",
                          "images=${request#*'\"images\":'} images=${images%%,*}; "
                          "batch=${config#*'\"batch_size\":'} batch=${batch%%,*}; "
                          "ns=$((images * (100000 + batch * 10000))); answer");
    deployment->launcher = (struct rue_launcher){.words = shell_launcher_make(shell_launcher_all),
                                                 .listen = "127.0.0.1",
                                                 .timeout_ns = UINT64_C(60000000000)};
    goal.search.strategy = "grid";
    goal.search.budget = (struct rue_budget){.trials = 100};
    goal.output.keep_nothing = true;
    goal.loader.memory_bytes = 1 << 30;
}

TestSuite(study_ranks, .init = begin, .fini = study_end, .timeout = 120);

Test(study_ranks, ranks_share_the_job)
{
    study_search();
    cr_assert_eq(findings->variants[0].job.deployment.ranks, 2);
    cr_assert_eq(findings->variants[0].job.images, 50, "of 100");
    cr_assert_eq(study_best(0)->value[RUE_BATCH_SIZE], 8);
}

Test(study_ranks, nodes_of_a_farm_divide_the_trials)
{
    deployment->launcher.farm = true;
    goal.search.strategy = "duel";
    goal.search.epsilon_ratio = 0.05;
    study_search();
    bool made[3] = {false};
    for (size_t i = 0; i < study->ledger.row_count; i++) made[study->ledger.rows[i].node] = true;
    cr_assert(made[1] && made[2]);
    cr_assert_eq(study_best(0)->value[RUE_BATCH_SIZE], 8);
}

Test(study_ranks, numbers_of_ranks_are_compared_at_the_same_job_and_at_the_same_share)
{
    deployment->numbers = (struct rue_rank_numbers){.count = 2, .at = {1, 2}};
    goal.space.curves = true;
    study_search();
    cr_assert_eq(findings->variant_count, 3);
    cr_assert_eq(findings->variants[0].job.images, 100, "one rank");
    cr_assert_eq(findings->variants[1].job.images, 50, "two ranks share the job");
    cr_assert_eq(findings->variants[2].job.images, 100, "on each of two ranks");
    deployment->numbers.at[1] = 3;
    study_refuse(RUE_USAGE, "--ranks: the launcher started 2 ranks, fewer than 3; start 3 with --launch");
    deployment->numbers.at[1] = 2;
    goal.job.images = 1;
    study_refuse(RUE_USAGE, "--ranks: 2 ranks cannot share a job of 1 images; raise --images");
}
