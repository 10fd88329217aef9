/* Reading of just so many bytes of a file. */
#ifndef RUE_READ_AT_H
#define RUE_READ_AT_H

#include <stdbool.h>
#include <stdint.h>

/* Reads exactly `bytes` at `offset`, whatever signals come; false with errno, 0 for the end of the file. */
bool rue_read_at(int fd, void *into, uint64_t bytes, uint64_t offset);

#endif
