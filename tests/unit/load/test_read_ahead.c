#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "read_ahead.h"
#include "temporary_folder.h"

enum { BYTES = 400000, PIECES = 200 };

static unsigned char *content;
static int fd;

static void make_file(void)
{
    temporary_folder_make();
    content = malloc(BYTES);
    for (size_t i = 0; i < BYTES; i++) content[i] = (unsigned char)(i * 7 % 251 ^ i >> 12);
    fd = open(temporary_path("x"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    cr_assert(fd >= 0 && write(fd, content, BYTES) == BYTES);
}

static void remove_file(void)
{
    close(fd);
    free(content);
    temporary_folder_remove();
}

TestSuite(read_ahead, .init = make_file, .fini = remove_file, .timeout = 30);

static struct rue_read_ahead *open_ahead(size_t buffer_bytes)
{
    struct rue_read_ahead *ahead;
    rue_error error = {0};
    cr_assert_eq(rue_read_ahead_open(buffer_bytes, &ahead, &error), RUE_OK, "%s", error.message);
    return ahead;
}

/* Piece `i`: of any length, anywhere. */
static struct rue_place piece(unsigned i)
{
    uint64_t offset = i * UINT64_C(7919) % BYTES, bytes = 1 + i * UINT64_C(104729) % 9000;
    return (struct rue_place){fd, NULL, offset, bytes < BYTES - offset ? bytes : BYTES - offset};
}

static bool begin(struct rue_read_ahead *ahead, unsigned i)
{
    struct rue_place place = piece(i);
    return rue_read_ahead_begin(ahead, i, &place, NULL);
}

static void expect_piece(struct rue_read_ahead *ahead, unsigned i)
{
    struct rue_place place = piece(i);
    const void *bytes = rue_read_ahead_finish(ahead, i);
    cr_assert_not_null(bytes);
    cr_assert_eq(memcmp(bytes, content + place.offset, place.bytes), 0, "piece %u", i);
}

/* As many at once as there may be, to the end. */
static void expect_all_pieces(void)
{
    struct rue_read_ahead *ahead = open_ahead(3 * RUE_BLOCK_BYTES);
    for (unsigned i = 0, begun = 0; i < PIECES; i++) {
        while (begun < PIECES && begin(ahead, begun)) begun++;
        cr_assert_eq(begun, i + RUE_READ_AHEAD_MAX < PIECES ? i + RUE_READ_AHEAD_MAX : PIECES);
        expect_piece(ahead, i);
    }
    cr_assert(!rue_read_ahead_is_busy(ahead));
    rue_read_ahead_close(ahead);
}

Test(read_ahead, brings_every_byte)
{
    expect_all_pieces();
}

Test(read_ahead, works_without_refused_system_calls)
{
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    struct rlimit none = {0, limit.rlim_max};
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    expect_all_pieces();
    setrlimit(RLIMIT_NOFILE, &limit);
}

Test(read_ahead, writes_bytes_to_the_given_address)
{
    static char into[10000];
    struct rue_read_ahead *ahead = open_ahead(0);
    struct rue_place place = {fd, NULL, 123, sizeof into};
    cr_assert(rue_read_ahead_begin(ahead, 5, &place, into));
    cr_assert_eq(rue_read_ahead_finish(ahead, 5), into);
    cr_assert_eq(memcmp(into, content + 123, sizeof into), 0);
    rue_read_ahead_close(ahead);
}

Test(read_ahead, delivers_only_the_requested_item)
{
    struct rue_read_ahead *ahead = open_ahead(3 * RUE_BLOCK_BYTES);
    cr_assert_null(rue_read_ahead_finish(ahead, 0), "nothing was begun");
    cr_assert(begin(ahead, 1) && begin(ahead, 2));
    cr_assert_null(rue_read_ahead_finish(ahead, 2));
    cr_assert(rue_read_ahead_is_busy(ahead));
    expect_piece(ahead, 1);
    rue_read_ahead_discard(ahead);
    cr_assert(!rue_read_ahead_is_busy(ahead));
    cr_assert(begin(ahead, 3));
    expect_piece(ahead, 3);
    cr_assert(begin(ahead, 4));
    rue_read_ahead_close(ahead);
}

Test(read_ahead, fails_for_missing_bytes)
{
    struct rue_read_ahead *ahead = open_ahead(3 * RUE_BLOCK_BYTES);
    struct rue_place past_the_end = {fd, NULL, BYTES - 10, 20}, closed = {-1, NULL, 0, 10};
    cr_assert(rue_read_ahead_begin(ahead, 0, &past_the_end, NULL) &&
              rue_read_ahead_begin(ahead, 1, &closed, NULL) && begin(ahead, 2));
    cr_assert_null(rue_read_ahead_finish(ahead, 0));
    cr_assert_null(rue_read_ahead_finish(ahead, 1));
    expect_piece(ahead, 2);
    rue_read_ahead_close(ahead);
}
