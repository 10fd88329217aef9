#include "commands.h"

#include <string.h>

#include "program_name.h"
#include "suggest.h"

const struct rue_command *const rue_commands[] = {
    &rue_command_tune,      &rue_command_compare,  &rue_command_scale,
    &rue_command_prepare,   &rue_command_inspect,  &rue_command_analyze,
    &rue_command_check,     &rue_command_headroom, &rue_command_show,
    &rue_command_report,    &rue_command_why,      &rue_command_diff,
    &rue_command_list,      &rue_command_models,   &rue_command_augment,
    &rue_command_calibrate, &rue_command_runner,   NULL};

static rue_status fail_option(const char *name, rue_error *error)
{
    static const char *const known[] = {"--help", "--version"};
    char near[RUE_SUGGESTION_BYTES];
    rue_did_you_mean(name, known, sizeof known / sizeof *known, "", near);
    if (*near) return rue_fail(error, RUE_USAGE, "unknown option %s%s", name, near);
    return rue_fail(error, RUE_USAGE, "unknown option %s; give a command first, '%s --help' lists them", name,
                    rue_program_name());
}

rue_status rue_commands_find(const char *name, const struct rue_command **out, rue_error *error)
{
    const char *names[sizeof rue_commands / sizeof *rue_commands];
    size_t count = 0;
    for (; rue_commands[count]; count++) {
        names[count] = rue_commands[count]->name;
        if (strcmp(name, names[count]) == 0) return *out = rue_commands[count], RUE_OK;
    }
    if (name[0] == '-') return fail_option(name, error);
    char near[RUE_SUGGESTION_BYTES];
    rue_did_you_mean(name, names, count, "", near);
    if (*near) return rue_fail(error, RUE_USAGE, "unknown command '%s'%s", name, near);
    return rue_fail(error, RUE_USAGE, "unknown command '%s'; '%s --help' lists the commands", name,
                    rue_program_name());
}
