#include "fleet/peel/join.h"

#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "fleet/peel/bootstrap.h"
#include "fleet/peel/conf.h"
#include "fleet/peel/enroll_client.h"
#include "fleet/peel/identity.h"
#include "core/http/address.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/hostnames.h"
#include "core/sys/loop.h"
#include "core/sys/newfiles.h"
#include "core/sys/path.h"

#define CONF_MAX  ((size_t)64 << 10)
#define CONF_MODE 0644
/* Others may read what is not secret. */
#define CONF_FOLDER_MODE 0755

/* --- configuration ---------------------------------------------------------------- */

static void add_conf_text(struct buf *out, const char *key, const char *text)
{
    if (!text)
        return;
    buf_printf(out, "%s: ", key);
    json_print_text(out, str_from(text), JSON_STYLE_COMPACT);
    buf_add_char(out, '\n');
}

static const char *make_join_url(struct arena *arena, const char *scheme, const char *host,
                                 int64_t port)
{
    return arena_printf(arena, strchr(host, ':') ? "%s://[%s]:%d" : "%s://%s:%d", scheme, host,
                        (int)port);
}

static void print_join_conf(struct arena *arena, const struct peel_join *join, struct buf *out)
{
    buf_add_text(out, "# The agent of this machine; 'zester-peel --help' has all keys.\n");
    add_conf_text(out, "id", join->id);
    add_conf_text(out, "master_url", make_join_url(arena, "https", join->host, join->enroll_port));
    buf_add_text(out, "enroll_ca_pin: [");
    json_print_text(out, str_from(join->token->pin), JSON_STYLE_COMPACT);
    buf_add_text(out, "]\nenroll_trust: strict\n");
    if (hostnames_is_loopback(join->host)) /* which a master does not tell others of */
        add_conf_text(out, "nats_url", make_join_url(arena, "tls", join->host, join->nats_port));
    add_conf_text(out, "auth_dir", join->auth_dir);
    add_conf_text(out, "data_dir", join->data_dir);
    if (join->data_dir) /* two agents of a machine must not share the tree either */
        add_conf_text(out, "states_cache", path_join(arena, join->data_dir, "states"));
    add_conf_text(out, "health_addr",
                  join->health_addr ? join->health_addr : PEEL_JOIN_HEALTH_ADDR);
}

static int is_file_there(const char *path, bool *ret, struct err *err)
{
    struct fs_info info;

    if (fs_stat(path, &info, err) < 0)
        return -1;
    *ret = info.kind != FS_NONE;
    return 0;
}

/* Later, a taken port would only be seen as an agent that is not ready. */
static int check_health_address(const struct peel_join *join, struct err *err)
{
    uint16_t port;
    AUTO_FD int fd = -1;

    if (join->health_addr && !join->health_addr[0])
        return 0;
    fd = address_listen(join->health_addr ? join->health_addr : PEEL_JOIN_HEALTH_ADDR, &port, err);
    return fd < 0 ? err_set(err, err->code, "%s; choose another with --health-addr", err->text) : 0;
}

int peel_join_configure(struct arena *arena, const struct peel_join *join, bool *ret_changed,
                        struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(CONF_MAX);
    struct newfile file = { .name = path_basename(join->config).p, .mode = CONF_MODE };
    const char *folder = path_dirname(arena, join->config);
    bool is_there;

    if (is_file_there(join->config, &is_there, err) < 0)
        return -1;
    *ret_changed = !is_there;
    if (is_there)
        return 0;
    if (check_health_address(join, err) < 0)
        return -1;
    print_join_conf(arena, join, &text);
    file.text = buf_view(&text);
    if (fs_mkdirs(folder, CONF_FOLDER_MODE, err) < 0)
        return -1;
    return newfiles_write(folder, &file, 1, "it is never overwritten", err);
}

int peel_join_unconfigure(const struct peel_join *join, struct err *err)
{
    return fs_unlink(join->config, err);
}

/* --- enrollment ------------------------------------------------------------------- */

struct waiting {
    struct loop *loop;
    struct timer timer;
    bool is_done;
    char problem[ERR_TEXT_SIZE];
};

static void on_join_done(void *self, const char *problem)
{
    struct waiting *waiting = self;

    waiting->is_done = true;
    (void)snprintf(waiting->problem, sizeof(waiting->problem), "%s", problem ? problem : "");
    loop_stop(waiting->loop);
}

static void on_join_late(struct timer *timer)
{
    loop_stop(container_of(timer, struct waiting, timer)->loop);
}

/* A machine that comes with a token is approved at once, or its token is not what it seems. */
static int explain_wait(struct enroll_client_state state, const char *id, struct err *err)
{
    if (state.is_pending)
        return err_set(
            err, ERR_TIMEOUT,
            "'%s' is not approved yet: the master did not accept the join token (revoked, "
            "expired, or for other peels); approve it with 'zester enroll approve --peel "
            "%s'",
            id, id);
    return err_set(err, ERR_UNSUPPORTED, "%s",
                   state.text[0] ? state.text : "no answer from the master in time");
}

static int wait_for_credentials(struct waiting *waiting,
                                const struct enroll_client_options *options, int64_t wait,
                                struct err *err)
{
    struct enroll_client *enroll_client = enroll_client_begin(options, err);

    if (!enroll_client)
        return -1;
    timer_set(loop_timers(waiting->loop), &waiting->timer, clock_after(clock_now(), wait),
              on_join_late);
    loop_run(waiting->loop);
    if (!waiting->is_done)
        (void)explain_wait(enroll_client_stop(enroll_client), options->identity->id, err);
    else if (waiting->problem[0])
        (void)err_set(err, ERR_INVALID, "%s", waiting->problem);
    enroll_client_free(enroll_client);
    return waiting->is_done && !waiting->problem[0] ? 0 : -1;
}

static int enroll_peel(struct arena *arena, const struct peel_join *join,
                       const struct peel_conf *conf, struct peel_identity *identity,
                       struct err *err)
{
    struct waiting waiting = { .loop = loop_new(err) };
    int result;

    if (!waiting.loop)
        return -1;
    result =
        wait_for_credentials(&waiting,
                             &(struct enroll_client_options){ .loop = waiting.loop,
                                                              .conf = conf,
                                                              .identity = identity,
                                                              .hostname = peel_identity_host(arena),
                                                              .token = join->text,
                                                              .is_watched = true,
                                                              .done = on_join_done,
                                                              .self = &waiting },
                             join->wait, err);
    loop_free(waiting.loop);
    return result;
}

/* A configuration that was there may be for another fleet. */
static int check_master(struct arena *arena, const struct peel_join *join,
                        const struct peel_conf *conf, struct err *err)
{
    const struct param_strs masters = bootstrap_masters(arena, conf);
    const char *wanted = make_join_url(arena, "https", join->host, join->enroll_port);

    for (size_t i = 0; i < masters.n; i++)
        if (strcmp(masters.p[i], wanted) == 0)
            return 0;
    return err_set(err, ERR_INVALID, "'%s' names the master '%s', not '%s'; edit or remove it",
                   join->config, masters.p[0], wanted);
}

int peel_join_enroll(struct arena *arena, const struct peel_join *join, bool *ret_changed,
                     const char **ret_id, struct err *err)
{
    const struct daemon_line line = { .file = join->config };
    struct diags diags = DIAGS_INIT(arena);
    struct peel_identity identity;
    struct peel_conf conf = { 0 };
    bool is_there;
    int result = 0;

    if (daemon_conf_read(&peel_conf_daemon, &line, arena, &conf, &diags, &diags) < 0)
        return diags_to_err(&diags, err);
    if (peel_identity_open(arena, conf.auth_dir, conf.id, peel_identity_host(arena), &identity,
                           err) < 0)
        return -1;
    *ret_id = identity.id;
    if (is_file_there(identity.creds_file, &is_there, err) < 0 ||
        (!is_there && check_master(arena, join, &conf, err) < 0))
        result = -1;
    else if (!is_there)
        result = enroll_peel(arena, join, &conf, &identity, err);
    *ret_changed = result == 0 && !is_there;
    nats_nkey_done(&identity.key);
    return result;
}
