#include "fleet/jobs/job_reach.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/glob.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/data/params.h"
#include "core/data/value.h"
#include "fleet/jobs/rollout.h"
#include "fleet/wire/job.h"

/* Nesting of arguments. */
#define ARGS_DEPTH_MAX 32
/* Ids that commands send without an operand. */
#define NO_ID "ad-hoc"

/* clang-format off */
static const struct {
    enum job_reach_class class;
    const char *names;
} others[] = {
    { REACH_COMMANDS,
      "cmd.retcode cmd.run cmd.run_all cmd.run_stderr cmd.run_stdout cmd.script cmd.shell "
      "cmd.wait cmd.wait_script cmd.watch cron.env_present cron.file cron.present kepler.running" },
    { REACH_STORED,
      "fleet.state salt.state schedule.enable schedule.enable_job schedule.run_job state.apply "
      "state.highstate state.orchestrate state.sls state.sls_id" },
    { REACH_NAMED,
      "fleet.function module.run module.wait module.watch salt.function schedule.add "
      "schedule.modify state.single" },
    { REACH_ANYTHING,
      "environ.setenv file.apply_template_on_contents file.check_managed "
      "file.check_managed_changes file.get_managed slsutil.renderer state.template_str" },
};

/* REACH_ITSELF, by family. */
static const struct {
    const char *descendants, *names;
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
    { "cron", "absent env_absent list" },
    { "debconf", "set set_file" },
    { "defaults", "deepcopy merge update" },
    { "disk", "status usage" },
    { "environ", "get has_value item items" },
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
    { "kepler", "absent condition why" },
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
      "check event graph id_exists last owed revert runs show show_highstate show_low_sls "
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

/* Where functions of REACH_NAMED have the names of others. */
static const struct naming {
    const char *functions, *args;
    bool in_keys; /* "test.echo: {text: hello}" */
    bool in_id;   /* unless an argument has it */
} namings[] = {
    { "state.single", "fun", false, true },
    { "module.run module.wait module.watch", "name function", true, true },
    { "schedule.add schedule.modify", "function module", false, false },
    { "fleet.function salt.function", "name fun function", false, true },
};

/* Arguments of any function that run commands or templates from the caller. */
#define LEADING "check_cmd onlyif template unless"

/* An argument of any state that sends an event, and the function that does the same. */
#define EVENT_ARGUMENT "fire_event"
#define EVENT_FUNCTION "event.send"

/* Arguments of some that choose the program, or what it loads; of one, also the bare argument. */
static const struct {
    const char *functions, *args;
    bool in_id;
} programs[] = {
    { "pip.installed pip.removed pip.uptodate",
      "bin bin_env env_vars extra_args global_options pip_bin", false },
    { "pip.list", "bin bin_env id", true },
    { "gem.installed gem.removed gem.sources_add gem.sources_remove", "gem_bin", false },
    { "npm.installed", "env", false },
};

/* An argument with data for published states. */
#define DATA "pillar"
/* clang-format on */

/* --- the table ---------------------------------------------------------------------- */

static bool has_listed_name(const char *names, struct str name)
{
    struct str rest = str_from(names);

    while (rest.p && rest.n > 0)
        if (str_eq(str_cut(&rest, ' '), name))
            return true;
    return false;
}

static bool is_plain_function(const char *function)
{
    struct str name = str_from(function);
    const struct str descendants = str_cut(&name, '.');

    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        if (str_is(descendants, plain[i].descendants))
            return name.p && has_listed_name(plain[i].names, name);
    return false;
}

static bool find_class(const char *function, enum job_reach_class *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (has_listed_name(others[i].names, str_from(function))) {
            *ret = others[i].class;
            return true;
        }
    *ret = REACH_ITSELF;
    return is_plain_function(function);
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

/* --- arguments ---------------------------------------------------------------------- */

/* Is one of the keys anywhere in the arguments? A key that is not a text may be any. */
static bool has_value_key(const struct value *v, const char *keys, unsigned depth)
{
    if (depth > ARGS_DEPTH_MAX)
        return true;
    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        if (has_value_key(&v->list->items[i], keys, depth + 1))
            return true;
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count; i++) {
        const struct value *key = &v->map->pairs[i].key;

        if (key->kind != VALUE_STR || has_listed_name(keys, key->s) ||
            has_value_key(&v->map->pairs[i].value, keys, depth + 1))
            return true;
    }
    return false;
}

/* Secret arguments have paths, and values that cannot be checked. */
static bool has_sealed(const struct value *sealed, const char *keys)
{
    for (size_t i = 0; sealed->kind == VALUE_MAP && i < sealed->map->count; i++) {
        struct str rest = sealed->map->pairs[i].key.s;

        if (sealed->map->pairs[i].key.kind != VALUE_STR)
            return true;
        while (rest.p && rest.n > 0)
            if (has_listed_name(keys, str_cut(&rest, '.')))
                return true;
    }
    return false;
}

/* A function that compiles published states, and takes data for them. */
static bool takes_data(const char *function)
{
    const enum job_reach_class class = job_reach_find(function);

    return str_starts(str_from(function), STR("state.")) &&
           (class == REACH_STORED || class == REACH_ITSELF);
}

/* Is one of the keys there, and not in data for published states? */
static bool has_job_argument(struct arena *arena, const struct job *job, const char *keys)
{
    const struct value data = value_text(DATA);
    struct value args = job->args;

    if (args.kind == VALUE_MAP && takes_data(job->function)) {
        args = value_copy(arena, &args);
        (void)value_map_remove(args.map, &data);
    }
    return has_value_key(&args, keys, 0) || has_sealed(&job->sealed, keys);
}

static bool has_data(const struct job *job, const char *function)
{
    return takes_data(function) &&
           (has_value_key(&job->args, DATA, 0) || has_sealed(&job->sealed, DATA));
}

static bool has_job_id(const struct job *job)
{
    return job->state_id && job->state_id[0] && strcmp(job->state_id, NO_ID) != 0;
}

static bool has_program(const struct job *job, const char *function)
{
    for (size_t i = 0; i < ARRAY_LEN(programs); i++)
        if (has_listed_name(programs[i].functions, str_from(function)) &&
            (has_value_key(&job->args, programs[i].args, 0) ||
             has_sealed(&job->sealed, programs[i].args) || (programs[i].in_id && has_job_id(job))))
            return true;
    return false;
}

/* --- a job -------------------------------------------------------------------------- */

struct tracing {
    struct arena *arena;
    struct reached *reached;
    const struct job *job;
};

static void add_reached_function(const struct tracing *tracing, const char *function,
                                 bool is_named);

static const struct naming *find_naming(const char *function)
{
    for (size_t i = 0; i < ARRAY_LEN(namings); i++)
        if (has_listed_name(namings[i].functions, str_from(function)))
            return &namings[i];
    return NULL;
}

/* Returns how many were found. */
static size_t add_function_texts(const struct tracing *tracing, const char *keys)
{
    struct str rest = str_from(keys);
    size_t found = 0;

    while (rest.p && rest.n > 0) {
        const struct str key = str_cut(&rest, ' ');
        const char *name = value_get_text(&tracing->job->args, arena_str(tracing->arena, key).p);

        if (name && ++found)
            add_reached_function(tracing, name, true);
    }
    return found;
}

static size_t add_function_keys(const struct tracing *tracing)
{
    const struct value *args = &tracing->job->args;
    size_t found = 0;

    for (size_t i = 0; args->kind == VALUE_MAP && i < args->map->count; i++) {
        const struct value *key = &args->map->pairs[i].key;

        if (key->kind == VALUE_STR && str_find_char(key->s, '.', 0) != STR_NONE && ++found)
            add_reached_function(tracing, arena_str(tracing->arena, key->s).p, true);
    }
    return found;
}

/* Functions that the arguments name. One that names none can run anything: it changes what is
 * there, an entry of the schedule. */
static void add_named_functions(const struct tracing *tracing, const char *function)
{
    const struct naming *naming = find_naming(function);
    size_t found = 0;

    if (naming)
        found = add_function_texts(tracing, naming->args) +
                (naming->in_keys ? add_function_keys(tracing) : 0);
    if (naming && naming->in_id && (found == 0 || naming->in_keys) && has_job_id(tracing->job)) {
        add_reached_function(tracing, tracing->job->state_id, true);
        found++;
    }
    if (found == 0 || has_sealed(&tracing->job->sealed, naming->args))
        tracing->reached->anything = true;
}

/* `is_named`: by another, in arguments in which names may be anywhere. */
static void add_reached_function(const struct tracing *tracing, const char *function, bool is_named)
{
    struct reached *reached = tracing->reached;

    VEC_PUSH_IN(tracing->arena, &reached->functions, function);
    reached->anything |= has_program(tracing->job, function);
    reached->stored |= has_data(tracing->job, function);
    switch (job_reach_find(function)) {
    case REACH_ITSELF: break;
    case REACH_COMMANDS: reached->commands = true; break;
    case REACH_STORED: reached->stored = true; break;
    case REACH_ANYTHING: reached->anything = true; break;
    case REACH_NAMED:
        if (is_named)
            reached->anything = true;
        else
            add_named_functions(tracing, function);
        break;
    }
}

/* Jobs that masters run for a rollout have at most a bare argument. */
static void add_helpers(struct arena *arena, const struct job *job, struct reached *ret)
{
    struct job gate = { 0 };
    const struct tracing tracing = { arena, ret, &gate };
    struct rollout rollout;

    rollout_read(job, &rollout);
    gate.state_id = arena_str(arena, rollout.gate_argument).p;
    if (rollout.gate_function.n > 0)
        add_reached_function(&tracing, arena_str(arena, rollout.gate_function).p, false);
    if (rollout.revert != ROLLOUT_KEEP)
        add_reached_function(&tracing, ROLLOUT_FUNCTION, false);
}

void job_reach_trace(struct arena *arena, const struct job *job, struct reached *ret)
{
    const struct tracing tracing = { arena, ret, job };

    *ret = (struct reached){ .anything = has_job_argument(arena, job, LEADING) };
    add_reached_function(&tracing, job->function, false);
    if (has_job_argument(arena, job, EVENT_ARGUMENT))
        add_reached_function(&tracing, EVENT_FUNCTION, true);
    add_helpers(arena, job, ret);
}

/* --- globs -------------------------------------------------------------------------- */

static bool matches_reach_globs(const struct param_strs *globs, struct str function)
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
            if (matches_reach_globs(globs, str_cut(&rest, ' ')))
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
        if (matches_reach_globs(globs, str_from(*function)))
            return true;
    return false;
}
