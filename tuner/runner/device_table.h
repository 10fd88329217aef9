/* Device tables: JSON files with the batch times that `rue calibrate` measured on a device, to simulate it
 * elsewhere. */
#ifndef RUE_DEVICE_TABLE_H
#define RUE_DEVICE_TABLE_H

#include "error.h"
#include "profile.h"

#define RUE_DEVICE_TABLE_FORMAT "rue.device/1"

enum { RUE_DEVICE_TABLE_MODELS_MAX = 64 };

/* Each profile has the model's name without a device and the table's title as its device. */
struct rue_device_table {
    size_t count;
    struct rue_profile profiles[RUE_DEVICE_TABLE_MODELS_MAX];
};

/* Whether a device on the command line is the path of a table: it ends in ".json". */
bool rue_device_is_table(const char *device);

/* RUE_DATA, with the place in the file, if it is not a valid table. */
rue_status rue_device_table_read(const char *path, struct rue_device_table *out,
                                 rue_error *error) RUE_MUST_CHECK;

/* The profile of a model by its name without a device, or by an alias. NULL: not in the table. */
const struct rue_profile *rue_device_table_find(const struct rue_device_table *table, const char *model);

/* The profile of a model as on the command line: "resnet50@FILE.json", or a model of the catalogue
 * (catalogue.h), with its errors. RUE_USAGE: not in the table. */
rue_status rue_device_table_model(const char *spec, struct rue_profile *out, rue_error *error) RUE_MUST_CHECK;

#endif
