#include <criterion/criterion.h>

#include "architecture.h"

/* Multiplications with addition as their authors and torchvision's documentation give them, in thousand
 * millions; EfficientNets at 384 and 480 pixels, of which 224 take (224/384)^2 and (224/480)^2; CLIP's image
 * tower as ViT-B/32, BERT of 128 tokens after MobileBERT's table. */
static const struct {
    char name[24];
    double multiply_adds, parameters_millions;
} published[] = {
    {"resnet18", 1.81, 11.69},
    {"resnet34", 3.66, 21.80},
    {"resnet50", 4.09, 25.56},
    {"resnet101", 7.80, 44.55},
    {"resnet152", 11.51, 60.19},
    {"convnext_tiny", 4.46, 28.59},
    {"convnext_base", 15.36, 88.59},
    {"mobilenet_v2", 0.30, 3.505},
    {"efficientnet_v2_s", 8.37 * 224 * 224 / 384 / 384, 21.46},
    {"efficientnet_v2_l", 56.08 * 224 * 224 / 480 / 480, 118.52},
    {"vit_b_16", 17.56, 86.57},
    {"vit_b_32", 4.41, 88.22},
    {"vit_l_16", 61.55, 304.33},
    {"vit_l_32", 15.38, 306.54},
    {"swin_t", 4.49, 28.29},
    {"clip_vit_b_32", 4.41, 87.85},
    {"bert_base_128", 22.5 / 2, 109.48},
    {"bert_base_512", 4 * 10.872 + 16 * 0.302, 109.48}, /* 4 times the tokens, 16 times their pairs */
};
enum { PUBLISHED = sizeof published / sizeof *published };

Test(architecture, layers_add_up_to_the_published_multiply_adds)
{
    for (size_t i = 0; i < PUBLISHED; i++) {
        const struct rue_architecture *model = rue_architecture_find(published[i].name);
        cr_assert(model, "%s", published[i].name);
        double sum = (double)rue_architecture_multiply_adds(model) / 1e9;
        cr_assert_float_eq(sum / published[i].multiply_adds, 1, 0.02, "%s: %f", model->name, sum);
        cr_assert_float_eq((double)model->parameters / 1e6 / published[i].parameters_millions, 1, 0.001, "%s",
                           model->name);
    }
    cr_assert_null(rue_architecture_at(PUBLISHED));
    cr_assert_null(rue_architecture_find("resnet"));
}

/* Weights of convolutions and linear layers are all parameters but norms, biases and embeddings: a product
 * with a wrong n or k that kept the sum of multiplications would show here. */
Test(architecture, weights_of_the_layers_are_most_of_the_parameters)
{
    const struct rue_architecture *model;
    for (size_t i = 0; (model = rue_architecture_at(i)); i++) {
        double weights = 0;
        for (size_t l = 0; l < model->layer_count; l++) {
            const struct rue_layer *layer = &model->layers[l];
            if (layer->kind != RUE_ATTENTION)
                weights += (double)layer->n * layer->k * layer->groups * layer->repeats;
        }
        double embeddings = strncmp(model->name, "bert", 4) == 0 ? (30522 + 512 + 2) * 768.0 : 0;
        double share = weights / ((double)model->parameters - embeddings);
        cr_assert(share > 0.97 && share <= 1, "%s: %f", model->name, share);
    }
}

Test(architecture, activations_of_an_image_fit_its_largest_layer)
{
    const struct rue_architecture *model;
    for (size_t i = 0; (model = rue_architecture_at(i)); i++)
        for (size_t l = 0; l < model->layer_count; l++) {
            const struct rue_layer *layer = &model->layers[l];
            cr_assert(model->peak_elements >= (uint64_t)layer->m * layer->n * layer->groups, "%s, layer %zu",
                      model->name, l);
            cr_assert(model->peak_elements >= layer->read_elements, "%s, layer %zu", model->name, l);
        }
}
