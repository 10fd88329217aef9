#include "unknown_settings.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "options.h"
#include "suggest.h"

enum { NAME_BYTES = 64, NAMES_MAX = 512 };

static const char prefix[] = "RUE_";
/* Not options: path of the CUDA module, the address for ranks, and what the Python package reads. */
static const char *const other_names[] = {"CUDA_MODULE", "TUNER", "PROGRAM", "LOADER"};

/* Lists the option names as spelled in variables or in the settings file; returns their number. */
static size_t list_known(bool variable, char known[NAMES_MAX][NAME_BYTES])
{
    size_t count = 0;
    char text[NAME_BYTES];
    for (size_t c = 0; rue_commands[c]; c++)
        for (size_t i = 0; i < rue_commands[c]->option_count && count < NAMES_MAX; i++) {
            const struct rue_option *option = &rue_commands[c]->options[i];
            if (option->set_by == RUE_SET_BY_FLAG) continue;
            rue_option_variable(option, text, sizeof text);
            snprintf(known[count++], NAME_BYTES, "%s", variable ? text + sizeof prefix - 1 : option->name);
        }
    return count;
}

static void check_name(const char *name, bool variable, char *out, size_t bytes)
{
    char known[NAMES_MAX][NAME_BYTES], typed[NAME_BYTES];
    const char *names[NAMES_MAX];
    size_t count = list_known(variable, known), used = strlen(out);
    snprintf(typed, sizeof typed, "%s", name);
    for (char *at = typed; !variable && *at; at++)
        if (*at == '_') *at = '-';
    for (size_t i = 0; i < count; i++) {
        names[i] = known[i];
        if (strcmp(typed, known[i]) == 0) return;
    }
    char near[RUE_SUGGESTION_BYTES];
    const char *before = variable ? prefix : "";
    snprintf(out + used, bytes - used, "%s%s%.60s%s%s", used ? "; " : "", before, name,
             variable ? "" : " in " RUE_SETTINGS_FILE, rue_did_you_mean(typed, names, count, before, near));
}

/* "BUGDET" of "RUE_BUGDET=5m"; an empty variable counts as none. */
static bool variable_name(const char *entry, char name[NAME_BYTES])
{
    const char *equals = strchr(entry, '=');
    if (strncmp(entry, prefix, sizeof prefix - 1) != 0 || !equals || !equals[1]) return false;
    entry += sizeof prefix - 1;
    snprintf(name, NAME_BYTES, "%.*s", (int)(equals - entry), entry);
    return true;
}

void rue_unknown_settings_list(char *out, size_t bytes)
{
    char name[NAME_BYTES];
    const char *key;
    json_t *settings, *value;
    out[0] = 0;
    for (char **entry = environ; *entry; entry++)
        if (variable_name(*entry, name) &&
            rue_word_find(other_names, sizeof other_names / sizeof *other_names, name) < 0)
            check_name(name, true, out, bytes);
    if (rue_settings_read(&settings, NULL) != RUE_OK) return;
    json_object_foreach(settings, key, value)
    {
        check_name(key, false, out, bytes);
    }
    json_decref(settings);
}
