#include "gpu_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "word_list.h"

enum { TEXT_BYTES = 4096 };

/* The given list and its origin ("--gpus"). */
struct list {
    const char *text, *origin;
    struct rue_gpu_list *out;
};

static rue_status fail_gpu_element(const struct list *list, const char *element, rue_error *error)
{
    return rue_fail(error, RUE_USAGE, "%s: '%.80s' is not a GPU; give a list such as 0,1 or 0..7",
                    list->origin, element);
}

/* CUDA ignores what follows an invalid name such as -1. */
bool rue_gpu_list_visible(unsigned index, char out[RUE_GPU_NAME_BYTES])
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    char copy[TEXT_BYTES], *rest = copy, *word;
    snprintf(out, RUE_GPU_NAME_BYTES, "%u", index);
    if (!visible) return true;
    snprintf(copy, sizeof copy, "%s", visible);
    while ((word = rue_word_list_next(&rest)) && *word && *word != '-')
        if (index-- == 0) return snprintf(out, RUE_GPU_NAME_BYTES, "%s", word), true;
    return false;
}

static rue_status add_gpu_name(const struct list *list, const char *name, rue_error *error)
{
    struct rue_gpu_list *out = list->out;
    for (size_t i = 0; i < out->count; i++)
        if (strcmp(out->names[i], name) == 0)
            return rue_fail(error, RUE_USAGE, "%s: %s names a GPU twice", list->origin, list->text);
    if (out->count == RUE_GPU_MAX)
        return rue_fail(error, RUE_USAGE, "%s: %s has more than %d GPUs", list->origin, list->text,
                        RUE_GPU_MAX);
    snprintf(out->names[out->count++], RUE_GPU_NAME_BYTES, "%s", name);
    return RUE_OK;
}

static rue_status add_gpu_number(const struct list *list, unsigned number, rue_error *error)
{
    char name[RUE_GPU_NAME_BYTES];
    if (rue_gpu_list_visible(number, name)) return add_gpu_name(list, name, error);
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    return rue_fail(error, RUE_USAGE,
                    "%s: GPU %u is hidden, because CUDA_VISIBLE_DEVICES is %.200s; choose visible GPUs, or "
                    "unset that variable",
                    list->origin, number, visible && *visible ? visible : "empty");
}

/* One element: "0", "0..7", or a name. */
static rue_status add_gpu_element(const struct list *list, const char *element, rue_error *error)
{
    unsigned first, last;
    int end = 0;
    bool named = strncmp(element, "GPU-", 4) == 0 || strncmp(element, "MIG-", 4) == 0;
    if (named && strlen(element) < RUE_GPU_NAME_BYTES) return add_gpu_name(list, element, error);
    if (element[0] < '0' || element[0] > '9' || strlen(element) > 9)
        return fail_gpu_element(list, element, error);
    if (sscanf(element, "%u%n", &first, &end) == 1 && !element[end])
        return add_gpu_number(list, first, error);
    if (sscanf(element, "%u..%u%n", &first, &last, &end) != 2 || element[end] || first > last)
        return fail_gpu_element(list, element, error);
    rue_status status = RUE_OK;
    for (unsigned number = first; status == RUE_OK && number <= last; number++)
        status = add_gpu_number(list, number, error);
    return status;
}

rue_status rue_gpu_list_parse(const char *text, const char *origin, struct rue_gpu_list *out,
                              rue_error *error)
{
    const struct list list = {text, origin, out};
    char copy[TEXT_BYTES], *rest = copy, *element;
    *out = (struct rue_gpu_list){0};
    if (snprintf(copy, sizeof copy, "%s", text) >= TEXT_BYTES)
        return rue_fail(error, RUE_USAGE, "%s: the list has more than %d characters", origin, TEXT_BYTES - 1);
    rue_status status = RUE_OK;
    while (status == RUE_OK && (element = rue_word_list_next(&rest)))
        status = add_gpu_element(&list, element, error);
    if (status == RUE_OK && out->count == 0) return fail_gpu_element(&list, "", error);
    return status;
}
