/* rue: finds the loader configuration that is good for all your models, by regret.
 * The program links the GNU Scientific Library and is distributed under GPL-3.0-or-later; its own sources are
 * MIT. */
#include <ctype.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "interrupt.h"
#include "suggest.h"

static const struct rue_command *const commands[] = {&rue_command_tune, &rue_command_prepare,
                                                     &rue_command_inspect, &rue_command_runner};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void show_help(FILE *out)
{
    fprintf(
        out,
        "Usage: rue COMMAND [OPTIONS] [ARGUMENTS]\n\n"
        "Finds the data loader configuration that is good for all your models, by regret.\n\nCommands:\n");
    for (int i = 0; i < COMMANDS; i++) fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(out, "\n'rue COMMAND --help' tells more. Start with: rue tune FOLDER\n");
}

static int fail_unknown_command(const char *typed)
{
    const char *names[COMMANDS];
    for (int i = 0; i < COMMANDS; i++) names[i] = commands[i]->name;
    const char *near = rue_suggest(typed, names, COMMANDS);
    if (near)
        fprintf(stderr, "rue: unknown command '%s': did you mean '%s'?\n", typed, near);
    else
        fprintf(stderr, "rue: unknown command '%s'; 'rue --help' lists the commands\n", typed);
    return rue_status_exit_code(RUE_USAGE);
}

/* One line whatever it quotes: file names and runners may hold control characters. */
static void print_error(const char *command, char *message)
{
    for (char *at = message; *at; at++)
        if (iscntrl((unsigned char)*at)) *at = '?';
    fprintf(stderr, "rue %s: %s\n", command, message);
}

static int run_command(const struct rue_command *command, int argc, char **argv)
{
    rue_error error = {0};
    struct rue_options *options = NULL;
    bool help;
    rue_status status = rue_options_parse(command, argc, argv, &options, &help, &error);
    if (status == RUE_OK && help)
        rue_options_help(command, stdout);
    else if (status == RUE_OK)
        status = command->run(options, &error);
    rue_options_close(options);
    if (fflush(stdout) != 0 && status == RUE_OK)
        status = rue_fail(&error, RUE_STORE, "cannot write the output");
    if (error.message[0]) print_error(command->name, error.message);
    return rue_status_exit_code(status);
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, ""); /* which characters the terminal knows; numbers are written alike everywhere */
    if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        show_help(argc < 2 ? stderr : stdout);
        return argc < 2 ? rue_status_exit_code(RUE_USAGE) : 0;
    }
    if (!strcmp(argv[1], "--version")) return printf("rue %s\n", RUE_VERSION), 0;
    if (strcmp(argv[1], "runner") != 0)
        rue_interrupt_install(); /* a runner dies of a signal, as its tuner expects */
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(argv[1], commands[i]->name) == 0) return run_command(commands[i], argc - 2, argv + 2);
    return fail_unknown_command(argv[1]);
}
