#include "views.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suggest.h"

enum { ENTRY_BYTES = RUE_RECIPE_TEXT_BYTES + 64 };

/* docs/augmentation.md has the sources. */
#define PRESETS(X)                                           \
    X("moco-v3", "moco-v3-1,moco-v3-2")                      \
    X("swav", "2*swav-global,6*swav-local@96")               \
    X("dino", "dino-global-1,dino-global-2,8*dino-local@96") \
    X("dinov2", "dinov2-global-1,dinov2-global-2,8*dinov2-local@96")

#define NAME(name, text) name,
#define TEXT(name, text) text,

/* Several views by one name. */
static const char *const names[] = {PRESETS(NAME) NULL};
static const char *const texts[] = {PRESETS(TEXT) NULL};

rue_status rue_views_add(struct rue_views *views, const struct rue_view *view, uint64_t times,
                         rue_error *error)
{
    if (times < 1) return rue_fail(error, RUE_USAGE, "0 views: expected at least 1");
    if (times > RUE_VIEWS_MAX - views->count)
        return rue_fail(error, RUE_USAGE, "%" PRIu64 " views: the limit is %d in all", views->count + times,
                        RUE_VIEWS_MAX);
    for (; times > 0; times--) views->at[views->count++] = *view;
    return RUE_OK;
}

rue_status rue_view_set_size(struct rue_view *view, const char *text, rue_error *error)
{
    struct rue_geometry geometry = rue_geometry_default();
    rue_status status = rue_geometry_set_size(&geometry, text, error);
    view->height = geometry.height;
    view->width = geometry.width;
    return status;
}

/* A whole number of at most 9 digits, and what follows it; NULL: there is none. */
static const char *read_count(const char *text, uint64_t *out)
{
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 9) return NULL;
    *out = strtoull(text, NULL, 10);
    return text + digits;
}

static const char *find_preset(const char *name)
{
    for (size_t i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0) return texts[i];
    return NULL;
}

/* Suggests the names of one view and of several. */
static rue_status read_preset(const char *name, struct rue_recipe *out, rue_error *error)
{
    const char *all[64];
    size_t count = 0;
    for (size_t i = 0; rue_recipe_presets[i] && count < 64; i++) all[count++] = rue_recipe_presets[i];
    for (size_t i = 0; names[i] && count < 64; i++) all[count++] = names[i];
    if (rue_recipe_preset(name, out, NULL) == RUE_OK) return RUE_OK;
    if (find_preset(name))
        return rue_fail(error, RUE_USAGE, "%s is several views, which have their own number and size", name);
    if (!*name) return rue_fail(error, RUE_USAGE, "the name of a preset is missing");
    char near[RUE_SUGGESTION_BYTES];
    rue_did_you_mean(name, all, count, "", near);
    return rue_fail(error, RUE_USAGE, "unknown preset '%.80s'%s", name,
                    *near ? near : "; presets are mild, simclr and those that docs/augmentation.md lists");
}

/* "[N*]PRESET[@SIZE]". */
static rue_status add_preset(struct rue_views *views, char *entry, rue_error *error)
{
    struct rue_view view = {0};
    uint64_t times = 1;
    char *size = strchr(entry, '@');
    const char *after = read_count(entry, &times), *name = after && *after == '*' ? after + 1 : entry;
    if (name == entry) times = 1;
    if (size) *size++ = 0;
    rue_status status = size ? rue_view_set_size(&view, size, error) : RUE_OK;
    if (status == RUE_OK) status = read_preset(name, &view.recipe, error);
    return status == RUE_OK ? rue_views_add(views, &view, times, error) : status;
}

/* The word after `name` at the beginning of a text; moves the text behind both. NULL: another text. */
static char *take_word(char **text, const char *name)
{
    size_t length = strlen(name);
    if (strncmp(*text, name, length) != 0 || (*text)[length] != ' ') return NULL;
    char *word = *text + length + 1, *end = word + strcspn(word, " ");
    *text = end + strspn(end, " ");
    *end = 0;
    return word;
}

/* "[views N] [image_size SIZE] RECIPE". */
static rue_status add_recipe(struct rue_views *views, char *entry, rue_error *error)
{
    struct rue_view view = {0};
    uint64_t times = 1;
    const char *count = take_word(&entry, "views"), *after = count ? read_count(count, &times) : "";
    if (!after || *after) return rue_fail(error, RUE_USAGE, "views %.40s: expected a whole number", count);
    const char *size = take_word(&entry, "image_size");
    rue_status status = size ? rue_view_set_size(&view, size, error) : RUE_OK;
    if (status == RUE_OK) status = rue_recipe_parse(entry, &view.recipe, error);
    return status == RUE_OK ? rue_views_add(views, &view, times, error) : status;
}

static rue_status add_entries(struct rue_views *views, const char *text, rue_error *error)
{
    rue_status status = RUE_OK;
    do {
        char entry[ENTRY_BYTES];
        text += strspn(text, " ");
        size_t length = strcspn(text, ",;");
        if (length >= sizeof entry)
            return rue_fail(error, RUE_USAGE, "the recipe '%.40s...' is longer than %d characters", text,
                            ENTRY_BYTES - 1);
        snprintf(entry, sizeof entry, "%.*s", (int)length, text);
        for (text += length; length > 0 && entry[length - 1] == ' '; length--) entry[length - 1] = 0;
        const char *several = find_preset(entry);
        status = several              ? add_entries(views, several, error)
                 : strchr(entry, ' ') ? add_recipe(views, entry, error)
                                      : add_preset(views, entry, error);
    } while (status == RUE_OK && *text++);
    return status;
}

rue_status rue_views_parse(const char *text, struct rue_views *out, rue_error *error)
{
    out->count = 0;
    return add_entries(out, text, error);
}

/* How many views from this one on are equal. */
static uint32_t count_equal(const struct rue_views *views, uint32_t first)
{
    uint32_t end = first + 1;
    while (end < views->count && memcmp(&views->at[first], &views->at[end], sizeof views->at[end]) == 0)
        end++;
    return end - first;
}

static void format_view(const struct rue_view *view, uint32_t times, char out[ENTRY_BYTES])
{
    int length = 0;
    if (times > 1) length = snprintf(out, ENTRY_BYTES, "views %" PRIu32 " ", times);
    if (view->height)
        length += snprintf(out + length, ENTRY_BYTES - (size_t)length, "image_size %" PRIu32 "x%" PRIu32 " ",
                           view->height, view->width);
    rue_recipe_format(&view->recipe, out + length);
}

rue_status rue_views_format(const struct rue_views *views, char out[RUE_VIEWS_TEXT_BYTES], rue_error *error)
{
    size_t length = 0;
    for (uint32_t v = 0, times; v < views->count && length < RUE_VIEWS_TEXT_BYTES; v += times) {
        char text[ENTRY_BYTES];
        times = count_equal(views, v);
        format_view(&views->at[v], times, text);
        length +=
            (size_t)snprintf(out + length, RUE_VIEWS_TEXT_BYTES - length, "%s%s", length ? "; " : "", text);
    }
    if (length < RUE_VIEWS_TEXT_BYTES) return RUE_OK;
    return rue_fail(error, RUE_USAGE,
                    "the recipes of %" PRIu32
                    " views are longer than %d characters: put equal views together, or use fewer",
                    views->count, RUE_VIEWS_TEXT_BYTES - 1);
}

struct rue_geometry rue_view_geometry(const struct rue_view *view, const struct rue_geometry *geometry)
{
    struct rue_geometry own = *geometry;
    if (view->height) {
        own.height = view->height;
        own.width = view->width;
    }
    return own;
}
