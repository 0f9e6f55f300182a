#include "states/compile/requisite.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/glob.h"
#include "states/compile/awaited.h"
#include "states/compile/decl.h"
#include "states/compile/dialect.h"
#include "states/compile/lookup.h"
#include "states/compile/written.h"

/* How many unknown targets get a suggestion: each one scans all states. */
#define SUGGESTIONS_MAX       20
#define SUGGESTION_LENGTH_MIN 3
/* Beside a target: it may be missing. */
#define OPTIONAL "optional"

/* clang-format off */
/* The name, and its inverse. */
#define BOTH(word, ...) { .name = word, __VA_ARGS__ }, { .name = word "_in", .inverse = true, __VA_ARGS__ }
#define KIND(word, ...) .kind = REQUISITE_##word, .rule = { __VA_ARGS__ }

/* First the kinds, in the order of enum requisite; then aliases. */
const struct requisite_form requisite_forms[] = {
    BOTH("require",       KIND(REQUIRE,       .success = true)),
    BOTH("require_any",   KIND(REQUIRE_ANY,   .success = true, .one = true)),
    BOTH("watch",         KIND(WATCH,         .success = true, .change = true, .style = "stroke:#06c")),
    BOTH("watch_any",     KIND(WATCH_ANY,     .success = true, .one = true, .change = true, .style = "stroke:#06c")),
    BOTH("onchanges",     KIND(ONCHANGES,     .success = true, .change = true, .only_change = true, .style = "stroke:#080")),
    BOTH("onchanges_any", KIND(ONCHANGES_ANY, .success = true, .one = true, .change = true, .only_change = true, .style = "stroke:#080")),
    BOTH("onfail",        KIND(ONFAIL,        .failure = true, .one = true, .style = "stroke:#c00")),
    BOTH("onfail_all",    KIND(ONFAIL_ALL,    .failure = true, .style = "stroke:#c00")),
    BOTH("prereq",        KIND(PREREQ,        .later = true, .style = "stroke-dasharray:4")),
    BOTH("listen",        KIND(LISTEN,        .apart = true)),
    BOTH("implied order", KIND(IMPLIED,       .style = "stroke:#999"), .internal = true),
    BOTH("written order", KIND(ORDER,         .style = "stroke:#999"), .internal = true),
    BOTH("onfail_any",    .kind = REQUISITE_ONFAIL),
    BOTH("use",           .use = true),
    { 0 },
};

/* The module that a plain name refers to. */
static const struct { const char *word, *module; } shorthands[] = {
    { "pkg",     "pkg.installed" },
    { "file",    "file.managed" },
    { "service", "service.running" },
    { "cmd",     "cmd.run" },
    { "user",    "user.present" },
    { "group",   "group.present" },
};
/* clang-format on */

static const struct requisite_form *get_kind_form(enum requisite requisite)
{
    const struct requisite_form *form = &requisite_forms[2 * requisite];

    assert(form->kind == requisite);
    return form;
}

const char *requisite_name(enum requisite requisite)
{
    return get_kind_form(requisite)->name;
}

const struct requisite_rule *requisite_rule(enum requisite requisite)
{
    return &get_kind_form(requisite)->rule;
}

/* A bit for each letter that a form begins with. Whichever threads come first find the same. */
static unsigned find_letters(void)
{
    static atomic_uint known;
    unsigned letters = atomic_load_explicit(&known, memory_order_relaxed);

    if (letters != 0)
        return letters;
    for (const struct requisite_form *form = requisite_forms; form->name; form++)
        letters |= 1U << (form->name[0] - 'a');
    atomic_store_explicit(&known, letters, memory_order_relaxed);
    return letters;
}

/* The first letter decides most calls: keys are parameters, as a rule. */
static bool may_begin_name(char first)
{
    return first >= 'a' && first <= 'z' && (find_letters() >> (first - 'a') & 1U) != 0;
}

const struct requisite_form *requisite_form_find(struct str key)
{
    const char first = key.n > 0 ? key.p[0] : '\0';

    if (!may_begin_name(first))
        return NULL;
    for (const struct requisite_form *form = requisite_forms; form->name; form++)
        if (form->name[0] == first && !form->internal && str_is(key, form->name))
            return form;
    return NULL;
}

/* --- finding ------------------------------------------------------------------------ */

static struct str unfold_item(struct str module)
{
    for (size_t i = 0; i < ARRAY_LEN(shorthands); i++)
        if (str_is(module, shorthands[i].word))
            return str_from(shorthands[i].module);
    return module;
}

/* {sls: web}: a file, or a pattern over files. */
static bool find_file_targets(struct arena *arena, const struct lookup *lookup, struct str ref,
                              bool salt, struct plan_targets *ret)
{
    struct requisite_set all = { 0 };
    bool found = false;

    if (salt ? lookup_ref_all(lookup, arena, ref, ret) : lookup_ref(lookup, ref, ret))
        return true;
    if (glob_is_plain(ref))
        return false;
    MAP_EACH (&lookup->refs, entry) {
        struct plan_targets some;

        if (!glob_match(ref, entry->key) || !lookup_ref(lookup, entry->key, &some))
            continue;
        found = true;
        VEC_EACH (&some, number)
            VEC_PUSH_IN(arena, &all.targets[0], *number);
    }
    *ret = (struct plan_targets){ all.targets[0].p, all.targets[0].n };
    return found;
}

/* {module: id} */
static bool find_keyed(struct arena *arena, const struct lookup *lookup, struct str module,
                       struct str id, bool salt, struct plan_targets *ret)
{
    const bool is_family = str_find_char(module, '.', 0) == STR_NONE;

    if (str_is(module, "sls"))
        return find_file_targets(arena, lookup, id, salt, ret);
    if (str_is(module, "id")) {
        *ret =
            salt ? lookup_all(lookup, arena, (struct str){ NULL, 0 }, id) : lookup_id(lookup, id);
        return ret->n > 0;
    }
    if (salt && is_family) {
        *ret = lookup_all(lookup, arena, module, id);
    } else {
        *ret = lookup_full(lookup, unfold_item(module), id);
        if (ret->n == 0)
            *ret = lookup_family(lookup, module, id);
    }
    if (ret->n == 0 && !glob_is_plain(id))
        *ret = lookup_glob(lookup, arena, module, id);
    return ret->n > 0;
}

/* A plain text: a full name, an ID, "module:id" with a shorthand, or a pattern over IDs. */
static bool find_text(struct arena *arena, const struct lookup *lookup, struct str text, bool salt,
                      struct plan_targets *ret)
{
    const size_t colon = str_find_char(text, ':', 0);
    const struct str any = { NULL, 0 };

    *ret = lookup_exact(lookup, text);
    if (ret->n == 0)
        *ret = salt ? lookup_all(lookup, arena, any, text) : lookup_id(lookup, text);
    if (ret->n > 0)
        return true;
    if (colon != STR_NONE && find_keyed(arena, lookup, str_slice(text, 0, colon),
                                        str_from_offset(text, colon + 1), salt, ret))
        return true;
    if (!glob_is_plain(text))
        *ret = lookup_glob(lookup, arena, any, text);
    return ret->n > 0;
}

int requisite_find(struct arena *arena, const struct lookup *lookup,
                   const struct requisite_item *item, struct plan_targets *ret,
                   const char **reterr_text)
{
    const struct str module = item->key ? item->key->s : (struct str){ NULL, 0 };
    const struct str id = item->id;

    if (item->key ? find_keyed(arena, lookup, module, id, item->salt, ret)
                  : find_text(arena, lookup, id, item->salt, ret))
        return 0;
    *reterr_text =
        item->key ? arena_printf(arena, "%.*s:%.*s",
                                 STR_ARG(item->salt ? module : unfold_item(module)), STR_ARG(id))
                  : arena_strndup(arena, id.p, id.n);
    return -1;
}

/* --- reading ------------------------------------------------------------------------- */

static void add_requisite_target(struct requisites *requisites, uint32_t state, enum requisite kind,
                                 uint32_t target)
{
    struct requisite_set **set = &requisites->sets[state];

    if (!*set)
        *set = ARENA_NEW(requisites->arena, struct requisite_set);
    VEC_PUSH_IN(requisites->arena, &(*set)->targets[kind], target);
}

int requisite_add(struct requisites *requisites, uint32_t state, enum requisite kind,
                  uint32_t target)
{
    if (kind == REQUISITE_LISTEN && !requisites->states[state].dialect->listen_at_end)
        kind = REQUISITE_WATCH;
    if (requisites->count++ == REQUISITES_MAX)
        return diag_add(requisites->diags, requisites->states[state].at,
                        "more than %d requisites in one run", REQUISITES_MAX);
    if (requisites->count > REQUISITES_MAX)
        return -1;
    add_requisite_target(requisites, state, kind, target);
    /* The target of a prereq runs later, and not at all if the prereq fails. */
    if (requisite_rule(kind)->later)
        add_requisite_target(requisites, target, REQUISITE_REQUIRE, state);
    return 0;
}

/* Suggest a similar name; false: none is close. */
static bool suggest_target(struct requisites *requisites, const struct value *key, struct str id)
{
    const struct lookup *lookup = requisites->lookup;
    struct plan_targets found = lookup_id(lookup, id);
    struct str near;

    if (key && str_is(key->s, "sls")) {
        diag_hint(requisites->diags, "a file must be part of the run: include it");
        return true;
    }
    if (found.n > 0) {
        diag_hint(requisites->diags, "did you mean '%s'?", requisites->states[found.p[0]].name);
        return true;
    }
    if (key && str_is(key->s, AWAITED_FAMILY)) {
        diag_hint(requisites->diags, "a service needs a condition: '%s: %.*s started'", key->s.p,
                  STR_ARG(id));
        return true;
    }
    /* Very short names are close to everything. */
    if (id.n < SUGGESTION_LENGTH_MIN || diags_count(requisites->diags) > SUGGESTIONS_MAX)
        return false;
    near = lookup_suggest_id(lookup, id);
    found = near.p ? lookup_id(lookup, near) : found;
    if (found.n > 0)
        diag_hint(requisites->diags, "did you mean '%s'?", requisites->states[found.p[0]].name);
    return found.n > 0;
}

static int report_unknown_target(struct requisites *requisites, uint32_t state,
                                 const struct requisite_form *form, const struct value *where,
                                 const char *text)
{
    const char *name = requisites->states[state].name;

    if (form->inverse)
        return value_diag(requisites->diags, where,
                          "compiler: inverse requisite \"%s\": unknown state, named by %s of "
                          "state \"%s\"",
                          text, form->name, name);
    return value_diag(requisites->diags, where, "dag: state \"%s\" requires unknown state \"%s\"",
                      name, text);
}

/* In which order states react at the end. */
static void note_listener(struct requisites *requisites, uint32_t state,
                          const struct requisite_form *form)
{
    struct requisite_set *set = requisites->sets[state];

    if (form->kind != REQUISITE_LISTEN || !set)
        return;
    if (set->heard == 0)
        set->heard = ++requisites->heard;
    set->listens |= !form->inverse;
}

/* Salt looks at the states in the order in which they run. */
static int compare_written(const void *a, const void *b, void *user)
{
    const struct plan_state *states = user;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const double one = written_rank(&states[x], WRITTEN_CAP),
                 other = written_rank(&states[y], WRITTEN_CAP);

    return one < other ? -1 : one > other ? 1 : x < y ? -1 : x > y;
}

static struct plan_targets sort_targets(const struct requisites *requisites,
                                        struct plan_targets found)
{
    uint32_t *sorted = ARENA_ARRAY(requisites->arena, uint32_t, found.n);

    memcpy(sorted, found.p, found.n * sizeof(*sorted));
    qsort_r(sorted, found.n, sizeof(*sorted), compare_written,
            (void *)(uintptr_t)requisites->states);
    return (struct plan_targets){ sorted, found.n };
}

/* An optional target that is not part of the run is shown, and otherwise ignored. */
static void note_absent_target(struct requisites *requisites, uint32_t state,
                               const struct requisite_form *form, const char *target)
{
    struct requisite_set **set = &requisites->sets[state];

    if (!*set)
        *set = ARENA_NEW(requisites->arena, struct requisite_set);
    VEC_PUSH_IN(requisites->arena, &(*set)->absent,
                arena_printf(requisites->arena, "%s %s", form->name, target));
}

/* One target: `key` is NULL for a plain text. */
static int read_requisite_target(struct requisites *requisites, uint32_t state,
                                 const struct requisite_form *form, const struct value *key,
                                 const struct value *id, bool optional)
{
    const struct str text = decl_text(requisites->arena, id);
    struct plan_targets found;
    const char *unknown;
    bool many;

    if (!text.p || text.n == 0 || (key && key->kind != VALUE_STR)) {
        (void)value_diag(requisites->diags, id,
                         "state \"%s\": %s must be the ID of a state, not %s",
                         requisites->states[state].name, form->name,
                         text.p && text.n == 0 ? "an empty text" : value_describe(id));
        if (key && key->kind == VALUE_STR && requisite_form_find(key->s))
            diag_hint(requisites->diags, "'%s' is a separate requisite: put it next to '%s'",
                      key->s.p, form->name);
        else if (value_is(id, VALUE_LIST))
            diag_hint(requisites->diags, "use a separate item for each ID");
        return -1;
    }
    const struct requisite_item item = {
        .key = key,
        .id = text,
        .salt = !form->inverse && requisites->states[state].dialect->requires_all,
    };
    if (requisite_find(requisites->arena, requisites->lookup, &item, &found, &unknown) < 0) {
        if (optional) {
            note_absent_target(requisites, state, form, unknown);
            return 0;
        }
        (void)report_unknown_target(requisites, state, form, key ? key : id, unknown);
        if (!suggest_target(requisites, key, text) && item.salt)
            diag_hint(requisites->diags, "declare it, or include the file that does");
        return -1;
    }

    if (item.salt && found.n > 1)
        found = sort_targets(requisites, found);
    /* A state that names its own group means the others. */
    many = found.n > 1 || !glob_is_plain(text) || (key && str_is(key->s, "sls"));
    VEC_EACH (&found, target) {
        if (*target == state && many)
            continue;
        if (form->inverse ? requisite_add(requisites, *target, form->kind, state) < 0
                          : requisite_add(requisites, state, form->kind, *target) < 0)
            return -1;
        note_listener(requisites, form->inverse ? *target : state, form);
    }
    return 0;
}

/* May the target of an item be missing? Not if its change or failure decides whether the state
 * runs. */
static int read_optional(struct requisites *requisites, uint32_t state,
                         const struct requisite_form *form, const struct value *item, bool *ret)
{
    const struct requisite_rule *rule = requisite_rule(form->kind);
    const struct value *optional = value_get(item, OPTIONAL);
    const char *name = requisites->states[state].name;

    *ret = false;
    if (!optional)
        return 0;
    if (optional->kind != VALUE_BOOL)
        return value_diag(requisites->diags, optional,
                          "state \"%s\": '" OPTIONAL "' must be true or false, not %s", name,
                          value_describe(optional));
    if (item->map->count == 1)
        return value_diag(requisites->diags, optional,
                          "state \"%s\": '" OPTIONAL "' stands beside a target, in the same item",
                          name);
    if (!form->inverse && (rule->only_change || rule->failure || rule->later)) {
        (void)value_diag(requisites->diags, optional,
                         "state \"%s\": the targets of %s cannot be optional", name, form->name);
        diag_hint(requisites->diags, "they decide whether the state runs; 'require', 'watch' and "
                                     "'listen' can do without, and so can inverses");
        return -1;
    }
    *ret = optional->b;
    return 0;
}

static int read_requisite_item(struct requisites *requisites, uint32_t state,
                               const struct requisite_form *form, const struct value *item)
{
    bool optional;
    int result = 0;

    if (item->kind != VALUE_MAP)
        return read_requisite_target(requisites, state, form, NULL, item, false);
    if (read_optional(requisites, state, form, item, &optional) < 0)
        return -1;
    for (size_t i = 0; i < item->map->count; i++) {
        const struct value_pair *pair = &item->map->pairs[i];

        if (pair->key.kind != VALUE_STR || !str_is(pair->key.s, OPTIONAL))
            result |=
                read_requisite_target(requisites, state, form, &pair->key, &pair->value, optional);
    }
    return result;
}

int requisite_read(struct requisites *requisites, uint32_t state, const struct requisite_form *form,
                   const struct value *value)
{
    int result = 0;

    if (value->kind == VALUE_NULL)
        return 0;
    if (value->kind != VALUE_LIST)
        return read_requisite_item(requisites, state, form, value);
    for (size_t i = 0; i < value->list->count; i++)
        result |= read_requisite_item(requisites, state, form, &value->list->items[i]);
    return result;
}

/* --- sealing -------------------------------------------------------------------------- */

static int compare_targets(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static size_t sort_unique(uint32_t *p, size_t n)
{
    size_t kept = 0;

    if (n > 1)
        qsort(p, n, sizeof(*p), compare_targets);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || p[i] != p[i - 1])
            p[kept++] = p[i];
    return kept;
}

static bool has_number(const struct plan_targets *targets, uint32_t number)
{
    return targets->n > 0 &&
           bsearch(&number, targets->p, targets->n, sizeof(number), compare_targets);
}

/* The kind of requisite that needs `target` to succeed; REQUISITES when there is none.
 */
static enum requisite needs_success(const struct plan_state *state, uint32_t target)
{
    enum requisite kind = 0;

    for (; kind < REQUISITES; kind++) {
        const struct requisite_rule *rule = requisite_rule(kind);
        const struct plan_targets *targets = &state->requisites[kind];

        if (rule->success && (!rule->one || targets->n == 1) && has_number(targets, target))
            break;
    }
    return kind;
}

/* A state that needs another to succeed and to fail can never run. */
static int check_exclusion(const struct plan_state *state, const struct plan_state *states,
                           enum requisite kind, struct diags *diags)
{
    const struct plan_targets *targets = &state->requisites[kind];
    size_t excluded = 0;
    uint32_t last = 0;

    VEC_EACH (targets, target)
        if (needs_success(state, *target) < REQUISITES) {
            excluded++;
            last = *target;
        }
    if (excluded == 0 || (requisite_rule(kind)->one && excluded < targets->n))
        return 0;
    (void)diag_add(
        diags, state->at,
        "dag: state \"%s\" can never run: it needs \"%s\" to succeed (%s) and to fail (%s)",
        state->name, states[last].name, requisite_name(needs_success(state, last)),
        requisite_name(kind));
    return -1;
}

/* The requisites of a state in Salt's order: kind by kind, each list as written. */
static struct plan_targets collect_asked(struct arena *arena, const struct requisite_set *set)
{
    static const enum requisite kinds[] = {
        REQUISITE_REQUIRE, REQUISITE_REQUIRE_ANY, REQUISITE_WATCH,     REQUISITE_WATCH_ANY,
        REQUISITE_ONFAIL,  REQUISITE_ONFAIL_ALL,  REQUISITE_ONCHANGES, REQUISITE_ONCHANGES_ANY,
    };
    size_t n = 0;
    uint32_t *all;

    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        n += set->targets[kinds[k]].n;
    all = ARENA_ARRAY(arena, uint32_t, n + 1);
    n = 0;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
        VEC_EACH (&set->targets[kinds[k]], target)
            all[n++] = *target;
    return (struct plan_targets){ all, n };
}

int requisite_seal(struct requisites *requisites, struct plan_state *states, uint32_t count)
{
    int result = 0;

    for (uint32_t i = 0; i < count; i++) {
        const struct requisite_set *set = requisites->sets[i];

        if (!set)
            continue;
        states[i].heard = set->heard;
        states[i].listens = set->listens;
        states[i].absent = (struct param_strs){ set->absent.n, set->absent.p };
        if (states[i].dialect->written_order)
            states[i].asked = collect_asked(requisites->arena, set);
        for (size_t k = 0; k < REQUISITES; k++)
            states[i].requisites[k] =
                (struct plan_targets){ set->targets[k].p,
                                       sort_unique(set->targets[k].p, set->targets[k].n) };
        for (enum requisite k = 0; k < REQUISITES; k++)
            if (states[i].requisites[k].n > 0 && requisite_rule(k)->failure)
                result |= check_exclusion(&states[i], states, k, requisites->diags);
    }
    return result;
}
