#include "master/api/access.h"

#include "base/err.h"

int api_may(const struct api_asker *asker, enum api_act act, const struct api_subject *subject,
            struct err *err)
{
    (void)subject; /* a token with the role admin may run everything everywhere */
    if (act == API_ACT_LOOK || asker->role == API_ROLE_ADMIN)
        return 0;
    return err_set(err, ERR_UNSUPPORTED, "'%s' may only look: its token has the role viewer",
                   asker->user);
}
