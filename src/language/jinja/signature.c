#include "language/jinja/signature.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "language/jinja/container.h"
#include "language/jinja/render.h"

/* --- parsing ------------------------------------------------------------------ */

static struct value parse_default(struct arena *arena, struct str text)
{
    if (str_is(text, "true"))
        return value_bool(true);
    if (str_is(text, "false"))
        return value_bool(false);
    if (str_is(text, "none"))
        return value_null();
    if (text.n >= 2 && text.p[0] == '\'')
        return value_str(arena_str(arena, str_slice(text, 1, text.n - 2)));

    const char *number = arena_strndup(arena, text.p, text.n);
    char *end;

    if (str_find_char(text, '.', 0) != STR_NONE) {
        double d = strtod(number, &end);

        assert(*end == '\0');
        return value_double(d);
    }
    long long i = strtoll(number, &end, 10);
    assert(*end == '\0' && end != number);
    return value_int(i);
}

/* The text up to the next comma outside of quotes; moves `rest` past it. */
static struct str next_field(struct str *rest)
{
    bool quoted = false;
    size_t i = 0;

    while (i < rest->n && (quoted || rest->p[i] != ',')) {
        if (rest->p[i] == '\'')
            quoted = !quoted;
        i++;
    }
    struct str field = str_slice(*rest, 0, i);
    *rest = i < rest->n ? str_from_offset(*rest, i + 1) : (struct str){ NULL, 0 };
    return field;
}

/* Leading and trailing blanks only: a default may contain blanks in quotes. */
static void add_param(struct arena *arena, struct signature *signature, struct str field)
{
    struct signature_param *param = &signature->params[signature->count];
    size_t eq = str_find_char(field, '=', 0);

    assert(signature->count + 2 < SIGNATURE_MAX);
    if (eq != STR_NONE) {
        param->kind = PARAM_DEFAULT;
        param->name = str_trim(str_slice(field, 0, eq));
        param->value = parse_default(arena, str_trim(str_from_offset(field, eq + 1)));
    } else if (field.n > 0 && field.p[field.n - 1] == '?') {
        param->kind = PARAM_OPTIONAL;
        param->name = str_slice(field, 0, field.n - 1);
        param->value = value_absent();
    } else {
        param->kind = PARAM_REQUIRED;
        param->name = field;
        signature->required = signature->count + 1;
    }
    assert(param->name.n > 0);
    signature->count++;
}

const struct signature *signature_new(struct arena *arena, const char *text)
{
    struct signature *signature = ARENA_NEW(arena, struct signature);
    struct str rest = str_from(text ? text : "");

    while (rest.p) {
        struct str field = str_trim(next_field(&rest));

        if (field.n == 0)
            continue;
        if (str_starts(field, STR("**")))
            signature->named = true;
        else if (field.p[0] == '*')
            signature->rest = true;
        else
            add_param(arena, signature, field);
    }
    signature->bound = signature->count + signature->rest + signature->named;
    return signature;
}

/* --- one for each function -------------------------------------------------------- */

struct signatures_entry {
    const struct function *function;
    const struct signature *signature;
};

#define SIGNATURES_CAP_MIN 64

void signatures_init(struct signatures *signatures, struct arena *arena)
{
    *signatures = (struct signatures){ .arena = arena };
}

static struct signatures_entry *find_signature_slot(const struct signatures *signatures,
                                                    const struct function *function)
{
    size_t i = ((uintptr_t)function / sizeof(struct function)) & (signatures->cap - 1);

    while (signatures->entries[i].function && signatures->entries[i].function != function)
        i = (i + 1) & (signatures->cap - 1);
    return &signatures->entries[i];
}

static void grow_signatures(struct signatures *signatures)
{
    struct signatures old = *signatures;

    signatures->cap = old.cap > 0 ? old.cap * 2 : SIGNATURES_CAP_MIN;
    signatures->entries = ARENA_ARRAY(signatures->arena, struct signatures_entry, signatures->cap);
    for (size_t i = 0; i < old.cap; i++)
        if (old.entries[i].function)
            *find_signature_slot(signatures, old.entries[i].function) = old.entries[i];
}

const struct signature *signatures_get(struct signatures *signatures,
                                       const struct function *function)
{
    if (signatures->count * 2 >= signatures->cap)
        grow_signatures(signatures);

    struct signatures_entry *entry = find_signature_slot(signatures, function);

    if (!entry->function) {
        entry->function = function;
        entry->signature = signature_new(signatures->arena, function->signature);
        signatures->count++;
    }
    return entry->signature;
}

/* --- binding ------------------------------------------------------------------- */

static int fail_places(const struct signature *signature, struct render *render, const char *name,
                       size_t given)
{
    const char *plural = signature->count == 1 ? "" : "s";
    const char *were = given == 1 ? "was" : "were";

    if (signature->required < signature->count)
        return render_fail(render, RENDER_TYPE,
                           "%s() takes from %u to %u positional arguments but %zu %s given", name,
                           signature->required, signature->count, given, were);
    return render_fail(render, RENDER_TYPE, "%s() takes %u positional argument%s but %zu %s given",
                       name, signature->count, plural, given, were);
}

static int fail_missing(const struct signature *signature, struct render *render, const char *name,
                        const struct value *args)
{
    for (uint32_t i = 0; i < signature->count; i++)
        if (signature->params[i].kind == PARAM_REQUIRED && value_is_absent(&args[i]))
            return render_fail(render, RENDER_TYPE,
                               "%s() missing 1 required positional argument: '%.*s'", name,
                               STR_ARG(signature->params[i].name));
    return 0;
}

static int find_param(const struct signature *signature, struct str name)
{
    for (uint32_t i = 0; i < signature->count; i++)
        if (str_eq(signature->params[i].name, name))
            return (int)i;
    return -1;
}

static int bind_named(const struct signature *signature, struct render *render, const char *name,
                      const struct function_call *call, struct value *args)
{
    struct value_map *named = NULL;

    if (signature->named) {
        named = container_new_map(render, call->named_count);
        args[signature->bound - 1] = value_map(named);
    }
    for (size_t i = 0; i < call->named_count; i++) {
        const struct value_pair *pair = &call->named[i];
        int at = find_param(signature, pair->key.s);

        if (at >= 0 && !value_is_absent(&args[at]))
            return render_fail(render, RENDER_TYPE, "%s() got multiple values for argument '%.*s'",
                               name, STR_ARG(pair->key.s));
        if (at >= 0)
            args[at] = pair->value;
        else if (named)
            value_map_set(render->arena, named, pair->key, pair->value);
        else
            return render_fail(render, RENDER_TYPE,
                               "%s() got an unexpected keyword argument '%.*s'", name,
                               STR_ARG(pair->key.s));
    }
    return 0;
}

static int bind_places(const struct signature *signature, struct render *render, const char *name,
                       const struct value *first, const struct function_call *call,
                       struct value *args)
{
    size_t given = call->count + (first ? 1 : 0), taken = 0;
    size_t at = 0;

    if (given > signature->count && !signature->rest)
        return fail_places(signature, render, name, given);
    if (first && at < signature->count)
        args[at++] = *first, first = NULL;
    while (at < signature->count && taken < call->count)
        args[at++] = call->args[taken++];
    for (; at < signature->count; at++)
        args[at] = value_absent();
    if (!signature->rest)
        return 0;

    struct value_list *rest = container_new_list(render, call->count - taken);
    if (first)
        value_list_push(render->arena, rest, *first);
    for (; taken < call->count; taken++)
        value_list_push(render->arena, rest, call->args[taken]);
    args[signature->count] = value_list(rest);
    args[signature->count].flags |= VALUE_TUPLE;
    return 0;
}

/* The common call: all by place, nothing left over. */
static int bind_plain(const struct signature *signature, struct render *render, const char *name,
                      const struct value *first, const struct function_call *call,
                      struct value *args)
{
    uint32_t at = 0;

    if (first)
        args[at++] = *first;
    for (size_t i = 0; i < call->count; i++)
        args[at++] = call->args[i];
    for (uint32_t i = at; i < signature->count; i++)
        args[i] = signature->params[i].value;
    if (at >= signature->required)
        return 0;
    for (uint32_t i = at; i < signature->count; i++)
        args[i] = value_absent();
    return fail_missing(signature, render, name, args);
}

int signature_bind(const struct signature *signature, struct render *render, const char *name,
                   const struct value *first, const struct function_call *call, struct value *args)
{
    if (signature->bound == signature->count && call->named_count == 0 &&
        call->count + (first ? 1 : 0) <= signature->count)
        return bind_plain(signature, render, name, first, call, args);
    if (bind_places(signature, render, name, first, call, args) < 0)
        return -1;
    if ((call->named_count > 0 || signature->named) &&
        bind_named(signature, render, name, call, args) < 0)
        return -1;
    if (signature->required > call->count + (first ? 1 : 0) &&
        fail_missing(signature, render, name, args) < 0)
        return -1;
    for (uint32_t i = 0; i < signature->count; i++)
        if (signature->params[i].kind == PARAM_DEFAULT && value_is_absent(&args[i]))
            args[i] = signature->params[i].value;
    return 0;
}
