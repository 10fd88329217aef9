#include "npy.h"

#include <criterion/criterion.h>
#include <string.h>

static size_t make(char *out, int version, const char *dictionary)
{
    size_t length = strlen(dictionary), start = version == 1 ? 10 : 12;
    memcpy(out, "\x93NUMPY", 6);
    memcpy(out + 6, (char[]){(char)version, 0, (char)length, (char)(length >> 8), 0, 0}, 6);
    memcpy(out + start, dictionary, length);
    return start + length;
}

Test(npy, headers_of_numpy_are_read_in_every_version)
{
    static const char text[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 224, 7), }          \n";
    char data[512];
    for (int version = 1; version <= 3; version++) {
        struct rue_npy npy;
        rue_error error = {0};
        size_t bytes = make(data, version, text);
        cr_assert_eq(rue_npy_parse(data, bytes, &npy, &error), RUE_OK, "%s", error.message);
        cr_assert(npy.dtype == RUE_FLOAT32 && npy.header_bytes == bytes &&
                  npy.value_bytes == 3 * 224 * 7 * 4);
        cr_assert(npy.shape[0] == 3 && npy.shape[1] == 224 && npy.shape[2] == 7);
    }
}

Test(npy, everything_else_is_refused_with_a_reason)
{
    static const char *const bad[][2] = {
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (3, 2, 2)}", "not float32"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2, 2)}", "not float32"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2, 2)}", "Fortran"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2)}", "three axes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': ()}", "three axes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 2, 1)}", "three axes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 0, 2)}", "without values"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, -1, 2)}", "three axes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 9999999, 2)}", "too long"},
        {"{'descr': '<f4', 'descr': '<f4', 'shape': (3, 2, 2)}", "damaged"},
        {"{'descr': '<f4', 'shape': (3, 2, 2)}", "damaged"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 2", "three axes"},
        {"{'descr': '<f4', 'fortran_order': False, 'sh", "damaged"},
        {"{}", "damaged"}};
    char data[512];
    struct rue_npy npy;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rue_error error = {0};
        size_t bytes = make(data, 1, bad[i][0]);
        cr_assert_eq(rue_npy_parse(data, bytes, &npy, &error), RUE_DATA, "%s", bad[i][0]);
        cr_assert(strstr(error.message, bad[i][1]), "%s: %s", bad[i][0], error.message);
        if (bytes > 12) cr_assert_eq(rue_npy_parse(data, bytes - 1, &npy, NULL), RUE_DATA);
    }
    cr_assert_eq(rue_npy_parse("\x93NUMPY\4\0\0\0\0\0", 12, &npy, NULL), RUE_DATA);
    cr_assert_eq(rue_npy_parse("\x93NUMPX\1\0\0\0\0\0", 12, &npy, NULL), RUE_DATA);
}
