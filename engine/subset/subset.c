#include "subset.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "permutation.h"
#include "picks.h"
#include "subset_file.h"
#include "suggest.h"

static const char class_mark[] = "class:", seed_mark[] = "seed=";

static rue_status fail_syntax(const struct rue_picks *picks, rue_error *error)
{
    return rue_picks_fail(picks, error,
                          "expected numbers such as 0:1000 or 1,5,9, a share such as 10%%, class:NAME, or "
                          "@FILE with a name or number per line");
}

/* Reads a whole number and moves `*at` behind it. False: there is none, or it is too large. */
static bool read_whole(const char **at, uint64_t *out)
{
    const char *first = *at;
    uint64_t number = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(**at - '0'), &number))
            return false;
    *out = number;
    return *at > first;
}

/* ---- numbers ---- */

/* "7", "0:1000", "5:", ":5" or "0:100:10", as slices of Python. */
static rue_status add_range(struct rue_picks *picks, const char **at, rue_error *error)
{
    uint64_t first = 0, end, step = 1;
    bool begins = read_whole(at, &first);
    if (!begins && **at != ':') return fail_syntax(picks, error);
    if (**at != ':') return rue_picks_add(picks, first, error);
    ++*at;
    if (!read_whole(at, &end)) end = picks->whole;
    if (**at == ':' && (++*at, !read_whole(at, &step) || step == 0)) return fail_syntax(picks, error);
    rue_status status = RUE_OK;
    if (step > picks->whole) step = picks->whole; /* the sum does not overflow */
    for (uint64_t item = first; status == RUE_OK && item < end; item += step)
        status = rue_picks_add(picks, item, error);
    return status;
}

static rue_status add_numbers(struct rue_picks *picks, const char *at, rue_error *error)
{
    rue_status status = RUE_OK;
    while (status == RUE_OK) {
        at += strspn(at, " ");
        status = add_range(picks, &at, error);
        at += strspn(at, " ");
        if (status != RUE_OK || !*at) return status;
        if (*at++ != ',') return fail_syntax(picks, error);
    }
    return status;
}

/* ---- shares ---- */

/* Parts of the whole: 10^14. */
static const uint64_t all_parts = UINT64_C(100000000000000);

/* Reads "12.5%" or "0.125" and moves `*at` behind it; 12 decimals count. */
static bool read_parts(const char **at, uint64_t *out)
{
    uint64_t whole = 0, unit = UINT64_C(1000000000000);
    if (!read_whole(at, &whole) && **at != '.') return false;
    if (whole > 100) whole = 101;
    *out = whole * unit;
    if (**at == '.')
        for (++*at; **at >= '0' && **at <= '9'; ++*at) *out += (uint64_t)(**at - '0') * (unit /= 10);
    if (**at == '%')
        ++*at;
    else
        *out *= 100;
    return true;
}

/* Rounds to the nearest number of items. */
static uint64_t items_of_parts(uint64_t count, uint64_t parts)
{
    return (uint64_t)(((unsigned __int128)count * parts + all_parts / 2) / all_parts);
}

/* "10%", ":10%", "10%:" or "10%:20%", of the items in a random order, and perhaps ",seed=3". The order is not
 * that of a shuffle with the same seed. The items are added in the order of the data. */
static rue_status add_share(struct rue_picks *picks, const char *at, rue_error *error)
{
    uint64_t first = 0, end = all_parts, seed = 0, salt = UINT64_C(0x53BDE7A9C1F0263D);
    bool begins = read_parts(&at, &first);
    if (*at == ':') {
        at++;
        read_parts(&at, &end);
    } else {
        end = first;
        first = 0;
        if (!begins) return fail_syntax(picks, error);
    }
    if (*at == ',') {
        at += 1 + strspn(at + 1, " ");
        if (strncmp(at, seed_mark, strlen(seed_mark)) != 0) return fail_syntax(picks, error);
        at += strlen(seed_mark);
        if (!read_whole(&at, &seed)) return fail_syntax(picks, error);
    }
    if (*at) return fail_syntax(picks, error);
    if (end > all_parts || first > all_parts)
        return rue_picks_fail(picks, error, "a share is at most 100%% (or 1.0)");
    unsigned char *chosen = calloc(picks->whole / 8 + 1, 1);
    if (!chosen) return rue_fail_memory(error, "marks of items", picks->whole / 8 + 1);
    rue_status status = RUE_OK;
    for (uint64_t i = items_of_parts(picks->whole, first); i < items_of_parts(picks->whole, end); i++) {
        uint64_t item = rue_permute(i, picks->whole, rue_mix64(seed ^ salt));
        chosen[item / 8] |= (unsigned char)(1u << item % 8);
    }
    for (uint64_t i = 0; status == RUE_OK && i < picks->whole; i++)
        if (chosen[i / 8] >> i % 8 & 1) status = rue_picks_add(picks, i, error);
    free(chosen);
    return status;
}

/* ---- classes ---- */

struct chosen_class {
    int32_t label;
    bool found;
};

static rue_status fail_class(const struct rue_picks *picks, const struct rue_subset_data *data,
                             const char *name, rue_error *error)
{
    char hint[RUE_SUGGESTION_BYTES];
    const char *near = NULL;
    for (size_t i = 0; i < data->class_count; i++) {
        const char *words[] = {data->class_name(data->source, i), near};
        near = rue_suggest(name, words, near ? 2 : 1);
    }
    rue_did_you_mean(name, &near, near != NULL, "", hint);
    return rue_picks_fail(picks, error, "%.300s has no class '%.60s'%s", data->path, name, hint);
}

/* A class by its name, else by its number. */
static rue_status find_class(const struct rue_picks *picks, const struct rue_subset_data *data,
                             const char *name, struct chosen_class *out, rue_error *error)
{
    uint64_t number;
    const char *end = name;
    for (size_t i = 0; i < data->class_count; i++)
        if (strcmp(data->class_name(data->source, i), name) == 0)
            return *out = (struct chosen_class){(int32_t)i, false}, RUE_OK;
    uint64_t most = data->class_count ? data->class_count - 1 : INT32_MAX;
    if (!read_whole(&end, &number) || *end || number > most) return fail_class(picks, data, name, error);
    *out = (struct chosen_class){(int32_t)number, false};
    return RUE_OK;
}

static int compare_classes(const void *a, const void *b)
{
    int32_t x = ((const struct chosen_class *)a)->label, y = ((const struct chosen_class *)b)->label;
    return (x > y) - (x < y);
}

/* Splits `names` at its commas, and sorts the classes by their labels. */
static rue_status find_classes(const struct rue_picks *picks, const struct rue_subset_data *data, char *names,
                               struct chosen_class *out, size_t *count, rue_error *error)
{
    rue_status status = RUE_OK;
    *count = 0;
    for (char *name; status == RUE_OK && (name = strsep(&names, ","));) {
        status = find_class(picks, data, name, &out[*count], error);
        for (size_t i = 0; status == RUE_OK && i < *count; i++)
            if (out[i].label == out[*count].label)
                status = rue_picks_fail(picks, error, "class %.60s is given twice: remove one", name);
        ++*count;
    }
    qsort(out, *count, sizeof *out, compare_classes);
    return status;
}

static rue_status add_class_items(struct rue_picks *picks, const struct rue_subset_data *data,
                                  struct chosen_class *chosen, size_t count, rue_error *error)
{
    rue_status status = RUE_OK;
    for (uint64_t i = 0; status == RUE_OK && i < data->count; i++) {
        const struct chosen_class key = {.label = data->label(data->source, i)};
        struct chosen_class *class = bsearch(&key, chosen, count, sizeof *chosen, compare_classes);
        if (!class) continue;
        class->found = true;
        status = rue_picks_add(picks, i, error);
    }
    for (size_t i = 0; status == RUE_OK && i < count; i++)
        if (!chosen[i].found)
            status = rue_picks_fail(picks, error, "no item of %.300s has the class %" PRId32, data->path,
                                    chosen[i].label);
    return status;
}

static rue_status add_classes(struct rue_picks *picks, const struct rue_subset_data *data, const char *names,
                              rue_error *error)
{
    if (!data->has_labels) return rue_picks_fail(picks, error, "%.300s has no labels", data->path);
    size_t count = 1;
    for (const char *at = names; *at; at++) count += *at == ',';
    char *copy = strdup(names);
    struct chosen_class *chosen = malloc(count * sizeof *chosen);
    rue_status status = copy && chosen ? find_classes(picks, data, copy, chosen, &count, error)
                                       : rue_fail_memory(error, "classes", count * sizeof *chosen);
    if (status == RUE_OK) status = add_class_items(picks, data, chosen, count, error);
    free(copy);
    free(chosen);
    return status;
}

/* ---- all of them ---- */

const char *rue_subset_path(const char *text)
{
    size_t digits = strspn(text, "0123456789.%:, -"),
           mark = digits && strncmp(text + digits, seed_mark, 5) == 0;
    if (text[0] == '@') return text + 1;
    bool other = !text[digits] || mark || strncmp(text, class_mark, strlen(class_mark)) == 0;
    return other ? NULL : text;
}

static rue_status add_chosen(struct rue_picks *picks, const struct rue_subset_data *data, rue_error *error)
{
    const char *text = picks->text, *path = rue_subset_path(text);
    if (path == text && access(path, F_OK) != 0)
        return rue_picks_fail(picks, error,
                              "no file has that name, and it is neither numbers such as 0:1000, nor a share "
                              "such as 10%%, nor class:NAME");
    if (path) return rue_subset_file_add(picks, path, data, error);
    if (strncmp(text, class_mark, strlen(class_mark)) == 0)
        return add_classes(picks, data, text + strlen(class_mark), error);
    return (strpbrk(text, ".%") ? add_share : add_numbers)(picks, text, error);
}

rue_status rue_subset_choose(const char *text, const struct rue_subset_data *data, uint64_t **items,
                             uint64_t *count, rue_error *error)
{
    struct rue_picks picks = {.data = data->path, .text = text, .whole = data->count};
    rue_status status = rue_picks_open(&picks, error);
    if (status == RUE_OK && !*text)
        status = rue_picks_fail(&picks, error, "it is empty: give at least one item");
    if (status == RUE_OK) status = add_chosen(&picks, data, error);
    if (status == RUE_OK && !picks.count)
        status = rue_picks_fail(&picks, error, "it chooses none of the %" PRIu64 " items of %.300s",
                                picks.whole, data->path);
    rue_picks_close(&picks);
    size_t same = 0;
    while (same < picks.count && picks.items[same] == same) same++;
    bool chooses_all = same == picks.whole;
    if (status != RUE_OK || chooses_all) free(picks.items);
    *items = status != RUE_OK || chooses_all ? NULL : picks.items;
    *count = picks.count;
    return status;
}
