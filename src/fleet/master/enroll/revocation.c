#include "fleet/master/enroll/revocation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/lru.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/claims.h"
#include "fleet/bus/claims_push.h"
#include "fleet/bus/identity.h"
#include "fleet/bus/link.h"
#include "fleet/bus/store.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "fleet/master/enroll/authority.h"
#include "fleet/master/enroll/enrollment_cache.h"
#include "fleet/master/enroll/revoked_board.h"
#include "fleet/master/enroll/revoked_list.h"
#include "fleet/master/enroll/signing_board.h"
#include "fleet/master/eraser.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/nkey.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/loop.h"
#include "core/sys/path.h"
#include "fleet/wire/operator.h"

#define JWT_MAX     CLAIMS_PUSH_MAX
#define SYSTEM_NAME "zester-master-sys"

/* Maximum number of remembered servers. */
#define SERVERS_MAX 1000
/* Delay after the first login to a server: others follow. */
#define NEW_SERVER_NS (CLOCK_SECOND / 4)

struct known_server {
    struct lru_item item; /* by server id, which changes at each start */
};

/* A waiter for confirmation by the servers. */
struct follower {
    revocation_fn *fn;
    void *self;
    struct follower *next;
};

struct revocation {
    struct master *master;
    char account[NATS_NKEY_TEXT_SIZE];
    struct nats_nkey signer;
    struct revoked_list list;
    struct enrollment_cache_listener listener;
    struct nats_kv_watch *operators;
    struct link *link;
    struct nats_listener events;
    struct nats_sub *connects[ACCOUNT_ROLES], *updates[ACCOUNT_ROLES];
    struct timer timer;
    struct claims_push *push;
    bool is_listed, has_enrollments,
        has_operators;       /* all records are read; and those of each kind */
    bool is_pushing, is_due; /* is_due: push again, because of a change */
    int64_t pushed_at;       /* `iat` of the claims; never twice the same */
    struct lru servers;      /* servers with at least one login */
    bool has_new_server;
    struct accounts_border border; /* from the known claims */
    int64_t all_before;            /* their CLAIMS_ALL */
    struct follower *followers;    /* waiting for the current push */
    struct follower *waiting;      /* waiting for the next push */
    struct eraser *eraser;         /* removes the data of revoked peels */
    char problem[HEALTH_TEXT_MAX];
};

bool revocation_has(const struct revocation *revocation, const char *key, int64_t issued)
{
    return revoked_list_has(&revocation->list, key, issued);
}

/* Publish for peels, once all records are read. */
static void publish_operators(const struct revocation *revocation)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct value keys = revoked_list_operators(&revocation->list, &arena);

    if (revocation->is_listed)
        revoked_board_publish(revocation->master, &keys);
}

/* --- claims ------------------------------------------------------------------------- */

static int read_account_file(struct arena *arena, const char *dir, enum identity_file file,
                             struct str *ret, struct err *err)
{
    const char *path = path_join(arena, dir, identity_file_name(file));

    if (fs_read(arena, path, JWT_MAX, ret, err) < 0)
        return -1;
    if (!ret->p)
        return err_set(err, ERR_NOT_FOUND, "'%s' does not exist; revocation needs it", path);
    *ret = str_trim(*ret);
    return 0;
}

static struct authority *find_authority(const struct revocation *revocation)
{
    return master_find(revocation->master, &authority_service);
}

/* Signing keys newer than those in the claims; NULL: keep theirs. */
static const struct keyring *find_newer_keys(const struct revocation *revocation, struct str jwt)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct keyring *known = signing_ring(&find_authority(revocation)->signing);
    struct keyring ring = { 0 };
    struct err err;

    return keyring_read_jwt(&arena, jwt, &ring, &err) == 0 && keyring_is_newer(known, &ring) ? known
                                                                                             : NULL;
}

/* Servers keep the later of two claims: ours must be later than all known ones. */
static void note_issue(struct revocation *revocation, struct str jwt)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct claims_account claims;
    struct err ignored;

    if (claims_read_account(&arena, arena_str(&arena, jwt), &claims, &ignored) == 0 &&
        claims.head.iat > revocation->pushed_at)
        revocation->pushed_at = claims.head.iat;
}

/* Makes account claims with the list, and validates them as a server should: one that accepts
 * claims of a foreign operator locks out all clients at its next start. */
static int make_account_claims(struct revocation *revocation, struct arena *arena, struct buf *out,
                               struct err *err)
{
    const char *dir = revocation->master->conf.auth_dir;
    int64_t now = bus_time_seconds();
    struct claims_renewal renewal;
    struct str account_jwt, operator_jwt;

    if (read_account_file(arena, dir, IDENTITY_ACCOUNT_JWT, &account_jwt, err) < 0 ||
        read_account_file(arena, dir, IDENTITY_OPERATOR_JWT, &operator_jwt, err) < 0)
        return -1;
    note_issue(revocation, account_jwt);
    revocation->pushed_at = now > revocation->pushed_at ? now : revocation->pushed_at + 1;
    renewal =
        (struct claims_renewal){ .iat = revocation->pushed_at,
                                 .revocations = revoked_list_value(&revocation->list, arena, now),
                                 .keys = find_newer_keys(revocation, account_jwt) };
    renewal.all_before = revocation->all_before;
    if (revocation->border.version > 0 || accounts_find_border(account_jwt).version > 0) {
        renewal.accounts = &find_authority(revocation)->accounts;
        renewal.since = revocation->border.since;
    }
    if (claims_renew_account(arena, account_jwt, &renewal, &revocation->signer, out, err) < 0)
        return -1;
    return claims_verify_account(arena, operator_jwt, buf_view(out), revocation->account, err);
}

/* Also save changes on disk: a bus that has lost its records and claims gets them from here. */
static void keep_account_claims(const struct revocation *revocation, struct arena *arena,
                                struct str jwt)
{
    const struct fs_replace_options options = { .attr = { FS_KEEP, FS_KEEP, FS_KEEP } };
    const char *dir = revocation->master->conf.auth_dir;
    const char *path = path_join(arena, dir, identity_file_name(IDENTITY_ACCOUNT_JWT));
    struct claims_account before, now;
    struct str there;
    struct err err;

    if (read_account_file(arena, dir, IDENTITY_ACCOUNT_JWT, &there, &err) == 0 &&
        claims_read_account(arena, there, &before, &err) == 0 &&
        claims_read_account(arena, jwt, &now, &err) == 0 &&
        ((value_equal(&before.revocations, &now.revocations) &&
          accounts_find_border(there).version >= accounts_find_border(jwt).version &&
          !find_newer_keys(revocation, there)) ||
         fs_replace(path, jwt, &options, &err) == 0))
        return;
    log_warning("cannot save the account claims error=%s", err.text);
}

/* --- pushing ------------------------------------------------------------------------ */

static void push_claims(struct revocation *revocation);

static void notify_followers(struct revocation *revocation, const char *warning)
{
    struct follower *follower = revocation->followers;

    revocation->followers = NULL;
    while (follower) {
        struct follower *next = follower->next;

        follower->fn(follower->self, warning);
        free(follower);
        follower = next;
    }
}

/* Accounts import from each other. A server that loads them for several clients at once, as after
 * its first start, may bind an import to an unused copy of the other account, so that messages
 * between accounts are lost (2.9.10). Pushing the claims again binds them to the right copy. */
static void note_new_server(struct revocation *revocation)
{
    revocation->has_new_server = revocation->border.version > 0;
}

static void end_push(struct revocation *revocation, const char *warning, size_t servers)
{
    revocation->is_pushing = false;
    if (warning)
        note_new_server(revocation);
    (void)snprintf(revocation->problem, sizeof(revocation->problem), "%s", warning ? warning : "");
    metrics_add(revocation->master->metrics, MASTER_REVOCATION_PUSHES, 1,
                warning ? "unconfirmed" : "confirmed", NULL);
    if (warning)
        log_warning("revocations are not confirmed by every server: %s", warning);
    else
        log_info("revocations confirmed servers=%zu keys=%zu", servers,
                 revoked_list_count(&revocation->list));
    notify_followers(revocation, warning);
    if (revocation->is_due)
        push_claims(revocation);
}

static void on_pushed(void *self, const struct claims_push_result *result)
{
    struct revocation *revocation = self;
    char warning[HEALTH_TEXT_MAX];

    revocation->push = NULL;
    if (!result->problem && result->confirmed >= result->servers) {
        end_push(revocation, NULL, result->servers);
        return;
    }
    if (result->problem)
        (void)snprintf(warning, sizeof(warning), "%s", result->problem);
    else
        (void)snprintf(warning, sizeof(warning),
                       "%zu of %zu servers confirmed the revocation; it is sent again until all do",
                       result->confirmed, result->servers);
    end_push(revocation, warning, result->servers);
}

static int make_push(void *self, struct buf *out, struct err *err)
{
    struct revocation *revocation = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;

    if (make_account_claims(revocation, &arena, out, err) < 0)
        return -1;
    keep_account_claims(revocation, &arena, buf_view(out));
    return 0;
}

/* Read claims signed by the operator. True: something changed. */
static bool learn_account_border(struct revocation *revocation, struct str jwt)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct accounts_border border = accounts_find_border(jwt);
    struct claims_account claims;
    struct str operator_jwt;
    int64_t all_before;
    struct err err;

    if (read_account_file(&arena, revocation->master->conf.auth_dir, IDENTITY_OPERATOR_JWT,
                          &operator_jwt, &err) < 0 ||
        claims_verify_account(&arena, operator_jwt, arena_str(&arena, jwt), revocation->account,
                              &err) < 0 ||
        claims_read_account(&arena, arena_str(&arena, jwt), &claims, &err) < 0)
        return false;
    all_before = claims_all_before(&claims);
    if (border.version <= revocation->border.version && all_before <= revocation->all_before)
        return false;
    if (border.version > revocation->border.version)
        revocation->border = border;
    if (all_before > revocation->all_before)
        revocation->all_before = all_before;
    return true;
}

/* Another master rotated signing keys, or moved peels to a separate account: adopt it in our
 * claims. */
static bool learn_signing_keys(struct revocation *revocation, struct str jwt)
{
    struct authority *authority = find_authority(revocation);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf claims = BUF_INIT(JWT_MAX);
    const bool has_moved = learn_account_border(revocation, jwt);
    struct err err;

    if (!signing_learn(&authority->signing, jwt) && !has_moved)
        return false;
    if (make_account_claims(revocation, &arena, &claims, &err) < 0)
        log_warning("cannot save the account claims error=%s", err.text);
    else
        keep_account_claims(revocation, &arena, buf_view(&claims));
    authority_look_at_keys(authority);
    return true;
}

static void on_claims_found(void *self, struct str jwt)
{
    note_issue(self, jwt); /* a server ignores identical claims */
    (void)learn_signing_keys(self, jwt);
}

static void push_claims(struct revocation *revocation)
{
    struct err err;

    if (revocation->is_pushing || !revocation->link) {
        revocation->is_due = true;
        return;
    }
    revocation->is_due = false;
    revocation->is_pushing = true;
    revocation->followers = revocation->waiting;
    revocation->waiting = NULL;
    if (nats_conn_state(link_conn(revocation->link)) != NATS_CONN_CONNECTED) {
        revocation->is_due = true; /* once it is */
        revocation->is_pushing = false;
        (void)snprintf(revocation->problem, sizeof(revocation->problem),
                       "the system account is not connected");
        notify_followers(revocation, revocation->problem);
        return;
    }
    revocation->has_new_server = false;
    revocation->push = claims_push_new(
        &(struct claims_push_options){ .conn = link_conn(revocation->link),
                                       .accounts = &find_authority(revocation)->accounts,
                                       .signer = &revocation->signer,
                                       .found = on_claims_found,
                                       .make = make_push,
                                       .done = on_pushed,
                                       .self = revocation },
        &err);
    if (!revocation->push)
        end_push(revocation, err.text, 0);
}

/* --- intervals ---------------------------------------------------------------------- */

static int64_t get_sync_interval(const struct revocation *revocation)
{
    int64_t interval = revocation->master->conf.revocation_sync_interval;

    return interval == 0 ? REVOCATION_SYNC_DEFAULT_NS : interval;
}

/* Are there revocations that servers may not have? */
static bool has_unpushed_revocations(const struct revocation *revocation)
{
    return revoked_list_count(&revocation->list) > 0 || revocation->has_new_server ||
           (revocation->border.version > 0 && revocation->border.version < ACCOUNTS_VERSION) ||
           signing_ring(&find_authority(revocation)->signing)->generation > 0;
}

static void on_push_timer(struct timer *timer);

static void push_after(struct revocation *revocation, int64_t ns)
{
    struct timers *timers = loop_timers(revocation->master->loop);
    int64_t at = clock_after(clock_now(), ns);

    if (ns > 0 && (!timer_is_set(&revocation->timer) || revocation->timer.deadline > at))
        timer_set(timers, &revocation->timer, at, on_push_timer);
}

static void on_push_timer(struct timer *timer)
{
    struct revocation *revocation = container_of(timer, struct revocation, timer);

    publish_operators(revocation);
    signing_board_publish(revocation->master);
    if (revocation->is_listed && has_unpushed_revocations(revocation))
        push_claims(revocation);
    push_after(revocation, get_sync_interval(revocation));
}

static void on_revocation_changed(struct enrollment_cache_listener *listener,
                                  const struct enrollment *record)
{
    struct revocation *revocation = container_of(listener, struct revocation, listener);

    if (record->state != ENROLLMENT_REVOKED)
        return;
    revoked_list_add_record(&revocation->list, record);
    if (revocation->is_listed && !revocation->is_pushing) /* perhaps by another master */
        push_after(revocation, REVOCATION_DEBOUNCE_NS);
}

/* An incomplete list would admit revoked keys again. */
static void begin_pushing(struct revocation *revocation)
{
    revocation->is_listed = revocation->has_enrollments && revocation->has_operators;
    publish_operators(revocation);
    if (revocation->is_listed && has_unpushed_revocations(revocation))
        push_claims(revocation);
}

static void on_revocations_listed(struct enrollment_cache_listener *listener)
{
    struct revocation *revocation = container_of(listener, struct revocation, listener);

    revocation->has_enrollments = true;
    begin_pushing(revocation);
}

static void on_operator(void *self, const struct nats_kv_entry *entry)
{
    struct revocation *revocation = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct operator_policy policy;
    struct err err;

    if (record_decode(&arena, &operator_policy_type, 1, arena_str(&arena, entry->value), &policy,
                      &err) < 0) {
        log_warning("operator %.*s: %s", STR_ARG(entry->key), err.text);
        return;
    }
    if (!revoked_list_add_operator(&revocation->list, &policy))
        return;
    publish_operators(revocation);
    if (revocation->is_listed && !revocation->is_pushing)
        push_after(revocation, REVOCATION_DEBOUNCE_NS);
}

static void on_operators_listed(void *self)
{
    struct revocation *revocation = self;

    revocation->has_operators = true;
    begin_pushing(revocation);
}

static bool is_new_server(struct revocation *revocation, struct str id)
{
    if (id.n == 0 || lru_find(&revocation->servers, id))
        return false;
    (void)lru_get(&revocation->servers, id);
    return true;
}

static void on_system_event(struct nats_listener *listener, const struct nats_event *event)
{
    struct revocation *revocation = container_of(listener, struct revocation, events);

    if (event->kind == NATS_EVENT_CONNECTED &&
        is_new_server(revocation, str_from(nats_conn_server_id(link_conn(revocation->link)))))
        note_new_server(revocation);
    if (event->kind == NATS_EVENT_CONNECTED &&
        (revocation->is_due || (revocation->is_listed && has_unpushed_revocations(revocation))))
        push_claims(revocation);
    else if (event->kind == NATS_EVENT_DISCONNECTED)
        log_warning("system account disconnected, reconnecting error=%s",
                    event->error ? event->error->text : "");
}

/* A server that accepts a revoked key has an outdated list. */
static void on_connect(void *self, const struct nats_msg *msg)
{
    struct revocation *revocation = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value event;
    const char *user;
    struct err err;

    if (json_decode_lenient(&arena, arena_str(&arena, msg->payload), &event, &err) < 0)
        return;
    if (is_new_server(revocation, value_get_view(value_get(&event, "server"), "id"))) {
        note_new_server(revocation);
        push_after(revocation, NEW_SERVER_NS);
    }
    user = value_get_text(value_get(&event, "client"), "user");
    if (user && revoked_list_has_key(&revocation->list, user))
        push_after(revocation, REVOCATION_DEBOUNCE_NS);
}

/* Do these claims lack a known revocation, or a signing key? */
static bool are_claims_incomplete(const struct revocation *revocation, struct str jwt)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct claims_account claims;
    struct err err;

    if (claims_read_account(&arena, arena_str(&arena, jwt), &claims, &err) < 0)
        return true;
    if (strcmp(claims.head.sub, revocation->account) == 0 &&
        (find_newer_keys(revocation, arena_str(&arena, jwt)) ||
         accounts_find_border(jwt).version < revocation->border.version ||
         claims_all_before(&claims) < revocation->all_before))
        return true;
    return revoked_list_has_more(&revocation->list, &claims, bus_time_seconds());
}

/* Other accounts are described by the fleet's claims. */
static bool is_fleet_claims(const struct revocation *revocation, struct str jwt)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct claims_account claims;
    struct err err;

    return claims_read_account(&arena, arena_str(&arena, jwt), &claims, &err) == 0 &&
           strcmp(claims.head.sub, revocation->account) == 0;
}

/* Another master, or a command, has given claims to the servers. */
static void on_update(void *self, const struct nats_msg *msg)
{
    struct revocation *revocation = self;

    if (msg->payload.n > JWT_MAX)
        return;
    if (is_fleet_claims(revocation, msg->payload))
        (void)learn_signing_keys(revocation, msg->payload);
    note_issue(revocation, msg->payload);
    if (!revocation->is_listed || !are_claims_incomplete(revocation, msg->payload))
        return;
    if (revocation->is_pushing)
        revocation->is_due = true;
    else
        push_after(revocation, REVOCATION_DEBOUNCE_NS);
}

static void push_for(struct revocation *revocation, revocation_fn *fn, void *self)
{
    struct follower *follower;

    if (!revocation->link) {
        fn(self, "the master is stopping");
        return;
    }
    follower = mem_zalloc(sizeof(*follower));
    follower->fn = fn;
    follower->self = self;
    follower->next = revocation->waiting;
    revocation->waiting = follower;
    push_claims(revocation);
}

void revocation_push(struct revocation *revocation, const struct enrollment *record,
                     revocation_fn *fn, void *self)
{
    revoked_list_add_record(&revocation->list, record);
    push_for(revocation, fn, self);
}

void revocation_push_operator(struct revocation *revocation, const struct operator_policy *policy,
                              revocation_fn *fn, void *self)
{
    (void)revoked_list_add_operator(&revocation->list, policy);
    push_for(revocation, fn, self);
}

void revocation_enforce(struct revocation *revocation, const struct enrollment *record,
                        revocation_fn *fn, void *self)
{
    if (revocation->link)
        eraser_remove_peel(revocation->eraser, &revocation->master->js, record->peel_id);
    revocation_push(revocation, record, fn, self);
}

/* --- the service -------------------------------------------------------------------- */

static void free_revocation(void *self)
{
    struct revocation *revocation = self;

    eraser_free(revocation->eraser);
    revoked_list_done(&revocation->list);
    lru_done(&revocation->servers);
    nats_nkey_done(&revocation->signer);
    free(revocation);
}

/* Everything that a push needs must exist at the start, not when it is urgent. */
static int check_push_files(struct revocation *revocation, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf jwt = BUF_INIT(JWT_MAX);
    const char *dir = revocation->master->conf.auth_dir;
    struct claims_account claims;
    struct nats_nkey account;
    struct str creds, account_jwt;

    if (identity_read_key(dir, IDENTITY_ACCOUNT_SEED, &account, err) < 0)
        return -1;
    nats_nkey_print_public(&account, revocation->account);
    nats_nkey_done(&account);
    if (identity_read_key(dir, IDENTITY_OPERATOR_SIGNING_SEED, &revocation->signer, err) < 0 ||
        read_account_file(&arena, dir, IDENTITY_SYS_CREDS, &creds, err) < 0 ||
        read_account_file(&arena, dir, IDENTITY_ACCOUNT_JWT, &account_jwt, err) < 0 ||
        claims_read_account(&arena, account_jwt, &claims, err) < 0)
        return -1;
    revocation->border = accounts_find_border(account_jwt);
    revoked_list_add_claims(&revocation->list, &claims);
    revocation->all_before = claims_all_before(&claims);
    explicit_bzero((void *)(uintptr_t)creds.p, creds.n);
    return make_account_claims(revocation, &arena, &jwt, err);
}

static void *open_revocation(struct master *master, struct err *err)
{
    struct revocation *revocation = mem_zalloc(sizeof(*revocation));

    revocation->master = master;
    lru_init(&revocation->servers, SERVERS_MAX, sizeof(struct known_server));
    revocation->eraser = eraser_new(master->loop);
    if (check_push_files(revocation, err) < 0) {
        free_revocation(revocation);
        return NULL;
    }
    revocation->listener.changed = on_revocation_changed;
    revocation->listener.caught_up = on_revocations_listed;
    enrollment_cache_listen(master_find(master, &enrollment_cache_service), &revocation->listener);
    return revocation;
}

static void stop_revocation(void *self)
{
    struct revocation *revocation = self;

    timer_clear(loop_timers(revocation->master->loop), &revocation->timer);
    claims_push_free(revocation->push);
    revocation->push = NULL;
    nats_kv_watch_free(revocation->operators);
    revocation->operators = NULL;
    link_free(revocation->link);
    revocation->link = NULL;
    notify_followers(revocation, "the master is stopping");
    revocation->followers = revocation->waiting;
    revocation->waiting = NULL;
    notify_followers(revocation, "the master is stopping");
}

static struct nats_kv_watch *watch_operators(struct revocation *revocation, struct err *err)
{
    const struct nats_kv kv = { .js = revocation->master->js,
                                .bucket = store_bucket_name(STORE_OPERATORS),
                                .history = store_bucket_history(STORE_OPERATORS) };

    return nats_kv_watch_new(&kv,
                             &(struct nats_kv_watch_options){ .without_deletes = true,
                                                              .entry = on_operator,
                                                              .caught_up = on_operators_listed,
                                                              .self = revocation },
                             err);
}

static struct nats_sub *listen_to_servers(struct revocation *revocation, const char *subject,
                                          nats_msg_fn *fn, struct err *err)
{
    return nats_sub_new(
        link_conn(revocation->link),
        &(struct nats_sub_options){ .subject = subject, .message = fn, .self = revocation }, err);
}

/* Listen to logins of each account, and to pushed claims. */
static int listen_to_accounts(struct revocation *revocation, struct err *err)
{
    const struct accounts *accounts = &find_authority(revocation)->accounts;
    AUTO_ARENA struct arena arena = ARENA_INIT;

    for (size_t i = 0; i < ACCOUNT_ROLES; i++) {
        const char *key = accounts->public_keys[i];

        revocation->connects[i] = listen_to_servers(
            revocation, arena_printf(&arena, "$SYS.ACCOUNT.%s.CONNECT", key), on_connect, err);
        revocation->updates[i] = listen_to_servers(
            revocation, arena_printf(&arena, "$SYS.REQ.ACCOUNT.%s.CLAIMS.UPDATE", key), on_update,
            err);
        if (!revocation->connects[i] || !revocation->updates[i])
            return -1;
    }
    return 0;
}

static int start_revocation(void *self, struct err *err)
{
    struct revocation *revocation = self;
    const struct master_conf *conf = &revocation->master->conf;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *creds = path_join(&arena, conf->auth_dir, identity_file_name(IDENTITY_SYS_CREDS));

    revocation->link = link_new(revocation->master->hub,
                                &(struct link_options){ .urls = conf->nats_url,
                                                        .ca_file = conf->nats_ca,
                                                        .auth_dir = conf->auth_dir,
                                                        .creds_file = creds,
                                                        .name = SYSTEM_NAME },
                                err);
    if (!revocation->link)
        return -1;
    nats_listen(link_conn(revocation->link), &revocation->events, on_system_event);
    if (listen_to_accounts(revocation, err) == 0)
        revocation->operators = watch_operators(revocation, err);
    if (!revocation->operators) {
        stop_revocation(revocation);
        return -1;
    }
    push_after(revocation, get_sync_interval(revocation));
    return 0;
}

/* A master that cannot revoke at the moment is only degraded. */
static enum health_status check_revocation(void *self, char message[static HEALTH_TEXT_MAX])
{
    const struct revocation *revocation = self;

    if (nats_conn_state(link_conn(revocation->link)) != NATS_CONN_CONNECTED) {
        (void)snprintf(message, HEALTH_TEXT_MAX, "the system account is not connected");
        return HEALTH_DEGRADED;
    }
    (void)snprintf(message, HEALTH_TEXT_MAX, "%s", revocation->problem);
    return revocation->problem[0] ? HEALTH_DEGRADED : HEALTH_OK;
}

const struct master_service revocation_service = {
    .name = "revocation",
    .open = open_revocation,
    .start = start_revocation,
    .stop = stop_revocation,
    .free = free_revocation,
    .check = check_revocation,
};
