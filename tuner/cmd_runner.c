#include "commands.h"
#include "runner_server.h"

static rue_status run(const struct rue_options *options, rue_error *error)
{
    (void)options;
    return rue_runner_serve(stdin, stdout, error);
}

const struct rue_command rue_command_runner = {
    .name = "runner",
    .arguments = "",
    .summary = "Perform trials that are asked for on standard input, one JSON object a line.",
    .details =
        "This is what 'rue tune' starts to measure with. Any program that speaks the same protocol can "
        "take its place: rue tune DATA --runner COMMAND.\n\n"
        "  echo '{\"op\":\"hello\"}' | rue runner",
    .run = run,
};
