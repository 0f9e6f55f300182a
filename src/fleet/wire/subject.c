#include "fleet/wire/subject.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "fleet/wire/job.h"
#include "fleet/wire/peel_id.h"

/* clang-format off */
static const struct {
    const char *pattern, *queue;
} rows[SUBJECT_KINDS] = {
    [SUBJECT_COMMAND]        = { "zester.cmd.{peel}", NULL },
    [SUBJECT_DISPATCH]       = { "zester.dispatch", "zester.masters" },
    [SUBJECT_RESOLVE]        = { "zester.target.resolve", "zester-target-resolvers" },
    [SUBJECT_JOB_DISPATCH]   = { "zester.job.{jid}.dispatch", NULL },
    [SUBJECT_JOB_ACK]        = { "zester.job.{jid}.ack.{peel}", NULL },
    [SUBJECT_JOB_RETURN]     = { "zester.job.{jid}.return.{target}", NULL },
    [SUBJECT_JOB_STATUS]     = { "zester.job.{jid}.status", NULL },
    [SUBJECT_JOB_CANCEL]     = { "zester.job.{jid}.cancel", NULL },
    [SUBJECT_JOB_SCHEDULE]   = { "zester.job.{jid}.schedule.{peel}", NULL },
    [SUBJECT_JOB_PROGRESS]   = { "zester.job.{jid}.progress.{peel}", NULL },
    [SUBJECT_EVENT_SEND]     = { "zester.event.{peel}.send.{tag>}", NULL },
    [SUBJECT_EVENT_BEACON]   = { "zester.event.{peel}.beacon.{tag>}", NULL },
    [SUBJECT_EVENT_MASTER]   = { "zester.event._master.{tag>}", NULL },
    [SUBJECT_EVENT_ADMIN]    = { "zester.event._admin.send.{tag>}", NULL },
    [SUBJECT_FACT]           = { "zester.fact.{peel}", NULL },
    [SUBJECT_REACTOR_TEST]   = { "zester.reactor.test", "zester-reactor-testers" },
    [SUBJECT_REACTOR_RETRY]  = { "zester.reactor.retry", "zester-reactor-retriers" },
    [SUBJECT_ENROLL_APPROVE] = { "zester.admin.enroll.approve", "zester-masters-admin" },
    [SUBJECT_ENROLL_REJECT]  = { "zester.admin.enroll.reject", "zester-masters-admin" },
    [SUBJECT_ENROLL_REVOKE]  = { "zester.admin.enroll.revoke", "zester-masters-admin" },
    [SUBJECT_PEEL_DELETE]    = { "zester.admin.peel.delete", "zester-masters-admin" },
    [SUBJECT_FILES_UPDATE]   = { "zester.admin.fileserver.update", NULL },
    [SUBJECT_FILES_STATUS]   = { "zester.admin.fileserver.status", NULL },
    [SUBJECT_FILES_ROLLBACK] = { "zester.admin.fileserver.rollback", NULL },
    [SUBJECT_FILES_CANARY]   = { "zester.admin.fileserver.canary", NULL },
    [SUBJECT_SETTINGS_SHOW]  = { "zester.admin.settings.show", NULL },
    [SUBJECT_AUDIT_NOTICE]   = { "zester.admin.audit", "zester-masters-admin" },
    [SUBJECT_JOB_APPROVE]    = { "zester.admin.job.approve", "zester-masters-admin" },
    [SUBJECT_JOB_REJECT]     = { "zester.admin.job.reject", "zester-masters-admin" },
    [SUBJECT_OPERATOR]       = { "zester.operator.{peel}.{tag>}", "zester-operators" },
    [SUBJECT_OPERATOR_REMOVE] = { "zester.admin.operator.remove", "zester-masters-admin" },
    [SUBJECT_UPDATE_PEEL]    = { "zester.update.cmd.{peel}", NULL },
    [SUBJECT_UPDATE_MASTER]  = { "zester.update.master.{peel}", NULL },
    [SUBJECT_UPDATE_START]   = { "zester.update.rollout.start", "zester.masters" },
    [SUBJECT_UPDATE_ABORT]   = { "zester.update.rollout.abort", "zester.masters" },
};
/* clang-format on */

/* Letters, digits, '_' and '-': tokens that people or machines choose. */
static bool is_subject_word(struct str token)
{
    for (size_t i = 0; i < token.n; i++) {
        char c = token.p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '-'))
            return false;
    }
    return token.n > 0;
}

static bool is_event_tag(struct str tag)
{
    if (tag.n == 0)
        return false;
    while (tag.p)
        if (!is_subject_word(str_cut(&tag, '.')))
            return false;
    return true;
}

/* Sender of a job's result: a peel, or a master that ran it itself. */
static bool is_target(struct str name)
{
    return peel_id_is_valid(name) || str_is(name, JOB_TARGET_MASTER);
}

/* The names that a pattern may have. */
static const struct {
    const char *braces;
    size_t offset;
    const char *wildcard;
    bool (*is_valid)(struct str text);
    const char *what;
} holes[] = {
    { "{peel}", offsetof(struct subject_names, peel), "*", peel_id_is_valid, "peel id" },
    { "{target}", offsetof(struct subject_names, peel), "*", is_target, "target" },
    { "{jid}", offsetof(struct subject_names, jid), "*", is_subject_word, "job id" },
    { "{tag>}", offsetof(struct subject_names, tag), ">", is_event_tag, "tag" },
};

/* The hole that a token of a pattern is; ARRAY_LEN(holes): none. */
static size_t find_hole(struct str token)
{
    size_t i = 0;

    while (i < ARRAY_LEN(holes) && !str_is(token, holes[i].braces))
        i++;
    return i;
}

static struct str *name_at(struct subject_names *names, size_t hole)
{
    return (struct str *)(void *)((char *)names + holes[hole].offset);
}

const char *subject_template(enum subject_kind kind)
{
    return rows[kind].pattern;
}

const char *subject_queue(enum subject_kind kind)
{
    return rows[kind].queue;
}

/* --- printing -------------------------------------------------------------------- */

static int print_hole(struct buf *out, size_t hole, struct str name, bool wild, struct err *err)
{
    if (name.n == 0 && wild) {
        buf_add_text(out, holes[hole].wildcard);
        return 0;
    }
    if (!holes[hole].is_valid(name))
        return err_set(err, ERR_INVALID, "'%.*s' is not a valid %s", STR_ARG(name),
                       holes[hole].what);
    buf_add_str(out, name);
    return 0;
}

static int print_subject_row(struct buf *out, enum subject_kind kind,
                             const struct subject_names *names, bool wild, struct err *err)
{
    struct subject_names copy = names ? *names : (struct subject_names){ 0 };
    struct str rest = str_from(rows[kind].pattern);
    size_t start = out->n;

    while (rest.p) {
        struct str token = str_cut(&rest, '.');
        size_t hole = find_hole(token);

        if (out->n > start)
            buf_add_char(out, '.');
        if (hole == ARRAY_LEN(holes)) {
            buf_add_str(out, token);
        } else if (print_hole(out, hole, *name_at(&copy, hole), wild, err) < 0) {
            buf_cut(out, start);
            return -1;
        }
    }
    if (out->n - start > SUBJECT_MAX) {
        buf_cut(out, start);
        return err_set(err, ERR_LIMIT, "a subject of more than %d bytes", SUBJECT_MAX);
    }
    return 0;
}

int subject_print(struct buf *out, enum subject_kind kind, const struct subject_names *names,
                  struct err *err)
{
    return print_subject_row(out, kind, names, false, err);
}

int subject_print_pattern(struct buf *out, enum subject_kind kind,
                          const struct subject_names *names, struct err *err)
{
    return print_subject_row(out, kind, names, true, err);
}

/* --- parsing --------------------------------------------------------------------- */

/* The text before the first hole is compared at once: it distinguishes most rows. */
static bool fits_start(struct str *subject, struct str *pattern)
{
    const char *brace = memchr(pattern->p, '{', pattern->n);
    const size_t n = brace ? (size_t)(brace - pattern->p) : pattern->n;

    if (subject->n < n || memcmp(subject->p, pattern->p, n) != 0)
        return false;
    *subject = str_from_offset(*subject, n);
    *pattern = str_from_offset(*pattern, n);
    return true;
}

static bool fits_row(struct str subject, const char *pattern, struct subject_names *names)
{
    struct str rest = str_from(pattern);

    if (!fits_start(&subject, &rest))
        return false;
    while (rest.p) {
        struct str wanted = str_cut(&rest, '.');
        size_t hole = find_hole(wanted);
        bool is_rest = hole < ARRAY_LEN(holes) && holes[hole].wildcard[0] == '>';
        struct str token;

        if (!subject.p)
            return false;
        token = is_rest ? subject : str_cut(&subject, '.');
        if (is_rest)
            subject.p = NULL;
        if (hole == ARRAY_LEN(holes) ? !str_eq(token, wanted) : !holes[hole].is_valid(token))
            return false;
        if (hole < ARRAY_LEN(holes))
            *name_at(names, hole) = token;
    }
    return !subject.p;
}

bool subject_parse(struct str subject, enum subject_kind *ret_kind, struct subject_names *ret_names)
{
    if (subject.n == 0 || subject.n > SUBJECT_MAX)
        return false;
    for (size_t i = 0; i < SUBJECT_KINDS; i++) {
        struct subject_names names = { 0 };

        if (fits_row(subject, rows[i].pattern, &names)) {
            *ret_kind = (enum subject_kind)i;
            *ret_names = names;
            return true;
        }
    }
    return false;
}
