/* A fixed team of threads that run one function together. Knows nothing of models. */
#pragma once
#include <immintrin.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

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
    _Alignas(CACHE_LINE) _Atomic uint32_t started;  /* counts calls of run; sleepers wait on it */
    _Alignas(CACHE_LINE) _Atomic uint32_t arrived;
    _Alignas(CACHE_LINE) _Atomic uint32_t generation; /* counts barriers passed */
    _Atomic uint32_t sleepers;
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

static void futex_wait(_Atomic uint32_t *address, uint32_t seen) {
    syscall(SYS_futex, address, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *address) {
    syscall(SYS_futex, address, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* Every thread must call it; none returns before the last has called it. A thread that has waited for long sleeps: on
 * a busy machine the thread that it waits for may need the core. */
static void barrier(Team *team) {
    if (team->num_threads == 1) return;
    uint32_t generation = atomic_load_explicit(&team->generation, memory_order_acquire);
    if (atomic_fetch_add_explicit(&team->arrived, 1, memory_order_acq_rel) + 1 == (uint32_t)team->num_threads) {
        atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
        atomic_store(&team->generation, generation + 1);
        if (atomic_load(&team->sleepers)) futex_wake(&team->generation);
        return;
    }
    for (int spin = 0; spin < SPINS; spin++) {
        if (atomic_load_explicit(&team->generation, memory_order_acquire) != generation) return;
        _mm_pause();
    }
    atomic_fetch_add(&team->sleepers, 1);
    while (atomic_load(&team->generation) == generation) futex_wait(&team->generation, generation);
    atomic_fetch_sub(&team->sleepers, 1);
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
            _mm_pause();
            started = atomic_load_explicit(&team->started, memory_order_acquire);
        }
        for (; started == seen; started = atomic_load_explicit(&team->started, memory_order_acquire))
            futex_wait(&team->started, seen);
        if (atomic_load(&team->is_ending)) return NULL;
        seen = started;
        team->work(team, member.thread, team->argument);
        barrier(team);
    }
}

void team_destroy(Team *team) {
    atomic_store(&team->is_ending, 1);
    atomic_fetch_add(&team->started, 1);
    futex_wake(&team->started);
    for (int thread = 1; thread < team->num_threads; thread++) pthread_join(team->threads[thread], NULL);
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
    if (team->num_threads > 1) {
        atomic_fetch_add_explicit(&team->started, 1, memory_order_release);
        futex_wake(&team->started);
    }
    work(team, 0, argument);
    barrier(team);
}
