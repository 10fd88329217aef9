#include "help.h"

#include <string.h>

#include "commands.h"
#include "options.h"
#include "wrap.h"

enum { COMMANDS_AT = 14, OPTIONS_AT = 33, DETAILS_BYTES = 2048 };

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

static void show_details(const char *details, int columns, FILE *out)
{
    char text[DETAILS_BYTES];
    bool example, after_example = false;
    while (next_block(&details, text, sizeof text, &example)) {
        if (!after_example || !example) fputc('\n', out);
        after_example = example;
        if (example)
            fprintf(out, "  %s", text); /* never broken, so that it can be pasted */
        else
            rue_wrap(out, text, columns, 0);
        fputc('\n', out);
    }
}

static void show_option(const char *label, const char *help, const char *fallback,
                        enum rue_option_setter set_by, int columns, FILE *out)
{
    static const char *const notes[] = {[RUE_SET_BY_ALL] = "",
                                        [RUE_SET_BY_USER] = " (not in " RUE_SETTINGS_FILE ")",
                                        [RUE_SET_BY_FLAG] = " (flag only)"};
    char text[512];
    snprintf(text, sizeof text, "%s%s%s%s%s", help, fallback ? " [" : "", fallback ? fallback : "",
             fallback ? "]" : "", notes[set_by]);
    rue_wrap_item(out, label, text, columns, OPTIONS_AT);
    fputc('\n', out);
}

void rue_help_show_command(const struct rue_command *command, int columns, FILE *out)
{
    char usage[160];
    snprintf(usage, sizeof usage, "%s%s%s", command->option_count ? "[OPTIONS]" : "",
             command->option_count && *command->arguments ? " " : "", command->arguments);
    fprintf(out, "Usage: rue %s%s%s\n\n", command->name, *usage ? " " : "", usage);
    rue_wrap(out, command->summary, columns, 0);
    fputc('\n', out);
    if (command->details) show_details(command->details, columns, out);
    fprintf(out, "\nOptions:\n");
    for (size_t i = 0; i < command->option_count; i++) {
        const struct rue_option *option = &command->options[i];
        char label[80];
        snprintf(label, sizeof label, "  --%s%s%s", option->name, option->argument ? " " : "",
                 option->argument ? option->argument : "");
        show_option(label, option->help, option->fallback, option->set_by, columns, out);
    }
    show_option("  --help", "show this help", NULL, RUE_SET_BY_ALL, columns, out);
}

void rue_help_show(int columns, FILE *out)
{
    fprintf(out, "Usage: rue COMMAND [OPTIONS] [ARGUMENTS]\n\n");
    rue_wrap(out, "Finds the data loader configuration that is good for all your models, by regret.", columns,
             0);
    fprintf(out, "\n\nCommands:\n");
    for (size_t i = 0; rue_commands[i]; i++) {
        char label[32];
        snprintf(label, sizeof label, "  %s", rue_commands[i]->name);
        rue_wrap_item(out, label, rue_commands[i]->summary, columns, COMMANDS_AT);
        fputc('\n', out);
    }
    fputc('\n', out);
    rue_wrap(out, "'rue COMMAND --help' tells more. Start with: rue tune FOLDER", columns, 0);
    fputc('\n', out);
}
