#include "json_reader.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "variant.h"

size_t rue_json_enter(struct rue_json_reader *reader, const char *key)
{
    size_t length = strlen(reader->place);
    snprintf(reader->place + length, sizeof reader->place - length, "%s%s", length ? "." : "", key);
    return length;
}

size_t rue_json_enter_at(struct rue_json_reader *reader, size_t index)
{
    size_t length = strlen(reader->place);
    snprintf(reader->place + length, sizeof reader->place - length, "[%zu]", index);
    return length;
}

void rue_json_leave(struct rue_json_reader *reader, size_t length)
{
    reader->place[length] = 0;
}

void rue_json_refuse(struct rue_json_reader *reader, const char *key, const char *what)
{
    if (reader->status != RUE_OK) return;
    reader->status =
        rue_fail(reader->error, RUE_DATA, "%s: %s%s%s is not %s; %s", reader->path, reader->place,
                 *reader->place && key ? "." : "", key ? key : "", what, reader->advice);
}

/* NULL where nothing is to be read, which is refused unless it is optional. */
static const json_t *member(struct rue_json_reader *reader, const json_t *parent, const char *key,
                            bool optional, const char *what)
{
    const json_t *value = reader->status == RUE_OK ? json_object_get(parent, key) : NULL;
    if (value && !json_is_null(value)) return value;
    if (!optional) rue_json_refuse(reader, key, what);
    return NULL;
}

const json_t *rue_json_object(struct rue_json_reader *reader, const json_t *parent, const char *key,
                              bool optional)
{
    const json_t *value = member(reader, parent, key, optional, "an object");
    if (!value || json_is_object(value)) return value;
    rue_json_refuse(reader, key, "an object");
    return NULL;
}

const json_t *rue_json_array(struct rue_json_reader *reader, const json_t *parent, const char *key)
{
    const json_t *value = member(reader, parent, key, false, "a list");
    if (!value || json_is_array(value)) return value;
    rue_json_refuse(reader, key, "a list");
    return NULL;
}

size_t rue_json_list(struct rue_json_reader *reader, const json_t *parent, const char *key, size_t most,
                     const json_t **out)
{
    *out = rue_json_array(reader, parent, key);
    size_t count = json_array_size(*out);
    if (count <= most) return count;
    rue_json_refuse(reader, key, "a list of a fit length");
    return 0;
}

int rue_json_word(struct rue_json_reader *reader, const json_t *parent, const char *key,
                  const char *const *words, int count)
{
    char text[32];
    rue_json_copy_text(reader, parent, key, false, text, sizeof text);
    int found = rue_word_find(words, count, text);
    if (found >= 0) return found;
    rue_json_refuse(reader, key, "a word that this rue knows");
    return 0;
}

void rue_json_copy_text(struct rue_json_reader *reader, const json_t *parent, const char *key, bool optional,
                        char *out, size_t bytes)
{
    const json_t *value = member(reader, parent, key, optional, "a text");
    out[0] = 0;
    if (!value) return;
    if (json_is_string(value) && json_string_length(value) < bytes)
        snprintf(out, bytes, "%s", json_string_value(value));
    else
        rue_json_refuse(reader, key, "a text of a fit length");
}

uint64_t rue_json_count(struct rue_json_reader *reader, const json_t *parent, const char *key, bool optional,
                        uint64_t most)
{
    char what[80];
    snprintf(what, sizeof what, "a whole number from 0 to %" PRIu64, most);
    const json_t *value = member(reader, parent, key, optional, what);
    if (!value) return 0;
    json_int_t number = json_integer_value(value);
    if (json_is_integer(value) && number >= 0 && (uint64_t)number <= most) return (uint64_t)number;
    rue_json_refuse(reader, key, what);
    return 0;
}

double rue_json_number_of(struct rue_json_reader *reader, const json_t *parent, const char *key,
                          bool optional)
{
    const json_t *value = member(reader, parent, key, optional, "a number");
    if (!value) return NAN;
    if (!json_is_number(value)) rue_json_refuse(reader, key, "a number");
    return json_number_value(value);
}

bool rue_json_bool(struct rue_json_reader *reader, const json_t *parent, const char *key)
{
    const json_t *value = member(reader, parent, key, false, "true or false");
    if (value && !json_is_boolean(value)) rue_json_refuse(reader, key, "true or false");
    return json_is_true(value);
}
