/* Summarises rows of logits for the sampler, in two passes over each. Knows nothing of parameters but the
 * temperature.
 *
 * The first num_sorted candidates are among those that reach the num_sorted-th greatest of the runs' maxima. So up to
 * one candidate a run a few more than num_sorted are sorted; beyond that, and where very many logits are equal, all are:
 * in O(n log n) by qsort. Selecting among the maxima takes O(runs), at worst their square: 4,096 of them in a
 * vocabulary of 262,144. */
#pragma once
#include "parallel.h"
#include "vector_math.h"

enum { RUN = 64 }; /* logits per run: the maxima of many runs bound the first candidates */

typedef struct {
    int32_t is_finite, num_candidates, num_sorted, reserved;
    double log_normalizer, entropy, scaled_log_normalizer, scaled_entropy;
} Summary;

typedef struct {
    float logit;
    int32_t id;
} Candidate;

typedef struct {
    const float *logits; /* [num_rows][vocab_size] */
    const double *temperatures;
    int64_t num_rows, vocab_size, num_sorted;
    Summary *summaries;
    int32_t *ids;  /* [num_rows][num_sorted] */
    float *sorted; /* the same shape */
    char *scratch; /* per thread */
    int64_t scratch_bytes;
    _Atomic int64_t next;
} Vocabulary;

/* LANES logits from `at` on; those past the end are minus infinity. */
static inline Floats logits_at(const float *row, int64_t size, int64_t at) {
    return size - at >= LANES ? load(row + at) : load_first(row + at, size - at, -INFINITY);
}

/* The greatest logit of each run; returns the greatest of all, NaN if there is one. Counts those above -infinity. */
static float scan(const float *row, int64_t size, float *maxima, int32_t *num_candidates) {
    uint32_t has_nan = 0;
    int64_t num = 0;
    float top = -INFINITY;
    for (int64_t run = 0; run * RUN < size; run++) {
        Floats best = splat(-INFINITY);
        for (int64_t at = run * RUN; at < (run + 1) * RUN && at < size; at += LANES) {
            Floats value = logits_at(row, size, at);
            has_nan |= lanes_nan(value);
            num += __builtin_popcount(lanes_above(value, splat(-INFINITY)));
            best = greater(best, value);
        }
        maxima[run] = greatest_of(best);
        top = maxima[run] > top ? maxima[run] : top;
    }
    *num_candidates = (int32_t)num;
    return has_nan ? NAN : top;
}

/* log-sum-exp and entropy of (logits - top) * factor. Sums are taken in double precision run by run. */
static void normalize(const float *row, int64_t size, float top, float factor, double *log_total, double *entropy) {
    double total = 0, weighted = 0;
    for (int64_t run = 0; run < size; run += RUN * 16) {
        Floats sum = zero(), products = zero();
        for (int64_t at = run; at < run + RUN * 16 && at < size; at += LANES) {
            Floats shifted = multiply(subtract(logits_at(row, size, at), splat(top)), splat(factor));
            shifted = greater(shifted, splat(-200.0f)); /* minus infinity times a weight of 0 must be 0 */
            Floats weight = zero_below(exponential(shifted), shifted, -104.0f);
            sum = add(sum, weight);
            products = fused(weight, shifted, products);
        }
        total += sum_of(sum);
        weighted += sum_of(products);
    }
    *log_total = log(total);
    *entropy = *log_total - weighted / total;
}

static float nth_greatest(float *values, int64_t size, int64_t n) {
    int64_t low = 0, high = size - 1;
    while (low < high) { /* quickselect, descending */
        float pivot = values[(low + high) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (values[i] > pivot) i++;
            while (values[j] < pivot) j--;
            if (i <= j) {
                float swap = values[i];
                values[i++] = values[j];
                values[j--] = swap;
            }
        }
        if (n <= j) high = j;
        else if (n >= i) low = i;
        else break;
    }
    return values[n];
}

static int compare(const void *left, const void *right) {
    const Candidate *a = left, *b = right;
    if (a->logit != b->logit) return a->logit > b->logit ? -1 : 1;
    return a->id < b->id ? -1 : 1;
}

/* All logits that reach the bound and are above -infinity. */
static int64_t gather(const float *row, int64_t size, float bound, Candidate *candidates) {
    int64_t num = 0;
    for (int64_t at = 0; at < size; at += LANES) {
        Floats value = logits_at(row, size, at);
        uint32_t lanes = lanes_from(value, splat(bound)) & lanes_above(value, splat(-INFINITY));
        for (; lanes; lanes &= lanes - 1) {
            int64_t id = at + __builtin_ctz(lanes);
            candidates[num++] = (Candidate){row[id], (int32_t)id};
        }
    }
    return num;
}

static void summarise_row(const Vocabulary *work, int64_t index, char *scratch) {
    int64_t size = work->vocab_size, num_runs = (size + RUN - 1) / RUN;
    const float *row = work->logits + index * size;
    Summary *summary = work->summaries + index;
    float *maxima = (float *)scratch;
    Candidate *candidates = (Candidate *)(scratch + num_runs * (int64_t)sizeof(float));
    float top = scan(row, size, maxima, &summary->num_candidates);
    summary->is_finite = isfinite(top) && summary->num_candidates == size;
    if (!isfinite(top)) {
        summary->num_candidates = summary->num_sorted = 0;
        return;
    }
    float factor = (float)(1.0 / work->temperatures[index]);
    normalize(row, size, top, 1.0f, &summary->log_normalizer, &summary->entropy);
    summary->scaled_log_normalizer = summary->log_normalizer, summary->scaled_entropy = summary->entropy;
    if (factor != 1.0f) normalize(row, size, top, factor, &summary->scaled_log_normalizer, &summary->scaled_entropy);
    summary->log_normalizer += top;
    summary->scaled_log_normalizer += top / work->temperatures[index];
    float bound = work->num_sorted <= num_runs ? nth_greatest(maxima, num_runs, work->num_sorted - 1) : -INFINITY;
    int64_t num = gather(row, size, bound, candidates);
    qsort(candidates, (size_t)num, sizeof(Candidate), compare);
    summary->num_sorted = (int32_t)(num < work->num_sorted ? num : work->num_sorted);
    for (int64_t i = 0; i < summary->num_sorted; i++) {
        work->ids[index * work->num_sorted + i] = candidates[i].id;
        work->sorted[index * work->num_sorted + i] = candidates[i].logit;
    }
}

static void summarise_rows(Team *team, int thread, void *argument) {
    (void)team;
    Vocabulary *work = argument;
    for (int64_t row; (row = atomic_fetch_add(&work->next, 1)) < work->num_rows;)
        summarise_row(work, row, work->scratch + thread * work->scratch_bytes);
}

/* Returns 0, or 1 when memory has run out. num_sorted is at least 1 and at most vocab_size. */
int summarise(Team *team, const float *logits, const double *temperatures, int64_t num_rows, int64_t vocab_size,
              int64_t num_sorted, Summary *summaries, int32_t *ids, float *sorted) {
    int64_t bytes = (vocab_size / RUN + 1) * (int64_t)sizeof(float) + vocab_size * (int64_t)sizeof(Candidate);
    bytes = (bytes + CACHE_LINE) / CACHE_LINE * CACHE_LINE;
    Vocabulary work = {logits, temperatures, num_rows, vocab_size, num_sorted, summaries, ids, sorted, NULL, bytes, 0};
    work.scratch = team_memory(team, team->num_threads * bytes);
    if (!work.scratch) return 1;
    if (num_rows == 1) summarise_rows(team, 0, &work); /* nothing to share out */
    else team_run(team, summarise_rows, &work);
    return 0;
}
