/* Parameters of augmentation: sets per second and core beside the goal of 20 million and beside NumPy's and
 * Python's generators; then a stream that is divided among ranks, one after the other and two at once.
 *   augment [REPEATS] */
#include "bench.h"

#include <pthread.h>

#include "augmentation.h"

enum { SETS = 4 << 20, AT_ONCE = 1024, RANKS_MAX = 8 };

static struct rue_recipe recipe;
static const struct rue_augmentation_key key = {.seed = 1};

struct rank {
    uint64_t rank, world;
    double cpu_s;
};

static void *draw_share(void *argument)
{
    struct rue_augmentation sets[AT_ONCE];
    struct rank *own = argument;
    double start = bench_clock(CLOCK_THREAD_CPUTIME_ID);
    for (uint64_t done = 0, share = SETS / own->world; done < share; done += AT_ONCE)
        rue_augmentation_draw(&recipe, &key, own->rank + done * own->world, own->world, sets, AT_ONCE);
    own->cpu_s = bench_clock(CLOCK_THREAD_CPUTIME_ID) - start;
    return NULL;
}

/* CPU time of all ranks together, per million sets. */
static double draw_ranks(void *context)
{
    const uint64_t *world = context;
    struct rank ranks[RANKS_MAX];
    double total = 0;
    for (uint64_t r = 0; r < *world; r++) {
        ranks[r] = (struct rank){r, *world, 0};
        draw_share(&ranks[r]);
        total += ranks[r].cpu_s;
    }
    return total * 1e6 / SETS;
}

/* The same of two ranks at once: what they take from each other, such as memory bandwidth, counts. */
static double draw_two_at_once(void *context)
{
    pthread_t other;
    struct rank ranks[2] = {{0, 2, 0}, {1, 2, 0}};
    (void)context;
    if (pthread_create(&other, NULL, draw_share, &ranks[1]) != 0) exit(1);
    draw_share(&ranks[0]);
    pthread_join(other, NULL);
    return (ranks[0].cpu_s + ranks[1].cpu_s) * 1e6 / SETS;
}

/* Sets per second of a Python program that prints them; 0: it cannot run. */
static double peer_rate(const char *program)
{
    char command[1024];
    double rate = 0;
    snprintf(command, sizeof command, "/usr/bin/python3 -c '%s' 2>/dev/null", program);
    FILE *output = popen(command, "r");
    if (!output || fscanf(output, "%lf", &rate) != 1) rate = 0;
    if (output) pclose(output);
    return rate;
}

static void show_peers(double rate)
{
    static const struct {
        const char *name, *program;
    } peers[] = {
        {"Python's random, ten calls a set",
         "import random, time, math\nu = random.uniform\nn = 50000\nt = time.process_time()\n"
         "for i in range(n): (u(.08, 1), math.exp(u(-.29, .29)), u(0, 1), u(0, 1), u(-30, 30), u(.6, 1.4), "
         "u(.6, 1.4), "
         "u(0, .1), u(.8, 1.25), random.random() < .5)\nprint(n / (time.process_time() - t))"},
        {"NumPy's Philox, whole arrays",
         "import numpy as np, time\ng = np.random.Generator(np.random.Philox(1))\nn = 1 << 20\nt = "
         "time.process_time()\n"
         "a = [g.random(n, dtype=np.float32) for i in range(10)]\na[1] = np.exp(a[1])\nprint(n / "
         "(time.process_time() - t))"},
        {"torchvision, RandomResizedCrop.get_params alone",
         "import time, torch\nfrom torchvision.transforms import RandomResizedCrop as "
         "C\ntorch.set_num_threads(1)\n"
         "x = torch.zeros(3, 375, 500)\nn = 2000\nt = time.process_time()\n"
         "for i in range(n): C.get_params(x, (.08, 1), (.75, 1.33))\nprint(n / (time.process_time() - t))"}};
    for (size_t p = 0; p < sizeof peers / sizeof *peers; p++) {
        double peer = peer_rate(peers[p].program);
        if (peer > 0)
            bench_row("parameters, one core", "sets/s", rate, peers[p].name, peer, p == 2 ? ">= 100" : "");
    }
}

int main(int argc, char **argv)
{
    static uint64_t worlds[] = {1, 2, 4, 8};
    const struct bench_side sides[] = {{"1", draw_ranks, &worlds[0]},
                                       {"2", draw_ranks, &worlds[1]},
                                       {"4", draw_ranks, &worlds[2]},
                                       {"8", draw_ranks, &worlds[3]},
                                       {"two at once", draw_two_at_once, NULL}};
    double medians[5];
    rue_error error = {0};
    bench_check(rue_recipe_preset("aggressive", &recipe, &error), &error);
    bench_run(sides, 5, argc > 1 ? atoi(argv[1]) : 15, medians);
    bench_row("parameters, one core", "sets/s", 1e6 / medians[0], "goal", 20e6, ">= 1");
    show_peers(1e6 / medians[0]);
    for (int w = 1; w < 4; w++) {
        char what[64];
        snprintf(what, sizeof what, "parameters, %d ranks, CPU time of all", (int)worlds[w]);
        bench_row(what, "sets/s", 1e6 / medians[w], "1 rank", 1e6 / medians[0], ">= 0.97");
    }
    bench_row("parameters, 2 ranks at once, CPU time", "sets/s", 1e6 / medians[4], "1 rank", 1e6 / medians[0],
              ">= 0.97");
    return 0;
}
