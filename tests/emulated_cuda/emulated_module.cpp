/* The module itself, as it is. */
#define COUNT_MAX 16 /* so that small products take several calls */
#include "model_cuda.cu"
