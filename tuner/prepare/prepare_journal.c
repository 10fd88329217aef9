#include "prepare_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "advice.h"
#include "crc32c.h"
#include "file_io.h"
#include "part.h"

/* As it lies in the file; of one machine and one version of rue, so that its layout is nobody else's. */
struct page {
    struct rue_prepare_journal journal;
    uint64_t crc;
};

static int open_page(const char *folder, int flags, char path[RUE_PART_BYTES + 16])
{
    snprintf(path, RUE_PART_BYTES + 16, "%s/journal", folder);
    return open(path, flags | O_CLOEXEC | O_NONBLOCK, 0666);
}

bool rue_prepare_journal_read(const char *folder, struct rue_prepare_journal *out)
{
    char path[RUE_PART_BYTES + 16];
    struct page page;
    int fd = open_page(folder, O_RDONLY, path);
    bool whole = fd >= 0 && rue_read_at(fd, &page, sizeof page, 0) &&
                 page.crc == rue_crc32c(0, &page.journal, sizeof page.journal);
    if (fd >= 0) close(fd);
    *out = whole ? page.journal : (struct rue_prepare_journal){0};
    return whole;
}

rue_status rue_prepare_journal_write(const char *folder, const struct rue_prepare_journal *journal,
                                     rue_error *error)
{
    char path[RUE_PART_BYTES + 16];
    struct page page = {*journal, rue_crc32c(0, journal, sizeof *journal)};
    int fd = open_page(folder, O_WRONLY | O_CREAT, path);
    if (fd < 0)
        return rue_fail(error, RUE_STORE, "cannot create %s: %s%s", path, strerror(errno), rue_advice(errno));
    rue_status status = rue_write_at(fd, path, &page, sizeof page, 0, error);
    if (status == RUE_OK) status = rue_write_flush(fd, path, error);
    close(fd);
    return status;
}
