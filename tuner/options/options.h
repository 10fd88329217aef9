/* Options. One table a subcommand drives parsing, bounds, help and the origin of each value. Precedence:
 * flag > RUE_<NAME> in the environment > rue.json in the current folder > the table's default. Settings are
 * shared by all subcommands, so options of the same name are of the same kind, but for those that only a flag
 * sets. */
#ifndef RUE_OPTIONS_H
#define RUE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "budget.h"
#include "error.h"
#include "report.h"

struct json_t;

#define RUE_SETTINGS_FILE "rue.json" /* in the current folder */

enum rue_option_kind {
    RUE_OPTION_FLAG,
    RUE_OPTION_TEXT,
    RUE_OPTION_LIST,     /* a text with commas; of `words` where there are any: who uses the list checks it */
    RUE_OPTION_SETTINGS, /* NAME=LIST; may be repeated, or hold several with semicolons between them */
    RUE_OPTION_PATH,     /* of a file or folder */
    RUE_OPTION_COMMAND,  /* for a shell */
    RUE_OPTION_COUNT,    /* a whole number in [min, max] */
    RUE_OPTION_DURATION, /* "2m", "300s" */
    RUE_OPTION_BUDGET,   /* "2m", "500trials" */
    RUE_OPTION_PERCENTAGE, /* "0.5%", in [min, max] */
    RUE_OPTION_BYTES,      /* "8G" */
    RUE_OPTION_WORD,       /* one of `words` */
};

/* Who may set an option. A rue.json may be somebody else's, as it comes with a folder: it starts no program,
 * chooses no place to write to, and replaces and discards nothing. */
enum rue_option_setter {
    RUE_SET_BY_ALL,  /* a flag, the environment and rue.json */
    RUE_SET_BY_USER, /* a flag and the environment; in rue.json it is an error */
    RUE_SET_BY_FLAG, /* other commands give its name another meaning */
};

/* Where help lists an option: the first group holds those that people need first. */
enum rue_option_group {
    RUE_GROUP_COMMON,
    RUE_GROUP_SPACE,
    RUE_GROUP_JOB,
    RUE_GROUP_BUDGET,
    RUE_GROUP_DATA,
    RUE_GROUP_ANSWER,
    RUE_GROUP_OUTPUT,
    RUE_GROUP_ADVANCED,
    RUE_GROUP_COUNT
};

struct rue_option {
    const char *name; /* long name, with '-' */
    enum rue_option_kind kind;
    const char *argument; /* what help calls the value; NULL for a flag */
    const char *fallback; /* NULL: unset */
    const char *help;     /* one line of `rue COMMAND --help` */
    uint64_t min, max;    /* of a count, or of a percentage in hundredths of a percent; both 0: no bounds */
    const char *const *words; /* of a word or a list, NULL at the end */
    enum rue_option_setter set_by;
    enum rue_option_group group;
    const char *more; /* (optional) sentences that `rue help COMMAND` adds */
};

enum { RUE_OPTIONS_MAX = 64, RUE_ARGUMENTS_MAX = 64, RUE_COMMAND_LINE_BYTES = 4096 };

struct rue_options;

struct rue_command {
    const char *name;
    const char *arguments; /* "[DATA]" */
    const char *summary;   /* one line */
    const char *details;   /* (optional) paragraphs, and examples that two spaces indent */
    const struct rue_option *options;
    size_t option_count;
    int min_arguments, max_arguments;
    rue_status (*run)(const struct rue_options *options, rue_error *error);
};

/* Reads the command line after the subcommand's name. `*help` is set when --help was given; nothing is
 * checked then. RUE_USAGE says what is wrong with which option, where the value came from, and what was
 * perhaps meant. */
rue_status rue_options_parse(const struct rue_command *command, int argc, char **argv,
                             struct rue_options **out, bool *help, rue_error *error) RUE_MUST_CHECK;
void rue_options_close(struct rue_options *options);

/* The index of the option of that name in the command's table, or SIZE_MAX. */
size_t rue_options_find(const struct rue_options *options, const char *name);

/* Values by their index in the command's table. Checked when parsed, so these cannot fail. */
const char *rue_options_text(const struct rue_options *options, size_t index); /* NULL when unset */
bool rue_options_flag(const struct rue_options *options, size_t index);
uint64_t rue_options_number(const struct rue_options *options,
                            size_t index); /* count, ns or bytes; 0 when unset */
struct rue_budget rue_options_budget(const struct rue_options *options, size_t index);
double rue_options_ratio(const struct rue_options *options, size_t index); /* of a percentage; 0 when unset */
int rue_options_word(const struct rue_options *options, size_t index);     /* index in words; -1 when unset */

/* Where the value comes from: "--seed", "RUE_SEED", "rue.json", "default"; "" when unset. */
const char *rue_options_origin(const struct rue_options *options, size_t index);

/* Whether it is on the command line. */
bool rue_options_given(const struct rue_options *options, size_t index);

int rue_options_argument_count(const struct rue_options *options);
const char *rue_options_argument(const struct rue_options *options, int index);
const char *const *rue_options_arguments(const struct rue_options *options);

/* The command as it was typed, quoted for a shell: "rue tune 'my photos' --budget 5m"; a long one is cut
 * behind a whole word. */
const char *rue_options_command_line(const struct rue_options *options);

/* What an option that nothing set comes to. */
struct rue_unset {
    const char *name, *text;
};

/* Each value with its origin, one a line: what --dry-run shows. `unset`, a NULL name at its end, may name
 * options of other commands; those that it does not name are left out, flags are false. */
void rue_options_show(const struct rue_options *options, const struct rue_unset *unset,
                      const struct rue_report_style *style, FILE *out);

/* The object in the settings file, an empty one where there is no file; returns owned. RUE_USAGE names the
 * line, or says that it is not a regular file of a sensible size. */
rue_status rue_settings_read(struct json_t **out, rue_error *error) RUE_MUST_CHECK;

/* The variable that sets the option: "RUE_BATCH_SIZE". */
void rue_option_variable(const struct rue_option *option, char *out, size_t bytes);

#endif
