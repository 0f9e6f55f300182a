#include "fleet/master/settings/settings_views.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/master/announce.h"
#include "fleet/master/audit.h"
#include "fleet/master/lease.h"
#include "fleet/master/master.h"
#include "fleet/master/settings/sealed_secrets.h"
#include "fleet/nats/conn.h"
#include "fleet/wire/question.h"
#include "fleet/wire/subject.h"

/* A pending view of settings. */
struct view {
    struct settings_views *views;
    struct arena arena; /* the view is in it */
    struct str reply;
    const char *operator, * peel;
};

static void on_viewed(void *self, const struct value *settings, const char *error)
{
    struct view *view = self;
    struct arena arena = view->arena;
    const struct question_shown shown = { .settings = settings ? *settings : value_null(),
                                          .err = error };

    if (view->views->sub) /* otherwise the master is shutting down */
        master_answer(view->views->master, view->reply, &question_shown_type, &shown);
    audit_log(&(struct audit){
        .action = "settings.show", .by = view->operator, .peel = view->peel, .error = error });
    arena_done(&arena);
}

static void on_view_request(void *self, const struct nats_msg *msg)
{
    struct settings_views *views = self;
    struct arena arena = ARENA_INIT;
    struct question_settings question;
    struct view *view;
    struct err err;

    if (!lease_is_held(views->lease) || msg->reply.n == 0)
        return;
    if (record_decode(&arena, &question_settings_type, 1, arena_str(&arena, msg->payload),
                      &question, &err) < 0) {
        log_warning("invalid request to show settings: %s", err.text);
        arena_done(&arena);
        return;
    }
    view = ARENA_NEW(&arena, struct view);
    *view = (struct view){ .views = views,
                           .reply = arena_str(&arena, msg->reply),
                           .operator= question.by,
                           .peel = question.peel };
    view->arena = arena;
    sealed_secrets_show(views->sealed_secrets, view->peel, on_viewed, view);
}

int settings_views_start(struct settings_views *views, struct err *err)
{
    views->sub =
        nats_sub_new(views->master->js.conn,
                     &(struct nats_sub_options){ .subject = subject_template(SUBJECT_SETTINGS_SHOW),
                                                 .message = on_view_request,
                                                 .self = views },
                     err);
    return views->sub ? 0 : -1;
}

void settings_views_stop(struct settings_views *views)
{
    nats_sub_free(views->sub);
    views->sub = NULL;
}
