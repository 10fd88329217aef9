/* Reads one number of a small JSON object. */
#ifndef RUE_JSON_NUMBER_H
#define RUE_JSON_NUMBER_H

#include <jansson.h>

/* The integer `key` of the object in `text`; 0 if there is none. */
static inline int rue_json_number(const char *text, const char *key)
{
    json_t *object = json_loads(text, 0, NULL);
    int number = (int)json_integer_value(json_object_get(object, key));
    json_decref(object);
    return number;
}

#endif
