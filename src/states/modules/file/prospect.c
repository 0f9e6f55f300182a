#include "states/modules/file/prospect.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/textdiff.h"
#include "core/data/value.h"
#include "states/modules/file/attrs.h"
#include "states/state/module.h"
#include "core/sys/fs.h"

#define TEXT_MAX ((size_t)64 << 20)

struct str prospect_diff(struct state_run *run, struct str old, struct str now,
                         const char *old_name, const char *new_name)
{
    const bool was_binary = textdiff_is_binary(old), is_binary = textdiff_is_binary(now);
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    if (str_eq(old, now))
        return STR("");
    if (was_binary || is_binary)
        return str_from(!is_binary    ? "Replace binary file with text file"
                        : !was_binary ? "Replace text file with binary file"
                                      : "Replace binary file");
    textdiff(old, now, old_name, new_name, &out);
    return buf_copy(&out, run->arena);
}

static int read_future_content(struct state_run *run, const struct prospect_args *want,
                               struct content *ret, struct err *err)
{
    struct content_args args = want->content;

    args.path = want->name;
    if (!want->ready)
        return content_get(run, &args, ret, err);
    *ret = (struct content){ .given = true };
    if (fs_read(run->arena, want->ready, TEXT_MAX, &ret->text, err) < 0)
        return -1;
    return ret->text.p ? 0 : err_set(err, ERR_NOT_FOUND, "%s does not exist", want->ready);
}

static int compare_future_content(struct state_run *run, const struct prospect_args *want,
                                  struct str wanted, struct value_map *changes, struct err *err)
{
    struct str now, diff;

    if (fs_read(run->arena, want->name, TEXT_MAX, &now, err) < 0)
        return -1;
    diff = prospect_diff(run, now, wanted, "", "");
    if (diff.n > 0)
        value_map_set(run->arena, changes, value_text("diff"), value_str(diff));
    return 0;
}

static int compare_attributes(struct state_run *run, const struct prospect_args *want,
                              const struct content *content, const struct fs_info *info,
                              struct value_map *changes, struct err *err)
{
    struct attrs attrs;

    if (attrs_read(run, want->mode, want->user, want->group, &attrs, err) < 0 ||
        ((want->keep_mode || attrs.keep_mode) && content->source &&
         content_source_mode(run, content->source, &attrs.want.mode, err) < 0))
        return -1;
    if (attrs.want.uid != CHANGE_KEEP_ID && attrs.want.uid != info->uid)
        value_map_set(run->arena, changes, value_text("user"), value_text(want->user));
    if (attrs.want.gid != CHANGE_KEEP_ID && attrs.want.gid != info->gid)
        value_map_set(run->arena, changes, value_text("group"), value_text(want->group));
    if (attrs.want.mode != CHANGE_KEEP_MODE && attrs.want.mode != info->mode)
        value_map_set(run->arena, changes, value_text("mode"),
                      value_text(arena_printf(run->arena, "%04o", (unsigned)attrs.want.mode)));
    return 0;
}

int prospect_find(struct state_run *run, const struct prospect_args *want, struct value *ret,
                  struct err *err)
{
    struct value_map *changes = value_map_new(run->arena, 4);
    struct content content;
    struct fs_info info;

    if (want->chattr && value_is_true(want->chattr))
        return err_set(err, ERR_UNSUPPORTED, "attributes of chattr(1) are not managed");
    if (read_future_content(run, want, &content, err) < 0 || fs_stat(want->name, &info, err) < 0)
        return -1;
    *ret = value_map(changes);
    if (info.kind == FS_NONE) {
        value_map_set(run->arena, changes, value_text("newfile"), value_text(want->name));
        return 0;
    }
    if (content.given && compare_future_content(run, want, content.text, changes, err) < 0)
        return -1;
    if (!want->follow && fs_lstat(want->name, &info, err) < 0)
        return -1;
    return compare_attributes(run, want, &content, &info, changes, err);
}
