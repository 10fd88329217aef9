/* The file of an LMDB: its pages, its index, its items. */
#include "fuzz_source.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
    fuzz_source(data, bytes, "lmdb");
    return 0;
}
