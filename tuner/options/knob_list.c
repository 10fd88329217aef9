#include "knob_list.h"

#include <stdio.h>
#include <string.h>

#include "suggest.h"
#include "word_list.h"

/* A list of values as it was given, and by what: messages begin with that. */
struct list {
    enum rue_knob knob;
    const char *text, *origin;
};

static rue_status fail_value(const struct list *list, const char *text, rue_error *error)
{
    const struct rue_knob_info *info = &rue_knobs[list->knob];
    char near[RUE_SUGGESTION_BYTES];
    if (!info->words)
        return rue_fail(error, RUE_USAGE,
                        "%s: '%s' is not a list of whole numbers from %d to %d, such as 32,64,128 or 0..8",
                        list->origin, text, info->min, info->max);
    rue_did_you_mean(text, info->words, (size_t)(info->max - info->min + 1), "", near);
    return rue_fail(error, RUE_USAGE, "%s: '%s' is not a value; known are %s and %s%s", list->origin, text,
                    info->words[0], info->words[1], near);
}

/* One element of a list: a value, or "0..8". */
static rue_status add_element(struct rue_space *space, const struct list *list, char *text, rue_error *error)
{
    enum rue_knob knob = list->knob;
    int first, last;
    char *dots = rue_knobs[knob].words ? NULL : strstr(text, "..");
    if (dots) *dots = 0;
    bool parsed = rue_knob_parse(knob, text, &first);
    last = first;
    if (dots) parsed = parsed && rue_knob_parse(knob, dots + 2, &last) && first <= last;
    if (dots) *dots = '.';
    if (!parsed) return fail_value(list, text, error);
    for (int value = first; value <= last; value++)
        if (!rue_space_has(space, knob, value) && !rue_space_add(space, knob, value))
            return rue_fail(error, RUE_USAGE, "%s: %s has more than %d values; name the ones that matter",
                            list->origin, list->text, RUE_SPACE_VALUES_MAX);
    return RUE_OK;
}

rue_status rue_knob_list_parse(struct rue_space *space, enum rue_knob knob, const char *text,
                               const char *origin, rue_error *error)
{
    const struct list given = {knob, text, origin}, *list = &given;
    char copy[1024], *rest = copy;
    if (strlen(list->text) >= sizeof copy)
        return rue_fail(error, RUE_USAGE, "%s: the list of %zu letters is too long; a range is written 0..8",
                        list->origin, strlen(list->text));
    if (!list->text[strspn(list->text, ", ")]) return fail_value(list, list->text, error);
    snprintf(copy, sizeof copy, "%s", list->text);
    space->count[list->knob] = 0;
    for (char *element = rue_word_list_next(&rest); element; element = rue_word_list_next(&rest)) {
        if (!*element)
            return rue_fail(error, RUE_USAGE,
                            "%s: a value is missing in '%s': one comma between two values%s", list->origin,
                            list->text, rue_knobs[list->knob].words ? "" : ", such as 32,64,128 or 0..8");
        rue_status status = add_element(space, list, element, error);
        if (status != RUE_OK) return status;
    }
    return RUE_OK;
}
