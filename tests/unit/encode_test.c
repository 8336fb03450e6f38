// SPDX-License-Identifier: GPL-2.0-or-later
/* base64, letter by letter. The alphabet is written here again: it comes from RFC 4648, not from
 * the code. */
#include "test.h"
#include <string.h>
#include "bwl/encode.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* One letter of the four has 6 bits of the three bytes. */
static uint32_t bits_of(const uint8_t three[3], unsigned place)
{
	uint32_t v = (uint32_t)three[0] << 16 | (uint32_t)three[1] << 8 | three[2];

	return v >> (18 - 6 * place) & 63;
}

static void a_byte_is_a_letter_only_if_it_is_in_the_alphabet(void **state)
{
	unsigned letters = 0;
	uint8_t out[3];

	(void)state;
	for (unsigned place = 0; place < 4; place++) {
		for (unsigned byte = 0; byte < 256; byte++) {
			const char *at = byte ? strchr(alphabet, (int)byte) : NULL;
			char text[4] = { 'A', 'A', 'A', 'A' };
			long n;

			/* At the end it is padding, and one letter less. */
			if (byte == '=' && place == 3)
				continue;
			text[place] = (char)byte;
			n = bwl_base64_decode(text, 4, out, sizeof(out));
			if (n != (at ? 3 : -1))
				fail_msg("byte %u as letter %u: %ld", byte, place, n);
			if (!at)
				continue;
			letters++;
			for (unsigned p = 0; p < 4; p++)
				assert_int_equal(bits_of(out, p), p == place ? at - alphabet : 0);
		}
	}
	assert_int_equal(letters, 4 * 64);
}

static void every_letter_is_read_as_what_it_was_written_for(void **state)
{
	(void)state;
	for (uint32_t v = 0; v < 64; v++) {
		for (unsigned place = 0; place < 4; place++) {
			uint32_t all = v << (18 - 6 * place);
			const uint8_t in[3] = { (uint8_t)(all >> 16), (uint8_t)(all >> 8),
						(uint8_t)all };
			char want[] = "AAAA", text[BWL_BASE64_LEN(3) + 1];
			uint8_t out[3];

			want[place] = alphabet[v];
			assert_string_equal(bwl_base64_encode(in, 3, text), want);
			assert_int_equal(bwl_base64_decode(text, 4, out, sizeof(out)), 3);
			assert_memory_equal(in, out, 3);
		}
	}
}

/* All letters at once, in both directions, as in a long document. */
static void the_whole_alphabet_is_48_bytes(void **state)
{
	uint8_t out[48];
	char text[sizeof(alphabet)];

	(void)state;
	assert_int_equal(bwl_base64_decode(alphabet, 64, out, sizeof(out)), 48);
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(bits_of(out + i / 4 * 3, i % 4), i);
	assert_string_equal(bwl_base64_encode(out, 48, text), alphabet);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_byte_is_a_letter_only_if_it_is_in_the_alphabet),
		cmocka_unit_test(every_letter_is_read_as_what_it_was_written_for),
		cmocka_unit_test(the_whole_alphabet_is_48_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
