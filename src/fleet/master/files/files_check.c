#include "fleet/master/files/files_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/sha256.h"
#include "core/data/value.h"
#include "core/sys/background_task.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/master/announce.h"
#include "fleet/master/files/files_service.h"
#include "fleet/master/files/tree_check.h"
#include "fleet/master/files/tree_set.h"
#include "fleet/master/files/tree_sums.h"
#include "fleet/master/master.h"
#include "fleet/master/peels/roster.h"
#include "fleet/master/services.h"

/* A master that has just started reads facts for a moment. */
#define FACTS_LOOK_NS   (200 * CLOCK_MS)
#define FACTS_LOOKS_MAX 50
/* Mistakes in the log. */
#define LOGGED_MAX 10
#define REASON_MAX 256
#define CHANGES    "the folder changes while it is checked"

/* A set that waits for its verdict. */
struct asked_set {
    struct files_service_branch *branch;
    char sum[SHA256_HEX_SIZE];
    enum publisher_check_mode mode;
    unsigned tries;
};

struct checked_machine {
    const char *peel;
    struct value facts;
};

/* Sums of the manifests of all kinds. */
struct folder_sums {
    char of[FILES_SERVICE_KINDS][SHA256_HEX_SIZE];
};

struct files_check {
    struct files_service *service;
    struct background_task task;
    struct cancel cancel;
    struct timer timer, limit;
    struct tree_sums sums[FILES_SERVICE_KINDS]; /* the worker's while it reads */
    VEC(struct asked_set) asked;
    unsigned tries, looks;
    bool is_running, is_stopped, is_stale;

    /* the check under way */
    struct arena arena;
    struct folder_sums before, after;
    struct tree_check *running;
    struct param_strs peels;
    size_t next;
    struct checked_machine batch[FILES_CHECK_BATCH];
    size_t batch_size;
    struct arena batch_arena;
    struct err err;
    bool has_failed, is_cut;

    /* the verdict */
    struct tree_check *last; /* NULL: none */
    struct folder_sums found;
    size_t machines; /* that there were */
    int64_t since;   /* clock_now */
    bool is_valid, was_cut;
    char problem[LIVENESS_PROBLEM_MAX + 1]; /* "": none */
};

static void begin_tree_check(struct files_check *check);
static void begin_next_batch(struct files_check *check);

/* --- the verdict ---------------------------------------------------------------------- */

static const enum tree_check_tree trees[FILES_SERVICE_KINDS] = {
    [FILES_SERVICE_SETTINGS] = TREE_CHECK_SETTINGS,
    [FILES_SERVICE_STATES] = TREE_CHECK_STATES,
    [FILES_SERVICE_REACTOR] = TREE_CHECK_REACTOR,
    [FILES_SERVICE_SEALED] = TREE_CHECK_SETTINGS,
};

static size_t count_all(const struct tree_check_counts *counts)
{
    size_t all = 0;

    for (size_t i = 0; i < TREE_CHECK_TREES; i++)
        all += counts->mistakes[i];
    return all;
}

/* Trees that must not be published when this one is wrong: states use settings. */
static size_t count_for(const struct tree_check_counts *counts, enum tree_check_tree tree,
                        enum publisher_check_mode mode)
{
    if (mode == PUBLISHER_CHECK_ALL)
        return count_all(counts);
    if (tree == TREE_CHECK_REACTOR)
        return counts->mistakes[tree];
    return counts->mistakes[TREE_CHECK_STATES] + counts->mistakes[TREE_CHECK_SETTINGS];
}

static size_t count_last(const struct files_check *check)
{
    const struct tree_check_counts counts =
        check->last ? tree_check_count(check->last) : (struct tree_check_counts){ 0 };

    return count_all(&counts);
}

/* NULL: it may be published. */
static const char *judge_set(const struct files_check *check, const struct asked_set *asked,
                             char reason[static REASON_MAX])
{
    const struct tree_check_counts counts = tree_check_count(check->last);
    const enum tree_check_tree tree = trees[asked->branch - check->service->branches];
    const size_t own = counts.mistakes[tree];

    if (asked->mode == PUBLISHER_CHECK_REPORT || count_for(&counts, tree, asked->mode) == 0)
        return NULL;
    if (own > 0)
        (void)snprintf(reason, REASON_MAX, "not published: %zu mistake%s", own,
                       own == 1 ? "" : "s");
    else
        (void)snprintf(reason, REASON_MAX, "not published: there are mistakes in other trees");
    return reason;
}

static const char *print_mistake(struct arena *arena, const struct tree_check_mistake *mistake)
{
    return arena_printf(arena, "%s: %s", tree_check_tree_name(mistake->tree), mistake->text);
}

static void log_mistakes(const struct files_check *check)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct tree_check_mistake *mistake;

    for (size_t i = 0; i < LOGGED_MAX && (mistake = tree_check_at(check->last, i)); i++)
        log_error("a mistake in a folder that is published: %s%s%s", print_mistake(&arena, mistake),
                  mistake->peel[0] ? " peel=" : "", mistake->peel);
}

static void announce_refusal(const struct files_check *check, size_t mistakes)
{
    struct master *master = check->service->master;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct value data = value_map(value_map_new(&arena, 3));
    struct err err;

    value_map_set(&arena, data.map, value_text("mistakes"), value_int((int64_t)mistakes));
    value_map_set(&arena, data.map, value_text("first"), value_text(check->problem));
    value_map_set(&arena, data.map, value_text("master"), value_text(master->id));
    if (announce_event(master, &(struct announcement){ .tag = "tree/refused", .data = data },
                       &err) < 0)
        log_warning("event of a tree that is not published: %s", err.text);
}

static void set_problem(struct files_check *check, const char *text)
{
    struct master *master = check->service->master;
    const struct str line = liveness_problem(str_from(text));

    memcpy(check->problem, line.p, line.n);
    check->problem[line.n] = '\0';
    tree_board_note(&master->trees, TREE_BOARD_PUBLISHER, check->problem);
}

static void measure_mistakes(const struct files_check *check)
{
    const struct tree_check_counts counts =
        check->last ? tree_check_count(check->last) : (struct tree_check_counts){ 0 };

    for (size_t i = 0; i < TREE_CHECK_TREES; i++)
        metrics_set(check->service->master->metrics, MASTER_TREE_REFUSED, counts.mistakes[i] > 0,
                    tree_check_tree_name((enum tree_check_tree)i), NULL);
}

/* The same mistakes are reported once. */
static void report_verdict(struct files_check *check)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct tree_check_mistake *first = tree_check_at(check->last, 0);
    const size_t all = count_last(check);
    const char *text = "";
    bool is_same;

    if (first)
        text = arena_printf(&arena, "mistakes in the folder: %s%s", print_mistake(&arena, first),
                            all > 1 ? arena_printf(&arena, " (and %zu more)", all - 1) : "");
    is_same = str_eq(liveness_problem(str_from(text)), str_from(check->problem));
    set_problem(check, text);
    measure_mistakes(check);
    if (is_same || all == 0)
        return;
    log_mistakes(check);
    announce_refusal(check, all);
}

static void answer_set(const struct asked_set *asked, const char *refusal)
{
    publisher_go_on(asked->branch->publisher, refusal);
}

/* --- the end of a check --------------------------------------------------------------- */

static bool is_verdict_for(const struct files_check *check, const struct asked_set *asked)
{
    return check->is_valid && check->last &&
           strcmp(check->found.of[asked->branch - check->service->branches], asked->sum) == 0;
}

/* An answer may begin a round that asks again. */
static void answer_all(struct files_check *check)
{
    const struct asked_set *list = check->asked.p;
    const size_t count = check->asked.n;
    char reason[REASON_MAX];

    check->asked.p = NULL;
    check->asked.n = check->asked.cap = 0;
    for (size_t i = 0; i < count; i++) {
        struct asked_set asked = list[i];

        if (check->has_failed)
            answer_set(&asked, asked.mode == PUBLISHER_CHECK_REPORT ? NULL : check->err.text);
        else if (is_verdict_for(check, &asked))
            answer_set(&asked, judge_set(check, &asked, reason));
        else if (++asked.tries < FILES_CHECK_TRIES)
            VEC_PUSH(&check->asked, asked);
        else
            answer_set(&asked, CHANGES);
    }
    free((void *)(uintptr_t)list);
    if (check->asked.n > 0 && !check->is_running)
        begin_tree_check(check);
}

static void end_tree_check(struct files_check *check)
{
    check->is_running = false;
    timer_clear(loop_timers(check->service->master->loop), &check->limit);
    cancel_done(&check->cancel);
    if (!check->has_failed) {
        tree_check_free(check->last);
        check->last = check->running;
        check->found = check->before;
        check->machines = check->peels.n;
        check->since = clock_now();
        check->was_cut = check->is_cut;
        check->is_valid = !check->is_stale;
    } else {
        tree_check_free(check->running);
    }
    check->running = NULL;
    arena_done(&check->batch_arena);
    check->batch_arena = (struct arena)ARENA_INIT;
    if (check->is_stopped)
        return;
    if (!lease_is_held(&check->service->lease))
        files_check_forget(check);
    else if (!check->has_failed)
        report_verdict(check);
    answer_all(check);
}

static void fail_tree_check(struct files_check *check)
{
    check->has_failed = true;
    end_tree_check(check);
}

/* --- steps ---------------------------------------------------------------------------- */

static const char *get_checked_folder(const struct files_check *check, size_t kind)
{
    const struct master_conf *conf = &check->service->master->conf;
    const char *const folders[FILES_SERVICE_KINDS] = {
        [FILES_SERVICE_SETTINGS] = conf->settings_dir,
        [FILES_SERVICE_STATES] = conf->states_dir,
        [FILES_SERVICE_REACTOR] = conf->reactor_dir,
        [FILES_SERVICE_SEALED] = conf->settings_dir,
    };

    return folders[kind];
}

/* In a worker: what the publishers would publish. */
static int sum_folders(struct files_check *check, struct folder_sums *ret, struct err *err)
{
    for (size_t i = 0; i < FILES_SERVICE_KINDS; i++) {
        const struct publisher_kind *kind = &files_service_kinds[i];
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct tree_set set;

        if (tree_set_read(&arena,
                          &(struct tree_set_options){
                              .folder = get_checked_folder(check, i),
                              .prefix = kind->prefix,
                              .prepare = kind->prepare,
                              .self = i == FILES_SERVICE_SEALED ? &check->service->account : NULL,
                              .markers = kind->markers,
                              .sums = &check->sums[i] },
                          &set, err) < 0 ||
            tree_set_sum(&arena, &set, kind->is_bare, ret->of[i], err) < 0)
            return -1;
    }
    return 0;
}

static struct files_check *get_check(struct background_task *task)
{
    return container_of(task, struct files_check, task);
}

static void sum_again(struct background_task *task)
{
    struct files_check *check = get_check(task);

    check->has_failed = sum_folders(check, &check->after, &check->err) < 0;
}

static void on_summed_again(struct background_task *task)
{
    struct files_check *check = get_check(task);

    const bool is_same = memcmp(&check->before, &check->after, sizeof(check->before)) == 0;

    if (!check->has_failed && !check->is_stopped && !is_same && check->tries < FILES_CHECK_TRIES) {
        begin_tree_check(check);
        return;
    }
    if (!check->has_failed && !is_same)
        check->has_failed = err_set(&check->err, ERR_BUSY, CHANGES) < 0;
    end_tree_check(check);
}

static void begin_task(struct files_check *check, background_task_fn *work,
                       background_task_fn *done)
{
    background_task_begin(&check->service->background_tasks, &check->task, work, done);
}

static void check_batch(struct background_task *task)
{
    struct files_check *check = get_check(task);

    for (size_t i = 0; i < check->batch_size; i++)
        tree_check_machine(check->running, check->batch[i].peel, &check->batch[i].facts);
}

static void on_batch_checked(struct background_task *task)
{
    begin_next_batch(get_check(task));
}

/* Facts belong to the loop. */
static void fill_batch(struct files_check *check)
{
    const struct roster *roster = master_roster(check->service->master);

    arena_clear(&check->batch_arena);
    check->batch_size = 0;
    while (check->next < check->peels.n && check->batch_size < FILES_CHECK_BATCH) {
        const char *peel = check->peels.p[check->next++];
        const struct value *facts = roster ? roster_facts(roster, str_from(peel)) : NULL;

        if (facts)
            check->batch[check->batch_size++] =
                (struct checked_machine){ peel, value_copy(&check->batch_arena, facts) };
    }
}

static void begin_next_batch(struct files_check *check)
{
    if (check->is_stopped) {
        fail_tree_check(check);
        return;
    }
    if (!check->is_cut)
        fill_batch(check);
    if (check->is_cut || check->batch_size == 0)
        begin_task(check, sum_again, on_summed_again);
    else
        begin_task(check, check_batch, on_batch_checked);
}

/* Machines that are left count as not checked. */
static void on_check_limit(struct timer *timer)
{
    struct files_check *check = container_of(timer, struct files_check, limit);

    check->is_cut = true;
    cancel_raise(&check->cancel);
}

static void read_checked_folders(struct background_task *task)
{
    struct files_check *check = get_check(task);
    const struct tree_check_options options = {
        .states = get_checked_folder(check, FILES_SERVICE_STATES),
        .settings = get_checked_folder(check, FILES_SERVICE_SETTINGS),
        .reactor = get_checked_folder(check, FILES_SERVICE_REACTOR),
        .cancel = &check->cancel,
    };

    check->has_failed = sum_folders(check, &check->before, &check->err) < 0;
    if (!check->has_failed)
        check->running = tree_check_new(&options, &check->err);
    check->has_failed = !check->running;
}

static void on_folders_read(struct background_task *task)
{
    struct files_check *check = get_check(task);
    const struct roster *roster = master_roster(check->service->master);
    const struct roster_question everybody = { .expr = "*", .type = "" };

    if (!check->has_failed && !check->is_stopped &&
        (!roster ||
         roster_resolve(roster, &check->arena, &everybody, &check->peels, &check->err) < 0))
        check->peels = (struct param_strs){ 0 };
    if (check->has_failed || check->is_stopped)
        fail_tree_check(check);
    else
        begin_next_batch(check);
}

static bool knows_facts(const struct files_check *check)
{
    const struct roster *roster = master_roster(check->service->master);

    return roster && roster_is_seeded(roster);
}

static void on_facts_look(struct timer *timer)
{
    struct files_check *check = container_of(timer, struct files_check, timer);
    struct timers *timers = loop_timers(check->service->master->loop);

    if (!knows_facts(check) && check->looks++ < FACTS_LOOKS_MAX) {
        timer_set(timers, timer, clock_after(clock_now(), FACTS_LOOK_NS), on_facts_look);
        return;
    }
    if (cancel_init(&check->cancel, &check->err) < 0) {
        check->is_running = false;
        check->has_failed = true;
        answer_all(check);
        return;
    }
    timer_set(timers, &check->limit, clock_after(clock_now(), FILES_CHECK_NS), on_check_limit);
    begin_task(check, read_checked_folders, on_folders_read);
}

static void begin_tree_check(struct files_check *check)
{
    if (check->running) { /* the folders have changed meanwhile */
        tree_check_free(check->running);
        check->running = NULL;
        timer_clear(loop_timers(check->service->master->loop), &check->limit);
        cancel_done(&check->cancel);
    } else {
        check->tries = 0;
    }
    check->tries++;
    check->is_running = true;
    check->is_cut = check->has_failed = check->is_stale = false;
    check->next = 0;
    check->looks = 0;
    arena_clear(&check->arena);
    on_facts_look(&check->timer);
}

/* --- questions ------------------------------------------------------------------------ */

void files_check_ask(struct files_check *check, struct files_service_branch *branch,
                     const struct publisher_question *question)
{
    struct asked_set asked = { .branch = branch, .mode = question->mode };
    char reason[REASON_MAX];

    (void)snprintf(asked.sum, sizeof(asked.sum), "%s", question->sum);
    if (check->is_valid && clock_now() - check->since >= FILES_CHECK_AGE)
        check->is_valid = false;
    if (check->is_stopped) {
        answer_set(&asked, "this master is shutting down");
        return;
    }
    if (!check->service->master->conf.files_check ||
        (question->is_published && question->mode == PUBLISHER_CHECK_TREE &&
         count_last(check) == 0)) {
        answer_set(&asked, NULL);
        return;
    }
    if (!check->is_running && is_verdict_for(check, &asked)) {
        answer_set(&asked, judge_set(check, &asked, reason));
        return;
    }
    VEC_PUSH(&check->asked, asked);
    if (!check->is_running)
        begin_tree_check(check);
}

void files_check_renew(struct files_check *check)
{
    check->is_valid = false;
    check->is_stale = check->is_running;
}

void files_check_forget(struct files_check *check)
{
    check->is_valid = false;
    tree_check_free(check->last);
    check->last = NULL;
    set_problem(check, "");
    measure_mistakes(check);
}

void files_check_show(const struct files_check *check, struct arena *arena,
                      struct fileset_check *ret)
{
    const struct tree_check_mistake *mistake;
    struct tree_check_counts counts;

    *ret = (struct fileset_check){ 0 };
    if (!check->last)
        return;
    counts = tree_check_count(check->last);
    ret->machines = (int64_t)check->machines;
    ret->checked = (int64_t)counts.machines;
    ret->unknown = (int64_t)counts.unknown;
    ret->total = (int64_t)count_all(&counts);
    for (size_t i = 0; (mistake = tree_check_at(check->last, i)); i++)
        VEC_PUSH_IN(arena, &ret->mistakes.list,
                    (struct fileset_mistake){ .tree = tree_check_tree_name(mistake->tree),
                                              .text = arena_strdup(arena, mistake->text),
                                              .hint = arena_strdup(arena, mistake->hint),
                                              .peel = arena_strdup(arena, mistake->peel),
                                              .peels = (int64_t)mistake->peels });
}

const char *files_check_problem(const struct files_check *check)
{
    return check->problem;
}

/* --- life ----------------------------------------------------------------------------- */

struct files_check *files_check_new(struct files_service *service)
{
    struct files_check *check = mem_zalloc(sizeof(*check));

    check->service = service;
    for (size_t i = 0; i < FILES_SERVICE_KINDS; i++)
        check->sums[i] = (struct tree_sums)TREE_SUMS_INIT;
    return check;
}

void files_check_start(struct files_check *check)
{
    check->is_stopped = false;
}

void files_check_stop(struct files_check *check)
{
    struct timers *timers = loop_timers(check->service->master->loop);
    const bool waits = timer_is_set(&check->timer);

    check->is_stopped = true;
    if (waits) {
        timer_clear(timers, &check->timer);
        check->is_running = false;
    }
    if (check->is_running)
        cancel_raise(&check->cancel);
    timer_clear(timers, &check->limit);
    (void)err_set(&check->err, ERR_CANCELED, "this master is shutting down");
    check->has_failed = true;
    answer_all(check);
}

void files_check_free(struct files_check *check)
{
    if (!check)
        return;
    tree_check_free(check->running);
    tree_check_free(check->last);
    for (size_t i = 0; i < FILES_SERVICE_KINDS; i++)
        tree_sums_done(&check->sums[i]);
    vec_done(&check->asked);
    arena_done(&check->batch_arena);
    arena_done(&check->arena);
    free(check);
}
