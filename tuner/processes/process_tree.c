#include "process_tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "units.h"

/* Counters that a parent inherits from a child that it waited for. */
enum { CPU, READ, WRITE };

/* One read(), because the file may change between two. */
static bool read_file(pid_t pid, const char *name, char *text, size_t bytes)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, bytes - 1);
    if (fd >= 0) close(fd);
    text[got > 0 ? got : 0] = 0;
    return got > 0;
}

/* The number after `key` in a file of the process; 0: no permission, or the process is ending. */
static uint64_t read_number(pid_t pid, const char *name, const char *key)
{
    char text[2048];
    const char *at = read_file(pid, name, text, sizeof text) ? strstr(text, key) : NULL;
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* Adds the counters of a process, with those of children that it waited for, and its own threads and memory.
 */
static void add_usage(pid_t pid, struct rue_tree_usage *out, uint64_t sums[RUE_TREE_COUNTERS])
{
    char text[1024];
    unsigned long long own[2] = {0}, waited[2] = {0};
    long threads = 0, rss = 0;
    if (!read_file(pid, "stat", text, sizeof text)) return;
    const char *behind_name = strrchr(text, ')'); /* the name may contain any character */
    if (!behind_name || sscanf(behind_name,
                               ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu %*d %*d "
                               "%ld %*d %*u %*u %ld",
                               &own[0], &own[1], &waited[0], &waited[1], &threads, &rss) != 6)
        return;
    sums[CPU] += (own[0] + own[1] + waited[0] + waited[1]) * (RUE_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
    sums[READ] += read_number(pid, "io", "\nread_bytes:");
    sums[WRITE] += read_number(pid, "io", "\nwrite_bytes:");
    out->processes++;
    out->threads += threads > 0 ? (unsigned)threads : 0;
    out->rss_bytes += rss > 0 ? (uint64_t)rss * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* A parent is read before its children, so that nothing counts twice. A child that ends in between is in
 * neither: then the old sum is kept. */
void rue_process_tree_read(struct rue_process_tree *tree, struct rue_tree_usage *out)
{
    struct rue_tree_usage root = {0};
    uint64_t sums[RUE_TREE_COUNTERS] = {0};
    *out = (struct rue_tree_usage){0};
    add_usage(tree->root, &root, sums);
    rue_descendants_find(&tree->below, tree->root);
    for (size_t i = 0; i < tree->below.count; i++) add_usage(tree->below.at[i], out, sums);
    for (int c = 0; c < RUE_TREE_COUNTERS; c++)
        if (sums[c] > tree->last[c]) tree->last[c] = sums[c];
    out->cpu_ns = tree->last[CPU];
    out->read_bytes = tree->last[READ];
    out->write_bytes = tree->last[WRITE];
}
