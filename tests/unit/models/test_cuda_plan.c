#include "cuda_plan.h"

#include <criterion/criterion.h>

#include "variant.h"

static struct rue_cuda_plan plan;

static void teardown(void)
{
    rue_cuda_plan_close(&plan);
}

TestSuite(cuda_plan, .fini = teardown);

static const struct rue_architecture *make(size_t index, uint32_t images, bool share_weights)
{
    const struct rue_architecture *model = rue_architecture_at(index);
    rue_cuda_plan_close(&plan);
    if (model) cr_assert_eq(rue_cuda_plan_open(model, RUE_BF16, images, share_weights, &plan, NULL), RUE_OK);
    return model;
}

static uint64_t last_element(uint64_t count, uint64_t stride, uint64_t size)
{
    return (count - 1) * stride + size;
}

Test(cuda_plan, products_are_those_of_the_layers_and_little_more)
{
    static const uint32_t sizes[] = {1, 7, 32, 256};
    const struct rue_architecture *model;
    for (size_t i = 0; (model = make(i, 1, false)); i++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            double sum = 0, exact = (double)rue_architecture_multiply_adds(model) * sizes[s];
            make(i, sizes[s], false);
            for (uint64_t k = 0; k < plan.step_count; k++) {
                const struct rue_cuda_step *step = &plan.steps[k];
                sum += (double)(step->count * step->rows * step->columns) * (double)step->inner;
            }
            cr_assert(sum >= exact && sum <= exact * 1.06, "%s, %u images: %g of %g", model->name, sizes[s],
                      sum, exact);
        }
}

Test(cuda_plan, every_step_stays_in_its_buffer)
{
    const struct rue_architecture *model;
    for (size_t i = 0; (model = make(i, 19, false)); i++)
        for (uint64_t k = 0; k < plan.step_count; k++) {
            const struct rue_cuda_step *step = &plan.steps[k];
            uint64_t b = last_element(step->b_count, step->b_stride, step->columns * step->inner);
            cr_assert(step->count && step->rows && step->columns, "%s: step %lu", model->name,
                      (unsigned long)k);
            if (step->kind == RUE_CUDA_MOVE) {
                cr_assert(step->rows <= plan.from_elements && step->rows <= plan.to_elements);
                cr_assert_eq(step->rows % 8, 0, "vectors of eight");
                continue;
            }
            uint64_t one = step->kind == RUE_CUDA_DEPTHWISE ? step->a_stride + step->inner - 1
                                                            : step->rows * step->inner;
            cr_assert_leq(last_element(step->count, step->a_stride, one), plan.from_elements);
            cr_assert_leq(last_element(step->count, step->c_stride, step->rows * step->columns),
                          plan.to_elements);
            cr_assert_leq(step->b_offset + b,
                          step->b_is_activations ? plan.from_elements : plan.weight_elements);
            if (step->b_is_activations)
                cr_assert_geq(step->b_offset, last_element(step->count, step->a_stride, one),
                              "B is behind A");
            if (step->kind != RUE_CUDA_PRODUCT) continue;
            cr_assert(step->inner % 8 == 0 && step->columns % 8 == 0 && step->a_stride % 8 == 0 &&
                          step->b_stride % 8 == 0 && step->b_offset % 128 == 0,
                      "%s: tensor cores want it so", model->name);
        }
}

Test(cuda_plan, a_convolution_reads_its_activations_and_not_its_windows)
{
    make(2, 64, false);
    cr_assert_str_eq(rue_architecture_at(2)->name, "resnet50");
    const struct rue_layer *layer = &rue_architecture_at(2)->layers[2];
    const struct rue_cuda_step *step = NULL;
    for (uint64_t k = 0; !step && k < plan.step_count; k++)
        if (plan.steps[k].kind == RUE_CUDA_PRODUCT && plan.steps[k].inner == layer->k &&
            plan.steps[k].columns == layer->n)
            step = &plan.steps[k];
    cr_assert_not_null(step);
    double read = 64.0 * layer->read_elements, windows = 64.0 * layer->m * layer->k;
    double touched = (double)last_element(step->count, step->a_stride, step->rows * step->inner);
    cr_assert(touched <= 1.1 * read && windows > 8 * read, "%g of %g", touched, read);
}

Test(cuda_plan, all_other_operations_are_moves)
{
    const struct rue_architecture *model;
    for (size_t i = 0; (model = make(i, 32, false)); i++) {
        uint64_t moves = 0, moved = 0;
        for (uint64_t k = 0; k < plan.step_count; k++) {
            if (plan.steps[k].kind != RUE_CUDA_MOVE) continue;
            moves++;
            moved += 2 * plan.steps[k].rows;
        }
        cr_assert_eq(moves, model->moves, "%s", model->name);
        cr_assert_float_eq((double)moved, 32.0 * (double)model->moved_elements, 1e-3 * (double)moved);
    }
}

Test(cuda_plan, weights_are_the_model_s_parameters)
{
    const struct rue_architecture *model;
    for (size_t i = 0; (model = make(i, 4, false)); i++) {
        uint64_t own = rue_cuda_plan_weight_bytes(&plan), same = 2 * model->parameters;
        bool embeds = model->name[0] == 'b' || model->name[0] == 'c'; /* words, or a side without classes */
        cr_assert(own <= same + same / 10 && (embeds || own >= same - same / 10), "%s: %lu of %lu",
                  model->name, (unsigned long)own, (unsigned long)same);
        make(i, 4, true);
        cr_assert_lt(rue_cuda_plan_weight_bytes(&plan), own, "%s: layers share them", model->name);
    }
}

Test(cuda_plan, memory_is_for_elements_alive_at_one_time)
{
    const struct rue_architecture *model;
    for (size_t i = 0; (model = make(i, 64, false)); i++) {
        double bytes = (double)rue_cuda_plan_activation_bytes(&plan),
               peak = 2.0 * 64 * (double)model->peak_elements;
        cr_assert(bytes >= peak && bytes <= 2.2 * peak, "%s: %g of %g", model->name, bytes, peak);
        cr_assert_eq(rue_cuda_plan_input_bytes(&plan), 2 * 64 * 602112, "two batches of float32");
        plan.input.dtype = RUE_UINT8;
        cr_assert_eq(rue_cuda_plan_input_bytes(&plan), 2 * 64 * 150528, "two batches of levels");
    }
}
