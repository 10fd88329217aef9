#include "names.h"

#include "array.h"

rue_status rue_names_number(struct rue_names *names, const char *text, size_t *out, rue_error *error)
{
    const json_t *known = json_object_get(names->numbers, text);
    *out = known ? (size_t)json_integer_value(known) : names->count;
    if (known) return RUE_OK;
    rue_status status = rue_array_grow(&names->texts, &names->capacity, names->count + 1,
                                       sizeof *names->texts, "names", error);
    if (status != RUE_OK) return status;
    if (!names->numbers) names->numbers = json_object();
    json_t *number = json_integer((json_int_t)names->count);
    if (json_object_set_new_nocheck(names->numbers, text, number) != 0)
        return rue_fail_memory(error, "a name", sizeof *names->texts);
    names->texts[names->count++] = json_object_iter_key(json_object_iter_at(names->numbers, text));
    return RUE_OK;
}

void rue_names_close(struct rue_names *names)
{
    json_decref(names->numbers);
    free(names->texts);
    *names = (struct rue_names){0};
}
