#include "states/provider/package/manager.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/sys/process.h"

/* A manager that takes longer is stuck. Downloads may be slow. */
#define RUN_TIMEOUT_NS ((int64_t)3600 * 1000000000)
/* All managers stop on SIGINT: at once while downloading, between two packages while installing. A
 * package that takes longer is left half installed; the next run repairs it. */
#define STOP_TIME_NS ((int64_t)20 * 1000000000)
#define LOOKED_MAX   4096
#define QUESTION_MAX ((size_t)16 << 10)

/* --- finding one ---------------------------------------------------------------------------- */

static bool has_manager_programs(const struct package_manager *manager, struct arena *arena)
{
    for (const char *const *program = manager->programs; *program; program++)
        if (!tool_find(arena, *program))
            return false;
    return true;
}

static bool has_descendant_word(const char *words, const char *word)
{
    struct str rest = str_from(words);

    while (rest.p)
        if (str_is(str_cut(&rest, ' '), word))
            return true;
    return false;
}

static void add_programs(const struct package_manager *manager, struct buf *looked)
{
    for (const char *const *program = manager->programs; *program; program++)
        buf_printf(looked, "%s'%s'", looked->n > 0 ? ", " : "", *program);
}

static bool may_be(const struct package_manager *manager, const char *choice,
                   const char *descendants, bool known)
{
    if (choice)
        return strcmp(manager->name, choice) == 0;
    return !known || has_descendant_word(manager->families, descendants);
}

static bool is_known_family(const char *descendants)
{
    for (const struct package_manager *const *m = package_manager_table; descendants && *m; m++)
        if (has_descendant_word((*m)->families, descendants))
            return true;
    return false;
}

static int refuse_manager_name(const char *choice, struct err *err)
{
    AUTO_BUF struct buf names = BUF_INIT(BUF_NO_LIMIT);

    for (const struct package_manager *const *m = package_manager_table; *m; m++)
        buf_printf(&names, "%s%s", names.n > 0 ? ", " : "", (*m)->name);
    return err_set(err, ERR_NOT_FOUND, "unknown package manager '%s' (known: %s)", choice,
                   buf_text(&names));
}

static int report_missing_manager(const char *choice, const char *descendants,
                                  const struct buf *looked, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    if (looked->n == 0)
        return refuse_manager_name(choice, err);
    return err_set(err, ERR_NOT_FOUND,
                   "no package manager found for %s '%s': searched for %s in PATH '%s'",
                   choice ? "provider" : "os.family",
                   choice        ? choice
                   : descendants ? descendants
                                 : "unknown",
                   buf_text(looked), tool_path(&arena));
}

static int look_for(struct arena *arena, const char *choice, const char *descendants,
                    const struct package_manager **ret_manager, struct err *err)
{
    AUTO_BUF struct buf looked = BUF_INIT(LOOKED_MAX);
    const bool known = is_known_family(descendants);

    for (const struct package_manager *const *m = package_manager_table; *m; m++) {
        if (!may_be(*m, choice, descendants, known))
            continue;
        if (has_manager_programs(*m, arena)) {
            *ret_manager = *m;
            return 0;
        }
        add_programs(*m, &looked);
    }
    return report_missing_manager(choice, descendants, &looked, err);
}

/* Cached: a thousand states ask, and the programs stay where they are. */
static struct {
    pthread_mutex_t mutex;
    struct buf question;
    const struct package_manager *answer;
} found = { .mutex = PTHREAD_MUTEX_INITIALIZER, .question = BUF_INIT(QUESTION_MAX) };

int package_manager_find(struct arena *arena, const char *choice, const char *descendants,
                         const struct package_manager **ret_manager, struct err *err)
{
    AUTO_BUF struct buf question = BUF_INIT(QUESTION_MAX);
    const char *path = getenv("PATH");
    int rc = 0;

    buf_printf(&question, "%s\n%s\n%s", choice ? choice : "", descendants ? descendants : "",
               path ? path : "");
    (void)pthread_mutex_lock(&found.mutex);
    if (found.answer && !question.full && str_eq(buf_view(&question), buf_view(&found.question))) {
        *ret_manager = found.answer;
    } else {
        rc = look_for(arena, choice, descendants, ret_manager, err);
        found.answer = rc == 0 ? *ret_manager : NULL;
        buf_clear(&found.question);
        buf_add_str(&found.question, buf_view(&question));
    }
    (void)pthread_mutex_unlock(&found.mutex);
    return rc;
}

const struct package_manager *package_manager_called(const char *name)
{
    for (const struct package_manager *const *m = package_manager_table; *m; m++)
        if (strcmp((*m)->name, name) == 0)
            return *m;
    return NULL;
}

const char *package_manager_program(struct arena *arena, const char *program)
{
    const struct package_manager *manager = NULL;
    struct err ignored; /* unknown */

    if (package_manager_find(arena, NULL, NULL, &manager, &ignored) < 0 || !manager)
        return NULL;
    for (const struct package_programs *row = manager->program_packages; row && row->package; row++)
        if (has_descendant_word(row->programs, program))
            return row->package;
    return NULL;
}

/* --- running --------------------------------------------------------------------------------- */

static bool is_accepted_status(struct process_status status, const int *fine)
{
    if (process_status_ok(status))
        return true;
    for (int i = 0; fine && i < PACKAGE_FINE_MAX; i++)
        if (fine[i] != 0 && status.code == fine[i])
            return true;
    return false;
}

/* Terminal output also ends lines with a carriage return. */
static void add_reasons(struct arena *arena, struct str reasons, struct str *said)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    buf_add_str(&text, *said);
    for (size_t i = 0; i < reasons.n; i++)
        if (reasons.p[i] != '\r')
            buf_add_char(&text, reasons.p[i]);
    *said = buf_copy(&text, arena);
}

int package_manager_ask(const struct package_manager *manager, const struct package_host *host,
                        const char *const *argv, const int *fine, struct str *ret_output,
                        struct err *err)
{
    const struct tool_options options = { .env = manager->env,
                                          .timeout = RUN_TIMEOUT_NS,
                                          .stop_time = STOP_TIME_NS };
    struct process_result result;

    if (tool_try(&host->tool, argv, &options, &result, err) < 0)
        return -1;
    if (!is_accepted_status(result.status, fine)) {
        if (manager->reasons)
            add_reasons(host->tool.arena, manager->reasons(result.out), &result.err);
        return tool_fail(argv, &result, err);
    }
    if (ret_output)
        *ret_output = result.out;
    return 0;
}
