#include "modules/ssh_auth/userfile.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "state/module.h"
#include "sys/account.h"
#include "sys/fs.h"
#include "sys/path.h"

static const char *expand(struct state_run *run, const char *config, const struct account *account)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    for (const char *p = config; *p; p++) {
        if (p[0] == '%' && (p[1] == 'h' || p[1] == 'u' || p[1] == '%')) {
            buf_add_text(&out, p[1] == 'h' ? account->home : p[1] == 'u' ? account->name : "%");
            p++;
        } else {
            buf_add_char(&out, *p);
        }
    }
    return path_join(run->arena, account->home, buf_text(&out));
}

/* A link may lead to what the user owns, and nowhere else. */
static int check_link(const char *path, uid_t uid, struct err *err)
{
    struct fs_info link, target;

    if (fs_lstat(path, &link, err) < 0)
        return -1;
    if (link.kind != FS_LINK)
        return 0;
    if (fs_stat(path, &target, err) < 0)
        return -1;
    if (target.kind != FS_NONE && target.uid == uid)
        return 0;
    return err_set(err, ERR_INVALID, "'%s' is a link to what is not a file of this user", path);
}

/* Every name from the home down; of a path elsewhere the last one. */
static int check_links(struct state_run *run, const struct account *account, const char *path,
                       struct err *err)
{
    const char *at = path;

    if (account->uid == 0)
        return 0;
    for (;
         strcmp(at, "/") != 0 && path_is_below(at, account->home) && strcmp(at, account->home) != 0;
         at = path_dirname(run->arena, at))
        if (check_link(at, account->uid, err) < 0)
            return -1;
    return at == path ? check_link(path, account->uid, err) : 0;
}

int userfile_find(struct state_run *run, const char *user, const char *config,
                  struct userfile *ret_file, struct err *err)
{
    const struct account *account;

    *ret_file = (struct userfile){ .path = NULL };
    if (account_find(run->arena, user, &account, err) < 0)
        return -1;
    if (!account)
        return 0;
    *ret_file = (struct userfile){ expand(run, config, account), account->uid, account->gid };
    return check_links(run, account, ret_file->path, err);
}
