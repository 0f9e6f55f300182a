#include "fleet/master/files/tree_check.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/base/sha256.h"
#include "core/data/msgpack.h"
#include "core/data/value.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "fleet/master/files/tree_set.h"
#include "fleet/master/reactor/rule_files.h"
#include "fleet/master/settings/settings_tree.h"
#include "fleet/reactor/reaction.h"
#include "fleet/reactor/rule_check.h"
#include "language/jinja/jinja.h"
#include "states/compile/compile.h"
#include "states/facts/facts.h"
#include "states/local/session.h"

/* Encoded inputs of one machine. */
#define INPUTS_MAX ((size_t)64 << 20)
/* Compiling writes nothing. */
#define NO_DATA_DIR "/nonexistent"
/* compile_top fails with this when no line of the top file matches the machine. */
#define NO_STATES "highstate: no states matched"
/* States are run by their references only. */
#define NO_TOP "compiler: read state top file: no top.zy"

/* Machines with equal inputs, and the mistakes of all of them. */
struct group {
    VEC(struct tree_check_mistake *) mistakes;
    bool is_unknown;
};

struct tree_check {
    struct tree_check_options options;
    struct arena arena;
    struct settings_tree *settings; /* NULL: they cannot be read */
    bool has_states;                /* there is a folder */
    bool all_facts;                 /* any may be used */
    struct map names;               /* words of the files that may be names of facts */
    struct map groups;              /* struct group by the sum of the inputs */
    struct group *group;            /* of the machine that is compiled; NULL */
    struct map texts;               /* struct tree_check_mistake by text */
    VEC(struct tree_check_mistake *) order;
    struct tree_check_counts counts;
};

static const char *const tree_names[TREE_CHECK_TREES] = {
    [TREE_CHECK_SETTINGS] = "settings",
    [TREE_CHECK_STATES] = "states",
    [TREE_CHECK_REACTOR] = "reactor",
};

const char *tree_check_tree_name(enum tree_check_tree tree)
{
    return tree_names[tree];
}

/* --- mistakes ------------------------------------------------------------------------- */

static void add_to_group(struct tree_check *check, struct tree_check_mistake *mistake)
{
    if (check->group)
        VEC_PUSH_IN(&check->arena, &check->group->mistakes, mistake);
}

static void note_mistake(struct tree_check *check, const struct tree_check_mistake *mistake)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    const char *key = arena_printf(&scratch, "%d %s", (int)mistake->tree, mistake->text);
    struct tree_check_mistake *kept = map_find(&check->texts, str_from(key));

    if (kept) {
        kept->peels++;
        add_to_group(check, kept);
        return;
    }
    check->counts.mistakes[mistake->tree]++;
    if (check->order.n >= TREE_CHECK_MISTAKES_MAX)
        return;
    kept = ARENA_NEW(&check->arena, struct tree_check_mistake);
    *kept = (struct tree_check_mistake){ .tree = mistake->tree,
                                         .text = arena_strdup(&check->arena, mistake->text),
                                         .hint = arena_strdup(&check->arena, mistake->hint),
                                         .peel = arena_strdup(&check->arena, mistake->peel),
                                         .peels = 1 };
    (void)map_set(&check->texts, str_from(arena_strdup(&check->arena, key)), kept);
    VEC_PUSH_IN(&check->arena, &check->order, kept);
    add_to_group(check, kept);
}

static bool is_unknown_answer(const struct diag *diag)
{
    return str_find(str_from(diag->text), STR(JINJA_ASKS_MACHINE), 0) != STR_NONE;
}

/* Without source lines: they may hold secrets. Returns whether an answer was unknown. */
static bool note_diags(struct tree_check *check, enum tree_check_tree tree, const char *peel,
                       const struct diags *diags)
{
    bool is_unknown = false;

    VEC_EACH (&diags->list, diag) {
        AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

        if (is_unknown_answer(diag)) {
            is_unknown = true;
            continue;
        }
        place_print(diag->at, &text);
        buf_printf(&text, "%s%s", text.n > 0 ? ": " : "", diag->text);
        note_mistake(check, &(struct tree_check_mistake){ .tree = tree,
                                                          .text = buf_text(&text),
                                                          .hint = diag->hint ? diag->hint : "",
                                                          .peel = peel });
    }
    return is_unknown;
}

static void note_error(struct tree_check *check, enum tree_check_tree tree, const struct err *err)
{
    note_mistake(check, &(struct tree_check_mistake){
                            .tree = tree, .text = err->text, .hint = "", .peel = "" });
}

/* --- names of facts ------------------------------------------------------------------- */

/* Facts are read as grains.NAME, grains['NAME'], facts_get('NAME.x'), G@NAME:x. */
static bool can_begin_name(char before)
{
    return before != '\0' && strchr(".'\":@[", before);
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool is_quote(struct str text, size_t i)
{
    return i < text.n && (text.p[i] == '\'' || text.p[i] == '"');
}

/* Is what is in the brackets at `i` one literal text? Else any fact may be meant. */
static bool has_literal(struct str text, size_t i)
{
    const char quote = is_quote(text, i + 1) ? text.p[i + 1] : '\0';

    if (!quote)
        return false;
    for (i += 2; i < text.n && text.p[i] != quote && text.p[i] != '\n'; i++)
        continue;
    while (++i < text.n && text.p[i] == ' ')
        continue;
    return i < text.n && strchr("]),", text.p[i]);
}

static bool is_after(struct str text, struct str word, const char *before)
{
    const size_t n = strlen(before), at = (size_t)(word.p - text.p);

    return at >= n && memcmp(word.p - n, before, n) == 0;
}

/* grains['x'] and salt['grains.get']('x') name a fact; grains[x] may mean any. */
static bool is_open_choice(struct str text, struct str word, size_t end)
{
    const bool is_function = is_after(text, word, "grains.") || is_after(text, word, "facts.") ||
                             is_after(text, word, "config.");

    if (end < text.n && text.p[end] == '[')
        return (str_is(word, "grains") || str_is(word, "facts")) && !has_literal(text, end);
    if (!is_function)
        return false;
    while (is_quote(text, end) || (end < text.n && text.p[end] == ']'))
        end++;
    return end < text.n && text.p[end] == '(' && !has_literal(text, end) &&
           !str_is(word, "filter_by");
}

/* Words for all facts at once, or for one that they do not name. */
static void note_special_word(struct tree_check *check, struct str text, struct str word,
                              size_t end)
{
    const char after = end < text.n ? text.p[end] : '\0';

    if (str_is(word, "opts") || str_is(word, "minion_id") || str_is(word, "peel_id"))
        (void)map_set(&check->names, STR("id"), check);
    if (str_is(word, "filter_by")) /* by this one, unless another is named */
        (void)map_set(&check->names, STR("os_family"), check);
    if (str_is(word, "match") || is_open_choice(text, word, end))
        check->all_facts = true;
    if ((str_is(word, "grains") || str_is(word, "facts")) && after != '.' && after != '[')
        check->all_facts = true;
    if (str_is(word, "items") || str_is(word, "keys") || str_is(word, "values") ||
        str_is(word, "ls"))
        check->all_facts |= word.p > text.p + 7 && (memcmp(word.p - 7, "grains.", 7) == 0 ||
                                                    memcmp(word.p - 6, "facts.", 6) == 0);
}

static void note_words(struct tree_check *check, struct str text)
{
    for (size_t i = 0, end; i < text.n; i = end + 1) {
        struct str word;

        for (end = i; end < text.n && is_word_char(text.p[end]); end++)
            continue;
        if (end == i)
            continue;
        word = str_slice(text, i, end - i);
        note_special_word(check, text, word, end);
        if (i > 0 && can_begin_name(text.p[i - 1]) && !map_has(&check->names, word))
            (void)map_set(&check->names, arena_str(&check->arena, word), check);
    }
    if (map_count(&check->names) > TREE_CHECK_NAMES_MAX)
        check->all_facts = true;
}

/* Notes the words of published files; a large one is not a file of states. */
static int note_folder_words(struct tree_check *check, const char *folder, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct tree_set set;

    if (tree_set_read(&arena, &(struct tree_set_options){ .folder = folder, .prefix = "" }, &set,
                      err) < 0)
        return -1;
    VEC_EACH (&set.files, file)
        if (file->bytes.p && !check->all_facts)
            note_words(check, file->bytes);
    return 0;
}

static void add_used_facts(const struct tree_check *check, const struct value *facts,
                           struct arena *arena, struct value_map *out)
{
    for (size_t i = 0; facts->kind == VALUE_MAP && i < facts->map->count; i++) {
        const struct value_pair *pair = &facts->map->pairs[i];

        if (check->all_facts || pair->key.kind != VALUE_STR || map_has(&check->names, pair->key.s))
            value_map_append(arena, out, pair->key, pair->value);
    }
}

/* --- a machine ------------------------------------------------------------------------ */

struct machine {
    struct arena *arena;
    const char *peel;
    const struct value *facts, *settings;
    struct session *session;
    const char *environment;
};

/* False: the sum cannot be made, and the machine is compiled. */
static bool sum_inputs(const struct tree_check *check, const struct machine *machine,
                       const struct value *refs, char ret_sum[static SHA256_HEX_SIZE])
{
    AUTO_BUF struct buf bytes = BUF_INIT(INPUTS_MAX);
    struct value_map *used = value_map_new(machine->arena, 32);
    const struct value facts = value_map(used);
    struct err ignored;

    add_used_facts(check, machine->facts, machine->arena, used);
    add_used_facts(check, machine->session->host.grains, machine->arena, used);
    buf_printf(&bytes, "%s\n", machine->environment ? machine->environment : "");
    if (msgpack_encode(&bytes, refs, &ignored) < 0 ||
        msgpack_encode(&bytes, &facts, &ignored) < 0 ||
        msgpack_encode(&bytes, machine->settings, &ignored) < 0 || bytes.full)
        return false;
    sha256_hex(bytes.p, bytes.n, ret_sum);
    return true;
}

static bool has_no_states(const struct diags *diags)
{
    const struct str text =
        diags->list.n == 1 ? str_from(diags->list.p[0].text) : (struct str){ NULL, 0 };

    return str_starts(text, STR(NO_STATES)) || str_starts(text, STR(NO_TOP));
}

/* Returns whether an answer was unknown. What was canceled says nothing. */
static bool note_run_diags(struct tree_check *check, const struct machine *machine,
                           struct diags *diags)
{
    if (has_no_states(diags) || cancel_is_raised(check->options.cancel))
        return false;
    session_mask_diags(machine->session, diags);
    return note_diags(check, TREE_CHECK_STATES, machine->peel, diags);
}

/* True: a machine with the same inputs was compiled. Else mistakes are noted for this group. */
static bool join_group(struct tree_check *check, const char *sum, bool *ret_unknown)
{
    const struct group *group = map_find(&check->groups, str_from(sum));

    if (!group) {
        check->group = ARENA_NEW(&check->arena, struct group);
        (void)map_set(&check->groups, str_from(arena_strdup(&check->arena, sum)), check->group);
        return false;
    }
    VEC_EACH (&group->mistakes, mistake)
        (*mistake)->peels++;
    *ret_unknown = group->is_unknown;
    return true;
}

static bool compile_machine(struct tree_check *check, const struct machine *machine)
{
    struct diags diags = DIAGS_INIT(machine->arena), top = DIAGS_INIT(machine->arena);
    char sum[SHA256_HEX_SIZE];
    const struct plan *plan;
    bool is_unknown = false;
    struct value refs;

    if (compile_top_refs(machine->arena, &machine->session->host, &refs, &top) < 0)
        return note_run_diags(check, machine, &top);
    if (sum_inputs(check, machine, &refs, sum) && join_group(check, sum, &is_unknown))
        return is_unknown;
    check->counts.compiled++;
    if (compile_top(machine->arena, &machine->session->host, &plan, &diags) < 0)
        is_unknown = note_run_diags(check, machine, &diags);
    if (check->group)
        check->group->is_unknown = is_unknown;
    check->group = NULL;
    return is_unknown;
}

static bool check_states(struct tree_check *check, struct machine *machine)
{
    struct diags diags = DIAGS_INIT(machine->arena);
    struct session session;
    const struct session_options options = {
        .states_dir = check->options.states,
        .data_dir = NO_DATA_DIR,
        .environment = machine->environment,
        .facts = machine->facts,
        .settings = machine->settings,
        .cancel = (struct cancel *)(uintptr_t)check->options.cancel,
        .test = true,
        .is_elsewhere = true,
    };
    bool is_unknown = false;

    machine->session = &session;
    if (session_init(&session, &options, SESSION_TREE, &diags) == 0) {
        session.host.peel_id = machine->peel;
        is_unknown = compile_machine(check, machine);
    } else {
        is_unknown = note_diags(check, TREE_CHECK_STATES, "", &diags);
    }
    session_done(&session);
    machine->session = NULL;
    return is_unknown;
}

/* With unknown answers, mistakes in settings may be their consequence. */
static bool render_settings(struct tree_check *check, struct machine *machine, bool *ret_unknown)
{
    const struct settings_recipient who = { .peel = machine->peel, .facts = machine->facts };
    struct diags diags = DIAGS_INIT(machine->arena);

    *ret_unknown = false;
    if (check->settings && settings_tree_try(check->settings, machine->arena, &who,
                                             &machine->settings, ret_unknown, &diags) == 0)
        return true;
    if (check->settings && !*ret_unknown)
        (void)note_diags(check, TREE_CHECK_SETTINGS, machine->peel, &diags);
    return false;
}

void tree_check_machine(struct tree_check *check, const char *peel, const struct value *facts)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct machine machine = {
        .arena = &arena, .peel = peel, .facts = facts, .environment = facts_environment(facts)
    };
    bool is_unknown = false, lacks = false;

    if (cancel_is_raised(check->options.cancel))
        return;
    check->counts.machines++;
    if (render_settings(check, &machine, &lacks) && check->has_states)
        is_unknown = check_states(check, &machine);
    check->counts.unknown += is_unknown || lacks;
}

/* --- the whole ------------------------------------------------------------------------ */

static bool is_there(const char *folder)
{
    struct fs_info info;
    struct err ignored;

    return folder && folder[0] && fs_stat(folder, &info, &ignored) == 0 && info.kind == FS_FOLDER;
}

static int64_t read_check_clock(void *user)
{
    (void)user;
    return clock_now();
}

static void check_rules(struct tree_check *check)
{
    const struct reaction_options options = { .now = read_check_clock, .lenient = true };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags mistakes = DIAGS_INIT(&arena), lints = DIAGS_INIT(&arena);
    struct rule_check_result result;
    struct rule_files files;
    struct reaction_env *env;
    struct err err;

    if (!is_there(check->options.reactor))
        return;
    if (rule_files_read(&arena, check->options.reactor, &files, &err) < 0) {
        if (err.code != ERR_NOT_FOUND) /* there are no rules */
            note_error(check, TREE_CHECK_REACTOR, &err);
        return;
    }
    VEC_EACH (&files.list, file)
        file->name = file->path;
    env = reaction_env_new(&options);
    (void)rule_check(env, files.list.p, files.list.n, &result, &mistakes, &lints);
    reaction_env_free(env);
    (void)note_diags(check, TREE_CHECK_REACTOR, "", &mistakes);
}

static int read_names(struct tree_check *check, struct err *err)
{
    if (check->has_states && note_folder_words(check, check->options.states, err) < 0)
        return err_wrap(err, "states");
    return 0;
}

struct tree_check *tree_check_new(const struct tree_check_options *options, struct err *err)
{
    struct tree_check *check = mem_zalloc(sizeof(*check));

    check->options = *options;
    check->names = check->groups = check->texts = (struct map)MAP_INIT_IN(&check->arena);
    check->has_states = is_there(options->states);
    check->settings = settings_tree_read(options->settings, err);
    if (!check->settings || read_names(check, err) < 0) {
        tree_check_free(check);
        return NULL;
    }
    check_rules(check);
    return check;
}

void tree_check_free(struct tree_check *check)
{
    if (!check)
        return;
    settings_tree_drop(check->settings);
    arena_done(&check->arena);
    free(check);
}

struct tree_check_counts tree_check_count(const struct tree_check *check)
{
    return check->counts;
}

const struct tree_check_mistake *tree_check_at(const struct tree_check *check, size_t i)
{
    return i < check->order.n ? check->order.p[i] : NULL;
}
