#include "subject_options.h"

#include "data_advice.h"
#include "data_options.h"
#include "deployment_options.h"

rue_status rue_subject_options_read(const struct rue_options *options, struct rue_study_goal *goal,
                                    rue_error *error)
{
    goal->data.count = (size_t)rue_options_argument_count(options);
    goal->data.paths = rue_options_arguments(options);
    goal->models.device = rue_options_text(options, "device");
    goal->models.names = rue_options_text(options, "model");
    goal->job.images = rue_options_number(options, "images");
    goal->loader.trial_timeout_ns = rue_options_number(options, "trial-timeout");
    goal->loader.memory_bytes = rue_options_number(options, "max-memory");
    goal->loader.workload = rue_workload_from_options(options);
    goal->output.command_line = rue_options_command_line(options);
    rue_status status = rue_deployment_read(options, goal->data.count, &goal->loader.deployment, error);
    if (status == RUE_OK) status = rue_runner_address_read(options, &goal->loader.runner, error);
    if (status == RUE_OK) status = rue_knob_choices_read(options, &goal->space.knobs, error);
    if (status == RUE_OK) status = rue_workload_settle(options, &goal->loader.workload, error);
    return status == RUE_OK ? rue_data_options_keys(options, &goal->data.keys, error) : status;
}

rue_status rue_subject_advise(rue_status status, const struct rue_study_goal *goal, rue_error *error)
{
    for (size_t i = 0; i < goal->data.count && rue_runner_address_is_own(&goal->loader.runner); i++)
        status = rue_data_advise(status, goal->data.paths[i], error);
    return status;
}
