#include "states/modules/file/forms.h"

#include <ctype.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "core/data/words.h"

#define DEFAULT_SECTION "DEFAULT"

static int print_form_scalar(struct buf *out, const struct value *v, struct err *err)
{
    if (v->kind == VALUE_STR && str_find_char(v->s, '\n', 0) != STR_NONE)
        return err_set(err, ERR_UNSUPPORTED, "a text of several lines would not be read back");
    if (v->kind == VALUE_BOOL)
        buf_add_text(out, v->b ? "True" : "False");
    else if (v->kind == VALUE_NULL)
        buf_add_text(out, "None");
    else if (!words_print(out, v))
        return err_set(err, ERR_UNSUPPORTED, "%s cannot be a value of this format",
                       value_describe(v));
    return 0;
}

/* --- sections -------------------------------------------------------------------------------- */

/* Further lines of a value are indented. */
static int print_form_value(struct buf *out, const struct value *v, struct err *err)
{
    struct str rest;

    if (v->kind == VALUE_NULL)
        return err_set(err, ERR_UNSUPPORTED, "a section cannot have a key without a value");
    if (v->kind != VALUE_STR)
        return print_form_scalar(out, v, err);
    rest = v->s;
    buf_add_str(out, str_cut(&rest, '\n'));
    while (rest.p) {
        buf_add_text(out, "\n\t");
        buf_add_str(out, str_cut(&rest, '\n'));
    }
    return 0;
}

static int print_form_key(struct buf *out, const struct value *v, struct err *err)
{
    const size_t from = out->n;

    if (print_form_scalar(out, v, err) < 0)
        return -1;
    for (size_t i = from; i < out->n; i++)
        out->p[i] = (char)tolower((unsigned char)out->p[i]);
    return 0;
}

static int print_section(struct buf *out, const struct value_pair *section, struct err *err)
{
    if (section->value.kind != VALUE_MAP)
        return err_set(err, ERR_UNSUPPORTED, "sections must be maps, got %s",
                       value_describe(&section->value));
    buf_add_char(out, '[');
    if (print_form_scalar(out, &section->key, err) < 0)
        return -1;
    buf_add_text(out, "]\n");
    for (size_t i = 0; i < section->value.map->count; i++) {
        const struct value_pair *pair = &section->value.map->pairs[i];

        if (print_form_key(out, &pair->key, err) < 0)
            return -1;
        buf_add_text(out, " = ");
        if (print_form_value(out, &pair->value, err) < 0)
            return -1;
        buf_add_char(out, '\n');
    }
    buf_add_char(out, '\n');
    return 0;
}

static bool is_form_default(const struct value_pair *section)
{
    return section->key.kind == VALUE_STR && str_is(section->key.s, DEFAULT_SECTION);
}

static int require_map(const struct value *data, struct err *err)
{
    if (data->kind == VALUE_MAP)
        return 0;
    return err_set(err, ERR_UNSUPPORTED, "the data must be a map, got %s", value_describe(data));
}

int forms_print_sections(struct buf *out, const struct value *data, struct err *err)
{
    if (require_map(data, err) < 0)
        return -1;
    for (int first = 1; first >= 0; first--)
        for (size_t i = 0; i < data->map->count; i++)
            if (is_form_default(&data->map->pairs[i]) == (first == 1) &&
                print_section(out, &data->map->pairs[i], err) < 0)
                return -1;
    buf_add_char(out, '\n');
    return 0;
}

/* --- lines ----------------------------------------------------------------------------------- */

int forms_print_lines(struct buf *out, const struct value *data, const char *separator,
                      struct err *err)
{
    if (require_map(data, err) < 0)
        return -1;
    for (size_t i = 0; i < data->map->count; i++) {
        const struct value_pair *pair = &data->map->pairs[i];

        if (print_form_scalar(out, &pair->key, err) < 0)
            return -1;
        buf_add_text(out, separator);
        if (print_form_scalar(out, &pair->value, err) < 0)
            return -1;
        buf_add_char(out, '\n');
    }
    return 0;
}
