/* Names of the machine and the user of this process: id, host, fqdn, machine_id, username, path...
 *  */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/base/err.h"
#include "states/facts/scan.h"
#include "core/sys/account.h"

#define HOSTS_MAX           ((size_t)1 << 20)
#define RESOLV_MAX          ((size_t)16 << 10)
#define PATH_FOLDER_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* --- names -------------------------------------------------------------------------- */

static struct str find_host_name(struct scan *scan)
{
    struct str name = scan_line(scan, "proc/sys/kernel/hostname");
    struct utsname names;

    if (!name.p && scan->root[0])
        name = scan_line(scan, "etc/hostname");
    if (name.p)
        return name;
    (void)uname(&names); /* fails for a bad pointer only */
    return arena_str(scan->arena, str_from(names.nodename));
}

/* The first name with a dot on a line of /etc/hosts that has `host` too; a NULL view: none. */
static struct str name_on_line(struct str line, struct str host)
{
    struct str full = { NULL, 0 };
    bool here = false;

    line = str_cut(&line, '#');
    (void)scan_word(&line); /* the address */
    for (struct str word = scan_word(&line); word.p; word = scan_word(&line)) {
        here |= str_eq(word, host);
        if (!full.p && str_find_char(word, '.', 0) != STR_NONE &&
            !str_starts(word, STR("localhost")))
            full = word;
    }
    return here ? full : (struct str){ NULL, 0 };
}

/* The full name without a network query: the host name itself, /etc/hosts, or the domain
 * that the kernel knows. */
static struct str find_full_host_name(struct scan *scan, struct str host)
{
    struct str rest = scan_read(scan, "etc/hosts", HOSTS_MAX);
    struct str domain = scan_line(scan, "proc/sys/kernel/domainname");
    struct str full = { NULL, 0 };

    if (str_find_char(host, '.', 0) != STR_NONE)
        return host;
    while (rest.p && !full.p)
        full = name_on_line(str_cut(&rest, '\n'), host);
    if (!full.p && domain.p && !str_is(domain, "(none)"))
        full = str_from(arena_printf(scan->arena, "%.*s.%.*s", STR_ARG(host), STR_ARG(domain)));
    return full.p ? full : host;
}

void facts_id(struct scan *scan)
{
    scan_add_text(scan, scan->facts, "id",
                  scan->id ? str_from(scan->id) : find_full_host_name(scan, find_host_name(scan)));
}

static void add_host_names(struct scan *scan)
{
    struct str node = find_host_name(scan), full = find_full_host_name(scan, node);
    struct str rest = node, domain = full, host = str_cut(&rest, '.');

    (void)str_cut(&domain, '.');
    scan_add_text(scan, scan->facts, "id", scan->id ? str_from(scan->id) : full);
    scan_add_text(scan, scan->facts, "host", host);
    scan_add_text(scan, scan->facts, "nodename", node);
    scan_add_text(scan, scan->facts, "localhost", node);
    scan_add_text(scan, scan->facts, "fqdn", full);
    scan_add_text(scan, scan->facts, "domain", domain.p ? domain : STR(""));
    scan_add_text(scan, scan->facts, "machine_id", scan_line(scan, "etc/machine-id"));
}

/* --- the program and its user --------------------------------------------------------- */

static void add_user(struct scan *scan)
{
    const struct account *account = NULL;
    const struct account_group *group = NULL;
    struct err ignored;

    scan_add_int(scan, scan->facts, "uid", geteuid());
    scan_add_int(scan, scan->facts, "gid", getegid());
    scan_add_int(scan, scan->facts, "pid", getpid());
    if (account_find_uid(scan->arena, geteuid(), &account, &ignored) == 0 && account)
        scan_add_text(scan, scan->facts, "username", str_from(account->name));
    if (account_find_gid(scan->arena, getegid(), &group, &ignored) == 0 && group)
        scan_add_text(scan, scan->facts, "groupname", str_from(group->name));
}

static void add_environment_facts(struct scan *scan)
{
    const char *path = getenv("PATH"), *shell = getenv("SHELL");
    struct str rest = str_from(path ? path : PATH_FOLDER_DEFAULT);
    struct value_list *folders = scan_add_list(scan, scan->facts, "systempath");
    char cwd[PATH_MAX];

    scan_add_text(scan, scan->facts, "path", rest);
    while (rest.p)
        scan_push_text(scan, folders, str_cut(&rest, ':'));
    scan_add_text(scan, scan->facts, "shell", str_from(shell ? shell : "/bin/sh"));
    if (getcwd(cwd, sizeof(cwd)))
        scan_add_text(scan, scan->facts, "cwd", str_from(cwd));
}

/* --- configuration --------------------------------------------------------------------- */

static void add_dns(struct scan *scan)
{
    struct value_map *dns = scan_add_map(scan, scan->facts, "dns");
    struct value_list *servers = scan_add_list(scan, dns, "nameservers");
    struct value_list *search = scan_add_list(scan, dns, "search");
    struct str rest = scan_read(scan, "etc/resolv.conf", RESOLV_MAX);

    while (rest.p) {
        struct str line = str_cut(&rest, '\n');
        struct str key = scan_word(&line);
        struct value_list *list = str_is(key, "nameserver") ? servers
                                  : str_is(key, "search")   ? search
                                                            : NULL;

        for (struct str word = scan_word(&line); list && word.p; word = scan_word(&line))
            scan_push_text(scan, list, word);
    }
}

/* "Europe/Berlin", from /etc/timezone or from where /etc/localtime leads. */
static void add_timezone(struct scan *scan)
{
    struct str zone = scan_line(scan, "etc/timezone");
    char target[PATH_MAX];
    char *link = arena_printf(scan->arena, "%s/etc/localtime", scan->root);
    ssize_t n = zone.p ? -1 : readlink(link, target, sizeof(target));
    size_t at;

    if (n > 0) {
        struct str path = { target, (size_t)n };

        at = str_find(path, STR("zoneinfo/"), 0);
        if (at != STR_NONE)
            zone = str_from_offset(path, at + strlen("zoneinfo/"));
    }
    scan_add_text(scan, scan->facts, "timezone", zone.p ? zone : STR("UTC"));
}

static void add_selinux(struct scan *scan)
{
    struct value_map *selinux = scan_add_map(scan, scan->facts, "selinux");
    struct str enforce = scan_line(scan, "sys/fs/selinux/enforce");

    scan_add(scan, selinux, "enabled", value_bool(enforce.p != NULL));
    if (enforce.p)
        scan_add_text(scan, selinux, "enforced",
                      str_is(enforce, "1") ? STR("Enforcing") : STR("Permissive"));
}

static const char *find_init(struct scan *scan)
{
    struct str name = scan_line(scan, "proc/1/comm");

    if (scan_exists(scan, "run/systemd/system"))
        return "systemd";
    if (scan_exists(scan, "run/openrc"))
        return "openrc";
    if (str_is(name, "init") || str_is(name, "sysvinit"))
        return "sysvinit";
    return name.p ? arena_strndup(scan->arena, name.p, name.n) : "unknown";
}

void facts_host(struct scan *scan)
{
    add_host_names(scan);
    add_user(scan);
    add_environment_facts(scan);
    add_dns(scan);
    add_timezone(scan);
    add_selinux(scan);
    scan_add_text(scan, scan->facts, "init", str_from(find_init(scan)));
}
