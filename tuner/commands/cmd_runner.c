#include "commands.h"
#include "rank_agent.h"
#include "runner_server.h"
#include "study_options.h"

static const struct rue_option options_table[] = {
    {"connect", RUE_OPTION_FLAG, NULL, NULL, "serve the tuner that launched this rank",
     .set_by = RUE_SET_BY_FLAG,
     .more = "rue tune --launch starts it in each rank, with the address in RUE_TUNER."},
    {RUE_STUDY_OPTION_RUNNER},
    {"dry-run", RUE_OPTION_FLAG, NULL, NULL, "write no index files next to shards"},
};

static rue_status run_runner(const struct rue_options *options, rue_error *error)
{
    if (rue_options_flag(options, "connect"))
        return rue_rank_agent_serve(rue_options_text(options, "runner"), error);
    return rue_runner_serve(stdin, stdout, rue_options_flag(options, "dry-run"), error);
}

const struct rue_command rue_command_runner = {
    .name = "runner",
    .arguments = "",
    .summary = "Perform trials requested on standard input, as JSON lines.",
    .details =
        "rue tune starts this program to measure. Any program that speaks the same protocol can replace "
        "it: rue tune DATA --runner COMMAND.\n\n"
        "  echo '{\"op\":\"hello\"}' | rue runner",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .run = run_runner,
};
