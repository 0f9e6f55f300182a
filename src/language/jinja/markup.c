#include "language/jinja/markup.h"

#include "language/jinja/ops.h"
#include "language/jinja/text.h"

bool value_is_markup(const struct value *v)
{
    return v->kind == VALUE_STR && v->flags & VALUE_SAFE;
}

int markup_print(struct render *render, const struct value *v, struct buf *out)
{
    struct str text;

    if (op_text(render, v, &text) < 0)
        return -1;
    if (value_is_markup(v))
        buf_add_str(out, text);
    else
        op_escape(text, out);
    return 0;
}

int markup_escape(struct render *render, const struct value *v, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);

    if (value_is_markup(v)) {
        *ret = *v;
        return 0;
    }
    if (markup_print(render, v, &out) < 0)
        return -1;
    return text_finish(render, &out, VALUE_SAFE, ret);
}
