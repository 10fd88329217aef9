#include "commands.h"
#include "recording.h"
#include "runner_server.h"

enum { TABLE, MAP, IMAGES, DRY_RUN };

static const struct rue_option options_table[] = {
    [TABLE] = {.name = "table",
               .kind = RUE_OPTION_PATH,
               .argument = "FILE",
               .help = "answer with the times of a CSV table",
               .set_by = RUE_SET_BY_FLAG},
    [MAP] = {.name = "map",
             .kind = RUE_OPTION_LIST,
             .argument = "LIST",
             .help = "what its columns are called, such as mode=dataset_type,time_s=seconds",
             .set_by = RUE_SET_BY_FLAG},
    [IMAGES] = {.name = "images",
                .kind = RUE_OPTION_COUNT,
                .argument = "N",
                .help = "the job that its times are of [as the table says]",
                .min = 1,
                .max = UINT64_C(1) << 40,
                .set_by = RUE_SET_BY_FLAG},
    [DRY_RUN] = {.name = "dry-run", .kind = RUE_OPTION_FLAG, .help = "keep no index beside shards"},
};

static rue_status run_runner(const struct rue_options *options, rue_error *error)
{
    const char *table = rue_options_text(options, TABLE);
    if (!table) return rue_runner_serve(stdin, stdout, rue_options_flag(options, DRY_RUN), error);
    struct rue_recording *recording;
    rue_status status = rue_recording_open(table, rue_options_text(options, MAP),
                                           rue_options_number(options, IMAGES), &recording, error);
    if (status != RUE_OK) return status;
    status = rue_recording_serve(recording, stdin, stdout, error);
    rue_recording_close(recording);
    return status;
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
    .run = run_runner,
};
