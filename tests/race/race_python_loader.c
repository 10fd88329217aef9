/* What threads of Python do with a loader, for ThreadSanitizer: one asks for batches and begins epochs,
 * another releases them, a third counts, and the loader is closed while batches are still held. */
#include <pthread.h>
#include <stdatomic.h>

#include "data_fixture.h"
#include "race_fixture.h"
#include "rue_python.h"

enum { PHOTOS = 7, HELD = 3, EPOCHS = 12 };

static struct rue_source *source;

/* Batches on their way to the thread that releases them. */
struct exchange {
    struct rue_loader *loader;
    _Atomic(struct rue_batch *) place[HELD];
    atomic_bool ended;
};

static void *release_batches(void *argument)
{
    struct exchange *exchange = argument;
    bool ended = false;
    while (!ended) {
        ended = exchange->ended; /* so what came before it is found below */
        for (int i = 0; i < HELD; i++) {
            struct rue_batch *batch = atomic_exchange(&exchange->place[i], NULL);
            if (!batch) continue;
            *(char *)batch->images = 1; /* it may be written to */
            rue_python_release(exchange->loader, &batch);
        }
    }
    return NULL;
}

static void *count_damages(void *argument)
{
    struct exchange *exchange = argument;
    rue_error example = {0};
    for (int i = 0; i < 200; i++) rue_loader_bad_images(exchange->loader, &example);
    return NULL;
}

/* Puts a batch where the other thread takes it, when there is a place. */
static void hand_over(struct exchange *exchange, struct rue_batch *batch)
{
    for (int i = 0;; i = (i + 1) % HELD) {
        struct rue_batch *empty = NULL;
        if (atomic_compare_exchange_strong(&exchange->place[i], &empty, batch)) return;
    }
}

static const char *load_epochs(struct exchange *exchange)
{
    rue_error error = {0};
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        struct rue_batch *batch;
        rue_status status = rue_loader_rewind(exchange->loader, epoch, epoch % 3, &error);
        for (int batches = 0; status == RUE_OK || status == RUE_TIMEOUT; batches += status == RUE_OK) {
            status = rue_loader_next_within(exchange->loader, epoch % 2 ? 0 : 100000, &batch, &error);
            if (status == RUE_OK && batch) hand_over(exchange, batch);
            if (status == RUE_OK && (!batch || (epoch % 4 == 3 && batches == 1)))
                break; /* or leaves in the middle */
        }
        if (status != RUE_OK) return "an epoch failed";
    }
    return NULL;
}

static const char *run(const char *options)
{
    rue_error error = {0};
    struct exchange exchange = {0};
    pthread_t releasing, counting;
    /* One more than the places, for each thread. */
    if (rue_python_open_loader(source, options, 2 * PHOTOS, HELD + 2, &exchange.loader, &error) != RUE_OK)
        return "it cannot be opened";
    pthread_create(&releasing, NULL, release_batches, &exchange);
    pthread_create(&counting, NULL, count_damages, &exchange);
    const char *fault = load_epochs(&exchange);
    pthread_join(counting, NULL);
    rue_loader_close(exchange.loader); /* while the other thread releases */
    exchange.ended = true;
    pthread_join(releasing, NULL);
    return fault;
}

int main(void)
{
    static const char *const cases[] = {
        "{\"batch_size\": 2, \"num_workers\": 0, \"batch_dtype\": \"uint8\"}",
        "{\"batch_size\": 2, \"num_workers\": 1, \"batch_dtype\": \"uint8\"}",
        "{\"batch_size\": 2, \"num_workers\": 4, \"batch_dtype\": \"uint8\", \"shuffle\": true}",
        "{\"batch_size\": 2, \"num_workers\": 3, \"batch_dtype\": \"uint8\", \"parallelism\": \"sample\"}",
        "{\"batch_size\": 3, \"num_workers\": 2, \"batch_dtype\": \"uint8\", \"batch_strategy\": "
        "\"adaptive\"}",
        "{\"batch_size\": 3, \"num_workers\": 2, \"batch_dtype\": \"uint8\", \"batch_strategy\": \"memory\", "
        "\"max_queue_size\": 1}",
    };
    temporary_folder_make();
    data_photos_make(PHOTOS);
    data_tensor_make("photos", "tensors", RUE_UINT8);
    source = data_open("tensors");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int repeat = 0; repeat < 5; repeat++)
            race_case(run(cases[i]), "epochs, release and close in three threads: %s", cases[i]);
    rue_source_close(source);
    temporary_folder_remove();
    return race_end();
}
