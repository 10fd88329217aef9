/* Text as the reader of CSV takes it apart. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "csv.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
    struct rue_csv *csv;
    struct rue_csv_record record;
    rue_error error = {0};
    char *text = malloc(bytes + 1);
    uint64_t line = 0;
    size_t held = 0;
    if (!text) return 0;
    memcpy(text, data, bytes);
    text[bytes] = 0;
    rue_status status = rue_csv_open("input", text, bytes, &csv, &error);
    for (bool found = true; status == RUE_OK && found;) {
        status = rue_csv_next(csv, &found, &record, &error);
        if (status != RUE_OK || !found) break;
        assert(record.line > line && record.count > 0);
        line = record.line;
        for (size_t f = 0; f < record.count; f++) {
            int32_t value = 0;
            enum rue_csv_kind kind = rue_csv_kind(record.fields[f], &value);
            assert(kind == RUE_CSV_WHOLE || value == 0);
            held += strlen(record.fields[f]);
        }
    }
    assert(held <= bytes && (status == RUE_OK || (status == RUE_DATA && error.message[0])));
    rue_csv_close(csv);
    return 0;
}
