#include "help.h"

#include <string.h>

#include "commands.h"
#include "options.h"
#include "program_name.h"
#include "shell_quote.h"
#include "wrap.h"

enum {
    COMMANDS_AT = 14,
    OPTIONS_AT = 26,
    GROUPS_FROM = 16,
    DETAILS_BYTES = 2048,
    COMMANDS_MAX = 32,
    HINT_BYTES = 4 * RUE_SHELL_WORD_BYTES + 256,
    TEXT_BYTES = DETAILS_BYTES + 5 * RUE_SHELL_WORD_BYTES
};

/* The next block of a command's details, which start at `*at`: a paragraph, its lines joined, or an example,
 * a line for a shell. False at the end. */
static bool next_block(const char **at, char *out, size_t bytes, bool *example)
{
    size_t used = 0;
    *at += strspn(*at, "\n");
    *example = strncmp(*at, "  ", 2) == 0;
    if (!**at) return false;
    for (bool more = true; more; more = !*example && **at && **at != '\n' && **at != ' ') {
        size_t length = strcspn(*at, "\n");
        const char *line = *at + (*example ? 2 : 0);
        used += (size_t)snprintf(out + used, bytes - used, "%s%.*s", used ? " " : "",
                                 (int)(*at + length - line), line);
        *at += length + ((*at)[length] == '\n');
    }
    return true;
}

/* Copies a text. Its commands, which begin with "rue" in quotes or in an example, become those that run here.
 */
static const char *name_commands(const char *text, bool example, char out[TEXT_BYTES])
{
    static const char name[] = "rue ", before[] = "'|\n";
    char last = example ? '\n' : ' ';
    size_t used = 0;
    for (const char *at = text; *at && used < TEXT_BYTES - 1; at++) {
        bool command = strchr(before, last) && strncmp(at, name, strlen(name)) == 0;
        if (*at != ' ') last = *at;
        if (command) at += strlen(name) - 2;
        used += (size_t)snprintf(out + used, TEXT_BYTES - used, "%s",
                                 command ? rue_program_name() : (char[]){*at, 0});
    }
    return out;
}

static void show_details(const char *details, int columns, FILE *out)
{
    char text[DETAILS_BYTES], shown[TEXT_BYTES];
    bool example, after_example = false;
    while (next_block(&details, text, sizeof text, &example)) {
        if (!after_example || !example) fputc('\n', out);
        after_example = example;
        name_commands(text, example, shown);
        if (example)
            fprintf(out, "  %s", shown); /* never broken, so that it can be pasted */
        else
            rue_wrap(out, shown, columns, 0);
        fputc('\n', out);
    }
}

/* `whole`: with all details, else on one line. */
static void show_option(const struct rue_option *option, bool whole, int columns, FILE *out)
{
    static const char *const notes[] = {[RUE_SET_BY_ALL] = "",
                                        [RUE_SET_BY_USER] = " Not allowed in " RUE_SETTINGS_FILE ".",
                                        [RUE_SET_BY_FLAG] = " Only as a flag."};
    char label[80], text[640], shown[TEXT_BYTES];
    const char *fallback = option->fallback, *more = option->more, *note = notes[option->set_by];
    snprintf(label, sizeof label, "  --%s%s%s", option->name, option->argument ? " " : "",
             option->argument ? option->argument : "");
    int used = snprintf(text, sizeof text, "%s%s%s%s", option->help, fallback ? " [" : "",
                        fallback ? fallback : "", fallback ? "]" : "");
    if (whole && (more || *note))
        snprintf(text + used, sizeof text - (size_t)used, ".%s%s%s", more ? " " : "", more ? more : "", note);
    rue_wrap_item(out, label, name_commands(text, false, shown), columns, OPTIONS_AT);
    fputc('\n', out);
}

static void show_options(const struct rue_command *command, bool whole, int columns, FILE *out)
{
    static const char *const headings[] = {"Options", "Search space", "Job",    "Budget and confidence",
                                           "Data",    "Answer",       "Output", "Advanced"};
    static const struct rue_option help = {.name = "help", .help = "show this help"};
    bool grouped = command->option_count >= GROUPS_FROM;
    for (size_t group = 0; group < (grouped ? RUE_GROUP_COUNT : 1); group++) {
        bool headed = false;
        for (size_t i = 0; i < command->option_count; i++) {
            if (grouped && command->options[i].group != group) continue;
            if (!headed) fprintf(out, "\n%s:\n", headings[group]);
            headed = true;
            show_option(&command->options[i], whole, columns, out);
        }
    }
    show_option(&help, false, columns, out);
}

void rue_help_show_command(const struct rue_command *command, bool whole, int columns, FILE *out)
{
    fprintf(out, "Usage: %s %s [OPTIONS]%s%s\n\n", rue_program_name(), command->name,
            *command->arguments ? " " : "", command->arguments);
    rue_wrap(out, command->summary, columns, 0);
    fputc('\n', out);
    show_details(command->details, columns, out);
    show_options(command, whole, columns, out);
    if (whole) return;
    char hint[HINT_BYTES];
    snprintf(hint, sizeof hint, "'%s help %s' explains the options.", rue_program_name(), command->name);
    fputc('\n', out);
    rue_wrap(out, hint, columns, 0);
    fputc('\n', out);
}

/* Pairs of a label and a text, up to a NULL. */
static void show_items(const char *heading, const char *const *items, int columns, FILE *out)
{
    fprintf(out, "\n%s:\n", heading);
    for (; *items; items += 2) {
        char label[32];
        snprintf(label, sizeof label, "  %s", items[0]);
        rue_wrap_item(out, label, items[1], columns, COMMANDS_AT);
        fputc('\n', out);
    }
}

void rue_help_show_examples(FILE *out)
{
    fputs("rue finds the data loader configuration that is good for all your models.\n\n", out);
    char text[TEXT_BYTES];
    fputs(name_commands("  rue tune photos/                    find the best batch size and workers\n"
                        "  rue compare photos/ photos.tensor   compare raw with preprocessed data\n"
                        "  rue check rue-out/photos            check whether a result still holds\n\n"
                        "'rue --help' lists the commands, 'rue help tune' explains one.\n",
                        true, text),
          out);
}

void rue_help_show(bool whole, int columns, FILE *out)
{
    static const char *const settings[] = {
        "--NAME",
        "A flag overrides everything else.",
        "RUE_NAME",
        "An environment variable sets the option of that name: RUE_BATCH_SIZE=32,64. It "
        "overrides " RUE_SETTINGS_FILE ".",
        RUE_SETTINGS_FILE,
        "A JSON object in the current folder, whose keys are names of options. It cannot start a program, "
        "choose where to write, or replace anything.",
        "COLUMNS",
        "The width of the output, instead of the terminal's.",
        "NO_COLOR",
        "No colour, as with TERM=dumb.",
        "LC_ALL",
        "Only ASCII is printed unless LC_ALL, LC_CTYPE or LANG names a UTF-8 locale.",
        NULL};
    static const char *const codes[] = {"0",   "done",
                                        "1",   "internal error, out of memory, or the runner failed",
                                        "2",   "usage",
                                        "3",   "data unreadable",
                                        "4",   "nothing feasible",
                                        "5",   "not decided, or it does not hold here",
                                        "6",   "store or disk",
                                        "130", "interrupted",
                                        "141", "the reader of the output is gone",
                                        "143", "terminated",
                                        NULL};
    const char *commands[2 * COMMANDS_MAX + 1] = {NULL};
    for (size_t i = 0; rue_commands[i]; i++) {
        commands[2 * i] = rue_commands[i]->name;
        commands[2 * i + 1] = rue_commands[i]->summary;
    }
    fprintf(out, "Usage: %s COMMAND [OPTIONS] [ARGUMENTS]\n\n", rue_program_name());
    rue_wrap(out, "Finds the data loader configuration that is good for all your models, by regret.", columns,
             0);
    fputc('\n', out);
    show_items("Commands", commands, columns, out);
    if (whole) {
        show_items("Settings", settings, columns, out);
        show_items("Exit codes", codes, columns, out);
    }
    fputc('\n', out);
    char hint[HINT_BYTES] =
        "Results are in rue-out/<data>: recommendation.json, trials.csv, and study.db, from "
        "which the same command continues.";
    const char *name = rue_program_name();
    if (!whole)
        snprintf(
            hint, sizeof hint,
            "'%s COMMAND --help' lists the options of a command. '%s help' and '%s help COMMAND' are the "
            "manual. Start with: %s tune FOLDER",
            name, name, name, name);
    rue_wrap(out, hint, columns, 0);
    fputc('\n', out);
}
