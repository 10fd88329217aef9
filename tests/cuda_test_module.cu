/* The module of CUDA kernels with what the tests call beside it (cuda_test_module.h). */
#include "cuda_test_module.h"

#include "model_cuda.cu"

namespace
{

template <typename T> __global__ void convert_back(const T *in, float *out, uint64_t count)
{
    uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    if (i < count) out[i] = (float)in[i];
}

/* Memory of the GPU; freed with its end. */
struct Memory {
    void *at = nullptr;
    ~Memory() { cudaFree(at); }
};

template <typename T> int take_values(const float *values, size_t count, Memory *out, char *message)
{
    Memory plain;
    TRY(cudaMalloc(&plain.at, count * sizeof(float)));
    TRY(cudaMalloc(&out->at, count * sizeof(T)));
    TRY(cudaMemcpy(plain.at, values, count * sizeof(float), cudaMemcpyHostToDevice));
    TRY_LAUNCH(convert<T>, blocks_for(count), nullptr, (const float *)plain.at, (T *)out->at, count);
    TRY(cudaDeviceSynchronize());
    return RUE_CUDA_OK;
}

template <typename T> int give_values(const Memory *from, float *values, size_t count, char *message)
{
    Memory plain;
    TRY(cudaMalloc(&plain.at, count * sizeof(float)));
    TRY_LAUNCH(convert_back<T>, (count + THREADS - 1) / THREADS, nullptr, (const T *)from->at,
               (float *)plain.at, count);
    TRY(cudaMemcpy(values, plain.at, count * sizeof(float), cudaMemcpyDeviceToHost));
    return RUE_CUDA_OK;
}

template <typename T>
int try_step(const rue_cuda_step *step, const float *a, size_t a_count, const float *b, size_t b_count,
             float *c, size_t c_count, int own, char *message)
{
    Memory from, weights, to, workspace;
    rue_cuda_step plain = *step;
    plain.from_images = 0;
    plain.b_offset = 0;
    TRY(cudaMalloc(&workspace.at, workspace_bytes));
    TRY_OURS(take_values<T>(a, a_count, &from, message));
    TRY_OURS(take_values<T>(b, b_count, &weights, message));
    TRY_OURS(take_values<T>(c, c_count, &to, message));
    TRY_OURS(do_step<T>(&plain, (T *)from.at, (T *)to.at, (const T *)weights.at, workspace.at, own != 0, 0,
                        message));
    TRY(cudaDeviceSynchronize());
    return step->kind == RUE_CUDA_MOVE ? give_values<T>(&from, c, c_count, message)
                                       : give_values<T>(&to, c, c_count, message);
}

int multiply_values(uint32_t precision, const rue_cuda_step *step, const float *a, size_t a_count,
                    const float *b, size_t b_count, float *c, size_t c_count, int own, char *message)
{
    cudaDeviceProp properties;
    TRY_OURS(select_device(&properties, message));
    return OF_PRECISION(precision, try_step, step, a, a_count, b, b_count, c, c_count, own, message);
}

template <typename T>
int try_take(const rue_cuda_input *input, const void *images, size_t count, float *out, char *message)
{
    Memory loaded, taken;
    size_t bytes = count * input_bytes(input);
    TRY(cudaMalloc(&loaded.at, bytes));
    TRY(cudaMalloc(&taken.at, count * sizeof(T)));
    TRY(cudaMemcpy(loaded.at, images, bytes, cudaMemcpyHostToDevice));
    TRY_OURS(take_images<T>(input, loaded.at, (T *)taken.at, count, 0, message));
    TRY(cudaDeviceSynchronize());
    return give_values<T>(&taken, out, count, message);
}

int take_from_host(uint32_t precision, const rue_cuda_input *input, const void *images, size_t count,
                   float *out, char *message)
{
    cudaDeviceProp properties;
    TRY_OURS(select_device(&properties, message));
    return OF_PRECISION(precision, try_take, input, images, count, out, message);
}

} // namespace

extern "C" __attribute__((visibility("default"))) const struct rue_cuda_test_entries *rue_cuda_test_entries(void)
{
    static const struct rue_cuda_test_entries entries = {multiply_values, take_from_host};
    return &entries;
}
