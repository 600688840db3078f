/* token: which values are ours. */
#include "base/token.h"

#include "unit/unit.h"

#include <string.h>

#define ID "0123456789abcdef0123456789abcdef01234567"

TEST(token_is_an_id_and_an_owner)
{
	static const struct {
		const char *value;
		bool ours;
	} cases[] = {
		{ID ":alice@web1:42 backup", true},
		{ID ":", true},
		{ID, false},
		{ID " ", false},
		{ID "0:", false},
		{"", false},
		{"31a0-uuid", false},
		{"0123456789ABCDEF0123456789abcdef01234567:x", false},
		{"g123456789abcdef0123456789abcdef01234567:x", false},
		{"0123456789abcdef0123456789abcdef0123456 :x", false},
	};

	CHECK_INT(strlen(ID), TOKEN_ID_LEN);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		unit_check(token_is_ours(cases[i].value, strlen(cases[i].value)) == cases[i].ours,
			__FILE__, __LINE__, "'%s'", cases[i].value);
	/* What is left of a longer value, and what is not text. */
	CHECK(!token_is_ours(ID ":x", TOKEN_ID_LEN));
	CHECK(token_is_ours(ID ":x", TOKEN_ID_LEN + 1));
	CHECK(!token_is_ours("\0"
			     "123456789abcdef0123456789abcdef01234567:x",
		42));
	CHECK(!token_is_ours("0123456789abcdef0123456789abcdef0123456\0:x", 42));
}
