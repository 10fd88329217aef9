#include "runner_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suspension.h"

bool rue_runner_command_is_simple(const char *command)
{
    static const char *const builtins[] = {"exec ", "command ", "eval "};
    bool simple = !command[strcspn(command, ";&|<>()`\n")] && !memchr(command, '=', strcspn(command, " \t"));
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        simple = simple && strncmp(command, builtins[i], strlen(builtins[i])) != 0;
    return simple;
}

/* The child sees only `gpu` (nullable: all), as in CUDA_VISIBLE_DEVICES. */
static rue_status open_process(const char *const *words, const char *gpu, struct rue_process **out,
                               rue_error *error)
{
    static const char variable[] = "CUDA_VISIBLE_DEVICES";
    const char *visible = getenv(variable);
    char *saved = visible ? strdup(visible) : NULL;
    if (visible && !saved) return rue_fail_memory(error, "an environment", strlen(visible));
    if (gpu) setenv(variable, gpu, 1);
    rue_status status = rue_process_open(words, out, error);
    if (saved)
        setenv(variable, saved, 1);
    else
        unsetenv(variable);
    free(saved);
    return status;
}

rue_status rue_runner_command_start(const char *command, const char *gpu, struct rue_process **out,
                                    rue_error *error)
{
    char *line = NULL;
    if (command && asprintf(&line, "%s%s", rue_runner_command_is_simple(command) ? "exec " : "", command) < 0)
        return rue_fail_memory(error, "a command", strlen(command));
    static const char *const own[] = {"/proc/self/exe", "runner", NULL};
    const char *const shell[] = {"/bin/sh", "-c", line, NULL};
    rue_status status = open_process(command ? shell : own, gpu, out, error);
    free(line);
    if (status == RUE_OK) rue_suspension_follow(rue_process_keeper_socket(*out));
    return status;
}

struct rue_process_end rue_runner_command_end(struct rue_process *process, uint64_t grace_ns)
{
    rue_suspension_unfollow(rue_process_keeper_socket(process));
    return rue_process_close(process, grace_ns);
}
