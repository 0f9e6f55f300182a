#include "commands/cli/fleet/setup/unit.h"

#include <string.h>
#include <unistd.h>

#include "commands/cli/fleet/setup/supervisor.h"
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/sys/path.h"

#define PREFIX_FOLDER "lib/systemd/system"

/* Where systemd looks, below UNIT_FOLDER in rank. */
static const char *const searched[] = { "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
                                        "/lib/systemd/system" };

/* Sandbox settings that hide folders in these places. */
static const struct {
    const char *place, *line;
} openings[] = {
    { "/home/", "ProtectHome=no\n" },     { "/root/", "ProtectHome=no\n" },
    { "/run/user/", "ProtectHome=no\n" }, { "/tmp/", "PrivateTmp=no\n" },
    { "/var/tmp/", "PrivateTmp=no\n" },
};

static bool is_unit_there(const char *path)
{
    return access(path, F_OK) == 0;
}

enum unit_source unit_find(struct arena *arena, const struct supervised *service,
                           const char **ret_path)
{
    const char *own = path_join(arena, UNIT_FOLDER, service->unit);
    const char *origin = service->origin ? service->origin : service->program;
    const char *prefix = path_dirname(arena, path_dirname(arena, origin));

    for (size_t i = 0; i < ARRAY_LEN(searched); i++) {
        *ret_path = path_join(arena, searched[i], service->unit);
        if (is_unit_there(*ret_path))
            return is_unit_there(own) ? UNIT_HIDDEN : UNIT_SYSTEM;
    }
    *ret_path = path_join(arena, path_join(arena, prefix, PREFIX_FOLDER), service->unit);
    if (is_unit_there(*ret_path))
        return UNIT_PREFIX;
    *ret_path = NULL;
    return UNIT_NONE;
}

const char *unit_dropin_path(struct arena *arena, const struct supervised *service)
{
    return arena_printf(arena, UNIT_FOLDER "/%s.d/" UNIT_DROPIN, service->unit);
}

/* A word of a unit file, in quotes where it is a word of a command. */
static void print_unit_word(struct buf *out, const char *word, const char *quote)
{
    buf_add_text(out, quote);
    for (const char *p = word; *p; p++) {
        if (*p == '%' || (*p == '$' && quote[0]))
            buf_add_char(out, *p); /* doubled: it begins a specifier or a variable */
        else if (*p == '"' || *p == '\\')
            buf_add_char(out, '\\');
        buf_add_char(out, *p);
    }
    buf_add_text(out, quote);
}

static void print_unit_command(struct buf *out, const struct supervised *service)
{
    buf_add_text(out, "ExecStart=");
    print_unit_word(out, service->program, "\"");
    buf_printf(out, " %s ", service->flag);
    print_unit_word(out, service->conf, "\"");
    buf_add_char(out, '\n');
}

static bool is_opened_before(const struct supervised *service, size_t folder, size_t opening)
{
    for (size_t i = 0; i <= folder; i++)
        for (size_t k = 0; k < ARRAY_LEN(openings); k++)
            if ((i < folder || k < opening) &&
                strcmp(openings[k].line, openings[opening].line) == 0 &&
                str_starts(str_from(service->writes[i]), str_from(openings[k].place)))
                return true;
    return false;
}

static void print_unit_folders(struct buf *out, const struct supervised *service)
{
    for (size_t i = 0; i < SUPERVISED_WRITES_MAX && service->writes[i]; i++) {
        buf_add_text(out, "ReadWritePaths=-");
        print_unit_word(out, service->writes[i], "");
        buf_add_char(out, '\n');
        for (size_t k = 0; k < ARRAY_LEN(openings); k++)
            if (str_starts(str_from(service->writes[i]), str_from(openings[k].place)) &&
                !is_opened_before(service, i, k))
                buf_add_text(out, openings[k].line);
    }
}

/* Commands that root runs in the folder of keys, such as a restore, leave files of root there. A
 * draft that a running daemon renames meanwhile must not keep the unit from starting. */
static void print_unit_user(struct buf *out, const struct supervised *service)
{
    if (!service->user)
        return;
    buf_printf(out, "User=%s\nGroup=%s\n", service->user, service->user);
    buf_printf(out, "ExecStartPre=-+/bin/chown -Rh %s:%s ", service->user, service->user);
    print_unit_word(out, service->owned, "\"");
    buf_add_char(out, '\n');
}

void unit_print_dropin(struct buf *out, const struct supervised *service)
{
    buf_printf(out,
               "# Written by '%s'; put changes of your own into another file here.\n"
               "[Unit]\nConditionPathExists=\nConditionPathExists=",
               service->writer);
    print_unit_word(out, service->conf, "");
    buf_add_text(out, "\n\n[Service]\nExecStart=\n");
    print_unit_command(out, service);
    print_unit_user(out, service);
    print_unit_folders(out, service);
}

void unit_print_whole(struct buf *out, const struct supervised *service, const char *after)
{
    buf_printf(out, "[Unit]\nDescription=%s\nAfter=%s\nWants=%s\n\n[Service]\n", service->summary,
               after, after);
    print_unit_command(out, service);
    buf_add_text(out, "ExecReload=/bin/kill -HUP $MAINPID\n"
                      "Restart=always\n"
                      "RestartSec=2\n"
                      "LimitNOFILE=1048576\n");
    if (service->keeps_children)
        buf_add_text(out, "KillMode=process\nOOMPolicy=continue\n");
    if (service->final_status > 0)
        buf_printf(out, "RestartPreventExitStatus=%d\n", service->final_status);
    buf_add_text(out, "\n"
                      "[Install]\n"
                      "WantedBy=multi-user.target\n");
}
