#include "states/modules/alternatives/alternatives.h"

#include <string.h>

#include "core/base/err.h"
#include "core/base/number.h"
#include "states/modules/cmd/run_tool.h"
#include "states/state/module.h"
#include "states/state/validate.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define FILE_MAX ((size_t)1 << 20)

int alternatives_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct alternatives_ref *ref = args;
    int result = validate_text("name", ref->name, VALIDATE_ARGUMENT, where, diags);

    if (result == 0 && strchr(ref->name, '/'))
        result = value_diag(diags, value_point(where, "name"), "'name' must not contain a slash");
    return result;
}

/* --- reading ------------------------------------------------------------------------------ */

/*
 *     auto
 *     /usr/bin/editor
 *     editor.1.gz                          slaves: name and link, up to an empty line
 *     /usr/share/man/man1/editor.1.gz
 *
 *     /bin/nano                            choices: path, priority, a path for each slave
 *     40
 *     /usr/share/man/man1/nano.1.gz
 */
struct reader {
    struct arena *arena;
    struct str rest;
};

static struct str next_alternatives_line(struct reader *reader)
{
    return reader->rest.p ? str_trim(str_cut(&reader->rest, '\n')) : STR("");
}

static void read_slaves(struct reader *reader, struct alternatives *group)
{
    for (;;) {
        const struct str name = next_alternatives_line(reader);

        if (name.n == 0)
            return;
        VEC_PUSH_IN(reader->arena, &group->slaves,
                    (struct alternatives_slave){
                        arena_str(reader->arena, name).p,
                        arena_str(reader->arena, next_alternatives_line(reader)).p });
    }
}

/* "40"; where chkconfig keeps the file also "@family@40 service". */
static struct str read_priority(struct str line)
{
    if (line.n > 0 && line.p[0] == '@') {
        (void)str_cut(&line, '@');
        (void)str_cut(&line, '@');
    }
    return line.p ? str_cut(&line, ' ') : STR("");
}

static int read_choices(struct reader *reader, struct alternatives *group, struct err *err)
{
    for (;;) {
        struct alternatives_choice choice = { 0 };
        const struct str path = next_alternatives_line(reader);

        if (path.n == 0)
            return 0;
        choice.path = arena_str(reader->arena, path).p;
        if (number_parse_int(read_priority(next_alternatives_line(reader)), &choice.priority, err) <
            0)
            return err_wrap(err, "priority of '%s'", choice.path);
        for (size_t i = 0; i < group->slaves.n; i++)
            VEC_PUSH_IN(reader->arena, &choice.slaves,
                        arena_str(reader->arena, next_alternatives_line(reader)).p);
        VEC_PUSH_IN(reader->arena, &group->choices, choice);
    }
}

static int read_alternatives_group(struct arena *arena, struct str text, struct alternatives *ret,
                                   struct err *err)
{
    struct reader reader = { arena, text };

    ret->known = true;
    ret->automatic = str_is(next_alternatives_line(&reader), "auto");
    ret->link = arena_str(arena, next_alternatives_line(&reader)).p;
    read_slaves(&reader, ret);
    return read_choices(&reader, ret, err);
}

int alternatives_look(struct state_run *run, const struct alternatives_ref *ref,
                      struct alternatives *ret, struct err *err)
{
    const char *const usual[] = { "/var/lib/dpkg/alternatives", "/var/lib/alternatives", NULL };
    const char *const given[] = { ref->admindir, NULL };

    *ret = (struct alternatives){ 0 };
    if (fs_readlink(run->arena, path_join(run->arena, ref->altdir, ref->name), &ret->current, err) <
        0)
        return -1;
    for (const char *const *folder = ref->admindir ? given : usual; *folder; folder++) {
        const char *path = path_join(run->arena, *folder, ref->name);
        struct str text;

        if (fs_read(run->arena, path, FILE_MAX, &text, err) < 0)
            return -1;
        if (text.n == 0)
            continue;
        return read_alternatives_group(run->arena, text, ret, err) < 0 ? err_wrap(err, "'%s'", path)
                                                                       : 0;
    }
    return 0;
}

const struct alternatives_choice *alternatives_find(const struct alternatives *group,
                                                    const char *path)
{
    VEC_EACH (&group->choices, choice)
        if (strcmp(choice->path, path) == 0)
            return choice;
    return NULL;
}

/* --- changing it -------------------------------------------------------------------------- */

int alternatives_run(struct state_run *run, const struct alternatives_ref *ref,
                     const char *const *words, struct err *err)
{
    const struct tool tool = run_tool(run);
    struct tool_words all = { 0 };

    tool_add(&tool, &all, "update-alternatives");
    tool_add(&tool, &all, "--altdir");
    tool_add(&tool, &all, ref->altdir);
    if (ref->admindir) {
        tool_add(&tool, &all, "--admindir");
        tool_add(&tool, &all, ref->admindir);
    }
    for (; *words; words++)
        tool_add(&tool, &all, *words);
    return tool_run(&tool, tool_argv(&tool, &all), NULL, NULL, err);
}

int alternatives_choose(struct state_run *run, const struct alternatives_ref *ref, const char *path,
                        struct err *err)
{
    return path ? alternatives_run(run, ref, TOOL("--set", ref->name, path), err)
                : alternatives_run(run, ref, TOOL("--auto", ref->name), err);
}

/* --- revert -------------------------------------------------------------------------------- */

int alternatives_note(struct state_run *run, const struct alternatives *group, struct err *err)
{
    if (state_note(run, "path", group->current ? value_text(group->current) : value_null(), err) <
        0)
        return -1;
    return state_note(run, "auto", value_bool(group->automatic), err);
}

int alternatives_choose_again(struct state_run *run, const struct alternatives_ref *ref,
                              struct err *err)
{
    const struct value *path = state_noted(run, "path"), *automatic = state_noted(run, "auto");
    struct alternatives now;

    if (alternatives_look(run, ref, &now, err) < 0)
        return -1;
    if (!now.known || !path || path->kind != VALUE_STR) {
        state_unchanged(run);
        return 0;
    }
    state_say(run, "%s is %s again", ref->name, path->s.p);
    return alternatives_choose(
        run, ref, automatic && automatic->kind == VALUE_BOOL && automatic->b ? NULL : path->s.p,
        err);
}

struct value alternatives_words(struct state_run *run, const struct alternatives_ref *ref,
                                const struct alternatives *group,
                                const struct alternatives_choice *choice)
{
    struct value_list *words = value_list_new(run->arena, 5);

    value_list_push(run->arena, words, value_text("--install"));
    value_list_push(run->arena, words, value_text(group->link));
    value_list_push(run->arena, words, value_text(ref->name));
    value_list_push(run->arena, words, value_text(choice->path));
    value_list_push(run->arena, words,
                    value_text(arena_printf(run->arena, "%lld", (long long)choice->priority)));
    for (size_t i = 0; i < choice->slaves.n; i++) {
        if (choice->slaves.p[i][0] == '\0')
            continue;
        value_list_push(run->arena, words, value_text("--slave"));
        value_list_push(run->arena, words, value_text(group->slaves.p[i].link));
        value_list_push(run->arena, words, value_text(group->slaves.p[i].name));
        value_list_push(run->arena, words, value_text(choice->slaves.p[i]));
    }
    return value_list(words);
}

int alternatives_obey(struct state_run *run, const struct alternatives_ref *ref,
                      const struct value *words, struct err *err)
{
    const struct tool tool = run_tool(run);
    struct tool_words list = { 0 };

    for (size_t i = 0; words->kind == VALUE_LIST && i < words->list->count; i++)
        if (words->list->items[i].kind == VALUE_STR)
            tool_add(&tool, &list, words->list->items[i].s.p);
    return alternatives_run(run, ref, tool_argv(&tool, &list), err);
}
