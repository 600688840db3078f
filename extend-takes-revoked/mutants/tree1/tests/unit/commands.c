/* commands: the rows of cli/commands.def. */
#include "cli/option.h"
#include "unit/unit.h"

TEST(command_rows_by_id)
{
	CHECK_INT(command_rows_count, COMMAND_VERSION + 1);
	for (int i = 0; i < command_rows_count; i++) {
		CHECK_INT(command_rows[i].id, i);
		CHECK_TEXT(option_command_name((enum command)i), command_rows[i].name);
	}
}

TEST(command_flags)
{
	for (int i = 0; i < command_rows_count; i++) {
		const struct command_row *row = &command_rows[i];
		const unsigned takes = row->flags & (TAKES_WORD | TAKES_KEYS | TAKES_COMMAND);
		bool has_option = false;

		CHECK((takes & (takes - 1)) == 0);
		CHECK(!takes || *row->operands);
		for (int n = 0; n < option_rows_count; n++)
			has_option |= option_is_of(&option_rows[n], row->id);
		CHECK_INT(has_option, (row->flags & TAKES_OPTIONS) != 0);
		CHECK_INT(*row->examples != '\0', has_option);
	}
}
