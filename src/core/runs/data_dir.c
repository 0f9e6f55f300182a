#include "core/runs/data_dir.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/account.h"
#include "core/sys/path.h"

#define DATA_DIR "/var/lib/zester"

/* From the environment, else from the account; NULL: unknown. */
static const char *find_home_folder(struct arena *arena)
{
    const char *home = getenv("HOME");
    const struct account *account;
    struct err ignored;

    if (home && home[0] == '/')
        return home;
    if (account_find_uid(arena, geteuid(), &account, &ignored) < 0 || !account ||
        account->home[0] != '/')
        return NULL;
    return account->home;
}

const char *data_dir_find(struct arena *arena)
{
    const char *state = getenv("XDG_STATE_HOME"), *home;

    if (geteuid() == 0)
        return DATA_DIR;
    if (state && state[0] == '/')
        return path_join(arena, state, "zester");
    home = find_home_folder(arena);
    return home ? path_join(arena, home, ".local/state/zester") : NULL;
}
