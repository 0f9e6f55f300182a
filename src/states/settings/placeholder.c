#include "states/settings/placeholder.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/ed25519.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/data/value.h"

struct filling {
    const struct placeholder_marks *marks;
    placeholder_fn *open;
    void *self;
};

static bool is_plain_path_char(struct str path, size_t at)
{
    const char c = path.p[at];

    if (c == '_')
        return at > 0 && at + 1 < path.n && path.p[at - 1] != '_' && path.p[at + 1] != '_';
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("./:-~", c));
}

void placeholder_add_name(struct buf *out, struct str path)
{
    for (size_t i = 0; i < path.n; i++) {
        if (is_plain_path_char(path, i))
            buf_add_char(out, path.p[i]);
        else
            buf_printf(out, "%%%02X", (unsigned char)path.p[i]);
    }
}

/* --- marks ---------------------------------------------------------------------------- */

void placeholder_marks_init(struct placeholder_marks *marks, struct arena *arena,
                            const unsigned char random[static PLACEHOLDER_RANDOM_SIZE])
{
    char digits[HEX_SIZE(PLACEHOLDER_RANDOM_SIZE)];

    hex_write(random, PLACEHOLDER_RANDOM_SIZE, digits);
    *marks = (struct placeholder_marks){ .arena = arena };
    (void)snprintf(marks->prefix, sizeof(marks->prefix), PLACEHOLDER_BEGIN "%s:", digits);
}

static void add_placeholder_mark(struct placeholder_marks *marks, struct buf *out, struct str name)
{
    buf_printf(out, "%s%zu" PLACEHOLDER_END, marks->prefix, marks->names.n);
    VEC_PUSH_IN(marks->arena, &marks->names, arena_str(marks->arena, name));
}

int placeholder_mark(struct placeholder_marks *marks, struct str text, struct str *ret,
                     struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct str rest = text;
    size_t at;

    *ret = text;
    if (str_find(text, STR(PLACEHOLDER_BEGIN), 0) == STR_NONE)
        return 0;
    while ((at = str_find(rest, STR(PLACEHOLDER_BEGIN), 0)) != STR_NONE) {
        const size_t name = at + strlen(PLACEHOLDER_BEGIN);
        const size_t end = str_find(rest, STR(PLACEHOLDER_END), name);

        if (end == STR_NONE)
            return err_set(err, ERR_INVALID, "unterminated placeholder");
        buf_add_str(&out, str_slice(rest, 0, at));
        add_placeholder_mark(marks, &out, str_slice(rest, name, end - name));
        rest = str_from_offset(rest, end + strlen(PLACEHOLDER_END));
    }
    buf_add_str(&out, rest);
    *ret = buf_copy(&out, marks->arena);
    return 0;
}

/* Find the next mark of a text, its name and the rest. False: none. */
static bool find_placeholder_mark(const struct placeholder_marks *marks, struct str *rest,
                                  struct str *before, struct str *name)
{
    const struct str prefix = str_from(marks->prefix);

    for (size_t at = 0; (at = str_find(*rest, prefix, at)) != STR_NONE; at += prefix.n) {
        const size_t begin = at + prefix.n;
        const size_t end = str_find(*rest, STR(PLACEHOLDER_END), begin);
        uint64_t number;
        struct err ignored;

        if (end == STR_NONE)
            return false;
        if (number_parse_uint(str_slice(*rest, begin, end - begin), &number, &ignored) < 0 ||
            number >= marks->names.n)
            continue;
        *before = str_slice(*rest, 0, at);
        *name = marks->names.p[number];
        *rest = str_from_offset(*rest, end + strlen(PLACEHOLDER_END));
        return true;
    }
    return false;
}

static bool has_mark(const struct placeholder_marks *marks, struct str text)
{
    struct str before, name;

    return find_placeholder_mark(marks, &text, &before, &name);
}

/* --- filling in ----------------------------------------------------------------------- */

static int fill_placeholder_text(const struct filling *filling, struct value *v, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(PLACEHOLDER_TEXT_MAX);
    struct str rest = v->s, before, name, secret;

    if (!has_mark(filling->marks, rest))
        return 0;
    while (find_placeholder_mark(filling->marks, &rest, &before, &name)) {
        if (filling->open(filling->self, name, &secret, err) < 0)
            return -1;
        buf_add_str(&out, before);
        buf_add_str(&out, secret);
    }
    buf_add_str(&out, rest);
    if (out.full)
        return err_set(err, ERR_LIMIT, "a text with secrets is over %zu bytes",
                       PLACEHOLDER_TEXT_MAX);
    v->s = arena_str(filling->marks->arena, buf_view(&out));
    v->flags |= VALUE_SECRET;
    ed25519_wipe(out.p, out.n);
    return 0;
}

static int fill_placeholder_value(const struct filling *filling, struct value *v, unsigned depth,
                                  struct diags *diags);

static int fill_pair(const struct filling *filling, struct value_pair *pair, unsigned depth,
                     struct diags *diags)
{
    if (pair->key.kind == VALUE_STR && has_mark(filling->marks, pair->key.s))
        return value_diag(diags, &pair->key, "a secret cannot be the key of a map");
    return fill_placeholder_value(filling, &pair->value, depth, diags);
}

/* Reports all mistakes, each at its position. */
static int fill_placeholder_value(const struct filling *filling, struct value *v, unsigned depth,
                                  struct diags *diags)
{
    int result = 0;
    struct err err;

    if (depth > PLACEHOLDER_DEPTH_MAX)
        return value_diag(diags, v, "settings are nested more than %d levels deep",
                          PLACEHOLDER_DEPTH_MAX);
    if (v->kind == VALUE_STR && fill_placeholder_text(filling, v, &err) < 0)
        return value_diag(diags, v, "%s", err.text);
    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        result |= fill_placeholder_value(filling, &v->list->items[i], depth + 1, diags);
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count; i++)
        result |= fill_pair(filling, &v->map->pairs[i], depth + 1, diags);
    return result;
}

int placeholder_fill(const struct placeholder_marks *marks, struct value *v, placeholder_fn *open,
                     void *self, struct diags *diags)
{
    const struct filling filling = { marks, open, self };

    return fill_placeholder_value(&filling, v, 0, diags);
}

/* --- messages ------------------------------------------------------------------------- */

static struct str show_placeholder_text(const struct placeholder_marks *marks, struct arena *arena,
                                        struct str text)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct str before, name;

    if (!text.p || !has_mark(marks, text))
        return text;
    while (find_placeholder_mark(marks, &text, &before, &name))
        buf_printf(&out, "%.*s" PLACEHOLDER_BEGIN "%.*s" PLACEHOLDER_END, STR_ARG(before),
                   STR_ARG(name));
    buf_add_str(&out, text);
    return buf_copy(&out, arena);
}

void placeholder_show(const struct placeholder_marks *marks, struct diags *diags, size_t from)
{
    for (size_t i = from; i < diags->list.n; i++) {
        struct diag *diag = &diags->list.p[i];

        diag->text = show_placeholder_text(marks, diags->arena, str_from(diag->text)).p;
        diag->source = show_placeholder_text(marks, diags->arena, diag->source);
        if (diag->hint)
            diag->hint = show_placeholder_text(marks, diags->arena, str_from(diag->hint)).p;
    }
}
