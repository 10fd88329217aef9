/* The subcommands: one const table each, in cmd_<name>.c. */
#ifndef RUE_COMMANDS_H
#define RUE_COMMANDS_H

#include "options.h"

extern const struct rue_command rue_command_tune;
extern const struct rue_command rue_command_prepare;
extern const struct rue_command rue_command_inspect;
extern const struct rue_command rue_command_runner;

#endif
