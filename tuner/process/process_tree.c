#include "process_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROCESSES_MAX = 1 << 16, CHILDREN_BYTES = 4096 };

/* What a parent that waits for a child adds to its own. */
enum { CPU, READ, WRITE, COUNTERS };

struct process {
    pid_t pid, parent;
    unsigned long long started; /* tells it from an earlier one of the same number */
    uint64_t count[COUNTERS];
    uint64_t rss_bytes;
    unsigned threads;
};

struct list {
    struct process *at;
    size_t count, capacity;
};

struct rue_process_tree {
    pid_t root;
    bool lists_children; /* the kernel tells the children of a thread */
    struct list now, before;
    uint64_t gone[COUNTERS]; /* of processes that ended unnoticed by their parents */
    uint64_t first[COUNTERS], last[COUNTERS];
    uint64_t tick_ns, page_bytes;
};

/* ---- one process ---- */

/* At once, as what is read in parts may have changed between them. */
static bool read_file(const char *path, char *text, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, bytes - 1);
    if (fd >= 0) close(fd);
    text[got > 0 ? got : 0] = 0;
    return got > 0;
}

static uint64_t number_behind(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static bool read_stat(const struct rue_process_tree *tree, pid_t pid, struct process *out)
{
    char path[64], text[1024];
    unsigned long long own[2] = {0}, waited[2] = {0}, started = 0;
    long threads = 0, rss = 0;
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (!read_file(path, text, sizeof text)) return false;
    const char *behind_name = strrchr(text, ')'); /* the name may hold anything */
    if (!behind_name ||
        sscanf(
            behind_name,
            ") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu %*d %*d %ld %*d %llu %*u %ld",
            &parent, &own[0], &own[1], &waited[0], &waited[1], &threads, &started, &rss) != 8)
        return false;
    *out = (struct process){.pid = pid,
                            .parent = parent,
                            .started = started,
                            .threads = threads > 0 ? (unsigned)threads : 0,
                            .rss_bytes = rss > 0 ? (uint64_t)rss * tree->page_bytes : 0};
    out->count[CPU] = (own[0] + own[1] + waited[0] + waited[1]) * tree->tick_ns;
    return true;
}

static bool read_process(const struct rue_process_tree *tree, pid_t pid, struct process *out)
{
    char path[64], text[512];
    if (!read_stat(tree, pid, out)) return false;
    snprintf(path, sizeof path, "/proc/%d/io", (int)pid);
    if (!read_file(path, text, sizeof text)) return true; /* of somebody else, or ending */
    out->count[READ] = number_behind(text, "\nread_bytes:");
    out->count[WRITE] = number_behind(text, "\nwrite_bytes:");
    return true;
}

static uint64_t read_pss(pid_t pid)
{
    char path[64], text[2048];
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    return read_file(path, text, sizeof text) ? number_behind(text, "\nPss:") * 1024 : 0;
}

/* ---- the tree ---- */

static struct process *find(const struct list *list, pid_t pid)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->at[i].pid == pid) return &list->at[i];
    return NULL;
}

static bool add(struct list *list, const struct process *process)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 32;
        struct process *more = capacity <= PROCESSES_MAX ? realloc(list->at, capacity * sizeof *more) : NULL;
        if (!more) return false;
        list->at = more;
        list->capacity = capacity;
    }
    list->at[list->count++] = *process;
    return true;
}

static bool is_same(const struct process *a, const struct process *b)
{
    return a && b && a->started == b->started;
}

/* One that ended and is not waited for yet may tell no more what it has read. */
static void add_if_there(struct rue_process_tree *tree, pid_t pid)
{
    struct process process;
    if (pid <= 0 || find(&tree->now, pid) || !read_process(tree, pid, &process)) return;
    const struct process *was = find(&tree->before, pid);
    for (int c = 0; c < COUNTERS && is_same(was, &process); c++)
        if (process.count[c] < was->count[c]) process.count[c] = was->count[c];
    add(&tree->now, &process);
}

static void add_children_of_thread(struct rue_process_tree *tree, pid_t pid, const char *thread)
{
    char path[320], text[CHILDREN_BYTES];
    snprintf(path, sizeof path, "/proc/%d/task/%s/children", (int)pid, thread);
    FILE *file = fopen(path, "re");
    int child;
    if (file) setvbuf(file, text, _IOFBF, sizeof text);
    while (file && fscanf(file, "%d", &child) == 1) add_if_there(tree, child);
    if (file) fclose(file);
}

static void add_children(struct rue_process_tree *tree, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        if (isdigit((unsigned char)entry->d_name[0])) add_children_of_thread(tree, pid, entry->d_name);
    if (folder) closedir(folder);
}

/* Where the kernel does not list children: all processes there are, again and again until none is new. */
static void add_descendants_of_all(struct rue_process_tree *tree)
{
    size_t before;
    do {
        DIR *folder = opendir("/proc");
        struct dirent *entry;
        before = tree->now.count;
        while (folder && (entry = readdir(folder))) {
            struct process process;
            pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? (pid_t)atoi(entry->d_name) : 0;
            if (pid && read_stat(tree, pid, &process) && find(&tree->now, process.parent))
                add_if_there(tree, pid);
        }
        if (folder) closedir(folder);
    } while (tree->now.count > before);
}

/* One whose parent ended while the tree was walked has another one now, and was not met on the way. */
static void add_missed(struct rue_process_tree *tree)
{
    for (size_t i = 0; i < tree->before.count; i++) {
        const struct process *old = &tree->before.at[i];
        struct process process;
        if (!find(&tree->now, old->pid) && read_stat(tree, old->pid, &process) && is_same(&process, old))
            add_if_there(tree, old->pid);
    }
}

static void walk(struct rue_process_tree *tree)
{
    struct list emptied = tree->before;
    tree->before = tree->now;
    tree->now = emptied;
    tree->now.count = 0;
    add_if_there(tree, tree->root);
    for (size_t i = 0; tree->lists_children && i < tree->now.count; i++)
        add_children(tree, tree->now.at[i].pid);
    if (!tree->lists_children && tree->now.count) add_descendants_of_all(tree);
    add_missed(tree);
}

/* ---- counters ---- */

/* The nearest process above an ended one that is still there: who waited for it, or for who waited for it. */
static struct process *heir(struct rue_process_tree *tree, const struct process *ended)
{
    pid_t parent = ended->parent;
    for (size_t steps = 0; steps <= tree->before.count; steps++) {
        struct process *there = find(&tree->now, parent), *was = find(&tree->before, parent);
        if (is_same(there, was)) return there;
        if (!was) return NULL;
        parent = was->parent;
    }
    return NULL;
}

/* What an ended process had used its heir has now, in its own counters, or nobody. */
static void settle(struct rue_process_tree *tree, const struct process *ended)
{
    struct process *there = heir(tree, ended), *was = there ? find(&tree->before, there->pid) : NULL;
    for (int c = 0; c < COUNTERS; c++) {
        bool inherited = was && there->count[c] >= was->count[c] + ended->count[c];
        if (inherited)
            was->count[c] += ended->count[c]; /* taken into account */
        else
            tree->gone[c] += ended->count[c];
    }
}

static void settle_all(struct rue_process_tree *tree)
{
    for (size_t i = 0; i < tree->before.count; i++) {
        const struct process *old = &tree->before.at[i];
        if (!is_same(find(&tree->now, old->pid), old)) settle(tree, old);
    }
}

/* A process that ends between two looks may be in two counts or in none: then the sum waits. */
static void sum_up(struct rue_process_tree *tree, uint64_t out[COUNTERS])
{
    for (int c = 0; c < COUNTERS; c++) {
        uint64_t sum = tree->gone[c];
        for (size_t i = 0; i < tree->now.count; i++) sum += tree->now.at[i].count[c];
        if (sum > tree->last[c]) tree->last[c] = sum;
        out[c] = tree->last[c] - tree->first[c];
    }
}

void rue_process_tree_read(struct rue_process_tree *tree, bool pss, struct rue_tree_usage *out)
{
    uint64_t sums[COUNTERS];
    walk(tree);
    settle_all(tree);
    sum_up(tree, sums);
    *out = (struct rue_tree_usage){.cpu_ns = sums[CPU], .read_bytes = sums[READ], .write_bytes = sums[WRITE]};
    for (size_t i = 0; i < tree->now.count; i++) {
        const struct process *process = &tree->now.at[i];
        if (process->pid == tree->root) continue;
        out->processes++;
        out->threads += process->threads;
        out->rss_bytes += process->rss_bytes;
        if (pss) out->pss_bytes += read_pss(process->pid);
    }
}

rue_status rue_process_tree_open(pid_t root, struct rue_process_tree **out, rue_error *error)
{
    char path[64];
    struct rue_tree_usage unused;
    struct rue_process_tree *tree = calloc(1, sizeof *tree);
    if (!tree) return rue_fail_memory(error, "a process tree", sizeof *tree);
    tree->root = root;
    tree->tick_ns = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
    tree->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    tree->lists_children = access(path, R_OK) == 0;
    rue_process_tree_read(tree, false, &unused);
    memcpy(tree->first, tree->last, sizeof tree->first);
    *out = tree;
    return RUE_OK;
}

void rue_process_tree_close(struct rue_process_tree *tree)
{
    if (!tree) return;
    free(tree->now.at);
    free(tree->before.at);
    free(tree);
}
