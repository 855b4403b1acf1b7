/* A fixed team of threads that run one function together, with C11 and POSIX alone. Knows nothing of models. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

enum {
    SPINS = 5000,       /* about 0.1 ms: the time that other threads may still need within a region */
    IDLE_SPINS = 150000, /* about 3 ms: the gap between two steps of a full batch; waking a sleeper costs half of one */
    CACHE_LINE = 64
};

typedef struct Team Team;
typedef void (*Work)(Team *team, int thread, void *argument);

struct Team {
    int num_threads;
    Work work;
    void *argument;
    _Alignas(CACHE_LINE) _Atomic uint32_t started; /* counts calls of run */
    _Alignas(CACHE_LINE) _Atomic uint32_t arrived;
    _Alignas(CACHE_LINE) _Atomic uint32_t generation; /* counts barriers passed */
    _Alignas(CACHE_LINE) _Atomic uint32_t sleepers; /* threads that sleep, or are about to */
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* one of the counters that sleepers wait for */
    _Alignas(CACHE_LINE) _Atomic int is_ending;
    _Atomic int idle_spins; /* spins of a member without work before it sleeps */
    pthread_t *threads;
    char *memory; /* scratch of the current work, kept between calls */
    int64_t size;
};

/* NULL when memory has run out. */
static char *team_memory(Team *team, int64_t bytes) {
    if (bytes <= team->size) return team->memory;
    free(team->memory);
    team->size = (bytes + 4095) / 4096 * 4096;
    team->memory = aligned_alloc(4096, (size_t)team->size);
    if (!team->memory) team->size = 0;
    return team->memory;
}

typedef struct {
    Team *team;
    int thread;
} Member;

/* One turn of a loop that waits for another thread, which may share the core. */
static inline void spin_once(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb"); /* yield does nothing on most cores */
#endif
}

/* Sleeps until the counter is no longer what the caller has seen. */
static void sleep_until_changed(Team *team, _Atomic uint32_t *counter, uint32_t seen) {
    pthread_mutex_lock(&team->mutex);
    atomic_fetch_add(&team->sleepers, 1);
    while (atomic_load(counter) == seen) pthread_cond_wait(&team->changed, &team->mutex);
    atomic_fetch_sub(&team->sleepers, 1);
    pthread_mutex_unlock(&team->mutex);
}

/* Counts on and wakes the sleepers. Either it sees a sleeper, or the sleeper sees the new count: both sides write before
 * they read, in the one order that all threads see. A sleeper lets the mutex go only once it is sure to be woken. */
static void count_on(Team *team, _Atomic uint32_t *counter) {
    atomic_fetch_add(counter, 1);
    if (!atomic_load(&team->sleepers)) return;
    pthread_mutex_lock(&team->mutex);
    pthread_cond_broadcast(&team->changed);
    pthread_mutex_unlock(&team->mutex);
}

/* Every thread must call it; none returns before the last has called it. A thread that has waited for long sleeps: on
 * a busy machine the thread that it waits for may need the core. */
static void barrier(Team *team) {
    if (team->num_threads == 1) return;
    uint32_t generation = atomic_load_explicit(&team->generation, memory_order_acquire);
    if (atomic_fetch_add_explicit(&team->arrived, 1, memory_order_acq_rel) + 1 == (uint32_t)team->num_threads) {
        atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
        count_on(team, &team->generation);
        return;
    }
    for (int spin = 0; spin < SPINS; spin++) {
        if (atomic_load_explicit(&team->generation, memory_order_acquire) != generation) return;
        spin_once();
    }
    sleep_until_changed(team, &team->generation, generation);
}

static void *member_main(void *pointer) {
    Member member = *(Member *)pointer;
    free(pointer);
    Team *team = member.team;
    uint32_t seen = 0;
    for (;;) {
        uint32_t started = seen;
        int num_spins = atomic_load_explicit(&team->idle_spins, memory_order_relaxed);
        for (int spin = 0; spin < num_spins && started == seen; spin++) {
            spin_once();
            started = atomic_load_explicit(&team->started, memory_order_acquire);
        }
        if (started == seen) {
            sleep_until_changed(team, &team->started, seen);
            started = atomic_load_explicit(&team->started, memory_order_acquire);
        }
        if (atomic_load(&team->is_ending)) return NULL;
        seen = started;
        team->work(team, member.thread, team->argument);
        barrier(team);
    }
}

void team_destroy(Team *team) {
    atomic_store(&team->is_ending, 1);
    count_on(team, &team->started);
    for (int thread = 1; thread < team->num_threads; thread++) pthread_join(team->threads[thread], NULL);
    pthread_cond_destroy(&team->changed);
    pthread_mutex_destroy(&team->mutex);
    free(team->threads);
    free(team->memory);
    free(team);
}

static int start_member(Team *team, int thread) {
    Member *member = malloc(sizeof(Member));
    if (!member) return 0;
    *member = (Member){team, thread};
    if (pthread_create(&team->threads[thread], NULL, member_main, member) == 0) return 1;
    free(member);
    return 0;
}

/* NULL when memory or threads run out. */
Team *team_create(int num_threads) {
    Team *team = aligned_alloc(CACHE_LINE, (sizeof(Team) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
    if (!team) return NULL;
    *team = (Team){.num_threads = 1, .threads = calloc((size_t)num_threads, sizeof(pthread_t))};
    pthread_mutex_init(&team->mutex, NULL);
    pthread_cond_init(&team->changed, NULL);
    int is_whole = team->threads != NULL;
    for (; is_whole && team->num_threads < num_threads; team->num_threads += is_whole)
        is_whole = start_member(team, team->num_threads);
    if (is_whole) return team;
    team_destroy(team);
    return NULL;
}

/* The caller is thread 0. */
static void team_run(Team *team, Work work, void *argument) {
    team->work = work;
    team->argument = argument;
    if (team->num_threads > 1) count_on(team, &team->started);
    work(team, 0, argument);
    barrier(team);
}
