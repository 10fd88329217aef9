#include "study.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "causes.h"
#include "folder_lock.h"
#include "hash.h"
#include "interrupt.h"
#include "machine.h"
#include "recommendation_file.h"
#include "study_opening.h"
#include "study_outcome.h"
#include "study_prior.h"
#include "study_recording.h"
#include "study_space.h"
#include "suspension.h"

/* To the millisecond, because it identifies a run in the store. */
void rue_study_now(char *out, size_t bytes)
{
    struct tm parts;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    size_t used = strftime(out, bytes, "%Y-%m-%dT%H:%M:%S", gmtime_r(&now.tv_sec, &parts));
    snprintf(out + used, bytes - used, ".%03ldZ", now.tv_nsec / 1000000);
}

/* Names the runner and its machine: rows are reused only for the same ones. The hash distinguishes names that
 * are truncated. */
static void identify_runner(struct rue_study_setup *setup)
{
    const struct rue_hello *hello = rue_study_hello(setup);
    const char *command = setup->goal.loader.runner.command;
    if (command) {
        uint64_t hash = rue_hash(RUE_HASH_START, hello->runner, strlen(hello->runner) + 1);
        snprintf(setup->host.identity, sizeof setup->host.identity, "%.50s: %.50s #%016" PRIx64,
                 hello->runner, command, rue_hash(hash, command, strlen(command)));
    } else {
        snprintf(setup->host.identity, sizeof setup->host.identity, "%s", hello->runner);
    }
    snprintf(setup->host.machine, sizeof setup->host.machine, "%016" PRIx64,
             rue_hash(RUE_HASH_START, hello->machine_json, strlen(hello->machine_json)));
}

/* The launcher determines the number of ranks. A check needs as many as its recommendation. */
static rue_status check_ranks(const struct rue_study_goal *goal, rue_error *error)
{
    const struct rue_deployment *deployment = &goal->loader.deployment;
    const struct rue_recommended *checked = goal->search.checked;
    uint64_t most = rue_deployment_most_ranks(deployment);
    if (checked && !rue_deployment_equal(&checked->found.job.deployment, deployment))
        return rue_fail(error, RUE_USAGE,
                        "--launch started %" PRIu64 " ranks, but the recommendation is for %" PRIu64,
                        deployment->ranks, rue_deployment_loaders(&checked->found.job.deployment));
    if (most > deployment->ranks)
        return rue_fail(error, RUE_USAGE,
                        "--ranks: the launcher started %" PRIu64 " ranks, fewer than %" PRIu64
                        "; start %" PRIu64 " with --launch, or give smaller numbers",
                        deployment->ranks, most, most);
    return RUE_OK;
}

static rue_status open_runner(struct rue_study_setup *setup, rue_error *error)
{
    struct rue_study_goal *goal = &setup->goal;
    struct rue_deployment *deployment = &goal->loader.deployment;
    if (goal->data.table) return rue_study_open_recording(setup, error);
    goal->loader.runner.progress = setup->progress;
    rue_status status = rue_runners_open(&goal->loader.runner, deployment, &setup->host.runners, error);
    if (status == RUE_OK && rue_deployment_is_launched(deployment)) status = check_ranks(goal, error);
    if (status == RUE_OK) rue_deployment_apply(deployment, &goal->loader.workload);
    return status;
}

static uint64_t smallest_job(const struct rue_study_setup *setup)
{
    uint64_t least = setup->variants[0].job_images;
    for (size_t v = 1; v < setup->variant_count; v++)
        if (setup->variants[v].job_images < least) least = setup->variants[v].job_images;
    return least;
}

static rue_status open_parts(struct rue_study *study, rue_error *error)
{
    const struct rue_study_goal *goal = &study->setup.goal;
    rue_status status = open_runner(&study->setup, error);
    if (status != RUE_OK) return status;
    identify_runner(&study->setup);
    status = rue_study_choose_models(&study->setup, error);
    const struct rue_hello *hello = rue_study_hello(&study->setup);
    if (status == RUE_OK) status = rue_study_check_pinning(&study->setup, error);
    if (status == RUE_OK) status = rue_study_choose_data(&study->setup, error);
    if (status == RUE_OK) status = rue_study_try_models(&study->setup, error);
    /* Options are checked before anything is written or read; those that depend on J, before the sample. */
    if (status == RUE_OK) status = rue_study_space(goal, hello, UINT64_MAX, &study->setup.space, error);
    if (status == RUE_OK) status = rue_study_check_batches(&study->setup, error);
    if (status == RUE_OK && !goal->output.keep_nothing) status = rue_study_open_folder(&study->setup, error);
    const int *sizes = study->setup.space.values[RUE_BATCH_SIZE],
              size_count = study->setup.space.count[RUE_BATCH_SIZE];
    study->setup.requested_images = goal->job.batches ? goal->job.batches * (uint64_t)sizes[size_count - 1]
                                                      : rue_study_share(&study->setup, goal->job.images);
    if (status == RUE_OK && !goal->output.fresh)
        status = rue_study_open_store(&study->setup, &study->ledger, error);
    if (status == RUE_OK) status = rue_study_open_data(&study->setup, error);
    if (status == RUE_OK)
        status = rue_causes_check_idle(&study->setup, "before the first trial",
                                       study->outcome.changes.busy_before, error);
    if (status == RUE_OK)
        status = rue_study_space(goal, hello, smallest_job(&study->setup), &study->setup.space, error);
    if (status == RUE_OK) rue_study_note_batches(&study->setup, size_count, smallest_job(&study->setup));
    if (status == RUE_OK) status = rue_study_list_configs(&study->setup, error);
    if (status == RUE_OK) status = rue_study_resolve_budget(&study->setup, error);
    if (status == RUE_OK) status = rue_study_add_sample(&study->setup, &study->ledger, error);
    if (status == RUE_OK && goal->output.fresh)
        status = rue_study_open_store(&study->setup, &study->ledger, error);
    if (status == RUE_OK) status = rue_study_note_continued(&study->setup, &study->ledger, error);
    if (status == RUE_OK) status = rue_study_load_changes(&study->setup, &study->ledger, error);
    return status == RUE_OK ? rue_study_note_under_way(&study->setup, &study->ledger, error) : status;
}

void rue_study_close(struct rue_study *study)
{
    if (!study) return;
    rue_runners_close(study->setup.host.runners);
    rue_recording_close(study->setup.host.recording);
    rue_store_close(study->ledger.store);
    if (study->setup.place.part_lock >= 0) close(study->setup.place.part_lock);
    rue_part_remove(study->setup.place.part);
    rue_interrupt_guard_file(NULL);
    if (study->setup.place.discard && study->setup.place.lock >= 0) rue_study_discard(&study->setup);
    rue_folder_release(study->setup.place.lock);
    for (size_t v = 0; v < study->setup.variant_count; v++) {
        rue_cost_matrix_close(study->outcome.variants[v].matrix);
        rue_knowledge_close(study->outcome.variants[v].knowledge);
        rue_study_prior_close(&study->setup.priors[v]);
        rue_rank_times_close(&study->ledger.rank_times[v]);
    }
    free(study->setup.configs);
    free(study->ledger.rows);
    free(study);
}

rue_status rue_study_open(const struct rue_study_goal *goal, struct rue_progress *progress,
                          struct rue_study **out, rue_error *error)
{
    struct rue_study *study = calloc(1, sizeof *study);
    if (!study) return rue_fail_memory(error, "a study", sizeof *study);
    study->setup.goal = *goal;
    study->setup.plan.strategy =
        goal->search.checked ? &rue_strategy_recheck : rue_strategy_find(goal->search.strategy);
    study->setup.progress = progress;
    study->ledger.clock.start_ns = rue_suspension_awake_ns();
    study->setup.place.lock = study->setup.place.part_lock = -1;
    study->setup.memory_bytes =
        goal->loader.memory_bytes ? goal->loader.memory_bytes : rue_machine_available_bytes() / 5 * 4;
    rue_study_now(study->setup.started, sizeof study->setup.started);
    if (goal->output.dry_run) setenv("RUE_DRY_RUN", "true", 1); /* for runners, also nested ones */
    rue_status status = open_parts(study, error);
    study->setup.place.discard = status != RUE_OK;
    if (status != RUE_OK) return rue_study_close(study), status;
    *out = study;
    return RUE_OK;
}

void rue_study_keep(struct rue_study *study, struct rue_findings *findings)
{
    struct rue_study_end *end = &study->end;
    findings->unsaved =
        (end->ran != RUE_OK || findings->run.partial) &&
        rue_study_keep_earlier(&study->setup, &study->ledger, findings, end->kept, sizeof end->kept);
    if (findings->unsaved || end->ran == RUE_STORE) return;
    /* A failure is in `lost`. */
    (void)!rue_study_keep_findings(&study->setup, &study->ledger, findings, &end->lost);
}
