/* Linear layers whose weights lie in the order of tiles, with an activation where one follows. */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tiles.h"

enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
enum { KEPT_WEIGHTS = 1 << 20, MANY_ROWS = 256 };

/* Linux gives a process the registers only if it asks. 0 means yes. */
int amx_allow(void) { return (int)syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA); }

/* x/2 (1 + erf(x / sqrt 2)), with erf as in Abramowitz and Stegun 7.1.26, whose error is below 1.5e-7. */
INLINE __m512 gelu_of(__m512 x) {
    __m512 size = _mm512_abs_ps(_mm512_mul_ps(x, _mm512_set1_ps(0.70710678f)));
    __m512 divisor = _mm512_fmadd_ps(size, _mm512_set1_ps(0.3275911f), _mm512_set1_ps(1.0f));
    __m512 t = _mm512_rcp14_ps(divisor);
    t = _mm512_mul_ps(t, _mm512_fnmadd_ps(divisor, t, _mm512_set1_ps(2.0f)));
    __m512 sum = _mm512_set1_ps(1.061405429f);
    sum = _mm512_fmadd_ps(sum, t, _mm512_set1_ps(-1.453152027f));
    sum = _mm512_fmadd_ps(sum, t, _mm512_set1_ps(1.421413741f));
    sum = _mm512_fmadd_ps(sum, t, _mm512_set1_ps(-0.284496736f));
    sum = _mm512_fmadd_ps(sum, t, _mm512_set1_ps(0.254829592f));
    __m512 minus_square = _mm512_fnmadd_ps(size, size, _mm512_setzero_ps());
    __m512 missing = _mm512_mul_ps(_mm512_mul_ps(sum, t), exponential(minus_square)); /* 1 - erf */
    __m512 tail = _mm512_mul_ps(_mm512_mul_ps(x, _mm512_set1_ps(0.5f)), missing);
    __mmask16 positive = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_GE_OQ);
    return _mm512_mask_sub_ps(tail, positive, x, tail);
}

/* 32 x 32 sums that still lack their bias and activation. */
struct block {
    const float *sums, *bias;
    bf16 *y;
    long width;
    int next, rows;
};

/* Bring rows of a block up to some number into the result. */
INLINE void finish(struct block *block, int until, int gelu) {
    __m512 left_bias, right_bias;
    if (until > block->rows) until = block->rows;
    if (block->next >= until) return;
    left_bias = _mm512_loadu_ps(block->bias);
    right_bias = _mm512_loadu_ps(block->bias + 16);
    for (; block->next < until; block->next++) {
        const float *sums = block->sums + block->next * STEP;
        __m512 left = _mm512_add_ps(_mm512_load_ps(sums), left_bias);
        __m512 right = _mm512_add_ps(_mm512_load_ps(sums + 16), right_bias);
        if (gelu) left = gelu_of(left), right = gelu_of(right);
        store(block->y + block->next * block->width, left, right);
    }
}

/* y [m, n] of x [m, k], which has memory for a multiple of 32 rows. A block is finished while the tiles are at
 * work on the next one. */
INLINE void multiply(const bf16 *x, const bf16 *w, const float *bias, bf16 *y, long m, long n, long k, int gelu) {
    float sums[2][STEP * STEP] ALIGNED;
    struct block last = {0};
    long steps = k / STEP, which = 0;
    /* Weights that do not stay in a core's cache are met by many rows each time they come. */
    long together = n * k > KEPT_WEIGHTS ? MANY_ROWS : STEP;
    for (long start = 0; start < m; start += together)
        for (long column = 0; column < n; column += STEP)
            for (long row = start; row < start + together && row < m; row += STEP, which ^= 1) {
                const bf16 *a = x + row * k, *b = w + column * k;
                float *to = sums[which];
                _tile_zero(0);
                _tile_zero(1);
                _tile_zero(2);
                _tile_zero(3);
                for (long step = 0; step < steps; step++, a += STEP, b += 2 * TILE) {
                    _tile_loadd(4, a, k * 2);
                    _tile_loadd(6, b, 64);
                    _tile_loadd(7, b + TILE, 64);
                    _tile_loadd(5, a + ROWS * k, k * 2);
                    _tile_dpbf16ps(0, 4, 6);
                    _tile_dpbf16ps(1, 4, 7);
                    _tile_dpbf16ps(2, 5, 6);
                    _tile_dpbf16ps(3, 5, 7);
                    finish(&last, STEP * (step + 1) / steps, gelu);
                }
                _tile_stored(0, to, STEP * 4);
                _tile_stored(1, to + 16, STEP * 4);
                _tile_stored(2, to + ROWS * STEP, STEP * 4);
                _tile_stored(3, to + ROWS * STEP + 16, STEP * 4);
                last = (struct block){to, bias + column, y + row * n + column, n, 0, m - row < STEP ? m - row : STEP};
            }
    finish(&last, STEP, gelu);
}

/*
 * y [m, n] = x [m, k] w^T + bias, all rows end to end; n and k are multiples of 32. Not 0: no memory.
 *
 * w: for every 32 outputs, for every 32 inputs, for both halves of the outputs a tile [16 pairs of inputs][16][2].
 */
int amx_linear(const bf16 *x, const bf16 *w, const float *bias, bf16 *y, long m, long n, long k, int gelu) {
    long rest = m % STEP, whole = m - rest;
    bf16 *padded = NULL;
    if (rest) {
        if (!(padded = aligned_alloc(64, STEP * k * 2))) return 1;
        memcpy(padded, x + whole * k, rest * k * 2);
        memset(padded + rest * k, 0, (STEP - rest) * k * 2);
        settle(padded);
    }
    begin();
    if (gelu) {
        multiply(x, w, bias, y, whole, n, k, 1);
        multiply(padded, w, bias, y + whole * n, rest, n, k, 1);
    } else {
        multiply(x, w, bias, y, whole, n, k, 0);
        multiply(padded, w, bias, y + whole * n, rest, n, k, 0);
    }
    _tile_release();
    free(padded);
    return 0;
}
