/* What the store writes, it can read: random rows with extreme values. RUE_SEED repeats them. */
#include "store_fixture.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>

#include "field.h"
#include "random.h"
#include "store_row.h"
#include "workload_json.h"

TestSuite(store_rows, .init = folder_make, .fini = folder_remove, .timeout = 120);

enum { ROWS = 4000, TIMES_MOST = 5, VALID_NUMBERS = 7, VALID_REALS = 6 };

static const uint64_t numbers[] = {0,
                                   1,
                                   2,
                                   UINT64_C(1) << 31,
                                   (UINT64_C(1) << 53) + 1,
                                   (UINT64_C(1) << 58) - 1,
                                   UINT64_C(1) << 58,
                                   (UINT64_C(1) << 58) + 4096,
                                   INT64_MAX,
                                   UINT64_C(1) << 63,
                                   UINT64_MAX};
static const double reals[] = {NAN,           0.5, -0.0,  5e-324,   1e15,     0x1p58,
                               0x1p58 + 4096, -1,  1e308, INFINITY, -INFINITY};
static uint64_t state;

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static size_t draw(size_t count)
{
    return (size_t)rue_random_below(&state, count);
}

/* One of the first `valid` values, and rarely one of the others. */
static size_t draw_place(size_t valid, size_t count)
{
    return draw(draw(60) ? valid : count);
}

static uint64_t draw_number(void)
{
    return numbers[draw_place(VALID_NUMBERS, LENGTH(numbers))];
}

static void draw_text(char *out, size_t bytes)
{
    static const char *const pieces[] = {"a",    "'",    "\"",     "\\", "\n", "\x1b[31m",
                                         "\xff", "\xc3", "\u20ac", "%s", "{",  "\x7f"};
    out[0] = 0;
    for (size_t n = draw(bytes < 40 ? bytes : 40); n && strlen(out) + 6 < bytes; n--)
        strcat(out, pieces[draw(LENGTH(pieces))]);
}

static void draw_times(uint64_t **list, size_t *count)
{
    *count = draw(TIMES_MOST);
    *list = *count ? calloc(*count, sizeof **list) : NULL;
    for (size_t i = 0; i < *count; i++) (*list)[i] = draw_number();
}

static size_t count_words(const char *const *words)
{
    size_t count = 0;
    while (words[count]) count++;
    return count;
}

static struct rue_workload draw_workload(void)
{
    struct rue_workload workload = rue_workload_default();
    for (const struct rue_field *field = rue_workload_fields; field->name; field++) {
        uint64_t most = rue_field_most(field), number = draw_number();
        if (field->kind == RUE_FIELD_NUMBER)
            rue_field_set_number(field, &workload, number > most && draw(60) ? most : number);
        else if (field->kind == RUE_FIELD_WORD)
            rue_field_set_number(field, &workload, draw(count_words(field->words)));
        else if (field->kind == RUE_FIELD_FLAG)
            rue_field_set_number(field, &workload, draw(2));
    }
    if (draw(60)) workload.world_size = (int)(1 + draw(1000));
    if (!draw(60)) draw_text(workload.cache, sizeof workload.cache);
    return workload;
}

static struct rue_config draw_config(void)
{
    struct rue_config config = rue_config_default();
    for (size_t k = 0; k < rue_own_knobs.count; k++) {
        const struct rue_knob_info *knob = rue_own_knobs.at[k];
        const int beyond[] = {knob->max + 1, knob->min - 1, INT32_MAX, INT32_MIN};
        config.value[k] = knob->min + (int)draw((size_t)(knob->max - knob->min) + 1);
        if (!knob->words && !draw(200)) config.value[k] = beyond[draw(LENGTH(beyond))];
    }
    return config;
}

static const struct rue_store_layout *const trials = &rue_store_layouts[RUE_STORE_TRIALS];

/* Sets the members of all columns. */
static void draw_trial(struct rue_store_trial *out)
{
    static const char ranks[] = "[{\"rank\":0,\"node\":\"n0\",\"read_bytes\":5}]";
    *out = (struct rue_store_trial){.result = rue_trial_result_empty()};
    for (int c = 0; c < trials->column_count; c++) {
        const struct rue_store_column *column = &trials->columns[c];
        void *member = (char *)out + column->offset;
        switch (column->kind) {
        case RUE_STORE_TEXT:
            draw_text(member, column->bytes);
            break;
        case RUE_STORE_COUNT:
        case RUE_STORE_LIMIT:
            *(uint64_t *)member = draw_number();
            break;
        case RUE_STORE_INTEGER:
            *(int64_t *)member = draw(3) ? (int64_t)draw_number() : RUE_ABSENT;
            break;
        case RUE_STORE_REAL:
            *(double *)member = reals[draw_place(VALID_REALS, LENGTH(reals))];
            break;
        case RUE_STORE_ENUM:
            *(unsigned *)member = (unsigned)draw((size_t)column->word_count);
            break;
        case RUE_STORE_TIMES:
            draw_times(member, (size_t *)((char *)out + column->bytes));
            break;
        case RUE_STORE_STRING:
            *(char **)member = draw(2) ? strdup(ranks) : NULL;
            break;
        case RUE_STORE_WORKLOAD:
            *(struct rue_workload *)member = draw_workload();
            break;
        case RUE_STORE_CONFIG:
            *(struct rue_config *)member = draw_config();
            break;
        case RUE_STORE_CHECKSUM:
            break;
        }
    }
    if (out->request.measure == RUE_LOAD) out->request.model[0] = out->origin.model_profile[0] = 0;
}

static bool times_equal(const struct rue_store_column *column, const struct rue_store_trial *a,
                        const struct rue_store_trial *b)
{
    const uint64_t *left = *(uint64_t *const *)((const char *)a + column->offset),
                   *right = *(uint64_t *const *)((const char *)b + column->offset);
    size_t count = *(const size_t *)((const char *)a + column->bytes);
    return count == *(const size_t *)((const char *)b + column->bytes) &&
           (!count || memcmp(left, right, count * sizeof *left) == 0);
}

static bool column_equal(const struct rue_store_column *column, const struct rue_store_trial *a,
                         const struct rue_store_trial *b)
{
    const void *left = (const char *)a + column->offset, *right = (const char *)b + column->offset;
    double x, y;
    char first[RUE_WORKLOAD_TEXT_BYTES], second[RUE_WORKLOAD_TEXT_BYTES];
    const char *text = column->kind == RUE_STORE_STRING ? *(char *const *)left : NULL;
    if (column->role == RUE_STORE_GENERATED) return true;
    switch (column->kind) {
    case RUE_STORE_TEXT:
        return strcmp(left, right) == 0;
    case RUE_STORE_REAL:
        memcpy(&x, left, sizeof x);
        memcpy(&y, right, sizeof y);
        return x == y || (isnan(x) && isnan(y));
    case RUE_STORE_TIMES:
        return times_equal(column, a, b);
    case RUE_STORE_STRING:
        return text ? strcmp(text, *(char *const *)right) == 0 : !*(char *const *)right;
    case RUE_STORE_WORKLOAD:
        rue_workload_canonical(left, first);
        rue_workload_canonical(right, second);
        return strcmp(first, second) == 0;
    case RUE_STORE_CONFIG:
        return rue_config_equal(left, right);
    case RUE_STORE_CHECKSUM:
        return true;
    default:
        return memcmp(left, right, column->bytes) == 0;
    }
}

/* False: the store refused it, with the column. */
static bool add_trial(struct rue_store *store, const struct rue_store_trial *trial)
{
    rue_error error = {0};
    struct rue_store_trial row = rue_store_make_trial(&trial->origin, &trial->request);
    row.started_ns = trial->started_ns;
    row.result = trial->result;
    rue_status status = rue_store_add_trial(store, &row, &error);
    if (status == RUE_OK) return true;
    bool named = false;
    for (int c = 0; c < trials->column_count; c++) {
        char text[80];
        snprintf(text, sizeof text, "was not stored, because its column %s could", trials->columns[c].name);
        named |= strstr(error.message, text) != NULL;
    }
    cr_assert(status == RUE_STORE && named, "%s", error.message);
    return false;
}

Test(store_rows, what_is_written_is_read_back_equal)
{
    const char *given = getenv("RUE_SEED");
    uint64_t seed = state = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    struct rue_store *store = NULL;
    cr_assert(rue_store_open(NULL, false, &store, NULL) == RUE_OK);
    struct rue_store_trial *added = calloc(ROWS, sizeof *added);
    size_t count = 0, read = 0;
    for (int i = 0; i < ROWS; i++) {
        draw_trial(&added[count]);
        added[count].run_id = RUE_ABSENT;
        if (add_trial(store, &added[count]))
            count++;
        else
            rue_trial_result_close(&added[count].result);
    }
    for (bool found = true; found; read += found) {
        struct rue_store_trial back;
        rue_error error = {0};
        cr_assert(rue_store_next_trial(store, &found, &back, &error) == RUE_OK, "RUE_SEED=%" PRIu64 ": %s",
                  seed, error.message);
        for (int c = 0; found && c < trials->column_count; c++)
            cr_assert(column_equal(&trials->columns[c], &added[read], &back),
                      "RUE_SEED=%" PRIu64 ": row %zu: %s came back different", seed, read,
                      trials->columns[c].name);
        if (found) rue_trial_result_close(&back.result);
    }
    cr_assert(read == count, "RUE_SEED=%" PRIu64 ": %zu rows of %zu", seed, read, count);
    cr_assert(count > ROWS / 10 && count < ROWS - ROWS / 10, "%zu of %d rows were stored", count, ROWS);
    for (size_t i = 0; i < count; i++) rue_trial_result_close(&added[i].result);
    free(added);
    rue_store_close(store);
}

/* The numbers that SQLite chooses itself. */
Test(store_rows, a_row_with_an_unreadable_number_is_not_kept)
{
    static const struct {
        const char *sql, *column;
    } cases[] = {
        {"INSERT INTO run (id, command_line, rue_version, started) VALUES (1 << 59, '', '', '')", "run_id"},
        {"UPDATE trial SET id = 1 << 58; UPDATE trial SET id = id + 4096", "id"}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct cell cell = cell_sample();
        struct rue_trial_result result = result_sample();
        struct rue_store *store = open_or_die(false);
        rue_error error = {0};
        add_or_die(store, &cell, &result);
        rue_store_close(store);
        sql_run(path, cases[i].sql);
        store = open_or_die(false);
        cr_assert(rue_store_begin_run(store, "", "", "", &rue_own_knobs, NULL) == RUE_OK);
        struct rue_store_trial row = row_make(&cell, &result);
        rue_status status = rue_store_add_trial(store, &row, &error);
        cr_assert(status == RUE_STORE && strstr(error.message, cases[i].column), "%s", error.message);
        cr_assert_eq(count_rows(store), 1, "the row was kept");
        rue_store_close(store);
        unlink(path);
    }
}
