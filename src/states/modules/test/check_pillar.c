/* test.check_pillar - settings that must be there, each of its kind. */
#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/modules/settings/datapath.h"
#include "states/state/module.h"

#define ARGS struct pillar_args

struct pillar_args {
    struct param_strs present, boolean, integer, string, listing, dictionary;
    bool verbose;
};

/* clang-format off */
static const struct param pillar_params[] = {
    PARAM("present", STRS, ARGS, present, "settings that must be there, by their path"),
    PARAM("boolean", STRS, ARGS, boolean, "settings that must be true or false"),
    PARAM("integer", STRS, ARGS, integer, "settings that must be whole numbers"),
    PARAM("string", STRS, ARGS, string, "settings that must be texts"),
    PARAM("listing", STRS, ARGS, listing, "settings that must be lists"),
    PARAM("dictionary", STRS, ARGS, dictionary, "settings that must be maps"),
    PARAM("verbose", BOOL, ARGS, verbose, "also say which of them are fine"),
    { 0 },
};
/* clang-format on */

static const struct {
    const char *word;
    size_t offset;
    enum value_kind kind;
    bool any;
} demands[] = {
    { "there", offsetof(ARGS, present), VALUE_NULL, true },
    { "a bool", offsetof(ARGS, boolean), VALUE_BOOL, false },
    { "an integer", offsetof(ARGS, integer), VALUE_INT, false },
    { "a string", offsetof(ARGS, string), VALUE_STR, false },
    { "a list", offsetof(ARGS, listing), VALUE_LIST, false },
    { "a map", offsetof(ARGS, dictionary), VALUE_MAP, false },
};

static void check_demand(struct state_run *run, const struct pillar_args *want, size_t i,
                         struct buf *wrong)
{
    const struct param_strs *paths = (const void *)((const char *)want + demands[i].offset);

    for (size_t k = 0; k < paths->n; k++) {
        const struct value *found = datapath_find(state_settings(run), paths->p[k]);

        if (!found)
            buf_printf(wrong, "%s'%s' is missing", wrong->n > 0 ? "; " : "", paths->p[k]);
        else if (!demands[i].any && found->kind != demands[i].kind)
            buf_printf(wrong, "%s'%s' is %s, not %s", wrong->n > 0 ? "; " : "", paths->p[k],
                       value_describe(found), demands[i].word);
        else if (want->verbose)
            state_say(run, "'%s' is %s", paths->p[k], demands[i].word);
    }
}

static int check_pillar_check(struct state_run *run, const void *args, struct err *err)
{
    AUTO_BUF struct buf wrong = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < ARRAY_LEN(demands); i++)
        check_demand(run, args, i, &wrong);
    return wrong.n > 0 ? err_set(err, ERR_INVALID, "%s", buf_text(&wrong)) : 0;
}

static int check_pillar_apply(struct state_run *run, const void *args, struct err *err)
{
    state_unchanged(run); /* a watched change asks again, and changes nothing */
    return check_pillar_check(run, args, err);
}

const struct module module_test_check_pillar = {
    .name = "test.check_pillar",
    .summary = "settings that must be there, each of its kind",
    .details = "Fails with all that is missing or of another kind.",
    .example = "verbose: false\n",
    .params = pillar_params,
    .args_size = sizeof(struct pillar_args),
    .flags = MODULE_LOCAL,
    .check = check_pillar_check,
    .apply = check_pillar_apply,
};
