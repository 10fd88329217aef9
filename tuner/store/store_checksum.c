#include "store_checksum.h"

#include <stdint.h>

#include "hash.h"

static uint64_t hash_value(uint64_t hash, sqlite3_value *value)
{
    int kind = sqlite3_value_type(value);
    if (kind == SQLITE_NULL) return hash;
    hash = rue_hash(hash, &kind, sizeof kind);
    if (kind == SQLITE_INTEGER) {
        int64_t integer = sqlite3_value_int64(value);
        return rue_hash(hash, &integer, sizeof integer);
    }
    if (kind == SQLITE_FLOAT) {
        double real = sqlite3_value_double(value) + 0.0; /* SQLite keeps no -0.0 */
        return rue_hash(hash, &real, sizeof real);
    }
    const void *bytes = sqlite3_value_blob(value);
    int length = sqlite3_value_bytes(value);
    hash = rue_hash(hash, &length, sizeof length);
    return length ? rue_hash(hash, bytes, (size_t)length) : hash;
}

static void checksum(sqlite3_context *context, int count, sqlite3_value **values)
{
    uint64_t hash = RUE_HASH_START;
    for (int i = 0; i < count; i++) hash = hash_value(hash, values[i]);
    sqlite3_result_int64(context, (int64_t)hash);
}

int rue_store_checksum_open(sqlite3 *db)
{
    return sqlite3_create_function_v2(db, "rue_checksum", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
                                      checksum, NULL, NULL, NULL);
}
