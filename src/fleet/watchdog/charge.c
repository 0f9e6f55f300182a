#include "fleet/watchdog/charge.h"

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "fleet/bus/identity.h"
#include "fleet/bus/link.h"
#include "fleet/master/conf.h"
#include "fleet/peel/bootstrap.h"
#include "fleet/peel/conf.h"
#include "fleet/peel/identity.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "fleet/watchdog/conf.h"
#include "fleet/wire/peel_id.h"

#define ID_FILE_MAX 1024

static const struct {
    const char *program;
    const struct daemon_conf *conf;
} daemons[UPDATE_COMPONENTS] = {
    [UPDATE_PEEL] = { "zester-peel", &peel_conf_daemon },
    [UPDATE_MASTER] = { "zester-master", &master_daemon_conf },
};

const char *charge_program(enum update_component component)
{
    return daemons[component].program;
}

const char *charge_config(const struct watchdog_conf *conf)
{
    return conf->child_config ? conf->child_config : daemons[conf->component].conf->file;
}

static int read_charge_conf(struct arena *arena, const struct watchdog_conf *conf, void *ret,
                            struct err *err)
{
    const struct daemon_line line = { .file = charge_config(conf),
                                      .given = value_map(value_map_new(arena, 1)) };
    struct diags diags = DIAGS_INIT(arena), ignored = DIAGS_INIT(arena);

    if (daemon_conf_read(daemons[conf->component].conf, &line, arena, ret, &diags, &ignored) < 0)
        return diags_to_err(&diags, err);
    return 0;
}

static int encode_id(struct arena *arena, const char *name, const char **ret_id, struct err *err)
{
    char *id = arena_alloc(arena, PEEL_ID_SIZE);

    *ret_id = id;
    return peel_id_encode(str_from(name), id, err);
}

/* Configured, or what the agent has chosen when it first started. */
static int find_peel_id(struct arena *arena, const struct peel_conf *conf, const char **ret_id,
                        struct err *err)
{
    struct str text;

    if (conf->id && conf->id[0])
        return encode_id(arena, conf->id, ret_id, err);
    if (fs_read(arena, path_join(arena, conf->auth_dir, PEEL_IDENTITY_NODE_ID), ID_FILE_MAX, &text,
                err) < 0)
        return -1;
    text = str_trim(text);
    if (!peel_id_is_valid(text))
        return err_set(err, ERR_NOT_FOUND, "the peel has no id yet");
    *ret_id = arena_str(arena, text).p;
    return 0;
}

static int read_peel(struct arena *arena, const struct watchdog_conf *conf, struct charge *ret,
                     struct err *err)
{
    struct peel_conf peel = { 0 };
    const char *cached;

    if (read_charge_conf(arena, conf, &peel, err) < 0)
        return -1;
    *ret = (struct charge){ .health_addr = peel.health_addr,
                            .ca_file = peel.nats_ca,
                            .auth_dir = peel.auth_dir };
    if (find_peel_id(arena, &peel, &ret->id, err) < 0)
        return -1;
    cached = bootstrap_cached_servers(arena, &peel);
    ret->urls = peel.nats_url && peel.nats_url[0] ? peel.nats_url
                : cached                          ? cached
                                                  : LINK_URL_DEFAULT;
    ret->creds_file = arena_printf(arena, "%s/%s.creds", peel.auth_dir, ret->id);
    return 0;
}

static int read_master(struct arena *arena, const struct watchdog_conf *conf, struct charge *ret,
                       struct err *err)
{
    struct master_conf master = { 0 };
    const char *name = conf->id ? conf->id : peel_identity_host(arena);

    if (!name)
        return err_set(err, ERR_NOT_FOUND, "this machine has no host name: set 'id'");
    if (read_charge_conf(arena, conf, &master, err) < 0)
        return -1;
    *ret = (struct charge){
        .health_addr = master.health_addr,
        .urls = master.nats_url,
        .ca_file = master.nats_ca,
        .auth_dir = master.auth_dir,
        .creds_file = path_join(arena, master.auth_dir, identity_file_name(IDENTITY_MASTER_CREDS)),
    };
    return encode_id(arena, name, &ret->id, err);
}

int charge_read(struct arena *arena, const struct watchdog_conf *conf, struct charge *ret,
                struct err *err)
{
    return conf->component == UPDATE_PEEL ? read_peel(arena, conf, ret, err)
                                          : read_master(arena, conf, ret, err);
}
