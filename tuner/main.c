/* rue finds the loader configuration with the least regret over all your models. The program links the GNU
 * Scientific Library and is distributed under GPL-3.0-or-later; its own sources are MIT. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "help.h"
#include "interrupt.h"
#include "program_name.h"
#include "terminal.h"
#include "unknown_settings.h"
#include "utf8.h"

/* Cleans the message, as it may quote any file name or runner. */
static void print_message(const char *program, const char *message)
{
    char clean[RUE_ERROR_MESSAGE_BYTES];
    rue_utf8_clean(message, rue_terminal_style(stderr, 0).unicode, clean, sizeof clean);
    fprintf(stderr, "%s: %s\n", program, clean);
}

static void print_error(const struct rue_command *command, const rue_error *error)
{
    char program[64];
    snprintf(program, sizeof program, "rue%s%s", command ? " " : "", command ? command->name : "");
    if (error->message[0]) print_message(program, error->message);
}

/* Whether the reader of the output is gone, as behind `rue show | head -1`. */
static bool is_reader_gone(void)
{
    struct pollfd output = {.fd = STDOUT_FILENO};
    return poll(&output, 1, 0) == 1 && output.revents & (POLLERR | POLLHUP);
}

/* Flushes the output, prints the error and returns the exit code. */
static int finish_program(const struct rue_command *command, rue_status status, rue_error *error)
{
    errno = 0;
    bool lost = fflush(stdout) != 0 || ferror(stdout);
    if (lost && (status == RUE_OK || status == RUE_STORE) && is_reader_gone()) return RUE_EXIT_READER_GONE;
    if (lost && status == RUE_OK)
        status = rue_fail(error, RUE_STORE, "cannot write the output: %s",
                          errno ? strerror(errno) : "an earlier write failed");
    if (status == RUE_OK) status = rue_interrupt_status(); /* the printed output may be lost */
    if (status != RUE_OK) rue_fail(error, status, "%s", rue_status_text(status));
    print_error(command, error);
    return rue_status_exit_code(status);
}

/* Otherwise a misspelled setting would silently do nothing. */
static void note_unknown_settings(void)
{
    char names[RUE_ERROR_MESSAGE_BYTES - 64], line[RUE_ERROR_MESSAGE_BYTES];
    rue_unknown_settings_list(names, sizeof names);
    snprintf(line, sizeof line, "unknown settings are ignored: %s", names);
    if (names[0]) print_message("note", line);
}

/* If the shell closed a standard descriptor, the next opened file would get it, and messages would be written
 * into that file. */
static void fill_standard_descriptors(void)
{
    int fd;
    do fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO) close(fd);
}

static int help_columns(void)
{
    return rue_terminal_style(stdout, RUE_TEXT_COLUMNS).columns;
}

static int run_command(const struct rue_command *command, int argc, char **argv)
{
    rue_error error = {0};
    struct rue_options *options = NULL;
    bool help;
    rue_status status = rue_options_parse(command, argc, argv, &options, &help, &error);
    if (status == RUE_OK && help) {
        rue_help_show_command(command, false, help_columns(), stdout);
    } else if (status == RUE_OK) {
        /* A runner inherits settings that its tuner has already noted. */
        if (command != &rue_command_runner) note_unknown_settings();
        status = command->run(options, &error);
    }
    rue_options_close(options);
    return finish_program(command, status, &error);
}

/* "rue help" and "rue help COMMAND". */
static int show_manual(int argc, char **argv)
{
    rue_error error = {0};
    const struct rue_command *command = NULL;
    rue_status status = argc > 0 ? rue_commands_find(argv[0], &command, &error) : RUE_OK;
    if (command)
        rue_help_show_command(command, true, help_columns(), stdout);
    else if (status == RUE_OK)
        rue_help_show(true, help_columns(), stdout);
    return finish_program(NULL, status, &error);
}

int main(int argc, char **argv)
{
    static char line[4096];
    fill_standard_descriptors();
    setvbuf(stderr, line, _IOLBF, sizeof line); /* one write per line, as several processes print */
    signal(SIGXFSZ, SIG_IGN);                   /* a file size limit becomes a write error */
    setlocale(LC_CTYPE, "");                    /* the terminal's characters; numbers keep the C format */
    rue_program_name_find(argc > 0 ? argv[0] : "");
    if (argc < 2) return rue_help_show_examples(stderr), rue_status_exit_code(RUE_USAGE);
    const char *name = argv[1];
    rue_error error = {0};
    if (!strcmp(name, "help")) return show_manual(argc - 2, argv + 2);
    if (!strcmp(name, "--help") || !strcmp(name, "-h"))
        return rue_help_show(false, help_columns(), stdout), finish_program(NULL, RUE_OK, &error);
    if (!strcmp(name, "--version"))
        return printf("rue %s\n", RUE_VERSION), finish_program(NULL, RUE_OK, &error);
    const struct rue_command *command;
    rue_status status = rue_commands_find(name, &command, &error);
    if (status != RUE_OK) return finish_program(NULL, status, &error);
    if (command != &rue_command_runner)
        rue_interrupt_install(name); /* its tuner expects a signal to end it */
    return run_command(command, argc - 2, argv + 2);
}
