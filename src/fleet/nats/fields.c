#include "fleet/nats/fields.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "fleet/nats/error.h"

#define SHOWN_MAX 100

/* --- writing ------------------------------------------------------------------------ */

static bool is_field_set(const struct nats_field *field, const void *at)
{
    switch (field->kind) {
    case NATS_FIELD_TEXT: return *(const char *const *)at != NULL;
    case NATS_FIELD_TEXTS: return ((const struct nats_texts *)at)->n > 0;
    case NATS_FIELD_INT: return *(const int64_t *)at != 0;
    case NATS_FIELD_INTS: return ((const struct nats_ints *)at)->n > 0;
    case NATS_FIELD_BOOL: return *(const bool *)at;
    case NATS_FIELD_CHOICE: return field->since == 0 || *(const int *)at != 0;
    }
    return false;
}

static void print_field_texts(const struct nats_texts *texts, struct buf *out)
{
    for (size_t i = 0; i < texts->n; i++) {
        buf_add_char(out, i ? ',' : '[');
        json_print_text(out, str_from(texts->p[i]), JSON_STYLE_COMPACT);
    }
    buf_add_char(out, ']');
}

static void print_ints(const struct nats_ints *ints, struct buf *out)
{
    for (size_t i = 0; i < ints->n; i++) {
        buf_add_char(out, i ? ',' : '[');
        number_print_int(ints->p[i], out);
    }
    buf_add_char(out, ']');
}

static void print_field_value(const struct nats_field *field, const void *at, struct buf *out)
{
    switch (field->kind) {
    case NATS_FIELD_TEXT:
        json_print_text(out, str_from(*(const char *const *)at), JSON_STYLE_COMPACT);
        break;
    case NATS_FIELD_TEXTS: print_field_texts(at, out); break;
    case NATS_FIELD_INT: number_print_int(*(const int64_t *)at, out); break;
    case NATS_FIELD_INTS: print_ints(at, out); break;
    case NATS_FIELD_BOOL: buf_add_text(out, *(const bool *)at ? "true" : "false"); break;
    case NATS_FIELD_CHOICE:
        json_print_text(out, str_from(field->choices[*(const int *)at]), JSON_STYLE_COMPACT);
        break;
    }
}

/* "republish" of "republish.src"; an empty view for a plain field. */
static struct str find_field_group(const char *name)
{
    const char *dot = strchr(name, '.');

    return dot ? (struct str){ name, (size_t)(dot - name) } : STR("");
}

/* Close the group before, open that of `name`. */
static void change_group(struct str *group, const char *name, struct buf *out)
{
    struct str next = name ? find_field_group(name) : STR("");

    if (str_eq(*group, next))
        return;
    if (group->n > 0)
        buf_add_char(out, '}');
    if (next.n > 0)
        buf_printf(out, "%s\"%.*s\":{", out->p[out->n - 1] == '{' ? "" : ",", STR_ARG(next));
    *group = next;
}

int nats_fields_print(const struct nats_field *table, const void *config, int version,
                      struct buf *out, struct err *err)
{
    struct str group = STR("");

    buf_add_char(out, '{');
    for (const struct nats_field *field = table; field->name; field++) {
        const void *at = (const char *)config + field->offset;

        if (!is_field_set(field, at))
            continue;
        if (version != 0 && version < field->since)
            return err_set(err, ERR_UNSUPPORTED, "'%s' requires a server of version %d.%d",
                           field->name, field->since / 1000000, field->since / 1000 % 1000);
        change_group(&group, field->name, out);
        buf_printf(out, "%s\"%s\":", out->p[out->n - 1] == '{' ? "" : ",",
                   field->name + (group.n ? group.n + 1 : 0));
        print_field_value(field, at, out);
    }
    change_group(&group, NULL, out);
    buf_add_char(out, '}');
    if (out->full)
        return err_set(err, ERR_LIMIT, "configuration is larger than %zu bytes", out->max);
    return 0;
}

/* --- comparing ---------------------------------------------------------------------- */

/* Values that the server omits. */
static bool is_zero_value(const struct value *v)
{
    return !v || !value_is_true(v);
}

static bool is_as_asked(const struct nats_field *field, const struct value *asked,
                        const struct value *got)
{
    if (asked)
        return (is_zero_value(asked) && is_zero_value(got)) || (got && value_equal(asked, got));
    if (field->any || (field->kind == NATS_FIELD_CHOICE && is_zero_value(got)))
        return true;
    if (field->kind == NATS_FIELD_CHOICE)
        return value_is(got, VALUE_STR) && str_is(got->s, field->choices[0]);
    if (value_is(got, VALUE_INT))
        return got->i == field->default_int || got->i == 0;
    return is_zero_value(got);
}

static void print_json_value(const struct value *v, struct buf *out)
{
    const struct value null = value_null();
    struct err err;

    (void)json_print(out, v ? v : &null, JSON_STYLE_COMPACT, &err);
}

int nats_fields_compare(const struct nats_field *table, const struct value *asked,
                        const struct value *got, struct nats_error *error)
{
    AUTO_BUF struct buf text = BUF_INIT(NATS_ERROR_TEXT_SIZE);

    for (const struct nats_field *field = table; field->name; field++) {
        const struct value *want = value_path(asked, str_from(field->name), '.');
        const struct value *have = value_path(got, str_from(field->name), '.');
        AUTO_BUF struct buf want_text = BUF_INIT(SHOWN_MAX), have_text = BUF_INIT(SHOWN_MAX);

        if (is_as_asked(field, want, have))
            continue;
        print_json_value(want, &want_text);
        print_json_value(have, &have_text);
        buf_printf(&text, "%s'%s': asked for %s, the server has %s", text.n > 0 ? ", " : "",
                   field->name, want ? buf_text(&want_text) : "the default", buf_text(&have_text));
    }
    if (text.n == 0)
        return 0;
    nats_error_set(error, NATS_FAULT_DIFFERS, 0, "%s", buf_text(&text));
    return -1;
}
