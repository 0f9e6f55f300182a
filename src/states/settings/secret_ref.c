#include "states/settings/secret_ref.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/utf8.h"

bool secret_ref_is_name(struct str name)
{
    for (size_t i = 0; name.p && i < name.n; i++)
        if (name.p[i] == '\0' || !strchr("abcdefghijklmnopqrstuvwxyz0123456789_-", name.p[i]))
            return false;
    return name.p && name.n > 0 && name.n <= SECRET_REF_NAME_MAX;
}

static bool has_control_byte(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] < ' ' || text.p[i] == '\x7f')
            return true;
    return !utf8_is_valid(text);
}

/* Braces that are not SECRET_REF_ID are a typing error. */
static bool has_odd_braces(struct str path)
{
    for (size_t i = 0; i < path.n; i++) {
        if (str_starts(str_from_offset(path, i), STR(SECRET_REF_ID)))
            i += strlen(SECRET_REF_ID) - 1;
        else if (path.p[i] == '{' || path.p[i] == '}')
            return true;
    }
    return false;
}

/* No part may be one that a file system or server would resolve elsewhere. */
static bool has_odd_part(struct str path)
{
    for (size_t at = 0; at <= path.n;) {
        size_t end = str_find_char(path, '/', at);
        struct str part;

        end = end == STR_NONE ? path.n : end;
        part = str_slice(path, at, end - at);
        if (part.n == 0 || str_is(part, ".") || str_is(part, ".."))
            return true;
        at = end + 1;
    }
    return false;
}

static int check_secret_path(struct str path, struct err *err)
{
    if (!path.p || path.n == 0)
        return err_set(err, ERR_INVALID, "expected NAME:PATH or NAME:PATH#FIELD");
    if (path.n > SECRET_REF_PATH_MAX)
        return err_set(err, ERR_INVALID, "the path has more than %d bytes", SECRET_REF_PATH_MAX);
    if (has_control_byte(path))
        return err_set(err, ERR_INVALID, "the path has control characters");
    if (path.p[0] == '-')
        return err_set(err, ERR_INVALID, "the path begins with '-', like an option");
    if (has_odd_braces(path))
        return err_set(err, ERR_INVALID, "the path has braces: only " SECRET_REF_ID " is allowed");
    if (has_odd_part(path))
        return err_set(err, ERR_INVALID, "the path has a part that is empty, '.' or '..'");
    return 0;
}

static int check_secret_field(struct str field, struct err *err)
{
    if (field.n == 0)
        return err_set(err, ERR_INVALID, "no field after '#'");
    if (field.n > SECRET_REF_FIELD_MAX)
        return err_set(err, ERR_INVALID, "the field has more than %d bytes", SECRET_REF_FIELD_MAX);
    if (has_control_byte(field))
        return err_set(err, ERR_INVALID, "the field has control characters");
    return 0;
}

int secret_ref_parse(struct str text, struct secret_ref *ret, struct err *err)
{
    const size_t colon = str_find_char(text, ':', 0);
    struct secret_ref ref = { 0 };
    struct str rest;
    size_t hash;

    if (colon == STR_NONE)
        return err_set(err, ERR_INVALID, "expected NAME:PATH or NAME:PATH#FIELD");
    ref.name = str_slice(text, 0, colon);
    rest = str_from_offset(text, colon + 1);
    hash = str_find_char(rest, '#', 0);
    ref.path = hash == STR_NONE ? rest : str_slice(rest, 0, hash);
    if (!secret_ref_is_name(ref.name))
        return err_set(err, ERR_INVALID,
                       "a back-end name has up to %d characters of a-z, 0-9, '_' and '-'",
                       SECRET_REF_NAME_MAX);
    if (check_secret_path(ref.path, err) < 0)
        return -1;
    if (hash != STR_NONE) {
        ref.field = str_from_offset(rest, hash + 1);
        if (check_secret_field(ref.field, err) < 0)
            return -1;
    }
    *ret = ref;
    return 0;
}

const char *secret_ref_path(struct arena *arena, const struct secret_ref *ref, const char *machine)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct str rest = ref->path;
    size_t at;

    while ((at = str_find(rest, STR(SECRET_REF_ID), 0)) != STR_NONE) {
        buf_add_str(&out, str_slice(rest, 0, at));
        buf_add_text(&out, machine);
        rest = str_from_offset(rest, at + strlen(SECRET_REF_ID));
    }
    buf_add_str(&out, rest);
    return buf_copy(&out, arena).p;
}
