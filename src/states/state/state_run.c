/* Functions of states/state/module.h that running modules call. */
#include "states/state/module.h"

#include <string.h>

#include "core/base/digest.h"
#include "core/base/err.h"
#include "core/base/sha256.h"
#include "core/base/textdiff.h"
#include "states/state/host.h"
#include "states/state/secrets.h"
#include "states/state/services.h"
#include "core/sys/cancel.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/process.h"

/* Larger contents are only summarised. */
#define CONTENT_DIFF_MAX ((size_t)1 << 20)

/* --- differences ------------------------------------------------------------------ */

static void end_message_line(struct buf *text)
{
    if (text->n > 0 && text->p[text->n - 1] != '\n')
        buf_add_char(text, '\n');
}

/* Is `said` a line of the text? */
static bool has_message_line(struct str text, struct str said)
{
    while (text.p && text.n > 0)
        if (str_eq(str_cut(&text, '\n'), said))
            return true;
    return false;
}

/* The text after `from` is a new sentence, unless state_made reported it already. A cleared text
 * starts over. */
static void note_sentence(struct state_run *run, size_t from)
{
    struct state_report *done = run->done;

    if (!done)
        return;
    if (from == 0)
        buf_clear(&done->text);
    if (has_message_line(buf_view(&done->text), str_from_offset(buf_view(&run->text), from)))
        return;
    end_message_line(&done->text);
    done->last = done->text.n;
    buf_add_str(&done->text, str_from_offset(buf_view(&run->text), from));
}

/* Apply may repeat the words of check. */
static void PRINTF_LIKE(2, 0) add_sentence(struct state_run *run, const char *fmt, va_list args)
{
    const size_t before = run->text.n;
    size_t from;

    end_message_line(&run->text);
    from = run->text.n;
    buf_vprintf(&run->text, fmt, args);
    if (has_message_line(str_slice(buf_view(&run->text), 0, from),
                         str_from_offset(buf_view(&run->text), from)))
        buf_cut(&run->text, before);
    else
        note_sentence(run, from);
}

void state_differs(struct state_run *run, const char *fmt, ...)
{
    va_list args;

    run->differs = true;
    va_start(args, fmt);
    add_sentence(run, fmt, args);
    va_end(args);
}

void state_made(struct state_run *run, const char *fmt, ...)
{
    va_list args;

    if (!run->done)
        return;
    buf_cut(&run->done->text, run->done->last);
    va_start(args, fmt);
    buf_vprintf(&run->done->text, fmt, args);
    va_end(args);
}

/* The length comes first, so that two texts never hash like one. */
void state_bind(struct state_run *run, struct str bytes)
{
    const uint64_t length = bytes.p ? bytes.n : UINT64_MAX;

    if (!run->plan_binding)
        return;
    sha256_add(run->plan_binding, &length, sizeof(length));
    if (bytes.p)
        sha256_add(run->plan_binding, bytes.p, bytes.n);
}

static int bind_file(struct state_run *run, const char *path, struct err *err)
{
    AUTO_FD int fd = -1;
    struct fs_info info;
    char hex[DIGEST_HEX_MAX];

    if (fs_open(path, &fd, &info, err) < 0)
        return -1;
    if (fd >= 0 && fs_hash_fd(fd, path, digest_find(STR("sha256")), hex, err) < 0)
        return -1;
    state_bind(run, fd >= 0 ? str_from(hex) : (struct str){ NULL, 0 });
    return 0;
}

int state_bind_path(struct state_run *run, const char *path, struct err *err)
{
    const char *target = NULL;
    struct fs_info info;

    if (!run->plan_binding)
        return 0;
    if (fs_lstat(path, &info, err) < 0 ||
        (info.kind == FS_LINK && fs_readlink(run->arena, path, &target, err) < 0))
        return -1;
    state_bind(run, str_from(path));
    state_bind(run, str_from(fs_kind_name(info.kind)));
    if (target)
        state_bind(run, str_from(target));
    return info.kind == FS_FILE ? bind_file(run, path, err) : 0;
}

void state_acts(struct state_run *run)
{
    run->acts = true;
}

void state_say(struct state_run *run, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add_sentence(run, fmt, args);
    va_end(args);
}

void state_diff(struct state_run *run, const char *what, const char *old, const char *now)
{
    state_differs(run, "%s: %s -> %s", what, old ? old : "(none)", now ? now : "(none)");
}

static const char *describe_content_kind(const struct state_run *run, struct str text)
{
    if (run->secret)
        return "secret";
    return text.n > CONTENT_DIFF_MAX ? "large" : "binary";
}

void state_diff_content(struct state_run *run, const char *path, struct str old, struct str now)
{
    bool shown = !run->secret && old.n <= CONTENT_DIFF_MAX && now.n <= CONTENT_DIFF_MAX &&
                 !textdiff_is_binary(old) && !textdiff_is_binary(now);
    size_t from;

    run->differs = true;
    state_bind(run, old);
    state_bind(run, now);
    if (shown && (old.n > 0 || now.n > 0)) {
        end_message_line(&run->text);
        from = run->text.n;
        textdiff(old, now, old.p ? path : "/dev/null", now.p ? path : "/dev/null", &run->text);
        note_sentence(run, from);
    } else if (!old.p) {
        state_differs(run, "new file %s, %zu bytes", path, now.n);
    } else if (!now.p) {
        state_differs(run, "file %s will be removed, %zu bytes", path, old.n);
        state_made(run, "removed file %s, %zu bytes", path, old.n);
    } else {
        const char *word = describe_content_kind(run, old.n > now.n ? old : now);

        state_differs(run, "%s content of %s changes: %zu -> %zu bytes", word, path, old.n, now.n);
        state_made(run, "%s content of %s changed: %zu -> %zu bytes", word, path, old.n, now.n);
    }
}

/* --- details and notes -------------------------------------------------------------- */

void state_detail_value(struct state_run *run, const char *key, struct value value)
{
    if (!run->details)
        run->details = value_map_new(run->arena, 4);
    value_map_set(run->arena, run->details, value_text(arena_strdup(run->arena, key)),
                  value_copy(run->arena, &value));
}

void state_detail(struct state_run *run, const char *key, const char *fmt, ...)
{
    va_list args;
    const char *text;

    va_start(args, fmt);
    text = arena_vprintf(run->arena, fmt, args);
    va_end(args);
    state_detail_value(run, key, value_text(text));
}

void state_return(struct state_run *run, struct value value)
{
    struct value *copy = ARENA_NEW(run->arena, struct value);

    *copy = value_copy(run->arena, &value);
    run->value = copy;
}

int state_note(struct state_run *run, const char *key, struct value value, struct err *err)
{
    if (!run->change)
        return err_set(err, ERR_UNSUPPORTED, "note '%s': nothing may be noted while checking", key);
    if (!run->notes)
        run->notes = value_map_new(run->arena, 4);
    value_map_set(run->arena, run->notes, value_text(arena_strdup(run->arena, key)),
                  value_copy(run->arena, &value));
    return run->host->services->note(run, key, &value, err);
}

const struct value *state_noted(const struct state_run *run, const char *key)
{
    const struct value text = value_text(key);

    return run->notes ? value_map_find(run->notes, &text) : NULL;
}

void state_unchanged(struct state_run *run)
{
    run->unchanged = true;
}

void state_untouched(struct state_run *run)
{
    run->untouched = true;
}

int state_acts_for(struct state_run *run, const char *name, struct err *err)
{
    return run->group->begin(run->group->user, name, err);
}

/* --- services for modules ------------------------------------------------------------- */

int state_command(struct state_run *run, const struct process_spec *spec, int64_t timeout_ns,
                  struct process_result *ret, struct err *err)
{
    const struct process_bounds bounds = { .timeout = timeout_ns };
    struct process_spec masked = *spec;

    if (run->umask && !spec->has_umask) {
        masked.has_umask = true;
        masked.umask = *run->umask;
    }
    if (process_run(&masked, &bounds, run->host->cancel, run->arena, ret, err) < 0)
        return -1;
    if (ret->canceled)
        return err_set(err, ERR_CANCELED, "canceled while running the command");
    return 0;
}

int state_source(struct state_run *run, const char *source, const char *hash, struct str *ret,
                 struct err *err)
{
    const struct source_trust trust = { .hash = hash };

    return state_source_trusted(run, source, &trust, ret, err);
}

/* Everything that check reads affects the planned change. */
int state_source_trusted(struct state_run *run, const char *source,
                         const struct source_trust *trust, struct str *ret, struct err *err)
{
    if (run->host->services->source(run, source, trust, ret, err) < 0)
        return -1;
    state_bind(run, *ret);
    return 0;
}

int state_source_content(struct state_run *run, const char *source,
                         const struct source_trust *trust, struct source_content *ret,
                         struct err *err)
{
    char hex[DIGEST_HEX_MAX];

    if (run->host->services->source_content(run, source, trust, ret, err) < 0)
        return -1;
    if (run->plan_binding) {
        if (state_source_digest(ret, digest_find(STR("sha256")), hex, err) < 0)
            return -1;
        state_bind(run, str_from(hex));
    }
    return 0;
}

int state_source_digest(const struct source_content *content, const struct digest *digest,
                        char *ret_hex, struct err *err)
{
    AUTO_FD int fd = -1;
    struct fs_info info;

    if (!content->file)
        return digest_hex(digest, content->text, cancel_check, ret_hex, err);
    if (fs_open(content->file, &fd, &info, err) < 0)
        return -1;
    if (fd < 0)
        return err_set(err, ERR_NOT_FOUND, "%s does not exist", content->file);
    return fs_hash_fd(fd, content->file, digest, ret_hex, err);
}

int state_source_path(struct state_run *run, const char *source, const char **ret, struct err *err)
{
    return run->host->services->source_path(run, source, ret, err);
}

int state_source_list(struct state_run *run, const char *source, struct value_list **ret,
                      struct err *err)
{
    return run->host->services->source_list(run, source, ret, err);
}

int state_render(struct state_run *run, const char *name, struct str text,
                 const struct value *extra, struct str *ret, struct err *err)
{
    return run->host->services->render(run, name, text, extra, ret, err);
}

const struct value *state_grains(const struct state_run *run)
{
    return host_grains(run->host);
}

const struct value *state_facts(const struct state_run *run)
{
    return host_facts(run->host);
}

const struct value *state_settings(const struct state_run *run)
{
    return run->host->settings;
}

void state_secret(struct state_run *run, struct str text)
{
    secrets_add(run->host->secrets, text);
}
