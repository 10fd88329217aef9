/* Starts a runner as a child process. */
#ifndef RUE_RUNNER_COMMAND_H
#define RUE_RUNNER_COMMAND_H

#include "process.h"

/* Whether the command is one program with arguments. Then "exec" replaces the shell, so that rue sees the
 * program's own exits and stops. */
bool rue_runner_command_is_simple(const char *command);

/* Starts `command` in a shell, or rue's own runner (NULL). It sees only `gpu`, as in CUDA_VISIBLE_DEVICES
 * (NULL: all GPUs). It stops and continues with this process until rue_runner_command_end. As
 * rue_process_open. */
rue_status rue_runner_command_start(const char *command, const char *gpu, struct rue_process **out,
                                    rue_error *error) RUE_MUST_CHECK;

/* As rue_process_close. */
struct rue_process_end rue_runner_command_end(struct rue_process *process, uint64_t grace_ns);

#endif
