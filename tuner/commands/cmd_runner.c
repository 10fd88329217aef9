#include "commands.h"
#include "runner_server.h"

enum { DRY_RUN };

static const struct rue_option options_table[] = {
    [DRY_RUN] = {.name = "dry-run", .kind = RUE_OPTION_FLAG, .help = "write no index files next to shards"},
};

static rue_status run_runner(const struct rue_options *options, rue_error *error)
{
    return rue_runner_serve(stdin, stdout, rue_options_flag(options, DRY_RUN), error);
}

const struct rue_command rue_command_runner = {
    .name = "runner",
    .arguments = "",
    .summary = "Perform trials requested on standard input, as JSON lines.",
    .details =
        "'rue tune' starts this program to measure. Any program that speaks the same protocol can replace "
        "it: rue tune DATA --runner COMMAND.\n\n"
        "  echo '{\"op\":\"hello\"}' | rue runner",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .run = run_runner,
};
