/* A label in JSON. */
#include <stdlib.h>
#include <string.h>

#include "label_json.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
    int64_t label;
    if (rue_label_json((const char *)data, bytes, "label", &label) == RUE_LABEL_NUMBER &&
        (bytes < 2 || !memchr(data, '{', bytes)))
        abort();
    return 0;
}
