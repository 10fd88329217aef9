#include "rank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json_document.h"
#include "json_fields.h"

#define JOIN_PROTOCOL "rue.rank/1"

/* Variables of a launcher. A launcher inside another one sees the variables of both, so the order is from the
 * innermost: torchrun in srun, mpirun in an allocation of Slurm. RANK and WORLD_SIZE alone come last, because
 * pods of a cluster have them for their own job. */
static const struct launcher {
    const char *rank, *world_size, *local_rank; /* only `rank`: the number of ranks is unknown */
    bool needs_local_rank;                      /* it counts only with all three */
    const char *node; /* several nodes of a test cluster share a host; NULL: no variable is reliable */
} launchers[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", true, NULL}, /* torchrun */
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", false, NULL},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", false, NULL}, /* MVAPICH2 */
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", false, NULL}, /* MPICH, Intel MPI */
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", false, NULL},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", false, "SLURMD_NODENAME"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", false, "SLURMD_NODENAME"},
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", false, NULL},
    {"PMIX_RANK", NULL, NULL, false, NULL},
};

enum { LAUNCHERS = sizeof launchers / sizeof *launchers };

/* The nodes of a job, as torchrun reads them. In a pod of Kubeflow they are those of the pod's own job: a
 * torchrun that reads them waits for the other pods. */
static const char *const node_variables[] = {"PET_NNODES",      "PET_NODE_RANK",    "PET_MASTER_ADDR",
                                             "PET_MASTER_PORT", "PET_RDZV_BACKEND", "PET_RDZV_ENDPOINT",
                                             "PET_RDZV_ID",     "PET_RDZV_CONF"};

static bool is_set(const char *name)
{
    const char *text = name ? getenv(name) : NULL;
    return text && text[0];
}

void rue_rank_unset(void)
{
    for (size_t i = 0; i < LAUNCHERS; i++) {
        unsetenv(launchers[i].rank);
        if (launchers[i].local_rank) unsetenv(launchers[i].local_rank);
    }
    for (size_t i = 0; i < sizeof node_variables / sizeof *node_variables; i++) unsetenv(node_variables[i]);
}

/* The first whose variables are set. One that says "1 rank" counts only if no other says more: a pod or an
 * outer launcher with one process has such variables. `*half`: its number of ranks is missing. */
static const struct launcher *find_launcher(const struct launcher **half)
{
    const struct launcher *alone = NULL;
    *half = NULL;
    for (size_t i = 0; i < LAUNCHERS; i++) {
        const struct launcher *launcher = &launchers[i];
        if (!is_set(launcher->rank) || (launcher->needs_local_rank && !is_set(launcher->local_rank)))
            continue;
        if (!is_set(launcher->world_size))
            *half = launcher;
        else if (strcmp(getenv(launcher->world_size), "1") != 0)
            return launcher;
        else if (!alone)
            alone = launcher;
    }
    return alone;
}

/* 0 if the variable is not set. */
static rue_status read_number(const char *name, int least, int most, int *out, rue_error *error)
{
    const char *text = getenv(name);
    char *end = NULL;
    *out = 0;
    if (!is_set(name)) return RUE_OK;
    long value = strtol(text, &end, 10);
    *out = (int)value;
    if (end != text && !*end && value >= least && value <= most) return RUE_OK;
    return rue_fail(error, RUE_USAGE,
                    "%s=%.40s: expected a number from %d to %d; ranks get it from their launcher", name, text,
                    least, most);
}

/* `name`: the variable of the launcher; NULL: the name of the host. */
static void read_node(const char *name, char out[RUE_NODE_BYTES])
{
    const char *node = name ? getenv(name) : NULL;
    if (node)
        snprintf(out, RUE_NODE_BYTES, "%s", node);
    else if (gethostname(out, RUE_NODE_BYTES) != 0)
        snprintf(out, RUE_NODE_BYTES, "unnamed");
    out[RUE_NODE_BYTES - 1] = 0;
}

static rue_status read_rank(struct rue_rank *out, rue_error *error)
{
    const struct launcher *half, *launcher = find_launcher(&half);
    *out = (struct rue_rank){.world_size = 1};
    read_node(launcher ? launcher->node : NULL, out->node);
    if (!launcher && half)
        return rue_fail(error, RUE_USAGE,
                        "%s is set, but %s%s: set RANK, WORLD_SIZE and LOCAL_RANK in each rank, as torchrun "
                        "does",
                        half->rank,
                        half->world_size ? half->world_size : "no variable with the number of ranks",
                        half->world_size ? " is not" : "");
    if (!launcher) return RUE_OK;
    out->variable = launcher->rank;
    rue_status status = read_number(launcher->world_size, 1, RUE_LAUNCHED_RANKS_MAX, &out->world_size, error);
    if (status == RUE_OK) status = read_number(launcher->rank, 0, out->world_size - 1, &out->rank, error);
    if (status == RUE_OK)
        status = read_number(launcher->local_rank, 0, out->world_size - 1, &out->local_rank, error);
    return status;
}

rue_status rue_rank_read(struct rue_rank *out, rue_error *error)
{
    rue_error why = {0};
    rue_status status = read_rank(out, &why);
    if (status == RUE_OK) return RUE_OK;
    rue_error_shorten(why.message, out->wrong, sizeof out->wrong);
    return rue_fail(error, status, "%s", why.message);
}

char *rue_rank_encode_join(const struct rue_rank *rank, const char *token)
{
    json_t *join = json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:s, s:s*, s:s*}", "op", "join", "protocol",
                             JOIN_PROTOCOL, "token", token, "rank", rank->rank, "world_size",
                             rank->world_size, "local_rank", rank->local_rank, "node", rank->node, "variable",
                             rank->variable, "wrong", rank->wrong[0] ? rank->wrong : NULL);
    char *line = rue_json_dump(join, JSON_COMPACT);
    json_decref(join);
    return line;
}

/* Takes the same time wherever the first difference is. */
static bool tokens_equal(const char *a, const char *b)
{
    size_t length = strlen(a);
    unsigned difference = strlen(b) != length;
    for (size_t i = 0; i < length && !(difference && i >= strlen(b)); i++)
        difference |= (unsigned)(a[i] ^ b[i]);
    return difference == 0;
}

/* Node names are printed: other characters could control a terminal. */
static bool is_name(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t length = strlen(text);
    return length > 0 && length < RUE_NODE_BYTES && strspn(text, plain) == length;
}

/* Only a name that is known here is printed. */
static const char *find_variable(const char *name)
{
    for (size_t i = 0; name && i < LAUNCHERS; i++)
        if (strcmp(launchers[i].rank, name) == 0) return launchers[i].rank;
    return NULL;
}

/* A text that is printed. */
static void read_text(const char *text, char *out, size_t bytes)
{
    rue_error_shorten(text, out, bytes);
    for (char *at = out; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 127) *at = '?';
}

static bool read_join(const json_t *join, struct rue_rank *out)
{
    const json_t *rank = json_object_get(join, "rank"), *world = json_object_get(join, "world_size"),
                 *local = json_object_get(join, "local_rank");
    const char *node = json_string_value(json_object_get(join, "node")),
               *wrong = json_string_value(json_object_get(join, "wrong"));
    *out = (struct rue_rank){0};
    if (!node || !is_name(node)) return false;
    snprintf(out->node, sizeof out->node, "%s", node);
    read_text(wrong ? wrong : "", out->wrong, sizeof out->wrong);
    if (out->wrong[0]) return true;
    if (!json_is_integer(rank) || !json_is_integer(world) || !json_is_integer(local)) return false;
    json_int_t number = json_integer_value(rank), size = json_integer_value(world),
               on_node = json_integer_value(local);
    if (size < 1 || size > RUE_LAUNCHED_RANKS_MAX || number < 0 || number >= size) return false;
    if (on_node < 0 || on_node >= size) return false;
    out->rank = (int)number;
    out->world_size = (int)size;
    out->local_rank = (int)on_node;
    out->variable = find_variable(json_string_value(json_object_get(join, "variable")));
    return true;
}

rue_status rue_rank_decode_join(const char *line, const char *token, struct rue_rank *out, rue_error *error)
{
    json_t *join = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    const char *protocol = json_string_value(json_object_get(join, "protocol")),
               *sent = json_string_value(json_object_get(join, "token"));
    bool known = protocol && strcmp(protocol, JOIN_PROTOCOL) == 0,
         trusted = sent && tokens_equal(token, sent);
    bool valid = known && trusted && read_join(join, out);
    json_decref(join);
    if (valid) return RUE_OK;
    return rue_fail(error, RUE_RUNNER, "%s",
                    !known     ? "sent something else than a " JOIN_PROTOCOL " line"
                    : !trusted ? "has a wrong token"
                               : "sent a wrong rank, world size or node name");
}

bool rue_rank_find_node(const char *ranks, char out[RUE_NODE_BYTES])
{
    json_t *list = ranks ? json_loads(ranks, 0, NULL) : NULL;
    const char *name = json_string_value(json_object_get(json_array_get(list, 0), "node"));
    snprintf(out, RUE_NODE_BYTES, "%s", name ? name : "");
    json_decref(list);
    return out[0];
}

json_t *rue_rank_encode_end(const struct rue_rank_end *end)
{
    return json_pack("{s:s, s:i, s:b}", "ended", end->text, "exit_code", end->exit_code, "out_of_memory",
                     end->out_of_memory);
}

bool rue_rank_decode_end(const json_t *line, struct rue_rank_end *out)
{
    const char *text = json_string_value(json_object_get(line, "ended"));
    if (!text) return false;
    const json_t *exit_code = json_object_get(line, "exit_code");
    read_text(text[0] ? text : "ended", out->text, sizeof out->text);
    out->exit_code = json_is_integer(exit_code) ? (int)json_integer_value(exit_code) : -1;
    out->out_of_memory = json_is_true(json_object_get(line, "out_of_memory"));
    return true;
}
