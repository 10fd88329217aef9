/* What a scaling experiment leaves in its folder beside the store. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>

#include "file_system.h"
#include "json_document.h"
#include "json_file.h"
#include "machine.h"
#include "output.h"
#include "scale.h"
#include "study_opening.h"
#include "units.h"

#define MONITOR_FOLDER "monitor"

/* ---- samples ---- */

void rue_scale_make_plain(char *name)
{
    for (; *name; name++) {
        bool plain = strchr("._-", *name) || (*name >= '0' && *name <= '9') ||
                     ((*name | 32) >= 'a' && (*name | 32) <= 'z');
        if (!plain) *name = '_';
    }
}

static void name_file(const struct rue_scale *scale, const struct rue_scaling_row *row, char out[512])
{
    const struct rue_scaling_set *set = &scale->results.sets[row->set];
    const struct rue_variant *variant = &set->variant;
    snprintf(out, 512, "%s-%s%s%s-%s-%s-b%d-w%d.csv", variant->format, rue_mode_names[variant->mode],
             variant->dtype[0] ? "-" : "", variant->dtype, set->dataset, row->model,
             row->config.value[RUE_BATCH_SIZE], row->config.value[RUE_NUM_WORKERS]);
    rue_scale_make_plain(out);
}

void rue_scale_monitor_path(const struct rue_scale *scale, const struct rue_scaling_row *row,
                            char out[PATH_MAX])
{
    char name[512];
    name_file(scale, row, name);
    if (snprintf(out, PATH_MAX, "%s/" MONITOR_FOLDER "/%s", scale->results.folder, name) >= PATH_MAX)
        out[0] = 0;
}

struct watched {
    const struct rue_monitor *monitor;
    uint64_t trial;
};

static rue_status render_samples(const void *context, FILE *stream, rue_error *error)
{
    const struct watched *watched = context;
    const struct rue_monitor_sample *samples;
    size_t count = rue_monitor_samples(watched->monitor, &samples);
    rue_monitor_write(samples, count, watched->trial, stream);
    return rue_report_finish(stream, error);
}

rue_status rue_scale_write_monitor(const struct rue_scale *scale, const struct rue_scaling_row *row,
                                   const struct rue_monitor *monitor, uint64_t trial, rue_error *error)
{
    char folder[PATH_MAX], name[512];
    const struct watched watched = {monitor, trial};
    name_file(scale, row, name);
    int length = snprintf(folder, sizeof folder, "%s/" MONITOR_FOLDER, scale->results.folder);
    if (length >= (int)sizeof folder) return rue_fail(error, RUE_STORE, "%s: the path is too long", folder);
    struct stat about;
    int why = mkdir(folder, 0777) == 0 ? 0 : errno;
    if (why == EEXIST && lstat(folder, &about) == 0 && S_ISDIR(about.st_mode)) why = 0; /* and not a link */
    if (why)
        return rue_fail(error, RUE_STORE, "cannot create %s: %s; choose another folder with --out", folder,
                        strerror(why));
    const struct rue_output output = {.folder = folder, .name = name, .mark = RUE_MONITOR_MARK};
    return rue_output_write(&output, render_samples, &watched, error);
}

/* ---- sysinfo.json ---- */

static json_t *machine_json(void)
{
    struct rue_machine machine = rue_machine_read();
    json_t *object = json_object();
    rue_json_put(&object, "cpu", rue_json_text(machine.cpu));
    rue_json_put(&object, "online_cpus", json_integer(machine.online_cpus));
    rue_json_put(&object, "affinity_cpus", json_integer(machine.affinity_cpus));
    rue_json_put(&object, "quota_cpus",
                 machine.quota_cpus > 0 ? rue_json_real(machine.quota_cpus) : json_null());
    rue_json_put(&object, "usable_cpus", json_integer(machine.usable_cpus));
    rue_json_put(&object, "memory_bytes", rue_json_integer(machine.memory_bytes));
    rue_json_put(&object, "kernel", rue_json_text(machine.kernel));
    return object;
}

static json_t *file_system_json(const char *path)
{
    struct rue_file_system found;
    if (!rue_file_system_of(path, &found)) return json_null();
    json_t *object = json_object();
    rue_json_put(&object, "type", rue_json_text(found.type));
    rue_json_put(&object, "source", rue_json_text(found.source));
    rue_json_put(&object, "mount", rue_json_text(found.mount));
    return object;
}

static json_t *data_json(const struct rue_scaling_set *set)
{
    json_t *object = rue_scaling_set_json(set);
    rue_json_put(&object, "dataset", rue_json_text(set->dataset));
    rue_json_put(&object, "file_system", file_system_json(set->variant.path));
    return object;
}

static const char *why_partial(const struct rue_scaling *results)
{
    if (results->partial_reason[0]) return results->partial_reason;
    for (size_t s = 0; s < results->set_count; s++)
        if (results->sets[s].fault[0]) return results->sets[s].fault;
    return "";
}

/* An experiment, and the study that made its trials. */
struct facts {
    const struct rue_scale *scale;
    const struct rue_study_setup *setup;
    uint64_t store_trials;
};

static rue_status render_sysinfo(const void *context, FILE *stream, rue_error *error)
{
    const struct facts *facts = context;
    const struct rue_scale *scale = facts->scale;
    const struct rue_hello *hello = rue_study_hello(facts->setup);
    char libraries[256];
    rue_study_libraries(libraries, sizeof libraries);
    json_t *root = json_object(), *data = json_array(), *gpus = json_array();
    for (size_t s = 0; s < scale->results.set_count; s++)
        rue_json_push(&data, data_json(&scale->results.sets[s]));
    for (size_t g = 0; g < rue_gpu_count(scale->gpu); g++)
        rue_json_push(&gpus, rue_json_text(rue_gpu_name(scale->gpu, g)));
    rue_json_put(&root, "format", json_string("rue.sysinfo/1"));
    rue_json_put(&root, "rue", json_string(RUE_VERSION));
    rue_json_put(&root, "libraries", rue_json_text(libraries));
    rue_json_put(&root, "command_line", rue_json_text(facts->setup->goal.output.command_line));
    rue_json_put(&root, "started", rue_json_text(facts->setup->started));
    rue_json_put(&root, "machine", machine_json());
    rue_json_put(&root, "gpus", gpus);
    rue_json_put(&root, "runner", rue_json_text(hello->runner));
    rue_json_put(&root, "runner_machine", rue_json_words(hello->machine_json));
    rue_json_put(&root, "job_images", rue_json_integer(scale->results.job_images));
    rue_json_put(&root, "trial_images", rue_json_integer(scale->results.trial_images));
    rue_json_put(&root, "period_s", rue_json_real((double)scale->period_ns / 1e9));
    rue_json_put(&root, "store_trials", rue_json_integer(facts->store_trials));
    rue_json_put(&root, "partial", rue_json_text_or_null(why_partial(&scale->results)));
    rue_json_put(&root, "data", data);
    return rue_json_write(root, stream, error);
}

bool rue_scale_ran_last(const char *folder, uint64_t trials, char *reason, size_t bytes)
{
    json_t *facts = rue_json_file_load(folder, RUE_STUDY_SYSINFO);
    const json_t *held = json_object_get(facts, "store_trials"), *partial = json_object_get(facts, "partial");
    bool ran_last = partial && json_is_integer(held) && (uint64_t)json_integer_value(held) == trials;
    const char *why = json_string_value(partial);
    if (ran_last) snprintf(reason, bytes, "%s", why ? why : "");
    json_decref(facts);
    return ran_last;
}

uint64_t rue_scale_earlier_images(const char *folder, uint64_t job_images)
{
    json_t *facts = rue_json_file_load(folder, RUE_STUDY_SYSINFO);
    json_int_t job = json_integer_value(json_object_get(facts, "job_images")),
               images = json_integer_value(json_object_get(facts, "trial_images"));
    json_decref(facts);
    return job > 0 && images > 0 && (uint64_t)job == job_images ? (uint64_t)images : 0;
}

/* ---- both ---- */

static rue_status render_summary(const void *context, FILE *stream, rue_error *error)
{
    return rue_scaling_write_csv(context, stream, error);
}

static const struct rue_report summary = {.name = "summary",
                                          .file = "summary.csv",
                                          .mark = "format,variant,dataset,batch_size,"},
                               sysinfo = {.name = "sysinfo",
                                          .file = RUE_STUDY_SYSINFO,
                                          .mark = "{\n  \"format\": \"rue.sysinfo/"};
const struct rue_report *const rue_scale_reports[] = {&summary, &sysinfo, NULL};

rue_status rue_scale_write(const struct rue_scale *scale, const struct rue_study *study, rue_error *error)
{
    const char *folder = scale->results.folder;
    const struct rue_output csv = rue_output_of(&summary, folder), json = rue_output_of(&sysinfo, folder);
    struct facts facts = {.scale = scale, .setup = &study->setup};
    char monitor[PATH_MAX + 16];
    snprintf(monitor, sizeof monitor, "%s/" MONITOR_FOLDER, folder);
    rue_output_sweep(monitor); /* no sample is written where all are there */
    rue_status status = rue_store_count(study->ledger.store, &facts.store_trials, error);
    if (status == RUE_OK) status = rue_output_write(&csv, render_summary, &scale->results, error);
    return status == RUE_OK ? rue_output_write(&json, render_sysinfo, &facts, error) : status;
}
