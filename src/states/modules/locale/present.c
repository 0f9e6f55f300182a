/* locale.present - makes a locale available. */
#include <ctype.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/edit/edit.h"
#include "core/edit/lines.h"
#include "states/modules/file/editor.h"
#include "states/modules/cmd/run_tool.h"
#include "states/state/module.h"
#include "states/state/validate.h"
#include "core/sys/site.h"

#define ARGS    struct present_args
#define ARCHIVE "/usr/lib/locale/locale-archive"

struct present_args {
    const char *name, *config;
};

/* clang-format off */
static const struct param present_params[] = {
    PARAM("name", STR, ARGS, name, "the locale: de_DE.UTF-8; or with its charmap, as in locale.gen: de_DE.UTF-8 UTF-8", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("config", PATH, ARGS, config, "the list of locales to generate, if the system has one", .default_text = "/etc/locale.gen"),
    { 0 },
};
/* clang-format on */

struct locale {
    const char *name, *charset; /* NULL: that of the name */
};

/* "en_US ISO-8859-1" -> "en_US", "ISO-8859-1" */
static struct locale split_locale_name(struct arena *arena, const char *name)
{
    struct str rest = str_trim(str_from(name));
    const struct str first = lines_word(&rest);

    rest = str_trim(rest);
    return (struct locale){ arena_str(arena, first).p,
                            rest.n > 0 ? arena_str(arena, rest).p : NULL };
}

static int present_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct present_args *want = args;

    const struct locale locale = split_locale_name(diags->arena, want->name);

    if (validate_text("name", locale.charset, VALIDATE_ARGUMENT, where, diags) < 0)
        return -1;
    return validate_text("name", locale.name, VALIDATE_ARGUMENT, where, diags);
}

/* --- names --------------------------------------------------------------------------------- */

/* de_DE.UTF-8 and de_DE.utf8 are the same: compare the charset in lower case, without dashes. */
static bool is_same_locale_name(struct str a, struct str b)
{
    size_t i = 0, j = 0;

    for (;;) {
        while (i < a.n && a.p[i] == '-')
            i++;
        while (j < b.n && b.p[j] == '-')
            j++;
        if (i == a.n || j == b.n)
            return i == a.n && j == b.n;
        if (tolower((unsigned char)a.p[i++]) != tolower((unsigned char)b.p[j++]))
            return false;
    }
}

/* "de_DE.UTF-8@euro" -> "UTF-8" */
static struct str find_charset(const struct locale *locale)
{
    const char *dot = strchr(locale->name, '.');

    if (locale->charset)
        return str_from(locale->charset);
    if (!dot)
        return STR("ISO-8859-1");
    return str_slice(str_from(dot + 1), 0, strcspn(dot + 1, "@"));
}

static const char *find_input(struct state_run *run, const char *name)
{
    const char *dot = strchr(name, '.'), *at = strchr(name, '@');

    if (!dot)
        return name;
    return arena_printf(run->arena, "%.*s%s", (int)(dot - name), name, at ? at : "");
}

/* The name in the locale archive: "de_DE.utf8". */
static const char *make_archive_name(struct state_run *run, const char *name)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const char *dot = strchr(name, '.');

    for (const char *p = name; *p; p++) {
        const bool charset = dot && p > dot && !memchr(dot, '@', (size_t)(p - dot) + 1);

        if (!charset)
            buf_add_char(&out, *p);
        else if (isalnum((unsigned char)*p))
            buf_add_char(&out, (char)tolower((unsigned char)*p));
    }
    return buf_copy(&out, run->arena).p;
}

/* --- checking -------------------------------------------------------------------------------- */

static int is_generated(struct state_run *run, const char *name, bool *ret, struct err *err)
{
    const struct tool tool = run_tool(run);
    struct line line;
    struct str text;

    *ret = false;
    if (tool_run(&tool, TOOL("locale", "-a"), NULL, &text, err) < 0)
        return -1;
    while (lines_next(&text, &line))
        *ret |= is_same_locale_name(str_trim(line.text), str_from(name));
    return 0;
}

/* A line of locale.gen for this locale: "de_DE.UTF-8 UTF-8", with or without "# ". */
static bool is_line_of_locale(struct str line, const char *name, bool *ret_off)
{
    struct str rest = str_trim_left(line);

    *ret_off = rest.n > 0 && rest.p[0] == '#';
    while (rest.n > 0 && rest.p[0] == '#')
        rest = str_from_offset(rest, 1);

    const struct str word = lines_word(&rest), charset = lines_word(&rest);

    return is_same_locale_name(word, str_from(name)) && charset.n > 0 && lines_word(&rest).n == 0;
}

static int plan_locale_line(struct state_run *run, const void *args, const struct editor_file *file,
                            struct editor_plan *plan, struct err *err)
{
    const struct present_args *want = args;
    const struct locale locale = split_locale_name(run->arena, want->name);
    const struct str end = lines_end_of(file->text);
    const struct str entry =
        str_from(arena_printf(run->arena, "%s %.*s", locale.name, STR_ARG(find_charset(&locale))));
    struct str rest = file->text;
    bool placed = !file->exists, off; /* a missing file is not created */
    struct line line;

    while (lines_next(&rest, &line)) {
        const bool ours = is_line_of_locale(line.text, locale.name, &off);

        lines_add(&plan->text, ours && off && !placed ? entry : line.text, line.end);
        placed |= ours;
    }
    if (!placed) {
        lines_finish(&plan->text, end);
        lines_add(&plan->text, entry, end);
    }
    plan->pending =
        arena_printf(run->arena, "locale %s is not enabled in %s", locale.name, file->path);
    plan->done = arena_printf(run->arena, "enabled %s in %s", locale.name, file->path);
    return edit_finish(&plan->text, err);
}

static struct editor make_locale_editor(const struct present_args *want)
{
    return (struct editor){ .path = want->config, .plan = plan_locale_line };
}

static int present_check(struct state_run *run, const void *args, struct err *err)
{
    const struct present_args *want = args;
    const struct locale locale = split_locale_name(run->arena, want->name);
    const struct editor editor = make_locale_editor(want);
    bool generated;

    if (is_generated(run, locale.name, &generated, err) < 0)
        return -1;
    if (!generated)
        state_differs(run, "locale %s is not generated", locale.name);
    if (editor_check(run, &editor, args, err) < 0)
        return -1;
    if (!run->differs)
        state_say(run, "locale %s is already generated", locale.name);
    return 0;
}

/* --- applying ---------------------------------------------------------------------------- */

static int generate_locale(struct state_run *run, const struct locale *locale, struct err *err)
{
    const struct tool tool = run_tool(run);
    const char *charset = arena_str(run->arena, find_charset(locale)).p;

    return tool_run(
        &tool,
        TOOL("localedef", "-i", find_input(run, locale->name), "-f", charset, "--", locale->name),
        NULL, NULL, err);
}

static int present_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct present_args *want = args;
    const struct locale locale = split_locale_name(run->arena, want->name);
    const struct editor editor = make_locale_editor(want);
    bool generated;

    buf_clear(&run->text);
    if (is_generated(run, locale.name, &generated, err) < 0)
        return -1;
    if (!generated && !tool_find(run->arena, "localedef"))
        return tool_missing("localedef", err);
    /* a locale that cannot be generated is not listed: every locale-gen would fail */
    if (!generated && (state_note(run, "generated", value_bool(true), err) < 0 ||
                       generate_locale(run, &locale, err) < 0))
        return -1;
    if (editor_apply(run, &editor, args, err) < 0)
        return -1;
    run->unchanged &= generated;
    if (generated)
        return 0;
    state_say(run, "generated locale %s", locale.name);
    state_detail(run, "locale", "%s", locale.name);
    return 0;
}

/* The first locale creates the archive; the last one removes it. */
static int remove_empty_archive(const struct tool *tool, struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;
    struct str listed;

    if (tool_run(tool, TOOL("localedef", "--list-archive"), NULL, &listed, err) < 0 ||
        site_walk(&site, ARCHIVE, 0, err) < 0)
        return -1;
    return str_trim(listed).n > 0 ? 0 : site_unlink(&site, err);
}

static int present_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct present_args *want = args;
    const struct locale locale = split_locale_name(run->arena, want->name);
    const struct tool tool = run_tool(run);

    if (!state_noted(run, "generated")) {
        state_unchanged(run);
        return 0;
    }
    state_say(run, "removed locale %s (revert)", locale.name);
    if (tool_run(
            &tool,
            TOOL("localedef", "--delete-from-archive", "--", make_archive_name(run, locale.name)),
            NULL, NULL, err) < 0)
        return -1;
    return remove_empty_archive(&tool, err);
}

const struct module module_locale_present = {
    .name = "locale.present",
    .summary = "make a locale available",
    .details = "The locale is generated by localedef, and enabled in locale.gen where the system "
               "has that file, so an update of the C library generates it again.",
    .example = "name: de_DE.UTF-8\n",
    .params = present_params,
    .args_size = sizeof(struct present_args),
    .lock = "locale", /* all locales are in one archive */
    .validate = present_validate,
    .check = present_check,
    .apply = present_apply,
    .revert = present_revert,
};
