#include "replay.h"

#include <math.h>
#include <stdlib.h>

static uint64_t batch_size(const struct rue_replay *replay)
{
    return (uint64_t)replay->config.value[RUE_BATCH_SIZE];
}

static uint64_t batches_of(const struct rue_replay *replay, uint64_t images)
{
    return (images + batch_size(replay) - 1) / batch_size(replay);
}

/* Images of batch `batch` of so many. */
static uint64_t images_of(const struct rue_replay *replay, uint64_t images, uint64_t batch)
{
    uint64_t left = images - batch * batch_size(replay);
    return left < batch_size(replay) ? left : batch_size(replay);
}

/* What a batch of the replay takes by the times that were measured; in proportion where one of them is short.
 */
static double seconds_of(const struct rue_replay *replay, const uint64_t *times_ns, uint64_t batch)
{
    uint64_t measured = batch % replay->measured;
    double share = (double)images_of(replay, replay->images, batch) /
                   (double)images_of(replay, replay->measured_images, measured);
    return share * (double)times_ns[measured] / 1e9;
}

/* Parts of a batch that workers take one by one. */
static uint64_t tickets_of(const struct rue_replay *replay, uint64_t batch)
{
    bool shared = replay->config.value[RUE_PARALLELISM] == RUE_PARALLEL_SAMPLE;
    return shared ? images_of(replay, replay->images, batch) : 1;
}

rue_status rue_replay_of(const struct rue_trial_result *result, struct rue_replay *out, rue_error *error)
{
    *out = (struct rue_replay){.config = result->config,
                               .measured_images = result->images > 0 ? (uint64_t)result->images : 0,
                               .measured = result->ready_count,
                               .load_ns = result->batch_load_ns,
                               .consume_ns = result->batch_compute_ns,
                               .shutdown_s = result->shutdown_ns > 0 ? (double)result->shutdown_ns / 1e9 : 0};
    out->images = out->measured_images;
    const int *value = result->config.value;
    if (value[RUE_BATCH_SIZE] < 1 || value[RUE_NUM_WORKERS] < 0)
        return rue_fail(error, RUE_USAGE, "the trial's batch_size or num_workers is not known");
    if (out->measured == 0 || result->load_count != out->measured || result->compute_count != out->measured ||
        batches_of(out, out->images) != out->measured)
        return rue_fail(error, RUE_USAGE, "the trial has no times of its batches: ask for detail");
    /* What is left of the time to the first batch when it was loaded. */
    uint64_t workers = (uint64_t)value[RUE_NUM_WORKERS], tickets = tickets_of(out, 0);
    double together = (double)(workers < 1 ? 1 : workers < tickets ? workers : tickets);
    out->start_s =
        fmax(0, (double)result->batch_ready_ns[0] / 1e9 - seconds_of(out, out->load_ns, 0) / together);
    return RUE_OK;
}

/* A replay under way. */
struct player {
    const struct rue_replay *replay;
    uint64_t batches, window;
    size_t workers;
    double *free_s;  /* [workers] a heap: the least first */
    double *taken_s; /* [window] when the consumer took batch i, at i % window */
};

/* Gives the worker that is free first a ticket that may be loaded from `from_s` on; answers when it is done.
 */
static double work(struct player *player, double from_s, double ticket_s)
{
    double done_s = fmax(player->free_s[0], from_s) + ticket_s;
    size_t hole = 0;
    for (size_t child; (child = 2 * hole + 1) < player->workers; hole = child) {
        if (child + 1 < player->workers && player->free_s[child + 1] < player->free_s[child]) child++;
        if (player->free_s[child] >= done_s) break;
        player->free_s[hole] = player->free_s[child];
    }
    player->free_s[hole] = done_s;
    return done_s;
}

/* When a batch is loaded that may be from `from_s` on. */
static double load(struct player *player, uint64_t batch, double from_s)
{
    uint64_t tickets = tickets_of(player->replay, batch);
    double ticket_s = seconds_of(player->replay, player->replay->load_ns, batch) / (double)tickets,
           last_s = 0;
    for (uint64_t t = 0; t < tickets; t++) last_s = fmax(last_s, work(player, from_s, ticket_s));
    return last_s;
}

/* A batch may be loaded once the one that lies a window before it is taken, so that all of a window are
 * loaded before its first is taken: one after the other is the order of the tickets. */
static void play(struct player *player, double *loaded_s, struct rue_pipeline_times *out)
{
    const struct rue_replay *replay = player->replay;
    double done_s = replay->start_s;
    for (uint64_t i = 0, begun = 0; i < player->batches; i++) {
        uint64_t slot = i % player->window;
        for (; begun < player->batches && begun < i + player->window; begun++) {
            double from_s =
                begun < player->window ? replay->start_s : player->taken_s[begun % player->window];
            loaded_s[begun % player->window] = load(player, begun, from_s);
        }
        player->taken_s[slot] = fmax(done_s, loaded_s[slot]);
        if (i == 0) out->first_batch_s = player->taken_s[slot];
        done_s = player->taken_s[slot] + seconds_of(replay, replay->consume_ns, i);
    }
    out->end_to_end_s = done_s + replay->shutdown_s;
}

static void play_inline(const struct rue_replay *replay, uint64_t batches, struct rue_pipeline_times *out)
{
    double done_s = replay->start_s;
    for (uint64_t i = 0; i < batches; i++)
        done_s += seconds_of(replay, replay->load_ns, i) + seconds_of(replay, replay->consume_ns, i);
    out->first_batch_s = replay->start_s + seconds_of(replay, replay->load_ns, 0);
    out->end_to_end_s = done_s + replay->shutdown_s;
}

rue_status rue_replay_predict(const struct rue_replay *replay, struct rue_pipeline_times *out,
                              rue_error *error)
{
    struct player player = {.replay = replay,
                            .batches = batches_of(replay, replay->images),
                            .workers = (size_t)replay->config.value[RUE_NUM_WORKERS]};
    out->shutdown_s = replay->shutdown_s;
    if (player.batches > RUE_BATCH_TIMES_MAX)
        return rue_fail(error, RUE_USAGE, "more than %d batches to replay", RUE_BATCH_TIMES_MAX);
    if (player.workers == 0) return play_inline(replay, player.batches, out), RUE_OK;
    player.window = rue_config_window(&replay->config, player.batches);
    size_t count = player.workers + 2 * player.window;
    double *room = calloc(count, sizeof *room);
    if (!room) return rue_fail_memory(error, "a replay", count * sizeof *room);
    player.free_s = room;
    player.taken_s = room + player.workers;
    for (size_t w = 0; w < player.workers; w++) player.free_s[w] = replay->start_s;
    play(&player, player.taken_s + player.window, out);
    free(room);
    return RUE_OK;
}
