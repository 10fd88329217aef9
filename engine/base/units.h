/* Parses and formats durations and sizes. No I/O. */
#ifndef RUE_UNITS_H
#define RUE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUE_NS_PER_S  UINT64_C(1000000000)
#define RUE_NS_PER_MS UINT64_C(1000000)
#define RUE_NS_PER_US UINT64_C(1000)

/* Parses "250ms", "1.5s", "2m", "1h", "300us", "80ns"; the unit is required. False: anything else, negative
 * numbers, or more than nine years. If `end` is not NULL, parsing stops after the unit and sets `*end`. */
bool rue_parse_duration_ns(const char *text, uint64_t *out_ns, const char **end);

/* Parses "8G", "512M", "64K", "4096": powers of 1024, B or iB may follow. False: anything else, or more than
 * 256P.
 */
bool rue_parse_bytes(const char *text, uint64_t *out_bytes);

/* Parses "0.5%" as 0.005; the percent sign is required. False: anything else. */
bool rue_parse_percentage(const char *text, double *out_ratio);

/* The functions below write to `out` [bytes] and return it.
 * "80 ns", "730 us", "12.3 ms", "4.56 s", "2 m 05 s", "1 h 04 m". */
const char *rue_format_duration(uint64_t ns, char *out, size_t bytes);

/* "117 KB", "1.2 GB": powers of 1000. */
const char *rue_format_bytes(uint64_t count, char *out, size_t bytes);

/* "117 K", "1.2 G". */
const char *rue_format_scaled(uint64_t number, char *out, size_t bytes);

/* "9,469". */
const char *rue_format_count(uint64_t count, char *out, size_t bytes);

/* How many times as long or as fast: "1.31", "12.4"; "1.004" where "1.00" would hide a difference. */
const char *rue_format_times(double ratio, char *out, size_t bytes);

enum { RUE_UNIT_TEXT_BYTES = 32 };

#endif
