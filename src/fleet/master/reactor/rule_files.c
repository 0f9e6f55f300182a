#include "fleet/master/reactor/rule_files.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "states/compile/tree.h"
#include "core/sys/path.h"

static int read_rule_folder(struct arena *arena, const struct tree *tree, const char *folder,
                            struct rule_files *files, struct err *err)
{
    struct tree_names names;

    if (tree_list(tree, arena, "", &names, err) < 0)
        return -1;
    VEC_EACH (&names.list, path) {
        struct rule_file file = { *path, path_join(arena, folder, *path), { NULL, 0 } };

        if (!str_ends(str_from(*path), STR(RULE_SET_SUFFIX)))
            continue;
        if (tree_read(tree, arena, *path, &file.text, err) < 0)
            return -1;
        file.path = arena_strdup(arena, *path); /* the tree is freed before them */
        file.text = arena_str(arena, file.text);
        VEC_PUSH_IN(arena, &files->list, file);
    }
    if (files->list.n == 0)
        return err_set(err, ERR_NOT_FOUND, "no " RULE_SET_SUFFIX " files in '%s'", folder);
    return 0;
}

int rule_files_read(struct arena *arena, const char *folder, struct rule_files *ret_files,
                    struct err *err)
{
    struct rule_files files = { VEC_INIT };
    struct tree *tree = tree_new(folder, err);
    int result;

    if (!tree)
        return -1;
    result = read_rule_folder(arena, tree, folder, &files, err);
    tree_free(tree);
    if (result == 0)
        *ret_files = files;
    return result;
}
