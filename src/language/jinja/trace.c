#include "language/jinja/trace.h"

#include "language/jinja/template.h"

void trace_add(struct trace *trace, size_t out, const struct template *template, uint32_t at,
               size_t n)
{
    if (n > 0)
        VEC_PUSH_IN(trace->arena, &trace->marks, (struct trace_mark){ out, n, at, template });
}

void trace_cut(struct trace *trace, size_t out)
{
    while (trace->marks.n > 0 && trace->marks.p[trace->marks.n - 1].out >= out)
        trace->marks.n--;
}

/* The last mark that begins at or before `out`; NULL when there is none. */
static const struct trace_mark *find_trace_mark(const struct trace *trace, size_t out)
{
    size_t low = 0, high = trace->marks.n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (trace->marks.p[middle].out <= out)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &trace->marks.p[low - 1] : NULL;
}

bool trace_find(const struct trace *trace, size_t out, struct place *ret_place,
                struct str *ret_text)
{
    const struct trace_mark *mark = find_trace_mark(trace, out);
    size_t inside;

    if (!mark)
        return false;
    inside = out - mark->out < mark->n ? out - mark->out : mark->n;
    *ret_place = template_place(mark->template, mark->at + (uint32_t)inside);
    *ret_text = mark->template->text;
    return true;
}
