#include "states/modules/pkg/packages_options.h"

#include <string.h>

#include "states/provider/package/manager.h"

int packages_options_validate(const struct packages_options *options, const struct value *where,
                              struct diags *diags)
{
    const char *repo = options->fromrepo;

    if (repo && (repo[0] == '-' || strpbrk(repo, " \t\r\n")))
        return value_diag(diags, where, "'%s' is not a valid repository name", repo);
    return 0;
}

bool packages_options_fit(const struct packages_options *a, const struct packages_options *b)
{
    return a->aggregate != PARAM_IS_FALSE && b->aggregate != PARAM_IS_FALSE &&
           a->recommends == b->recommends && a->update_holds == b->update_holds &&
           a->skip_verify == b->skip_verify && !a->fromrepo == !b->fromrepo &&
           (!a->fromrepo || strcmp(a->fromrepo, b->fromrepo) == 0);
}

void packages_options_use(const struct packages_options *options, struct package_request *request)
{
    request->fromrepo = options->fromrepo;
    request->skip_verify = options->skip_verify;
    request->change_held = options->update_holds;
    request->recommends = options->recommends == PARAM_IS_TRUE    ? 1
                          : options->recommends == PARAM_IS_FALSE ? -1
                                                                  : 0;
}
