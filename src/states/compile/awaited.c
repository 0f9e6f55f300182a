#include "states/compile/awaited.h"

#include "core/base/diag.h"
#include "core/base/str.h"
#include "states/compile/decl.h"
#include "states/compile/requisite.h"
#include "states/state/module.h"

/* A service and a condition, separated by a blank. A path with a blank is not a condition. */
static bool is_service(struct str text)
{
    struct str rest = str_trim(text);

    (void)str_cut(&rest, ' ');
    rest = str_trim(rest);
    return rest.n > 0 && str_find_char(rest, '/', 0) == STR_NONE;
}

/* The state kepler.* with this ID; NULL: none. */
static const struct decl *find_declared(const struct decl_set *set, struct str id)
{
    const struct decl_ids *ids = map_find(&set->ids, id);

    for (size_t i = 0; ids && i < ids->list.n; i++)
        if (str_starts(str_from(ids->list.p[i]->module->name), STR(AWAITED_FAMILY ".")))
            return ids->list.p[i];
    return NULL;
}

/* Does the requisite ask for success or failure alone? */
static bool asks_for_outcome(const struct requisite_form *form)
{
    const struct requisite_rule *rule = requisite_rule(form->kind);

    return !form->use && !form->inverse && !rule->change && !rule->later && !rule->apart;
}

static void refuse_form(const struct decl *decl, const struct requisite_form *form,
                        const struct value *text, struct diags *diags)
{
    (void)value_diag(diags, text, "state \"%s\": %s cannot name the service '%s' of kepler",
                     decl->name, form->name, text->s.p);
    diag_hint(
        diags,
        "a service has no changes and no requisites: name the kepler.running state of its config");
}

static void add_awaited_target(struct decl_set *set, const struct decl *decl,
                               const struct requisite_form *form, const struct value_pair *pair,
                               struct diags *diags)
{
    const struct decl_file file = { .file = set, .ref = decl->ref, .dialect = decl->dialect };
    const struct decl *other;
    struct value args;

    if (!value_is(&pair->key, VALUE_STR) || !str_is(pair->key.s, AWAITED_FAMILY) ||
        !value_is(&pair->value, VALUE_STR) || !is_service(pair->value.s))
        return;
    other = find_declared(set, pair->value.s);
    if (other && other->file != set) /* not one of ours */
        return;
    if (!asks_for_outcome(form))
        refuse_form(decl, form, &pair->value, diags);
    if (other)
        return;
    args = value_map(value_map_new(set->arena, 1));
    value_map_set(set->arena, args.map, value_text("name"), pair->value);
    if (decl_add(set, &file, &pair->value, module_find(STR(AWAITED_MODULE)), &args, diags) == 0)
        set->list.p[set->list.n - 1]->sequence = decl->sequence;
}

static void add_awaited_item(struct decl_set *set, const struct decl *decl,
                             const struct requisite_form *form, const struct value *item,
                             struct diags *diags)
{
    for (size_t i = 0; value_is(item, VALUE_MAP) && i < item->map->count; i++)
        add_awaited_target(set, decl, form, &item->map->pairs[i], diags);
}

static void add_awaited_list(struct decl_set *set, const struct decl *decl,
                             const struct requisite_form *form, const struct value *value,
                             struct diags *diags)
{
    add_awaited_item(set, decl, form, value, diags);
    for (size_t i = 0; value_is(value, VALUE_LIST) && i < value->list->count; i++)
        add_awaited_item(set, decl, form, &value->list->items[i], diags);
}

void awaited_add(struct decl_set *set, struct diags *diags)
{
    const size_t declared = set->list.n;

    for (size_t i = 0; i < declared; i++) {
        const struct decl *decl = set->list.p[i];

        for (size_t k = 0; !decl->excluded && k < decl->args->count; k++) {
            const struct value_pair *pair = &decl->args->pairs[k];
            const struct requisite_form *form = requisite_form_find(pair->key.s);

            if (form)
                add_awaited_list(set, decl, form, &pair->value, diags);
        }
    }
}
