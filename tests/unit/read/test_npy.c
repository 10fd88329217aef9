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

/* Each form is one that NumPy reads as the same array. */
Test(npy, every_form_of_the_header_is_read)
{
    static const struct {
        const char *text;
        enum rue_dtype dtype;
        uint32_t shape[3];
    } forms[] = {
        {"{'descr': '<u1', 'fortran_order': False, 'shape': (3, 6, 5)}", RUE_UINT8, {3, 6, 5}},
        {"{'descr': 'u1', 'fortran_order': False, 'shape': (3, 6, 5), }", RUE_UINT8, {3, 6, 5}},
        {"{'descr': '>u1', 'fortran_order': False, 'shape': (3, 6, 5)}", RUE_UINT8, {3, 6, 5}},
        {"{'descr': '=f4', 'fortran_order': False, 'shape': (3, 6, 5)}", RUE_FLOAT32, {3, 6, 5}},
        {"{'descr': 'float16', 'fortran_order': False, 'shape': (3, 6, 5)}", RUE_FLOAT16, {3, 6, 5}},
        {"{\"shape\":(3,6,5),\"fortran_order\":False,\"descr\":\"<f4\"}", RUE_FLOAT32, {3, 6, 5}},
        {" {\n'fortran_order' : False , 'shape' : ( 3 ,\t6 , 5 ) , 'descr' : '|u1' }  \n",
         RUE_UINT8,
         {3, 6, 5}},
        {"{'descr': '>f4', 'descr': '<f2', 'fortran_order': False, 'shape': (3L, 6L, 5L)}",
         RUE_FLOAT16,
         {3, 6, 5}},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6, 5)}", RUE_FLOAT32, {1, 6, 5}},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (5,)}", RUE_FLOAT32, {1, 1, 5}},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (1, 6, 1)}", RUE_FLOAT32, {1, 6, 1}},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 6, 5)}", RUE_FLOAT32, {3, 6, 5}},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 1, 6, 5)}", RUE_FLOAT32, {3, 6, 5}},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 6, 5)}", RUE_FLOAT32, {1, 6, 5}},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6, 5, 1, 1)}", RUE_FLOAT32, {6, 5, 1}},
    };
    char data[512];
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct rue_npy npy;
        rue_error error = {0};
        size_t bytes = make(data, 1 + (int)i % 3, forms[i].text);
        cr_assert_eq(rue_npy_parse(data, bytes, &npy, &error), RUE_OK, "%s: %s", forms[i].text,
                     error.message);
        cr_assert_eq(npy.dtype, forms[i].dtype, "%s", forms[i].text);
        cr_assert_arr_eq(npy.shape, forms[i].shape, sizeof npy.shape, "%s", forms[i].text);
    }
}

Test(npy, everything_else_is_refused_with_a_reason)
{
    static const char *const bad[][2] = {
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (3, 2, 2)}", "not float32"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2, 2)}", "not float32"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2, 2)}", "Fortran"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (3, 2, 2)}", "not float32"},
        {"{'descr': '', 'fortran_order': False, 'shape': (3, 2, 2)}", "not float32"},
        {"{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (3, 2, 2)}", "not float32"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': ()}", "has no axis"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 2, 4)}", "more than three axes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3)}", "damaged"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': [3, 2, 2]}", "damaged"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3 2, 2)}", "damaged"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (3, 2, 2)}", "damaged"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 2), 'more': 1}", "damaged"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 2)} x", "damaged"},
        {"{'descr': '\\x3cf4', 'fortran_order': False, 'shape': (3, 2, 2)}", "not float32"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 0, 2)}", "without values"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, -1, 2)}", "damaged"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 9999999, 2)}", "too long"},
        {"{'descr': '<f4', 'descr': '<f4', 'shape': (3, 2, 2)}", "damaged"},
        {"{'descr': '<f4', 'shape': (3, 2, 2)}", "damaged"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 2", "damaged"},
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
