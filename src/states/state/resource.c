#include "states/state/resource.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "states/state/module.h"

/* A state while it is checked, applied or reverted. */
struct task {
    struct state_run *run;
    const struct resource *resource;
    const void *args;
    const char *it; /* "database 'app'" */
    struct resource_seen now;
};

static const char *find_wanted_text(const void *args, size_t offset)
{
    return *(const char *const *)(const void *)((const char *)args + offset);
}

static int start_task(struct state_run *run, const struct resource *resource, const void *args,
                      struct task *ret, struct err *err)
{
    *ret = (struct task){ .run = run, .resource = resource, .args = args };
    if (resource->describe)
        ret->it = resource->describe(run, args);
    else if (resource->kind)
        ret->it = arena_printf(run->arena, "%s '%s'", resource->kind,
                               find_wanted_text(args, resource->name));
    return resource->find(run, args, &ret->now, err);
}

/* Does the attribute have another value than this one? NULL: any will do. */
static bool has_other_value(const struct task *task, size_t i, const char *want)
{
    bool (*is_same)(const char *, const char *) = task->resource->attributes[i].is_same;
    const char *now = task->now.values[i];

    return want && !(now && (is_same ? is_same(now, want) : strcmp(now, want) == 0));
}

/* --- comparing -------------------------------------------------------------------------- */

static int compare_resource(const struct task *task, struct state_run *run, struct err *err)
{
    for (size_t i = 0; i < task->resource->n; i++) {
        const struct resource_attribute *attribute = &task->resource->attributes[i];
        const char *want = find_wanted_text(task->args, attribute->want),
                   *now = task->now.values[i];

        if (!has_other_value(task, i, want))
            continue;
        if (attribute->fixed)
            return err_set(err, ERR_INVALID, "%s has %s %s, want %s: this cannot be changed",
                           task->it, attribute->word, now, want);
        state_diff(run, attribute->word, now, want);
    }
    return task->resource->compare ? task->resource->compare(run, task->args, &task->now, err) : 0;
}

static int warn_of_loss(const struct task *task, struct err *err)
{
    const struct resource_contents *contents = task->resource->contents;
    int64_t count = 0;

    if (contents && contents->count(task->run, task->args, &count, err) < 0)
        return -1;
    if (count > 0)
        state_say(task->run, "its %lld %s cannot be restored by a revert", (long long)count,
                  contents->words);
    return 0;
}

static const char *choose_word(const char *word, const char *usual)
{
    return word ? word : usual;
}

static int check_present(const struct task *task, struct err *err)
{
    const struct resource *resource = task->resource;

    if (!task->now.exists) {
        state_differs(task->run, "%s %s", task->it,
                      choose_word(resource->missing, "does not exist"));
        state_made(task->run, "%s %s", choose_word(resource->made, "created"), task->it);
        return 0;
    }
    if (compare_resource(task, task->run, err) < 0)
        return -1;
    if (task->it && !task->run->differs)
        state_say(task->run, resource->made ? "%s is already %s" : "%s already exists", task->it,
                  resource->made);
    return 0;
}

static int check_absent(const struct task *task, struct err *err)
{
    if (!task->now.exists) {
        state_say(task->run, "%s %s", task->it,
                  choose_word(task->resource->missing, "does not exist"));
        return 0;
    }
    state_differs(task->run, "%s %s", task->it, choose_word(task->resource->exists, "exists"));
    state_made(task->run, "removed %s", task->it);
    return warn_of_loss(task, err);
}

int resource_check(struct state_run *run, const struct resource *resource, enum resource_goal goal,
                   const void *args, struct err *err)
{
    struct task task;

    if (resource->is_away && resource->is_away(run, args))
        return 0;
    if (start_task(run, resource, args, &task, err) < 0)
        return -1;
    return goal == RESOURCE_ABSENT ? check_absent(&task, err) : check_present(&task, err);
}

/* --- changing --------------------------------------------------------------------------- */

/* Compare without a report. */
static int probe_differences(const struct task *task, bool *ret_differs, bool *ret_acts,
                             struct err *err)
{
    struct state_run probe = *task->run;
    int result;

    probe.text = (struct buf)BUF_INIT(BUF_NO_LIMIT);
    probe.done = NULL;
    probe.plan_binding = NULL;
    probe.differs = probe.acts = false;
    result = compare_resource(task, &probe, err);
    buf_done(&probe.text);
    *ret_differs = probe.differs;
    *ret_acts = probe.acts;
    return result;
}

static int note_contents(const struct task *task, struct err *err)
{
    const struct resource_contents *contents = task->resource->contents;
    int64_t count;

    if (!contents)
        return 0;
    if (contents->count(task->run, task->args, &count, err) < 0)
        return -1;
    return state_note(task->run, contents->key, value_int(count), err);
}

static int note_resource(const struct task *task, struct err *err)
{
    const struct resource *resource = task->resource;

    if (resource->detail)
        state_detail(task->run, resource->detail, "%s",
                     find_wanted_text(task->args, resource->name));
    if (!resource->mark && state_note(task->run, "existed", value_bool(task->now.exists), err) < 0)
        return -1;
    for (size_t i = 0; i < task->resource->n; i++)
        if (task->now.values[i] && state_note(task->run, resource->attributes[i].key,
                                              value_text(task->now.values[i]), err) < 0)
            return -1;
    return resource->note ? resource->note(task->run, task->args, &task->now, err) : 0;
}

static int define_wanted(const struct task *task, struct err *err)
{
    struct resource_seen as = { .exists = false };

    for (size_t i = 0; i < task->resource->n; i++) {
        const char *want = find_wanted_text(task->args, task->resource->attributes[i].want);

        if (!task->now.exists || has_other_value(task, i, want))
            as.values[i] = want;
    }
    if (task->resource->define(task->run, task->args, &task->now, &as, err) < 0)
        return -1;
    return task->now.exists ? 0 : note_contents(task, err);
}

int resource_apply(struct state_run *run, const struct resource *resource, enum resource_goal goal,
                   const void *args, struct err *err)
{
    bool differs, acts = false;
    struct task task;

    if (start_task(run, resource, args, &task, err) < 0)
        return -1;
    differs = task.now.exists == (goal == RESOURCE_ABSENT);
    if (!differs && goal == RESOURCE_PRESENT && probe_differences(&task, &differs, &acts, err) < 0)
        return -1;
    if (!differs) {
        state_unchanged(run);
        return acts ? define_wanted(&task, err) : 0;
    }
    if ((goal == RESOURCE_ABSENT && note_contents(&task, err) < 0) || note_resource(&task, err) < 0)
        return -1;
    return goal == RESOURCE_ABSENT ? resource->drop(run, args, err) : define_wanted(&task, err);
}

/* --- reverting -------------------------------------------------------------------------- */

static int64_t read_count(const struct task *task)
{
    const struct value *noted =
        task->resource->contents ? state_noted(task->run, task->resource->contents->key) : NULL;

    return value_is(noted, VALUE_INT) ? noted->i : 0;
}

/* The attributes as noted; false: not all of them were. */
static bool read_attributes(const struct task *task, struct resource_seen *ret)
{
    /* journals of older versions may have them as a list */
    const struct value *list = state_noted(task->run, "before");
    bool complete = true;

    *ret = (struct resource_seen){ .exists = true };
    for (size_t i = 0; i < task->resource->n; i++) {
        const struct value *noted = state_noted(task->run, task->resource->attributes[i].key);

        if (value_is(list, VALUE_LIST) && i < list->list->count)
            noted = &list->list->items[i];
        if (value_is(noted, VALUE_STR))
            ret->values[i] = noted->s.p;
        complete &= ret->values[i] != NULL;
    }
    return complete;
}

/* Content that others have added since then is not ours to drop. */
static int drop_unused(const struct task *task, struct err *err)
{
    const struct resource_contents *contents = task->resource->contents;
    int64_t count = 0;

    if (contents && contents->count(task->run, task->args, &count, err) < 0)
        return -1;
    if (count > read_count(task))
        return err_set(err, ERR_INVALID, "%s is not removed: it has %lld %s by now", task->it,
                       (long long)count, contents->words);
    state_say(task->run, "removed %s", task->it);
    return task->resource->drop(task->run, task->args, err);
}

static int alter_back(const struct task *task, struct resource_seen *was, struct err *err)
{
    for (size_t i = 0; i < task->resource->n; i++) {
        const struct resource_attribute *attribute = &task->resource->attributes[i];

        if (attribute->fixed || !has_other_value(task, i, was->values[i]) ||
            (attribute->loose && !find_wanted_text(task->args, attribute->want)))
            was->values[i] = NULL;
    }
    state_say(task->run, "%s is as before", task->it);
    return task->resource->define(task->run, task->args, &task->now, was, err);
}

static int create_again(const struct task *task, const struct resource_seen *was, struct err *err)
{
    if (read_count(task) > 0)
        return err_set(err, ERR_INVALID, "%s had %lld %s: restore it from a backup", task->it,
                       (long long)read_count(task), task->resource->contents->words);
    state_say(task->run, "%s %s again", choose_word(task->resource->made, "created"), task->it);
    return task->resource->define(task->run, task->args, &task->now, was, err);
}

static bool has_existed(const struct value *mark)
{
    return mark->kind == VALUE_BOOL ? mark->b : mark->kind != VALUE_NULL;
}

static int foresee_revert(const struct task *task, bool drops)
{
    task->run->destroys |= drops;
    state_say(task->run, drops ? "would remove %s" : "would restore %s", task->it);
    return 0;
}

int resource_revert(struct state_run *run, const struct resource *resource, enum resource_goal goal,
                    const void *args, struct err *err)
{
    const struct value *mark = state_noted(run, choose_word(resource->mark, "existed"));
    struct resource_seen was;
    struct task task;
    bool complete;

    if (start_task(run, resource, args, &task, err) < 0)
        return -1;
    complete = read_attributes(&task, &was);
    /* what was removed is known by its attributes, if it has any: older versions noted no mark */
    if (task.now.exists == (goal == RESOURCE_ABSENT) ||
        (goal == RESOURCE_ABSENT && resource->n > 0 ? !complete : !mark)) {
        state_unchanged(run);
        return 0;
    }
    if (run->test)
        return foresee_revert(&task, goal == RESOURCE_PRESENT && !has_existed(mark));
    if (goal == RESOURCE_PRESENT && !has_existed(mark))
        return drop_unused(&task, err);
    if (resource->restore)
        return resource->restore(run, args, &task.now, err);
    return goal == RESOURCE_ABSENT ? create_again(&task, &was, err) : alter_back(&task, &was, err);
}
