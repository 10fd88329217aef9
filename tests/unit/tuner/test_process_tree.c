#include "process_tree.h"

#include <criterion/criterion.h>
#include <sys/mman.h>

#include "file_io.h"
#include "temporary_folder.h"
#include "tree_fixture.h"
#include "units.h"

enum { BYTES = 8 << 20, HELD = 64 << 20, BURNT_MS = 200 };

/* The kernel reports user and system time each in whole ticks of 10 ms, up to one tick late. */
static const uint64_t burnt_ns = (BURNT_MS - 30) * RUE_NS_PER_MS;

static struct rue_process_tree tree;

static void setup(void)
{
    temporary_folder_make();
}

static void teardown(void)
{
    rue_descendants_close(&tree.below);
    tree_close();
    temporary_folder_remove();
}

TestSuite(process_tree, .init = setup, .fini = teardown, .timeout = 60);

static void begin(void (*work)(void))
{
    tree_open(work);
    tree = (struct rue_process_tree){.root = tree_root};
}

static struct rue_tree_usage look(void)
{
    struct rue_tree_usage usage;
    rue_process_tree_read(&tree, &usage);
    return usage;
}

static struct rue_tree_usage look_until(unsigned processes)
{
    struct rue_tree_usage usage = look();
    for (int i = 0; i < 4000 && usage.processes != processes; i++) usleep(5000), usage = look();
    cr_assert_eq(usage.processes, processes);
    return usage;
}

/* ---- what children do ---- */

static void burn(void)
{
    tree_step();
    tree_burn(BURNT_MS);
    tree_write_line();
    tree_step();
}

/* Reads one step only: of several such children, each is given its own. It ends with the root. */
static void burn_and_stay(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    tree_step();
    tree_burn(BURNT_MS);
    tree_write_line();
    pause();
}

static void hold(void)
{
    tree_step();
    char *memory = mmap(NULL, HELD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 1, HELD);
    tree_write_line();
    tree_step();
    munmap(memory, HELD);
    tree_write_line();
    tree_step();
}

static void read_file(void)
{
    static char data[BYTES];
    tree_step();
    int fd = open(temporary_path("data"), O_RDONLY);
    if (read(fd, data, BYTES) != BYTES) _exit(1);
    tree_write_line();
    tree_step();
}

static void fork_burner(void)
{
    tree_fork(burn);
}

static void fork_two_burners(void)
{
    tree_fork(burn_and_stay);
    tree_fork(burn_and_stay);
}

static void fork_holder(void)
{
    tree_fork(hold);
}

static void fork_reader(void)
{
    tree_fork(read_file);
}

/* Its child is the root's when it ends. */
static void exit_with_a_running_child(void)
{
    tree_fork(burn);
    while (access(temporary_path("leave"), F_OK) != 0) usleep(1000);
}

static void fork_parent_that_exits(void)
{
    tree_fork(exit_with_a_running_child);
}

/* Nobody waits for its child. */
static void ignore_child(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGCHLD, SIG_IGN);
    tree_fork(burn);
    pause();
}

static void fork_ignorer(void)
{
    tree_fork(ignore_child);
}

static void fork_without_wait(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        pid_t child = fork();
        if (child == 0) {
            tree_burn(1);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
}

static void fork_restless(void)
{
    for (int i = 0; i < 4; i++) tree_fork(fork_without_wait);
}

/* ---- claims ---- */

Test(process_tree, work_of_children_is_counted_without_the_root)
{
    begin(fork_two_burners);
    struct rue_tree_usage before = look_until(2);
    cr_assert_eq(before.threads, 2);
    for (int i = 0; i < 2; i++) tree_go(), tree_await();
    cr_assert_geq(look().cpu_ns, before.cpu_ns + 2 * burnt_ns);
}

Test(process_tree, memory_is_the_present_memory)
{
    begin(fork_holder);
    tree_go();
    tree_await();
    struct rue_tree_usage held = look();
    cr_assert_geq(held.rss_bytes, HELD);
    tree_go();
    tree_await();
    cr_assert_leq(look().rss_bytes, held.rss_bytes - HELD / 2);
}

/* A file that is on storage alone; false where there is no such thing. */
static bool make_cold_file(void)
{
    static char data[BYTES];
    uint64_t there;
    temporary_file("data", data, sizeof data);
    int fd = open(temporary_path("data"), O_RDONLY);
    rue_page_cache_evict(fd);
    bool cold =
        rue_page_cache_count(fd, 0, BYTES, &there) && there == 0 && access("/proc/self/io", R_OK) == 0;
    close(fd);
    return cold;
}

Test(process_tree, bytes_from_storage_are_counted_once)
{
    bool cold = make_cold_file();
    begin(fork_reader);
    if (!cold) cr_skip("nothing can be cold here");
    tree_go();
    tree_await();
    uint64_t seen = look().read_bytes;
    cr_assert(seen >= BYTES && seen < 2 * BYTES, "%lu", seen);
    tree_go(); /* it ends, and the root waits for it */
    tree_await();
    uint64_t after = look().read_bytes;
    cr_assert(after >= seen && after < 2 * BYTES, "%lu", after);
    cr_assert_eq(look().read_bytes, after);
}

Test(process_tree, usage_of_an_ended_process_is_kept_and_counts_once)
{
    begin(fork_burner);
    tree_go();
    tree_await();
    uint64_t seen = look().cpu_ns;
    cr_assert_geq(seen, burnt_ns);
    tree_go();
    tree_await();
    struct rue_tree_usage after = look();
    cr_assert(after.processes == 0 && after.rss_bytes == 0);
    cr_assert(after.cpu_ns >= seen && after.cpu_ns < seen + burnt_ns, "%lu after %lu", after.cpu_ns, seen);
    cr_assert_eq(look().cpu_ns, after.cpu_ns);
}

Test(process_tree, an_unseen_process_is_counted_if_its_parent_waited)
{
    begin(fork_burner);
    for (int i = 0; i < 2; i++) tree_go(), tree_await();
    struct rue_tree_usage after = look();
    cr_assert_eq(after.processes, 0);
    cr_assert_geq(after.cpu_ns, burnt_ns);
}

Test(process_tree, a_process_without_a_waiting_parent_is_counted)
{
    begin(fork_ignorer);
    tree_go();
    tree_await();
    uint64_t seen = look().cpu_ns;
    tree_go(); /* it vanishes at once */
    struct rue_tree_usage after = look_until(1);
    cr_assert(after.cpu_ns >= seen && seen >= burnt_ns);
}

Test(process_tree, orphans_are_still_counted_and_only_once)
{
    begin(fork_parent_that_exits);
    look_until(2);
    temporary_text("leave", "");
    tree_await();
    look_until(1);
    tree_go();
    tree_await();
    struct rue_tree_usage after = look();
    cr_assert(after.cpu_ns >= burnt_ns && after.cpu_ns < 2 * burnt_ns, "%lu", after.cpu_ns);
}

Test(process_tree, counters_never_decrease_while_processes_start_and_end)
{
    begin(fork_restless);
    struct rue_tree_usage last = {0};
    for (int i = 0; i < 300 || last.cpu_ns == 0; i++) { /* on a busy machine its turn comes late */
        struct rue_tree_usage now = look();
        cr_assert(now.cpu_ns >= last.cpu_ns && now.read_bytes >= last.read_bytes &&
                  now.write_bytes >= last.write_bytes);
        last = now;
    }
    cr_assert_geq(last.processes, 1);
}

Test(process_tree, an_ended_process_has_no_memory)
{
    begin(fork_burner);
    look_until(1);
    kill(tree_root, SIGKILL);
    cr_assert_eq(look_until(0).rss_bytes, 0);
}
