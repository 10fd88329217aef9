#include "commands.h"
#include "runner_server.h"
#include "transform.h"

enum { MAX_PIXELS };

static const struct rue_option options_table[] = {
    [MAX_PIXELS] = {"max-pixels", RUE_OPTION_COUNT, "N", "268435456", "refuse images of more pixels", 1,
                    UINT64_C(1) << 40, NULL},
};

static rue_status run(const struct rue_options *options, rue_error *error)
{
    return rue_runner_serve(stdin, stdout, rue_options_number(options, MAX_PIXELS), error);
}

const struct rue_command rue_command_runner = {
    .name = "runner",
    .arguments = "",
    .summary = "Perform trials that are asked for on standard input, one JSON object a line.",
    .details =
        "This is what 'rue tune' starts to measure with. Any program that speaks the same protocol can "
        "take its place: rue tune DATA --runner COMMAND.\n\n"
        "  echo '{\"op\":\"hello\"}' | rue runner",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .run = run,
};
