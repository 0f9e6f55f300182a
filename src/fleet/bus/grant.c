#include "fleet/bus/grant.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/vec.h"
#include "fleet/wire/peel_id.h"
#include "fleet/wire/subject.h"

#define PEEL_MARK "{peel}"

#define P (1U << GRANT_PEEL)
#define M (1U << GRANT_MASTER)
#define A (1U << GRANT_ADMIN)
#define S (1U << GRANT_SYSTEM)
#define L (1U << GRANT_LEAF)
#define O (1U << GRANT_OPERATOR)
#define D (1U << GRANT_OPERATOR_DEAF)

/* Roles whose name stands in their grants. */
#define NAMED (P | O | D)

/* The first is all that an operator may publish to. */
#define OPERATOR_SUBJECTS "zester.operator." PEEL_MARK ".>"
#define OPERATOR_INBOX    GRANT_INBOX "._operator."

/* Subjects of our own. For a peel its id stands in them; other names are wildcards. */
static const struct {
    enum subject_kind kind;
    unsigned publish, subscribe; /* roles */
} subjects[] = {
    { SUBJECT_COMMAND, A, P },       { SUBJECT_DISPATCH, A, 0 },    { SUBJECT_RESOLVE, P | A, 0 },
    { SUBJECT_JOB_ACK, P, 0 },       { SUBJECT_JOB_RETURN, P, 0 },  { SUBJECT_JOB_SCHEDULE, P, 0 },
    { SUBJECT_JOB_PROGRESS, P, 0 },  { SUBJECT_JOB_CANCEL, 0, P },  { SUBJECT_EVENT_SEND, P, 0 },
    { SUBJECT_EVENT_BEACON, P, 0 },  { SUBJECT_FACT, P, 0 },        { SUBJECT_REACTOR_TEST, A, 0 },
    { SUBJECT_REACTOR_RETRY, A, 0 }, { SUBJECT_UPDATE_PEEL, 0, P },
};

/* Everything else. {peel} is the id of the peel, or the name of the operator. */
static const struct {
    const char *subject;
    unsigned publish, subscribe;
} others[] = {
    /* its own data, as KV writes */
    { "$KV.facts.{peel}", P, 0 },
    { "$KV.peel-heartbeat.{peel}", P, 0 },
    { "$KV.basket.{peel}.>", P, 0 },
    { "$KV.update-status.peel.{peel}", P, 0 },
    /* its own secrets and what all peels share, one key at a time */
    { "$JS.API.DIRECT.GET.KV_secrets.$KV.secrets.{peel}", P, 0 },
    { "$JS.API.DIRECT.GET.KV_secrets.$KV.secrets._master_curve_pub", P, 0 },
    { "$JS.API.DIRECT.GET.KV_secrets.$KV.secrets._cluster_info", P, 0 },
    { "$JS.API.DIRECT.GET.KV_state-files.$KV.state-files.>", P, 0 },
    { "$JS.API.DIRECT.GET.KV_settings-files.$KV.settings-files.>", P, 0 },
    /* files that are too large for a value, in chunks, one after the other */
    { "$JS.API.DIRECT.GET.OBJ_files", P, 0 },
    { "$JS.API.DIRECT.GET.OBJ_files.$O.files.>", P, 0 },
    /* new versions of the agent, for its watchdog */
    { "$JS.API.DIRECT.GET.OBJ_update-binaries", P, 0 },
    { "$JS.API.DIRECT.GET.OBJ_update-binaries.$O.update-binaries.>", P, 0 },
    /* news of them */
    { "$KV.secrets.{peel}", 0, P },
    { "$KV.secrets._master_curve_pub", 0, P },
    { "$KV.secrets._cluster_info", 0, P },
    { "$KV.state-files._revision", 0, P },
    { "$KV.settings-files._revision", 0, P },
    { GRANT_INBOX ".{peel}.>", 0, P },

    /* Beyond its peels' permissions, a leaf node sends their replies, for which servers do not
     * apply its own reply permission. The other two are unused, but only with them nats-server 2.9
     * notices that grants with a '*' in the middle match streams of "zester.event.>" and
     * "$KV.basket.>". */
    { GRANT_INBOX ".>", L, 0 },
    { "zester.event.*", L, 0 },
    { "$KV.basket.*", L, 0 },

    { OPERATOR_SUBJECTS, O | D, 0 },
    { OPERATOR_INBOX PEEL_MARK ".>", 0, O | D },
    { "zester.job.*.return.*", 0, O },
    { "zester.job.*.progress.*", 0, O },

    { "zester.>", M, M },
    { "zester.job.>", A, A },
    { "zester.update.>", A, A },
    { "zester.event._admin.>", A, 0 },
    { "zester.event.>", 0, A | O },
    { "zester.reactor.>", A, 0 },
    { "zester.admin.>", A, 0 },
    { "$JS.>", M | A, M | A },
    { "$KV.>", M | A, M | A },
    { "$O.>", M | A, M | A },
    { GRANT_INBOX ".>", M | A | S, M | A | S },
    { "_R_.>", M | L, 0 }, /* answers to other accounts, and of peels behind a leaf node */
    { "$SYS.REQ.>", S, 0 },
    { "$SYS.>", 0, S },
};

/* Leaf nodes learn of revocations with the credentials of the system account. */
static const struct {
    const char *kind;
    unsigned roles;
} connections[] = {
    { "STANDARD", P | M | A | S | O | D },
    { "LEAFNODE", L | S },
};

struct allow_list {
    VEC(const char *) list;
};

static void add_subject(struct arena *arena, bool is_allowed, const char *text,
                        struct allow_list *out)
{
    if (is_allowed)
        VEC_PUSH_IN(arena, &out->list, text);
}

static const char *fill_in(struct arena *arena, const char *subject, const char *peel)
{
    const struct str text = str_from(subject);
    const size_t at = str_find(text, STR(PEEL_MARK), 0);

    if (at == STR_NONE)
        return subject;
    return arena_printf(arena, "%.*s%s%s", (int)at, subject, peel,
                        subject + at + sizeof(PEEL_MARK) - 1);
}

/* `peel` is empty for any. */
static int add_subjects(struct arena *arena, unsigned roles, struct str peel,
                        struct allow_list out[GRANT_VERBS], struct err *err)
{
    const struct subject_names names = { .peel = peel };

    for (size_t i = 0; i < ARRAY_LEN(subjects); i++) {
        AUTO_BUF struct buf text = BUF_INIT(SUBJECT_MAX);
        const char *copy;

        if (subject_print_pattern(&text, subjects[i].kind, &names, err) < 0)
            return -1;
        copy = buf_copy(&text, arena).p;
        add_subject(arena, subjects[i].publish & roles, copy, &out[GRANT_PUBLISH]);
        add_subject(arena, subjects[i].subscribe & roles, copy, &out[GRANT_SUBSCRIBE]);
    }
    return 0;
}

static void add_others(struct arena *arena, unsigned roles, const char *peel,
                       struct allow_list out[GRANT_VERBS])
{
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        const char *text = fill_in(arena, others[i].subject, peel);

        add_subject(arena, others[i].publish & roles, text, &out[GRANT_PUBLISH]);
        add_subject(arena, others[i].subscribe & roles, text, &out[GRANT_SUBSCRIBE]);
    }
}

/* `name` NULL: any. */
static int list_role(struct arena *arena, unsigned mask, const char *name, struct grants *ret,
                     struct err *err)
{
    struct allow_list out[GRANT_VERBS] = { 0 };

    if (add_subjects(arena, mask, str_from(name ? name : ""), out, err) < 0)
        return -1;
    add_others(arena, mask, name ? name : "*", out);
    *ret = (struct grants){ 0 };
    for (size_t i = 0; i < GRANT_VERBS; i++)
        ret->allow[i] = (struct param_strs){ out[i].list.n, out[i].list.p };
    return 0;
}

static struct param_strs list_connections(struct arena *arena, enum grant_role role)
{
    struct allow_list out = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(connections); i++)
        add_subject(arena, connections[i].roles & (1U << (unsigned)role), connections[i].kind,
                    &out);
    return (struct param_strs){ out.list.n, out.list.p };
}

int grant_list(struct arena *arena, enum grant_role role, const char *name, struct grants *ret,
               struct err *err)
{
    const unsigned mask = (1U << (unsigned)role) | (role == GRANT_LEAF ? P : 0);

    if (!(mask & NAMED) || role == GRANT_LEAF)
        name = NULL;
    else if (!peel_id_is_valid(str_from(name)))
        return err_set(err, ERR_INVALID, "'%s' is not a valid %s", name,
                       role == GRANT_PEEL ? "peel id" : "name of an operator");
    if (list_role(arena, mask, name, ret, err) < 0)
        return -1;
    ret->may_reply = role == GRANT_PEEL;
    ret->connections = list_connections(arena, role);
    ret->subscriptions = role == GRANT_LEAF || !(mask & NAMED) ? 0 : GRANT_SUBSCRIPTIONS;
    return 0;
}

static struct param_strs without_inboxes(struct arena *arena, struct param_strs list)
{
    struct allow_list out = { 0 };

    for (size_t i = 0; i < list.n; i++)
        add_subject(arena, !str_starts(str_from(list.p[i]), STR(GRANT_INBOX ".")), list.p[i], &out);
    return (struct param_strs){ out.list.n, out.list.p };
}

int grant_patterns(struct arena *arena, enum grant_role role, struct grants *ret, struct err *err)
{
    if (list_role(arena, 1U << (unsigned)role, NULL, ret, err) < 0)
        return -1;
    for (size_t i = 0; i < GRANT_VERBS; i++)
        ret->allow[i] = without_inboxes(arena, ret->allow[i]);
    return 0;
}

const char *grant_inbox(struct arena *arena, const char *peel)
{
    return arena_printf(arena, GRANT_INBOX ".%s", peel);
}

const char *grant_operator_inbox(struct arena *arena, const char *name)
{
    return arena_printf(arena, OPERATOR_INBOX "%s", name);
}

bool grant_is_operator(const struct param_strs *publish, const char *name)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    return publish->n == 1 && strcmp(publish->p[0], fill_in(&arena, OPERATOR_SUBJECTS, name)) == 0;
}

/* A subscription to a pattern is allowed when the grant covers all of it. */
bool grant_covers(const char *grant, const char *subject)
{
    struct str left = str_from(grant), right = str_from(subject);

    while (left.p && right.p) {
        struct str a = str_cut(&left, '.'), b = str_cut(&right, '.');

        if (str_is(a, ">"))
            return true;
        if (str_is(b, ">") || (str_is(b, "*") && !str_is(a, "*")))
            return false;
        if (!str_is(a, "*") && !str_eq(a, b))
            return false;
    }
    return !left.p && !right.p;
}

bool grant_allows(const struct grants *grants, enum grant_verb verb, const char *subject)
{
    for (size_t i = 0; i < grants->allow[verb].n; i++)
        if (grant_covers(grants->allow[verb].p[i], subject))
            return true;
    return false;
}
