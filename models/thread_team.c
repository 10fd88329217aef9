#include "thread_team.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"

struct helper {
    struct rue_thread_team *team;
    size_t member;
    pthread_t thread;
};

struct rue_thread_team {
    pthread_mutex_t mutex;
    pthread_cond_t begun, ended;
    unsigned long piece; /* number of the current piece of work */
    size_t busy;         /* helpers that still work on it */
    bool closing;
    rue_thread_work *work;
    void *context;
    size_t members, helper_count; /* running helpers: members - 1 after opening */
    struct helper helpers[];      /* [members - 1] */
};

static void *run_helper(void *argument)
{
    struct helper *helper = argument;
    struct rue_thread_team *team = helper->team;
    pthread_mutex_lock(&team->mutex);
    for (unsigned long seen = 0;;) {
        while (team->piece == seen && !team->closing) pthread_cond_wait(&team->begun, &team->mutex);
        if (team->closing) break;
        seen = team->piece;
        pthread_mutex_unlock(&team->mutex);
        team->work(team->context, helper->member, team->members);
        pthread_mutex_lock(&team->mutex);
        if (--team->busy == 0) pthread_cond_signal(&team->ended);
    }
    pthread_mutex_unlock(&team->mutex);
    return NULL;
}

rue_status rue_thread_team_open(size_t members, struct rue_thread_team **out, rue_error *error)
{
    size_t bytes = sizeof(struct rue_thread_team) + (members - 1) * sizeof(struct helper);
    struct rue_thread_team *team = calloc(1, bytes);
    if (!team) return rue_fail_memory(error, "a team of threads", bytes);
    team->members = members;
    pthread_mutex_init(&team->mutex, NULL);
    pthread_cond_init(&team->begun, NULL);
    pthread_cond_init(&team->ended, NULL);
    for (; team->helper_count < members - 1; team->helper_count++) {
        struct helper *helper = &team->helpers[team->helper_count];
        *helper = (struct helper){.team = team, .member = team->helper_count + 1};
        int refused = pthread_create(&helper->thread, NULL, run_helper, helper);
        if (!refused) continue;
        rue_thread_team_close(team);
        return rue_fail(error, RUE_INFEASIBLE, "cannot start %zu threads for a model: %s%s", members,
                        strerror(refused), rue_advice(refused));
    }
    *out = team;
    return RUE_OK;
}

void rue_thread_team_run(struct rue_thread_team *team, rue_thread_work *work, void *context)
{
    pthread_mutex_lock(&team->mutex);
    team->work = work;
    team->context = context;
    team->busy = team->helper_count;
    team->piece++;
    pthread_cond_broadcast(&team->begun);
    pthread_mutex_unlock(&team->mutex);
    work(context, 0, team->members);
    pthread_mutex_lock(&team->mutex);
    while (team->busy) pthread_cond_wait(&team->ended, &team->mutex);
    pthread_mutex_unlock(&team->mutex);
}

void rue_thread_team_close(struct rue_thread_team *team)
{
    if (!team) return;
    pthread_mutex_lock(&team->mutex);
    team->closing = true;
    pthread_cond_broadcast(&team->begun);
    pthread_mutex_unlock(&team->mutex);
    for (size_t i = 0; i < team->helper_count; i++) pthread_join(team->helpers[i].thread, NULL);
    pthread_cond_destroy(&team->ended);
    pthread_cond_destroy(&team->begun);
    pthread_mutex_destroy(&team->mutex);
    free(team);
}
