/* file.find - paths below a folder, by name, kind, owner, size, age, depth and content. */
#include <string.h>

#include "core/base/err.h"
#include "core/base/glob.h"
#include "core/base/matcher.h"
#include "core/base/number.h"
#include "states/state/module.h"
#include "core/sys/account.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/tree.h"

#define ARGS      struct find_args
#define DEPTH_MAX 256
#define FOUND_MAX 100000
#define TEXT_MAX  ((size_t)64 << 20)

struct find_args {
    const char *path, *type, *owner, *group;
    struct param_strs name, iname;
    const char *regex, *iregex, *grep, *size, *mtime;
    int64_t maxdepth, mindepth;
};

/* clang-format off */
static const struct param find_params[] = {
    PARAM("path", PATH, ARGS, path, "the folder", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("name", STRS, ARGS, name, "globs for the last part of the path"),
    PARAM("iname", STRS, ARGS, iname, "the same without case"),
    PARAM("regex", STR, ARGS, regex, "a pattern for the last part, from its start"),
    PARAM("iregex", STR, ARGS, iregex, "the same without case"),
    PARAM("type", STR, ARGS, type, "kinds: f, d, l, b, c, p, s"),
    PARAM("owner", STR, ARGS, owner, "a user, by name or number", .aliases = "user"),
    PARAM("group", STR, ARGS, group, "a group, by name or number"),
    PARAM("maxdepth", INT, ARGS, maxdepth, "how deep below the folder", .default_text = "256", PARAM_RANGE(0, DEPTH_MAX)),
    PARAM("mindepth", INT, ARGS, mindepth, "nothing above this depth", PARAM_RANGE(0, DEPTH_MAX)),
    PARAM("grep", STR, ARGS, grep, "a pattern that the content matches"),
    PARAM("size", STR, ARGS, size, "bytes, or with a unit: 10k, +1m (at least), -2g (at most)"),
    PARAM("mtime", STR, ARGS, mtime, "when it was changed: +30d (earlier), -1w3d (since), 3h (in that hour)"),
    PARAM_REFUSED("delete", "this function only reads; use file.tidied"),
    PARAM_REFUSED("exec", "this function only reads; use cmd.run"),
    PARAM_REFUSED("print", "paths are returned"),
    { 0 },
};
/* clang-format on */

/* Both ends are in it. */
struct find_range {
    int64_t low, high;
};

struct finding {
    struct state_run *run;
    const struct find_args *want;
    const struct matcher *regex, *iregex, *grep;
    uid_t uid;
    gid_t gid;
    struct find_range size, mtime; /* bytes; wall nanoseconds */
    struct value_list *list;
};

/* Salt's numbers with a sign: "+" is this and more, "-" this and less, none is one unit. */
static char cut_sign(struct str *text)
{
    const char sign = (char)(text->n > 0 ? text->p[0] : '\0');

    if (sign != '+' && sign != '-')
        return '=';
    *text = str_trim(str_from_offset(*text, 1));
    return sign;
}

static struct str find_time_unit(struct str text)
{
    const bool has_unit = text.n > 0 && (text.p[text.n - 1] < '0' || text.p[text.n - 1] > '9');

    return str_from_offset(text, text.n - (has_unit ? 1 : 0));
}

/* "10k" is from 10240 up to 11263 bytes. */
static int parse_size(const char *given, struct find_range *ret, struct err *err)
{
    struct str text = str_trim(str_from(given));
    const char sign = cut_sign(&text);
    const struct str unit = find_time_unit(text);
    uint64_t size, step = 1;
    char one[] = { '1', unit.n > 0 ? unit.p[0] : 'b', '\0' };

    if (number_parse_size(text, &size, err) < 0 || number_parse_size(str_from(one), &step, err) < 0)
        return err_wrap(err, "size");
    if (size > INT64_MAX - step)
        return err_set(err, ERR_LIMIT, "size: '%s' is too large", given);
    ret->low = sign == '-' ? 0 : (int64_t)size;
    ret->high = sign == '+' ? INT64_MAX : (int64_t)(sign == '-' ? size : size + step - 1);
    return 0;
}

/* "3d" is the day that ended three days ago; a number alone counts days. */
static int parse_mtime(struct state_run *run, const char *given, struct find_range *ret,
                       struct err *err)
{
    struct str text = str_trim(str_from(given));
    const char sign = cut_sign(&text);
    const struct str unit = find_time_unit(text);
    const int64_t now = clock_wall();
    int64_t age, step;

    if (unit.n == 0)
        text = str_from(arena_printf(run->arena, "%.*sd", STR_ARG(text)));
    if (number_parse_duration(text, &age, err) < 0 ||
        number_parse_duration(str_from(arena_printf(run->arena, "1%s", find_time_unit(text).p)),
                              &step, err) < 0)
        return err_wrap(err, "mtime");
    ret->low = sign == '-' ? now - age : sign == '+' ? INT64_MIN : now - age - step;
    ret->high = sign == '-' ? INT64_MAX : now - age;
    return 0;
}

static bool is_in_range(const struct find_range *range, int64_t number)
{
    return number >= range->low && number <= range->high;
}

static bool match_any_glob(struct param_strs globs, const char *name, unsigned flags)
{
    for (size_t i = 0; i < globs.n; i++)
        if (glob_match_with(str_from(globs.p[i]), str_from(name), flags))
            return true;
    return globs.n == 0;
}

static bool is_kind_wanted(const char *letters, enum fs_kind kind)
{
    static const char letter_of[] = {
        [FS_FILE] = 'f', [FS_FOLDER] = 'd', [FS_LINK] = 'l',   [FS_BLOCK] = 'b',
        [FS_CHAR] = 'c', [FS_FIFO] = 'p',   [FS_SOCKET] = 's',
    };

    return !letters || ((size_t)kind < sizeof(letter_of) && letter_of[kind] &&
                        strchr(letters, letter_of[kind]));
}

static int is_entry_matched(const struct matcher *matcher, struct str text, bool *ret,
                            struct err *err)
{
    return *ret && matcher ? matcher_find(matcher, text, 0, NULL, ret, err) : 0;
}

/* An unreadable file matches no content. */
static int has_file_matching_text(const struct finding *f, const struct tree_entry *entry,
                                  bool *ret, struct err *err)
{
    struct str text;
    struct err ignored;

    if (!*ret || !f->grep)
        return 0;
    *ret = entry->info.kind == FS_FILE &&
           fs_read(f->run->arena, entry->path, TEXT_MAX, &text, &ignored) == 0 && text.p;
    return is_entry_matched(f->grep, *ret ? text : STR(""), ret, err);
}

static int visit_found_entry(void *self, enum tree_step step, const struct tree_entry *entry,
                             struct err *err)
{
    struct finding *f = self;
    const struct find_args *want = f->want;
    const char *slash = strrchr(entry->path, '/');
    const char *name = slash && slash[1] ? slash + 1 : entry->path;
    bool found =
        step != TREE_LEAVE && (int64_t)entry->depth <= want->maxdepth &&
        (int64_t)entry->depth >= want->mindepth && is_kind_wanted(want->type, entry->info.kind) &&
        (!want->owner || entry->info.uid == f->uid) &&
        (!want->group || entry->info.gid == f->gid) &&
        (!want->size || is_in_range(&f->size, (int64_t)entry->info.size)) &&
        (!want->mtime || is_in_range(&f->mtime, entry->info.mtime)) &&
        match_any_glob(want->name, name, 0) && match_any_glob(want->iname, name, GLOB_FOLD);

    if (is_entry_matched(f->regex, str_from(name), &found, err) < 0 ||
        is_entry_matched(f->iregex, str_from(name), &found, err) < 0 ||
        has_file_matching_text(f, entry, &found, err) < 0)
        return -1;
    if (found && f->list->count >= FOUND_MAX)
        return err_set(err, ERR_LIMIT, "more than %d paths found", FOUND_MAX);
    if (found)
        value_list_push(f->run->arena, f->list,
                        value_text(arena_strdup(f->run->arena, entry->path)));
    return 0;
}

static int make_matcher(struct state_run *run, const char *text, unsigned flags,
                        const struct matcher **ret, struct err *err)
{
    return text ? matcher_new(run->arena, str_from(text), flags, ret, NULL, err) : 0;
}

static int find_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct find_args *want = args;
    struct finding f = { .run = run, .want = want, .list = value_list_new(run->arena, 16) };
    struct fs_info info;

    *ret = value_list(f.list);
    if (make_matcher(run, want->regex, MATCHER_ANCHORED, &f.regex, err) < 0 ||
        make_matcher(run, want->iregex, MATCHER_ANCHORED | MATCHER_IGNORE_CASE, &f.iregex, err) <
            0 ||
        make_matcher(run, want->grep, MATCHER_MULTILINE, &f.grep, err) < 0 ||
        (want->size && parse_size(want->size, &f.size, err) < 0) ||
        (want->mtime && parse_mtime(run, want->mtime, &f.mtime, err) < 0) ||
        (want->owner && account_parse_user(want->owner, &f.uid, err) < 0) ||
        (want->group && account_parse_group(want->group, &f.gid, err) < 0) ||
        fs_lstat(want->path, &info, err) < 0)
        return -1;
    return info.kind == FS_NONE ? 0 : tree_walk(want->path, visit_found_entry, &f, err);
}

const struct module module_file_find = {
    .name = "file.find",
    .summary = "paths below a folder, by name, kind, owner, size, age, depth and content",
    .params = find_params,
    .args_size = sizeof(struct find_args),
    .call = find_call,
};
