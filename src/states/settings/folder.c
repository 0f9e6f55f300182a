#include "states/settings/folder.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/base/mem.h"
#include "core/base/suggest.h"
#include "states/settings/settings.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

static const struct {
    const char *end;
    bool is_init;
} endings[] = { { ".zy", false }, { "/init.zy", true }, { ".sls", false }, { "/init.sls", true } };

static int check_ref(struct str ref, struct err *err)
{
    struct str rest = ref;

    while (rest.p) {
        struct str part = str_cut(&rest, '.');

        if (part.n == 0 || str_find_char(part, '/', 0) != STR_NONE ||
            str_find_char(part, '\0', 0) != STR_NONE)
            return err_set(err, ERR_INVALID, "'%.*s' is not a reference to a file", STR_ARG(ref));
    }
    return 0;
}

/* A NULL view when there is no such file. */
static int read_folder_path(struct arena *arena, const struct folder *folder, const char *path,
                            struct str *ret_text, struct err *err)
{
    const struct str *held = folder->files ? map_find(folder->files, str_from(path)) : NULL;

    *ret_text = held ? *held : (struct str){ NULL, 0 };
    if (folder->files && (!held || held->p))
        return 0;
    return fs_read(arena, path_join(arena, folder->root, path), SETTINGS_FILE_MAX, ret_text, err);
}

const char *folder_path(struct arena *arena, struct str ref)
{
    char *path = arena_strndup(arena, ref.p, ref.n);

    for (size_t i = 0; i < ref.n; i++)
        if (path[i] == '.')
            path[i] = '/';
    return path;
}

int folder_find(struct arena *arena, const struct folder *folder, struct str ref,
                struct folder_file *ret_file, struct err *err)
{
    struct folder_file file = { 0 };

    if (check_ref(ref, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(endings) && !file.path; i++) {
        char *path = arena_printf(arena, "%s%s", folder_path(arena, ref), endings[i].end);

        if (read_folder_path(arena, folder, path, &file.text, err) < 0)
            return -1;
        if (file.text.p) {
            file.path = path;
            file.is_init = endings[i].is_init;
        }
    }
    *ret_file = file;
    return 0;
}

/* The name of an entry as the last part of a reference; a NULL view when it is not one. */
static struct str strip_suffix(const char *entry)
{
    struct str name = str_from(entry);

    if (str_ends(name, STR(".zy")))
        return str_slice(name, 0, name.n - 3);
    if (str_ends(name, STR(".sls")))
        return str_slice(name, 0, name.n - 4);
    return str_find_char(name, '.', 0) == STR_NONE ? name : (struct str){ NULL, 0 };
}

const char *folder_suggest(struct arena *arena, const struct folder *folder, struct str ref)
{
    struct fs_names names = { VEC_INIT };
    struct suggest suggest;
    struct err ignored;
    struct str last, best;
    size_t dot = ref.n;

    while (dot > 0 && ref.p[dot - 1] != '.')
        dot--;
    last = str_from_offset(ref, dot);
    if (fs_list(arena, path_join(arena, folder->root, folder_path(arena, str_slice(ref, 0, dot))),
                &names, &ignored) < 0)
        return NULL;
    suggest_init(&suggest, last);
    VEC_EACH (&names.list, name)
        if (strip_suffix(*name).p)
            suggest_offer(&suggest, strip_suffix(*name));
    best = suggest_best(&suggest);
    if (!best.p)
        return NULL;
    return arena_printf(arena, "%.*s%.*s", STR_ARG(str_slice(ref, 0, dot)), STR_ARG(best));
}

int folder_read(struct arena *arena, const struct folder *folder, struct str path,
                struct str *ret_text, struct err *err)
{
    static const char *const schemes[] = { "salt://", "zester://" };
    const char *name;

    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (str_starts(path, str_from(schemes[i])))
            path = str_from_offset(path, str_from(schemes[i]).n);
    name = arena_strndup(arena, path.p, path.n);
    *ret_text = (struct str){ NULL, 0 };
    if (path_escapes(name))
        return 0;
    return read_folder_path(arena, folder, name, ret_text, err);
}

bool folder_has_files(struct arena *arena, const struct folder *folder)
{
    struct fs_names names = { VEC_INIT };
    struct err ignored;

    if (fs_list(arena, folder->root, &names, &ignored) < 0)
        return false;
    VEC_EACH (&names.list, name)
        if (str_ends(str_from(*name), STR(".zy")) || str_ends(str_from(*name), STR(".sls")))
            return true;
    return false;
}
