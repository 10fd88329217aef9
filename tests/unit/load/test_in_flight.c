/* Models that take a batch while the one before is under way. */
#include <criterion/criterion.h>
#include <string.h>

#include "data_fixture.h"
#include "trial_loop.h"

enum { PHOTOS = 10, ALLOCATING_US = 2000 };

/* What the loop did, a letter each: "s0 s1 w0". */
static struct {
    char text[512];
    uint64_t next_ticket;
    uint64_t failing_wait; /* UINT64_MAX: none */
    size_t images, last;
    size_t slabs_allocated, slabs_released, largest_in_flight, flying;
} seen;

static struct rue_source *source;
static struct rue_trial_result result;

static void setup(void)
{
    memset(&seen, 0, sizeof seen);
    seen.failing_wait = UINT64_MAX;
    temporary_folder_make();
    data_photos_make(PHOTOS);
    source = data_open("photos");
    result = rue_trial_result_empty();
}

static void teardown(void)
{
    rue_trial_result_close(&result);
    rue_source_close(source);
    temporary_folder_remove();
}

TestSuite(in_flight, .init = setup, .fini = teardown, .timeout = 60);

static void note_event(char what, uint64_t ticket)
{
    size_t used = strlen(seen.text);
    snprintf(seen.text + used, sizeof seen.text - used, "%s%c%d", used ? " " : "", what, (int)ticket);
}

static rue_status prepare(void *state, const struct rue_model_input *input, rue_error *error)
{
    (void)state, (void)error;
    seen.images = input->images;
    seen.last = input->last_images;
    return RUE_OK;
}

static rue_status submit(void *state, const struct rue_batch *batch, uint64_t *ticket, rue_error *error)
{
    (void)state, (void)error, (void)batch;
    *ticket = seen.next_ticket++;
    note_event('s', *ticket);
    if (++seen.flying > seen.largest_in_flight) seen.largest_in_flight = seen.flying;
    return RUE_OK;
}

static rue_status wait_for(void *state, uint64_t ticket, rue_error *error)
{
    (void)state;
    note_event('w', ticket);
    seen.flying--;
    return ticket == seen.failing_wait ? rue_fail(error, RUE_INTERNAL, "lost") : RUE_OK;
}

static void *allocate(void *context, size_t bytes)
{
    seen.slabs_allocated++;
    usleep(ALLOCATING_US);
    return rue_slab_allocator_default.allocate(context, bytes);
}

static void release(void *context, void *slab, size_t bytes)
{
    seen.slabs_released++;
    rue_slab_allocator_default.release(context, slab, bytes);
}

static const struct rue_slab_allocator *slabs(void *state)
{
    (void)state;
    static const struct rue_slab_allocator own = {.allocate = allocate, .release = release};
    return &own;
}

static struct rue_model_times times(const void *state)
{
    (void)state;
    return (struct rue_model_times){.h2d_ns = seen.next_ticket * 7, .device_ns = seen.next_ticket * 9};
}

static const char *note(const void *state)
{
    (void)state;
    return "a note";
}

static const struct rue_model_ops two = {.name = "two",
                                         .in_flight = 2,
                                         .prepare = prepare,
                                         .submit = submit,
                                         .wait = wait_for,
                                         .slabs = slabs,
                                         .times = times,
                                         .caveat = note};

static void run(enum rue_measure measure, int batch_size, int workers)
{
    struct rue_model model = {.ops = &two};
    struct rue_trial_request request = {.measure = measure,
                                        .config = rue_config_default(),
                                        .workload = rue_workload_default(),
                                        .images = PHOTOS,
                                        .job_images = PHOTOS,
                                        .batches = 3,
                                        .detail = true};
    request.config.value[RUE_BATCH_SIZE] = batch_size;
    request.config.value[RUE_NUM_WORKERS] = workers;
    rue_trial_run(NULL, &request, source, &model, &result);
}

Test(in_flight, a_batch_is_submitted_before_waiting_for_the_previous_one)
{
    for (int workers = 0; workers < 3; workers++) {
        run(RUE_JOINT, 3, workers);
        cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
        cr_assert_str_eq(seen.text, "s0 s1 w0 s2 w1 s3 w2 w3");
        cr_assert(result.images == PHOTOS && result.batches == 4);
        cr_assert(seen.images == 3 && seen.last == 1, "the last batch is known before");
        teardown();
        setup();
    }
}

Test(in_flight, batch_times_sum_up_and_device_times_are_reported)
{
    run(RUE_JOINT, 5, 2);
    cr_assert_eq(result.compute_count, 2);
    cr_assert_eq(result.batch_compute_ns[0] + result.batch_compute_ns[1], (uint64_t)result.compute_ns);
    cr_assert_eq(result.load_wait_ns + result.compute_ns + result.shutdown_ns, result.end_to_end_ns);
    cr_assert(result.h2d_ns == 2 * 7 && result.device_ns == 2 * 9);
    cr_assert_str_eq(result.reason, "a note");
    cr_assert(seen.images == 5 && seen.last == 0, "no batch is short");
}

Test(in_flight, the_model_allocates_slabs_one_more_per_batch_in_flight)
{
    run(RUE_JOINT, 1, 2);
    cr_assert_eq(seen.slabs_allocated, 2 * 2 + 2, "W * prefetch_factor + in_flight");
    cr_assert_eq(seen.slabs_released, seen.slabs_allocated);
}

Test(in_flight, the_time_of_a_trial_contains_the_allocation_of_its_memory)
{
    run(RUE_JOINT, 1, 2);
    cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
    cr_assert_geq(result.first_batch_ns, (int64_t)seen.slabs_allocated * ALLOCATING_US * 1000);
    cr_assert_geq(result.load_wait_ns, result.first_batch_ns);
}

Test(in_flight, a_failed_trial_leaves_no_batch_in_flight)
{
    seen.failing_wait = 0;
    run(RUE_JOINT, 2, 2);
    cr_assert_eq(result.outcome, RUE_TRIAL_FAILED);
    cr_assert_str_eq(result.reason, "lost");
    cr_assert_str_eq(seen.text, "s0 s1 w0 w1");
    cr_assert_eq(seen.slabs_released, seen.slabs_allocated);
}

Test(in_flight, a_damaged_image_leaves_no_batch_in_flight)
{
    data_photo_damage(5);
    rue_source_close(source);
    source = data_open("photos");
    run(RUE_JOINT, 1, 1);
    cr_assert_eq(result.outcome, RUE_TRIAL_FAILED);
    cr_assert_eq(seen.flying, 0);
}

Test(in_flight, compute_trials_overlap_too)
{
    run(RUE_COMPUTE, 4, 0);
    cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
    cr_assert_str_eq(seen.text, "s0 w0 s1 s2 w1 s3 w2 w3", "one warms up");
    cr_assert(result.batches == 3 && result.compute_count == 3 && result.h2d_ns == 3 * 7 &&
              result.device_ns == 3 * 9);
    cr_assert(seen.images == 4 && seen.last == 0);
    cr_assert(seen.slabs_allocated == 1 && seen.slabs_released == 1);
}
