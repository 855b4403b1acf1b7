/* Computes one step of a small made-up model, so that two forms can be compared; see check.py. The model takes every
 * path: weights of 4 and 8 bits, decoded tokens beside a prompt, both activations, window, caps, norms and a bias. */
#pragma once
#include "forward.h"
#include "vocabulary.h"

enum {
    TEST_HIDDEN = 192,
    TEST_WIDE = 384,
    TEST_HEADS = 6,
    TEST_KV_HEADS = 2,
    TEST_HEAD_DIM = 32,
    TEST_VOCAB = 203,
    TEST_LAYERS = 2,
    TEST_SPAN = 192,
    TEST_DECODED = 3,
    TEST_PROMPT = 20,
    TEST_CONTEXT = 21,
    TEST_TABLE = 3, /* blocks of one sequence */
    TEST_SEQUENCES = TEST_DECODED + 1,
    TEST_TOKENS = TEST_DECODED + TEST_PROMPT,
    TEST_LOGITS = TEST_DECODED + 2,
    TEST_SORTED = 40,
    TEST_MEMORY = 8 << 20
};

/* Numbers from Marsaglia's xorshift (doi 10.18637/jss.v008.i14), in memory that is taken from front to back. */
typedef struct {
    uint32_t state;
    char *at;
} Made;

static void *take(Made *made, int64_t bytes) { return carve(&made->at, bytes); }

static uint32_t any(Made *made) {
    made->state ^= made->state << 13;
    made->state ^= made->state >> 17;
    made->state ^= made->state << 5;
    return made->state;
}

static float between(Made *made, float low, float high) {
    return low + (high - low) * (float)(any(made) >> 8) * 0x1p-24f;
}

static float *some_floats(Made *made, int64_t num, float low, float high) {
    float *out = take(made, num * 4);
    for (int64_t i = 0; i < num; i++) out[i] = between(made, low, high);
    return out;
}

/* A small positive or negative power of two times 1.0 to 1.75 as binary16. */
static uint16_t some_half(Made *made, int exponent, int is_negative) {
    return (uint16_t)(is_negative << 15 | (15 + exponent) << 10 | (any(made) & 3) << 8);
}

static Matrix some_matrix(Made *made, int num_in, int num_out, int bits, int has_bias) {
    int num_tiles = (num_out + TILE - 1) / TILE, groups = num_in / GROUP, fours = (num_tiles + FOUR - 1) / FOUR;
    int64_t tile_bytes = (int64_t)groups * (bits == 4 ? GROUP_BYTES_4 : GROUP_BYTES_8);
    uint8_t *tiles = take(made, num_tiles * tile_bytes), *at = tiles;
    for (int group = 0; group < num_tiles * groups; group++) {
        for (int i = 0; i < TILE * GROUP * bits / 8; i++) *at++ = (uint8_t)(1 + any(made) % 255);
        for (int i = 0; i < 2 * TILE; i++, at += bits == 4 ? 2 : 0) {
            uint16_t half = some_half(made, i < TILE ? -7 : -4, i >= TILE);
            if (bits == 4) memcpy(at, &half, 2);
        }
        for (int i = 0; bits == 8 && i < TILE; i++, at += 4) {
            float scale = between(made, 0.0005f, 0.001f);
            memcpy(at, &scale, 4);
        }
    }
    int64_t num_codes = (int64_t)WIDTH * num_in, num_scales = 2 * num_in / TEST_SPAN * WIDTH;
    uint8_t *prompt_tiles = take(made, fours * (num_codes + 4 * num_scales));
    for (at = prompt_tiles; at < prompt_tiles + fours * (num_codes + 4 * num_scales);) {
        for (int64_t i = 0; i < num_codes; i++) *at++ = (uint8_t)(1 + any(made) % 255);
        for (int64_t i = 0; i < num_scales; i++, at += 4) {
            float scale = between(made, 0.000005f, 0.00001f);
            memcpy(at, &scale, 4);
        }
    }
    const float *bias = has_bias ? some_floats(made, (int64_t)num_tiles * TILE, -1, 1) : NULL;
    return (Matrix){num_in, num_out, bits, TEST_SPAN, tile_bytes, tiles, prompt_tiles, bias};
}

static Layer some_layer(Made *made, int bits) {
    int width = (TEST_HEADS + 2 * TEST_KV_HEADS) * TEST_HEAD_DIM;
    return (Layer){
        .attention_norm = some_floats(made, TEST_HIDDEN, 0.5f, 1.5f),
        .mlp_norm = some_floats(made, TEST_HIDDEN, 0.5f, 1.5f),
        .post_attention_norm = some_floats(made, TEST_HIDDEN, 0.5f, 1.5f),
        .post_mlp_norm = some_floats(made, TEST_HIDDEN, 0.5f, 1.5f),
        .query_norm = some_floats(made, TEST_HEAD_DIM, 0.5f, 1.5f),
        .key_norm = some_floats(made, TEST_HEAD_DIM, 0.5f, 1.5f),
        .window = bits == 8 ? 11 : 0,
        .qkv = some_matrix(made, TEST_HIDDEN, width, bits, 1),
        .output = some_matrix(made, TEST_HEADS * TEST_HEAD_DIM, TEST_HIDDEN, bits, 0),
        .gate_up = some_matrix(made, TEST_HIDDEN, 2 * TEST_WIDE, bits, 0),
        .down = some_matrix(made, TEST_WIDE, TEST_HIDDEN, bits, 0),
    };
}

static void fill_batch(Made *made, Batch *batch) {
    int32_t *ids = take(made, TEST_TOKENS * 4), *positions = take(made, TEST_TOKENS * 4);
    int32_t *chunks = take(made, TEST_TOKENS * 4), *starts = take(made, (TEST_SEQUENCES + 1) * 4);
    int32_t *tables = take(made, TEST_SEQUENCES * TEST_TABLE * 4), *table_at = take(made, TEST_SEQUENCES * 4);
    int32_t *rows = take(made, TEST_LOGITS * 4);
    float *rotations = take(made, TEST_TOKENS * 2 * TEST_HEAD_DIM * 4);
    int64_t num_cached = (int64_t)TEST_SEQUENCES * TEST_TABLE * TEST_LAYERS * TEST_KV_HEADS * 2 * BLOCK * TEST_HEAD_DIM;
    bf16 *cache = take(made, num_cached * 2);
    for (int t = 0; t < TEST_TOKENS; t++) {
        int from_prompt = t - TEST_DECODED;
        ids[t] = 7 * t % TEST_VOCAB;
        positions[t] = from_prompt < 0 ? TEST_CONTEXT + 7 * t : from_prompt;
        chunks[t] = from_prompt < 0 ? t : TEST_DECODED;
        float *own = rotations + t * 2 * TEST_HEAD_DIM, *partner = own + TEST_HEAD_DIM;
        for (int i = 0; i < TEST_HEAD_DIM; i++) {
            own[i] = cosf((float)(positions[t] * (i / 2)));
            partner[i] = (i % 2 ? 1.0f : -1.0f) * sinf((float)(positions[t] * (i / 2)));
        }
    }
    for (int i = 0; i <= TEST_SEQUENCES; i++) starts[i] = i < TEST_SEQUENCES ? i : TEST_TOKENS;
    for (int i = 0; i < TEST_SEQUENCES; i++) table_at[i] = i * TEST_TABLE;
    for (int i = 0; i < TEST_SEQUENCES * TEST_TABLE; i++) tables[i] = TEST_SEQUENCES * TEST_TABLE - 1 - i;
    for (int i = 0; i < TEST_LOGITS; i++) rows[i] = i < TEST_DECODED ? i : TEST_TOKENS - TEST_LOGITS + i;
    for (int64_t i = 0; i < num_cached; i++) cache[i] = (bf16)((any(made) & 1) << 15 | (any(made) & 127) | 0x3F00);
    *batch = (Batch){TEST_TOKENS, TEST_SEQUENCES, TEST_LOGITS, batch->num_decoded, ids, positions, chunks, starts,
                     tables, table_at, rows, rotations, cache, batch->logits};
}

/* The length of self_test's result. */
int self_test_size(void) { return TEST_LOGITS * (TEST_VOCAB + 4 + TEST_SORTED); }

/* out: logits [5][203], then of each row 4 measures, then its first 40 candidates' logits. Returns 0, or 1 when memory
 * has run out. */
int self_test(int is_gelu, int with_prompt_form, float *out) {
    Made made = {.state = 7};
    char *memory = aligned_alloc(64, TEST_MEMORY);
    Team *team = team_create(2);
    if (!memory || !team) return 1;
    made.at = memory;
    Layer layers[TEST_LAYERS] = {some_layer(&made, 4), some_layer(&made, 8)};
    Model model = {
        TEST_LAYERS, TEST_HIDDEN, TEST_WIDE, TEST_HEADS, TEST_KV_HEADS, TEST_HEAD_DIM, TEST_VOCAB, is_gelu, is_gelu, 1e-5f,
        1, 0.1767767f, is_gelu ? 20 : 0, is_gelu ? 30 : 0, 0, layers, some_floats(&made, TEST_HIDDEN, 0.5f, 1.5f),
        some_matrix(&made, TEST_HIDDEN, TEST_VOCAB, 8, 0), some_matrix(&made, TEST_HIDDEN, TEST_VOCAB, 8, 0)};
    Batch batch = {.num_decoded = with_prompt_form ? TEST_DECODED : TEST_TOKENS, .logits = out};
    fill_batch(&made, &batch);
    int has_failed = forward(team, &model, &batch);
    Summary summaries[TEST_LOGITS];
    double temperatures[TEST_LOGITS];
    int32_t ids[TEST_LOGITS * TEST_SORTED];
    float *measures = out + TEST_LOGITS * TEST_VOCAB;
    for (int i = 0; i < TEST_LOGITS; i++) temperatures[i] = 0.7;
    has_failed |= summarise(team, out, temperatures, TEST_LOGITS, TEST_VOCAB, TEST_SORTED, summaries, ids,
                            measures + 4 * TEST_LOGITS);
    for (int i = 0; i < TEST_LOGITS; i++) {
        const Summary *summary = summaries + i;
        measures[4 * i] = (float)summary->log_normalizer, measures[4 * i + 1] = (float)summary->entropy;
        measures[4 * i + 2] = (float)summary->scaled_log_normalizer, measures[4 * i + 3] = (float)summary->scaled_entropy;
    }
    team_destroy(team);
    free(memory);
    return has_failed;
}
