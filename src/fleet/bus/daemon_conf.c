#include "fleet/bus/daemon_conf.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/build.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/options.h"
#include "core/data/yaml.h"
#include "core/sys/fs.h"

#define OUTPUT_MAX ((size_t)1 << 20)

/* The flags that every daemon has, in front of those of its rows. */
struct common {
    const char *config;
    bool help, version, keys;
};

#define ARGS struct common
/* clang-format off */
static const struct param common_flags[] = {
    PARAM("config",  STR,  ARGS, config,  "the configuration", .kind_text = "FILE", .aliases = "c"),
    PARAM("help",    BOOL, ARGS, help,    "show this text", .aliases = "h"),
    PARAM("version", BOOL, ARGS, version, "show the version", .aliases = "V"),
    PARAM("keys",    BOOL, ARGS, keys,    "show all keys as a table of Markdown", .flags = PARAM_HIDDEN),
};
/* clang-format on */

static bool has_flag(const struct param *row)
{
    return row->kind != PARAM_MAP && row->kind != PARAM_LIST && row->kind != PARAM_ANY &&
           row->kind != PARAM_STRMAP;
}

static size_t count_param_rows(const struct param *rows)
{
    size_t n = 0;

    while (rows[n].name)
        n++;
    return n;
}

static const char *flag_name(struct arena *arena, const char *key)
{
    char *name = arena_printf(arena, "%s", key);

    for (char *p = name; *p; p++)
        if (*p == '.' || *p == '_')
            *p = '-';
    return name;
}

/* --- flags ------------------------------------------------------------------------ */

/* Where the common flags are in the struct that the flags are tried on: after the values. */
static size_t common_offset(const struct daemon_conf *conf)
{
    const size_t align = alignof(max_align_t);

    return (conf->size + align - 1) / align * align;
}

/* The common flags, and those of the rows; only for reading a line, so that nothing is required
 * and nothing has a default. */
static struct param *make_flags(const struct daemon_conf *conf, struct arena *arena)
{
    const size_t rows = count_param_rows(conf->rows);
    struct param *flags = ARENA_ARRAY(arena, struct param, rows + ARRAY_LEN(common_flags) + 1);
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(common_flags); i++) {
        flags[n] = common_flags[i];
        flags[n++].offset += common_offset(conf);
    }
    for (size_t i = 0; i < rows; i++) {
        if (!has_flag(&conf->rows[i]))
            continue;
        flags[n] = conf->rows[i];
        flags[n].name = flag_name(arena, conf->rows[i].name);
        flags[n].flags &= ~(unsigned)(PARAM_REQUIRED | PARAM_PRIMARY);
        flags[n].default_text = NULL;
        flags[n++].given = 0;
    }
    return flags;
}

/* "--pin=" alone is an empty list. */
static struct value clear_list(struct arena *arena, const struct param *row, struct value v)
{
    if (row->kind == PARAM_STRS && v.kind == VALUE_LIST && v.list->count == 1 &&
        value_is_textual(&v.list->items[0]) && v.list->items[0].s.n == 0)
        return value_list(value_list_new(arena, 0));
    return v;
}

/* From the names of flags to those of rows. */
static struct value keep_rows(const struct daemon_conf *conf, struct arena *arena,
                              const struct value *given)
{
    struct value_map *map = value_map_new(arena, given->map->count);

    for (const struct param *row = conf->rows; row->name; row++) {
        const struct value *v = value_get(given, flag_name(arena, row->name));

        if (v && has_flag(row))
            value_map_set(arena, map, value_text(row->name), clear_list(arena, row, *v));
    }
    return value_map(map);
}

int daemon_conf_parse(const struct daemon_conf *conf, struct arena *arena, int argc,
                      char *const *argv, struct daemon_line *ret_line, struct diags *diags)
{
    const struct params_policy policy = { .noun = "option", .mark = "--" };
    const struct param *flags = make_flags(conf, arena);
    char *trial = arena_zalloc(arena, common_offset(conf) + sizeof(struct common));
    const struct common *common = (const struct common *)(trial + common_offset(conf));
    struct daemon_line line = { 0 };
    struct value given;
    int result = options_read(arena, flags, argc, argv, &given, &line.operands, diags);

    if (params_decode(arena, flags, &policy, &given, trial, diags) < 0 || result < 0)
        return -1;
    line.file = common->config;
    line.help = common->help;
    line.version = common->version;
    line.keys = common->keys;
    line.given = keep_rows(conf, arena, &given);
    *ret_line = line;
    return 0;
}

/* --- the file --------------------------------------------------------------------- */

/* Does a row's name begin with `key` and a dot? */
static bool is_folder_of_rows(const struct daemon_conf *conf, struct str key)
{
    for (const struct param *row = conf->rows; row->name; row++)
        if (strlen(row->name) > key.n && row->name[key.n] == '.' &&
            memcmp(row->name, key.p, key.n) == 0)
            return true;
    return false;
}

/* Nested maps as one map whose keys have dots, as far as the rows do. */
static void flatten_conf_map(const struct daemon_conf *conf, struct arena *arena,
                             const char *prefix, const struct value *v, struct value_map *flat,
                             struct diags *diags)
{
    for (size_t i = 0; i < v->map->count; i++) {
        const struct value_pair *pair = &v->map->pairs[i];
        struct value key = pair->key;

        if (key.kind != VALUE_STR) {
            (void)value_diag(diags, &key, "a key must be text, not %s", value_describe(&key));
            continue;
        }
        key.s = str_from(arena_printf(arena, "%s%.*s", prefix, STR_ARG(pair->key.s)));
        if (!is_folder_of_rows(conf, key.s))
            value_map_set(arena, flat, key, pair->value);
        else if (pair->value.kind == VALUE_MAP)
            flatten_conf_map(conf, arena, arena_printf(arena, "%s.", key.s.p), &pair->value, flat,
                             diags);
        else if (pair->value.kind != VALUE_NULL)
            (void)value_diag(diags, &pair->value, "'%s' must be a map, got %s", key.s.p,
                             value_describe(&pair->value));
    }
}

const char *daemon_conf_file(const struct daemon_conf *conf, const struct daemon_line *line)
{
    return line->file ? line->file : conf->file;
}

static void read_daemon_conf_file(const struct daemon_conf *conf, const struct daemon_line *line,
                                  struct arena *arena, struct value_map *flat, struct diags *diags)
{
    const char *file = daemon_conf_file(conf, line);
    struct value document;
    struct str text;
    struct err err;

    if (fs_read(arena, file, YAML_SIZE_MAX, &text, &err) < 0) {
        (void)diag_err(diags, (struct place){ .file = file }, &err);
        return;
    }
    if (!text.p && line->file)
        (void)diag_add(diags, (struct place){ .file = file }, "file not found");
    if (!text.p && line->file)
        diag_hint(diags,
                  "name another with --config; 'zester-master setup' writes that of a master, "
                  "'zester-peel join' that of an agent");
    if (!text.p || yaml_parse(arena, file, text, NULL, &document, diags) < 0)
        return;
    if (document.kind == VALUE_MAP)
        flatten_conf_map(conf, arena, "", &document, flat, diags);
    else if (document.kind != VALUE_NULL)
        (void)value_diag(diags, &document, "the configuration must be a map, got %s",
                         value_describe(&document));
}

/* Aliases are names of flags, not of keys. */
static const struct param *make_conf_keys(const struct daemon_conf *conf, struct arena *arena)
{
    const size_t count = count_param_rows(conf->rows);
    struct param *keys = ARENA_ARRAY(arena, struct param, count + 1);

    for (size_t i = 0; i < count; i++) {
        keys[i] = conf->rows[i];
        keys[i].aliases = NULL;
    }
    return keys;
}

int daemon_conf_read(const struct daemon_conf *conf, const struct daemon_line *line,
                     struct arena *arena, void *ret_values, struct diags *diags,
                     struct diags *warnings)
{
    const struct params_policy policy = { .noun = "key",
                                          .unknown = conf->lenient ? warnings : NULL };
    const size_t before = diags_count(diags), first = diags->list.n;
    struct value given = value_map(value_map_new(arena, 0));

    read_daemon_conf_file(conf, line, arena, given.map, diags);
    for (size_t i = 0; line->given.kind == VALUE_MAP && i < line->given.map->count; i++)
        value_map_set(arena, given.map, line->given.map->pairs[i].key,
                      line->given.map->pairs[i].value);
    (void)params_decode(arena, make_conf_keys(conf, arena), &policy, &given, ret_values, diags);
    if (conf->check)
        conf->check(arena, ret_values, &given, diags);
    diags_sort(diags, first);
    return diags_count(diags) > before ? -1 : 0;
}

/* --- main ------------------------------------------------------------------------- */

static int print_out(struct buf *text)
{
    if (fwrite(buf_text(text), 1, text->n, stdout) == text->n && fflush(stdout) == 0)
        return EXIT_SUCCESS;
    return DAEMON_CONF_ERROR;
}

static void print_diags(const struct daemon_conf *conf, const char *what, const struct diags *diags)
{
    AUTO_BUF struct buf out = BUF_INIT(OUTPUT_MAX);

    diags_print(diags, &out);
    if (out.n > 0)
        (void)fprintf(stderr, "%s: %s\n%s", conf->program, what, buf_text(&out));
}

static int print_conf_mistakes(const struct daemon_conf *conf, const struct diags *diags,
                               int status)
{
    print_diags(conf, "cannot start", diags);
    if (status == DAEMON_CONF_USAGE)
        (void)fprintf(stderr, "try '%s --help'\n", conf->program);
    return status;
}

static void print_daemon_build(const struct daemon_conf *conf, struct buf *out)
{
    char text[BUILD_TEXT_MAX];

    build_print(conf->program, text);
    buf_add_text(out, text);
}

/* Handles --help and --version; false: neither was given. */
static bool answer_daemon_flags(const struct daemon_conf *conf, const struct daemon_line *line,
                                int *ret_status)
{
    AUTO_BUF struct buf out = BUF_INIT(OUTPUT_MAX);

    if (line->help)
        daemon_conf_print_usage(conf, &out);
    else if (line->keys)
        daemon_conf_print_markdown(conf, &out);
    else if (line->version)
        print_daemon_build(conf, &out);
    else
        return false;
    *ret_status = print_out(&out);
    return true;
}

bool daemon_conf_start(const struct daemon_conf *conf, struct arena *arena, int argc,
                       char *const *argv, struct daemon_line *ret_line, void *ret_values,
                       int *ret_status)
{
    struct diags diags = DIAGS_INIT(arena), warnings = DIAGS_INIT(arena);

    *ret_status = EXIT_SUCCESS;
    if (daemon_conf_parse(conf, arena, argc - 1, argv + 1, ret_line, &diags) < 0) {
        *ret_status = print_conf_mistakes(conf, &diags, DAEMON_CONF_USAGE);
        return false;
    }
    if (answer_daemon_flags(conf, ret_line, ret_status))
        return false;
    if (ret_line->operands.n > 0) {
        (void)diag_add(&diags, (struct place){ 0 }, "unexpected argument '%s'",
                       ret_line->operands.p[0]);
        *ret_status = print_conf_mistakes(conf, &diags, DAEMON_CONF_USAGE);
        return false;
    }
    if (daemon_conf_read(conf, ret_line, arena, ret_values, &diags, &warnings) < 0) {
        *ret_status = print_conf_mistakes(conf, &diags, DAEMON_CONF_ERROR);
        print_diags(conf, "warning", &warnings);
        return false;
    }
    print_diags(conf, "warning", &warnings);
    return true;
}

/* --- for people ------------------------------------------------------------------- */

void daemon_conf_print_usage(const struct daemon_conf *conf, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct param *flags = make_flags(conf, &arena), *flag = flags + ARRAY_LEN(common_flags);

    for (const struct param *row = conf->rows; row->name; row++)
        if (has_flag(row))
            (flag++)->default_text =
                row->default_text && row->default_text[0] ? row->default_text : NULL;
    buf_printf(out, "usage: %s [OPTION...]\n\n%s\n\noptions (each is also a key of %s):\n",
               conf->program, conf->summary, conf->file);
    options_print(flags, out);
    buf_add_text(out, "\nSIGHUP reads the configuration again; one with mistakes changes nothing.\n"
                      "SIGTERM and SIGINT end the daemon.\n");
}

static void print_daemon_flags(struct buf *out, struct arena *arena, const struct param *row)
{
    struct str rest = row->aliases ? str_from(row->aliases) : (struct str){ NULL, 0 };

    if (!has_flag(row)) {
        buf_add_char(out, '-');
        return;
    }
    buf_printf(out, "`--%s`", flag_name(arena, row->name));
    while (rest.p) {
        struct str alias = str_cut(&rest, ',');

        buf_printf(out, ", `--%.*s`", STR_ARG(alias));
    }
}

void daemon_conf_print_markdown(const struct daemon_conf *conf, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    buf_add_text(out, "| key | flag | kind | default | meaning |\n|---|---|---|---|---|\n");
    for (const struct param *row = conf->rows; row->name; row++) {
        if (row->flags & PARAM_HIDDEN)
            continue;
        buf_printf(out, "| `%s` | ", row->name);
        print_daemon_flags(out, &arena, row);
        buf_printf(out, " | %s | %s | %s |\n",
                   row->kind == PARAM_CHOICE ? "one of the words" : param_kind_word(row->kind),
                   row->default_text && row->default_text[0] ? row->default_text : "-", row->doc);
    }
}
