#include "fleet/peel/basket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/sha256.h"
#include "fleet/bus/store.h"
#include "core/data/msgpack.h"
#include "core/data/params.h"
#include "core/data/yaml.h"
#include "states/local/perform.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/request.h"
#include "fleet/peel/job_queue.h"
#include "fleet/peel/snapshot.h"
#include "core/sys/clock.h"
#include "core/sys/loop_message.h"
#include "core/sys/blocking_query.h"
#include "core/sys/loop.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/question.h"
#include "fleet/wire/subject.h"

#define SETTING   "basket_functions"
#define NAMES_MAX 64
#define VALUE_MAX ((size_t)64 << 10) /* bytes of what is shared under one name */
#define TICK_NS   (5 * CLOCK_SECOND)
/* Unchanged values are written again after this: another peel may have made a server overwrite them
 * (fleet/nats/kv.h), or masters may have removed them by mistake. */
#define RENEW_NS (20 * 60 * CLOCK_SECOND)

struct entry_args {
    const char *fact, *function;
    const struct value *args;
    int64_t interval; /* nanoseconds */
};

/* clang-format off */
static const struct param entry_params[] = {
    PARAM("fact",     STR,      struct entry_args, fact, "path of the fact that is shared; else the name", .kind_text = "PATH"),
    PARAM("function", STR,      struct entry_args, function, "a function whose answer is shared instead", .kind_text = "NAME"),
    PARAM("args",     MAP,      struct entry_args, args, "its arguments"),
    PARAM("interval", DURATION, struct entry_args, interval, "how often a change is shared, at most", .default_text = "5m", PARAM_RANGE(0, INT64_MAX)),
    { 0 },
};
/* clang-format on */

/* One name. */
struct entry {
    char *name, *fact;
    char *function;     /* NULL: not given */
    struct arena *args; /* of the function; `args_value` is in it */
    struct value args_value;
    int64_t ran; /* clock_now of the last begin of the function; 0: never over this connection */
    int64_t interval;
    int64_t written; /* clock_now of the last write; 0: none over this connection */
    char sum[SHA256_HEX_SIZE];
    bool is_wanted;
};

struct basket {
    struct basket_options options;
    struct nats_js js;
    uint64_t generation; /* of the connection */
    struct timer tick;
    struct loop_messages loop_messages;
    VEC(struct entry) entries;
    char *mistake; /* that was logged */
};

/* --- what the settings say ------------------------------------------------------------ */

static struct entry *find_basket_entry(struct basket *basket, const char *name)
{
    VEC_EACH (&basket->entries, entry)
        if (strcmp(entry->name, name) == 0)
            return entry;
    return NULL;
}

/* A number or a text alone is the interval. */
static int read_basket_args(struct arena *arena, const struct value *given, struct entry_args *ret,
                            struct diags *diags)
{
    const struct params_policy policy = { .noun = "key" };
    struct value_map *map = value_map_new(arena, 1);
    struct value source = value_map(map);

    if (given->kind == VALUE_MAP)
        source = *given;
    else if (given->kind != VALUE_NULL)
        value_map_set(arena, map, value_text("interval"), *given);
    return params_decode(arena, entry_params, &policy, &source, ret, diags);
}

static void clear_source(struct entry *entry)
{
    free(entry->fact);
    free(entry->function);
    if (entry->args)
        arena_done(entry->args);
    free(entry->args);
    entry->fact = entry->function = NULL;
    entry->args = NULL;
    entry->args_value = value_null();
}

static void set_entry_source(struct entry *entry, const struct entry_args *args)
{
    clear_source(entry);
    entry->fact = mem_strdup(args->fact ? args->fact : entry->name);
    entry->function = args->function ? mem_strdup(args->function) : NULL;
    if (!args->args)
        return;
    entry->args = mem_zalloc(sizeof(*entry->args));
    entry->args_value = value_copy(entry->args, args->args);
}

static int check_basket_function(const struct entry_args *args, struct diags *diags)
{
    if (args->function && args->fact)
        return diag_add(diags, (struct place){ 0 }, "'fact' and 'function' are mutually exclusive");
    if (!args->function || (perform_class(args->function) != PERFORM_UNKNOWN &&
                            perform_class(args->function) != PERFORM_STATES))
        return 0;
    return diag_add(diags, (struct place){ 0 }, "'%s' is not a function that can be shared",
                    args->function);
}

static int read_basket_setting(struct basket *basket, struct arena *arena,
                               const struct value_pair *pair, struct diags *diags)
{
    const char *name = pair->key.kind == VALUE_STR ? arena_str(arena, pair->key.s).p : "";
    struct entry_args args = { 0 };
    struct entry *entry;

    if (!nats_kv_is_key(name))
        return diag_add(diags, (struct place){ 0 }, "'%s' is not a valid name", name);
    if (read_basket_args(arena, &pair->value, &args, diags) < 0 ||
        check_basket_function(&args, diags) < 0)
        return -1;
    entry = find_basket_entry(basket, name);
    if (!entry) {
        if (basket->entries.n >= NAMES_MAX)
            return diag_add(diags, (struct place){ 0 }, "more than %d names", NAMES_MAX);
        VEC_PUSH(&basket->entries, (struct entry){ .name = mem_strdup(name) });
        entry = &basket->entries.p[basket->entries.n - 1];
    }
    set_entry_source(entry, &args);
    entry->interval = args.interval;
    entry->is_wanted = true;
    return 0;
}

static void report_basket_mistake(struct basket *basket, const struct diags *diags)
{
    const char *text = diags->list.n ? diags->list.p[0].text : "";

    if (text[0] && (!basket->mistake || strcmp(text, basket->mistake) != 0))
        log_error(SETTING " has a mistake, what it is about is not shared error=%s", text);
    free(basket->mistake);
    basket->mistake = mem_strdup(text);
}

static void read_basket_settings(struct basket *basket, const struct value *settings)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    const struct value *names = value_get(settings, SETTING);

    VEC_EACH (&basket->entries, entry)
        entry->is_wanted = false;
    if (names && names->kind != VALUE_MAP && names->kind != VALUE_NULL)
        (void)diag_add(&diags, (struct place){ 0 }, "it is not a map");
    for (size_t i = 0; names && names->kind == VALUE_MAP && i < names->map->count; i++)
        (void)read_basket_setting(basket, &arena, &names->map->pairs[i], &diags);
    report_basket_mistake(basket, &diags);
}

/* --- sharing -------------------------------------------------------------------------- */

/* A write under way; it outlives its connection by its last callback. */
struct write {
    struct basket *basket;
    uint64_t generation;
    char name[];
};

static void on_basket_written(void *self, const struct nats_error *error, uint64_t revision)
{
    struct write *write = self;

    (void)revision;
    if (error && error->fault != NATS_FAULT_CANCELED) {
        log_warning("basket not written name=%s error=%s", write->name, error->text);
        if (write->generation == write->basket->generation) {
            struct entry *entry = find_basket_entry(write->basket, write->name);

            if (entry)
                entry->written = 0; /* the next tick tries again */
        }
    }
    free(write);
}

/* A NULL view removes what is there. */
static int write_name(struct basket *basket, const char *name, struct str value)
{
    const struct nats_kv kv = { .js = basket->js, .bucket = store_bucket_name(STORE_BASKET) };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *key = arena_printf(&arena, "%s.%s", basket->options.peel_id, name);
    struct write *write = mem_zalloc(sizeof(*write) + strlen(name) + 1);
    struct err err;
    int result;

    write->basket = basket;
    write->generation = basket->generation;
    memcpy(write->name, name, strlen(name));
    result = value.p ? nats_kv_put(&kv, key, value, on_basket_written, write, &err)
                     : nats_kv_delete(&kv, key, 0, on_basket_written, write, &err);
    if (result < 0)
        free(write);
    return result;
}

static bool is_entry_old(const struct entry *entry, int64_t now)
{
    return !entry->written || now - entry->written >= RENEW_NS;
}

static void share_value(struct basket *basket, struct entry *entry, const struct value *v)
{
    AUTO_BUF struct buf bytes = BUF_INIT(VALUE_MAX);
    const int64_t now = clock_now();
    char sum[SHA256_HEX_SIZE];
    struct err err;

    if (msgpack_encode(&bytes, v, &err) < 0 || bytes.full) {
        log_warning("basket not written name=%s error=more than %zu bytes", entry->name, VALUE_MAX);
        entry->written = now;
        return;
    }
    sha256_hex(bytes.p, bytes.n, sum);
    if (!is_entry_old(entry, now) && strcmp(sum, entry->sum) == 0)
        return;
    if (write_name(basket, entry->name, buf_view(&bytes)) == 0) {
        memcpy(entry->sum, sum, sizeof(sum));
        entry->written = now;
    }
}

/* A function under way. */
struct basket_call {
    struct basket *basket;
    char name[];
};

/* Lists and maps travel as YAML. */
static struct value parse_basket_text(struct arena *arena, const char *text)
{
    struct diags diags = DIAGS_INIT(arena);
    struct value v;

    if (yaml_parse(arena, NULL, str_from(text), NULL, &v, &diags) == 0 &&
        (v.kind == VALUE_LIST || v.kind == VALUE_MAP))
        return v;
    return value_text(text);
}

/* The result, or the output of a command. False: it failed. */
static bool read_result(struct arena *arena, struct str response, struct value *ret)
{
    struct exec_response said;
    const char *result, *output;
    struct err err;

    if (record_decode(arena, &exec_response_type, 1, response, &said, &err) < 0 || !said.success ||
        said.results.list.n == 0)
        return false;
    result = value_get_text(&said.results.list.p[0].details, "result");
    output = value_get_text(&said.results.list.p[0].details, "stdout");
    if (!result && !output)
        return false;
    *ret = result ? parse_basket_text(arena, result) : value_text(output);
    return true;
}

static void on_called(void *self, const struct perform_answer *answer, struct str response,
                      int64_t duration)
{
    struct basket_call *call = self;
    struct entry *entry = find_basket_entry(call->basket, call->name);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value v;

    (void)duration;
    if (!read_result(&arena, response, &v))
        log_warning("basket not written name=%s error=%s", call->name,
                    answer->error ? answer->error : "the function failed");
    else if (entry && entry->is_wanted && call->basket->js.conn)
        share_value(call->basket, entry, &v);
    free(call);
}

static void call_function(struct basket *basket, struct entry *entry, const char *function)
{
    const int64_t now = clock_now();
    struct basket_call *call;
    struct err err;

    if (entry->ran && now - entry->ran < entry->interval)
        return;
    entry->ran = now;
    call = mem_zalloc(sizeof(*call) + strlen(entry->name) + 1);
    call->basket = basket;
    memcpy(call->name, entry->name, strlen(entry->name));
    if (basket->options.run(basket->options.self,
                            &(struct job_queue_task){ .jid = "",
                                                      .function = function,
                                                      .id = "",
                                                      .args = entry->args_value,
                                                      .fn = on_called,
                                                      .self = call },
                            &err) == 0)
        return;
    log_warning("basket not written name=%s error=%s", entry->name, err.text);
    free(call);
}

static bool is_reading(const char *name)
{
    return perform_class(name) == PERFORM_QUICK || perform_class(name) == PERFORM_READ;
}

/* The function that is named; the fact; or a function that has the name and only reads. */
static void share_entry(struct basket *basket, struct entry *entry, const struct value *facts)
{
    const struct value *v = value_path(facts, str_from(entry->fact), '.');

    v = v ? v : value_path(facts, str_from(entry->fact), ':');
    if (entry->function)
        call_function(basket, entry, entry->function);
    else if (!v && is_reading(entry->name))
        call_function(basket, entry, entry->name);
    else if (v && (!entry->written || clock_now() - entry->written >= entry->interval))
        share_value(basket, entry, v);
}

static void remove_unwanted(struct basket *basket)
{
    for (size_t i = basket->entries.n; i-- > 0;) {
        struct entry *entry = &basket->entries.p[i];

        if (entry->is_wanted || write_name(basket, entry->name, (struct str){ NULL, 0 }) < 0)
            continue;
        free(entry->name);
        clear_source(entry);
        *entry = basket->entries.p[--basket->entries.n];
    }
}

void basket_refresh(struct basket *basket)
{
    struct snapshot *facts, *settings;
    const char *why;

    if (!basket || !basket->js.conn)
        return;
    settings = basket->options.settings(basket->options.self, &why);
    if (!settings)
        return;
    facts = basket->options.facts(basket->options.self);
    read_basket_settings(basket, &settings->value);
    VEC_EACH (&basket->entries, entry)
        if (entry->is_wanted)
            share_entry(basket, entry, &facts->value);
    remove_unwanted(basket);
    snapshot_drop(facts);
    snapshot_drop(settings);
}

static void on_basket_tick(struct timer *timer)
{
    struct basket *basket = container_of(timer, struct basket, tick);

    timer_set(loop_timers(basket->options.loop), timer, clock_after(clock_now(), TICK_NS),
              on_basket_tick);
    basket_refresh(basket);
}

/* --- asking --------------------------------------------------------------------------- */

static void on_basket_reply(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    blocking_query_answer(self, error ? (struct str){ NULL, 0 } : msg->payload,
                          error ? error->text : "");
}

static void on_basket_query(struct blocking_query *blocking_query, void *self, struct str request)
{
    const struct basket *basket = self;
    struct err err;

    if (!basket->js.conn)
        (void)err_set(&err, ERR_BUSY, "there is no connection to the bus");
    else if (nats_request(
                 basket->js.conn,
                 &(struct nats_pub){ .subject = str_from(subject_template(SUBJECT_RESOLVE)),
                                     .payload = request },
                 BASKET_ASK_NS, on_basket_reply, blocking_query, NULL, &err) == 0)
        return;
    blocking_query_answer(blocking_query, (struct str){ NULL, 0 }, err.text);
}

int basket_ask(struct basket *basket, const struct basket_question *question, struct arena *arena,
               struct value *ret_values, struct err *err)
{
    const struct question_resolve ask = { .expr = question->target,
                                          .type = question->type,
                                          .basket = question->name,
                                          .scope = question->scope };
    AUTO_BUF struct buf request = BUF_INIT(VALUE_MAX);
    struct blocking_query_question blocking_query = { .fn = on_basket_query,
                                                      .self = basket,
                                                      .timeout = BASKET_ASK_NS + CLOCK_SECOND,
                                                      .cancel = question->cancel };
    struct str reply;

    if (record_encode(&request, &question_resolve_type, &ask, err) < 0)
        return -1;
    blocking_query.request = buf_view(&request);
    if (blocking_query_ask(&basket->loop_messages, &blocking_query, arena, &reply, err) < 0)
        return err_wrap(err, "basket '%s': no master answers", question->name);
    return question_shared(arena, reply, ret_values, err) < 0
               ? err_wrap(err, "basket '%s'", question->name)
               : 0;
}

/* --- life ----------------------------------------------------------------------------- */

struct basket *basket_new(const struct basket_options *options, struct err *err)
{
    struct basket *basket = mem_zalloc(sizeof(*basket));

    basket->options = *options;
    if (loop_messages_open(&basket->loop_messages, options->loop, err) < 0) {
        free(basket);
        return NULL;
    }
    return basket;
}

void basket_free(struct basket *basket)
{
    if (!basket)
        return;
    timer_clear(loop_timers(basket->options.loop), &basket->tick);
    loop_messages_close(&basket->loop_messages);
    VEC_EACH (&basket->entries, entry) {
        free(entry->name);
        clear_source(entry);
    }
    vec_done(&basket->entries);
    free(basket->mistake);
    free(basket);
}

void basket_connect(struct basket *basket, const struct nats_js *js)
{
    basket->generation++;
    basket->js = js ? *js : (struct nats_js){ 0 };
    VEC_EACH (&basket->entries, entry)
        entry->written = entry->ran = 0;
    if (js)
        timer_set(loop_timers(basket->options.loop), &basket->tick, clock_now(), on_basket_tick);
    else
        timer_clear(loop_timers(basket->options.loop), &basket->tick);
}
