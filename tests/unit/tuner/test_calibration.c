#include "calibration.h"

#include <criterion/criterion.h>

static const char *title(const char *device, bool on_gpu, const char *machine)
{
    static char out[96];
    rue_calibration_title(device, on_gpu, machine, out, sizeof out);
    return out;
}

Test(calibration, a_table_has_the_name_of_its_device)
{
    static const char gpu[] = "this machine's GPU (bf16)", cpus[] = "this machine's CPUs (2 cores, OpenBLAS)";
    static const char machine[] = "{\"cpu\":\"A CPU\",\"gpus\":[\"NVIDIA H100\",\"NVIDIA H100\"]}";
    cr_assert_str_eq(title(gpu, true, machine), "NVIDIA H100 (bf16)");
    cr_assert_str_eq(title(cpus, false, machine), "A CPU (2 cores, OpenBLAS)");
    cr_assert_str_eq(title("an NVIDIA L4 (fp32, estimated)", false, machine),
                     "an NVIDIA L4 (fp32, estimated)");
}

Test(calibration, a_table_of_an_unknown_device_counts_as_another_machine)
{
    static const char gpu[] = "this machine's GPU (fp32)";
    cr_assert_str_eq(title(gpu, true, "{\"cpu\":\"A CPU\"}"), "another machine's GPU (fp32)");
    cr_assert_str_eq(title(gpu, true, "{\"gpus\":[\"a\",\"b\"],\"visible_gpus\":\"1\"}"),
                     "another machine's GPU (fp32)");
    cr_assert_str_eq(title("this machine's CPUs (1 core)", false, ""), "another machine's CPUs (1 core)");
}
