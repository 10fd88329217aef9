/* The subcommands: one const table each, in cmd_<name>.c; commands.c lists them. */
#ifndef RUE_COMMANDS_H
#define RUE_COMMANDS_H

#include "options.h"

/* Exit code without a message when the reader of the output is gone, as after SIGPIPE. */
enum { RUE_EXIT_READER_GONE = 141 };

extern const struct rue_command rue_command_tune;
extern const struct rue_command rue_command_compare;
extern const struct rue_command rue_command_scale;
extern const struct rue_command rue_command_prepare;
extern const struct rue_command rue_command_inspect;
extern const struct rue_command rue_command_analyze;
extern const struct rue_command rue_command_check;
extern const struct rue_command rue_command_headroom;
extern const struct rue_command rue_command_show;
extern const struct rue_command rue_command_report;
extern const struct rue_command rue_command_why;
extern const struct rue_command rue_command_diff;
extern const struct rue_command rue_command_list;
extern const struct rue_command rue_command_models;
extern const struct rue_command rue_command_augment;
extern const struct rue_command rue_command_calibrate;
extern const struct rue_command rue_command_runner;

/* In the order of the help; NULL at the end. */
extern const struct rue_command *const rue_commands[];

/* RUE_USAGE, with the most similar name, when there is no such command. */
rue_status rue_commands_find(const char *name, const struct rue_command **out,
                             rue_error *error) RUE_MUST_CHECK;

#endif
