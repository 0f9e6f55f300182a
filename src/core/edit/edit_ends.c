/* edit - whole lines at the end or at the beginning of a text. */
#include "core/edit/edit.h"

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/edit/lines.h"

int edit_finish(const struct buf *out, struct err *err)
{
    if (out->full)
        return err_set(err, ERR_LIMIT, "the text would exceed the limit of %zu bytes", out->max);
    return 0;
}

/* Each chunk is searched for in the whole text: thousands of them take a while. */
static int check_stop(const struct edit_chunks *chunks, struct err *err)
{
    if (chunks->is_stopped && chunks->is_stopped(chunks->user))
        return err_set(err, ERR_CANCELED, "canceled while lines were added");
    return 0;
}

int edit_append(struct str text, const struct edit_chunks *chunks, struct buf *out,
                size_t *ret_lines, struct err *err)
{
    const struct str end = lines_end_of(text);
    const size_t base = out->n;
    size_t added = 0;

    buf_add_str(out, text);
    for (size_t i = 0; i < chunks->n; i++) {
        /* A chunk may be present because an earlier one was just added. */
        const struct str now = str_from_offset(buf_view(out), base);

        if (check_stop(chunks, err) < 0)
            return -1;
        if (lines_have(now, chunks->p[i], chunks->ignore_blanks))
            continue;
        lines_finish(out, end);
        lines_add_all(out, chunks->p[i], end);
        added += lines_count(chunks->p[i]);
    }
    *ret_lines = added;
    return edit_finish(out, err);
}

/* Do all chunks, one after another, begin the text? */
static bool is_header(struct str text, const struct edit_chunks *chunks)
{
    struct line line;

    for (size_t i = 0; i < chunks->n; i++) {
        if (!lines_begin_with(text, chunks->p[i], chunks->ignore_blanks))
            return false;
        for (size_t n = lines_count(chunks->p[i]); n > 0; n--)
            (void)lines_next(&text, &line);
    }
    return true;
}

static bool is_chunk_present(struct str text, struct str before, const struct edit_chunks *chunks,
                             size_t i)
{
    return lines_have(text, chunks->p[i], chunks->ignore_blanks) ||
           (before.n > 0 && lines_have(before, chunks->p[i], chunks->ignore_blanks));
}

int edit_prepend(struct str text, const struct edit_chunks *chunks, struct buf *out,
                 size_t *ret_lines, struct err *err)
{
    const struct str end = lines_end_of(text);
    const bool all = chunks->header && !is_header(text, chunks);
    const size_t base = out->n;
    size_t added = 0;

    for (size_t i = 0; i < chunks->n; i++) {
        const struct str before = str_from_offset(buf_view(out), base);

        if (check_stop(chunks, err) < 0)
            return -1;
        if (!all && (chunks->header || is_chunk_present(text, before, chunks, i)))
            continue;
        lines_add_all(out, chunks->p[i], end);
        added += lines_count(chunks->p[i]);
    }
    buf_add_str(out, text);
    *ret_lines = added;
    return edit_finish(out, err);
}
