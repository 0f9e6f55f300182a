/*
 * An operator brings an earlier revision of a tree back.
 *
 * The folder of the master that publishes is where the truth is, so the revision is written there
 * and published from there: what is in the folder is published and recorded first, then the folder
 * is changed while nothing is published, and then what is there now is a new revision.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/data/record.h"
#include "fleet/master/announce.h"
#include "fleet/master/audit.h"
#include "fleet/master/enroll/authority.h"
#include "fleet/master/master.h"
#include "fleet/master/files/files_service.h"
#include "fleet/master/files/standby.h"
#include "fleet/nats/conn.h"
#include "fleet/wire/fileset.h"

#define PARTS_MAX 2

/* A set that is published from the folder. */
struct part {
    struct files_service_rollback *rollback;
    struct files_service_branch *branch;
};

struct files_service_rollback {
    struct arena arena;
    struct files_service_branch *branch; /* with the history */
    struct part parts[PARTS_MAX];        /* the settings are published twice */
    size_t part_count, waiting;
    const char *operator;
    struct str subject; /* of the answer; empty: it goes on after a restart */
    struct fileset_rollback_reply reply;
    struct publisher_cause cause; /* of what is brought back */
    bool is_restoring, is_dropped;
};

/* --- the end ------------------------------------------------------------------------ */

static void audit_rollback(const struct files_service_rollback *rollback)
{
    AUTO_BUF struct buf id = BUF_INIT(64);

    buf_printf(&id, "%s:%" PRIu64, rollback->reply.tree, rollback->reply.restored);
    audit_log(&(struct audit){ .action = "fileserver.rollback",
                               .by = rollback->operator,
                               .id = buf_text(&id),
                               .error = rollback->reply.err });
}

static void end_rollback(struct files_service_rollback *rollback)
{
    struct files_service *files_service = rollback->branch->files_service;
    /* one that is still unfinished is tried again at the next interval */
    const bool goes_on = !rollback->is_dropped && !rollback->branch->unfinished;

    rollback->branch->rollback = NULL;
    audit_rollback(rollback);
    rollback->reply.trees = files_service_show_trees(files_service, &rollback->arena);
    if (rollback->subject.n)
        master_answer(files_service->master, rollback->subject, &fileset_rollback_reply_type,
                      &rollback->reply);
    arena_done(&rollback->arena);
    free(rollback);
    if (goes_on)
        files_service_advance(files_service); /* what waited for it */
}

static void note_error(struct files_service_rollback *rollback, const char *error)
{
    if (!rollback->reply.err[0])
        rollback->reply.err = arena_strdup(&rollback->arena, error);
}

static void resume_publishers(struct files_service_rollback *rollback)
{
    for (size_t i = 0; i < rollback->part_count; i++)
        if (rollback->parts[i].branch->publisher) /* freed already while the service stops */
            publisher_resume(rollback->parts[i].branch->publisher);
}

/* --- after the folder was changed --------------------------------------------------- */

static void on_published(void *self, const struct publisher_outcome *outcome)
{
    struct part *part = self;
    struct files_service_rollback *rollback = part->rollback;

    files_service_note_round(part->branch, outcome);
    if (!outcome->manifest.n)
        note_error(rollback, outcome->error[0] ? outcome->error : "the revision has no files");
    if (part->branch == rollback->branch)
        rollback->reply.revision = outcome->revision;
    if (--rollback->waiting == 0)
        end_rollback(rollback);
}

static void publish_restored(struct files_service_rollback *rollback)
{
    rollback->cause = (struct publisher_cause){ .by = rollback->operator,
                                                .restored = rollback->reply.restored,
                                                .note = "" };
    rollback->waiting = rollback->part_count;
    for (size_t i = 0; i < rollback->part_count; i++)
        publisher_round(rollback->parts[i].branch->publisher,
                        &(struct publisher_wish){ .cause = &rollback->cause,
                                                  .fn = on_published,
                                                  .self = &rollback->parts[i] });
    resume_publishers(rollback);
}

static void on_restored(void *self, const char *error, size_t files)
{
    struct files_service_branch *branch = self;
    struct files_service_rollback *rollback = branch->rollback;

    rollback->is_restoring = false;
    rollback->reply.files = files;
    branch->unfinished = standby_unfinished(branch->standby);
    if (!error) {
        publish_restored(rollback);
        return;
    }
    note_error(rollback, error);
    resume_publishers(rollback);
    end_rollback(rollback);
}

/* --- before ------------------------------------------------------------------------- */

static void begin_restore(struct files_service_rollback *rollback)
{
    rollback->is_restoring = true;
    standby_restore(rollback->branch->standby, rollback->reply.restored, on_restored);
}

/* The folder is recorded before it changes, unless it is empty. */
static void on_kept(void *self, const struct publisher_outcome *outcome)
{
    struct part *part = self;
    struct files_service_rollback *rollback = part->rollback;

    files_service_note_round(part->branch, outcome);
    publisher_pause(part->branch->publisher);
    if (!outcome->manifest.n && outcome->files > 0)
        note_error(rollback, outcome->error);
    else if (part->branch == rollback->branch && outcome->manifest.n && !outcome->revision)
        note_error(rollback, "what is published now could not be recorded");
    if (--rollback->waiting > 0)
        return;
    if (!rollback->reply.err[0]) {
        begin_restore(rollback);
        return;
    }
    resume_publishers(rollback);
    end_rollback(rollback);
}

static void add_part(struct files_service_rollback *rollback, struct files_service_branch *branch)
{
    rollback->parts[rollback->part_count++] = (struct part){ rollback, branch };
}

static struct files_service_rollback *new_rollback(struct files_service_branch *branch,
                                                   uint64_t revision)
{
    struct files_service *files_service = branch->files_service;
    struct files_service_rollback *rollback = mem_zalloc(sizeof(*rollback));

    rollback->branch = branch;
    rollback->operator= "";
    rollback->reply = (struct fileset_rollback_reply){
        .master = files_service->master->id,
        .tree = files_service_kinds[branch - files_service->branches].history,
        .restored = revision,
        .err = "",
    };
    add_part(rollback, branch);
    if (branch == &files_service->branches[FILES_SERVICE_SEALED])
        add_part(rollback, &files_service->branches[FILES_SERVICE_SETTINGS]);
    branch->rollback = rollback;
    return rollback;
}

static void keep_folder(struct files_service_rollback *rollback)
{
    rollback->waiting = rollback->part_count;
    for (size_t i = 0; i < rollback->part_count; i++)
        publisher_round(rollback->parts[i].branch->publisher,
                        &(struct publisher_wish){ .fn = on_kept, .self = &rollback->parts[i] });
}

/* --- operators ---------------------------------------------------------------------- */

static struct files_service_branch *find_branch(struct files_service *files_service,
                                                const char *tree)
{
    for (size_t i = 0; i < FILES_SERVICE_KINDS; i++)
        if (files_service_kinds[i].history && strcmp(files_service_kinds[i].history, tree) == 0)
            return &files_service->branches[i];
    return NULL;
}

/* Why it cannot be; NULL: it can. */
static const char *find_obstacle(struct files_service_branch *branch)
{
    if (!branch)
        return "no such tree: there are states, settings and reactor";
    if (files_service_is_from_git(branch))
        return "the states come from git ('gitfs.remotes'): revert the commit there instead";
    if (branch == &branch->files_service->branches[FILES_SERVICE_STATES] &&
        branch->files_service->canary.is_there)
        return "there is a canary of the states: end it with 'zester fileserver promote' or "
               "'zester fileserver canary --abort' first";
    if (branch->rollback || branch->unfinished)
        return "a rollback of this tree is under way";
    if (!files_service_may_publish(branch) || standby_is_busy(branch->standby))
        return "this master does not have everything yet that was published; try again later";
    return NULL;
}

static void refuse_rollback(struct files_service *files_service, struct str subject,
                            const struct fileset_rollback *question, const char *why)
{
    const struct fileset_rollback_reply reply = { .master = files_service->master->id,
                                                  .tree = question->tree,
                                                  .restored = question->revision,
                                                  .err = why };
    AUTO_BUF struct buf id = BUF_INIT(256);

    buf_printf(&id, "%s:%" PRIu64, question->tree, question->revision);
    audit_log(&(struct audit){ .action = "fileserver.rollback",
                               .by = question->operator,
                               .id = buf_text(&id),
                               .error = why });
    master_answer(files_service->master, subject, &fileset_rollback_reply_type, &reply);
}

void files_service_on_rollback(void *self, const struct nats_msg *msg)
{
    struct files_service *files_service = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fileset_rollback question = { .tree = "", .operator= "" };
    struct files_service_branch *branch;
    struct files_service_rollback *rollback;
    const char *why;
    struct err err;

    if (!lease_is_held(&files_service->lease) || msg->reply.n == 0)
        return;
    if (record_decode(&arena, &fileset_rollback_type, 1, msg->payload, &question, &err) < 0) {
        refuse_rollback(files_service, msg->reply, &(struct fileset_rollback){ .tree = "", .operator= "" },
                        err.text);
        return;
    }
    branch = find_branch(files_service, question.tree);
    why = authority_check_order(files_service->master, msg, &err) < 0 ? err.text
                                                                      : find_obstacle(branch);
    if (why) {
        refuse_rollback(files_service, msg->reply, &question, why);
        return;
    }
    rollback = new_rollback(branch, question.revision);
    rollback->operator= arena_strdup(&rollback->arena, question.operator);
    rollback->subject = arena_str(&rollback->arena, msg->reply);
    keep_folder(rollback);
}

/* --- a master that was ended meanwhile ---------------------------------------------- */

void files_service_resume_rollback(struct files_service_branch *branch)
{
    struct files_service_rollback *rollback;

    if (branch->rollback || standby_is_busy(branch->standby))
        return;
    branch->unfinished = standby_unfinished(branch->standby); /* somebody may have removed it */
    if (!branch->unfinished)
        return;
    log_warning("%s: the rollback to revision %" PRIu64 " was interrupted; going on with it",
                files_service_kinds[branch - branch->files_service->branches].history,
                branch->unfinished);
    rollback = new_rollback(branch, branch->unfinished);
    for (size_t i = 0; i < rollback->part_count; i++)
        publisher_pause(rollback->parts[i].branch->publisher);
    begin_restore(rollback);
}

void files_service_drop_rollback(struct files_service_branch *branch)
{
    struct files_service_rollback *rollback = branch->rollback;

    if (!rollback)
        return;
    rollback->is_dropped = true;
    note_error(rollback, "this master is shutting down");
    if (rollback->is_restoring)
        end_rollback(rollback);
}
