/*
 * driver_jinja TEMPLATE CONTEXT COUNT [parse]: render a template COUNT times in one process and
 * print the seconds of one rendering. With `parse` each rendering begins with reading the
 * template's text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "language/jinja/filters/builtins.h"
#include "language/jinja/jinja.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"

#define FILE_MAX ((size_t)16 << 20)

static struct str read_file(struct arena *arena, const char *path)
{
    struct str text;
    struct err err;

    if (fs_read(arena, path, FILE_MAX, &text, &err) < 0 || !text.p) {
        (void)fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    return text;
}

static void fail(const struct diags *diags)
{
    AUTO_BUF struct buf text = BUF_INIT(FILE_MAX);

    diags_print(diags, &text);
    (void)fputs(buf_text(&text), stderr);
    exit(1);
}

/* One rendering; the environment is new each time when the template is to be parsed again. */
static struct jinja *render(struct jinja *jinja, bool parse, struct str text,
                            const struct value *context, struct buf *out, struct diags *diags)
{
    const struct jinja_options options = { .builtins = &filter_builtins };

    if (!jinja || parse) {
        jinja_free(jinja);
        jinja = jinja_new(&options);
    }
    buf_clear(out);
    if (jinja_render(jinja, "state.zy", text, context, out, diags) < 0)
        fail(diags);
    return jinja;
}

int main(int argc, char **argv)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(FILE_MAX);
    struct diags diags = DIAGS_INIT(&arena);
    bool parse = argc > 4 && strcmp(argv[4], "parse") == 0;
    struct jinja *jinja = NULL;
    struct value context;
    struct str text;
    int64_t start;
    long count;

    if (argc < 4)
        return 1;
    text = read_file(&arena, argv[1]);
    if (json_parse(&arena, argv[2], read_file(&arena, argv[2]), &context, &diags) < 0)
        fail(&diags);
    count = strtol(argv[3], NULL, 10);
    jinja = render(jinja, parse, text, &context, &out, &diags);
    start = clock_now();
    for (long i = 0; i < count; i++)
        jinja = render(jinja, parse, text, &context, &out, &diags);
    printf("%.9f %zu\n", (double)(clock_now() - start) / 1e9 / (double)count, out.n);
    jinja_free(jinja);
    return 0;
}
