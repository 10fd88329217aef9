/* The header of an npy file; what is read and written again is read as the same. */
#include <assert.h>
#include <string.h>

#include "npy.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
    char header[RUE_NPY_HEADER_BYTES];
    struct rue_npy npy, again;
    rue_error error = {0};
    if (rue_npy_parse(data, bytes, &npy, &error) != RUE_OK) {
        assert(error.status == RUE_DATA && error.message[0]);
        return 0;
    }
    assert(npy.header_bytes <= bytes && npy.value_bytes > 0);
    rue_npy_header(npy.dtype, npy.shape, header);
    assert(rue_npy_parse(header, sizeof header, &again, NULL) == RUE_OK);
    assert(again.dtype == npy.dtype && memcmp(again.shape, npy.shape, sizeof npy.shape) == 0);
    return 0;
}
