/* Two texts, cut at the first NUL: the diff, applied to the first, gives the second. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/textdiff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The next line with its end. */
static struct str take_line(struct str *rest)
{
    size_t end = str_find_char(*rest, '\n', 0);
    struct str line = str_slice(*rest, 0, end == STR_NONE ? rest->n : end + 1);

    *rest = str_from_offset(*rest, line.n);
    return line;
}

static void copy_lines(struct str *old, size_t *line, size_t upto, struct buf *out)
{
    for (; *line < upto; ++*line)
        buf_add_str(out, take_line(old));
}

/* What patch does, for diffs that fit exactly. */
static void apply(struct str old, struct str diff, struct buf *out)
{
    size_t line = 0;

    (void)take_line(&diff);
    (void)take_line(&diff);
    while (diff.n > 0) {
        struct str step = take_line(&diff);

        if (str_starts(step, STR("@@ -"))) {
            char *end;
            size_t from = strtoul(step.p + 4, &end, 10);
            int empty = *end == ',' && strtoul(end + 1, NULL, 10) == 0;

            copy_lines(&old, &line, empty ? from : from - 1, out);
            continue;
        }
        if (step.p[0] == '\\')
            continue;
        if (step.p[0] != '+') {
            (void)take_line(&old);
            line++;
        }
        if (step.p[0] != '-') {
            step = str_from_offset(step, 1);
            if (diff.n > 0 && diff.p[0] == '\\')
                step.n--;
            buf_add_str(out, step);
        }
    }
    buf_add_str(out, old);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_BUF struct buf diff = BUF_INIT(BUF_NO_LIMIT), got = BUF_INIT(BUF_NO_LIMIT);
    struct str rest = str_bytes(data, size);
    struct str old = str_cut(&rest, '\0');

    if (!rest.p)
        return 0;
    textdiff(old, rest, "a", "b", &diff);
    apply(old, buf_view(&diff), &got);
    assert(str_eq(buf_view(&got), rest));
    return 0;
}
