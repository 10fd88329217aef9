#include "options.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json_file.h"
#include "program_name.h"
#include "shell_quote.h"
#include "suggest.h"
#include "units.h"
#include "utf8.h"
#include "wrap.h"

enum { SHOWN_VALUES_AT = 20, SETTINGS_BYTES_MAX = 1 << 20, SUFFIXES_FROM = 1000000, LIST_BYTES = 256 };

static const char default_origin[] = "default";

struct value {
    char *text; /* owned; NULL: unset */
    const char *origin;
    uint64_t number;
    double ratio;
    struct rue_budget budget;
    int word;
};

struct rue_options {
    const struct rue_command *command;
    struct value values[RUE_OPTIONS_MAX];
    char variables[RUE_OPTIONS_MAX][64]; /* "RUE_BATCH_SIZE" */
    char flags[RUE_OPTIONS_MAX][64];     /* "--batch-size" */
    const char *arguments[RUE_ARGUMENTS_MAX];
    int argument_count;
    char command_line[RUE_COMMAND_LINE_BYTES];
};

/* The valid values: "a whole number from 1 to 1000", "one of all, raw, preprocessed". */
static void describe_option(const struct rue_option *option, char *out, size_t bytes)
{
    static const char *const kinds[] = {
        [RUE_OPTION_FLAG] = "true or false",
        [RUE_OPTION_TEXT] = "a text",
        [RUE_OPTION_LIST] = "a list separated by commas",
        [RUE_OPTION_SETTINGS] = "NAME=LIST",
        [RUE_OPTION_PATH] = "a path",
        [RUE_OPTION_OUTPUT] = "a path to write; one that is named - is written as ./-",
        [RUE_OPTION_COMMAND] = "a command for a shell",
        [RUE_OPTION_COUNT] = "a whole number",
        [RUE_OPTION_DURATION] = "a time such as 2m, 300s or 250ms, up to 9 years",
        [RUE_OPTION_BUDGET] = RUE_BUDGET_WORDS,
        [RUE_OPTION_PERCENTAGE] = "a percentage such as 2.5%",
        [RUE_OPTION_BYTES] = "a size such as 8G or 512M, up to 256P",
        [RUE_OPTION_WORD] = "one of"};
    int used = snprintf(out, bytes, "%s", kinds[option->kind]);
    if (option->kind == RUE_OPTION_COUNT && option->max)
        used += snprintf(out + used, bytes - (size_t)used, " from %" PRIu64 " to %" PRIu64, option->min,
                         option->max);
    if (option->kind == RUE_OPTION_COUNT && (option->max == 0 || option->max >= SUFFIXES_FROM))
        used += snprintf(out + used, bytes - (size_t)used, ", such as 5000, 64k, 100M or 1e9");
    if (option->kind == RUE_OPTION_PERCENTAGE && option->max)
        snprintf(out + used, bytes - (size_t)used, " from %g%% to %g%%", (double)option->min / 100,
                 (double)option->max / 100);
    if (option->kind == RUE_OPTION_LIST && option->words)
        used += snprintf(out + used, bytes - (size_t)used, " of");
    for (int i = 0; option->words && option->words[i]; i++)
        used += snprintf(out + used, bytes - (size_t)used, "%s %s", i ? "," : "", option->words[i]);
}

static bool parse_flag(const char *text, uint64_t *number)
{
    bool yes = !strcmp(text, "1") || !strcmp(text, "true") || !strcmp(text, "yes");
    *number = yes;
    return yes || !*text || !strcmp(text, "0") || !strcmp(text, "false") || !strcmp(text, "no");
}

static bool parse_count(const struct rue_option *option, const char *text, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text)) return false;
    static const char suffixes[] = "kMG";
    const char *suffix = *end == 'K' ? suffixes : *end ? strchr(suffixes, *end) : NULL;
    unsigned long zeros = suffix ? 3 * (unsigned long)(suffix - suffixes + 1) : 0;
    if (suffix)
        end++;
    else if (*end == 'e' && isdigit((unsigned char)end[1]))
        zeros = strtoul(end + 1, &end, 10);
    for (; zeros && *number; zeros--)
        if (__builtin_mul_overflow(*number, 10, number)) return false;
    if (*end || errno) return false;
    return option->max == 0 || (*number >= option->min && *number <= option->max);
}

static bool parse_percentage(const struct rue_option *option, const char *text, double *ratio)
{
    if (!rue_parse_percentage(text, ratio)) return false;
    return option->max == 0 || (*ratio >= (double)option->min / 1e4 && *ratio <= (double)option->max / 1e4);
}

static bool parse_value(const struct rue_option *option, struct value *value)
{
    switch (option->kind) {
    case RUE_OPTION_FLAG:
        return parse_flag(value->text, &value->number);
    case RUE_OPTION_TEXT:
    case RUE_OPTION_LIST:
    case RUE_OPTION_SETTINGS:
    case RUE_OPTION_PATH:
    case RUE_OPTION_COMMAND:
        return *value->text != 0;
    case RUE_OPTION_OUTPUT:
        return *value->text && strcmp(value->text, "-") != 0;
    case RUE_OPTION_COUNT:
        return parse_count(option, value->text, &value->number);
    case RUE_OPTION_DURATION:
        return rue_parse_duration_ns(value->text, &value->number, NULL) && value->number > 0;
    case RUE_OPTION_BUDGET:
        return rue_budget_parse(value->text, &value->budget);
    case RUE_OPTION_PERCENTAGE:
        return parse_percentage(option, value->text, &value->ratio);
    case RUE_OPTION_BYTES:
        return rue_parse_bytes(value->text, &value->number) && value->number > 0;
    case RUE_OPTION_WORD:
        for (value->word = 0; option->words[value->word]; value->word++)
            if (strcmp(option->words[value->word], value->text) == 0) return true;
        return false;
    }
    return false;
}

static rue_status fail_parse(const struct rue_option *option, const struct value *value, rue_error *error)
{
    char expected[256];
    size_t count = 0;
    describe_option(option, expected, sizeof expected);
    if (!*value->text)
        return rue_fail(error, RUE_USAGE, "%s: the value is empty: give %s", value->origin, expected);
    while (option->kind == RUE_OPTION_WORD && option->words[count]) count++;
    char near[RUE_SUGGESTION_BYTES];
    return rue_fail(error, RUE_USAGE, "%s: '%.100s' is not %s%s", value->origin, value->text, expected,
                    rue_did_you_mean(value->text, option->words, count, "", near));
}

/* If an option has two values of the same origin, the later one counts; settings add up. */
static rue_status set_value(struct rue_options *options, size_t index, const char *text, const char *origin,
                            rue_error *error)
{
    const struct rue_option *option = &options->command->options[index];
    struct value *value = &options->values[index];
    char *earlier = value->text, *whole = NULL;
    if (option->kind == RUE_OPTION_SETTINGS && earlier && value->origin == origin) {
        if (asprintf(&whole, "%s;%s", earlier, text) < 0) whole = NULL;
    } else {
        whole = strdup(text);
    }
    free(earlier);
    *value = (struct value){.text = whole, .origin = origin, .word = -1};
    if (!value->text) return rue_fail_memory(error, "an option", strlen(text));
    return parse_value(option, value) ? RUE_OK : fail_parse(option, value, error);
}

static rue_status set_defaults(struct rue_options *options, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < options->command->option_count; i++) {
        const struct rue_option *option = &options->command->options[i];
        options->values[i].word = -1;
        if (option->fallback) status = set_value(options, i, option->fallback, default_origin, error);
    }
    return status;
}

static bool option_has_name(const struct rue_option *option, const char *name)
{
    const char *own = option->name;
    for (; *own && *name; own++, name++)
        if (*own != *name && !(*own == '-' && *name == '_')) return false;
    return *own == *name;
}

void rue_option_variable(const struct rue_option *option, char *out, size_t bytes)
{
    snprintf(out, bytes, "RUE_%s", option->name);
    for (; *out; out++) *out = *out == '-' ? '_' : (char)toupper((unsigned char)*out);
}

static rue_status set_from_json(struct rue_options *options, size_t index, const json_t *value,
                                rue_error *error)
{
    char number[64];
    const char *text = json_string_value(value);
    if (json_is_integer(value))
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value)), text = number;
    if (json_is_boolean(value)) text = json_is_true(value) ? "true" : "false";
    if (!text)
        return rue_fail(error, RUE_USAGE, "%s: \"%s\" must be a string, a whole number or true/false",
                        RUE_SETTINGS_FILE, options->command->options[index].name);
    return set_value(options, index, text, RUE_SETTINGS_FILE, error);
}

static const char settings_advice[] = "write settings such as {\"budget\": \"5m\"}, or move the file away";

rue_status rue_settings_read(json_t **out, rue_error *error)
{
    struct stat info;
    rue_error why = {0};
    json_t *settings = NULL;
    *out = NULL;
    bool exists = stat(RUE_SETTINGS_FILE, &info) == 0;
    if (!exists && errno == ENOENT)
        return (*out = json_object()) ? RUE_OK : rue_fail_memory(error, "settings", sizeof **out);
    if (!exists)
        return rue_fail(error, RUE_DATA, "cannot open %s: %s; %s", RUE_SETTINGS_FILE, strerror(errno),
                        settings_advice);
    if (info.st_size > SETTINGS_BYTES_MAX)
        return rue_fail(error, RUE_USAGE, "%s is larger than %d bytes; %s", RUE_SETTINGS_FILE,
                        SETTINGS_BYTES_MAX, settings_advice);
    if (rue_json_file_read(RUE_SETTINGS_FILE, settings_advice, &settings, &why) != RUE_OK)
        return rue_fail(error, RUE_USAGE, "%s", why.message);
    if (json_is_object(settings)) return *out = settings, RUE_OK;
    json_decref(settings);
    return rue_fail(error, RUE_USAGE, "%s is not a JSON object; %s", RUE_SETTINGS_FILE, settings_advice);
}

/* All subcommands share the file, so keys of other subcommands are ignored. */
static rue_status read_settings(struct rue_options *options, rue_error *error)
{
    json_t *settings;
    rue_status status = rue_settings_read(&settings, error);
    for (size_t i = 0; status == RUE_OK && i < options->command->option_count; i++) {
        const char *key;
        json_t *value;
        json_object_foreach(settings, key, value)
        {
            const struct rue_option *option = &options->command->options[i];
            if (status != RUE_OK || option->set_by == RUE_SET_BY_FLAG || !option_has_name(option, key))
                continue;
            status = option->set_by == RUE_SET_BY_ALL
                         ? set_from_json(options, i, value, error)
                         : rue_fail(error, RUE_USAGE,
                                    "%s: \"%.60s\" cannot be set in a file, which may come with the data; "
                                    "remove it there and use %s or %s",
                                    RUE_SETTINGS_FILE, key, options->flags[i], options->variables[i]);
        }
    }
    json_decref(settings);
    return status;
}

static rue_status read_environment(struct rue_options *options, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < options->command->option_count; i++) {
        bool flag = options->command->options[i].set_by == RUE_SET_BY_FLAG;
        const char *text = flag ? NULL : getenv(options->variables[i]);
        if (text && *text) status = set_value(options, i, text, options->variables[i], error);
    }
    return status;
}

static rue_status fail_unknown_option(const struct rue_command *command, const char *typed, rue_error *error)
{
    const char *names[RUE_OPTIONS_MAX + 1];
    for (size_t i = 0; i < command->option_count; i++) names[i] = command->options[i].name;
    names[command->option_count] = "help";
    char near[RUE_SUGGESTION_BYTES];
    if (*rue_did_you_mean(typed, names, command->option_count + 1, "--", near))
        return rue_fail(error, RUE_USAGE, "unknown option --%s%s", typed, near);
    return rue_fail(error, RUE_USAGE, "unknown option --%s; '%s %s --help' lists the options", typed,
                    rue_program_name(), command->name);
}

/* Whether the word is an option of the command: a value that was left out does not become the next option. */
static bool is_option(const struct rue_command *command, const char *word)
{
    if (strncmp(word, "--", 2) != 0) return false;
    for (size_t i = 0; i < command->option_count; i++)
        if (option_has_name(&command->options[i], word + 2)) return true;
    return false;
}

/* Reads one "--name", "--name=value" or "--name value"; `*at` moves to the last word that was read. `*list`:
 * the option, if that word is a list. */
static rue_status read_flag(struct rue_options *options, int argc, char **argv, int *at,
                            const struct rue_option **list, rue_error *error)
{
    char name[64];
    const char *typed = argv[*at] + 2, *equals = strchr(typed, '=');
    snprintf(name, sizeof name, "%.*s", equals ? (int)(equals - typed) : (int)sizeof name - 1, typed);
    for (size_t i = 0; i < options->command->option_count; i++) {
        const struct rue_option *option = &options->command->options[i];
        if (!option_has_name(option, name)) continue;
        const char *text = equals ? equals + 1 : NULL;
        if (option->kind == RUE_OPTION_LIST || option->kind == RUE_OPTION_SETTINGS) *list = option;
        if (!text && option->kind == RUE_OPTION_FLAG) text = "true";
        if (!text && *at + 1 < argc && !is_option(options->command, argv[*at + 1])) text = argv[++*at];
        if (!text)
            return rue_fail(error, RUE_USAGE, "--%s needs a value (%s)", option->name, option->argument);
        return set_value(options, i, text, options->flags[i], error);
    }
    return fail_unknown_option(options->command, name, error);
}

/* Reports a fault of the arguments, and the usage. */
static rue_status fail_arguments(const struct rue_command *command, const char *fault, const char *word,
                                 rue_error *error)
{
    return rue_fail(error, RUE_USAGE, "%s%.200s%s (usage: %s %s%s%s)", fault, word, *word ? "'" : "",
                    rue_program_name(), command->name, *command->arguments ? " " : "", command->arguments);
}

/* As many arguments as the usage has words, or any number where a word is repeated. */
static int most_arguments(const char *usage)
{
    int words = 0;
    if (strstr(usage, "...")) return RUE_ARGUMENTS_MAX;
    for (; *usage; usage += strcspn(usage, " "), usage += strspn(usage, " ")) words++;
    return words;
}

/* Whether a word behind "--batch-size 32" is one more value of the list, and not a file. */
static bool is_further_value(const struct rue_option *option, const char *word)
{
    if (!*word || access(word, F_OK) == 0) return false;
    for (size_t i = 0; option->words && option->words[i]; i++)
        if (strcmp(option->words[i], word) == 0) return true;
    return !word[strspn(word, "0123456789.,")];
}

/* Reports the values of a list, from `list` on, that spaces separate. */
static rue_status fail_list(const struct rue_option *option, char **list, char **end, rue_error *error)
{
    char values[2][LIST_BYTES] = {"", ""};
    for (size_t used = 0; list < end && (used == 0 || is_further_value(option, *list)); list++) {
        const char *equals = strncmp(*list, "--", 2) == 0 ? strchr(*list, '=') : NULL;
        const char *word = equals ? equals + 1 : *list;
        snprintf(values[0] + used, LIST_BYTES - used, "%s%s", used ? " " : "", word);
        snprintf(values[1] + used, LIST_BYTES - used, "%s%s", used ? "," : "", word);
        used = strlen(values[0]);
    }
    return rue_fail(error, RUE_USAGE, "--%s %s: the values of a list are separated by commas: --%s %s",
                    option->name, values[0], option->name, values[1]);
}

static rue_status add_argument(struct rue_options *options, const char *word, rue_error *error)
{
    if (!*word) return fail_arguments(options->command, "an argument is empty: '' is not a path", "", error);
    if (options->argument_count == most_arguments(options->command->arguments))
        return fail_arguments(options->command, "one argument too many: '", word, error);
    options->arguments[options->argument_count++] = word;
    return RUE_OK;
}

/* "TABLE is missing": the first required word of the usage that was not given. */
static rue_status check_arguments(const struct rue_options *options, rue_error *error)
{
    char fault[64];
    int left = options->argument_count;
    for (const char *at = options->command->arguments; *at; at += strspn(at, " ")) {
        int length = (int)strcspn(at, " ");
        snprintf(fault, sizeof fault, "%.*s is missing", length, at);
        if (*at != '[' && left-- == 0) return fail_arguments(options->command, fault, "", error);
        at += length;
    }
    return RUE_OK;
}

static rue_status read_command_line(struct rue_options *options, int argc, char **argv, bool *help,
                                    rue_error *error)
{
    bool only_arguments = false;
    const struct rue_option *list = NULL; /* whose value is the last word */
    rue_status status = RUE_OK;
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--") == 0)
            break;
        else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            *help = true;
    if (*help) return RUE_OK;
    for (int i = 0; status == RUE_OK && i < argc; i++) {
        const char *word = argv[i];
        if (!only_arguments && list && is_further_value(list, word))
            return fail_list(list, argv + i - 1, argv + argc, error);
        list = NULL;
        if (only_arguments || word[0] != '-' || !word[1]) {
            status = add_argument(options, word, error);
        } else if (strcmp(word, "--") == 0) {
            only_arguments = true;
        } else if (word[1] != '-') {
            return rue_fail(error, RUE_USAGE, "unknown option %s; '%s %s --help' lists the options", word,
                            rue_program_name(), options->command->name);
        } else {
            status = read_flag(options, argc, argv, &i, &list, error);
        }
    }
    return status == RUE_OK ? check_arguments(options, error) : status;
}

static rue_status keep_command_line(struct rue_options *options, int argc, char **argv, rue_error *error)
{
    size_t count = (size_t)argc + 2;
    const char **words = calloc(count, sizeof *words);
    if (!words) return rue_fail_memory(error, "the command line", count * sizeof *words);
    words[0] = "rue";
    words[1] = options->command->name;
    for (int i = 0; i < argc; i++) words[i + 2] = argv[i];
    rue_shell_quote_line(words, count, options->command_line, sizeof options->command_line);
    free(words);
    return RUE_OK;
}

rue_status rue_options_parse(const struct rue_command *command, int argc, char **argv,
                             struct rue_options **out, bool *help, rue_error *error)
{
    struct rue_options *options = calloc(1, sizeof *options);
    if (!options) return rue_fail_memory(error, "options", sizeof *options);
    assert(command->option_count <= RUE_OPTIONS_MAX);
    options->command = command;
    for (size_t i = 0; i < command->option_count; i++) {
        snprintf(options->flags[i], sizeof options->flags[i], "--%s", command->options[i].name);
        rue_option_variable(&command->options[i], options->variables[i], sizeof options->variables[i]);
    }
    *help = false;
    rue_status status = keep_command_line(options, argc, argv, error);
    if (status == RUE_OK) status = set_defaults(options, error);
    if (status == RUE_OK) status = read_settings(options, error);
    if (status == RUE_OK) status = read_environment(options, error);
    rue_error later = {0};
    rue_status line = read_command_line(options, argc, argv, help, &later);
    if (*help) {
        status = RUE_OK;
        rue_error_clear(error);
    } else if (status == RUE_OK && line != RUE_OK) {
        status = rue_fail(error, line, "%s", later.message);
    }
    if (status != RUE_OK) return rue_options_close(options), status;
    *out = options;
    return RUE_OK;
}

void rue_options_close(struct rue_options *options)
{
    if (!options) return;
    for (size_t i = 0; i < RUE_OPTIONS_MAX; i++) free(options->values[i].text);
    free(options);
}

static const struct value *find_value(const struct rue_options *options, const char *name)
{
    static const struct value unset = {.word = -1};
    for (size_t i = 0; i < options->command->option_count; i++)
        if (strcmp(options->command->options[i].name, name) == 0) return &options->values[i];
    return &unset;
}

const char *rue_options_text(const struct rue_options *options, const char *name)
{
    return find_value(options, name)->text;
}

bool rue_options_flag(const struct rue_options *options, const char *name)
{
    return find_value(options, name)->number != 0;
}

uint64_t rue_options_number(const struct rue_options *options, const char *name)
{
    return find_value(options, name)->number;
}

struct rue_budget rue_options_budget(const struct rue_options *options, const char *name)
{
    return find_value(options, name)->budget;
}

double rue_options_ratio(const struct rue_options *options, const char *name)
{
    return find_value(options, name)->ratio;
}

int rue_options_word(const struct rue_options *options, const char *name)
{
    return find_value(options, name)->word;
}

bool rue_options_given(const struct rue_options *options, const char *name)
{
    return strncmp(rue_options_origin(options, name), "--", 2) == 0;
}

const char *rue_options_origin(const struct rue_options *options, const char *name)
{
    const struct value *value = find_value(options, name);
    return value->text ? value->origin : "";
}

int rue_options_argument_count(const struct rue_options *options)
{
    return options->argument_count;
}

const char *const *rue_options_arguments(const struct rue_options *options)
{
    return options->arguments;
}

const char *rue_options_command_line(const struct rue_options *options)
{
    return options->command_line;
}

/* The value and its origin. An unset flag is "false"; other unset options have the text in `unset`, or
 * their usual one, or NULL. */
static const char *find_option_value(const struct rue_options *options, const struct rue_unset *unset,
                                     size_t index, const char **origin)
{
    const struct rue_option *option = &options->command->options[index];
    const struct value *value = &options->values[index];
    *origin = value->text ? value->origin : default_origin;
    if (value->text) return value->text;
    if (option->kind == RUE_OPTION_FLAG) return "false";
    while (unset->name && strcmp(unset->name, option->name) != 0) unset++;
    return unset->name ? unset->text : option->usual;
}

void rue_options_show(const struct rue_options *options, const struct rue_unset *unset,
                      const struct rue_report_style *style, FILE *out)
{
    for (size_t i = 0; i < options->command->option_count; i++) {
        const char *origin, *text = find_option_value(options, unset, i, &origin);
        if (!text) continue;
        char label[80], line[1024], clean[1024];
        snprintf(label, sizeof label, "  %s", options->command->options[i].name);
        snprintf(line, sizeof line, "%.900s (%s)", text, origin);
        rue_utf8_clean(line, style->unicode, clean, sizeof clean);
        rue_wrap_item(out, label, clean, style->columns, SHOWN_VALUES_AT);
        fputc('\n', out);
    }
}
