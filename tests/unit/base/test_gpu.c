#include "gpu.h"

#include <criterion/criterion.h>

#include "temporary_folder.h"

static char models[4][RUE_GPU_NAME_BYTES];

TestSuite(gpu, .init = temporary_folder_make, .fini = temporary_folder_remove);

static void make_gpu(const char *address, const char *text)
{
    char path[TEMPORARY_PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", temporary_folder, address);
    temporary_check(mkdir(path, 0700) == 0, "create", path);
    strncat(path, "/information", sizeof path - strlen(path) - 1);
    FILE *file = fopen(path, "w");
    temporary_check(file && fputs(text, file) >= 0 && fclose(file) == 0, "write", path);
}

Test(gpu, models_are_in_the_order_of_the_bus)
{
    make_gpu("0000:41:00.0", "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 211\n");
    make_gpu("0000:01:00.0", "IRQ: 5\nModel:  NVIDIA L4");
    make_gpu("0000:02:00.0", "nothing of the kind\n");
    cr_assert_eq(rue_gpu_driver_models(temporary_folder, models, 4), 2);
    cr_assert_str_eq(models[0], "NVIDIA L4");
    cr_assert_str_eq(models[1], "NVIDIA H100 80GB HBM3");
    cr_assert_eq(rue_gpu_driver_models(temporary_folder, models, 1), 1, "no more than there is room for");
}

Test(gpu, without_a_driver_there_are_none)
{
    cr_assert_eq(rue_gpu_driver_models("/nowhere", models, 4), 0);
}
