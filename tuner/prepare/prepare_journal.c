#include "prepare_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "advice.h"
#include "crc32c.h"
#include "file_io.h"
#include "part.h"

/* As it lies in the file; of one machine and one version of rue, so that its layout is nobody else's. */
struct page {
    char magic[8];
    struct rue_prepare_journal journal;
    uint64_t crc;
};

static const char magic[8] = "RUEJRNL2";

static uint64_t crc_of(const struct page *page)
{
    return rue_crc32c(0, page, offsetof(struct page, crc));
}

bool rue_prepare_journal_read(const char *path, struct rue_prepare_journal *out)
{
    struct page page;
    *out = (struct rue_prepare_journal){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    bool whole = rue_read_at(fd, &page, sizeof page, 0) && memcmp(page.magic, magic, sizeof magic) == 0 &&
                 page.crc == crc_of(&page);
    close(fd);
    if (whole) *out = page.journal;
    return whole;
}

rue_status rue_prepare_journal_write(const char *path, const struct rue_prepare_journal *journal,
                                     rue_error *error)
{
    char fresh[PATH_MAX];
    struct page page;
    memset(&page, 0, sizeof page); /* padding has a checksum too */
    memcpy(page.magic, magic, sizeof magic);
    page.journal = *journal;
    page.crc = crc_of(&page);
    snprintf(fresh, sizeof fresh, "%s.new", path);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return rue_fail(error, RUE_STORE, "cannot create %s: %s%s", fresh, strerror(errno),
                        rue_advice(errno));
    rue_status status = rue_write_at(fd, fresh, &page, sizeof page, 0, error);
    if (status == RUE_OK) status = rue_write_flush(fd, fresh, error);
    close(fd);
    if (status == RUE_OK && rename(fresh, path) != 0)
        status = rue_fail(error, RUE_STORE, "cannot rename %s to %s: %s", fresh, path, strerror(errno));
    return status;
}
