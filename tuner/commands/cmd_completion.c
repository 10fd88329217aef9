#include "commands.h"

#include <string.h>

#include "completion.h"
#include "suggest.h"

static const struct {
    const char *name;
    void (*write)(FILE *out);
} shells[] = {{"bash", rue_completion_bash}, {"zsh", rue_completion_zsh}};
enum { SHELLS = sizeof shells / sizeof *shells };

static const char *const shell_names[SHELLS + 1] = {"bash", "zsh", NULL};

static rue_status run(const struct rue_options *options, rue_error *error)
{
    const char *shell = rue_options_argument(options, 0);
    for (size_t i = 0; i < SHELLS; i++)
        if (strcmp(shell, shells[i].name) == 0) return shells[i].write(stdout), RUE_OK;
    char near[RUE_SUGGESTION_BYTES];
    return rue_fail(error, RUE_USAGE, "there is no completion for the shell '%s', only for bash and zsh%s",
                    shell, rue_did_you_mean(shell, shell_names, SHELLS, "", near));
}

const struct rue_command rue_command_completion = {
    .name = "completion",
    .arguments = "bash|zsh",
    .summary = "Print a script with which a shell completes rue's commands and options.",
    .details = "An installed rue has it in place; else load it from the shell's own start file.\n\n"
               "  eval \"$(rue completion bash)\"",
    .min_arguments = 1,
    .max_arguments = 1,
    .argument_words = shell_names,
    .run = run,
};
