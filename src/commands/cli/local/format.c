/* Forms of output in the words of Salt. */
#include "commands/cli/local/local.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/base/str.h"
#include "commands/cli/shared/command.h"

/* Prints nothing; the exit status says it. */
#define FORMAT_QUIET (-1)

static const struct {
    const char *word;
    int format;
} forms[] = {
    { "text", FORMAT_TEXT },       { "json", FORMAT_JSON },   { "yaml", FORMAT_YAML },
    { "dot", FORMAT_DOT },         { "svg", FORMAT_SVG },     { "json_out", FORMAT_JSON },
    { "yaml_out", FORMAT_YAML },   { "pprint", FORMAT_YAML }, { "raw", FORMAT_JSON },
    { "dson", FORMAT_JSON },       { "quiet", FORMAT_QUIET }, { "no_out", FORMAT_QUIET },
    { "no_return", FORMAT_QUIET },
};

static void silence_output(void)
{
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (null < 0)
        return;
    (void)dup2(null, STDOUT_FILENO);
    (void)close(null);
}

static bool is_out_word(const char *text)
{
    struct str rest = str_from(LOCAL_OUT_WORDS);

    while (rest.p)
        if (str_eq_text(str_cut(&rest, '|'), text))
            return true;
    return false;
}

/* Every other form of Salt is for people. */
int local_choose_format(const struct cli *cli, struct local_args *args)
{
    if (!args->out)
        return CLI_OK;
    if (!is_out_word(args->out))
        return cli_usage(cli, "option '--out' must be one of " LOCAL_OUT_WORDS ", not '%s'",
                         args->out);
    args->format = FORMAT_TEXT;
    for (size_t i = 0; i < ARRAY_LEN(forms); i++)
        if (strcmp(args->out, forms[i].word) == 0)
            args->format = forms[i].format;
    if (args->format != FORMAT_QUIET)
        return CLI_OK;
    args->format = FORMAT_TEXT;
    args->quiet = true;
    silence_output();
    return CLI_OK;
}
