/* Transformers: ViT, Swin, the image tower of CLIP, BERT. Written by models/trace_layers.py. */
#include "architecture.h"

static const struct rue_layer vit_b_16_layers[] = {
    {RUE_CONVOLUTION, 196, 768, 768, 1, 1, 150528}, {RUE_LINEAR, 197, 2304, 768, 1, 12, 151296},
    {RUE_ATTENTION, 197, 197, 64, 12, 12, 302592},  {RUE_ATTENTION, 197, 64, 197, 12, 12, 617004},
    {RUE_LINEAR, 197, 768, 768, 1, 12, 151296},     {RUE_LINEAR, 197, 3072, 768, 1, 12, 151296},
    {RUE_LINEAR, 197, 768, 3072, 1, 12, 605184},    {RUE_LINEAR, 1, 1000, 768, 1, 1, 768},
};

static const struct rue_layer vit_b_32_layers[] = {
    {RUE_CONVOLUTION, 49, 768, 3072, 1, 1, 150528}, {RUE_LINEAR, 50, 2304, 768, 1, 12, 38400},
    {RUE_ATTENTION, 50, 50, 64, 12, 12, 76800},     {RUE_ATTENTION, 50, 64, 50, 12, 12, 68400},
    {RUE_LINEAR, 50, 768, 768, 1, 12, 38400},       {RUE_LINEAR, 50, 3072, 768, 1, 12, 38400},
    {RUE_LINEAR, 50, 768, 3072, 1, 12, 153600},     {RUE_LINEAR, 1, 1000, 768, 1, 1, 768},
};

static const struct rue_layer vit_l_16_layers[] = {
    {RUE_CONVOLUTION, 196, 1024, 768, 1, 1, 150528}, {RUE_LINEAR, 197, 3072, 1024, 1, 24, 201728},
    {RUE_ATTENTION, 197, 197, 64, 16, 24, 403456},   {RUE_ATTENTION, 197, 64, 197, 16, 24, 822672},
    {RUE_LINEAR, 197, 1024, 1024, 1, 24, 201728},    {RUE_LINEAR, 197, 4096, 1024, 1, 24, 201728},
    {RUE_LINEAR, 197, 1024, 4096, 1, 24, 806912},    {RUE_LINEAR, 1, 1000, 1024, 1, 1, 1024},
};

static const struct rue_layer vit_l_32_layers[] = {
    {RUE_CONVOLUTION, 49, 1024, 3072, 1, 1, 150528}, {RUE_LINEAR, 50, 3072, 1024, 1, 24, 51200},
    {RUE_ATTENTION, 50, 50, 64, 16, 24, 102400},     {RUE_ATTENTION, 50, 64, 50, 16, 24, 91200},
    {RUE_LINEAR, 50, 1024, 1024, 1, 24, 51200},      {RUE_LINEAR, 50, 4096, 1024, 1, 24, 51200},
    {RUE_LINEAR, 50, 1024, 4096, 1, 24, 204800},     {RUE_LINEAR, 1, 1000, 1024, 1, 1, 1024},
};

static const struct rue_layer swin_t_layers[] = {
    {RUE_CONVOLUTION, 3136, 96, 48, 1, 1, 150528}, {RUE_LINEAR, 3136, 288, 96, 1, 2, 301056},
    {RUE_ATTENTION, 49, 49, 32, 192, 2, 602112},   {RUE_ATTENTION, 49, 32, 49, 192, 2, 762048},
    {RUE_LINEAR, 3136, 96, 96, 1, 2, 301056},      {RUE_LINEAR, 3136, 384, 96, 1, 2, 301056},
    {RUE_LINEAR, 3136, 96, 384, 1, 2, 1204224},    {RUE_LINEAR, 784, 192, 384, 1, 1, 301056},
    {RUE_LINEAR, 784, 576, 192, 1, 2, 150528},     {RUE_ATTENTION, 49, 49, 32, 96, 2, 301056},
    {RUE_ATTENTION, 49, 32, 49, 96, 2, 381024},    {RUE_LINEAR, 784, 192, 192, 1, 2, 150528},
    {RUE_LINEAR, 784, 768, 192, 1, 2, 150528},     {RUE_LINEAR, 784, 192, 768, 1, 2, 602112},
    {RUE_LINEAR, 196, 384, 768, 1, 1, 150528},     {RUE_LINEAR, 196, 1152, 384, 1, 6, 75264},
    {RUE_ATTENTION, 49, 49, 32, 48, 6, 150528},    {RUE_ATTENTION, 49, 32, 49, 48, 6, 190512},
    {RUE_LINEAR, 196, 384, 384, 1, 6, 75264},      {RUE_LINEAR, 196, 1536, 384, 1, 6, 75264},
    {RUE_LINEAR, 196, 384, 1536, 1, 6, 301056},    {RUE_LINEAR, 49, 768, 1536, 1, 1, 75264},
    {RUE_LINEAR, 49, 2304, 768, 1, 2, 37632},      {RUE_ATTENTION, 49, 49, 32, 24, 2, 75264},
    {RUE_ATTENTION, 49, 32, 49, 24, 2, 95256},     {RUE_LINEAR, 49, 768, 768, 1, 2, 37632},
    {RUE_LINEAR, 49, 3072, 768, 1, 2, 37632},      {RUE_LINEAR, 49, 768, 3072, 1, 2, 150528},
    {RUE_LINEAR, 1, 1000, 768, 1, 1, 768},
};

static const struct rue_layer clip_vit_b_32_layers[] = {
    {RUE_CONVOLUTION, 49, 768, 3072, 1, 1, 150528}, {RUE_LINEAR, 1, 512, 768, 1, 1, 768},
    {RUE_LINEAR, 50, 2304, 768, 1, 12, 38400},      {RUE_ATTENTION, 50, 50, 64, 12, 12, 76800},
    {RUE_ATTENTION, 50, 64, 50, 12, 12, 68400},     {RUE_LINEAR, 50, 768, 768, 1, 12, 38400},
    {RUE_LINEAR, 50, 3072, 768, 1, 12, 38400},      {RUE_LINEAR, 50, 768, 3072, 1, 12, 153600},
};

static const struct rue_layer bert_base_128_layers[] = {
    {RUE_LINEAR, 1, 768, 768, 1, 1, 768},          {RUE_LINEAR, 128, 2304, 768, 1, 12, 98304},
    {RUE_ATTENTION, 128, 128, 64, 12, 12, 196608}, {RUE_ATTENTION, 128, 64, 128, 12, 12, 294912},
    {RUE_LINEAR, 128, 768, 768, 1, 12, 98304},     {RUE_LINEAR, 128, 3072, 768, 1, 12, 98304},
    {RUE_LINEAR, 128, 768, 3072, 1, 12, 393216},
};

static const struct rue_layer bert_base_512_layers[] = {
    {RUE_LINEAR, 1, 768, 768, 1, 1, 768},          {RUE_LINEAR, 512, 2304, 768, 1, 12, 393216},
    {RUE_ATTENTION, 512, 512, 64, 12, 12, 786432}, {RUE_ATTENTION, 512, 64, 512, 12, 12, 3538944},
    {RUE_LINEAR, 512, 768, 768, 1, 12, 393216},    {RUE_LINEAR, 512, 3072, 768, 1, 12, 393216},
    {RUE_LINEAR, 512, 768, 3072, 1, 12, 1572864},
};

const struct rue_architecture rue_architectures_transformer[] = {
    {"vit_b_16", 86567656, 1839192, 44916000, 76, RUE_LAYERS(vit_b_16_layers)},
    {"vit_b_32", 88224232, 345600, 9283200, 76, RUE_LAYERS(vit_b_32_layers)},
    {"vit_l_16", 304326632, 2452256, 118363904, 148, RUE_LAYERS(vit_l_16_layers)},
    {"vit_l_32", 306535400, 460800, 24396800, 148, RUE_LAYERS(vit_l_32_layers)},
    {"swin_t", 28288354, 2728320, 32942880, 81, RUE_LAYERS(swin_t_layers)},
    {"clip_vit_b_32", 87849216, 345600, 9014400, 72, RUE_LAYERS(clip_vit_b_32_layers)},
    {"bert_base_128", 109482240, 884736, 25952256, 72, RUE_LAYERS(bert_base_128_layers)},
    {"bert_base_512", 109482240, 8257536, 160432128, 72, RUE_LAYERS(bert_base_512_layers)},
    {.name = NULL},
};
