#include "store_fixture.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "store_schema.h"

TestSuite(store_file, .init = folder_make, .fini = folder_remove, .timeout = 120);

static char *file_read(const char *file, size_t *bytes)
{
    FILE *stream = fopen(file, "rb");
    cr_assert(stream != NULL, "cannot open %s", file);
    char *content = calloc(1, 1 << 22);
    *bytes = fread(content, 1, 1 << 22, stream);
    fclose(stream);
    return content;
}

static void file_write(const char *file, const char *content, size_t bytes)
{
    FILE *stream = fopen(file, "wb");
    cr_assert(stream != NULL, "cannot write %s", file);
    cr_assert(fwrite(content, 1, bytes, stream) == bytes && fclose(stream) == 0, "cannot write %s", file);
}

/* Opening must fail with the path and `word` in the message, and leave the file as it was. */
static void check_refused(const char *word)
{
    size_t before_bytes, after_bytes;
    char *before = file_read(path, &before_bytes);
    rue_error error = {0};
    struct rue_store *store = NULL;
    rue_status status = rue_store_open(path, false, &store, &error);
    cr_assert(status == RUE_STORE, "not refused: status %d", (int)status);
    cr_assert(store == NULL, "a store came back with a failure");
    cr_assert(strstr(error.message, path) != NULL, "the message does not name the path: %s", error.message);
    cr_assert(strstr(error.message, word) != NULL, "the message does not say '%s': %s", word, error.message);
    cr_assert(strstr(error.message, "--fresh") != NULL, "the message does not say what to do: %s",
              error.message);
    char *after = file_read(path, &after_bytes);
    cr_assert(before_bytes == after_bytes && memcmp(before, after, before_bytes) == 0,
              "the file was changed");
    free(before);
    free(after);
}

Test(store_file, fresh_keeps_the_old_file)
{
    struct cell cell = cell_sample();
    struct rue_trial_result result = result_sample();
    char old[128];
    for (int round = 0; round < 3; round++) {
        struct rue_store *store = open_or_die(true);
        cr_assert(count_rows(store) == 0, "fresh is not empty");
        for (int i = 0; i <= round; i++) add_or_die(store, &cell, &result);
        rue_store_close(store);
    }
    snprintf(old, sizeof old, "%s.old", path);
    cr_assert(sql_run(old, "SELECT count(*) FROM trial") == 1, "%s", old);
    snprintf(old, sizeof old, "%s.old.2", path);
    cr_assert(sql_run(old, "SELECT count(*) FROM trial") == 2, "%s", old);
    cr_assert(sql_run(path, "SELECT count(*) FROM trial") == 3, "the new store");
}

/* A store of several hundred pages, closed, so that all of it is in the one file. */
static void store_fill(void)
{
    struct cell cell = cell_sample();
    struct rue_trial_result result = result_sample();
    result.ready_count = 2000;
    result.batch_ready_ns = times_make(2000, 1000000);
    struct rue_store *store = open_or_die(false);
    for (int i = 0; i < 40; i++) add_or_die(store, &cell, &result);
    rue_store_close(store);
    rue_trial_result_close(&result);
}

Test(store_file, damage_in_the_middle_is_refused_unchanged)
{
    store_fill();
    size_t bytes;
    char *content = file_read(path, &bytes);
    cr_assert(bytes > 100 * 4096, "too small a store for this test: %zu", bytes);
    for (size_t page = 1; page < 4; page++) memset(content + page * 4096, 0xA5, 4096);
    file_write(path, content, bytes);
    free(content);
    check_refused("damaged");

    struct rue_store *store = open_or_die(true);
    cr_assert(count_rows(store) == 0, "fresh is not empty");
    rue_store_close(store);
    char old[128];
    struct stat about;
    snprintf(old, sizeof old, "%s.old", path);
    cr_assert(stat(old, &about) == 0 && (size_t)about.st_size == bytes, "the damaged file was not kept");
}

Test(store_file, a_truncated_file_is_refused_unchanged)
{
    store_fill();
    struct stat about;
    cr_assert(stat(path, &about) == 0, "no file");
    const off_t sizes[] = {about.st_size / 2, 4096, 600, 511, 100, 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        cr_assert(truncate(path, sizes[i]) == 0, "truncate");
        check_refused(sizes[i] < 512 ? "too short" : "damaged");
    }
}

Test(store_file, a_damaged_file_with_a_log_is_not_changed)
{
    struct cell cell = cell_sample();
    struct rue_trial_result result = result_sample();
    store_fill();
    pid_t child = fork();
    if (child == 0) {
        struct rue_store *store = NULL;
        struct rue_store_trial row = row_make(&cell, &result);
        if (rue_store_open(path, false, &store, NULL) != RUE_OK) _exit(1);
        if (rue_store_add_trial(store, &row, NULL) != RUE_OK) _exit(2);
        raise(SIGKILL);
    }
    waitpid(child, NULL, 0);
    char wal[128];
    struct stat before, after;
    snprintf(wal, sizeof wal, "%s-wal", path);
    cr_assert(stat(wal, &before) == 0 && before.st_size > 0, "no log to test with");
    size_t bytes;
    char *content = file_read(path, &bytes);
    memset(content + bytes / 2, 0xA5, 8 * 4096);
    memset(content + 4096, 0xA5, 4096);
    file_write(path, content, bytes);
    free(content);
    check_refused("damaged");
    cr_assert(stat(wal, &after) == 0 && after.st_size == before.st_size, "the log was not left alone");

    cr_assert(truncate(path, 0) == 0, "truncate");
    check_refused("damaged");
    cr_assert(stat(wal, &after) == 0 && after.st_size == before.st_size,
              "the log of an emptied file was lost");
    rue_store_close(open_or_die(true));
    snprintf(wal, sizeof wal, "%s.old-wal", path);
    cr_assert(stat(wal, &after) == 0 && after.st_size == before.st_size, "fresh did not keep the log");
}

Test(store_file, files_of_others_are_refused_unchanged)
{
    file_write(path, "my notes\n", 9);
    check_refused("not a store of rue");
    char text[5000];
    memset(text, 'a', sizeof text);
    file_write(path, text, sizeof text);
    check_refused("not a store of rue");
    unlink(path);
    sql_run(path, "CREATE TABLE trial (id INTEGER)");
    check_refused("another program");
    unlink(path);
    sql_run(path, "PRAGMA application_id = 12; CREATE TABLE trial (id INTEGER)");
    check_refused("another program");
}

Test(store_file, a_newer_version_is_refused_unchanged)
{
    store_fill();
    sql_run(path, "PRAGMA user_version = 99");
    check_refused("newer");
}

Test(store_file, an_older_version_is_refused_unchanged)
{
    store_fill();
    sql_run(path, "PRAGMA user_version = 3");
    check_refused("written by an older rue with schema version 3; this rue reads version 10; use the rue "
                  "that wrote it");
}

/* The columns of a store are those that its rue declares. Where this fails, raise RUE_STORE_VERSION and write
 * the new number of columns here. */
Test(store_file, a_new_column_is_a_new_version)
{
    store_fill();
    cr_assert_eq(sql_run(path, "SELECT count(*) FROM sqlite_master, pragma_table_info(sqlite_master.name)"
                               " WHERE sqlite_master.type = 'table'"),
                 91);
    cr_assert_eq(RUE_STORE_VERSION, 10);
}

Test(store_file, an_empty_file_becomes_a_store)
{
    file_write(path, "", 0);
    rue_store_close(open_or_die(false));
    cr_assert(sql_run(path, "PRAGMA application_id") == RUE_STORE_APPLICATION_ID, "application_id");
}

Test(store_file, a_missing_folder_is_named)
{
    char missing[128];
    snprintf(missing, sizeof missing, "%s/not/study.db", folder);
    struct rue_store *store = NULL;
    rue_error error = {0};
    cr_assert(rue_store_open(missing, false, &store, &error) == RUE_STORE, "opened");
    missing[strlen(missing) - strlen("/study.db")] = 0;
    cr_assert(strstr(error.message, missing) && strstr(error.message, "No such file"), "%s", error.message);
    rue_error_clear(&error);
    cr_assert(rue_store_open(folder, false, &store, &error) == RUE_STORE, "a folder was opened");
    cr_assert(strstr(error.message, "not a regular file"), "%s", error.message);
}

/* What a forked child found: only the parent asserts. */
struct finding {
    rue_status status;
    uint64_t added;
    rue_error error;
};

static struct finding finding_read(int pipe_end)
{
    struct finding finding = {.status = RUE_INTERNAL};
    cr_assert(read(pipe_end, &finding, sizeof finding) == sizeof finding, "the child found nothing");
    return finding;
}

static void finding_write(int pipe_end, const struct finding *finding)
{
    _exit(write(pipe_end, finding, sizeof *finding) == sizeof *finding ? 0 : 1);
}

Test(store_file, a_read_only_folder_or_file_is_refused)
{
    const mode_t modes[] = {0555, 0755};
    rue_store_close(open_or_die(false));
    cr_assert(chmod(path, 0444) == 0, "chmod");
    for (int i = 0; i < 2; i++) {
        cr_assert(chmod(folder, modes[i]) == 0, "chmod");
        if (geteuid() == 0 && i == 1) cr_assert(chown(folder, 65534, 65534) == 0, "chown");
        int ends[2];
        cr_assert(pipe(ends) == 0, "pipe");
        pid_t child = fork();
        if (child == 0) {
            struct finding finding = {0};
            struct rue_store *store = NULL;
            /* To root every folder is writable. */
            if (geteuid() == 0 && setuid(65534) != 0) _exit(1);
            finding.status = rue_store_open(path, false, &store, &finding.error);
            finding_write(ends[1], &finding);
        }
        struct finding finding = finding_read(ends[0]);
        waitpid(child, NULL, 0);
        close(ends[0]);
        close(ends[1]);
        cr_assert(finding.status == RUE_STORE, "status %d", (int)finding.status);
        cr_assert(strstr(finding.error.message, path) && strstr(finding.error.message, "writable"), "%s",
                  finding.error.message);
    }
}

Test(store_file, a_full_disk_fails_the_row_and_keeps_the_others)
{
    int ends[2];
    cr_assert(pipe(ends) == 0, "pipe");
    pid_t child = fork();
    if (child == 0) {
        struct cell cell = cell_sample();
        struct rue_trial_result result = result_sample();
        struct finding finding = {0};
        struct rue_store *store = NULL;
        struct rlimit limit = {300000, 300000};
        signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
        finding.status = rue_store_open(path, false, &store, &finding.error);
        while (finding.status == RUE_OK && finding.added < 100000) {
            struct rue_store_trial row = row_make(&cell, &result);
            finding.status = rue_store_add_trial(store, &row, &finding.error);
            finding.added += finding.status == RUE_OK;
        }
        rue_store_close(store);
        finding_write(ends[1], &finding);
    }
    struct finding finding = finding_read(ends[0]);
    waitpid(child, NULL, 0);
    close(ends[0]);
    close(ends[1]);
    cr_assert(finding.status == RUE_STORE && finding.added > 0, "status %d after %lu rows: %s",
              (int)finding.status, (unsigned long)finding.added, finding.error.message);
    cr_assert(strstr(finding.error.message, path) && strstr(finding.error.message, "disk is full"), "%s",
              finding.error.message);
    struct rue_store *store = open_or_die(false);
    cr_assert(count_rows(store) == finding.added, "%lu rows were acknowledged, %lu are there",
              (unsigned long)finding.added, (unsigned long)count_rows(store));
    rue_store_close(store);
}

Test(store_file, a_full_disk_fails_the_run)
{
    int ends[2];
    cr_assert(pipe(ends) == 0, "pipe");
    pid_t child = fork();
    if (child == 0) {
        struct finding finding = {0};
        struct rue_store *store = NULL;
        struct stat about;
        char wal[sizeof path + 8];
        signal(SIGXFSZ, SIG_IGN);
        snprintf(wal, sizeof wal, "%s-wal", path);
        if (rue_store_open(path, false, &store, NULL) != RUE_OK || stat(wal, &about) != 0) _exit(1);
        struct rlimit limit = {(rlim_t)about.st_size, (rlim_t)about.st_size};
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
        finding.status =
            rue_store_begin_run(store, "rue tune", "0.1", "2026-01-01", &rue_own_knobs, &finding.error);
        finding_write(ends[1], &finding);
    }
    struct finding finding = finding_read(ends[0]);
    waitpid(child, NULL, 0);
    close(ends[0]);
    close(ends[1]);
    cr_assert(finding.status == RUE_STORE, "status %d", (int)finding.status);
    cr_assert(strstr(finding.error.message, "disk is full"), "%s", finding.error.message);
}

/* Adds long rows for ever, reporting the id of each that was acknowledged. */
static void add_for_ever(int pipe_end)
{
    struct cell cell = cell_sample();
    struct rue_trial_result result = result_sample();
    result.ready_count = 4096;
    result.batch_ready_ns = times_make(4096, 1000000);
    struct rue_store *store = NULL;
    if (rue_store_open(path, false, &store, NULL) != RUE_OK) _exit(1);
    for (;;) {
        struct rue_store_trial row = row_make(&cell, &result);
        if (rue_store_add_trial(store, &row, NULL) != RUE_OK) _exit(2);
        if (write(pipe_end, &row.id, sizeof row.id) != sizeof row.id) _exit(3);
    }
}

Test(store_file, acknowledged_rows_survive_a_kill)
{
    uint64_t last = 0;
    for (int round = 0; round < 6; round++) {
        int ends[2];
        cr_assert(pipe(ends) == 0, "pipe");
        pid_t child = fork();
        if (child == 0) add_for_ever(ends[1]);
        close(ends[1]);
        /* About 12 pages a row: the longer rounds see several automatic checkpoints. */
        uint64_t target = last + 1 + (uint64_t)round * 61, id = 0;
        while (read(ends[0], &id, sizeof id) == sizeof id && id < target) last = id;
        kill(child, SIGKILL);
        last = id > last ? id : last;
        while (read(ends[0], &id, sizeof id) == sizeof id) last = id;
        int status = 0;
        waitpid(child, &status, 0);
        close(ends[0]);
        cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "round %d: the child ended by itself",
                  round);

        struct rue_store *store = open_or_die(false);
        uint64_t count = count_rows(store);
        cr_assert(count == last || count == last + 1, "round %d: %lu acknowledged, %lu there", round,
                  (unsigned long)last, (unsigned long)count);
        cr_assert(sql_run(path, "SELECT max(id) = count(*) FROM trial") == 1, "round %d: a gap", round);
        rue_store_close(store);
        last = count;
    }
}
