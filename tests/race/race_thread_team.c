/* Pieces of work that a team shares: every member does its part of each, and all are done when it returns. */
#include "race_fixture.h"
#include "thread_team.h"

enum { PIECES = 2000, CELLS = 64 };

static void add_one(void *context, size_t member, size_t members)
{
    int *cells = context;
    for (size_t i = member; i < CELLS; i += members) cells[i]++;
}

static const char *run(size_t members)
{
    int cells[CELLS] = {0};
    struct rue_thread_team *team;
    if (rue_thread_team_open(members, &team, NULL) != RUE_OK) return "it does not open";
    const char *fault = NULL;
    for (int piece = 1; piece <= PIECES; piece++) {
        rue_thread_team_run(team, add_one, cells);
        for (size_t i = 0; i < CELLS; i++)
            if (cells[i] != piece) fault = "a part was not done when the piece was";
    }
    rue_thread_team_close(team);
    return fault;
}

int main(void)
{
    for (size_t members = 1; members <= 6; members++) race_case(run(members), "a team of %d", (int)members);
    return race_end();
}
