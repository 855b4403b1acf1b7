/* The decoder's forward pass on a CPU: one call computes one engine step.
 *
 * Each layer is a few regions with a barrier between them. Within one, each thread computes a run of neighbouring pieces
 * and then takes pieces of the other threads' runs, so that a thread that briefly loses its core does not hold up the
 * others. Knows nothing of sampling. */
#pragma once
#include "attention.h"
#include "matrix.h"
#include "parallel.h"
#include "prompt_matrix.h"
#include "vector_math.h"

typedef struct {
    const float *attention_norm, *mlp_norm;           /* [hidden] */
    const float *post_attention_norm, *post_mlp_norm; /* [hidden], or NULL */
    const float *query_norm, *key_norm;               /* [head_dim], or NULL */
    int64_t rotation;                                 /* index into the batch's rotations */
    int64_t window;                                   /* tokens a position sees, itself included; 0: all */
    Matrix qkv, output, gate_up, down;                /* gate_up: tiles of gate and up by turns */
} Layer;

typedef struct {
    int64_t num_layers, hidden, intermediate, num_heads, num_kv_heads, head_dim, vocab_size;
    int64_t is_gelu, rotates_adjacent;
    float norm_eps, embedding_scale, query_scale, attention_softcap, logit_softcap, reserved;
    const Layer *layers;
    const float *norm; /* [hidden] */
    Matrix embedding, head;
} Model;

typedef struct {
    int64_t num_tokens, num_chunks, num_logits;
    int64_t num_decoded;       /* number of decoded tokens, which come first; the rest use the prompt's form */
    const int32_t *ids;        /* [num_tokens] */
    const int32_t *positions;  /* [num_tokens] */
    const int32_t *chunks;     /* [num_tokens]: index of a token's chunk */
    const int32_t *starts;     /* [num_chunks + 1]: first token of each chunk */
    const int32_t *tables;     /* all block tables, one after the other */
    const int32_t *table_at;   /* [num_chunks]: start of each table */
    const int32_t *logit_rows; /* [num_logits]: tokens that need logits */
    const float *rotations;    /* [kinds][num_tokens][2][head_dim]: see rotate */
    bf16 *cache;               /* [blocks][num_layers][num_kv_heads][2][BLOCK * head_dim] */
    float *logits;             /* [num_logits][vocab_size] */
} Batch;

typedef struct {
    const Model *model;
    const Batch *batch;
    Batch wanted;   /* only the tokens that need logits */
    float *x;       /* [tokens][hidden]: the residual stream */
    float *update;  /* [tokens][hidden]: input of a post-norm */
    float *qkv;     /* [tokens][(heads + 2 kv heads) * head_dim] */
    bf16 *query;    /* [tokens][heads * head_dim] */
    float *mixed;   /* [tokens][heads * head_dim] */
    Rows rows, wide, logit_rows;
    float *scratch; /* [threads]: scores [SCORE_ROWS][pitch] or gates [GATE_ROWS][MAX_SPAN] */
    int64_t pitch, scratch_size;
    int32_t *wanted_memory;
    _Atomic int *next; /* [threads][num_regions]: pieces taken of a thread's run */
    int num_regions, thread, num_threads;
} Pass;

/* Regions of the prompts' products have numbers PROMPTS above those of the decoded tokens: both run together. A piece of
 * ROW_STEP tokens is a whole block of rounded rows: two threads that wrote into one block would share its cache lines. */
enum {
    ROW_STEP = MAX_ROWS,
    TILE_STEP = 2,
    HEAD_STEP = 16,
    PANEL = 256,
    PROMPT_PANEL = 132,
    GATE_ROWS = 66,
    PROMPTS = 9,
    REGIONS = 2 * PROMPTS
};

/* Returns the next of a region's `num` pieces, or num. `run` counts the runs that are used up, the thread's own first.
 * The hardware fetches neighbouring weights ahead, which a single counter for all threads would defeat. */
static inline int64_t take_piece(const Pass *pass, int region, int64_t num, int64_t *run) {
    for (; *run < pass->num_threads; ++*run) {
        int64_t owner = (pass->thread + *run) % pass->num_threads;
        _Atomic int *taken = pass->next + owner * pass->num_regions + region;
        int64_t piece = num * owner / pass->num_threads + atomic_fetch_add_explicit(taken, 1, memory_order_relaxed);
        if (piece < num * (owner + 1) / pass->num_threads) return piece;
    }
    return num;
}

/* Shares out `count` pieces of a region, `step` at a time. Each thread takes the same regions in the same order. */
#define FOR_PIECES(pass, region, count, step, first, last)                                                          \
    for (int64_t first, last, run_ = 0, num_ = ((count) + (step) - 1) / (step);                                      \
         (first = take_piece(pass, region, num_, &run_) * (step)) < (count) &&                                       \
         ((last = first + (step) < (count) ? first + (step) : (count)), (void)last, 1);)

static float inverse_rms(const float *x, int64_t size, float eps) {
    Floats sum = zero();
    for (int64_t i = 0; i < size; i += LANES) sum = fused(load(x + i), load(x + i), sum);
    return 1.0f / sqrtf(sum_of(sum) / (float)size + eps);
}

static inline Floats scaled(const float *x, const float *weight, Floats factor) {
    return multiply(multiply(load(x), factor), load(weight));
}

/* The same of `size` numbers, or x alone where there is no weight. */
static inline void load_scaled(const float *x, const float *weight, float factor, int64_t size, Floats *out) {
    for (int64_t i = 0; i < size; i += LANES)
        out[i / LANES] = weight ? scaled(x + i, weight + i, splat(factor)) : load(x + i);
}

/* Rows of decoded tokens, in whole blocks: the prompts' rows follow them. */
static int64_t prompt_start(const Batch *batch) { return (batch->num_decoded + MAX_ROWS - 1) / MAX_ROWS * MAX_ROWS; }

/* Rounds a token's x, or weight * factor * x, to its matrix's form. */
static void round_token(const Batch *batch, const Matrix *matrix, const float *x, const float *weight, float factor,
                        Rows *rows, int64_t token) {
    int64_t size = matrix->num_in;
    if (token < batch->num_decoded) {
        for (int64_t i = 0; i < size; i += GROUP) {
            Floats values[VECTORS];
            load_scaled(x + i, weight ? weight + i : NULL, factor, GROUP, values);
            quantize_group(values, rows, token, size / GROUP, i / GROUP);
        }
        return;
    }
    for (int64_t first = 0; first < size; first += matrix->span) {
        Floats values[SPAN_VECTORS];
        load_scaled(x + first, weight ? weight + first : NULL, factor, matrix->span, values);
        quantize_span(values, matrix, rows, prompt_start(batch), token - batch->num_decoded, first / matrix->span);
    }
}

static void norm_token(Pass *pass, const Matrix *matrix, const float *weight, int64_t token) {
    const Model *model = pass->model;
    const float *x = pass->x + token * model->hidden;
    float factor = inverse_rms(x, model->hidden, model->norm_eps);
    round_token(pass->batch, matrix, x, weight, factor, &pass->rows, token);
}

/* x += post-normed update, where the model has a post-norm. */
static void add_update(Pass *pass, const float *post_norm, int64_t token) {
    if (!post_norm) return;
    int64_t size = pass->model->hidden;
    float *x = pass->x + token * size, *update = pass->update + token * size;
    Floats factor = splat(inverse_rms(update, size, pass->model->norm_eps));
    for (int64_t i = 0; i < size; i += LANES)
        store(x + i, add(load(x + i), scaled(update + i, post_norm + i, factor)));
}

static void embed(Pass *pass, int64_t token) {
    const Model *model = pass->model;
    float *x = pass->x + token * model->hidden;
    read_row(&model->embedding, pass->batch->ids[token], x);
    for (int64_t i = 0; i < model->hidden; i++) x[i] *= model->embedding_scale;
}

/* Pieces of a matrix product: a tile of outputs, and a panel of the step's tokens. */
typedef struct {
    int64_t num_panels, num_pieces, step, num_tokens, panel;
} Pieces;

static Pieces pieces_of(int64_t num_tiles, int64_t num_tokens, int64_t step, int64_t panel) {
    int64_t num_panels = (num_tokens + panel - 1) / panel;
    return (Pieces){num_panels, num_tiles * num_panels, num_panels > 1 ? 1 : step, num_tokens, panel};
}

typedef struct {
    int64_t tile, first, last; /* tokens */
} Piece;

static Piece piece_at(const Pieces *pieces, int64_t index) {
    int64_t first = index % pieces->num_panels * pieces->panel, last = first + pieces->panel;
    return (Piece){index / pieces->num_panels, first, last < pieces->num_tokens ? last : pieces->num_tokens};
}

/* Stores the lanes of a tile's part that are outputs: `left` of them remain from the part's first on. */
static inline void store_outputs(float *target, Floats x, int64_t left) {
    if (left >= LANES) store(target, x);
    else if (left > 0) store_first(target, x, left);
}

static inline Floats load_outputs(const float *source, int64_t left) {
    return left >= LANES ? load(source) : left > 0 ? load_first(source, left, 0) : zero();
}

/* out [tokens][num_out] = or += rows @ matrix, one piece. */
static void multiply_piece(const Matrix *matrix, const Rows *rows, Piece piece, float *out, int64_t pitch, int adds) {
    Floats part[MAX_ROWS][PARTS];
    int64_t left = matrix->num_out - piece.tile * TILE;
    for (int64_t row = piece.first; row < piece.last; row += MAX_ROWS) {
        int num = piece.last - row < MAX_ROWS ? (int)(piece.last - row) : MAX_ROWS;
        product(matrix, (int)piece.tile, rows, row / MAX_ROWS, num, part);
        for (int r = 0; r < num; r++)
            for (int p = 0; p < PARTS; p++) {
                float *target = out + (row + r) * pitch + piece.tile * TILE + p * LANES;
                if (adds) part[r][p] = add(part[r][p], load_outputs(target, left - p * LANES));
                store_outputs(target, part[r][p], left - p * LANES);
            }
    }
}

static void add_bias(const Matrix *matrix, int64_t first, int64_t num, float *out) {
    if (!matrix->bias) return;
    for (int64_t i = 0; i < num; i += LANES) store(out + i, add(load(out + i), load(matrix->bias + first + i)));
}

/* The same by the prompt's form: four tiles; the piece's tokens count from the first of a prompt. Surplus rows and
 * tiles at the end are computed into a scratch buffer. */
static void multiply_prompt(const Batch *batch, const Matrix *matrix, const Rows *rows, Piece piece, float *out,
                            int adds) {
    float beside[PROMPT_ROWS][WIDTH] = {0};
    int64_t pitch = matrix->num_out, left = pitch - piece.tile * WIDTH, width = left < WIDTH ? left : WIDTH;
    for (int64_t row = piece.first; row < piece.last; row += PROMPT_ROWS) {
        int64_t num = piece.last - row < PROMPT_ROWS ? piece.last - row : PROMPT_ROWS;
        int is_whole = num == PROMPT_ROWS && width == WIDTH;
        float *target = out + (batch->num_decoded + row) * pitch + piece.tile * WIDTH;
        for (int64_t r = 0; !is_whole && adds && r < num; r++) memcpy(beside[r], target + r * pitch, width * 4);
        product_prompt(matrix, piece.tile, rows, prompt_start(batch), row, is_whole ? target : beside[0],
                       is_whole ? pitch : WIDTH, adds);
        for (int64_t r = 0; !is_whole && r < num; r++) memcpy(target + r * pitch, beside[r], width * 4);
        for (int64_t r = 0; r < num; r++) add_bias(matrix, piece.tile * WIDTH, width, target + r * pitch);
    }
}

static void multiply_all(Pass *pass, int region, const Matrix *matrix, const Rows *rows, float *out, int adds) {
    const Batch *batch = pass->batch;
    Pieces pieces = pieces_of((matrix->num_out + TILE - 1) / TILE, batch->num_decoded, TILE_STEP, PANEL);
    FOR_PIECES(pass, region, pieces.num_pieces, pieces.step, first, last)
        for (int64_t i = first; i < last; i++)
            multiply_piece(matrix, rows, piece_at(&pieces, i), out, matrix->num_out, adds);
    int64_t num_fours = (matrix->num_out + WIDTH - 1) / WIDTH, num_prompt = batch->num_tokens - batch->num_decoded;
    Pieces prompts = pieces_of(num_fours, num_prompt, 1, PROMPT_PANEL);
    FOR_PIECES(pass, region + PROMPTS, prompts.num_pieces, 1, i, end)
        multiply_prompt(batch, matrix, rows, piece_at(&prompts, i), out, adds);
}

static inline Floats activated(const Model *model, Floats gate, Floats up) {
    return multiply(model->is_gelu ? gelu(gate) : silu(gate), up);
}

/* act(gate) * up of 32 neighbouring outputs, quantised: four tiles, gate and up by turns. */
static void gate(Pass *pass, const Matrix *matrix, Piece piece) {
    int64_t groups = pass->model->intermediate / GROUP;
    Floats part[4][MAX_ROWS][PARTS];
    for (int64_t row = piece.first; row < piece.last; row += MAX_ROWS) {
        int num = piece.last - row < MAX_ROWS ? (int)(piece.last - row) : MAX_ROWS;
        for (int i = 0; i < 4; i++)
            product(matrix, (int)piece.tile * 4 + i, &pass->rows, row / MAX_ROWS, num, part[i]);
        for (int r = 0; r < num; r++) {
            Floats values[VECTORS];
            for (int i = 0; i < VECTORS; i++) {
                int tile = i / PARTS * 2, p = i % PARTS;
                values[i] = activated(pass->model, part[tile][r][p], part[tile + 1][r][p]);
            }
            quantize_group(values, &pass->wide, row + r, groups, piece.tile);
        }
    }
}

/* The same by the prompt's form, for up to GATE_ROWS tokens: a span of outputs; of four tiles two are of the gate. */
static void gate_prompt(Pass *pass, const Layer *layer, Piece piece, float *gates) {
    int64_t start = prompt_start(pass->batch), num = layer->down.span / (2 * TILE);
    float part[PROMPT_ROWS][FOUR][TILE];
    for (int64_t i = 0; i < num; i++)
        for (int64_t row = piece.first; row < piece.last; row += PROMPT_ROWS) {
            product_prompt(&layer->gate_up, piece.tile * num + i, &pass->rows, start, row, part[0][0], WIDTH, 0);
            for (int r = 0; r < PROMPT_ROWS; r++)
                for (int j = 0; j < 2 * TILE; j += LANES) {
                    const float *sides = part[r][j / TILE * 2] + j % TILE;
                    store(gates + (row - piece.first + r) * MAX_SPAN + 2 * i * TILE + j,
                          activated(pass->model, load(sides), load(sides + TILE)));
                }
        }
    for (int64_t row = piece.first; row < piece.last; row++) {
        Floats values[SPAN_VECTORS];
        load_scaled(gates + (row - piece.first) * MAX_SPAN, NULL, 1, layer->down.span, values);
        quantize_span(values, &layer->down, &pass->wide, start, row, piece.tile);
    }
}

static void gate_all(Pass *pass, int region, const Layer *layer, float *gates) {
    int64_t intermediate = pass->model->intermediate, num_decoded = pass->batch->num_decoded;
    Pieces pieces = pieces_of(intermediate / GROUP, num_decoded, 1, PANEL);
    FOR_PIECES(pass, region, pieces.num_pieces, 1, i, end) gate(pass, &layer->gate_up, piece_at(&pieces, i));
    if (pass->batch->num_tokens == num_decoded) return;
    Pieces prompts = pieces_of(intermediate / layer->down.span, pass->batch->num_tokens - num_decoded, 1, GATE_ROWS);
    FOR_PIECES(pass, region + PROMPTS, prompts.num_pieces, 1, i, end)
        gate_prompt(pass, layer, piece_at(&prompts, i), gates);
}

/* Turns each pair of a head's numbers; rotation: [2][head_dim], the factors of the number itself and of its partner. */
static void rotate(const Model *model, const float *rotation, float *head) {
    const int64_t size = model->head_dim, half = size / 2;
    float partners[size];
    if (model->rotates_adjacent) {
        for (int64_t i = 0; i < half; i++) partners[2 * i] = head[2 * i + 1], partners[2 * i + 1] = head[2 * i];
    } else {
        memcpy(partners, head + half, half * sizeof(float));
        memcpy(partners + half, head, half * sizeof(float));
    }
    for (int64_t i = 0; i < size; i += LANES) {
        Floats turned = multiply(load(partners + i), load(rotation + size + i));
        store(head + i, add(multiply(load(head + i), load(rotation + i)), turned));
    }
}

static void norm_head(const Model *model, const float *weight, float *head) {
    if (!weight) return;
    float sum = 0;
    for (int64_t i = 0; i < model->head_dim; i++) sum += head[i] * head[i];
    float factor = 1.0f / sqrtf(sum / (float)model->head_dim + model->norm_eps);
    for (int64_t i = 0; i < model->head_dim; i++) head[i] *= factor * weight[i];
}

/* Norms and rotates one token's queries and keys, and puts key and value into the cache. */
static void place(Pass *pass, int64_t index, int64_t token) {
    const Model *model = pass->model;
    const Batch *batch = pass->batch;
    const Layer *layer = &model->layers[index];
    int64_t head_dim = model->head_dim, position = batch->positions[token];
    int64_t width = (model->num_heads + 2 * model->num_kv_heads) * head_dim;
    float *qkv = pass->qkv + token * width;
    const float *rotation = batch->rotations + (layer->rotation * batch->num_tokens + token) * 2 * head_dim;
    for (int64_t head = 0; head < model->num_heads + model->num_kv_heads; head++) {
        norm_head(model, head < model->num_heads ? layer->query_norm : layer->key_norm, qkv + head * head_dim);
        rotate(model, rotation, qkv + head * head_dim);
    }
    bf16 *query = pass->query + token * model->num_heads * head_dim;
    for (int64_t i = 0; i < model->num_heads * head_dim; i += LANES)
        store_bf16(query + i, multiply(load(qkv + i), splat(model->query_scale)));
    int is_last = token + 1 == batch->starts[batch->chunks[token] + 1];
    int64_t block = batch->tables[batch->table_at[batch->chunks[token]] + position / BLOCK];
    for (int64_t head = 0; head < model->num_kv_heads; head++) {
        int64_t at = ((block * model->num_layers + index) * model->num_kv_heads + head) * 2 * BLOCK * head_dim;
        const float *key = qkv + (model->num_heads + head) * head_dim;
        store_token(batch->cache + at, (int)(position % BLOCK), is_last, (int)head_dim, key,
                    key + model->num_kv_heads * head_dim);
    }
}

/* Rows of `heads` query heads (of one key/value head) from query head `head` on, tokens first to last of one chunk. */
static void attend_tokens(Pass *pass, int64_t index, int64_t head, int64_t heads, int64_t first, int64_t last,
                          float *scores) {
    const Model *model = pass->model;
    const Batch *batch = pass->batch;
    int64_t head_dim = model->head_dim, size = 2 * BLOCK * head_dim;
    int64_t kv_head = head / (model->num_heads / model->num_kv_heads), window = model->layers[index].window;
    Context context = {batch->cache + (index * model->num_kv_heads + kv_head) * size,
                       model->num_layers * model->num_kv_heads * size,
                       batch->tables + batch->table_at[batch->chunks[first]], (int)head_dim, model->attention_softcap};
    Row rows[SCORE_ROWS];
    int num = 0;
    for (int64_t token = first; token < last; token++)
        for (int64_t h = head; h < head + heads; h++) {
            int64_t offset = (token * model->num_heads + h) * head_dim, position = batch->positions[token];
            int low = window && position + 1 > window ? (int)(position + 1 - window) : 0;
            rows[num++] = (Row){pass->query + offset, pass->mixed + offset, low, (int)position + 1};
            if (num == SCORE_ROWS || (token == last - 1 && h == head + heads - 1)) {
                attend(&context, rows, num, scores, pass->pitch);
                num = 0;
            }
        }
}

/* The whole step's attention as pieces: a tile of neighbouring tokens of one chunk, and some heads. A lone token's heads
 * become one piece each when there would not be enough pieces for all threads. */
static void attend_pieces(Team *team, Pass *pass, int64_t index, int region, float *scores) {
    const Model *model = pass->model;
    const Batch *batch = pass->batch;
    int64_t group = model->num_heads / model->num_kv_heads;
    int64_t tile = SCORE_ROWS / group > 1 ? SCORE_ROWS / group : 1, num_tiles = 0;
    for (int64_t chunk = 0; chunk < batch->num_chunks; chunk++)
        num_tiles += (batch->starts[chunk + 1] - batch->starts[chunk] + tile - 1) / tile;
    int64_t heads = num_tiles * model->num_kv_heads < team->num_threads ? 1 : group;
    int64_t num_parts = model->num_heads / heads;
    FOR_PIECES(pass, region, num_tiles * num_parts, 1, piece, end) {
        int64_t left = piece / num_parts, chunk = 0;
        for (;; chunk++) {
            int64_t tiles = (batch->starts[chunk + 1] - batch->starts[chunk] + tile - 1) / tile;
            if (left < tiles) break;
            left -= tiles;
        }
        /* The last tokens attend to the most keys: they come first, so that no long piece is left to the end. */
        int64_t tiles = (batch->starts[chunk + 1] - batch->starts[chunk] + tile - 1) / tile;
        int64_t first = batch->starts[chunk] + (tiles - 1 - left) * tile;
        int64_t last = first + tile < batch->starts[chunk + 1] ? first + tile : batch->starts[chunk + 1];
        attend_tokens(pass, index, piece % num_parts * heads, heads, first, last, scores);
    }
}

/* The first regions of a layer: every token's query, and its key and value in the cache. */
static void project(Team *team, Pass *pass, int64_t index, int region) {
    const Model *model = pass->model;
    const Layer *layer = &model->layers[index];
    int64_t num_tokens = pass->batch->num_tokens;
    FOR_PIECES(pass, region, num_tokens, ROW_STEP, first, last)
        for (int64_t t = first; t < last; t++) {
            if (index) add_update(pass, layer[-1].post_mlp_norm, t);
            else embed(pass, t);
            norm_token(pass, &layer->qkv, layer->attention_norm, t);
        }
    barrier(team);
    multiply_all(pass, region + 1, &layer->qkv, &pass->rows, pass->qkv, 0);
    barrier(team);
    FOR_PIECES(pass, region + 2, num_tokens, ROW_STEP, first, last)
        for (int64_t t = first; t < last; t++) place(pass, index, t);
    barrier(team);
}

/* The other regions: attention and MLP, added to the residual stream. */
static void mix_and_transform(Team *team, Pass *pass, int64_t index, int region, float *scratch) {
    const Model *model = pass->model;
    const Layer *layer = &model->layers[index];
    int64_t num_tokens = pass->batch->num_tokens, heads_width = model->num_heads * model->head_dim;
    attend_pieces(team, pass, index, region + 3, scratch);
    barrier(team);
    FOR_PIECES(pass, region + 4, num_tokens, ROW_STEP, first, last)
        for (int64_t t = first; t < last; t++)
            round_token(pass->batch, &layer->output, pass->mixed + t * heads_width, NULL, 1, &pass->wide, t);
    barrier(team);
    int has_post = layer->post_attention_norm != NULL;
    multiply_all(pass, region + 5, &layer->output, &pass->wide, has_post ? pass->update : pass->x, !has_post);
    barrier(team);
    FOR_PIECES(pass, region + 6, num_tokens, ROW_STEP, first, last)
        for (int64_t t = first; t < last; t++) {
            add_update(pass, layer->post_attention_norm, t);
            norm_token(pass, &layer->gate_up, layer->mlp_norm, t);
        }
    barrier(team);
    gate_all(pass, region + 7, layer, scratch);
    barrier(team);
    has_post = layer->post_mlp_norm != NULL;
    multiply_all(pass, region + 8, &layer->down, &pass->wide, has_post ? pass->update : pass->x, !has_post);
    barrier(team);
}

/* The output layer decides between close candidates, so its rows are rounded to 16 bits, as two rows of 8: the second
 * holds the rounding error of the first. */
static void norm_logit_row(Pass *pass, int64_t row) {
    const Model *model = pass->model;
    const float *x = pass->x + row * model->hidden, *weight = model->norm;
    float factor = inverse_rms(x, model->hidden, model->norm_eps);
    int64_t groups = model->hidden / GROUP;
    for (int64_t i = 0; i < groups; i++) {
        Floats values[VECTORS];
        load_scaled(x + i * GROUP, weight + i * GROUP, factor, GROUP, values);
        quantize_group(values, &pass->logit_rows, 2 * row, groups, i);
        quantize_group(values, &pass->logit_rows, 2 * row + 1, groups, i);
    }
}

static Floats capped(Floats logits, float cap) {
    if (cap <= 0) return logits;
    return multiply(splat(cap), hyperbolic_tangent(divide(logits, splat(cap))));
}

static void multiply_logits(const Pass *pass, int64_t tile) {
    const Model *model = pass->model;
    int64_t num_rows = 2 * pass->batch->num_logits, left = model->vocab_size - tile * TILE;
    Floats part[MAX_ROWS][PARTS];
    for (int64_t row = 0; row < num_rows; row += MAX_ROWS) {
        int num = num_rows - row < MAX_ROWS ? (int)(num_rows - row) : MAX_ROWS;
        product(&model->head, (int)tile, &pass->logit_rows, row / MAX_ROWS, num, part);
        for (int r = 0; r < num; r += 2)
            for (int p = 0; p < PARTS; p++)
                store_outputs(pass->batch->logits + (row + r) / 2 * model->vocab_size + tile * TILE + p * LANES,
                              capped(add(part[r][p], part[r + 1][p]), model->logit_softcap), left - p * LANES);
    }
}

static void compute_logits(Team *team, Pass *pass, int region) {
    const Model *model = pass->model;
    FOR_PIECES(pass, region, pass->batch->num_logits, 1, i, end) {
        add_update(pass, model->layers[model->num_layers - 1].post_mlp_norm, i);
        norm_logit_row(pass, i);
    }
    barrier(team);
    FOR_PIECES(pass, region + 1, (model->vocab_size + TILE - 1) / TILE, HEAD_STEP, first, last)
        for (int64_t tile = first; tile < last; tile++) multiply_logits(pass, tile);
}

/* Moves the rows of the tokens that need logits to the front. In order: a row may be the source of one before it. */
static void gather_wanted(const Pass *pass) {
    const Model *model = pass->model;
    const int32_t *rows = pass->batch->logit_rows;
    int64_t heads_width = model->num_heads * model->head_dim;
    for (int64_t i = 0; i < pass->batch->num_logits; i++) {
        memmove(pass->x + i * model->hidden, pass->x + rows[i] * model->hidden, model->hidden * sizeof(float));
        memmove(pass->query + i * heads_width, pass->query + rows[i] * heads_width, heads_width * sizeof(bf16));
    }
}

static void compute(Team *team, int thread, void *argument) {
    Pass own = *(const Pass *)argument, *pass = &own;
    own.thread = thread;
    float *scratch = pass->scratch + thread * pass->scratch_size;
    int last = (int)pass->model->num_layers - 1;
    for (int layer = 0; layer < last; layer++) {
        project(team, pass, layer, layer * REGIONS);
        mix_and_transform(team, pass, layer, layer * REGIONS, scratch);
    }
    /* In the last layer the other tokens need only their keys and values. */
    project(team, pass, last, last * REGIONS);
    if (!pass->batch->num_logits) return;
    if (thread == 0) gather_wanted(pass);
    barrier(team);
    Pass wanted = *pass;
    wanted.batch = &pass->wanted;
    mix_and_transform(team, &wanted, last, last * REGIONS, scratch);
    compute_logits(team, &wanted, (last + 1) * REGIONS);
}

static void *carve(char **at, int64_t bytes) {
    void *start = *at;
    *at += (bytes + 63) / 64 * 64;
    return start;
}

static Rows carve_rows(char **at, int64_t num_rows, int64_t width) {
    Rows rows;
    num_rows = (num_rows + MAX_ROWS - 1) / MAX_ROWS * MAX_ROWS;
    rows.codes = carve(at, num_rows * width);
    rows.scales = carve(at, num_rows * width / GROUP * 4);
    rows.sums = carve(at, num_rows * width / GROUP * 4);
    rows.bias = carve(at, num_rows * width / GROUP * 4);
    return rows;
}

/* Lays the pass out from `at` on and returns its end; with at == NULL that is the number of bytes needed. */
static char *lay_out(Pass *pass, const Team *team, char *at) {
    const Model *model = pass->model;
    int64_t tokens = pass->batch->num_tokens, heads_width = model->num_heads * model->head_dim;
    int64_t widest = model->intermediate > heads_width ? model->intermediate : heads_width, longest = 0;
    for (int64_t t = 0; t < tokens; t++)
        if (pass->batch->positions[t] >= longest) longest = pass->batch->positions[t] + 1;
    pass->pitch = (longest + 2 * BLOCK - 1) / BLOCK * BLOCK;
    pass->num_threads = team->num_threads;
    pass->num_regions = ((int)model->num_layers * REGIONS + 2 + 15) / 16 * 16; /* in whole cache lines */
    pass->x = carve(&at, tokens * model->hidden * 4);
    pass->update = carve(&at, tokens * model->hidden * 4);
    pass->qkv = carve(&at, tokens * (heads_width + 2 * model->num_kv_heads * model->head_dim) * 4);
    pass->query = carve(&at, tokens * heads_width * 2);
    pass->mixed = carve(&at, tokens * heads_width * 4);
    pass->rows = carve_rows(&at, tokens + 2 * MAX_ROWS, model->hidden);
    pass->wide = carve_rows(&at, tokens + 2 * MAX_ROWS, widest);
    pass->logit_rows = carve_rows(&at, 2 * pass->batch->num_logits, model->hidden);
    pass->scratch_size = SCORE_ROWS * pass->pitch > GATE_ROWS * MAX_SPAN ? SCORE_ROWS * pass->pitch : GATE_ROWS * MAX_SPAN;
    pass->scratch = carve(&at, team->num_threads * pass->scratch_size * 4);
    pass->wanted_memory = carve(&at, (2 * pass->batch->num_logits + pass->batch->num_chunks + 1) * 4);
    pass->next = carve(&at, (int64_t)pass->num_threads * pass->num_regions * (int64_t)sizeof(_Atomic int));
    return at;
}

/* The batch of the tokens that need logits: the last ones of their chunks. */
static Batch wanted_of(const Batch *batch, int32_t *memory) {
    Batch wanted = *batch;
    int32_t *positions = memory, *chunks = positions + batch->num_logits, *starts = chunks + batch->num_logits;
    wanted.num_tokens = batch->num_logits, wanted.num_decoded = 0;
    wanted.positions = positions, wanted.chunks = chunks, wanted.starts = starts;
    memset(starts, 0, (batch->num_chunks + 1) * sizeof(int32_t));
    for (int64_t i = 0; i < batch->num_logits; i++) {
        positions[i] = batch->positions[batch->logit_rows[i]];
        chunks[i] = batch->chunks[batch->logit_rows[i]];
        starts[chunks[i] + 1]++;
        wanted.num_decoded += batch->logit_rows[i] < batch->num_decoded;
    }
    for (int64_t chunk = 0; chunk < batch->num_chunks; chunk++) starts[chunk + 1] += starts[chunk];
    return wanted;
}

/* Computes a step. Returns 0, or 1 when memory has run out (nothing has been written then). */
int forward(Team *team, const Model *model, const Batch *batch) {
    Pass pass = {.model = model, .batch = batch};
    char *memory = team_memory(team, (int64_t)(intptr_t)lay_out(&pass, team, NULL));
    if (!memory) return 1;
    lay_out(&pass, team, memory);
    pass.wanted = wanted_of(batch, pass.wanted_memory);
    for (int i = 0; i < pass.num_threads * pass.num_regions; i++) atomic_init(&pass.next[i], 0);
    /* After a step of prompts alone, a client waits for a first token, and the threads that deliver it need the cores.
     * So the team sleeps soon: the step was so long that waking a sleeper costs little beside it. */
    atomic_store_explicit(&team->idle_spins, batch->num_decoded ? IDLE_SPINS : SPINS, memory_order_relaxed);
    team_run(team, compute, &pass);
    return 0;
}
