#include "read_ahead.h"

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "file_io.h"

enum { REFUSED_US = 100 };

struct read {
    uint64_t item;
    struct rue_place place;
    char *into;
    bool in_flight;
    uint64_t read_bytes;
};

struct rue_read_ahead {
    struct io_uring ring;
    bool has_ring, uses_ring;
    char *buffers; /* [RUE_READ_AHEAD_MAX][buffer_bytes] */
    size_t buffer_bytes;
    struct read reads[RUE_READ_AHEAD_MAX]; /* a queue of `count` from `oldest` on */
    size_t oldest, count;
};

/* Opens a ring. False: the system has none, it would use one of the last descriptors, or filters of system
 * calls forbid it. */
static bool open_ring(struct io_uring *ring)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || io_uring_queue_init(RUE_READ_AHEAD_MAX, ring, 0) != 0)
        return false;
    struct io_uring_cqe *completion;
    io_uring_prep_nop(io_uring_get_sqe(ring));
    bool works = (rlim_t)ring->ring_fd < limit.rlim_cur / 2 && io_uring_submit_and_wait(ring, 1) == 1 &&
                 io_uring_peek_cqe(ring, &completion) == 0;
    if (works)
        io_uring_cqe_seen(ring, completion);
    else
        io_uring_queue_exit(ring);
    return works;
}

bool rue_read_ahead_is_permitted(void)
{
    struct io_uring ring;
    int failed = io_uring_queue_init(1, &ring, 0);
    if (failed == 0) io_uring_queue_exit(&ring);
    return failed != -ENOSYS && failed != -EPERM && failed != -EACCES;
}

rue_status rue_read_ahead_open(size_t buffer_bytes, struct rue_read_ahead **out, rue_error *error)
{
    struct rue_read_ahead *ahead = calloc(1, sizeof *ahead);
    if (!ahead) return rue_fail_memory(error, "reads ahead", sizeof *ahead);
    ahead->buffer_bytes = buffer_bytes;
    if (buffer_bytes) ahead->buffers = aligned_alloc(RUE_BLOCK_BYTES, RUE_READ_AHEAD_MAX * buffer_bytes);
    if (buffer_bytes && !ahead->buffers) {
        free(ahead);
        return rue_fail_memory(error, "buffers to read ahead", RUE_READ_AHEAD_MAX * buffer_bytes);
    }
    ahead->has_ring = open_ring(&ahead->ring);
    ahead->uses_ring = ahead->has_ring;
    *out = ahead;
    return RUE_OK;
}

void rue_read_ahead_close(struct rue_read_ahead *ahead)
{
    if (!ahead) return;
    rue_read_ahead_discard(ahead);
    if (ahead->has_ring) io_uring_queue_exit(&ahead->ring);
    free(ahead->buffers);
    free(ahead);
}

bool rue_read_ahead_is_busy(const struct rue_read_ahead *ahead)
{
    return ahead->count > 0;
}

/* After a refusal no more reads are submitted: the refused one is still in the ring, and must not start when
 * no caller waits for it. */
static void submit_read(struct rue_read_ahead *ahead, struct read *read)
{
    struct io_uring_sqe *entry = io_uring_get_sqe(&ahead->ring);
    io_uring_prep_read(entry, read->place.fd, read->into, (unsigned)read->place.bytes, read->place.offset);
    io_uring_sqe_set_data(entry, read);
    ahead->uses_ring = read->in_flight = io_uring_submit(&ahead->ring) == 1;
}

bool rue_read_ahead_begin(struct rue_read_ahead *ahead, uint64_t item, const struct rue_place *place,
                          void *into)
{
    if (ahead->count == RUE_READ_AHEAD_MAX || (!into && place->bytes > ahead->buffer_bytes)) return false;
    if (ahead->count == 0) ahead->oldest = 0; /* reuse the same buffer: it is in the CPU's cache */
    size_t slot = (ahead->oldest + ahead->count++) % RUE_READ_AHEAD_MAX;
    char *buffer = into ? into : ahead->buffers + slot * ahead->buffer_bytes;
    ahead->reads[slot] = (struct read){.item = item, .place = *place, .into = buffer};
    if (ahead->uses_ring && place->bytes <= INT32_MAX) submit_read(ahead, &ahead->reads[slot]);
    return true;
}

static void wait_for_read(struct rue_read_ahead *ahead, const struct read *read)
{
    while (read->in_flight) {
        struct io_uring_cqe *completion;
        if (io_uring_wait_cqe(&ahead->ring, &completion) != 0) {
            usleep(REFUSED_US); /* interrupted or refused: poll */
            continue;
        }
        struct read *completed = io_uring_cqe_get_data(completion);
        completed->in_flight = false;
        completed->read_bytes = completion->res > 0 ? (uint64_t)completion->res : 0;
        io_uring_cqe_seen(&ahead->ring, completion);
    }
}

/* Reads the missing bytes: all of them without a ring. False: the file ends, or storage failed. */
static bool read_rest(const struct read *read)
{
    const struct rue_place *place = &read->place;
    return rue_read_at(place->fd, read->into + read->read_bytes, place->bytes - read->read_bytes,
                       place->offset + read->read_bytes);
}

static struct read *pop_read(struct rue_read_ahead *ahead)
{
    struct read *read = &ahead->reads[ahead->oldest];
    wait_for_read(ahead, read);
    ahead->oldest = (ahead->oldest + 1) % RUE_READ_AHEAD_MAX;
    ahead->count--;
    return read;
}

void *rue_read_ahead_finish(struct rue_read_ahead *ahead, uint64_t item)
{
    if (ahead->count == 0 || ahead->reads[ahead->oldest].item != item) return NULL;
    struct read *read = pop_read(ahead);
    return read_rest(read) ? read->into : NULL;
}

void rue_read_ahead_discard(struct rue_read_ahead *ahead)
{
    while (ahead->count > 0) pop_read(ahead);
}
