#include "knob_list.h"

#include <stdio.h>
#include <string.h>

#include "suggest.h"
#include "word_list.h"

/* The given values of a knob, and their origin ("--batch-size"), with which messages begin. */
struct list {
    size_t index;
    const struct rue_knob_info *knob;
    const char *text, *origin;
};

static rue_status fail_knob_value(const struct list *list, const char *text, rue_error *error)
{
    const struct rue_knob_info *knob = list->knob;
    char near[RUE_SUGGESTION_BYTES], known[256];
    if (!knob->words)
        return rue_fail(error, RUE_USAGE,
                        "%s: '%s' is not a list of whole numbers from %d to %d, such as 32,64,128 or 0..8",
                        list->origin, text, knob->min, knob->max);
    rue_knob_describe(knob, known, sizeof known);
    return rue_fail(error, RUE_USAGE, "%s: '%s' is not a value of %s; known: %s%s", list->origin, text,
                    knob->name, known, rue_did_you_mean(text, knob->words, (size_t)knob->max + 1, "", near));
}

/* One element of a list: a value, or "0..8". */
static rue_status add_knob_element(struct rue_space *space, const struct list *list, char *text,
                                   rue_error *error)
{
    int first, last;
    char *dots = list->knob->words ? NULL : strstr(text, "..");
    if (dots) *dots = 0;
    bool parsed = rue_knob_parse(list->knob, text, &first);
    last = first;
    if (dots) parsed = parsed && rue_knob_parse(list->knob, dots + 2, &last) && first <= last;
    if (dots) *dots = '.';
    if (!parsed) return fail_knob_value(list, text, error);
    for (int value = first; value <= last; value++)
        if (!rue_space_has_value(space, list->index, value) && !rue_space_add(space, list->index, value))
            return rue_fail(error, RUE_USAGE, "%s: %s has more than %d values; give fewer", list->origin,
                            list->text, RUE_SPACE_VALUES_MAX);
    return RUE_OK;
}

rue_status rue_knob_list_parse(struct rue_space *space, size_t knob, const char *text, const char *origin,
                               rue_error *error)
{
    char whole[1024], copy[1024], *rest = copy;
    size_t length = strcspn(text, ";");
    if (length >= sizeof copy)
        return rue_fail(error, RUE_USAGE, "%s: the list of %zu characters is too long; write a range as 0..8",
                        origin, length);
    snprintf(whole, sizeof whole, "%.*s", (int)length, text);
    memcpy(copy, whole, sizeof copy);
    const struct list given = {knob, space->knobs->at[knob], whole, origin}, *list = &given;
    if (!whole[strspn(whole, ", ")]) return fail_knob_value(list, whole, error);
    space->count[knob] = 0;
    for (char *element = rue_word_list_next(&rest); element; element = rue_word_list_next(&rest)) {
        if (!*element)
            return rue_fail(error, RUE_USAGE,
                            "%s: a value is missing in '%s': write one comma between two values%s",
                            list->origin, list->text, list->knob->words ? "" : ", such as 32,64,128 or 0..8");
        rue_status status = add_knob_element(space, list, element, error);
        if (status != RUE_OK) return status;
    }
    return RUE_OK;
}

bool rue_knob_choices_add(struct rue_knob_choices *choices, const char *name, const char *values,
                          const char *origin)
{
    if (choices->count == RUE_KNOBS_MAX || rue_knob_choices_find(choices, name)) return false;
    struct rue_knob_choice *choice = &choices->at[choices->count++];
    snprintf(choice->name, sizeof choice->name, "%s", name);
    choice->values = values;
    choice->origin = origin;
    return true;
}

const struct rue_knob_choice *rue_knob_choices_find(const struct rue_knob_choices *choices, const char *name)
{
    for (size_t i = 0; i < choices->count; i++)
        if (strcmp(choices->at[i].name, name) == 0) return &choices->at[i];
    return NULL;
}

/* One "NAME=LIST". */
static rue_status add_setting(struct rue_knob_choices *choices, const char *text, const char *origin,
                              rue_error *error)
{
    char name[RUE_KNOB_TEXT_BYTES];
    size_t length = strcspn(text, "=;");
    if (text[length] != '=' || length == 0 || length >= sizeof name)
        return rue_fail(error, RUE_USAGE, "%s: '%.*s' is not NAME=LIST, such as prefetch_factor=2,4", origin,
                        (int)strcspn(text, ";"), text);
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    if (rue_knob_choices_add(choices, name, text + length + 1, origin)) return RUE_OK;
    return rue_fail(error, RUE_USAGE, "%s: the values of %s are given twice, or values of more than %d knobs",
                    origin, name, RUE_KNOBS_MAX);
}

/* The option of one of rue's own knobs has the knob's name, with hyphens. */
static const char *name_option(const char *knob, char name[RUE_KNOB_TEXT_BYTES])
{
    snprintf(name, RUE_KNOB_TEXT_BYTES, "%s", knob);
    for (char *at = name; *at; at++)
        if (*at == '_') *at = '-';
    return name;
}

rue_status rue_knob_choices_read(const struct rue_options *options, struct rue_knob_choices *out,
                                 rue_error *error)
{
    char name[RUE_KNOB_TEXT_BYTES];
    *out = (struct rue_knob_choices){0};
    for (size_t k = 0; k < rue_own_knobs.count; k++) {
        name_option(rue_own_knobs.at[k]->name, name);
        if (rue_options_text(options, name))
            rue_knob_choices_add(out, rue_own_knobs.at[k]->name, rue_options_text(options, name),
                                 rue_options_origin(options, name));
    }
    const char *text = rue_options_text(options, "knob");
    rue_status status = RUE_OK;
    for (; status == RUE_OK && text; text = strchr(text, ';') ? strchr(text, ';') + 1 : NULL)
        status = add_setting(out, text, rue_options_origin(options, "knob"), error);
    return status;
}
