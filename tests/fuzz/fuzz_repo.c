/* Any text as a file of package sources: edits end, settle after one time, and what is taken away
 * again is gone. Any text as a key: reading it ends. */
#include <stdbool.h>
#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/provider/package/armor.h"
#include "states/provider/package/repo_line.h"
#include "states/provider/package/repo_section.h"
#include "states/provider/package/repo_stanza.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static const struct repo_line source = {
    .type = { "deb", 3 },
    .options = { "arch=amd64,arm64 signed-by=/k", 29 },
    .uri = { "http://x", 8 },
    .suite = { "s", 1 },
    .components = { "main", 4 },
};
static const struct repo_key keys[] = { { "name", "x" }, { "enabled", "1" }, { "gone", NULL } };

struct editor {
    int (*set)(struct str text, struct buf *out, struct err *err);
    size_t (*remove)(struct str text, struct buf *out);
};

static int set_line(struct str text, struct buf *out, struct err *err)
{
    return repo_line_set(text, &source, "c", out, err);
}

static size_t remove_line(struct str text, struct buf *out)
{
    size_t count;

    repo_line_remove(text, &source, out, &count);
    return count;
}

static int set_stanza(struct str text, struct buf *out, struct err *err)
{
    return repo_stanza_set(text, &source, "c", out, err);
}

static size_t remove_stanza(struct str text, struct buf *out)
{
    size_t count;

    repo_stanza_remove(text, &source, out, &count);
    return count;
}

static int set_section(struct str text, struct buf *out, struct err *err)
{
    return repo_section_set(text, STR("zt"), keys, ARRAY_LEN(keys), "=", out, err);
}

static size_t remove_section(struct str text, struct buf *out)
{
    bool there;

    repo_section_remove(text, STR("zt"), out, &there);
    return there;
}

static const struct editor editors[] = {
    { set_line, remove_line },
    { set_stanza, remove_stanza },
    { set_section, remove_section },
};

static void edit(const struct editor *editor, struct str text)
{
    AUTO_BUF struct buf once = BUF_INIT(BUF_NO_LIMIT), twice = BUF_INIT(BUF_NO_LIMIT);
    AUTO_BUF struct buf less = BUF_INIT(BUF_NO_LIMIT), none = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    if (editor->set(text, &once, &err) < 0 || editor->set(buf_view(&once), &twice, &err) < 0)
        abort();
    if (!str_eq(buf_view(&once), buf_view(&twice)))
        abort();
    if (editor->remove(buf_view(&once), &less) == 0 || editor->remove(buf_view(&less), &none) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct str text = arena_str(&arena, str_bytes(data, size));
    struct err err;
    struct str key;

    for (size_t i = 0; i < ARRAY_LEN(editors); i++)
        edit(&editors[i], text);
    if (armor_decode(&arena, text, &key, &err) == 0 && key.n > text.n)
        abort();
    return 0;
}
