#include "settings/placeholder.h"

#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/ed25519.h"
#include "base/err.h"
#include "data/value.h"

struct filling {
    struct arena *arena;
    placeholder_fn *open;
    void *self;
};

static bool is_plain(struct str path, size_t at)
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
        if (is_plain(path, i))
            buf_add_char(out, path.p[i]);
        else
            buf_printf(out, "%%%02X", (unsigned char)path.p[i]);
    }
}

static int fill_text(const struct filling *filling, struct value *v, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(PLACEHOLDER_TEXT_MAX);
    struct str rest = v->s;
    size_t at;

    if (str_find(rest, STR(PLACEHOLDER_BEGIN), 0) == STR_NONE)
        return 0;
    while ((at = str_find(rest, STR(PLACEHOLDER_BEGIN), 0)) != STR_NONE) {
        const size_t name = at + strlen(PLACEHOLDER_BEGIN);
        const size_t end = str_find(rest, STR(PLACEHOLDER_END), name);
        struct str secret;

        if (end == STR_NONE)
            return err_set(err, ERR_INVALID, "the placeholder of a secret does not end");
        if (filling->open(filling->self, str_slice(rest, name, end - name), &secret, err) < 0)
            return -1;
        buf_add_str(&out, str_slice(rest, 0, at));
        buf_add_str(&out, secret);
        rest = str_from_offset(rest, end + strlen(PLACEHOLDER_END));
    }
    buf_add_str(&out, rest);
    if (out.full)
        return err_set(err, ERR_LIMIT, "a text with secrets is over %zu bytes",
                       PLACEHOLDER_TEXT_MAX);
    v->s = arena_str(filling->arena, buf_view(&out));
    v->flags |= VALUE_SECRET;
    ed25519_wipe(out.p, out.n);
    return 0;
}

/* All mistakes, each at its place. */
static int fill_value(const struct filling *filling, struct value *v, unsigned depth,
                      struct diags *diags)
{
    int result = 0;
    struct err err;

    if (depth > PLACEHOLDER_DEPTH_MAX)
        return value_diag(diags, v, "settings are nested more than %d levels deep",
                          PLACEHOLDER_DEPTH_MAX);
    if (v->kind == VALUE_STR && fill_text(filling, v, &err) < 0)
        return value_diag(diags, v, "%s", err.text);
    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        result |= fill_value(filling, &v->list->items[i], depth + 1, diags);
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count; i++)
        result |= fill_value(filling, &v->map->pairs[i].value, depth + 1, diags);
    return result;
}

int placeholder_fill(struct arena *arena, struct value *v, placeholder_fn *open, void *self,
                     struct diags *diags)
{
    const struct filling filling = { arena, open, self };

    return fill_value(&filling, v, 0, diags);
}
