#include "fleet/ssh/roster.h"

#include <string.h>
#include <strings.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "language/target/target.h"

#define SECOND INT64_C(1000000000)

#define ARGS struct ssh_machine

/* clang-format off */
static const struct param rows[] = {
    PARAM("host",      STR,      ARGS, host, "its name or address (default: its name in the roster)", .flags = PARAM_FILLED),
    PARAM("user",      STR,      ARGS, user, "who logs in", .flags = PARAM_FILLED),
    PARAM("port",      INT,      ARGS, port, "the port of its ssh server", PARAM_RANGE(1, 65535)),
    PARAM("identity",  STR,      ARGS, identity, "private key file", .flags = PARAM_FILLED, .aliases = "priv"),
    PARAM("sudo",      BOOL,     ARGS, sudo, "run as root, by sudo without a password"),
    PARAM("sudo_user", STR,      ARGS, sudo_user, "run as this user instead of root", .flags = PARAM_FILLED),
    PARAM("timeout",   DURATION, ARGS, timeout, "how long connecting may take", .default_text = "30s", PARAM_RANGE(SECOND, 3600 * SECOND)),
    PARAM("options",   STRS,     ARGS, options, "more options, as for 'ssh -o'", .aliases = "ssh_options"),
    PARAM("data_dir",  PATH,     ARGS, data_dir, "the folder for undo data on the machine"),
    PARAM("program",   PATH,     ARGS, program, "a zester for the machine, when the one of this machine does not fit"),
    PARAM("facts",     MAP,      ARGS, given, "for targets, and over what the machine says of itself", .aliases = "grains"),
    PARAM_REFUSED("passwd",           "passwords are never stored or typed: use 'identity', or an agent of keys"),
    PARAM_REFUSED("password",         "passwords are never stored or typed: use 'identity', or an agent of keys"),
    PARAM_REFUSED("priv_passwd",      "add the key to an agent with 'ssh-add' instead"),
    PARAM_REFUSED("minion_opts",      "there is no minion: 'facts' says what targets and templates see"),
    PARAM_REFUSED("tty",              "commands run without a terminal: sudo must allow that"),
    PARAM_REFUSED("thin_dir",         "the folder is ~/.cache/zester-ssh of the user, else /var/tmp/zester-ssh-UID"),
    PARAM_REFUSED("cmd_umask",        "what is copied is for the user alone"),
    PARAM_REFUSED("set_path",         "set PATH in the configuration of the ssh server"),
    PARAM_REFUSED("ssh_pre_flight",   "nothing runs before the checks of zester: use cmd.script"),
    PARAM_REFUSED("ssh_pre_flight_args", "nothing runs before the checks of zester: use cmd.script"),
    PARAM_REFUSED("remote_port_forwards", "forwardings are switched off"),
    { 0 },
};

/* One session without a terminal, questions, forwardings and commands on this side. */
const char *const ssh_roster_fixed[] = {
    "BatchMode=yes",
    "NumberOfPasswordPrompts=0",
    "ConnectionAttempts=1",
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "Tunnel=no",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "RequestTTY=no",
    "SessionType=default",
    "StdinNull=no",
    "ForkAfterAuthentication=no",
    "EscapeChar=none",
    "NoHostAuthenticationForLocalhost=no",
    "LogLevel=ERROR",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=4",
    NULL,
};
/* clang-format on */

/* --- words that go to ssh ------------------------------------------------------------- */

static bool has_control_char(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == '\x7f')
            return true;
    return false;
}

/* A word of the command line that is a name; NULL: it is fine. */
static const char *find_fault(const char *word)
{
    if (word[0] == '-')
        return "may not begin with '-'";
    if (strlen(word) > SSH_ROSTER_WORD_MAX)
        return "has more than 255 bytes";
    if (has_control_char(word) || strpbrk(word, " '\"\\`$;&|<>(){}*?!#"))
        return "has a character that no name has";
    return NULL;
}

/* The key of "Key=Value" or "Key Value", and its value. */
static struct str split_option(const char *option, struct str *ret_value)
{
    const size_t n =
        strspn(option, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");

    *ret_value = str_from(option + n + (option[n] != '\0'));
    *ret_value = str_trim(*ret_value);
    if (str_starts(*ret_value, STR("=")))
        *ret_value = str_trim(str_from_offset(*ret_value, 1));
    return (struct str){ option, n };
}

static bool is_machine_called(struct str key, const char *name)
{
    return key.n == strlen(name) && strncasecmp(key.p, name, key.n) == 0;
}

static bool is_fixed(struct str key)
{
    for (const char *const *fixed = ssh_roster_fixed; *fixed; fixed++)
        if (key.n == strcspn(*fixed, "=") && strncasecmp(key.p, *fixed, key.n) == 0)
            return true;
    return false;
}

/* The check of host keys may be made stricter, or learn keys of hosts that were never seen. */
static const char *refuse_trust(struct str key, struct str value)
{
    static const char *const strict[] = { "yes", "ask", "accept-new" };

    if (is_machine_called(key, "StrictHostKeyChecking")) {
        for (size_t i = 0; i < ARRAY_LEN(strict); i++)
            if (is_machine_called(value, strict[i]))
                return NULL;
        return "host keys are always checked: use 'yes' or 'accept-new'";
    }
    if (is_machine_called(key, "UserKnownHostsFile") &&
        (str_eq_text(value, "/dev/null") || is_machine_called(value, "none")))
        return "host keys are always checked, and must be kept in a file";
    return NULL;
}

const char *ssh_roster_refuse_option(struct arena *arena, const char *option)
{
    struct str value;
    const struct str key = split_option(option, &value);

    if (key.n == 0 || value.n == 0)
        return "it is not KEY=VALUE, as for 'ssh -o'";
    if (has_control_char(option) || strlen(option) > SSH_ROSTER_OPTION_MAX)
        return "it has control characters, or more than 1024 bytes";
    if (is_fixed(key))
        return arena_printf(arena, "zester sets '%.*s' itself", STR_ARG(key));
    if (is_machine_called(key, "ConnectTimeout"))
        return "write 'timeout' instead";
    return refuse_trust(key, value);
}

/* --- entries ---------------------------------------------------------------------------- */

static void check_word(const struct value *at, const char *key, const char *word,
                       struct diags *diags)
{
    const char *fault = word ? find_fault(word) : NULL;

    if (fault)
        (void)value_diag(diags, at, "'%s' %s", key, fault);
}

static void check_machine(struct arena *arena, const struct value *entry,
                          const struct ssh_machine *machine, struct diags *diags)
{
    check_word(value_point(entry, "host"), "host", machine->host, diags);
    check_word(value_point(entry, "user"), "user", machine->user, diags);
    check_word(value_point(entry, "sudo_user"), "sudo_user", machine->sudo_user, diags);
    if (machine->identity && (machine->identity[0] == '-' || has_control_char(machine->identity)))
        (void)value_diag(diags, value_point(entry, "identity"), "'identity' is not a path");
    if (machine->sudo_user && !machine->sudo) {
        (void)value_diag(diags, value_point(entry, "sudo_user"),
                         "'sudo_user' without 'sudo: true'");
        diag_hint(diags, "add 'sudo: true', or log in as that user");
    }
    for (size_t i = 0; i < machine->options.n; i++) {
        const char *why = ssh_roster_refuse_option(arena, machine->options.p[i]);

        if (why)
            (void)value_diag(diags, value_point(entry, "options"), "option '%s' is refused: %s",
                             machine->options.p[i], why);
    }
}

static const struct value *make_facts(struct arena *arena, const struct ssh_machine *machine)
{
    struct value_map *map = value_map_new(arena, 4);
    struct value *facts = ARENA_NEW(arena, struct value);

    for (size_t i = 0; machine->given && i < machine->given->map->count; i++)
        value_map_set(arena, map, machine->given->map->pairs[i].key,
                      machine->given->map->pairs[i].value);
    value_map_set(arena, map, value_text("id"), value_text(machine->name));
    *facts = value_map(map);
    return facts;
}

/* "web-01: 192.0.2.7" is short for a map with the host alone. */
static int decode_entry(struct arena *arena, const struct value *entry, struct ssh_machine *machine,
                        struct diags *diags)
{
    const struct params_policy policy = { .owner = machine->name, .noun = "key" };

    if (value_is_textual(entry)) {
        (void)params_decode(arena, rows, &policy, NULL, machine, diags); /* defaults */
        machine->host = entry->s.p;
        return 0;
    }
    if (entry->kind != VALUE_MAP && entry->kind != VALUE_NULL) {
        (void)value_diag(diags, entry, "'%s' is neither an address nor a map of keys",
                         machine->name);
        return -1;
    }
    return params_decode(arena, rows, &policy, entry, machine, diags);
}

static void add_roster_machine(struct arena *arena, const struct value_pair *pair,
                               struct ssh_machines *machines, struct diags *diags)
{
    struct ssh_machine machine = { 0 };
    struct err err;

    if (!value_is_textual(&pair->key)) {
        (void)value_diag(diags, &pair->key, "the name of a machine must be text");
        diag_hint(diags, "put it in quotes");
        return;
    }
    machine.name = pair->key.s.p;
    if (peel_id_encode(pair->key.s, machine.id, &err) < 0)
        (void)value_diag(diags, &pair->key, "%s", err.text);
    if (decode_entry(arena, &pair->value, &machine, diags) < 0)
        return;
    if (!machine.host)
        machine.host = machine.name;
    check_machine(arena, &pair->value, &machine, diags);
    machine.facts = make_facts(arena, &machine);
    VEC_PUSH_IN(arena, &machines->list, machine);
}

int ssh_roster_parse(struct arena *arena, const char *file, struct str text,
                     struct ssh_machines *ret, struct diags *diags)
{
    const struct yaml_options options = { .size_max = SSH_ROSTER_SIZE_MAX };
    const size_t before = diags_count(diags);
    struct value doc;

    *ret = (struct ssh_machines){ 0 };
    if (yaml_parse(arena, file, text, &options, &doc, diags) < 0)
        return -1;
    if (doc.kind == VALUE_NULL)
        return 0;
    if (doc.kind != VALUE_MAP) {
        (void)value_diag(diags, &doc,
                         "a roster is a map: the name of each machine, and how ssh "
                         "reaches it");
        return -1;
    }
    if (doc.map->count > SSH_ROSTER_MACHINES_MAX)
        return diag_add(diags, value_place(&doc), "a roster has at most %d machines",
                        SSH_ROSTER_MACHINES_MAX);
    for (size_t i = 0; i < doc.map->count; i++)
        add_roster_machine(arena, &doc.map->pairs[i], ret, diags);
    diags_sort(diags, before);
    return diags_count(diags) > before ? -1 : 0;
}

/* --- targets ---------------------------------------------------------------------------- */

int ssh_roster_find(struct arena *arena, const struct ssh_machines *machines, const char *target,
                    const struct value *groups, struct ssh_machines *ret, struct err *err)
{
    const struct target_options options = { .groups = groups, .no_settings = true };
    const struct target *parsed;

    *ret = (struct ssh_machines){ 0 };
    if (target_read(arena, str_from(target), TARGET_COMPOUND, &options, &parsed, err) < 0)
        return -1;
    VEC_EACH (&machines->list, machine) {
        const struct target_subject subject = { .id = str_from(machine->name),
                                                .facts = machine->facts };
        bool matches;

        if (target_match(parsed, &subject, &matches, err) < 0)
            return -1;
        if (matches)
            VEC_PUSH_IN(arena, &ret->list, *machine);
    }
    return 0;
}
