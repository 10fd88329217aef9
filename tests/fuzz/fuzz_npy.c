/* The header of an npy file. */
#include <assert.h>

#include "npy.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
    struct rue_npy npy;
    rue_error error = {0};
    if (rue_npy_parse(data, bytes, &npy, &error) != RUE_OK) {
        assert(error.status == RUE_DATA && error.message[0]);
        return 0;
    }
    assert(npy.header_bytes <= bytes && npy.value_bytes > 0);
    return 0;
}
