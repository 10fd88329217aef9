#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "temporary_folder.h"
#include "walk.h"

TestSuite(walk, .init = temporary_folder_make, .fini = temporary_folder_remove, .timeout = 60);

/* What was met, and at which visit the visitor is to fail; 0: never. */
struct visits {
    int count[RUE_WALK_OTHER + 1], files_with_bytes, fail_at;
    char last[PATH_MAX];
};

static rue_status visit(void *context, const struct rue_walk_entry *entry, rue_error *error)
{
    struct visits *visits = context;
    visits->count[entry->kind]++;
    visits->files_with_bytes += entry->kind == RUE_WALK_FILE && entry->bytes == 3;
    if (entry->kind != RUE_WALK_FOLDER) snprintf(visits->last, sizeof visits->last, "%s", entry->path);
    size_t length = strlen(entry->path), name = strlen(entry->name);
    cr_assert_str_eq(entry->path + length - name, entry->name, "the name is the path's last part");
    cr_assert(length == name || entry->path[length - name - 1] == '/');
    return visits->count[entry->kind] == visits->fail_at ? rue_fail(error, RUE_STORE, "enough") : RUE_OK;
}

static rue_status walk(const char *name, struct visits *visits, rue_error *error)
{
    const char *path = temporary_path(name);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cr_assert_geq(fd, 0);
    rue_status status = rue_walk(path, fd, visit, visits, error);
    close(fd);
    return status;
}

static void link_to(const char *target, const char *name)
{
    cr_assert_eq(symlink(target, temporary_path(name)), 0);
}

Test(walk, meets_every_kind_once)
{
    struct visits visits = {0};
    temporary_text("data/a/b/c/1", "abc");
    temporary_text("data/2", "abc");
    temporary_text("data/.3", "abc");
    temporary_text("data/.d/4", "abc");
    cr_assert_eq(mkdir(temporary_path("data/empty"), 0777), 0);
    cr_assert_eq(mkfifo(temporary_path("data/a/fifo"), 0777), 0);
    link_to("nowhere", "data/a/b/x");
    link_to("y", "data/a/b/y");
    link_to("2/below", "data/z");
    link_to("../2", "data/a/again");
    cr_assert_eq(walk("data", &visits, NULL), RUE_OK);
    cr_assert_eq(visits.count[RUE_WALK_FILE], 3);
    cr_assert_eq(visits.files_with_bytes, 3, "the size of a link is that of its file");
    cr_assert_eq(visits.count[RUE_WALK_DANGLING], 3);
    cr_assert_eq(visits.count[RUE_WALK_OTHER], 1);
}

Test(walk, upper_folders_come_before_lower_ones)
{
    struct visits visits = {0};
    temporary_text("data/a/b/deep", "");
    temporary_text("data/z", "");
    temporary_text("data/b/2", "");
    cr_assert_eq(walk("data", &visits, NULL), RUE_OK);
    cr_assert_str_eq(visits.last, "a/b/deep");
}

Test(walk, a_visit_that_fails_ends_it)
{
    struct visits visits = {.fail_at = 2};
    rue_error error = {0};
    for (char name[] = "data/a"; name[5] < 'f'; name[5]++) temporary_text(name, "");
    cr_assert_eq(walk("data", &visits, &error), RUE_STORE);
    cr_assert_eq(visits.count[RUE_WALK_FILE], 2);
    cr_assert_str_eq(error.message, "enough");
}

/* The kind of `path` among what the walk of "data" met. */
static enum rue_walk_kind wanted_kind;
static const char *wanted_path;
static int met;

static rue_status look_for(void *context, const struct rue_walk_entry *entry, rue_error *error)
{
    (void)context, (void)error;
    met += entry->kind == wanted_kind && strcmp(entry->path, wanted_path) == 0;
    return RUE_OK;
}

static void expect_met(enum rue_walk_kind kind, const char *path)
{
    int fd = open(temporary_path("data"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    wanted_kind = kind;
    wanted_path = path;
    met = 0;
    cr_assert_eq(rue_walk("data", fd, look_for, NULL, NULL), RUE_OK);
    cr_assert_eq(met, 1, "%s was met %d times", path, met);
    close(fd);
}

Test(walk, a_real_folder_is_read_and_a_link_to_it_is_not)
{
    struct visits visits = {0};
    temporary_text("data/b/1", "");
    link_to("b", "data/a");
    link_to("b", "data/z");
    temporary_text("data/c/d/2", "");
    link_to("c/d", "data/0");
    cr_assert_eq(walk("data", &visits, NULL), RUE_OK);
    cr_assert_eq(visits.count[RUE_WALK_FILE], 2);
    cr_assert_eq(visits.count[RUE_WALK_AGAIN], 3);
    expect_met(RUE_WALK_FILE, "b/1");
    expect_met(RUE_WALK_FILE, "c/d/2");
    expect_met(RUE_WALK_AGAIN, "0");
}

Test(walk, links_that_lead_to_each_other_are_followed_once)
{
    struct visits visits = {0};
    temporary_text("data/a/1", "");
    temporary_text("data/b/1", "");
    link_to("../b", "data/a/to_b");
    link_to("../a", "data/b/to_a");
    link_to("..", "data/a/up");
    cr_assert_eq(walk("data", &visits, NULL), RUE_OK);
    cr_assert_eq(visits.count[RUE_WALK_FILE], 2);
    cr_assert_eq(visits.count[RUE_WALK_AGAIN], 3);
}

Test(walk, a_folder_elsewhere_is_read_by_the_first_link_to_it)
{
    struct visits visits = {0};
    temporary_text("data/own/1", "");
    temporary_text("elsewhere/2", "");
    temporary_text("elsewhere/below/3", "");
    link_to("../elsewhere/below", "data/deep");
    link_to("../elsewhere", "data/whole");
    link_to("../elsewhere", "data/again");
    cr_assert_eq(walk("data", &visits, NULL), RUE_OK);
    cr_assert_eq(visits.count[RUE_WALK_FILE], 3);
    expect_met(RUE_WALK_FILE, "again/2");
    expect_met(RUE_WALK_FILE, "again/below/3");
    expect_met(RUE_WALK_AGAIN, "deep");
    expect_met(RUE_WALK_AGAIN, "whole");
}

/* A link is followed before what it leads to is found below another one. */
Test(walk, a_folder_below_one_that_a_link_leads_to_is_read_once)
{
    struct visits visits = {0};
    temporary_text("data/own/1", "");
    temporary_text("elsewhere/below/3", "");
    link_to("../elsewhere/below", "data/a");
    link_to("../elsewhere", "data/b");
    cr_assert_eq(walk("data", &visits, NULL), RUE_OK);
    expect_met(RUE_WALK_FILE, "a/3");
    expect_met(RUE_WALK_AGAIN, "b/below");
}

Test(walk, two_links_a_level_are_linear)
{
    enum { LEVELS = 28 };
    struct visits visits = {0};
    char name[64], to[64];
    for (int i = 0; i < LEVELS; i++) {
        snprintf(name, sizeof name, "farm/%d", i);
        temporary_text(strcat(name, "/1"), "");
    }
    for (int i = 0; i + 1 < LEVELS; i++)
        for (int k = 0; k < 2; k++) {
            snprintf(name, sizeof name, "farm/%d/%c", i, 'a' + k);
            snprintf(to, sizeof to, "../%d", i + 1);
            link_to(to, name);
        }
    cr_assert_eq(walk("farm/0", &visits, NULL), RUE_OK);
    cr_assert_eq(visits.count[RUE_WALK_FILE], LEVELS);
    cr_assert_eq(visits.count[RUE_WALK_AGAIN], LEVELS - 1);
}

/* Makes folders of this many letters below "data", so that the path of the file in the last has `bytes`. */
static void make_long_path(size_t bytes)
{
    char name[] = "ddddddddddddddddddddddddddddddddddddddddddddddddd"; /* 49 */
    size_t used = strlen(temporary_path("data"));
    cr_assert_eq(mkdir(temporary_path("data"), 0777), 0);
    int fd = open(temporary_path("data"), O_RDONLY | O_DIRECTORY);
    for (; bytes - used > 100; used += sizeof name) {
        cr_assert_eq(mkdirat(fd, name, 0777), 0);
        int below = openat(fd, name, O_RDONLY | O_DIRECTORY);
        close(fd);
        fd = below;
    }
    char last[101] = "";
    memset(last, 'f', bytes - used - 1);
    close(openat(fd, last, O_WRONLY | O_CREAT, 0666));
    close(fd);
}

Test(walk, the_longest_path_is_read)
{
    struct visits visits = {0};
    make_long_path(PATH_MAX - 1);
    cr_assert_eq(walk("data", &visits, NULL), RUE_OK);
    cr_assert_eq(visits.count[RUE_WALK_FILE], 1);
}

Test(walk, a_longer_path_is_an_error)
{
    struct visits visits = {0};
    rue_error error = {0};
    make_long_path(PATH_MAX);
    cr_assert_eq(walk("data", &visits, &error), RUE_DATA);
    cr_assert(strstr(error.message, "File name too long"), "%s", error.message);
    cr_assert_eq(rename(temporary_path("data"), temporary_path("d")), 0, "short enough to be removed");
}

Test(walk, one_descriptor_is_enough_and_none_is_told)
{
    struct visits visits = {0};
    rue_error error = {0};
    struct rlimit before, limit;
    temporary_text("data/a/b/c/d/e/1", "");
    temporary_text("data/f/g/2", "");
    int root = open(temporary_path("data"), O_RDONLY | O_DIRECTORY), next = dup(root);
    close(next);
    getrlimit(RLIMIT_NOFILE, &before);
    limit = (struct rlimit){(rlim_t)next + 1, before.rlim_max};
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    rue_status enough = rue_walk("data", root, visit, &visits, &error);
    limit.rlim_cur = (rlim_t)next;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    rue_status none = rue_walk("data", root, visit, &visits, &error);
    setrlimit(RLIMIT_NOFILE, &before);
    cr_assert_eq(enough, RUE_OK, "%s", error.message);
    cr_assert_eq(visits.count[RUE_WALK_FILE], 2);
    cr_assert_eq(none, RUE_INFEASIBLE);
    cr_assert(strstr(error.message, "cannot read data: Too many open files"), "%s", error.message);
    close(root);
}
