#include "states/modules/user/accountdb.h"

#include <pthread.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/base/number.h"
#include "core/edit/colons.h"
#include "core/edit/lines.h"
#include "states/modules/user/accounts.h"
#include "core/sys/account.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"

#define SWITCH_PATH "/etc/nsswitch.conf"
#define SWITCH_MAX  ((size_t)1 << 20)
/* A file that changed this shortly before it was read may change again without a visible
 * difference: file times have a coarse granularity. */
#define TOO_FRESH (100 * CLOCK_MS)
#define ID_TEXT   16

enum table_kind { OF_USERS, OF_SHADOW, OF_GROUPS };

static struct table {
    const char *path;
    struct str database;       /* in nsswitch.conf */
    bool known, answers;       /* loaded, and authoritative */
    struct fs_info file, rule; /* file times at that moment */
    struct arena arena;
    struct map lines;   /* by name; to a struct str */
    struct map ids;     /* by number; groups only */
    struct map members; /* "group:member"; groups only */
} tables[] = {
    [OF_USERS] = { .path = "/etc/passwd", .database = { "passwd", 6 }, .arena = ARENA_INIT },
    [OF_SHADOW] = { .path = "/etc/shadow", .database = { "shadow", 6 }, .arena = ARENA_INIT },
    [OF_GROUPS] = { .path = "/etc/group", .database = { "group", 5 }, .arena = ARENA_INIT },
};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* --- reading --------------------------------------------------------------------------- */

/* Do the files come first in nsswitch.conf, without merging? */
static bool is_asking_files(struct str rules, struct str database)
{
    struct line line;

    while (lines_next(&rules, &line)) {
        struct str rest = line.text;
        const struct str key = str_trim(str_cut(&rest, ':'));

        if (rest.p && str_eq(key, database))
            return str_is(lines_word(&rest), "files") && !str_starts(lines_word(&rest), STR("["));
    }
    return true; /* the default */
}

static void add_group_members(struct table *table, struct str group, struct str members)
{
    while (members.p && members.n > 0) {
        const struct str member = str_cut(&members, ',');
        char *key = arena_printf(&table->arena, "%.*s:%.*s", STR_ARG(group), STR_ARG(member));

        map_set(&table->members, str_from(key), key);
    }
}

/* The first line of a name counts; NIS lines are ignored. */
static void add_database_line(struct table *table, struct str text)
{
    const struct str name = colons_field(text, 0), id = colons_field(text, 2);
    struct str *line;

    if (!colons_is_name(name) || map_has(&table->lines, name))
        return;
    line = ARENA_NEW(&table->arena, struct str);
    *line = text;
    map_set(&table->lines, name, line);
    if (table != &tables[OF_GROUPS])
        return;
    if (id.n > 0 && !map_has(&table->ids, id))
        map_set(&table->ids, id, line);
    add_group_members(table, name, colons_field(text, 3));
}

static void clear_table(struct table *table)
{
    arena_clear(&table->arena);
    table->lines = table->ids = table->members = (struct map)MAP_INIT_IN(&table->arena);
    table->known = table->answers = false;
}

static int load_account_table(struct table *table, struct err *err)
{
    struct str text, rules;
    struct line line;

    clear_table(table);
    if (fs_read(&table->arena, SWITCH_PATH, SWITCH_MAX, &rules, err) < 0 ||
        fs_read(&table->arena, table->path, ACCOUNTS_FILE_MAX, &text, err) < 0)
        return -1;
    table->answers = !rules.p || is_asking_files(rules, table->database);
    while (table->answers && text.p && lines_next(&text, &line))
        add_database_line(table, line.text);
    return 0;
}

static bool is_line_same(const struct fs_info *a, const struct fs_info *b)
{
    return a->kind == b->kind && a->device == b->device && a->inode == b->inode &&
           a->size == b->size && a->mtime == b->mtime && a->ctime == b->ctime;
}

/* The table for the current file; NULL when the file is not authoritative. */
static struct table *find_table(enum table_kind kind)
{
    struct table *table = &tables[kind];
    struct fs_info file, rule;
    struct err ignored; /* if it cannot be read, use the name services */

    if (fs_stat(table->path, &file, &ignored) < 0 || fs_stat(SWITCH_PATH, &rule, &ignored) < 0)
        return NULL;
    if (!table->known || !is_line_same(&file, &table->file) || !is_line_same(&rule, &table->rule)) {
        if (load_account_table(table, &ignored) < 0)
            return NULL;
        table->file = file;
        table->rule = rule;
        table->known = clock_wall() - file.ctime > TOO_FRESH;
    }
    return table->answers ? table : NULL;
}

static struct str find_database_line(enum table_kind kind, const char *name)
{
    const struct table *table = find_table(kind);
    const struct str *line = table ? map_find(&table->lines, str_from(name)) : NULL;

    return line ? *line : (struct str){ NULL, 0 };
}

/* --- lines ------------------------------------------------------------------------------ */

static const char *read_field_text(struct arena *arena, struct str line, size_t field)
{
    const struct str text = colons_field(line, field);

    return arena_strndup(arena, text.p ? text.p : "", text.n);
}

static bool read_id(struct str line, size_t field, uint32_t *ret)
{
    struct err ignored;
    uint64_t id;

    if (number_parse_uint(colons_field(line, field), &id, &ignored) < 0 || id >= UINT32_MAX)
        return false;
    *ret = (uint32_t)id;
    return true;
}

static bool read_user(struct arena *arena, struct str line, const struct account **ret_account)
{
    struct account *account = ARENA_NEW(arena, struct account);

    if (!colons_field(line, 6).p || !read_id(line, 2, &account->uid) ||
        !read_id(line, 3, &account->gid))
        return false;
    account->name = read_field_text(arena, line, 0);
    account->full_name = read_field_text(arena, line, 4);
    account->home = read_field_text(arena, line, 5);
    account->shell = read_field_text(arena, line, 6);
    *ret_account = account;
    return true;
}

static bool read_database_group(struct arena *arena, struct str line,
                                const struct account_group **ret_group)
{
    struct account_group *group = ARENA_NEW(arena, struct account_group);
    struct str rest = colons_field(line, 3);
    VEC(const char *) members = VEC_INIT;

    if (!rest.p || !read_id(line, 2, &group->gid))
        return false;
    while (rest.p && rest.n > 0) {
        const struct str member = str_cut(&rest, ',');

        if (member.n > 0)
            VEC_PUSH_IN(arena, &members, arena_strndup(arena, member.p, member.n));
    }
    VEC_PUSH_IN(arena, &members, NULL);
    group->name = read_field_text(arena, line, 0);
    group->members = members.p;
    *ret_group = group;
    return true;
}

/* An empty field is unset. */
static bool read_database_days(struct str line, size_t field, int64_t *ret_days)
{
    const struct str text = colons_field(line, field);
    struct err ignored;

    *ret_days = ACCOUNTS_UNSET;
    return text.p && (text.n == 0 || number_parse_int(text, ret_days, &ignored) == 0);
}

static bool read_shadow_line(struct arena *arena, struct str line, struct accounts_user *user)
{
    int64_t *const days[] = { &user->changed, &user->min,      &user->max,
                              &user->warn,    &user->inactive, &user->expire };

    for (size_t i = 0; i < ARRAY_LEN(days); i++)
        if (!read_database_days(line, i + 2, days[i]))
            return false;
    user->hash = read_field_text(arena, line, 1);
    return true;
}

/* --- look-up ----------------------------------------------------------------------------- */

bool accountdb_find_user(struct arena *arena, const char *name, const struct account **ret_account)
{
    struct str line;
    bool known;

    (void)pthread_mutex_lock(&mutex);
    line = find_database_line(OF_USERS, name);
    known = line.p && read_user(arena, line, ret_account);
    (void)pthread_mutex_unlock(&mutex);
    return known;
}

bool accountdb_find_shadow(struct arena *arena, const char *name, struct accounts_user *user)
{
    struct str line;
    bool known;

    (void)pthread_mutex_lock(&mutex);
    line = find_database_line(OF_SHADOW, name);
    known = line.p && read_shadow_line(arena, line, user);
    (void)pthread_mutex_unlock(&mutex);
    return known;
}

bool accountdb_find_group(struct arena *arena, const char *name,
                          const struct account_group **ret_group)
{
    struct str line;
    bool known;

    (void)pthread_mutex_lock(&mutex);
    line = find_database_line(OF_GROUPS, name);
    known = line.p && read_database_group(arena, line, ret_group);
    (void)pthread_mutex_unlock(&mutex);
    return known;
}

bool accountdb_find_gid(struct arena *arena, gid_t gid, const struct account_group **ret_group)
{
    const char *id = arena_printf(arena, "%u", gid);
    const struct table *table;
    const struct str *line;
    bool known;

    (void)pthread_mutex_lock(&mutex);
    table = find_table(OF_GROUPS);
    line = table ? map_find(&table->ids, str_from(id)) : NULL;
    known = line && read_database_group(arena, *line, ret_group);
    (void)pthread_mutex_unlock(&mutex);
    return known;
}

bool accountdb_gid_of(const char *group, gid_t *ret_gid)
{
    struct str line;
    bool known;

    (void)pthread_mutex_lock(&mutex);
    line = find_database_line(OF_GROUPS, group);
    known = line.p && colons_field(line, 3).p && read_id(line, 2, ret_gid);
    (void)pthread_mutex_unlock(&mutex);
    return known;
}

bool accountdb_is_member(const char *group, const char *user)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct str key = str_from(arena_printf(&arena, "%s:%s", group, user));
    const struct table *table;
    bool member;

    (void)pthread_mutex_lock(&mutex);
    table = find_table(OF_GROUPS);
    member = table && map_has(&table->members, key);
    (void)pthread_mutex_unlock(&mutex);
    return member;
}
