#ifndef TILES_H
#define TILES_H

/*
 * Products in bfloat16 with sums in float32, by the matrix tiles (AMX) of x86-64 processors.
 *
 * A tile has 16 rows of 64 bytes: 16 x 32 numbers in bfloat16, or 16 x 16 sums in float32. A product adds to
 * sums[i][j] the numbers a[i][2 r] b[r][2 j] + a[i][2 r + 1] b[r][2 j + 1] of all r, so the right side holds pairs
 * of neighbours: b[r] = (first of pair r, second of pair r) for each of its 16 columns.
 *
 * Every row of a result depends on its own row alone, and sums are always made in the same order.
 */
#include <immintrin.h>
#include <stdint.h>

typedef uint16_t bf16;

enum { ROWS = 16, STEP = 32, TILE = ROWS * STEP }; /* numbers in bfloat16 */

#define INLINE static inline __attribute__((always_inline))
#define ALIGNED __attribute__((aligned(64)))

/* Some compilers do not know that tile instructions read memory, and would leave out what was written for them. */
INLINE void settle(const void *written) { __asm__ volatile("" : : "r"(written) : "memory"); }

/* All eight tiles of full size. A thread must do this before its first tile instruction. */
static inline void begin(void) {
    struct {
        uint8_t palette, first_row, unused[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } ALIGNED shapes = {.palette = 1};
    for (int tile = 0; tile < 8; tile++) {
        shapes.row_bytes[tile] = 64;
        shapes.rows[tile] = ROWS;
    }
    settle(&shapes);
    _tile_loadconfig(&shapes);
}

/* e^x of numbers that are not above 0 by more than rounding; not a number stays so. */
INLINE __m512 exponential(__m512 x) {
    /* The order matters: the second operand is kept where either is not a number. */
    x = _mm512_max_ps(_mm512_set1_ps(-87.0f), x);
    __m512 power = _mm512_mul_ps(x, _mm512_set1_ps(1.44269504f));
    __m512 whole = _mm512_roundscale_ps(power, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m512 part = _mm512_sub_ps(power, whole);
    /* 2^part by its Taylor series */
    __m512 sum = _mm512_set1_ps(0.00133335581f);
    sum = _mm512_fmadd_ps(sum, part, _mm512_set1_ps(0.00961812911f));
    sum = _mm512_fmadd_ps(sum, part, _mm512_set1_ps(0.0555041087f));
    sum = _mm512_fmadd_ps(sum, part, _mm512_set1_ps(0.240226507f));
    sum = _mm512_fmadd_ps(sum, part, _mm512_set1_ps(0.693147181f));
    sum = _mm512_fmadd_ps(sum, part, _mm512_set1_ps(1.0f));
    return _mm512_scalef_ps(sum, whole);
}

INLINE void store(bf16 *to, __m512 left, __m512 right) {
    _mm512_storeu_si512(to, (__m512i)_mm512_cvtne2ps_pbh(right, left));
}

#endif
