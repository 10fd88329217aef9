#include "machine.h"

#include <criterion/criterion.h>
#include <math.h>
#include <sched.h>
#include <string.h>

Test(machine, usable_cpus_are_among_those_of_the_affinity_and_the_machine)
{
    struct rue_machine machine = rue_machine_read();
    cr_assert_geq(machine.usable_cpus, 1);
    cr_assert_leq(machine.usable_cpus, machine.affinity_cpus);
    cr_assert_leq(machine.affinity_cpus, machine.online_cpus);
    cr_assert(machine.quota_cpus >= 0 && isfinite(machine.quota_cpus));
    if (machine.quota_cpus > 0) cr_assert_leq(machine.usable_cpus, (int)ceil(machine.quota_cpus));
}

Test(machine, a_process_bound_to_one_cpu_may_use_one)
{
    cpu_set_t set;
    cr_assert_eq(sched_getaffinity(0, sizeof set, &set), 0);
    int first = 0;
    while (!CPU_ISSET(first, &set)) first++;
    CPU_ZERO(&set);
    CPU_SET(first, &set);
    cr_assert_eq(sched_setaffinity(0, sizeof set, &set), 0);
    struct rue_machine machine = rue_machine_read();
    cr_assert_eq(machine.affinity_cpus, 1);
    cr_assert_eq(machine.usable_cpus, 1);
}

Test(machine, memory_is_reported_and_some_is_free)
{
    struct rue_machine machine = rue_machine_read();
    cr_assert_gt(machine.memory_bytes, UINT64_C(1) << 24);
    uint64_t available = rue_machine_available_bytes();
    cr_assert(available > 0 && available <= machine.memory_bytes);
}

Test(machine, names_are_reported)
{
    struct rue_machine machine = rue_machine_read();
    cr_assert_gt(strlen(machine.cpu), 0);
    cr_assert(strncmp(machine.kernel, "Linux ", 6) == 0, "'%s'", machine.kernel);
}
