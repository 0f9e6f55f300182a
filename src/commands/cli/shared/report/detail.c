#include "commands/cli/shared/report/detail.h"

#include <stdlib.h>

#include "commands/cli/shared/command.h"

static const struct {
    const char *word;
    enum report_detail detail;
} details[] = {
    { "full", REPORT_FULL },      { "full_id", REPORT_FULL }, { "terse", REPORT_TERSE },
    { "terse_id", REPORT_TERSE }, { "mixed", REPORT_MIXED },  { "mixed_id", REPORT_MIXED },
};

static bool is_detail_word(struct str text)
{
    struct str rest = str_from(REPORT_DETAIL_WORDS);

    while (rest.p)
        if (str_eq(str_cut(&rest, '|'), text))
            return true;
    return false;
}

/* The word of the list at a place. */
static struct str find_detail_word(int place)
{
    struct str rest = str_from(REPORT_DETAIL_WORDS), word = str_cut(&rest, '|');

    while (place-- > 0)
        word = str_cut(&rest, '|');
    return word;
}

static enum report_detail find_detail(struct str word)
{
    for (size_t i = 0; i < ARRAY_LEN(details); i++)
        if (str_eq_text(word, details[i].word))
            return details[i].detail;
    return REPORT_CHANGES;
}

int report_detail_choose(const struct cli *cli, const struct report_detail_wish *wish,
                         enum report_detail *ret_detail)
{
    const char *variable = getenv(REPORT_DETAIL_VARIABLE);

    if (wish->is_given || !variable || !variable[0]) {
        *ret_detail = find_detail(find_detail_word(wish->word));
        return CLI_OK;
    }
    if (!is_detail_word(str_from(variable)))
        return cli_usage(cli,
                         "variable " REPORT_DETAIL_VARIABLE " must be one of " REPORT_DETAIL_WORDS
                         ", not '%s'",
                         variable);
    *ret_detail = find_detail(str_from(variable));
    return CLI_OK;
}
