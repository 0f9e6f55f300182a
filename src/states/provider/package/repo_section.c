#include "states/provider/package/repo_section.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/provider/package/repo_line.h"

/* The name in "[name]"; a NULL view: not a title. */
static struct str parse_section_title(struct str line)
{
    line = str_trim(line);
    if (line.n < 2 || line.p[0] != '[' || line.p[line.n - 1] != ']')
        return (struct str){ NULL, 0 };
    return str_slice(line, 1, line.n - 2);
}

static int check_section(struct str name, const struct repo_key *keys, size_t count,
                         struct err *err)
{
    if (name.n == 0)
        return err_set(err, ERR_INVALID, "a section requires a name");
    for (size_t i = 0; i < name.n; i++)
        if (iscntrl((unsigned char)name.p[i]) || name.p[i] == ']' || name.p[i] == '[')
            return err_set(err, ERR_INVALID, "'%.*s' is not a valid section name", STR_ARG(name));
    for (size_t i = 0; i < count; i++) {
        if (!repo_line_is_clean(str_from(keys[i].key)) || strpbrk(keys[i].key, "=[]# ") ||
            !keys[i].key[0])
            return err_set(err, ERR_INVALID, "'%s' is not a valid section key", keys[i].key);
        if (keys[i].value && !repo_line_is_clean(str_from(keys[i].value)))
            return err_set(err, ERR_INVALID, "the value of '%s' contains a control character",
                           keys[i].key);
    }
    return 0;
}

enum { KEYS_MAX = 64 };

struct edit {
    const struct repo_key *keys;
    size_t count;
    const char *equals;
    bool done[KEYS_MAX];
    struct buf *out;
    size_t blank; /* end of the last line of the section that is not blank */
};

static void put_keys(struct edit *edit, size_t i)
{
    if (!edit->done[i] && edit->keys[i].value)
        buf_printf(edit->out, "%s%s%s\n", edit->keys[i].key, edit->equals, edit->keys[i].value);
    edit->done[i] = true;
}

static void edit_line(struct edit *edit, struct str line)
{
    struct str rest = line, key = str_trim(str_cut(&rest, '='));

    for (size_t i = 0; i < edit->count; i++)
        if (key.n == strlen(edit->keys[i].key) &&
            strncasecmp(key.p, edit->keys[i].key, key.n) == 0) {
            put_keys(edit, i);
            return;
        }
    repo_line_add(edit->out, line);
}

/* Missing keys go after the last non-blank line of the section. */
static void finish_section(struct edit *edit)
{
    AUTO_BUF struct buf blanks = BUF_INIT(BUF_NO_LIMIT);

    buf_add_str(&blanks, str_from_offset(buf_view(edit->out), edit->blank));
    buf_cut(edit->out, edit->blank);
    for (size_t i = 0; i < edit->count; i++)
        put_keys(edit, i);
    buf_add_str(edit->out, buf_view(&blanks));
}

static void begin_repo_section(struct edit *edit, struct str name)
{
    if (edit->out->n > 0 && !str_ends(buf_view(edit->out), STR("\n\n")))
        buf_add_char(edit->out, '\n');
    buf_printf(edit->out, "[%.*s]\n", STR_ARG(name));
    edit->blank = edit->out->n;
}

int repo_section_set(struct str text, struct str name, const struct repo_key *keys, size_t count,
                     const char *equals, struct buf *out, struct err *err)
{
    struct edit edit = { .keys = keys, .count = count, .equals = equals, .out = out };
    bool inside = false, found = false;
    struct str line;

    if (check_section(name, keys, count, err) < 0)
        return -1;
    if (count > KEYS_MAX)
        return err_set(err, ERR_LIMIT, "more than the limit of %d keys in a section", KEYS_MAX);
    while (repo_line_next(&text, &line)) {
        const struct str title = parse_section_title(line);

        if (title.p && inside) {
            finish_section(&edit);
            inside = false;
        }
        if (inside)
            edit_line(&edit, line);
        else
            repo_line_add(out, line);
        if (title.p && !found && str_eq(title, name))
            inside = found = true;
        if (inside && str_trim(line).n > 0)
            edit.blank = out->n;
    }
    if (!found)
        begin_repo_section(&edit, name);
    if (inside || !found)
        finish_section(&edit);
    return 0;
}

void repo_section_remove(struct str text, struct str name, struct buf *out, bool *ret_was_there)
{
    bool inside = false;
    struct str line;

    *ret_was_there = false;
    while (repo_line_next(&text, &line)) {
        const struct str title = parse_section_title(line);

        if (title.p)
            inside = str_eq(title, name);
        *ret_was_there |= inside;
        if (!inside)
            repo_line_add(out, line);
    }
}

int repo_section_drop(const struct package_repo *repo, const char *path, struct str text,
                      struct buf *out, size_t *ret_count, struct err *err)
{
    bool there;

    (void)path;
    (void)err;
    repo_section_remove(text, str_from(repo->name), out, &there);
    *ret_count = there;
    return 0;
}
