#include "deployment_options.h"

#include <inttypes.h>

#include "gpu_list.h"
#include "knob_list.h"

const char *rue_deployment_origin(const struct rue_options *options, const struct rue_deployment *deployment)
{
    return rue_options_origin(options, deployment->launcher.words   ? "launch"
                                       : deployment->gpu_list       ? "gpus"
                                       : deployment->world_size > 1 ? "world-size"
                                                                    : "");
}

static rue_status read_launcher(const struct rue_options *options, struct rue_launcher *out, rue_error *error)
{
    *out = (struct rue_launcher){.words = rue_options_text(options, "launch"),
                                 .listen = rue_options_text(options, "listen"),
                                 .timeout_ns = rue_options_number(options, "launch-timeout"),
                                 .farm = rue_options_number(options, "farm") != 0};
    if (out->farm && !out->words)
        return rue_fail(error, RUE_USAGE, "%s needs the command that starts the nodes: add --launch",
                        rue_options_origin(options, "farm"));
    return RUE_OK;
}

static rue_status read_share(const struct rue_options *options, struct rue_deployment *out, rue_error *error)
{
    uint64_t rank = rue_options_number(options, "rank"),
             world_size = rue_options_number(options, "world-size");
    const char *origin = rue_options_origin(options, "rank");
    if (!world_size && *origin)
        return rue_fail(error, RUE_USAGE, "%s %" PRIu64 " needs the number of ranks: add --world-size",
                        origin, rank);
    if (world_size && rank >= world_size)
        return rue_fail(error, RUE_USAGE,
                        "%s %" PRIu64 " is out of range: with %s %" PRIu64 ", the last rank is %" PRIu64,
                        origin, rank, rue_options_origin(options, "world-size"), world_size, world_size - 1);
    out->rank = (int)rank;
    out->world_size = (int)world_size;
    if (world_size > 1 && rue_deployment_is_several(out))
        return rue_fail(error, RUE_USAGE,
                        "%s %" PRIu64 " cannot be used with %s, which makes all ranks itself: remove one of "
                        "them",
                        rue_options_origin(options, "world-size"), world_size,
                        rue_deployment_origin(options, out));
    return RUE_OK;
}

/* Each GPU has its own loader, and is a rank. */
static rue_status read_gpus(const struct rue_options *options, struct rue_deployment *out, rue_error *error)
{
    struct rue_gpu_list gpus;
    const char *origin = rue_options_origin(options, "gpus");
    if (!out->gpu_list) return RUE_OK;
    if (out->launcher.words)
        return rue_fail(error, RUE_USAGE,
                        "%s cannot be used with %s, which starts a rank per GPU: remove one of them", origin,
                        rue_options_origin(options, "launch"));
    return rue_gpu_list_parse(out->gpu_list, origin, &gpus, error);
}

/* Numbers of ranks are listed like values of a knob. */
static rue_status read_numbers(const struct rue_options *options, size_t data_count,
                               struct rue_deployment *out, rue_error *error)
{
    static const struct rue_knob_info count = {.name = "ranks", .min = 1, .max = RUE_LAUNCHED_RANKS_MAX};
    static const struct rue_knobs knobs = {1, {&count}};
    struct rue_space space = {.knobs = &knobs};
    const char *list = rue_options_text(options, "ranks"), *origin = rue_options_origin(options, "ranks");
    if (!list) return RUE_OK;
    if (!out->launcher.words)
        return rue_fail(error, RUE_USAGE,
                        "%s: nothing starts the ranks; add a launcher, such as --launch 'mpirun -n 8'",
                        origin);
    rue_status status = rue_knob_list_parse(&space, 0, list, origin, error);
    if (status != RUE_OK) return status;
    rue_space_add(&space, 0, 1);
    size_t more = (size_t)space.count[0] - 1, most = (2 * RUE_RANK_NUMBERS_MAX / data_count - 1) / 2;
    if (more == 0) return rue_fail(error, RUE_USAGE, "%s: give a number above 1, such as 1,2,4,8", origin);
    if (more > most)
        return rue_fail(error, RUE_USAGE,
                        "%s: %zu numbers above 1 are too many for %zu data set%s: give at most %zu", origin,
                        more, data_count, data_count == 1 ? "" : "s", most);
    for (size_t i = 0; i <= more; i++) out->numbers.at[i] = space.values[0][i];
    out->numbers.count = more + 1;
    return RUE_OK;
}

rue_status rue_deployment_read(const struct rue_options *options, size_t data_count,
                               struct rue_deployment *out, rue_error *error)
{
    *out = (struct rue_deployment){.gpu_list = rue_options_text(options, "gpus")};
    rue_status status = read_launcher(options, &out->launcher, error);
    if (status == RUE_OK) status = read_share(options, out, error);
    if (status == RUE_OK) status = read_gpus(options, out, error);
    if (status == RUE_OK && rue_deployment_is_several(out) && rue_options_text(options, "runner-fd"))
        return rue_fail(
            error, RUE_USAGE,
            "%s cannot be used with --runner-fd, whose programs are the loaders: remove one of them",
            rue_deployment_origin(options, out));
    return status == RUE_OK ? read_numbers(options, data_count, out, error) : status;
}
