/* A team whose threads work, wait, sleep and are woken, over and over. Its status is 0 if no thread ever ran ahead.
 * Arguments: the number of threads, the number of runs, the turns that an idle member waits before it sleeps. */
#include "parallel.h"
#include <time.h>

enum { NUM_REGIONS = 20, MAX_THREADS = 16, DELAY_EVERY = 50 };

typedef struct {
    int64_t run;
    int64_t marks[MAX_THREADS][CACHE_LINE / sizeof(int64_t)]; /* one line a thread, without atomics on purpose */
    _Atomic int num_errors;
} Shared;

/* Longer than a thread spins in a barrier, so that the others sleep. */
static void delay(void) {
    nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
}

static void work(Team *team, int thread, void *argument) {
    Shared *shared = argument;
    for (int region = 0; region < NUM_REGIONS; region++) {
        int64_t mark = shared->run * NUM_REGIONS + region + 1;
        if (mark % DELAY_EVERY == 0 && mark / DELAY_EVERY % team->num_threads == thread) delay();
        shared->marks[thread][0] = mark;
        barrier(team);
        for (int other = 0; other < team->num_threads; other++)
            if (shared->marks[other][0] != mark) atomic_fetch_add(&shared->num_errors, 1);
        barrier(team);
    }
}

int main(int num_arguments, char **arguments) {
    if (num_arguments != 4) return 2;
    int num_threads = atoi(arguments[1]), num_runs = atoi(arguments[2]);
    Team *team = team_create(num_threads);
    if (!team || num_threads > MAX_THREADS) return 2;
    atomic_store(&team->idle_spins, atoi(arguments[3]));
    Shared shared = {0};
    for (; shared.run < num_runs; shared.run++) {
        if (shared.run % 10 == 0) delay(); /* the members sleep meanwhile */
        if (!team_memory(team, shared.run * 100 + 1)) return 2;
        team_run(team, work, &shared);
    }
    team_destroy(team);
    return atomic_load(&shared.num_errors) != 0;
}
