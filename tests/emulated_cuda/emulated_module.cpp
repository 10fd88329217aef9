/* The module itself, as it is, with the entries of the tests. */
#define COUNT_MAX 16 /* so that small products take several calls */
#include "cuda_test_module.cu"
