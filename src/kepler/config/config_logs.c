/* `logs:` - what is stored, for how long, and when it is cleared. */
#include "core/base/diag.h"
#include "kepler/config/config_read.h"

#define MS      INT64_C(1000000)
#define DAY     (INT64_C(86400) * 1000 * MS)
#define AGE_MAX (INT64_C(36500) * DAY)
/* Less than one segment with its largest block could not be kept to. */
#define SIZE_MIN (INT64_C(1) << 20)

/* One key of retention: whether it was given, and its value. */
struct keep {
    enum config_keep keep;
    bool given;
};

struct retention_args {
    struct keep on_start, on_stop, on_restart, on_success, on_failure, on_skipped, on_exit;
};

#define ARGS struct retention_args
#define KEEP(name, doc)                                                                            \
    PARAM(#name, CHOICE, ARGS, name.keep, doc, .choices = "retain|clear",                          \
          PARAM_GIVEN(ARGS, name.given))
const struct param config_retention_params[] = {
    KEEP(on_start, "when it starts"),           KEEP(on_stop, "when it is stopped"),
    KEEP(on_restart, "when it is restarted"),   KEEP(on_success, "when it ends with code 0"),
    KEEP(on_failure, "when it fails"),          KEEP(on_skipped, "when it is skipped"),
    KEEP(on_exit, "on_success and on_failure"), { 0 },
};
#undef ARGS

struct store_args {
    bool to_stdout, to_stderr;
};

#define ARGS struct store_args
const struct param config_store_params[] = {
    PARAM("stdout", BOOL, ARGS, to_stdout, "standard output", .default_text = "true"),
    PARAM("stderr", BOOL, ARGS, to_stderr, "standard error", .default_text = "true"),
    { 0 },
};
#undef ARGS

struct logs_args {
    const struct value *store, *retention;
    int64_t flush_interval, retention_period, cleanup_interval, batch_size, max_size;
};

#define ARGS struct logs_args
#define SHARED_KEYS                                                                                \
    PARAM("store", ANY, ARGS, store, "true, false, or a map with stdout and stderr",               \
          .kind_text = "bool or map"),                                                             \
        PARAM("retention", MAP, ARGS, retention, "when stored lines are cleared")
const struct param config_service_logs_params[] = { SHARED_KEYS, { 0 } };
const struct param config_logs_params[] = {
    SHARED_KEYS,
    PARAM("flush_interval", DURATION, ARGS, flush_interval, "how long lines are buffered",
          .default_text = "100ms", PARAM_RANGE(MS, DAY)),
    PARAM("retention_period", DURATION, ARGS, retention_period, "drop older lines",
          PARAM_RANGE(MS, AGE_MAX)),
    PARAM("cleanup_interval", DURATION, ARGS, cleanup_interval, "how often old lines are dropped",
          .default_text = "60s", PARAM_RANGE(MS, AGE_MAX)),
    PARAM("batch_size", INT, ARGS, batch_size, "lines per write", .default_text = "4096",
          PARAM_RANGE(1, 1000000)),
    PARAM("max_size", SIZE, ARGS, max_size, "bytes to keep; older lines are dropped",
          .default_text = "1GB", PARAM_RANGE(SIZE_MIN, INT64_MAX)),
    { 0 },
};
#undef ARGS

static int refuse_both(const struct value *v, const char *other, struct diags *diags)
{
    (void)value_diag(diags, value_get(v, "on_exit"), "retention 'on_exit' conflicts with '%s'",
                     other);
    diag_note(diags, value_place(value_get(v, other)), "'%s' is here", other);
    diag_hint(diags, "'on_exit' stands for 'on_success' and 'on_failure'");
    return -1;
}

static int read_retention(struct arena *arena, const struct value *v, const char *owner,
                          struct config_logs *ret, struct diags *diags)
{
    struct params_policy policy = config_policy(arena_printf(arena, "'retention' of %s", owner));
    struct retention_args args = { 0 };

    if (params_decode(arena, config_retention_params, &policy, v, &args, diags) < 0)
        return -1;
    if (args.on_exit.given && args.on_success.given)
        return refuse_both(v, "on_success", diags);
    if (args.on_exit.given && args.on_failure.given)
        return refuse_both(v, "on_failure", diags);

    const struct {
        const struct keep *from;
        enum config_keep *to;
    } fields[] = {
        { &args.on_start, &ret->on_start },     { &args.on_stop, &ret->on_stop },
        { &args.on_restart, &ret->on_restart }, { &args.on_exit, &ret->on_success },
        { &args.on_exit, &ret->on_failure },    { &args.on_success, &ret->on_success },
        { &args.on_failure, &ret->on_failure }, { &args.on_skipped, &ret->on_skipped },
    };
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (fields[i].from->given)
            *fields[i].to = fields[i].from->keep;
    return 0;
}

static int read_logs_store(struct arena *arena, const struct value *v, const char *owner,
                           struct config_logs *ret, struct diags *diags)
{
    struct params_policy policy = config_policy(arena_printf(arena, "'store' of %s", owner));
    struct store_args args = { 0 };

    if (v->kind == VALUE_BOOL) {
        ret->store_stdout = ret->store_stderr = v->b;
        return 0;
    }
    if (v->kind != VALUE_MAP)
        return value_diag(diags, v, "'store' must be true, false or a map, got %s",
                          value_describe(v));
    if (params_decode(arena, config_store_params, &policy, v, &args, diags) < 0)
        return -1;
    ret->store_stdout = args.to_stdout;
    ret->store_stderr = args.to_stderr;
    return 0;
}

static int read_shared(struct arena *arena, const struct logs_args *args, const char *owner,
                       struct config_logs *ret, struct diags *diags)
{
    int result = 0;

    if (config_given(args->store) && read_logs_store(arena, args->store, owner, ret, diags) < 0)
        result = -1;
    if (args->retention && read_retention(arena, args->retention, owner, ret, diags) < 0)
        result = -1;
    return result;
}

int config_logs_read_global(struct arena *arena, const struct value *v, struct config_logs *ret,
                            struct diags *diags)
{
    static const char owner[] = "'kepler.logs'";
    struct params_policy policy = config_policy(owner);
    struct logs_args args = { 0 };
    bool sync = ret->sync;
    int result = params_decode(arena, config_logs_params, &policy, v, &args, diags);

    *ret = (struct config_logs){
        .store_stdout = true,
        .store_stderr = true,
        .flush_interval = args.flush_interval,
        .retention_period = args.retention_period,
        .cleanup_interval = args.cleanup_interval,
        .batch_size = args.batch_size,
        .max_size = args.max_size,
        .sync = sync,
    };
    return read_shared(arena, &args, owner, ret, diags) < 0 ? -1 : result;
}

int config_logs_read_service(struct arena *arena, const struct value *v, const char *owner,
                             struct config_logs *ret, struct diags *diags)
{
    const char *whose = arena_printf(arena, "'logs' of %s", owner);
    struct params_policy policy = config_policy(whose);
    struct logs_args args = { 0 };
    int result = params_decode(arena, config_service_logs_params, &policy, config_static(arena, v),
                               &args, diags);

    return read_shared(arena, &args, whose, ret, diags) < 0 ? -1 : result;
}
