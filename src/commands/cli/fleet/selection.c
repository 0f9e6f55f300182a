#include "commands/cli/fleet/selection.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "commands/cli/fleet/job.h"
#include "commands/cli/fleet/link.h"
#include "core/sys/fs.h"
#include "language/target/target.h"
#include "fleet/wire/peel_id.h"

#define STANDARD_INPUT "-"
/* Names that a warning has. */
#define NAMED_MAX 5

/* --- reading ------------------------------------------------------------------------ */

/* A whole line, or what follows a blank, after '#'. */
static struct str cut_comment(struct str line)
{
    for (size_t i = 0; i < line.n; i++)
        if (line.p[i] == '#' && (i == 0 || line.p[i - 1] == ' ' || line.p[i - 1] == '\t'))
            return str_trim(str_slice(line, 0, i));
    return str_trim(line);
}

static int add_selected_line(struct arena *arena, struct selection_list *list, struct str line,
                             struct buf *expr, struct err *err)
{
    const char *text = arena_str(arena, line).p;
    char id[PEEL_ID_SIZE];
    struct err ignored; /* then it is a target */

    if (peel_id_encode(line, id, &ignored) == 0) {
        (void)map_set(&list->names, str_from(arena_strdup(arena, id)), list);
        return 0;
    }
    if (fleet_check_target(arena, text, err) < 0)
        return -1;
    buf_printf(expr, "%s(%s)", expr->n > 0 ? " or " : "", text);
    return expr->full ? err_set(err, ERR_LIMIT, "the targets of a file have at most %zu bytes",
                                TARGET_TEXT_MAX)
                      : 0;
}

static int add_selected_lines(struct arena *arena, struct selection_list *list, struct str text,
                              struct buf *expr, struct err *err)
{
    size_t number = 0;

    while (text.p) {
        const struct str line = cut_comment(str_cut(&text, '\n'));

        if (++number > SELECTION_LINES_MAX)
            return err_set(err, ERR_LIMIT, "%s: more than %d lines", list->origin,
                           SELECTION_LINES_MAX);
        if (line.n > 0 && add_selected_line(arena, list, line, expr, err) < 0)
            return err_wrap(err, "%s:%zu", list->origin, number);
    }
    return 0;
}

static int read_selection_lines(struct arena *arena, const char *path, struct str *ret,
                                struct err *err)
{
    if (strcmp(path, STANDARD_INPUT) == 0)
        return fs_read_fd(arena, STDIN_FILENO, "standard input", SELECTION_FILE_MAX, ret, err);
    if (fs_read(arena, path, SELECTION_FILE_MAX, ret, err) < 0)
        return -1;
    return ret->p ? 0 : err_set(err, ERR_NOT_FOUND, "'%s' does not exist", path);
}

static int read_selection_file(struct arena *arena, const char *path, bool excludes,
                               struct fleet_selection *selection, struct err *err)
{
    AUTO_BUF struct buf expr = BUF_INIT(TARGET_TEXT_MAX);
    struct selection_list list = { .origin = path,
                                   .excludes = excludes,
                                   .names = MAP_INIT_IN(arena) };
    struct str text;

    if (read_selection_lines(arena, path, &text, err) < 0 ||
        add_selected_lines(arena, &list, text, &expr, err) < 0)
        return -1;
    list.expr = buf_copy(&expr, arena).p;
    if (!excludes && expr.n == 0 && map_count(&list.names) == 0)
        return err_set(err, ERR_INVALID, "'%s' names no peel", path);
    /* An expression of many lines may be more than a target can be. */
    if (expr.n > 0 && fleet_check_target(arena, list.expr, err) < 0)
        return err_wrap(err, "%s", path);
    VEC_PUSH_IN(arena, &selection->lists, list);
    return 0;
}

static int read_selection_files(struct arena *arena, const struct param_strs *paths, bool excludes,
                                struct fleet_selection *selection, struct err *err)
{
    for (size_t i = 0; i < paths->n; i++)
        if (read_selection_file(arena, paths->p[i], excludes, selection, err) < 0)
            return -1;
    return 0;
}

int fleet_selection_read(struct arena *arena, const struct fleet_selection_args *args,
                         struct fleet_selection *ret, struct err *err)
{
    *ret = (struct fleet_selection){ 0 };
    for (size_t i = 0; i < args->exclude.n; i++) {
        const struct selection_list list = { .origin = "--exclude",
                                             .excludes = true,
                                             .names = MAP_INIT_IN(arena),
                                             .expr = args->exclude.p[i] };

        if (fleet_check_target(arena, list.expr, err) < 0)
            return err_wrap(err, "--exclude");
        VEC_PUSH_IN(arena, &ret->lists, list);
    }
    if (read_selection_files(arena, &args->target_files, false, ret, err) < 0)
        return -1;
    return read_selection_files(arena, &args->exclude_files, true, ret, err);
}

/* --- selecting ---------------------------------------------------------------------- */

/* A name that is misspelt is found here, and not on a machine that should have been left out. */
static void warn_of_names(const struct selection_list *list, const struct map *peels)
{
    AUTO_BUF struct buf names = BUF_INIT(BUF_NO_LIMIT);
    size_t count = 0;

    MAP_EACH (&list->names, entry) {
        char name[PEEL_ID_SIZE];

        if (map_has(peels, entry->key))
            continue;
        peel_id_decode(entry->key, name);
        if (count++ < NAMED_MAX)
            buf_printf(&names, "%s%s", count > 1 ? ", " : "", name);
    }
    if (count > 0)
        (void)fprintf(stderr, "warning: %s: %zu name(s) not matched by the target: %s%s\n",
                      list->origin, count, buf_text(&names), count > NAMED_MAX ? ", ..." : "");
}

static int apply_list(struct fleet *fleet, const struct selection_list *list,
                      struct param_strs *peels, struct err *err)
{
    const char **kept = ARENA_ARRAY(fleet->arena, const char *, peels->n + 1);
    struct map matched = MAP_INIT_IN(fleet->arena);
    struct param_strs found = { 0 };
    size_t n = 0;

    if (list->expr[0] && fleet_resolve(fleet, list->expr, &found, err) < 0)
        return err_wrap(err, "%s", list->origin);
    for (size_t i = 0; i < found.n; i++)
        (void)map_set(&matched, str_from(found.p[i]), fleet);
    for (size_t i = 0; i < peels->n; i++) {
        const struct str id = str_from(peels->p[i]);

        if ((map_has(&list->names, id) || map_has(&matched, id)) != list->excludes)
            kept[n++] = peels->p[i];
    }
    *peels = (struct param_strs){ n, kept };
    return 0;
}

int fleet_select(struct fleet *fleet, const struct fleet_selection *selection,
                 struct param_strs *peels, struct err *err)
{
    struct map meant = MAP_INIT_IN(fleet->arena);

    for (size_t i = 0; selection->lists.n > 0 && i < peels->n; i++)
        (void)map_set(&meant, str_from(peels->p[i]), fleet);
    VEC_EACH (&selection->lists, list) {
        if (apply_list(fleet, list, peels, err) < 0)
            return -1;
        warn_of_names(list, &meant);
    }
    return 0;
}

/* --- records ------------------------------------------------------------------------ */

static void add_selection_options(struct buf *out, const char *option,
                                  const struct param_strs *values)
{
    for (size_t i = 0; i < values->n; i++)
        buf_printf(out, " --%s %s", option, values->p[i]);
}

const char *fleet_selection_text(struct arena *arena, const char *target,
                                 const struct fleet_selection_args *args)
{
    AUTO_BUF struct buf out = BUF_INIT(TARGET_TEXT_MAX);

    buf_add_text(&out, target);
    add_selection_options(&out, "target-file", &args->target_files);
    add_selection_options(&out, "exclude", &args->exclude);
    add_selection_options(&out, "exclude-file", &args->exclude_files);
    return buf_copy(&out, arena).p;
}
