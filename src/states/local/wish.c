#include "states/local/wish.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/vec.h"
#include "states/compile/plan.h"
#include "core/data/value.h"
#include "states/local/session.h"
#include "states/state/host.h"

static int read_test_option(const struct value *asked, bool *test, struct diags *diags)
{
    static const char *const yes[] = { "true", "yes", "1", "on" };
    static const char *const no[] = { "false", "no", "0", "off" };

    for (size_t i = 0; i < ARRAY_LEN(yes) && asked->kind == VALUE_STR; i++) {
        if (strcasecmp(asked->s.p, yes[i]) == 0)
            *test = true;
        if (strcasecmp(asked->s.p, yes[i]) == 0 || strcasecmp(asked->s.p, no[i]) == 0)
            return 0;
    }
    if (asked->kind == VALUE_BOOL) {
        *test = *test || asked->b;
        return 0;
    }
    return diag_add(diags, (struct place){ 0 }, "'test' must be true or false, got '%s'",
                    asked->kind == VALUE_STR ? asked->s.p : value_describe(asked));
}

int wish_take_test(struct value *given, bool *test, struct diags *diags)
{
    const struct value key = value_text("test");
    const struct value *asked = value_map_find(given->map, &key);

    if (!asked)
        return 0;
    if (read_test_option(asked, test, diags) < 0)
        return -1;
    (void)value_map_remove(given->map, &key);
    return 0;
}

struct wish_args {
    struct param_strs refs;
    const struct value *settings, *exclude;
    const char *saltenv, *pillarenv;
    bool queue, revert_on_failure;
};

/* clang-format off */
static const struct param wish_params[] = {
    PARAM("mods", STRS, struct wish_args, refs, "references", .aliases = "state"),
    PARAM("pillar", MAP, struct wish_args, settings, "settings that override those of the machine", .aliases = "settings"),
    PARAM("exclude", ANY, struct wish_args, exclude, "states to leave out: references, or a list with 'id: ID' and 'sls: REF'"),
    PARAM("saltenv", STR, struct wish_args, saltenv, "the environment of the top file to use"),
    PARAM("pillarenv", STR, struct wish_args, pillarenv, "the settings environment: only that of the machine"),
    PARAM("revert_on_failure", BOOL, struct wish_args, revert_on_failure, "revert the run when a state fails"),
    PARAM("queue", BOOL, struct wish_args, queue, "wait for another run: always on"),
    { 0 },
};
/* clang-format on */

/* Listed for suggestions. */
static const char *const read_already[] = { "test", NULL };

static const struct param no_params[] = {
    { 0 },
};

/* "a,b" on the command line is a list. */
static const struct value *split_commas(struct arena *arena, const struct value *v)
{
    struct value *list;
    struct str rest;

    if (!value_is(v, VALUE_STR))
        return v;
    list = ARENA_NEW(arena, struct value);
    *list = value_list(value_list_new(arena, 1));
    for (rest = v->s; rest.p;)
        value_list_push(arena, list->list, value_str(str_trim(str_cut(&rest, ','))));
    return list;
}

static void lay_over(struct session *session, const struct value *settings)
{
    struct value *merged = ARENA_NEW(&session->arena, struct value);

    *merged = value_merge(&session->arena, session->host.settings, settings, VALUE_MERGE_REPLACE);
    session->host.settings = merged;
    session->settings_version = 0;
}

/* Settings are loaded before the function is read, so another settings environment comes too late.
 *  */
static int read_environments(struct session *session, const struct wish_args *got,
                             struct diags *diags)
{
    const char *settings = session->host.settings_environment;

    if (got->pillarenv && strcmp(got->pillarenv, settings ? settings : "base") != 0) {
        (void)diag_add(diags, (struct place){ 0 },
                       "the settings of this machine are not those of "
                       "environment '%s'",
                       got->pillarenv);
        diag_hint(diags,
                  "use --environment %s with --local, or 'environment' in the configuration "
                  "of the peel",
                  got->pillarenv);
        return -1;
    }
    if (got->saltenv && !got->saltenv[0])
        return diag_add(diags, (struct place){ 0 }, "'saltenv' must be the name of an environment");
    if (got->saltenv)
        session->host.environment = got->saltenv;
    return 0;
}

int wish_read(struct session *session, const char *function, struct param_strs words,
              const struct value *given, struct compile_wish *ret_wish, struct diags *diags)
{
    const struct params_policy policy = { .owner = function, .allowed = read_already };
    struct wish_args got = { 0 };

    if (params_decode(&session->arena, wish_params, &policy, given, &got, diags) < 0)
        return -1;
    if (read_environments(session, &got, diags) < 0)
        return -1;
    if (got.refs.n > 0 && words.n > 0)
        return diag_add(diags, (struct place){ 0 }, "references are given twice: '%s' and '%s'",
                        words.p[0], got.refs.p[0]);
    if (got.settings)
        lay_over(session, got.settings);
    session->revert_on_failure |= got.revert_on_failure;
    ret_wish->refs = got.refs.n > 0 ? got.refs : words;
    ret_wish->exclude = split_commas(&session->arena, got.exclude);
    /* 'highstate' is the name for the top file. */
    if (ret_wish->refs.n == 1 && strcmp(ret_wish->refs.p[0], "highstate") == 0)
        ret_wish->refs.n = 0;
    return 0;
}

struct param_strs wish_read_ids(struct arena *arena, const char *text)
{
    VEC(const char *) ids = VEC_INIT;
    struct str rest = str_from(text);

    while (rest.p)
        VEC_PUSH_IN(arena, &ids, arena_str(arena, str_trim(str_cut(&rest, ','))).p);
    return (struct param_strs){ ids.n, ids.p };
}

static bool has_id(const struct plan *plan, const char *id)
{
    for (uint32_t i = 0; i < plan->count; i++)
        if (strcmp(plan->states[i].id, id) == 0)
            return true;
    return false;
}

bool wish_has_ids(const struct plan *plan, struct param_strs ids)
{
    for (size_t i = 0; i < ids.n; i++)
        if (!has_id(plan, ids.p[i]))
            return false;
    return true;
}

int wish_refuse_pairs(struct session *session, const char *function, const struct value *given,
                      struct diags *diags)
{
    const struct params_policy policy = { .owner = function, .allowed = read_already };
    char none;

    return params_decode(&session->arena, no_params, &policy, given, &none, diags);
}
