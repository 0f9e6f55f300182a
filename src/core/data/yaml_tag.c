#include "core/data/yaml_tag.h"

#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/scalar.h"
#include "core/data/value.h"

/* Texts in messages are cut here. */
#define SHOWN_MAX 40

/* Read it as a plain scalar, which must be of `kind`. */
static int read_tagged_scalar(struct str text, enum yaml_dialect dialect, enum value_kind kind,
                              struct value *ret, struct err *err)
{
    struct value v;

    if (scalar_parse(text, dialect, &v, err) < 0)
        return -1;
    if (v.kind == VALUE_INT && kind == VALUE_DOUBLE)
        v = value_double((double)v.i);
    if (v.kind != kind)
        return err_set(err, ERR_INVALID, "'%.*s' is not %s", STR_ARG(str_slice(text, 0, SHOWN_MAX)),
                       value_kind_name(kind));
    *ret = v;
    return 0;
}

typedef int apply_fn(struct arena *arena, struct str text, enum yaml_dialect dialect,
                     struct value *ret, struct err *err);

static int apply_str(struct arena *arena, struct str text, enum yaml_dialect dialect,
                     struct value *ret, struct err *err)
{
    (void)arena;
    (void)dialect;
    (void)err;
    *ret = value_str(text);
    return 0;
}

static int apply_int(struct arena *arena, struct str text, enum yaml_dialect dialect,
                     struct value *ret, struct err *err)
{
    (void)arena;
    return read_tagged_scalar(text, dialect, VALUE_INT, ret, err);
}

static int apply_float(struct arena *arena, struct str text, enum yaml_dialect dialect,
                       struct value *ret, struct err *err)
{
    (void)arena;
    return read_tagged_scalar(text, dialect, VALUE_DOUBLE, ret, err);
}

static int apply_bool(struct arena *arena, struct str text, enum yaml_dialect dialect,
                      struct value *ret, struct err *err)
{
    (void)arena;
    return read_tagged_scalar(text, dialect, VALUE_BOOL, ret, err);
}

static int apply_null(struct arena *arena, struct str text, enum yaml_dialect dialect,
                      struct value *ret, struct err *err)
{
    (void)arena;
    return read_tagged_scalar(text, dialect, VALUE_NULL, ret, err);
}

static int apply_binary(struct arena *arena, struct str text, enum yaml_dialect dialect,
                        struct value *ret, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);

    (void)dialect;
    if (base64_decode(text, BASE64_STANDARD, &bytes, err) < 0)
        return -1;
    *ret = value_bytes(buf_copy(&bytes, arena));
    return 0;
}

static int apply_timestamp(struct arena *arena, struct str text, enum yaml_dialect dialect,
                           struct value *ret, struct err *err)
{
    (void)arena;
    (void)dialect;
    if (!scalar_parse_time(text, ret))
        return err_set(err, ERR_INVALID, "'%.*s' is not a time",
                       STR_ARG(str_slice(text, 0, SHOWN_MAX)));
    return 0;
}

static const struct {
    const char *name;
    apply_fn *apply;
} tags[] = {
    { "str", apply_str },
    { "int", apply_int },
    { "float", apply_float },
    { "bool", apply_bool },
    { "null", apply_null },
    { "binary", apply_binary },
    { "timestamp", apply_timestamp },
};

int yaml_tag_apply(struct arena *arena, struct str name, struct str text, enum yaml_dialect dialect,
                   struct value *ret, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(tags); i++)
        if (str_is(name, tags[i].name))
            return tags[i].apply(arena, text, dialect, ret, err);
    return err_set(err, ERR_UNSUPPORTED, "tag '!!%.*s' is not supported for a scalar",
                   STR_ARG(str_slice(name, 0, SHOWN_MAX)));
}
