/* Options about data that several commands share. Each row is defined once, so that a name means the same
 * in all commands. */
#ifndef RUE_DATA_OPTIONS_H
#define RUE_DATA_OPTIONS_H

#include "options.h"
#include "source.h"
#include "workload.h"

/* The names of images and labels in the data, for formats that have names for them; items of the data. */
#define RUE_DATA_IMAGE_KEY                                                                          \
    "image-key", RUE_OPTION_TEXT, "NAME", NULL, "name of the images: column, feature or extension", \
        .group = RUE_GROUP_DATA, .usual = "the standard names",                                     \
        .more = "Without it, the names that are common in each format are tried."
#define RUE_DATA_LABEL_KEY                                                                     \
    "label-key", RUE_OPTION_TEXT, "NAME", NULL, "name of the labels", .group = RUE_GROUP_DATA, \
                                                                      .usual = "the standard names"
#define RUE_DATA_SUBSET                                                                                      \
    "subset", RUE_OPTION_TEXT, "ITEMS", NULL, "use only these: 0:1000, 10%, class:NAME or @FILE",            \
        .group = RUE_GROUP_DATA, .usual = "all",                                                             \
        .more = "Numbers are from 0 in the order of the data, as in slices of Python: 0,5,7:20. A share is " \
                "drawn at random: 10% or 10%,seed=3; 10%: is the rest. FILE has a name or number per line."

/* The rows of the options that the fields of a workload have (workload.h). An earlier option may change their
 * defaults. */
#define RUE_WORKLOAD_OPTION_ROW(at, field, kind, words, least, most, usual, times, written, option, \
                                argument, text, help)                                               \
    {option, RUE_WORKLOAD_KIND_##kind, argument, text, help, least, most, words, .group = RUE_GROUP_DATA},
#define RUE_WORKLOAD_KIND_FLAG     RUE_OPTION_FLAG
#define RUE_WORKLOAD_KIND_NUMBER   RUE_OPTION_COUNT
#define RUE_WORKLOAD_KIND_WORD     RUE_OPTION_WORD
#define RUE_WORKLOAD_KIND_TEXT     RUE_OPTION_WORD
#define RUE_WORKLOAD_KIND_RECIPE   RUE_OPTION_TEXT
#define RUE_WORKLOAD_KIND_GEOMETRY RUE_OPTION_TEXT
#define RUE_WORKLOAD_OPTION_ROWS   RUE_WORKLOAD_BY_OPTION(RUE_WORKLOAD_OPTION_ROW, ) RUE_GEOMETRY_OPTION_ROWS

/* Those of the geometry alone. */
#define RUE_GEOMETRY_OPTION_ROWS RUE_WORKLOAD_BY_GEOMETRY(RUE_WORKLOAD_OPTION_ROW, )

/* The default workload, changed by the options of those rows, not yet checked. */
struct rue_workload rue_workload_from_options(const struct rue_options *options);

/* Checks the geometry, and adds the recipe of a workload for training. RUE_USAGE: one of them is wrong, or
 * options exclude each other. */
rue_status rue_workload_settle(const struct rue_options *options, struct rue_workload *workload,
                               rue_error *error) RUE_MUST_CHECK;

/* Reads the two names and the subset; borrows strings from the options. RUE_USAGE: one is empty or too long.
 */
rue_status rue_data_options_keys(const struct rue_options *options, struct rue_source_options *out,
                                 rue_error *error) RUE_MUST_CHECK;

/* "--image-key" or "--label-key", whichever is on the command line; else NULL. */
const char *rue_data_options_given_key(const struct rue_options *options);

/* RUE_USAGE if `given` (nullable) has no meaning for the format of the source. */
rue_status rue_data_options_check_key(const char *given, const struct rue_source *source,
                                      rue_error *error) RUE_MUST_CHECK;

#endif
