/* Compares products of the greatest and least codes, of 1 to 8 rows, with exact integers. All scales are 1. */
#include "matrix.h"
#include <stdio.h>

enum { NUM_IN = 96, GROUPS = NUM_IN / GROUP };

static uint8_t tiles[GROUPS * GROUP_BYTES_8];
static int8_t codes[MAX_ROWS * NUM_IN];
static float scales[GROUPS * MAX_ROWS], sums[GROUPS * MAX_ROWS];
static int32_t bias[GROUPS * MAX_ROWS];

static int activation(int row, int i, int pattern) { return (row + pattern + (pattern > 1 ? i : 0)) % 2 ? -127 : 127; }
static int weight(int output, int i, int pattern) { return (output + (pattern > 1 ? i / pattern : pattern)) % 2 ? 255 : 0; }

static void fill(int bits, int pattern) {
    for (int group = 0; group < GROUPS; group++) {
        uint8_t *tile = tiles + group * (bits == 4 ? GROUP_BYTES_4 : GROUP_BYTES_8);
        for (int i = 0; i < GROUP; i++)
            for (int output = 0; output < TILE; output++) {
                int code = weight(output, group * GROUP + i, pattern);
                if (bits == 8) tile[i / 4 * 64 + output * 4 + i % 4] = (uint8_t)code;
                else if (i < 16) tile[i / 4 * 64 + output * 4 + i % 4] = (uint8_t)(code & 15);
                else tile[(i - 16) / 4 * 64 + output * 4 + i % 4] |= (uint8_t)(code & 240);
            }
        for (int output = 0; output < TILE; output++) {
            if (bits == 8) ((float *)(tile + 512))[output] = 1;
            else ((uint16_t *)(tile + 256))[output] = 0x3C00, ((uint16_t *)(tile + 288))[output] = 0xC800; /* 1, -8 */
        }
        for (int row = 0; row < MAX_ROWS; row++) {
            int sum = 0, at = group * MAX_ROWS + row;
            for (int i = 0; i < GROUP; i++) {
                int code = activation(row, group * GROUP + i, pattern);
                codes[group * MAX_ROWS * GROUP + i / 4 * 32 + row * 4 + i % 4] = (int8_t)code;
                sum += code;
            }
            scales[at] = 1, sums[at] = (float)sum, bias[at] = -128 * sum;
        }
    }
}

int main(void) {
    int num_wrong = 0;
    for (int bits = 4; bits <= 8; bits += 4)
        for (int pattern = 0; pattern < 8; pattern++)
            for (int num = 1; num <= MAX_ROWS; num++) {
                fill(bits, pattern);
                Matrix matrix = {NUM_IN, TILE, bits, 0, sizeof tiles, tiles, NULL, NULL};
                Rows rows = {codes, scales, sums, bias};
                Floats out[MAX_ROWS][PARTS];
                product(&matrix, 0, &rows, 0, num, out);
                for (int row = 0; row < num; row++)
                    for (int output = 0; output < TILE; output++) {
                        float got[LANES];
                        int expected = 0;
                        for (int i = 0; i < NUM_IN; i++) {
                            int code = weight(output, i, pattern);
                            expected += (bits == 8 ? code - 128 : (code & 15) - 8) * activation(row, i, pattern);
                        }
                        store(got, out[row][output / LANES]);
                        num_wrong += got[output % LANES] != (float)expected;
                    }
            }
    printf("%d wrong\n", num_wrong);
    return 0;
}
