/* Layer norms of rows, after another row has been added to each. */
#include "tiles.h"

enum { MOST_NUMBERS = 8192 };

INLINE __m512 sixteen(const bf16 *from) {
    __m512i bits = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)from));
    return (__m512)_mm512_slli_epi32(bits, 16);
}

/*
 * y [m, n] = the norm of x + added, both [m, n]; n is a multiple of 32 and not above MOST_NUMBERS. All rows lie end
 * to end, and all is in float32 until the result is rounded.
 */
void amx_norm(const bf16 *x, const bf16 *added, const float *weight, const float *bias, bf16 *y, long m, long n,
                float epsilon) {
    float row[MOST_NUMBERS] ALIGNED;
    for (; m > 0; m--, x += n, added += n, y += n) {
        __m512 sum = _mm512_setzero_ps(), squares = _mm512_setzero_ps();
        for (long column = 0; column < n; column += 16) {
            __m512 value = _mm512_add_ps(sixteen(x + column), sixteen(added + column));
            sum = _mm512_add_ps(sum, value);
            _mm512_store_ps(row + column, value);
        }
        __m512 mean = _mm512_set1_ps(_mm512_reduce_add_ps(sum) / n);
        for (long column = 0; column < n; column += 16) {
            __m512 deviation = _mm512_sub_ps(_mm512_load_ps(row + column), mean);
            squares = _mm512_fmadd_ps(deviation, deviation, squares);
        }
        float variance = _mm512_reduce_add_ps(squares) / n;
        __m512 scale = _mm512_div_ps(_mm512_set1_ps(1.0f), _mm512_sqrt_ps(_mm512_set1_ps(variance + epsilon)));
        for (long column = 0; column < n; column += STEP) {
            __m512 left = _mm512_mul_ps(_mm512_sub_ps(_mm512_load_ps(row + column), mean), scale);
            __m512 right = _mm512_mul_ps(_mm512_sub_ps(_mm512_load_ps(row + column + 16), mean), scale);
            left = _mm512_fmadd_ps(left, _mm512_loadu_ps(weight + column), _mm512_loadu_ps(bias + column));
            right = _mm512_fmadd_ps(right, _mm512_loadu_ps(weight + column + 16), _mm512_loadu_ps(bias + column + 16));
            store(y + column, left, right);
        }
    }
}
