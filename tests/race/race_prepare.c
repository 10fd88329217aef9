/* Preparing data with several threads, for ThreadSanitizer. */
#include <signal.h>

#include "data_fixture.h"
#include "interrupt.h"
#include "prepare.h"
#include "race_fixture.h"

enum { PHOTOS = 9, SYNTHETIC = 4 };

static struct rue_prepare_options list_options(int num_workers)
{
    return (struct rue_prepare_options){.format = "tensor",
                                        .split = "",
                                        .mode = RUE_PREPROCESSED,
                                        .dtype = RUE_UINT8,
                                        .seed = 5,
                                        .num_workers = num_workers,
                                        .max_pixels = RUE_MAX_PIXELS_DEFAULT,
                                        .geometry = rue_geometry_default()};
}

static const char *copy_message(const rue_error *error)
{
    static char text[RUE_ERROR_MESSAGE_BYTES];
    snprintf(text, sizeof text, "%s", error->message);
    return text;
}

static const char *prepare_fault(const char *from, const char *to, const struct rue_prepare_options *options,
                                 uint64_t images)
{
    rue_error error = {0};
    struct rue_prepared prepared = {0};
    struct rue_progress progress = rue_progress_open(true);
    char source_path[TEMPORARY_PATH_BYTES];
    snprintf(source_path, sizeof source_path, "%s", temporary_path(from));
    rue_status status =
        rue_prepare_convert(source_path, temporary_path(to), options, &progress, &prepared, &error);
    rue_progress_close(&progress);
    if (status != RUE_OK) return copy_message(&error);
    return prepared.images == images ? NULL : "the number of images is wrong";
}

static const char *difference(const char *a, const char *b)
{
    size_t a_bytes, b_bytes;
    unsigned char *x = temporary_read(a, &a_bytes), *y = temporary_read(b, &b_bytes);
    bool same = a_bytes == b_bytes && memcmp(x, y, a_bytes) == 0;
    free(x);
    free(y);
    return same ? NULL : "the files differ";
}

static void tensors_do_not_depend_on_the_workers(void)
{
    static const int worker_counts[] = {1, 2, 4, 8, 0};
    for (int type = RUE_FLOAT32; type <= RUE_UINT8; type++) {
        char expected[32];
        snprintf(expected, sizeof expected, "expected.%s", rue_dtype_names[type]);
        data_tensor_make("photos", expected, (enum rue_dtype)type);
        for (size_t w = 0; w < sizeof worker_counts / sizeof *worker_counts; w++) {
            struct rue_prepare_options options = list_options(worker_counts[w]);
            options.dtype = (enum rue_dtype)type;
            options.overwrite = true;
            const char *fault = prepare_fault("photos", "made", &options, PHOTOS);
            if (!fault) fault = difference("made", expected);
            race_case(fault, "%d workers, %s", worker_counts[w], rue_dtype_names[type]);
        }
    }
}

static void samples_do_not_depend_on_the_workers(void)
{
    for (int workers = 1; workers <= 4; workers++) {
        char name[32];
        struct rue_prepare_options options = list_options(workers);
        options.images = 5;
        snprintf(name, sizeof name, "sample.%d", workers);
        const char *fault = prepare_fault("photos", name, &options, 5);
        if (!fault) fault = difference(name, "sample.1");
        race_case(fault, "a sample with %d workers", workers);
    }
}

static void damage_leaves_no_file(void)
{
    data_photo_damage(4);
    for (int workers = 1; workers <= 4; workers++) {
        struct rue_prepare_options options = list_options(workers);
        int entries = temporary_entries();
        const char *message = prepare_fault("photos", "none", &options, PHOTOS);
        const char *fault = NULL;
        if (!message || !strstr(message, data_photo_name(4))) fault = message ? message : "no error";
        if (temporary_entries() != entries) fault = "something is left behind";
        race_case(fault, "a damaged photo, %d workers", workers);
        options.bad_images = RUE_BAD_REPLACE;
        options.overwrite = true;
        race_case(prepare_fault("photos", "replaced", &options, PHOTOS), "it is replaced, %d workers",
                  workers);
    }
    struct jpeg_file file = data_photo(4);
    temporary_file(data_photo_name(4), file.data, file.bytes);
    free(file.data);
}

static void synthetic_photos_are_reproducible(void)
{
    rue_error error = {0};
    struct rue_prepared prepared;
    struct rue_progress progress = rue_progress_open(true);
    static const char *const names[] = {"first", "second"};
    const char *fault = NULL;
    for (int i = 0; i < 2; i++)
        if (rue_prepare_synthetic(SYNTHETIC, 3, temporary_path(names[i]), i ? &progress : NULL, &prepared,
                                  &error) != RUE_OK)
            fault = copy_message(&error);
    rue_progress_close(&progress);
    for (int i = 0; !fault && i < SYNTHETIC; i++) {
        char a[64], b[64];
        snprintf(a, sizeof a, "first/class_%d/photo_%05d.jpg", i, i);
        snprintf(b, sizeof b, "second/class_%d/photo_%05d.jpg", i, i);
        fault = difference(a, b);
    }
    race_case(fault, "synthetic photos, twice");
    bool refused = rue_prepare_synthetic(1, 3, temporary_path("first"), NULL, &prepared, NULL) == RUE_USAGE;
    race_case(refused ? NULL : "it was replaced", "a folder that holds something stays");
}

/* The signal stays seen for the rest of the process, so this comes last. */
static void a_signal_leaves_no_file(void)
{
    rue_interrupt_install("prepare");
    rue_interrupt_defer(true);
    raise(SIGTERM);
    int entries = temporary_entries();
    struct rue_prepared prepared;
    struct rue_prepare_options options = list_options(3);
    char from[TEMPORARY_PATH_BYTES];
    snprintf(from, sizeof from, "%s", temporary_path("photos"));
    rue_status status = rue_prepare_convert(from, temporary_path("none"), &options, NULL, &prepared, NULL);
    const char *fault = status == RUE_TERMINATED ? NULL : "the signal was not told";
    race_case(temporary_entries() == entries ? fault : "something is left", "interrupted tensors");
    status = rue_prepare_synthetic(SYNTHETIC, 3, temporary_path("none"), NULL, &prepared, NULL);
    fault = status == RUE_TERMINATED ? NULL : "the signal was not told";
    race_case(temporary_entries() == entries ? fault : "something is left", "interrupted photos");
}

int main(void)
{
    temporary_folder_make();
    data_photos_make(PHOTOS);
    tensors_do_not_depend_on_the_workers();
    samples_do_not_depend_on_the_workers();
    damage_leaves_no_file();
    synthetic_photos_are_reproducible();
    a_signal_leaves_no_file();
    temporary_folder_remove();
    return race_end();
}
