#include "commands/migrate/salt_tag.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/mem.h"

#define PARTS_MAX   8
#define ID_PEEL     "event.peel"
#define ID_ENROLL   "data['peel_id']"
#define ID_PRESENCE "data['peel']"

/* No other event of Salt's own has a counterpart. */
static const struct salt_tag absent = { NULL, ID_PEEL, "there is no such event here" };

struct parts {
    const char *p[PARTS_MAX];
    size_t n;
};

static struct parts split_tag(struct arena *arena, struct str tag)
{
    struct parts parts = { 0 };

    while (tag.p && parts.n < PARTS_MAX) {
        const struct str part = str_cut(&tag, '/');

        parts.p[parts.n++] = arena_strndup(arena, part.p, part.n);
    }
    return parts;
}

const char *salt_tag_beacon(const char *name)
{
    static const struct {
        const char *salt, *ours;
    } names[] = { { "diskusage", "disk" },
                  { "memusage", "memory" },
                  { "inotify", "file" },
                  { "ps", "process" } };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i].salt) == 0)
            return names[i].ours;
    return name;
}

static struct salt_tag read_beacon(struct arena *arena, const struct parts *parts)
{
    const char *id = parts->n > 2 ? parts->p[2] : "*";
    const char *name = parts->n > 3 ? salt_tag_beacon(parts->p[3]) : "*";

    return (struct salt_tag){
        .key = arena_printf(arena, "%s/beacon/%s/%s", id, id, name),
        .id = ID_PEEL,
        .remark = "the data of beacons have other keys: 'zester-peel beacons' lists them",
    };
}

static struct salt_tag read_job_tag(struct arena *arena, const struct parts *parts)
{
    const char *jid = parts->n > 2 ? parts->p[2] : "*";
    const char *what = parts->n > 3 ? parts->p[3] : "*";

    if (strcmp(what, "new") == 0)
        return (struct salt_tag){ arena_printf(arena, "_master/job/%s/dispatched", jid), ID_PEEL,
                                  NULL };
    if (strcmp(what, "ret") == 0)
        return (struct salt_tag){ arena_printf(arena, "_master/job/%s/finalized", jid), ID_PEEL,
                                  "there is one event for each job, not for each machine that "
                                  "returns" };
    return (struct salt_tag){ arena_printf(arena, "_master/job/%s/*", jid), ID_PEEL, NULL };
}

/* A machine has come. */
static struct salt_tag make_online(struct arena *arena, const char *id)
{
    return (struct salt_tag){ arena_printf(arena, "_master/peel/%s/online", id), ID_PRESENCE,
                              "it is raised when a machine that was offline connects, not at each "
                              "start of its agent" };
}

static struct salt_tag read_minion(struct arena *arena, const struct parts *parts)
{
    return parts->n > 3 && strcmp(parts->p[3], "start") == 0 ? make_online(arena, parts->p[2])
                                                             : absent;
}

static struct salt_tag read_presence(const struct parts *parts)
{
    if (parts->n < 3 || strcmp(parts->p[2], "change") != 0)
        return absent;
    return (struct salt_tag){ "_master/peel/*", ID_PRESENCE,
                              "there is an event for each machine, .../online or .../offline, with "
                              "'peel' instead of 'new' and 'lost'" };
}

static struct salt_tag read_own(struct arena *arena, const struct parts *parts)
{
    const char *family = parts->n > 1 ? parts->p[1] : "";

    if (strcmp(family, "beacon") == 0)
        return read_beacon(arena, parts);
    if (strcmp(family, "job") == 0)
        return read_job_tag(arena, parts);
    if (strcmp(family, "auth") == 0 || strcmp(family, "auth*") == 0)
        return (struct salt_tag){ "_master/enroll/pending/*", ID_ENROLL,
                                  "only machines that wait for a decision raise this event" };
    if (strcmp(family, "minion") == 0)
        return read_minion(arena, parts);
    if (strcmp(family, "presence") == 0)
        return read_presence(parts);
    return absent;
}

struct salt_tag salt_tag_read(struct arena *arena, struct str tag)
{
    const struct parts parts = split_tag(arena, tag);

    if (str_is(tag, "*") || str_is(tag, "salt/*"))
        return (struct salt_tag){ "*", ID_PEEL, NULL };
    if (strcmp(parts.p[0], "salt") == 0)
        return read_own(arena, &parts);
    if (strcmp(parts.p[0], "minion_start") == 0)
        return make_online(arena, "*");
    return (struct salt_tag){ arena_printf(arena, "*/%.*s", STR_ARG(tag)), ID_PEEL, NULL };
}
