/* json: always valid, for any input. */
#include "base/json.h"

#include "unit/unit.h"

#include <stdlib.h>

/* The document {"v": bytes}. */
static void check_bytes(const char *bytes, size_t len, const char *want)
{
	struct json j = {0};

	json_open(&j, NULL, '{');
	json_bytes(&j, "v", bytes, len);
	json_close(&j, '}');
	CHECK(!j.failed);
	CHECK_TEXT(j.text, want);
	free(j.text);
}

#define CHECK_BYTES(bytes, want) check_bytes(bytes, sizeof(bytes) - 1, want)

TEST(json_escapes_quotes_and_controls)
{
	CHECK_BYTES("", "{\"v\":\"\"}");
	CHECK_BYTES("a \"b\" \\c/", "{\"v\":\"a \\\"b\\\" \\\\c/\"}");
	CHECK_BYTES("\n\t\x01\x7f", "{\"v\":\"\\u000a\\u0009\\u0001\\u007f\"}");
	CHECK_BYTES("a\0b", "{\"v\":\"a\\u0000b\"}");
	CHECK_BYTES("\xc3\xa4\xe2\x82\xac\xf0\x9f\x94\x92",
		"{\"v\":\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x94\x92\"}");
	/* marks that turn the writing direction */
	CHECK_BYTES("\xe2\x80\xae", "{\"v\":\"\\u202e\"}");
	/* a command of a CI system's log */
	CHECK_BYTES("##[x] #[ ##", "{\"v\":\"\\u0023#[x] #[ ##\"}");
	/* invisible characters, also after the first plane */
	CHECK_BYTES("\xc2\xad\xe2\x80\x8b", "{\"v\":\"\\u00ad\\u200b\"}");
	CHECK_BYTES("\xf3\xa0\x80\x81\xf0\x9d\x85\xb3", "{\"v\":\"\\udb40\\udc01\\ud834\\udd73\"}");
}

TEST(json_bytes_that_are_no_text_follow_in_base64)
{
	CHECK_BYTES("\xff", "{\"v\":\"\xef\xbf\xbd\",\"v_base64\":\"/w==\"}");
	CHECK_BYTES("a\xff", "{\"v\":\"a\xef\xbf\xbd\",\"v_base64\":\"Yf8=\"}");
	CHECK_BYTES("a\xc3", "{\"v\":\"a\xef\xbf\xbd\",\"v_base64\":\"YcM=\"}");
	CHECK_BYTES("\xed\xa0\x80", "{\"v\":\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\","
				    "\"v_base64\":\"7aCA\"}");
}

TEST(json_commas_only_between_values)
{
	struct json j = {0};

	json_open(&j, NULL, '{');
	json_open(&j, "none", '[');
	json_close(&j, ']');
	json_open(&j, "two", '[');
	json_text(&j, NULL, "a");
	json_open(&j, NULL, '{');
	json_bool(&j, "yes", true);
	json_bool(&j, "no", false);
	json_close(&j, '}');
	json_close(&j, ']');
	json_number(&j, "n", -5);
	json_close(&j, '}');
	CHECK_TEXT(j.text, "{\"none\":[],\"two\":[\"a\",{\"yes\":true,\"no\":false}],\"n\":-5}");
	free(j.text);
}

TEST(json_durations_are_whole_numbers)
{
	struct json j = {0};

	json_open(&j, NULL, '[');
	json_ms(&j, NULL, 0);
	json_ms(&j, NULL, 1);
	json_ms(&j, NULL, 1500 * USEC_MSEC + 999);
	json_ms(&j, NULL, -1500);
	json_ms(&j, NULL, NEVER);
	json_us(&j, NULL, 0);
	json_us(&j, NULL, 1500 * USEC_MSEC + 999);
	json_us(&j, NULL, NEVER);
	json_close(&j, ']');
	CHECK_TEXT(j.text, "[0,0,1500,-1,null,0,1500999,null]");
	free(j.text);
}

TEST(json_grows_as_needed)
{
	struct json j = {0};

	json_open(&j, NULL, '[');
	for (int i = 0; i < 5000; i++)
		json_text(&j, NULL, "four");
	json_close(&j, ']');
	CHECK(!j.failed);
	CHECK_INT(j.len, 5000 * 7 + 1);
	CHECK(j.text[j.len] == '\0');
	free(j.text);
}
