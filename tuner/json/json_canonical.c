#include "json_canonical.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_document.h"

void rue_json_canonical(const char *text, char *out, size_t bytes)
{
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    char *dumped = json_is_object(object)
                       ? rue_json_dump(object, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(9))
                       : NULL;
    snprintf(out, bytes, "%s", dumped && strlen(dumped) < bytes ? dumped : "");
    free(dumped);
    json_decref(object);
}
