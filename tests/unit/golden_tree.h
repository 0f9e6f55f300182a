/*
 * golden_tree - for tests: golden cases with files. A section "file PATH" of a case is a file below
 * a folder that only this case has.
 */
#ifndef TESTS_UNIT_GOLDEN_TREE_H
#define TESTS_UNIT_GOLDEN_TREE_H

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "test.h"

#define GOLDEN_FILE "file "

/* A file below `root`, and the folders that it needs. */
static inline void golden_put(const char *root, struct str name, struct str text)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char *path = path_join(&arena, root, arena_strndup(&arena, name.p, name.n));
    struct err err;

    if (fs_mkdirs(path_dirname(&arena, path), 0755, &err) < 0 ||
        fs_replace(path, text, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

/* The folder of the case, with its files. */
static inline const char *golden_tree(struct arena *arena, const struct golden *golden)
{
    const char *root = arena_printf(arena, "%s/%p", test_folder(), (const void *)golden->name);
    struct err err;

    CHECK_INT(fs_mkdirs(root, 0755, &err), 0);
    for (size_t i = 0; i < golden->count; i++) {
        struct str name = str_from(golden->sections[i].name);

        if (str_starts(name, STR(GOLDEN_FILE)))
            golden_put(root, str_from_offset(name, strlen(GOLDEN_FILE)), golden->sections[i].text);
    }
    return root;
}

/* Mistakes with `word` for the folder, which is another one each time. */
static inline void golden_mistakes(const struct diags *diags, const char *root, const char *word,
                                   struct buf *out)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    size_t at;

    diags_print(diags, &text);
    while ((at = str_find(buf_view(&text), str_from(root), 0)) != STR_NONE) {
        buf_add_str(out, str_slice(buf_view(&text), 0, at));
        buf_add_text(out, word);
        buf_consume(&text, at + strlen(root));
    }
    buf_add_str(out, buf_view(&text));
}

#endif
