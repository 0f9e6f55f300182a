#include "fleet/master/secrets/backend.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/utf8.h"
#include "core/base/vec.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "states/settings/secret_ref.h"

struct backends {
    atomic_uint holders;
    struct arena arena;
    VEC(struct backend) list;
    VEC(const struct value *) given; /* the source value of each */
};

static const struct backend_kind *const kinds[] = {
    &backend_kind_file,
    &backend_kind_command,
    &backend_kind_http,
};

/* --- the configuration ------------------------------------------------------------------ */

static const struct backend_kind *find_backend_kind(const struct value *given, struct diags *diags)
{
    const char *name = value_get_text(given, "kind");

    for (size_t i = 0; name && i < ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    (void)value_diag(diags, name ? value_point(given, "kind") : given,
                     "'secret_backends': expected a 'kind': file, command or http");
    return NULL;
}

static void read_backend(struct backends *backends, const struct value_pair *pair,
                         struct diags *diags)
{
    const struct params_policy policy = { .owner = "secret_backends", .noun = "key" };
    struct backend backend = { 0 };
    const size_t before = diags_count(diags);

    if (pair->key.kind != VALUE_STR || !secret_ref_is_name(pair->key.s)) {
        (void)value_diag(diags, &pair->key,
                         "'secret_backends': a name has up to %d of a-z, 0-9, '_' and '-'",
                         SECRET_REF_NAME_MAX);
        return;
    }
    if (pair->value.kind != VALUE_MAP) {
        (void)value_diag(diags, &pair->value, "'secret_backends': '%.*s' must be a map, got %s",
                         STR_ARG(pair->key.s), value_describe(&pair->value));
        return;
    }
    backend.name = arena_str(&backends->arena, pair->key.s).p;
    backend.kind = find_backend_kind(&pair->value, diags);
    if (!backend.kind || params_decode(&backends->arena, backend.kind->rows, &policy, &pair->value,
                                       &backend, diags) < 0)
        return;
    if (backend.kind->check)
        backend.kind->check(&backend, &pair->value, diags);
    if (diags_count(diags) > before)
        return;
    VEC_PUSH_IN(&backends->arena, &backends->list, backend);
    VEC_PUSH_IN(&backends->arena, &backends->given, &pair->value);
}

struct backends *backends_read(const struct value *given, struct diags *diags)
{
    struct backends *backends = mem_zalloc(sizeof(*backends));
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct diags ignored = DIAGS_INIT(&scratch);
    struct value *copy = ARENA_NEW(&backends->arena, struct value);

    atomic_init(&backends->holders, 1);
    diags = diags ? diags : &ignored;
    if (!given)
        return backends;
    *copy = value_copy(&backends->arena, given);
    if (copy->map->count > BACKENDS_MAX)
        (void)value_diag(diags, given, "'secret_backends': %zu entries, the limit is %d",
                         copy->map->count, BACKENDS_MAX);
    for (size_t i = 0; i < copy->map->count && i < BACKENDS_MAX; i++)
        read_backend(backends, &copy->map->pairs[i], diags);
    return backends;
}

struct backends *backends_hold(struct backends *backends)
{
    atomic_fetch_add(&backends->holders, 1);
    return backends;
}

void backends_drop(struct backends *backends)
{
    if (!backends || atomic_fetch_sub(&backends->holders, 1) > 1)
        return;
    arena_done(&backends->arena);
    free(backends);
}

const struct backend *backends_find(const struct backends *backends, struct str name)
{
    VEC_EACH (&backends->list, backend)
        if (str_is(name, backend->name))
            return backend;
    return NULL;
}

bool backends_differ(const struct backends *a, const struct backends *b, struct str name)
{
    const struct backend *one = backends_find(a, name), *other = backends_find(b, name);

    if (!one || !other)
        return one != other;
    return !value_equal(a->given.p[one - a->list.p], b->given.p[other - b->list.p]);
}

/* --- values ----------------------------------------------------------------------------- */

/* The final newline of a tool or editor is not part of the value. */
static struct str cut_line_end(struct str text)
{
    if (text.n > 0 && text.p[text.n - 1] == '\n')
        text.n--;
    if (text.n > 0 && text.p[text.n - 1] == '\r')
        text.n--;
    return text;
}

static int check_secret_text(struct str text, struct err *err)
{
    if (text.n == 0)
        return err_set(err, ERR_INVALID, "the value is empty");
    if (memchr(text.p, '\0', text.n) || !utf8_is_valid(text))
        return err_set(err, ERR_INVALID, "the value is not text");
    return 0;
}

int backend_get(const struct backend *backend, const struct backend_call *call,
                struct str *ret_text, struct err *err)
{
    struct str bytes;

    if (backend->kind->get(backend, call, &bytes, err) < 0)
        return -1;
    bytes = cut_line_end(bytes);
    if (check_secret_text(bytes, err) < 0)
        return -1;
    *ret_text = bytes;
    return 0;
}

static const struct value *find_secret_field(const struct backend *backend, const struct value *doc,
                                             struct str field)
{
    if (backend->fields && backend->fields[0])
        doc = value_path(doc, str_from(backend->fields), '.');
    return doc ? value_path(doc, field, '.') : NULL;
}

int backend_pick(const struct backend *backend, struct arena *arena, struct str text,
                 struct str field, struct str *ret_text, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(BACKEND_VALUE_MAX);
    const struct value *found;
    struct value doc;

    if (json_decode_lenient(arena, text, &doc, err) < 0 || doc.kind != VALUE_MAP)
        return err_set(err, ERR_INVALID, "not a JSON map, so it has no field '%.*s'",
                       STR_ARG(field));
    found = find_secret_field(backend, &doc, field);
    if (!found || found->kind == VALUE_NULL)
        return err_set(err, ERR_NOT_FOUND, "it has no field '%.*s'", STR_ARG(field));
    if (found->kind == VALUE_STR)
        buf_add_str(&out, found->s);
    else if (json_print(&out, found, JSON_STYLE_COMPACT, err) < 0)
        return err_set(err, ERR_LIMIT, "its field '%.*s' is too large", STR_ARG(field));
    *ret_text = buf_copy(&out, arena);
    return check_secret_text(*ret_text, err);
}
