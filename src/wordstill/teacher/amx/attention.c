/* Attention of texts that lie end to end, head by head and 16 queries at a time. */
#include <stdlib.h>
#include <string.h>

#include "tiles.h"

/* Numbers [positions, heads, width]; the strides count numbers. */
struct heads {
    const bf16 *first;
    long row, head;
};

/* What the attention of one head in one text needs; n32 is the number of keys, filled up to a multiple of 32. */
struct desk {
    bf16 *keys, *values; /* [n32, width] in the order of tiles */
    bf16 *queries;       /* [16, width] */
    float *scores;       /* [16, n32] */
    bf16 *weights;       /* [16, n32] */
};

INLINE __mmask16 among_sixteen(long count) { return count >= 16 ? 0xffff : count <= 0 ? 0 : (1u << count) - 1; }

/* For every 16 keys, for every 32 of the width, a tile [16 pairs of the width][16 keys][2]; zeros after the last. */
static void sort_keys(bf16 *to, const bf16 *keys, long row, long n, long n32, long width) {
    __m512i sixteen = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i offsets = _mm512_mullo_epi32(_mm512_set1_epi32((int)row * 2), sixteen);
    for (long key = 0; key < n32; key += ROWS) {
        __mmask16 there = among_sixteen(n - key);
        for (long pair = 0; pair < width / 2; pair++, to += 2 * ROWS) {
            const bf16 *from = keys + (there ? key * row : 0) + pair * 2;
            _mm512_store_si512(to, _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), there, offsets, from, 1));
        }
    }
}

INLINE __m512i sixteen_of(const bf16 *values, int there) {
    return there ? _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)values)) : _mm512_setzero_si512();
}

/* For every 32 keys, for every 16 of the width, a tile [16 pairs of keys][16][2]; zeros after the last. */
static void sort_values(bf16 *to, const bf16 *values, long row, long n, long n32, long width) {
    for (long key = 0; key < n32; key += 2)
        for (long column = 0; column < width; column += ROWS) {
            const bf16 *from = values + key * row + column;
            __m512i one = sixteen_of(from, key < n), next = sixteen_of(from + row, key + 1 < n);
            bf16 *tile = to + key / STEP * STEP * width + column * STEP;
            _mm512_store_si512(tile + key % STEP * ROWS, _mm512_or_si512(one, _mm512_slli_epi32(next, 16)));
        }
}

/* Scores of 16 queries with all keys. */
static void compare(const struct desk *desk, const bf16 *queries, long row, long n32, long width) {
    for (long key = 0; key < n32; key += STEP) {
        const bf16 *keys = desk->keys + key * width;
        _tile_zero(0);
        _tile_zero(1);
        for (long column = 0; column < width; column += STEP, keys += TILE) {
            _tile_loadd(4, queries + column, row * 2);
            _tile_loadd(6, keys, 64);
            _tile_loadd(7, keys + ROWS * width, 64);
            _tile_dpbf16ps(0, 4, 6);
            _tile_dpbf16ps(1, 4, 7);
        }
        _tile_stored(0, desk->scores + key, n32 * 4);
        _tile_stored(1, desk->scores + key + ROWS, n32 * 4);
    }
}

/* Exponentials of n scores below the largest, and zeros after them; gives one over their sum. */
static float weigh(const float *scores, bf16 *weights, long n, long n32, float scale) {
    __m512 largest = _mm512_set1_ps(-__builtin_inff()), sum = _mm512_setzero_ps();
    for (long key = 0; key < n; key += 16)
        largest = _mm512_mask_max_ps(largest, among_sixteen(n - key), largest, _mm512_load_ps(scores + key));
    __m512 factor = _mm512_set1_ps(scale), top = _mm512_set1_ps(_mm512_reduce_max_ps(largest) * scale);
    for (long key = 0; key < n32; key += STEP) {
        __m512 left = exponential(_mm512_fmsub_ps(_mm512_load_ps(scores + key), factor, top));
        __m512 right = exponential(_mm512_fmsub_ps(_mm512_load_ps(scores + key + 16), factor, top));
        left = _mm512_maskz_mov_ps(among_sixteen(n - key), left);
        right = _mm512_maskz_mov_ps(among_sixteen(n - key - 16), right);
        sum = _mm512_add_ps(sum, _mm512_add_ps(left, right));
        store(weights + key, left, right);
    }
    return 1 / _mm512_reduce_add_ps(sum);
}

/* Sums of the values by the weights of up to 16 queries, times a factor for each. */
static void mix(const struct desk *desk, const float *factors, bf16 *out, long row, long count, long n32, long width) {
    float sums[ROWS * STEP] ALIGNED;
    for (long column = 0; column < width; column += STEP) {
        _tile_zero(2);
        _tile_zero(3);
        for (long key = 0; key < n32; key += STEP) {
            const bf16 *values = desk->values + key * width + column * STEP;
            _tile_loadd(4, desk->weights + key, n32 * 2);
            _tile_loadd(6, values, 64);
            _tile_loadd(7, values + TILE, 64);
            _tile_dpbf16ps(2, 4, 6);
            _tile_dpbf16ps(3, 4, 7);
        }
        _tile_stored(2, sums, STEP * 4);
        _tile_stored(3, sums + 16, STEP * 4);
        for (long query = 0; query < count; query++) {
            __m512 factor = _mm512_set1_ps(factors[query]);
            __m512 left = _mm512_mul_ps(_mm512_load_ps(sums + query * STEP), factor);
            store(out + query * row + column, left, _mm512_mul_ps(_mm512_load_ps(sums + query * STEP + 16), factor));
        }
    }
}

/* All queries of one head in one text of n positions. */
static void attend(const struct desk *desk, const bf16 *queries, long row, bf16 *out, long out_row, long n, long width,
                   float scale) {
    long n32 = (n + STEP - 1) / STEP * STEP;
    for (long query = 0; query < n; query += ROWS) {
        long count = n - query < ROWS ? n - query : ROWS, here = row;
        const bf16 *from = queries + query * row;
        float factors[ROWS];
        if (count < ROWS) {
            memset(desk->queries + count * width, 0, (ROWS - count) * width * 2);
            for (long each = 0; each < count; each++)
                memcpy(desk->queries + each * width, from + each * row, width * 2);
            from = desk->queries, here = width;
        }
        settle(desk->queries);
        compare(desk, from, here, n32, width);
        for (long each = 0; each < count; each++)
            factors[each] = weigh(desk->scores + each * n32, desk->weights + each * n32, n, n32, scale);
        settle(desk->weights);
        mix(desk, factors, out + query * out_row, out_row, count, n32, width);
    }
}

/*
 * Attention of texts that lie end to end, each of which sees itself alone; width is a multiple of 32. Not 0: no
 * memory. out: as the struct says, but with strides of its own.
 */
int amx_attend(const struct heads *q, const struct heads *k, const struct heads *v, bf16 *out, long out_row,
                 long out_head, const long *lengths, long texts, long heads, long width, float scale) {
    long longest = 0;
    for (long text = 0; text < texts; text++)
        if (lengths[text] > longest) longest = lengths[text];
    longest = (longest + STEP - 1) / STEP * STEP;
    size_t table = longest * width * 2, scores = ROWS * longest * 4;
    char *memory = aligned_alloc(64, 2 * table + ROWS * width * 2 + scores + scores / 2);
    if (!memory) return 1;
    struct desk desk = {.keys = (bf16 *)memory, .values = (bf16 *)(memory + table)};
    desk.scores = (float *)(memory + 2 * table);
    desk.weights = (bf16 *)(memory + 2 * table + scores);
    desk.queries = (bf16 *)(memory + 2 * table + scores + scores / 2);
    begin();
    for (long text = 0, start = 0; text < texts; start += lengths[text++]) {
        long n = lengths[text], n32 = (n + STEP - 1) / STEP * STEP;
        for (long head = 0; head < heads; head++) {
            sort_keys(desk.keys, k->first + start * k->row + head * k->head, k->row, n, n32, width);
            sort_values(desk.values, v->first + start * v->row + head * v->head, v->row, n, n32, width);
            attend(&desk, q->first + start * q->row + head * q->head, q->row, out + start * out_row + head * out_head,
                   out_row, n, width, scale);
        }
    }
    _tile_release();
    free(memory);
    return 0;
}
