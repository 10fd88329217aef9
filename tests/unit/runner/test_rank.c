/* The numbers of a rank, from the variables of launchers, and its first line to the tuner. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "rank.h"

static void unset_all(void)
{
    static const char *const names[] = {"RANK",
                                        "WORLD_SIZE",
                                        "LOCAL_RANK",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "MPI_LOCALRANKID",
                                        "PMIX_RANK",
                                        "SLURM_PROCID",
                                        "SLURM_STEP_NUM_TASKS",
                                        "SLURM_NTASKS",
                                        "SLURM_LOCALID",
                                        "SLURMD_NODENAME",
                                        "FLUX_TASK_RANK",
                                        "FLUX_JOB_SIZE",
                                        "OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "OMPI_COMM_WORLD_LOCAL_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
}

TestSuite(rank, .init = unset_all);

/* "RANK=1 WORLD_SIZE=2" */
static void set(const char *variables)
{
    char copy[512], *rest = copy;
    unset_all();
    snprintf(copy, sizeof copy, "%s", variables);
    for (char *word; (word = strsep(&rest, " "));)
        if (*word) *strchr(word, '=') = 0, setenv(word, word + strlen(word) + 1, 1);
}

Test(rank, the_innermost_launcher_says_the_numbers)
{
    static const struct {
        const char *variables, *variable;
        int rank, world_size, local_rank;
    } cases[] = {
        {"", NULL, 0, 1, 0},
        {"RANK=3 WORLD_SIZE=8 LOCAL_RANK=1", "RANK", 3, 8, 1},
        {"RANK=3 WORLD_SIZE=8", "RANK", 3, 8, 0},
        {"SLURM_PROCID=2 SLURM_NTASKS=4 SLURM_LOCALID=1", "SLURM_PROCID", 2, 4, 1},
        {"SLURM_PROCID=2 SLURM_NTASKS=9 SLURM_STEP_NUM_TASKS=4", "SLURM_PROCID", 2, 4, 0},
        {"PMI_RANK=1 PMI_SIZE=2 RANK=0 WORLD_SIZE=5", "PMI_RANK", 1, 2, 0},
        {"RANK=0 WORLD_SIZE=5 LOCAL_RANK=0 SLURM_PROCID=1 SLURM_NTASKS=2", "RANK", 0, 5, 0},
        {"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 SLURM_PROCID=1 SLURM_NTASKS=2", "SLURM_PROCID", 1, 2,
         0},
        {"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1", "OMPI_COMM_WORLD_RANK", 0, 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rue_rank rank;
        rue_error error = {0};
        set(cases[i].variables);
        cr_assert_eq(rue_rank_read(&rank, &error), RUE_OK, "%s: %s", cases[i].variables, error.message);
        cr_assert(rank.rank == cases[i].rank && rank.world_size == cases[i].world_size &&
                      rank.local_rank == cases[i].local_rank,
                  "%s: %d of %d", cases[i].variables, rank.rank, rank.world_size);
        cr_assert(cases[i].variable ? strcmp(rank.variable, cases[i].variable) == 0 : !rank.variable);
        cr_assert(rank.node[0] && !rank.wrong[0]);
    }
}

Test(rank, numbers_that_are_wrong_or_missing_are_refused)
{
    static const struct {
        const char *variables, *words;
    } cases[] = {
        {"RANK=8 WORLD_SIZE=8", "RANK=8: expected a number from 0 to 7; ranks get it from their launcher"},
        {"RANK=x WORLD_SIZE=8", "RANK=x: expected a number"},
        {"RANK=0 WORLD_SIZE=0", "WORLD_SIZE=0: expected a number from 1 to 1024"},
        {"RANK=0 WORLD_SIZE=2 LOCAL_RANK=2", "LOCAL_RANK=2: expected a number from 0 to 1"},
        {"SLURM_PROCID=1",
         "SLURM_PROCID is set, but SLURM_NTASKS is not: set RANK, WORLD_SIZE and LOCAL_RANK"},
        {"PMIX_RANK=1", "PMIX_RANK is set, but no variable with the number of ranks"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rue_rank rank;
        rue_error error = {0};
        set(cases[i].variables);
        cr_assert_eq(rue_rank_read(&rank, &error), RUE_USAGE, "%s", cases[i].variables);
        cr_assert(strstr(error.message, cases[i].words), "%s", error.message);
        cr_assert_eq(strncmp(rank.wrong, error.message, 40), 0, "the tuner gets it: %s", rank.wrong);
    }
}

Test(rank, programs_that_a_rank_starts_are_not_that_rank)
{
    struct rue_rank rank;
    set("RANK=3 WORLD_SIZE=8 LOCAL_RANK=1 SLURM_PROCID=2 SLURM_NTASKS=4 PET_NNODES=2 PET_NODE_RANK=1");
    rue_rank_unset();
    cr_assert(!getenv("PET_NNODES") && !getenv("PET_NODE_RANK"), "a torchrun has this node alone");
    cr_assert_eq(rue_rank_read(&rank, NULL), RUE_OK);
    cr_assert(rank.rank == 0 && rank.world_size == 1);
    cr_assert_not_null(getenv("WORLD_SIZE"), "they still know how many there are");
}

Test(rank, the_first_line_tells_the_tuner_the_rank)
{
    struct rue_rank rank = {.rank = 3,
                            .world_size = 8,
                            .local_rank = 1,
                            .node = "node-7.a",
                            .variable = "RANK"},
                    read;
    rue_error error = {0};
    char *line = rue_rank_encode_join(&rank, "secret");
    cr_assert_eq(rue_rank_decode_join(line, "secret", &read, &error), RUE_OK, "%s", error.message);
    cr_assert(read.rank == 3 && read.world_size == 8 && read.local_rank == 1);
    cr_assert_str_eq(read.node, "node-7.a");
    cr_assert_str_eq(read.variable, "RANK");
    cr_assert_eq(rue_rank_decode_join(line, "secret2", &read, &error), RUE_RUNNER);
    cr_assert_str_eq(error.message, "has a wrong token");
    free(line);
    strcpy(rank.wrong, "SLURM_PROCID\033[2J is set");
    line = rue_rank_encode_join(&rank, "secret");
    cr_assert_eq(rue_rank_decode_join(line, "secret", &read, NULL), RUE_OK);
    cr_assert_str_eq(read.wrong, "SLURM_PROCID?[2J is set", "it is printed");
    free(line);
}

Test(rank, lines_that_are_not_of_a_rank_are_refused)
{
    static const char head[] = "{\"protocol\":\"rue.rank/1\",\"token\":\"t\"";
    static const struct {
        const char *rest, *words;
    } cases[] = {{"", "sent a wrong rank, world size or node name"},
                 {",\"node\":\"a b\",\"rank\":0,\"world_size\":1,\"local_rank\":0", "sent a wrong rank"},
                 {",\"node\":\"a\",\"rank\":1,\"world_size\":1,\"local_rank\":0", "sent a wrong rank"},
                 {",\"node\":\"a\",\"rank\":0,\"world_size\":1,\"local_rank\":1", "sent a wrong rank"},
                 {",\"node\":\"a\",\"rank\":\"0\",\"world_size\":1,\"local_rank\":0", "sent a wrong rank"},
                 {",\"node\":\"a\",\"rank\":0,\"world_size\":100000,\"local_rank\":0", "sent a wrong rank"},
                 {",\"token\":\"t\"", "sent something else than a rue.rank/1 line"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rue_rank rank;
        rue_error error = {0};
        char line[512];
        snprintf(line, sizeof line, "%s%s}", head, cases[i].rest);
        cr_assert_eq(rue_rank_decode_join(line, "t", &rank, &error), RUE_RUNNER, "%s", line);
        cr_assert(strstr(error.message, cases[i].words), "%s", error.message);
    }
}

Test(rank, the_end_of_a_runner_is_reported)
{
    const struct rue_rank_end end = {.text = "was killed by SIGKILL", .exit_code = -1, .out_of_memory = true};
    struct rue_rank_end read;
    json_t *line = rue_rank_encode_end(&end);
    cr_assert(rue_rank_decode_end(line, &read));
    cr_assert(strcmp(read.text, end.text) == 0 && read.exit_code == -1 && read.out_of_memory);
    json_decref(line);
    line = json_pack("{s:s}", "ended", "");
    cr_assert(rue_rank_decode_end(line, &read));
    cr_assert(strcmp(read.text, "ended") == 0 && read.exit_code == -1 && !read.out_of_memory);
    json_decref(line);
    line = json_pack("{s:s}", "status", "ok");
    cr_assert_not(rue_rank_decode_end(line, &read));
    json_decref(line);
}

Test(rank, the_node_of_a_trial_is_that_of_its_first_rank)
{
    char node[RUE_NODE_BYTES];
    cr_assert(rue_rank_find_node("[{\"rank\":0,\"node\":\"n7\"},{\"rank\":1,\"node\":\"n8\"}]", node));
    cr_assert_str_eq(node, "n7");
    cr_assert_not(rue_rank_find_node("[]", node));
    cr_assert_not(rue_rank_find_node(NULL, node));
}
