#include "states/modules/file/backup.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "states/undo/change.h"
#include "states/state/module.h"
#include "core/sys/fs.h"

#define DEFAULT_SUFFIX ".bak"

/* False for unknown values; `ret_suffix` is NULL when no copy is requested. */
static bool read_suffix(const struct value *backup, const char **ret_suffix)
{
    static const struct {
        const char *word, *suffix;
    } words[] = {
        { "", NULL },
        { "false", NULL },
        { "no", NULL },
        { "none", NULL },
        { "off", NULL },
        { "minion", NULL }, /* the undo journal does that */
        { "master", NULL },
        { "both", NULL },
        { "true", DEFAULT_SUFFIX },
        { "yes", DEFAULT_SUFFIX },
    };

    *ret_suffix = NULL;
    if (!backup || backup->kind == VALUE_NULL)
        return true;
    if (backup->kind == VALUE_BOOL) {
        *ret_suffix = backup->b ? DEFAULT_SUFFIX : NULL;
        return true;
    }
    if (backup->kind != VALUE_STR || memchr(backup->s.p, '/', backup->s.n))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_is(backup->s, words[i].word)) {
            *ret_suffix = words[i].suffix;
            return true;
        }
    *ret_suffix = backup->s.p;
    return backup->s.n > 1 && backup->s.p[0] == '.';
}

int backup_validate(const struct value *backup, struct diags *diags)
{
    const char *suffix;

    if (read_suffix(backup, &suffix))
        return 0;
    return value_diag(diags, backup, "'backup' must be true, false or a suffix such as '.bak'");
}

int backup_make(struct state_run *run, const char *path, const struct value *backup,
                struct err *err)
{
    const struct change_attr keep = CHANGE_KEEP;
    struct fs_info info;
    const char *suffix;

    if (!read_suffix(backup, &suffix) || !suffix)
        return 0;
    if (fs_stat(path, &info, err) < 0)
        return -1;
    if (info.kind != FS_FILE)
        return 0;

    const char *copy = arena_printf(run->arena, "%s%s", path, suffix);
    struct change_attr attr = keep;
    attr.mode = CHANGE_SOURCE_MODE; /* never more permissive than the file */
    if (change_copy(run, path, copy, &attr, err) < 0)
        return err_wrap(err, "back up '%s'", path);
    state_detail(run, "backup", "%s", copy);
    return 0;
}
