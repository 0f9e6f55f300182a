/* Forms of output in the words of Salt. */
#include "cli/local.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/str.h"

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

static const struct {
    const char *word;
    enum report_detail detail;
} details[] = {
    { "full", REPORT_FULL },      { "full_id", REPORT_FULL }, { "terse", REPORT_TERSE },
    { "terse_id", REPORT_TERSE }, { "mixed", REPORT_MIXED },  { "mixed_id", REPORT_MIXED },
};

/* The word of a list "a|b|c" at a place. */
static struct str word_at(const char *words, int place)
{
    struct str rest = str_from(words), word = str_cut(&rest, '|');

    while (place-- > 0)
        word = str_cut(&rest, '|');
    return word;
}

static void silence_output(void)
{
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (null < 0)
        return;
    (void)dup2(null, STDOUT_FILENO);
    (void)close(null);
}

/* Every other form of Salt is for people. */
void local_choose_format(struct local_args *args)
{
    if (!args->has_out)
        return;
    args->format = FORMAT_TEXT;
    for (size_t i = 0; i < ARRAY_LEN(forms); i++)
        if (str_is(word_at(LOCAL_OUT_WORDS, args->out), forms[i].word))
            args->format = forms[i].format;
    if (args->format != FORMAT_QUIET)
        return;
    args->format = FORMAT_TEXT;
    args->quiet = true;
    silence_output();
}

enum report_detail local_detail(const struct local *local)
{
    const struct str word = word_at(LOCAL_STATE_OUTPUT_WORDS, local->args->state_output);

    for (size_t i = 0; i < ARRAY_LEN(details); i++)
        if (str_is(word, details[i].word))
            return details[i].detail;
    return REPORT_CHANGES;
}
