#include "states/modules/ssh_auth/userfile.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/state/module.h"
#include "core/sys/account.h"
#include "core/sys/path.h"

static const char *expand_path(struct state_run *run, const char *config,
                               const struct account *account)
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

int userfile_find(struct state_run *run, const char *user, const char *config,
                  struct userfile *ret_file, struct err *err)
{
    const struct account *account;

    *ret_file = (struct userfile){ .path = NULL };
    if (account_find(run->arena, user, &account, err) < 0)
        return -1;
    if (!account)
        return 0;
    *ret_file = (struct userfile){ expand_path(run, config, account), account->uid, account->gid };
    return 0;
}
