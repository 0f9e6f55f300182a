#include "jobs/job_reach.h"

#include <string.h>

#include "base/arena.h"
#include "base/glob.h"
#include "base/mem.h"
#include "base/str.h"
#include "data/params.h"
#include "data/value.h"
#include "jobs/rollout.h"
#include "wire/job.h"

/* Functions that name functions that name functions. */
#define DEPTH_MAX 8
/* Of arguments in arguments. */
#define ARGS_DEPTH_MAX 32
/* What commands of the fleet say in place of an id. */
#define NO_ID "ad-hoc"

/* clang-format off */
static const struct {
    enum job_reach_class class;
    const char *names;
} others[] = {
    { REACH_COMMANDS,
      "cmd.retcode cmd.run cmd.run_all cmd.run_stderr cmd.run_stdout cmd.script cmd.shell "
      "cmd.wait cmd.wait_script cmd.watch cron.file cron.present" },
    { REACH_STORED,
      "fleet.state salt.state schedule.enable schedule.enable_job schedule.run_job state.apply "
      "state.highstate state.orchestrate state.sls state.sls_id" },
    { REACH_NAMED,
      "fleet.function module.run module.wait module.watch salt.function schedule.add "
      "schedule.modify state.single" },
    { REACH_ANYTHING,
      "file.apply_template_on_contents file.check_managed file.check_managed_changes "
      "file.get_managed slsutil.renderer state.template_str" },
};

/* REACH_ITSELF, by family. */
static const struct {
    const char *family, *names;
} plain[] = {
    { "alternatives", "auto install remove set show_current" },
    { "archive", "extracted list" },
    { "beacons", "add delete disable disable_beacon enable enable_beacon list modify" },
    { "cmd", "has_exec which" },
    { "config", "backup_mode dot_vals get items manage_mode merge option valid_fileproto" },
    { "cp",
      "cache_dest cache_dir cache_file cache_files cache_local_file cache_master envs "
      "get_file_str get_url hash_file is_cached list_master list_master_dirs "
      "list_master_symlinks list_minion list_states stat_file" },
    { "cron", "absent env_absent env_present list" },
    { "debconf", "set set_file" },
    { "defaults", "deepcopy merge update" },
    { "disk", "status usage" },
    { "environ", "get has_value item items setenv" },
    { "event", "send wait" },
    { "facts", "get items keys set" },
    { "file",
      "absent access accumulated append basename blockreplace cached check_file_meta "
      "check_hash comment contains contains_glob contains_regex copy decode directory "
      "directory_exists dirname diskusage exists extract_hash file_exists find "
      "get_devmm get_diff get_gid get_group get_hash get_mode get_selinux_context "
      "get_source_sum get_sum get_uid get_user gid_to_group grep group_to_gid "
      "hardlink is_blkdev is_chrdev is_fifo is_hardlink is_link join keyvalue line "
      "list_backup list_backups list_backups_dir lsattr lstat managed missing mknod "
      "normpath not_cached open_files pardir patch path_exists_glob prepend pruned "
      "read readdir readlink recurse rename replace retention_schedule search "
      "sed_contains seek_read serialize source_list stats statvfs symlink tidied "
      "touch uid_to_user uncomment user_to_uid" },
    { "firewalld", "present service" },
    { "gem", "installed removed sources_add sources_remove" },
    { "git", "cloned config_set config_unset detached latest present revision" },
    { "grains",
      "absent append equals exists fetch filter_by get has_value item items "
      "list_absent list_present ls present setval" },
    { "group", "absent info list_groups present" },
    { "hashutil",
      "base64_b64decode base64_b64encode base64_decodestring base64_encodefile "
      "base64_encodestring digest digest_file github_signature hmac_compute "
      "hmac_signature md5_digest sha256_digest sha512_digest" },
    { "host", "absent only present" },
    { "hosts", "list_hosts" },
    { "ini", "get_option options_absent options_present sections_absent sections_present" },
    { "iptables", "append chain_absent chain_present delete flush insert set_policy" },
    { "jinja", "import_json import_yaml load_map" },
    { "kepler", "absent condition running why" },
    { "locale", "get_locale present system" },
    { "log", "critical debug error exception info warning" },
    { "match",
      "compound filter_by glob grain grain_pcre ifelse ipcidr list pcre pillar "
      "pillar_pcre search_by" },
    { "mine", "get" },
    { "mount", "active fstab fstab_absent fstab_present mounted swap unmounted" },
    { "mysql_database", "absent present" },
    { "mysql_grants", "absent present" },
    { "mysql_query", "run run_file" },
    { "mysql_user", "absent present" },
    { "network",
      "active_tcp arp calc_net connect convert_cidr default_route dig fqdns "
      "get_bufsize get_fqdn get_hostname get_route host_to_ips hostname hw_addr "
      "hwaddr ifacestartswith in_subnet interface interface_ip interfaces ip_addrs "
      "ip_addrs6 ip_in_subnet ip_neighs ip_neighs6 ip_networks ip_networks6 ipaddrs "
      "ipaddrs6 iphexval ipneighs ipneighs6 is_loopback is_private netstat ping "
      "reverse_ip routes subnets subnets6 traceroute" },
    { "npm", "bootstrap installed removed" },
    { "pillar", "data fetch filter_by get item items keys ls obfuscate raw" },
    { "pip", "installed list removed uptodate" },
    { "pkg",
      "downloaded held install installed latest latest_version list list_pkgs purged "
      "refresh_db remove removed unheld uptodate version version_cmp" },
    { "pkgrepo", "absent managed" },
    { "postgres_database", "absent present" },
    { "postgres_extension", "absent present" },
    { "postgres_group", "absent present" },
    { "postgres_privileges", "absent present" },
    { "postgres_user", "absent present" },
    { "random", "get_str hash rand_int sample seed shadow_hash shuffle str_encode" },
    { "saltutil", "is_running" },
    { "schedule", "delete disable disable_job is_enabled list show_next_fire_time" },
    { "service",
      "available dead disable disabled enable enabled get_all masked reload restart "
      "running start status stop systemctl_reload unmasked" },
    { "settings", "get items keys" },
    { "slsutil",
      "banner boolstr deserialize dir_exists file_exists findup merge merge_all "
      "path_exists serialize update" },
    { "ssh", "auth_keys" },
    { "ssh_auth", "absent manage present" },
    { "ssh_known_hosts", "absent present" },
    { "state",
      "check event graph id_exists last owed revert show show_highstate show_low_sls "
      "show_lowstate show_sls show_top sls_exists test waive" },
    { "status",
      "all_status cpuinfo cpustats custom diskstats diskusage loadavg meminfo netdev "
      "netstats nproc pid procs time uptime version vmstats w" },
    { "sys",
      "argspec doc list_functions list_modules list_state_functions "
      "list_state_modules" },
    { "sysctl", "get present" },
    { "test",
      "arg arg_clean check_pillar configurable_test_state echo fail_with_changes "
      "fail_without_changes false get_opts kwarg nop ping random_hash "
      "show_notification sleep succeed_with_changes succeed_without_changes true "
      "version" },
    { "timezone", "get_offset get_zone system" },
    { "user", "absent info list_groups list_users present" },
};

/* Arguments that name a function. */
static const char *const naming[] = { "fun", "func", "function", "module", "name" };

/* Arguments of any function that run commands or templates of whoever asks. */
static const char *const leading[] = { "check_cmd", "onlyif", "template", "unless" };
/* clang-format on */

/* --- the table ---------------------------------------------------------------------- */

static bool lists(const char *names, struct str name)
{
    struct str rest = str_from(names);

    while (rest.p && rest.n > 0)
        if (str_eq(str_cut(&rest, ' '), name))
            return true;
    return false;
}

static bool is_plain(const char *function)
{
    struct str name = str_from(function);
    const struct str family = str_cut(&name, '.');

    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        if (str_is(family, plain[i].family))
            return name.p && lists(plain[i].names, name);
    return false;
}

static bool find_class(const char *function, enum job_reach_class *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (lists(others[i].names, str_from(function))) {
            *ret = others[i].class;
            return true;
        }
    *ret = REACH_ITSELF;
    return is_plain(function);
}

enum job_reach_class job_reach_find(const char *function)
{
    enum job_reach_class class;

    return find_class(function, &class) ? class : REACH_ANYTHING;
}

bool job_reach_has(const char *function)
{
    enum job_reach_class ignored;

    return find_class(function, &ignored);
}

/* --- a job -------------------------------------------------------------------------- */

static bool is_word(const char *const *words, size_t n, struct str text)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(text, words[i]))
            return true;
    return false;
}

/* Is one of the keys anywhere in the arguments? */
static bool has_leading(const struct value *v, unsigned depth)
{
    if (depth > ARGS_DEPTH_MAX)
        return true;
    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        if (has_leading(&v->list->items[i], depth + 1))
            return true;
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count; i++) {
        const struct value *key = &v->map->pairs[i].key;

        if ((key->kind == VALUE_STR && is_word(leading, ARRAY_LEN(leading), key->s)) ||
            has_leading(&v->map->pairs[i].value, depth + 1))
            return true;
    }
    return false;
}

/* Secret arguments have paths, and values that nobody can judge: a guard, or the name of a
 * function?
 */
static bool has_sealed(const struct job *job)
{
    const struct value *sealed = &job->sealed;

    for (size_t i = 0; sealed->kind == VALUE_MAP && i < sealed->map->count; i++) {
        struct str rest = sealed->map->pairs[i].key.s;

        while (sealed->map->pairs[i].key.kind == VALUE_STR && rest.p && rest.n > 0) {
            const struct str part = str_cut(&rest, '.');

            if (is_word(leading, ARRAY_LEN(leading), part) ||
                (job_reach_find(job->function) == REACH_NAMED &&
                 is_word(naming, ARRAY_LEN(naming), part)))
                return true;
        }
    }
    return false;
}

static bool looks_like_function(struct str text)
{
    return str_find_char(text, '.', 0) != STR_NONE && str_find_char(text, ' ', 0) == STR_NONE &&
           str_find_char(text, '/', 0) == STR_NONE;
}

struct tracing {
    struct arena *arena;
    struct reached *reached;
    const struct job *job;
};

static void add_function(const struct tracing *tracing, const char *function, unsigned depth);

/* Functions that the job names: as a value, as a key (module.run), or as its id. */
static size_t add_named(const struct tracing *tracing, unsigned depth)
{
    const struct value *args = &tracing->job->args;
    const char *id = tracing->job->state_id;
    size_t found = 0;

    for (size_t i = 0; i < ARRAY_LEN(naming); i++) {
        const char *name = value_get_text(args, naming[i]);

        if (name && looks_like_function(str_from(name)) && ++found)
            add_function(tracing, name, depth);
    }
    for (size_t i = 0; args->kind == VALUE_MAP && i < args->map->count; i++) {
        const struct value *key = &args->map->pairs[i].key;

        if (key->kind == VALUE_STR && looks_like_function(key->s) && ++found)
            add_function(tracing, arena_str(tracing->arena, key->s).p, depth);
    }
    if (id && strcmp(id, NO_ID) != 0 && looks_like_function(str_from(id)) && ++found)
        add_function(tracing, id, depth);
    return found;
}

static void add_function(const struct tracing *tracing, const char *function, unsigned depth)
{
    struct reached *reached = tracing->reached;

    VEC_PUSH_IN(tracing->arena, &reached->functions, function);
    switch (job_reach_find(function)) {
    case REACH_ITSELF: break;
    case REACH_COMMANDS: reached->commands = true; break;
    case REACH_STORED: reached->stored = true; break;
    case REACH_ANYTHING: reached->anything = true; break;
    case REACH_NAMED: /* one that names none changes what is there: an entry of the schedule */
        if (depth == DEPTH_MAX || add_named(tracing, depth + 1) == 0)
            reached->anything = true;
        break;
    }
}

/* What masters run for a rollout. */
static void add_helpers(const struct tracing *tracing)
{
    struct rollout rollout;

    rollout_read(tracing->job, &rollout);
    if (rollout.gate_function.n > 0)
        add_function(tracing, arena_str(tracing->arena, rollout.gate_function).p, 0);
    if (rollout.revert != ROLLOUT_KEEP)
        add_function(tracing, ROLLOUT_FUNCTION, 0);
}

void job_reach_trace(struct arena *arena, const struct job *job, struct reached *ret)
{
    const struct tracing tracing = { arena, ret, job };

    *ret = (struct reached){ .anything = has_leading(&job->args, 0) || has_sealed(job) };
    add_function(&tracing, job->function, 0);
    add_helpers(&tracing);
}

/* --- globs -------------------------------------------------------------------------- */

static bool matches_any(const struct param_strs *globs, struct str function)
{
    for (size_t i = 0; i < globs->n; i++)
        if (glob_match(str_from(globs->p[i]), function))
            return true;
    return false;
}

static bool match_commands(const struct param_strs *globs)
{
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        struct str rest = str_from(others[i].names);

        while (others[i].class == REACH_COMMANDS && rest.p && rest.n > 0)
            if (matches_any(globs, str_cut(&rest, ' ')))
                return true;
    }
    return false;
}

bool job_reach_meets(const struct reached *reached, const struct param_strs *globs)
{
    if (globs->n > 0 && (reached->stored || reached->anything))
        return true;
    if (reached->commands && match_commands(globs))
        return true;
    VEC_EACH (&reached->functions, function)
        if (matches_any(globs, str_from(*function)))
            return true;
    return false;
}
