#include "study.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hash.h"
#include "interrupt.h"
#include "machine.h"
#include "study_changes.h"
#include "study_folder.h"
#include "study_look.h"
#include "study_opening.h"
#include "study_prior.h"
#include "study_recording.h"
#include "study_space.h"
#include "suspension.h"

/* To the millisecond: it tells the runs of a store apart. */
static void now_text(char *out, size_t bytes)
{
    struct tm parts;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    size_t used = strftime(out, bytes, "%Y-%m-%dT%H:%M:%S", gmtime_r(&now.tv_sec, &parts));
    snprintf(out + used, bytes - used, ".%03ldZ", now.tv_nsec / 1000000);
}

/* Whose measurements these are: rows are reused only for the same runner on the same machine. Long names are
 * cut, so a hash of all of it tells them apart. */
static void identify(struct rue_study *study)
{
    const struct rue_hello *hello = rue_runner_hello(study->runner);
    const char *command = study->goal->runner;
    if (command) {
        uint64_t hash = rue_hash(RUE_HASH_START, hello->runner, strlen(hello->runner) + 1);
        snprintf(study->runner_identity, sizeof study->runner_identity, "%.50s: %.50s #%016" PRIx64,
                 hello->runner, command, rue_hash(hash, command, strlen(command)));
    } else {
        snprintf(study->runner_identity, sizeof study->runner_identity, "%s", hello->runner);
    }
    snprintf(study->machine_identity, sizeof study->machine_identity, "%016" PRIx64,
             rue_hash(RUE_HASH_START, hello->machine_json, strlen(hello->machine_json)));
}

/* A runner for each GPU, which are one towards us. */
static rue_status open_group(struct rue_study *study, rue_error *error)
{
    const struct rue_study_goal *goal = study->goal;
    const char **word = study->runner_words;
    *word++ = "--gpus";
    *word++ = goal->gpus;
    if (goal->runner) *word++ = "--runner";
    if (goal->runner) *word++ = goal->runner;
    return rue_runner_open_own(study->runner_words, &study->runner, error);
}

static rue_status open_runner(struct rue_study *study, rue_error *error)
{
    const struct rue_study_goal *goal = study->goal;
    if (goal->table) return rue_study_open_recording(study, error);
    return goal->gpus ? open_group(study, error) : rue_runner_open(goal->runner, &study->runner, error);
}

static rue_status open_all(struct rue_study *study, rue_error *error)
{
    const struct rue_study_goal *goal = study->goal;
    rue_status status = open_runner(study, error);
    if (status != RUE_OK) return status;
    identify(study);
    status = rue_study_choose_models(study, error);
    const struct rue_hello *hello = rue_runner_hello(study->runner);
    if (status == RUE_OK) status = rue_study_check_pinning(study, error);
    if (status == RUE_OK) status = rue_study_choose_data(study, error);
    if (status == RUE_OK) status = rue_study_try_models(study, error);
    /* Wrong values are told before anything is written or read, those that depend on J before the sample. */
    if (status == RUE_OK) status = rue_study_space(goal, hello, UINT64_MAX, &study->space, error);
    if (status == RUE_OK && !goal->keep_nothing) status = rue_study_open_folder(study, error);
    const int *sizes = study->space.values[RUE_BATCH_SIZE], size_count = study->space.count[RUE_BATCH_SIZE];
    study->wanted_images = goal->batches ? goal->batches * (uint64_t)sizes[size_count - 1]
                                         : rue_study_share(study, goal->images);
    if (status == RUE_OK && !goal->fresh) status = rue_study_open_store(study, error);
    if (status == RUE_OK) status = rue_study_look_before(study, error);
    if (status == RUE_OK) status = rue_study_open_data(study, error);
    if (status == RUE_OK)
        status = rue_study_space(goal, hello, study->variants[0].job_images, &study->space, error);
    if (status == RUE_OK) status = rue_study_settle_budget(study, error);
    if (status == RUE_OK) status = rue_study_add_sample(study, error);
    if (status == RUE_OK && goal->fresh) status = rue_study_open_store(study, error);
    if (status == RUE_OK) status = rue_study_take_changes(study, error);
    return status == RUE_OK ? rue_study_time_models(study, error) : status;
}

rue_status rue_study_open(const struct rue_study_goal *goal, struct rue_progress *progress,
                          struct rue_study **out, rue_error *error)
{
    struct rue_study *study = calloc(1, sizeof *study);
    if (!study) return rue_fail_memory(error, "a study", sizeof *study);
    study->own_goal = *goal;
    study->goal = &study->own_goal;
    study->strategy = rue_strategy_find(goal->strategy);
    study->progress = progress;
    study->start_ns = rue_suspension_awake_ns();
    study->folder_lock = study->part_lock = -1;
    study->memory_bytes = goal->memory_bytes ? goal->memory_bytes : rue_machine_available_bytes() / 5 * 4;
    now_text(study->started, sizeof study->started);
    if (goal->dry_run) setenv("RUE_DRY_RUN", "true", 1); /* for the runners, however deep */
    rue_status status = open_all(study, error);
    study->discard = status != RUE_OK;
    if (status != RUE_OK) return rue_study_close(study), status;
    *out = study;
    return RUE_OK;
}

void rue_study_close(struct rue_study *study)
{
    if (!study) return;
    rue_runner_close(study->runner);
    rue_recording_close(study->recording);
    rue_store_close(study->store);
    if (study->part_lock >= 0) close(study->part_lock);
    rue_part_remove(study->part);
    rue_interrupt_guard_file(NULL);
    if (study->discard && study->folder_lock >= 0) rue_study_discard(study);
    rue_study_unlock_folder(study->folder_lock);
    for (size_t v = 0; v < study->variant_count; v++) {
        rue_cost_matrix_close(study->matrices[v]);
        free(study->lines[v]);
        rue_knowledge_close(study->knowledge[v]);
        rue_study_prior_close(&study->priors[v]);
    }
    free(study->configs);
    free(study->rows);
    free(study->disturbed);
    free(study);
}
