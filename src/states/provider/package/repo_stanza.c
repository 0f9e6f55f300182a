#include "states/provider/package/repo_stanza.h"

#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/provider/package/repo_line.h"

/* Field names for the options of a line; in lists, commas become blanks. */
static const struct {
    const char *option, *field;
    bool list;
} fields[] = {
    { "arch", "Architectures", true },
    { "lang", "Languages", true },
    { "target", "Targets", true },
    { "pdiffs", "PDiffs", false },
    { "by-hash", "By-Hash", false },
    { "allow-insecure", "Allow-Insecure", false },
    { "allow-weak", "Allow-Weak", false },
    { "allow-downgrade-to-insecure", "Allow-Downgrade-To-Insecure", false },
    { "trusted", "Trusted", false },
    { "signed-by", "Signed-By", false },
    { "check-valid-until", "Check-Valid-Until", false },
    { "valid-until-min", "Valid-Until-Min", false },
    { "valid-until-max", "Valid-Until-Max", false },
    { "check-date", "Check-Date", false },
    { "date-max-future", "Date-Max-Future", false },
    { "inrelease-path", "InRelease-Path", false },
    { "snapshot", "Snapshot", false },
};
/* The fields of every stanza. */
static const char *const main_fields[] = { "Enabled", "Types", "URIs", "Suites", "Components" };

bool repo_stanza_is_file(const char *path)
{
    return str_ends(str_from(path), STR(".sources"));
}

/* --- reading --------------------------------------------------------------------------------- */

static bool is_blank_line(struct str line)
{
    return str_trim(line).n == 0;
}

/* The next line with its newline; false at the end. */
static bool cut_line(struct str *text, struct str *ret)
{
    size_t end = str_find_char(*text, '\n', 0);

    if (text->n == 0)
        return false;
    *ret = str_slice(*text, 0, end == STR_NONE ? text->n : end + 1);
    *text = str_from_offset(*text, ret->n);
    return true;
}

/* The next run of blank lines, or of lines that are not. */
static bool cut_block(struct str *text, struct str *ret)
{
    struct str rest = *text, line, ahead;
    bool blank;

    if (!cut_line(&rest, &line))
        return false;
    blank = is_blank_line(line);
    for (ahead = rest; cut_line(&ahead, &line) && is_blank_line(line) == blank;)
        rest = ahead;
    *ret = str_slice(*text, 0, text->n - rest.n);
    *text = rest;
    return true;
}

/* Nothing but lines that begin with '#'. */
static bool is_comment_block(struct str block)
{
    struct str line;

    while (cut_line(&block, &line))
        if (line.p[0] != '#')
            return false;
    return true;
}

static bool is_continued(struct str line)
{
    return line.n > 0 && (line.p[0] == ' ' || line.p[0] == '\t');
}

static bool is_field_named(struct str name, const char *word)
{
    return name.n == strlen(word) && strncasecmp(name.p, word, name.n) == 0;
}

/* The value of a field; multi-line values never belong to a single source. */
static struct str find_stanza_field(struct str block, const char *field)
{
    struct str line;

    while (cut_line(&block, &line)) {
        struct str rest = line, name = str_cut(&rest, ':');

        if (rest.p && !is_continued(line) && is_field_named(str_trim(name), field))
            return is_continued(block) ? STR("several lines") : str_trim(rest);
    }
    return STR("");
}

static struct repo_line read_stanza_source(struct str block)
{
    return (struct repo_line){
        .type = find_stanza_field(block, "Types"),
        .uri = find_stanza_field(block, "URIs"),
        .suite = find_stanza_field(block, "Suites"),
    };
}

static bool is_stanza_for(struct str block, const struct repo_line *line)
{
    const struct repo_line other = read_stanza_source(block);

    return repo_line_is_same(&other, line);
}

/* --- writing --------------------------------------------------------------------------------- */

static bool is_known_field(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(main_fields); i++)
        if (is_field_named(name, main_fields[i]))
            return true;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (is_field_named(name, fields[i].field))
            return true;
    return false;
}

/* Keep comments, or foreign fields with their continuation lines. */
static void keep_field(struct str block, bool comments, struct buf *out)
{
    bool kept = false;
    struct str line;

    while (cut_line(&block, &line)) {
        struct str rest = line, name = str_trim(str_cut(&rest, ':'));

        if (line.p[0] == '#')
            kept = comments;
        else if (!is_continued(line))
            kept = !comments && rest.p && !is_known_field(name);
        if (!kept)
            continue;
        buf_add_str(out, line);
        if (!str_ends(line, STR("\n")))
            buf_add_char(out, '\n');
        if (line.p[0] == '#')
            kept = false;
    }
}

static int print_option(struct str word, struct buf *out, struct err *err)
{
    struct str value = word, option = str_cut(&value, '=');

    for (size_t i = 0; value.p && i < ARRAY_LEN(fields); i++) {
        if (!str_is(option, fields[i].option))
            continue;
        buf_printf(out, "%s: ", fields[i].field);
        for (size_t k = 0; k < value.n; k++)
            buf_add_char(out, fields[i].list && value.p[k] == ',' ? ' ' : value.p[k]);
        buf_add_char(out, '\n');
        return 0;
    }
    return err_set(err, ERR_INVALID, "'%.*s' is not an option of a '.sources' file", STR_ARG(word));
}

static int print_stanza(const struct repo_line *line, struct str old, struct buf *out,
                        struct err *err)
{
    struct str options = line->options;

    keep_field(old, true, out);
    if (line->disabled)
        buf_add_text(out, "Enabled: no\n");
    buf_printf(out, "Types: %.*s\nURIs: %.*s\nSuites: %.*s\n", STR_ARG(line->type),
               STR_ARG(line->uri), STR_ARG(line->suite));
    if (line->components.n > 0)
        buf_printf(out, "Components: %.*s\n", STR_ARG(line->components));
    while (options.p) {
        const struct str word = str_trim(str_cut(&options, ' '));

        if (word.n > 0 && print_option(word, out, err) < 0)
            return -1;
    }
    keep_field(old, false, out);
    return 0;
}

int repo_stanza_set(struct str text, const struct repo_line *line, const char *comment,
                    struct buf *out, struct err *err)
{
    struct str block, last = STR("");
    bool done = false;

    if (repo_line_check(line, comment, err) < 0)
        return -1;
    if (text.n == 0)
        buf_printf(out, "# %s\n", comment);
    for (; cut_block(&text, &block); last = block) {
        if (is_blank_line(block) || !is_stanza_for(block, line))
            buf_add_str(out, block);
        else if (!done && print_stanza(line, block, out, err) < 0)
            return -1;
        else
            done = true;
    }
    if (done)
        return 0;
    if (out->n > 0 && out->p[out->n - 1] != '\n')
        buf_add_char(out, '\n');
    if (!is_comment_block(last) && !is_blank_line(last))
        buf_add_char(out, '\n');
    return print_stanza(line, STR(""), out, err);
}

void repo_stanza_remove(struct str text, const struct repo_line *pattern, struct buf *out,
                        size_t *ret_count)
{
    bool after = false; /* remove the blank lines after the stanza too */
    struct str block;

    *ret_count = 0;
    while (cut_block(&text, &block)) {
        const struct repo_line line = read_stanza_source(block);
        const bool mine = !is_blank_line(block) && repo_line_matches(&line, pattern);

        if (!mine && !(after && is_blank_line(block)))
            buf_add_str(out, block);
        *ret_count += mine;
        after = mine;
    }
}
