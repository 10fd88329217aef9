/* A subset, by its text or by the lines of its file: what is accepted chooses items of the data, each once.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_file.h"
#include "subset.h"

enum { ITEMS = 300, CLASSES = 7 };

static const char *class_name(const struct rue_source *source, size_t class_index)
{
    static const char *const names[CLASSES] = {"cat", "dog", "", "5", "6", "a,b", "cat"};
    (void)source;
    return names[class_index];
}

static int32_t label(const struct rue_source *source, uint64_t item)
{
    (void)source;
    return (int32_t)(item % 9) - 1;
}

static void key(const struct rue_source *source, uint64_t item, char *out, size_t bytes)
{
    (void)source;
    snprintf(out, bytes, "%s%d%s", item % 2 ? "cat/" : "", (int)item / 2, item % 3 ? ".jpg" : "");
}

static void check_subset(const char *text)
{
    static const struct rue_subset_data data = {.path = "data",
                                                .count = ITEMS,
                                                .has_labels = true,
                                                .class_count = CLASSES,
                                                .class_name = class_name,
                                                .label = label,
                                                .key = key};
    bool seen[ITEMS] = {false};
    uint64_t *items, count;
    rue_error error = {0};
    rue_status status = rue_subset_choose(text, &data, &items, &count, &error);
    assert(status == RUE_OK || ((status == RUE_USAGE || status == RUE_DATA) && error.message[0] && !items));
    assert(status != RUE_OK || (count > 0 && count <= ITEMS && (items || count == ITEMS)));
    for (uint64_t i = 0; items && i < count; i++) {
        assert(items[i] < ITEMS && !seen[items[i]]);
        seen[items[i]] = true;
    }
    free(items);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
    char text[1024] = "@";
    int fd = -1;
    if (bytes && data[0] == '@') {
        fd = fuzz_file(data + 1, bytes - 1, text + 1);
    } else {
        size_t length = bytes < sizeof text ? bytes : sizeof text - 1;
        if (length) memcpy(text, data, length);
        text[length] = 0;
        if (rue_subset_path(text)) return 0; /* no file of the system */
    }
    check_subset(text);
    if (fd >= 0) close(fd);
    return 0;
}
