/* commands: the rows of cli/commands.def. */
#include "base/exit.h"
#include "cli/option.h"
#include "unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(command_rows_by_id)
{
	CHECK_INT(command_rows_count, COMMAND_VERSION + 1);
	for (int i = 0; i < command_rows_count; i++) {
		CHECK_INT(command_rows[i].id, i);
		CHECK_TEXT(command_name((enum command)i), command_rows[i].name);
	}
}

TEST(command_flags)
{
	for (int i = 0; i < command_rows_count; i++) {
		const struct command_row *row = &command_rows[i];
		const unsigned takes = row->flags & (TAKES_WORDS | TAKES_COMMAND);
		bool has_option = false;

		CHECK((takes & (takes - 1)) == 0);
		CHECK(!takes || *row->operands);
		for (int n = 0; n < option_rows_count; n++)
			has_option |= option_is_of(&option_rows[n], row->id);
		CHECK_INT(has_option, (row->flags & TAKES_OPTIONS) != 0);
		CHECK_INT(*row->examples != '\0', has_option);
	}
}

/* Calls CHECK for each word of a list that is separated by blanks. */
#define EACH_WORD(word, list) \
	for (const char *word##_at = (list); \
		sscanf(word##_at, "%39s", word) == 1 && (word##_at += strlen(word)); \
		word##_at += strspn(word##_at, " "))

TEST(command_common_options_are_its_own)
{
	for (int i = 0; i < command_rows_count; i++) {
		const struct command_row *row = &command_rows[i];
		const struct option_row *option;
		char word[40];
		int count = 0;

		EACH_WORD(word, row->common)
		{
			option = option_find(row->id, word);
			CHECK(option && option_is_of(option, row->id));
			CHECK(option && option->kind != OPTION_SECRET);
			count++;
		}
		CHECK_INT(count > 0, (row->flags & TAKES_OPTIONS) != 0);
		CHECK(count <= 17);
	}
}

TEST(command_statuses_are_in_the_table)
{
	for (int i = 0; i < command_rows_count; i++) {
		char word[40];

		EACH_WORD(word, command_rows[i].statuses)
		{
			bool is_known = false;

			for (int n = 0; n < status_rows_count; n++)
				is_known |= status_rows[n].number == atoi(word);
			CHECK(is_known);
		}
		CHECK_INT(*command_rows[i].statuses != '\0',
			(command_rows[i].flags & TAKES_OPTIONS) != 0);
	}
}
