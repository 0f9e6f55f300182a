/*
 * {% for %}. The items that pass the test of `for x in y if test` are found one by one, while the
 * body runs: the test sees changes of the body. `loop` looks ahead only when needed (`last`,
 * `nextitem`) and reads all the rest when the length is needed.
 */
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "language/jinja/container.h"
#include "language/jinja/eval.h"
#include "language/jinja/ops.h"
#include "language/jinja/sequence.h"
#include "language/jinja/text.h"

struct loop {
    struct object object;
    const struct node_for *node;
    struct running home;            /* where the test and the recursion are evaluated */
    const struct value_list *items; /* NULL: a range */
    const struct range *range; /* never turned into a list: nested loops would fill the memory */
    size_t next;
    bool filtered; /* the test still has to run */
    bool tested;   /* the scope of the test has begun */
    bool length_known;
    size_t length;
    int64_t index0, depth0;
    struct value before, current, after, changed;
};

/* --- items -------------------------------------------------------------------------- */

static size_t count_loop_items(const struct loop *loop)
{
    return loop->items ? loop->items->count : loop->range->length;
}

static struct value get_loop_item(const struct loop *loop, size_t i)
{
    return loop->items ? loop->items->items[i] : value_int(range_item(loop->range, i));
}

static int find_loop_items(struct render *render, const struct value *iterable, struct loop *loop)
{
    loop->range = object_as(iterable, &range_type);
    if (loop->range)
        return text_expect_items(render, loop->range->length);
    return op_list(render, iterable, &loop->items);
}

/* Run the test on one item, with the test's variables. */
static int run_loop_test(struct eval *eval, struct loop *loop, const struct value *item, bool *ret)
{
    if (!loop->tested)
        eval_enter(eval, &loop->node->test_scope);
    loop->tested = true;
    if (eval_assign(eval, loop->node->test_target, item) < 0)
        return -1;
    return eval_truth(eval, loop->node->test, ret);
}

/* The same from anywhere: a macro may ask for `loop.last`. */
static int run_loop_test_anywhere(struct eval *eval, struct loop *loop, const struct value *item,
                                  bool *ret)
{
    const bool at_home = eval->now.activation == loop->home.activation &&
                         eval->now.autoescape == loop->home.autoescape;
    struct running saved;
    uint32_t at = eval->render.at;

    if (at_home) {
        if (run_loop_test(eval, loop, item, ret) < 0)
            return -1;
        eval->render.at = at;
        return 0;
    }
    saved = eval_save(eval);
    eval_return(eval, loop->home, at);
    if (run_loop_test(eval, loop, item, ret) < 0)
        return -1;
    eval_return(eval, saved, at);
    return 0;
}

/* The next item; absent at the end. */
static int next_passing_item(struct eval *eval, struct loop *loop, struct value *ret)
{
    bool found = !loop->filtered;

    *ret = value_absent();
    while (loop->next < count_loop_items(loop)) {
        struct value item = get_loop_item(loop, loop->next++);

        if (loop->filtered && (render_step(&eval->render, 1) < 0 ||
                               run_loop_test_anywhere(eval, loop, &item, &found) < 0))
            return -1;
        if (found) {
            *ret = item;
            return 0;
        }
    }
    return 0;
}

static int peek_loop_item(struct eval *eval, struct loop *loop, struct value *ret)
{
    if (value_is_absent(&loop->after) && next_passing_item(eval, loop, &loop->after) < 0)
        return -1;
    *ret = loop->after;
    return 0;
}

/* Advance and return the next item; absent at the end. */
static int advance_loop(struct eval *eval, struct loop *loop, struct value *ret)
{
    if (!value_is_absent(&loop->after)) {
        *ret = loop->after;
        loop->after = value_absent();
    } else if (next_passing_item(eval, loop, ret) < 0) {
        return -1;
    }
    if (value_is_absent(ret))
        return 0;
    loop->index0++;
    loop->before = loop->current;
    loop->current = *ret;
    return 0;
}

/* All remaining items that pass the test. */
static int take_rest(struct eval *eval, struct loop *loop)
{
    struct value_list *rest = container_new_list(&eval->render, 0);
    struct value item;

    for (;;) {
        if (next_passing_item(eval, loop, &item) < 0)
            return -1;
        if (value_is_absent(&item))
            break;
        value_list_push(eval->render.arena, rest, item);
    }
    loop->items = rest;
    loop->next = 0;
    loop->filtered = false;
    return 0;
}

static int loop_length(struct render *render, struct object *object, size_t *ret)
{
    struct loop *loop = (struct loop *)object;

    if (!loop->length_known && loop->filtered) {
        if (take_rest(eval_of(render), loop) < 0)
            return -1;
        loop->length =
            count_loop_items(loop) + (size_t)(loop->index0 + 1) + !value_is_absent(&loop->after);
    } else if (!loop->length_known) {
        loop->length = count_loop_items(loop);
    }
    loop->length_known = true;
    *ret = loop->length;
    return 0;
}

/* --- what templates ask ------------------------------------------------------------------ */

static int call_cycle(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct loop *loop = bound->user;
    const struct value_list *values = container_list(render, &bound->args[0]);

    if (values->count == 0)
        return render_fail(render, RENDER_TYPE, "no items for cycling given");
    *ret = values->items[(size_t)loop->index0 % values->count];
    return 0;
}

static int call_changed(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct loop *loop = bound->user;
    bool differs = true;

    if (!value_is_absent(&loop->changed) &&
        op_compare(render, OP_NE, &loop->changed, &bound->args[0], &differs) < 0)
        return -1;
    if (differs)
        loop->changed = bound->args[0];
    *ret = value_bool(differs);
    return 0;
}

static const struct function methods[] = {
    { "cycle", "*args", call_cycle, "one of the values, in turn" },
    { "changed", "*value", call_changed,
      "true when the values differ from those of the last call" },
    { 0 },
};

enum member {
    MEMBER_INDEX,
    MEMBER_INDEX0,
    MEMBER_REVINDEX,
    MEMBER_REVINDEX0,
    MEMBER_FIRST,
    MEMBER_LAST,
    MEMBER_LENGTH,
    MEMBER_DEPTH,
    MEMBER_DEPTH0,
    MEMBER_PREVITEM,
    MEMBER_NEXTITEM,
    MEMBER_CYCLE,
    MEMBER_CHANGED,
    MEMBERS,
};

static const struct str member_names[MEMBERS] = {
    [MEMBER_INDEX] = { "index", 5 },       [MEMBER_INDEX0] = { "index0", 6 },
    [MEMBER_REVINDEX] = { "revindex", 8 }, [MEMBER_REVINDEX0] = { "revindex0", 9 },
    [MEMBER_FIRST] = { "first", 5 },       [MEMBER_LAST] = { "last", 4 },
    [MEMBER_LENGTH] = { "length", 6 },     [MEMBER_DEPTH] = { "depth", 5 },
    [MEMBER_DEPTH0] = { "depth0", 6 },     [MEMBER_PREVITEM] = { "previtem", 8 },
    [MEMBER_NEXTITEM] = { "nextitem", 8 }, [MEMBER_CYCLE] = { "cycle", 5 },
    [MEMBER_CHANGED] = { "changed", 7 },
};

static int get_length(struct render *render, struct loop *loop, enum member member,
                      struct value *ret)
{
    size_t length;

    if (loop_length(render, &loop->object, &length) < 0)
        return -1;
    if (member == MEMBER_REVINDEX)
        *ret = value_int((int64_t)length - loop->index0);
    else if (member == MEMBER_REVINDEX0)
        *ret = value_int((int64_t)length - loop->index0 - 1);
    else
        *ret = value_int((int64_t)length);
    return 0;
}

static int get_next(struct render *render, struct loop *loop, enum member member, struct value *ret)
{
    struct value next;

    if (peek_loop_item(eval_of(render), loop, &next) < 0)
        return -1;
    if (member == MEMBER_LAST)
        *ret = value_bool(value_is_absent(&next));
    else if (value_is_absent(&next))
        *ret = undefined_because(render, false, "there is no next item");
    else
        *ret = next;
    return 0;
}

static int get_member(struct render *render, struct loop *loop, enum member member,
                      struct value *ret)
{
    switch (member) {
    case MEMBER_INDEX: *ret = value_int(loop->index0 + 1); return 0;
    case MEMBER_INDEX0: *ret = value_int(loop->index0); return 0;
    case MEMBER_FIRST: *ret = value_bool(loop->index0 == 0); return 0;
    case MEMBER_DEPTH: *ret = value_int(loop->depth0 + 1); return 0;
    case MEMBER_DEPTH0: *ret = value_int(loop->depth0); return 0;
    case MEMBER_PREVITEM:
        *ret = loop->index0 == 0 ? undefined_because(render, false, "there is no previous item")
                                 : loop->before;
        return 0;
    case MEMBER_CYCLE:
    case MEMBER_CHANGED:
        *ret = function_value(render, &methods[member - MEMBER_CYCLE], loop);
        return 0;
    case MEMBER_LAST:
    case MEMBER_NEXTITEM: return get_next(render, loop, member, ret);
    default: return get_length(render, loop, member, ret);
    }
}

static int loop_get(struct render *render, struct object *object, struct str name,
                    struct value *ret, bool *ret_found)
{
    for (int i = 0; i < MEMBERS; i++)
        if (str_eq(name, member_names[i])) {
            *ret_found = true;
            return get_member(render, (struct loop *)object, (enum member)i, ret);
        }
    *ret_found = false;
    return 0;
}

static int loop_print(struct render *render, struct object *object, struct buf *out)
{
    const struct loop *loop = (const struct loop *)object;
    size_t length;

    if (loop_length(render, object, &length) < 0)
        return -1;
    buf_printf(out, "<LoopContext %lld/%zu>", (long long)loop->index0 + 1, length);
    return 0;
}

static int loop_call(struct render *render, struct object *object, const struct function_call *call,
                     struct value *ret);

static const struct object_type loop_type = {
    .name = "LoopContext",
    .get = loop_get,
    .call = loop_call,
    .length = loop_length,
    .print = loop_print,
};

/* --- running -------------------------------------------------------------------------------- */

/* One turn of the body. `*ret_whole` when it ran to its end. */
static int run_turn(struct eval *eval, const struct node_for *node, const struct value *item,
                    bool *ret_whole)
{
    int rc;

    if (render_step(&eval->render, 1) < 0)
        return -1;
    rc = eval_assign(eval, node->target, item);
    if (rc < 0)
        return -1;
    eval_enter(eval, &node->body_scope);
    rc = eval_body(eval, node->body);
    *ret_whole = *ret_whole || rc == 0;
    return rc == EVAL_CONTINUE ? 0 : rc;
}

/* Jinja2 runs `else` when no turn ran to its end, so also after a `break` in the first. */
static int run_turns(struct eval *eval, struct loop *loop)
{
    const struct node_for *node = loop->node;
    bool whole = false;
    struct value item;
    int rc = 0;

    while (rc == 0) {
        if (advance_loop(eval, loop, &item) < 0)
            return -1;
        if (value_is_absent(&item))
            break;
        rc = run_turn(eval, node, &item, &whole);
    }
    if (rc < 0)
        return -1;
    eval_exit(eval, &node->body_scope);
    if (whole || node->otherwise.n == 0)
        return 0;
    eval_enter(eval, &node->else_scope);
    rc = eval_body(eval, node->otherwise);
    eval_exit(eval, &node->else_scope);
    return rc;
}

static int run_loop(struct eval *eval, const struct node_for *node, const struct value *iterable,
                    int64_t depth0)
{
    struct loop unseen; /* a loop whose `loop` is not used cannot outlive its tag */
    struct loop *loop =
        node->loop_slot < 0 ? &unseen : arena_alloc(eval->render.arena, sizeof(*loop));
    int rc;

    *loop = (struct loop){ 0 };
    eval->render.at = node->iter->at;
    if (find_loop_items(&eval->render, iterable, loop) < 0)
        return -1;
    loop->object.type = &loop_type;
    loop->node = node;
    loop->home = eval_save(eval);
    loop->filtered = node->test != NULL;
    loop->index0 = -1;
    loop->depth0 = depth0;
    loop->before = loop->current = loop->after = loop->changed = value_absent();
    if (node->loop_slot >= 0)
        eval->now.activation->slots[node->loop_slot] = object_value(&loop->object);
    if (render_enter(&eval->render) < 0)
        return -1;
    rc = run_turns(eval, loop);
    render_leave(&eval->render);
    return rc;
}

/* A recursive loop is a function, called first by its own tag. */
static int run_recursive(struct eval *eval, const struct node_for *node, struct activation *outer,
                         const struct value *iterable, int64_t depth0)
{
    struct running saved = eval_save(eval);
    uint32_t at = eval->render.at;
    int rc;

    eval_activate(eval, node->code, outer);
    rc = run_loop(eval, node, iterable, depth0);
    eval_return(eval, saved, at);
    return rc;
}

static int loop_call(struct render *render, struct object *object, const struct function_call *call,
                     struct value *ret)
{
    const struct loop *loop = (const struct loop *)object;
    struct eval *eval = eval_of(render);
    struct running saved = eval_save(eval);
    size_t start = eval->out->n;
    uint32_t at = render->at;

    if (call->count != 1 || call->named_count > 0)
        return render_fail(render, RENDER_TYPE,
                           "loop() takes 1 positional argument but %zu %s given", call->count,
                           call->count == 1 ? "was" : "were");
    if (!loop->node->recursive)
        return render_fail(render, RENDER_TYPE,
                           "the loop must have the 'recursive' marker to be called recursively");
    eval_return(eval, loop->home, at);
    if (run_recursive(eval, loop->node, loop->home.activation->outer, &call->args[0],
                      loop->depth0 + 1) < 0) {
        eval_return(eval, saved, at);
        return -1;
    }
    eval_return(eval, saved, at);
    *ret = eval_capture(eval, start, eval->now.autoescape);
    return 0;
}

int eval_for(struct eval *eval, const struct node_for *node)
{
    struct value iterable;

    if (eval_expression(eval, node->iter, &iterable) < 0)
        return -1;
    if (!node->recursive) {
        int rc = run_loop(eval, node, &iterable, 0);

        return rc == EVAL_BREAK ? 0 : rc;
    }
    return run_recursive(eval, node, eval->now.activation, &iterable, 0);
}
