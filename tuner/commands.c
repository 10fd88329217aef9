#include "commands.h"

#include <string.h>

#include "suggest.h"

const struct rue_command *const rue_commands[] = {
    &rue_command_tune,    &rue_command_prepare,    &rue_command_inspect,
    &rue_command_analyze, &rue_command_show,       &rue_command_list,
    &rue_command_runner,  &rue_command_completion, NULL};

rue_status rue_commands_find(const char *name, const struct rue_command **out, rue_error *error)
{
    const char *names[sizeof rue_commands / sizeof *rue_commands];
    size_t count = 0;
    for (; rue_commands[count]; count++) {
        names[count] = rue_commands[count]->name;
        if (strcmp(name, names[count]) == 0) return *out = rue_commands[count], RUE_OK;
    }
    const char *near = rue_suggest(name, names, count);
    if (near) return rue_fail(error, RUE_USAGE, "unknown command '%s': did you mean '%s'?", name, near);
    return rue_fail(error, RUE_USAGE, "unknown command '%s'; 'rue --help' lists the commands", name);
}
