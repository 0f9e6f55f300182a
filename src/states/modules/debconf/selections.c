#include "states/modules/debconf/selections.h"

#include <ctype.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/edit/lines.h"
#include "states/modules/cmd/run_tool.h"
#include "states/state/module.h"
#include "core/sys/process.h"

/* An answer as debconf stores it. */
struct answer {
    bool exists, seen;
    const char *type, *owners;
    const char *value; /* escaped: \n for a line end, \\ for a backslash */
};

/* Replies of debconf for each question. */
enum reply { REPLY_VALUE, REPLY_TYPE, REPLY_OWNERS, REPLY_SEEN };
#define REPLIES (REPLY_SEEN + 1)

static const char *const known_types[] = { "select", "boolean",  "string", "multiselect", "note",
                                           "text",   "password", "title",  "seen" };

static bool is_flag(const struct selection *one)
{
    return strcmp(one->type, "seen") == 0;
}

static bool is_password(const char *type)
{
    return type && strcmp(type, "password") == 0;
}

/* --- wishes ----------------------------------------------------------------------------- */

static bool is_debconf_word(const char *text)
{
    for (const char *p = text; *p; p++)
        if (isspace((unsigned char)*p) || iscntrl((unsigned char)*p))
            return false;
    return text[0] != '\0' && text[0] != '#';
}

static bool is_known_type(const char *type)
{
    for (size_t i = 0; i < ARRAY_LEN(known_types); i++)
        if (strcmp(type, known_types[i]) == 0)
            return true;
    return false;
}

int selections_add(struct arena *arena, struct selections *all, const struct selection *one,
                   struct err *err)
{
    const size_t n = strlen(one->value);

    if (!is_debconf_word(one->package))
        return err_set(err, ERR_INVALID, "'%s' is not a valid package name", one->package);
    if (!is_debconf_word(one->question))
        return err_set(err, ERR_INVALID, "'%s' is not a valid question", one->question);
    if (!is_known_type(one->type))
        return err_set(err, ERR_INVALID, "question '%s' has an unknown type: '%s'", one->question,
                       one->type);
    if (strpbrk(one->value, "\r\n") || (n > 0 && one->value[n - 1] == '\\'))
        return err_set(err, ERR_INVALID,
                       "the value of '%s' must be one line that does not end in a backslash",
                       one->question);
    VEC_PUSH_IN(arena, &all->list, *one);
    return 0;
}

/* The value is what follows one blank, and may begin with more of them. */
static int parse_debconf_line(struct arena *arena, struct str line, struct selections *all,
                              struct err *err)
{
    struct str rest = line, words[3];

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        words[i] = lines_word(&rest);
    if (words[2].n == 0)
        return err_set(err, ERR_INVALID, "expected: PACKAGE QUESTION TYPE VALUE");
    rest = str_from_offset(line, (size_t)(words[2].p + words[2].n - line.p));
    return selections_add(arena, all,
                          &(struct selection){ arena_str(arena, words[0]).p,
                                               arena_str(arena, words[1]).p,
                                               arena_str(arena, words[2]).p,
                                               arena_str(arena, str_from_offset(rest, 1)).p },
                          err);
}

int selections_parse(struct arena *arena, struct str text, struct selections *all, struct err *err)
{
    AUTO_BUF struct buf whole = BUF_INIT(BUF_NO_LIMIT);
    struct line line;
    size_t number = 0;

    while (lines_next(&text, &line)) {
        struct str trimmed;

        number++;
        buf_add_str(&whole, line.text);
        if (whole.n > 0 && whole.p[whole.n - 1] == '\\' && text.n > 0) {
            buf_cut(&whole, whole.n - 1);
            continue;
        }
        trimmed = str_trim_left(buf_view(&whole));
        if (trimmed.n > 0 && trimmed.p[0] != '#' &&
            parse_debconf_line(arena, trimmed, all, err) < 0)
            return err_wrap(err, "line %zu", number);
        buf_clear(&whole);
    }
    return 0;
}

/* --- reading ---------------------------------------------------------------------------- */

static int talk_to_debconf(struct state_run *run, const char *package, const struct buf *commands,
                           struct str *ret, struct err *err)
{
    const struct tool tool = run_tool(run);
    const char *const *argv = TOOL("debconf-communicate", package);
    const struct tool_options options = { .input = buf_view(commands) };
    struct process_result result;

    if (tool_try(&tool, argv, &options, &result, err) < 0)
        return -1;
    /* its status is that of the last command */
    if (lines_count(result.out) < lines_count(buf_view(commands)))
        return tool_fail(argv, &result, err);
    *ret = result.out;
    return 0;
}

/* "0 text", "1 text that is escaped", "10 question does not exist". NULL: not there. */
static const char *next_reply(struct arena *arena, struct str *rest)
{
    struct str line = str_cut(rest, '\n');
    const struct str code = str_cut(&line, ' ');

    if (!str_is(code, "0") && !str_is(code, "1"))
        return NULL;
    return line.p ? arena_str(arena, line).p : "";
}

static int find_answers(struct state_run *run, const struct selections *all,
                        const struct answer **ret, struct err *err)
{
    AUTO_BUF struct buf commands = BUF_INIT(BUF_NO_LIMIT);
    struct answer *found = ARENA_ARRAY(run->arena, struct answer, all->list.n + 1);
    struct str rest = STR("");

    buf_add_text(&commands, "CAPB escape\n");
    VEC_EACH (&all->list, one)
        buf_printf(&commands, "GET %s\nMETAGET %s type\nMETAGET %s owners\nFGET %s seen\n",
                   one->question, one->question, one->question, one->question);
    if (talk_to_debconf(run, "zester", &commands, &rest, err) < 0)
        return -1;
    (void)str_cut(&rest, '\n');
    for (size_t i = 0; i < all->list.n; i++) {
        const char *replies[REPLIES];

        for (size_t k = 0; k < REPLIES; k++)
            replies[k] = next_reply(run->arena, &rest);
        found[i] = (struct answer){
            .exists = replies[REPLY_VALUE] != NULL,
            .seen = replies[REPLY_SEEN] && strcmp(replies[REPLY_SEEN], "true") == 0,
            .type = replies[REPLY_TYPE],
            .owners = replies[REPLY_OWNERS],
            .value = replies[REPLY_VALUE],
        };
        if (is_password(found[i].type) && found[i].value)
            state_secret(run, str_from(found[i].value));
    }
    *ret = found;
    return 0;
}

/* As debconf prints it. */
static const char *escape_value(struct arena *arena, const char *text)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    for (const char *p = text; *p; p++) {
        if (*p == '\\')
            buf_add_char(&out, '\\');
        buf_add_char(&out, *p);
    }
    return buf_copy(&out, arena).p;
}

static bool is_answered(struct state_run *run, const struct selection *want,
                        const struct answer *now)
{
    if (!now->exists)
        return false;
    if (is_flag(want))
        return now->seen == (strcmp(want->value, "true") == 0);
    return now->type && strcmp(now->type, want->type) == 0 &&
           strcmp(now->value, escape_value(run->arena, want->value)) == 0;
}

/* --- check ------------------------------------------------------------------------------ */

static void report_debconf_difference(struct state_run *run, const struct selection *want,
                                      const struct answer *now)
{
    if (!now->exists)
        state_differs(run, "%s is not answered", want->question);
    else if (is_flag(want))
        state_differs(run, "%s: seen is %s, want %s", want->question, now->seen ? "true" : "false",
                      want->value);
    else if (is_password(want->type) || is_password(now->type) || run->secret)
        state_differs(run, "%s has another answer", want->question);
    else if (!now->type || strcmp(now->type, want->type) != 0)
        state_differs(run, "%s has the type %s, want %s", want->question,
                      now->type ? now->type : "none", want->type);
    else
        state_differs(run, "%s: \"%s\" != \"%s\"", want->question, now->value, want->value);
    if (is_flag(want) || is_password(want->type) || run->secret)
        state_made(run, "%s is answered", want->question);
    else
        state_made(run, "%s = %s", want->question, want->value);
}

static void hide_passwords(struct state_run *run, const struct selections *all)
{
    VEC_EACH (&all->list, one)
        if (is_password(one->type))
            state_secret(run, str_from(one->value));
}

int selections_check(struct state_run *run, const struct selections *all, struct err *err)
{
    const struct answer *now = NULL;

    hide_passwords(run, all);
    if (find_answers(run, all, &now, err) < 0)
        return -1;
    for (size_t i = 0; i < all->list.n; i++)
        if (!is_answered(run, &all->list.p[i], &now[i]))
            report_debconf_difference(run, &all->list.p[i], &now[i]);
    if (!run->differs)
        state_say(run, "all %zu questions are answered", all->list.n);
    return 0;
}

/* --- apply ------------------------------------------------------------------------------ */

static void note_text(struct state_run *run, struct value_map *map, const char *key,
                      const char *text)
{
    value_map_set(run->arena, map, value_text(key), text ? value_text(text) : value_null());
}

static struct value make_debconf_note(struct state_run *run, const struct selection *want,
                                      const struct answer *now)
{
    struct value_map *map = value_map_new(run->arena, 6);

    note_text(run, map, "package", want->package);
    note_text(run, map, "question", want->question);
    note_text(run, map, "type", now->type);
    note_text(run, map, "owners", now->owners);
    note_text(run, map, "value", now->value);
    note_text(run, map, "seen", now->seen ? "true" : "false");
    return value_map(map);
}

static int set_selections(struct state_run *run, const struct buf *lines, struct err *err)
{
    const struct tool tool = run_tool(run);
    const struct tool_options options = { .input = buf_view(lines) };

    return tool_run(&tool, TOOL("debconf-set-selections"), &options, NULL, err);
}

/* One that differs is reason to set all: a line for the flag must come after that of the value. */
int selections_apply(struct state_run *run, const struct selections *all, struct err *err)
{
    AUTO_BUF struct buf lines = BUF_INIT(BUF_NO_LIMIT);
    struct value_list *notes = value_list_new(run->arena, all->list.n);
    const struct answer *now = NULL;
    size_t differ = 0;

    hide_passwords(run, all);
    if (find_answers(run, all, &now, err) < 0)
        return -1;
    for (size_t i = 0; i < all->list.n; i++) {
        const struct selection *want = &all->list.p[i];

        differ += !is_answered(run, want, &now[i]);
        value_list_push(run->arena, notes, make_debconf_note(run, want, &now[i]));
        buf_printf(&lines, "%s %s %s %s\n", want->package, want->question, want->type, want->value);
    }
    if (differ == 0) {
        state_unchanged(run);
        return 0;
    }
    if (state_note(run, "before", value_list(notes), err) < 0 ||
        set_selections(run, &lines, err) < 0)
        return -1;
    state_detail(run, "questions", "%zu", differ);
    return 0;
}

/* --- revert ----------------------------------------------------------------------------- */

static bool has_owner(const char *owners, const char *package)
{
    struct str rest = str_from(owners);

    while (rest.p)
        if (str_is(str_trim(str_cut(&rest, ',')), package))
            return true;
    return false;
}

/* A value as it was printed, each blank with a backslash: else runs of them become one. */
static void add_debconf_escaped(struct buf *out, const char *value)
{
    for (const char *p = value; *p; p++) {
        if (isspace((unsigned char)*p))
            buf_add_char(out, '\\');
        buf_add_char(out, *p);
    }
}

static int restore_answer(struct state_run *run, const struct value *note, struct err *err)
{
    AUTO_BUF struct buf commands = BUF_INIT(BUF_NO_LIMIT), line = BUF_INIT(BUF_NO_LIMIT);
    const char *package = value_get_text(note, "package");
    const char *question = value_get_text(note, "question");
    const char *value = value_get_text(note, "value"), *type = value_get_text(note, "type");
    const char *owners = value_get_text(note, "owners"), *seen = value_get_text(note, "seen");
    struct str ignored;

    if (!package || !question)
        return 0;
    buf_add_text(&commands, "CAPB escape\n");
    if (value) {
        if (is_password(type))
            state_secret(run, str_from(value));
        buf_printf(&commands, "SET %s ", question);
        add_debconf_escaped(&commands, value);
        buf_printf(&commands, "\nFSET %s seen %s\n", question, seen ? seen : "true");
    }
    if (!value || !has_owner(owners ? owners : "", package))
        buf_printf(&commands, "UNREGISTER %s\n", question);
    if (value && type) { /* the type can be set together with a value only */
        buf_printf(&line, "%s %s %s \n", package, question, type);
        if (set_selections(run, &line, err) < 0)
            return -1;
    }
    return talk_to_debconf(run, package, &commands, &ignored, err);
}

int selections_revert(struct state_run *run, struct err *err)
{
    const struct value *before = state_noted(run, "before");

    if (!before || before->kind != VALUE_LIST) {
        state_unchanged(run);
        return 0;
    }
    for (size_t i = before->list->count; i > 0; i--)
        if (restore_answer(run, &before->list->items[i - 1], err) < 0)
            return -1;
    state_say(run, "restored %zu answers", before->list->count);
    return 0;
}
