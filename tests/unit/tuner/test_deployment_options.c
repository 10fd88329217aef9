#include "commands.h"
#include "deployment_options.h"

#include <criterion/criterion.h>

#include "options_fixture.h"

static const struct rue_option only = {RUE_OPTION_FARM};
static const struct rue_option table[] = {
    {RUE_OPTION_LAUNCH},
    {RUE_OPTION_LISTEN},
    {RUE_OPTION_LAUNCH_TIMEOUT},
    {RUE_OPTION_RANK},
    {RUE_OPTION_WORLD_SIZE},
    {RUE_OPTION_GPUS},
    {RUE_OPTION_FARM},
    {RUE_OPTION_RANKS},
    {"runner-fd", RUE_OPTION_TEXT, "LIST", NULL, "sockets", 0, 0, NULL},
};
static const struct rue_command command = {
    .name = "try", .arguments = "", .options = table, .option_count = sizeof table / sizeof *table};
static const struct rue_command without = {
    .name = "without", .arguments = "", .options = &only, .option_count = 1};

TestSuite(deployment_options, .init = options_setup, .fini = options_teardown);

static struct rue_deployment read_options(const char *const *words)
{
    struct rue_deployment deployment;
    rue_error error = {0};
    options_accept(&command, words);
    cr_assert_eq(rue_deployment_read(options, 1, &deployment, &error), RUE_OK, "%s", error.message);
    return deployment;
}

static void refuse(const char *const *words, const char *says)
{
    struct rue_deployment deployment;
    rue_error error = {0};
    options_accept(&command, words);
    cr_assert_eq(rue_deployment_read(options, 1, &deployment, &error), RUE_USAGE, "not refused: %s", says);
    cr_assert(strstr(error.message, says), "'%s' does not say '%s'", error.message, says);
}

Test(deployment_options, nothing_is_one_loader)
{
    struct rue_deployment alone = read_options(WORDS(NULL));
    cr_assert_not(rue_deployment_is_several(&alone));
    cr_assert_str_eq(rue_deployment_origin(options, &alone), "");
    options_accept(&without, WORDS(NULL));
    cr_assert_eq(rue_deployment_read(options, 1, &alone, NULL), RUE_OK);
    cr_assert_not(rue_deployment_is_several(&alone), "a command may have few of the options");
}

Test(deployment_options, each_kind_has_its_origin)
{
    struct rue_deployment ranks = read_options(WORDS("--launch", "srun", "--ranks", "4,2"));
    cr_assert(rue_deployment_is_launched(&ranks));
    cr_assert_eq(ranks.numbers.count, 3);
    cr_assert_eq(ranks.numbers.at[0], 1);
    cr_assert_eq(rue_deployment_most_ranks(&ranks), 4);
    cr_assert_str_eq(rue_deployment_origin(options, &ranks), "--launch");
    struct rue_deployment farm = read_options(WORDS("--launch", "srun", "--farm"));
    cr_assert_not(rue_deployment_is_launched(&farm));
    cr_assert(rue_deployment_is_several(&farm));
    struct rue_deployment gpus = read_options(WORDS("--gpus", "0,1", "--world-size", "1"));
    cr_assert_str_eq(rue_deployment_origin(options, &gpus), "--gpus");
    struct rue_deployment share = read_options(WORDS("--rank", "2", "--world-size", "4"));
    cr_assert_str_eq(rue_deployment_origin(options, &share), "--world-size");
}

Test(deployment_options, contradictions_are_refused)
{
    refuse(WORDS("--farm"), "--farm needs the command that starts the nodes");
    refuse(WORDS("--ranks", "1,2"), "--ranks: nothing starts the ranks");
    refuse(WORDS("--ranks", "1", "--launch", "srun"), "--ranks: give a number above 1");
    refuse(WORDS("--rank", "1"), "--rank 1 needs the number of ranks");
    refuse(WORDS("--rank", "2", "--world-size", "2"), "--rank 2 is out of range");
    refuse(WORDS("--launch", "srun", "--world-size", "4"), "--world-size 4 cannot be used with --launch");
    refuse(WORDS("--gpus", "0", "--world-size", "4"), "--world-size 4 cannot be used with --gpus");
    refuse(WORDS("--gpus", "0", "--launch", "srun"), "--gpus cannot be used with --launch");
    refuse(WORDS("--gpus", "0,0"), "--gpus: 0,0 names a GPU twice");
    refuse(WORDS("--runner-fd", "5", "--launch", "srun"), "--launch cannot be used with --runner-fd");
}

/* ---- the deployment itself ---- */

static void say(struct rue_deployment deployment, const char *text)
{
    char out[RUE_DEPLOYMENT_TEXT_BYTES];
    struct rue_workload workload = rue_workload_default();
    rue_deployment_apply(&deployment, &workload);
    cr_assert_str_eq(rue_deployment_say(&deployment, &workload, " ", out), text);
}

Test(deployment, it_is_said_in_words)
{
    say((struct rue_deployment){0}, "");
    say((struct rue_deployment){.gpus = 2}, " on each of 2 GPUs");
    say((struct rue_deployment){.gpus = 2, .world_size = 1}, " on each of 2 GPUs");
    say((struct rue_deployment){.ranks = 1}, " on each of 1 rank");
    say((struct rue_deployment){.nodes = 1}, " on each of 1 rank");
    say((struct rue_deployment){.nodes = 4}, " on one of 4 nodes");
    say((struct rue_deployment){.ranks = 4, .numbers = {2, {1, 4}}}, "");
    say((struct rue_deployment){.rank = 3, .world_size = 8}, " of rank 3 of 8");
}

Test(deployment, a_stored_trial_has_that_of_its_study)
{
    struct rue_workload workload = rue_workload_default();
    const struct rue_deployment ranks = {.ranks = 4}, gpus = {.gpus = 4};
    rue_deployment_apply(&ranks, &workload);
    struct rue_deployment now = rue_deployment_for(&ranks, &workload),
                          stored = rue_deployment_stored(&workload, true),
                          other = rue_deployment_stored(&workload, false);
    cr_assert(rue_deployment_equal(&now, &stored));
    cr_assert_not(rue_deployment_equal(&now, &other));
    cr_assert(rue_deployment_equal(&gpus, &other));
    cr_assert_eq(rue_deployment_loaders(&stored), 4);
}
