/* The module without what keeps work in order: the tests must notice. */
#include "cuda_runtime.h"

#define cudaStreamWaitEvent(...) cudaSuccess
#define __syncthreads()
#include "emulated_module.cpp"
