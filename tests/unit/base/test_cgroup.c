#include "cgroup.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "temporary_folder.h"

TestSuite(cgroup, .init = temporary_folder_make, .fini = temporary_folder_remove);

static void put_file(char *line)
{
    char *tab = strchr(line, '\t');
    cr_assert(tab, "%s", line);
    *tab++ = 0;
    for (char *at = tab; *at; at++)
        if (*at == ';') *at = '\n';
    temporary_file(line, tab, strlen(tab));
}

struct limits {
    char name[128];
    double cpus;
    uint64_t limit, available;
};

static void check_limits(const struct limits *expected)
{
    uint64_t limit = 0, available = 0;
    bool limited = rue_cgroup_memory(temporary_folder, &limit, &available);
    cr_expect_eq(limited, expected->limit > 0, "%s", expected->name);
    cr_expect_eq(limit, expected->limit, "%s: %lu", expected->name, limit);
    cr_expect_eq(available, expected->available, "%s: %lu", expected->name, available);
    cr_expect_float_eq(rue_cgroup_cpus(temporary_folder), expected->cpus, 1e-9, "%s", expected->name);
}

/* The cases of the Python package, too: tests/python/test_machine.py. */
Test(cgroup, the_smallest_limit_from_the_own_group_to_the_root_counts)
{
    struct limits expected = {0};
    char line[512];
    size_t cases = 0;
    FILE *file = fopen(RUE_CGROUPS, "re");
    cr_assert(file);
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] == '#') continue;
        if (line[0] == '\t') {
            put_file(line + 1);
            continue;
        }
        if (cases++) check_limits(&expected);
        temporary_folder_remove();
        temporary_folder_make();
        cr_assert_eq(sscanf(line, "%127[^\t]%lf%lu%lu", expected.name, &expected.cpus, &expected.limit,
                            &expected.available),
                     4, "%s", line);
    }
    fclose(file);
    check_limits(&expected);
    cr_assert_gt(cases, 15);
}
