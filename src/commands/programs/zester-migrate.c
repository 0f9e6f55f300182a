/* zester-migrate - converts configuration of Salt, and reports what it could not. */
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/base/textdiff.h"
#include "commands/cli/shared/command.h"
#include "core/data/yaml.h"
#include "core/data/yaml_print.h"
#include "commands/migrate/salt_beacons.h"
#include "commands/migrate/salt_functions.h"
#include "commands/migrate/salt_reactor.h"
#include "commands/migrate/salt_top.h"
#include "commands/migrate/salt_tree.h"
#include "core/sys/fs.h"
#include "core/sys/newfiles.h"
#include "core/sys/path.h"

#define FILE_LIMIT ((size_t)4 << 20)
#define FILES_MAX  1000
/* Limits on a tree of states: files, and folders inside one another. */
#define TREE_FILES_MAX 100000
#define TREE_DEPTH_MAX 64
#define FILE_MODE      0644
#define FOLDER_MODE    0755
#define SCHEME         "salt://"

/* --- configuration of Salt -------------------------------------------------------- */

/* Merge files and folders (master.d) into one map; lists of `reactor` are joined. */
struct salt_conf {
    struct arena *arena;
    struct diags *diags;
    struct value_list *reactor;
    struct value beacons; /* a map; null: none */
    VEC(const char *) roots;
};

static void take_reactor(struct salt_conf *conf, const struct value *map)
{
    const struct value *list = value_get(map, "reactor");

    if (!list)
        return;
    if (list->kind != VALUE_LIST) {
        (void)value_diag(conf->diags, list, "'reactor': expected a list");
        return;
    }
    for (size_t i = 0; i < list->list->count; i++)
        value_list_push(conf->arena, conf->reactor, list->list->items[i]);
}

static void take_roots(struct salt_conf *conf, const struct value *map)
{
    const struct value *base = value_get(value_get(map, "file_roots"), "base");

    for (size_t i = 0; value_is(base, VALUE_LIST) && i < base->list->count; i++)
        if (base->list->items[i].kind == VALUE_STR)
            VEC_PUSH_IN(conf->arena, &conf->roots, base->list->items[i].s.p);
}

static int read_salt_conf(struct salt_conf *conf, const char *path, struct err *err)
{
    const struct yaml_options options = { .dialect = YAML_DIALECT_SALT };
    const struct value *beacons;
    struct value map;
    struct str text;

    if (fs_read(conf->arena, path, FILE_LIMIT, &text, err) < 0)
        return -1;
    if (!text.p)
        return err_set(err, ERR_NOT_FOUND, "file '%s' does not exist", path);
    if (yaml_parse(conf->arena, path, text, &options, &map, conf->diags) < 0)
        return 0; /* reported with the rest */
    take_reactor(conf, &map);
    take_roots(conf, &map);
    beacons = value_get(&map, "beacons");
    if (value_is(beacons, VALUE_MAP))
        conf->beacons = conf->beacons.kind == VALUE_MAP
                            ? value_merge(conf->arena, &conf->beacons, beacons, VALUE_MERGE_REPLACE)
                            : *beacons;
    return 0;
}

/* A file, or a folder with files that end in .conf. */
static int read_confs(struct salt_conf *conf, const char *path, struct err *err)
{
    struct fs_names names = { 0 };
    struct fs_info info;

    if (fs_stat(path, &info, err) < 0)
        return -1;
    if (info.kind != FS_FOLDER)
        return read_salt_conf(conf, path, err);
    if (fs_list(conf->arena, path, &names, err) < 0)
        return -1;
    VEC_EACH (&names.list, name)
        if (str_ends(str_from(*name), STR(".conf")) &&
            read_salt_conf(conf, path_join(conf->arena, path, *name), err) < 0)
            return -1;
    return 0;
}

/* Mistakes of YAML end it: nothing was written. */
static int open_conf(struct cli *cli, struct salt_conf *conf, struct param_strs operands)
{
    struct err err;

    conf->reactor = value_list_new(cli->arena, 8);
    for (size_t i = 0; i < operands.n; i++)
        if (read_confs(conf, operands.p[i], &err) < 0)
            return cli_err(cli, &err);
    return diags_count(conf->diags) > 0 ? cli_diags(cli, conf->diags) : CLI_OK;
}

/* --- files of reactions ----------------------------------------------------------- */

struct fetching {
    struct salt_conf *conf;
    struct diags *remarks;
};

static bool add_migrated_source(struct fetching *fetching, const struct value *at, const char *path,
                                struct salt_reactor_sources *ret)
{
    struct str text = { NULL, 0 };
    struct err err;

    if (fs_read(fetching->conf->arena, path, FILE_LIMIT, &text, &err) < 0)
        (void)value_diag(fetching->remarks, at, "%s", err.text);
    else if (text.p)
        VEC_PUSH_IN(
            fetching->conf->arena, &ret->list,
            (struct salt_reactor_source){ arena_strdup(fetching->conf->arena, path), text });
    return text.p != NULL;
}

static bool add_beacon_matches(struct fetching *fetching, const struct value *at,
                               const char *pattern, struct salt_reactor_sources *ret)
{
    glob_t found = { 0 };
    bool any = false;

    if (glob(pattern, GLOB_NOCHECK, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && i < FILES_MAX; i++)
            any |= add_migrated_source(fetching, at, found.gl_pathv[i], ret);
    globfree(&found);
    return any;
}

static void fetch_files(void *self, const struct value *at, const char *ref,
                        struct salt_reactor_sources *ret)
{
    struct fetching *fetching = self;
    const struct salt_conf *conf = fetching->conf;

    if (strncmp(ref, SCHEME, strlen(SCHEME)) != 0) {
        if (!add_beacon_matches(fetching, at, ref, ret))
            (void)value_diag(fetching->remarks, at, "file '%s' does not exist", ref);
        return;
    }
    for (size_t i = 0; i < conf->roots.n; i++)
        if (add_beacon_matches(fetching, at,
                               path_join(conf->arena, conf->roots.p[i], ref + strlen(SCHEME)), ret))
            return;
    (void)value_diag(fetching->remarks, at, "'%s' is not in any of the file_roots", ref);
    diag_hint(fetching->remarks, "name its folder with --file-root");
}

/* --- commands --------------------------------------------------------------------- */

struct reactor_args {
    const char *output;
    struct param_strs file_roots;
};

#define ARGS struct reactor_args

static const struct param reactor_options[] = {
    PARAM("output", STR, ARGS, output, "the folder of the new tree", .kind_text = "DIR",
          .flags = PARAM_REQUIRED),
    PARAM("file-root", STRS, ARGS, file_roots,
          "where salt:// is; default: file_roots of the configuration", .kind_text = "DIR"),
    { 0 },
};

static int report_remarks(const struct diags *remarks)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    diags_print(remarks, &out);
    (void)fputs(buf_text(&out), stderr);
    return diags_count(remarks) > 0 ? CLI_FAILED : CLI_OK;
}

static int write_tree(struct cli *cli, const struct salt_reactor *reactor, const char *folder,
                      struct err *err)
{
    struct newfile *files = ARENA_ARRAY(cli->arena, struct newfile, reactor->files.n);

    for (size_t i = 0; i < reactor->files.n; i++)
        files[i] =
            (struct newfile){ reactor->files.p[i].path, reactor->files.p[i].text, FILE_MODE };
    if (newfiles_write(folder, files, reactor->files.n, "choose an empty folder", err) < 0)
        return -1;
    for (size_t i = 0; i < reactor->files.n; i++)
        printf("wrote %s/%s\n", folder, files[i].name);
    return 0;
}

static int run_reactor(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct reactor_args *want = args;
    struct diags mistakes = DIAGS_INIT(cli->arena), remarks = DIAGS_INIT(cli->arena);
    struct salt_conf conf = { .arena = cli->arena, .diags = &mistakes };
    struct fetching fetching = { &conf, &remarks };
    struct salt_reactor reactor = {
        .arena = cli->arena, .fetch = fetch_files, .self = &fetching, .remarks = &remarks
    };
    struct value list;
    struct err err;
    int status;

    for (size_t i = 0; i < want->file_roots.n; i++)
        VEC_PUSH_IN(cli->arena, &conf.roots, want->file_roots.p[i]);
    status = open_conf(cli, &conf, operands);
    if (status != CLI_OK)
        return status;
    if (conf.reactor->count == 0)
        return cli_error(cli, "no list 'reactor' in these files");
    list = value_list(conf.reactor);
    salt_reactor_convert(&reactor, &list);
    if (write_tree(cli, &reactor, want->output, &err) < 0)
        return cli_err(cli, &err);
    printf("Check it: zester reactor check %s\n", want->output);
    return report_remarks(&remarks);
}

static int migrate_beacons(struct cli *cli, const void *args, struct param_strs operands)
{
    struct diags mistakes = DIAGS_INIT(cli->arena), remarks = DIAGS_INIT(cli->arena);
    struct salt_conf conf = { .arena = cli->arena, .diags = &mistakes };
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct value result;
    struct err err;
    int status = open_conf(cli, &conf, operands);

    (void)args;
    if (status != CLI_OK)
        return status;
    if (conf.beacons.kind != VALUE_MAP)
        return cli_error(cli, "no map 'beacons' in these files");
    result = salt_beacons_convert(cli->arena, &conf.beacons, &remarks);
    if (yaml_print(&out, &result, &err) < 0)
        return cli_err(cli, &err);
    (void)fputs(buf_text(&out), stdout);
    return report_remarks(&remarks);
}

/* --- trees of states and pillar ----------------------------------------------------- */

struct migrated_file {
    const char *from, *path; /* whole, and relative to its root */
};

struct tree_args {
    const char *output;
    bool test;
};

/* The union of several roots; of files with the same path the first one counts, as in Salt. */
struct tree_walk {
    struct arena *arena;
    struct diags *remarks;
    struct map seen; /* by relative path */
    bool has_states; /* states, and not pillar */
    VEC(struct migrated_file) files;
    VEC(const char *) omitted; /* names in clones of formulas that do not belong to their states */
    size_t kept;               /* files that end in .sls, without a remark */
    size_t changed;            /* those with a remark */
};

static void judge_migrated_file(struct tree_walk *walk, const char *from, struct str text)
{
    const bool is_sls = str_ends(str_from(from), STR(".sls"));
    bool fine = !is_sls || salt_tree_judge(from, text, walk->remarks);

    fine &= salt_functions_check(from, text, is_sls && walk->has_states, walk->remarks);
    walk->kept += is_sls && fine;
    walk->changed += is_sls && !fine;
}

static int add_migrated_file(struct tree_walk *walk, const char *from, const char *path,
                             struct err *err)
{
    struct str text;

    if (map_has(&walk->seen, str_from(path)))
        return 0;
    (void)map_set(&walk->seen, str_from(path), walk);
    if (walk->files.n >= TREE_FILES_MAX)
        return err_set(err, ERR_LIMIT, "more than %d files", TREE_FILES_MAX);
    if (!salt_tree_takes(path, from, walk->remarks))
        return 0;
    VEC_PUSH_IN(walk->arena, &walk->files, (struct migrated_file){ from, path });
    if (!str_ends(str_from(path), STR(".sls")) && !str_ends(str_from(path), STR(".jinja")))
        return 0;
    if (fs_read(walk->arena, from, FILE_LIMIT, &text, err) < 0)
        return -1;
    if (text.p)
        judge_migrated_file(walk, from, text);
    return 0;
}

static bool is_formula(const struct fs_names *names)
{
    VEC_EACH (&names->list, name)
        if (salt_tree_is_formula(*name))
            return true;
    return false;
}

static void note_omitted(struct tree_walk *walk, const char *name)
{
    VEC_EACH (&walk->omitted, other)
        if (strcmp(*other, name) == 0)
            return;
    VEC_PUSH_IN(walk->arena, &walk->omitted, name);
}

/* Links are followed, as Salt's file server does it: formulas are often linked into a tree. */
static int walk_folder(struct tree_walk *walk, const char *folder, const char *path, unsigned depth,
                       struct err *err)
{
    struct fs_names names = { 0 };
    struct fs_info info;
    bool is_clone;

    if (depth > TREE_DEPTH_MAX)
        return err_set(err, ERR_LIMIT, "%s: more than %d folders inside one another", folder,
                       TREE_DEPTH_MAX);
    if (fs_list(walk->arena, folder, &names, err) < 0)
        return -1;
    is_clone = is_formula(&names);
    VEC_EACH (&names.list, name) {
        const char *from = path_join(walk->arena, folder, *name);
        const char *inside = path[0] ? path_join(walk->arena, path, *name) : *name;

        if (salt_tree_skips(*name))
            continue;
        if (is_clone && salt_tree_omits(*name)) {
            if (fs_stat(path_join(walk->arena, from, "init.sls"), &info, err) < 0)
                return -1;
            if (info.kind == FS_NONE) {
                note_omitted(walk, *name);
                continue;
            }
        }
        if (fs_stat(from, &info, err) < 0)
            return -1;
        if (info.kind == FS_FOLDER
                ? walk_folder(walk, from, inside, depth + 1, err) < 0
                : info.kind == FS_FILE && add_migrated_file(walk, from, inside, err) < 0)
            return -1;
    }
    return 0;
}

/* Nothing is written when one of the files is there already. */
static int refuse_existing_output(const struct tree_walk *walk, const char *output, struct err *err)
{
    VEC_EACH (&walk->files, file) {
        const char *path = path_join(walk->arena, output, file->path);
        struct fs_info info;

        if (fs_lstat(path, &info, err) < 0)
            return -1;
        if (info.kind != FS_NONE)
            return err_set(err, ERR_BUSY, "%s exists; choose an empty folder", path);
    }
    return 0;
}

static int copy_tree_files(const struct tree_walk *walk, const char *output, struct err *err)
{
    const struct fs_replace_options fresh = { .attr = FS_ATTR_KEEP, .fresh = true };

    VEC_EACH (&walk->files, file) {
        const char *path = path_join(walk->arena, output, file->path);

        if (fs_mkdirs(path_dirname(walk->arena, path), FOLDER_MODE, err) < 0 ||
            fs_copy(file->from, path, &fresh, err) < 0)
            return -1;
    }
    return 0;
}

static void print_omitted(const struct tree_walk *walk)
{
    if (walk->omitted.n == 0)
        return;
    printf("left out of clones of formulas, as they are not states:");
    for (size_t i = 0; i < walk->omitted.n; i++)
        printf("%s %s", i > 0 ? "," : "", walk->omitted.p[i]);
    printf("\n");
}

static int migrate_tree(struct cli *cli, const struct tree_args *want, struct param_strs roots,
                        const char *check, bool has_states)
{
    struct diags remarks = DIAGS_INIT(cli->arena);
    struct tree_walk walk = { .arena = cli->arena,
                              .remarks = &remarks,
                              .seen = MAP_INIT_IN(cli->arena),
                              .has_states = has_states };
    struct err err;

    for (size_t i = 0; i < roots.n; i++)
        if (walk_folder(&walk, roots.p[i], "", 0, &err) < 0)
            return cli_err(cli, &err);
    if (walk.files.n == 0)
        return cli_error(cli, "no files in these folders");
    if (refuse_existing_output(&walk, want->output, &err) < 0 ||
        (!want->test && copy_tree_files(&walk, want->output, &err) < 0))
        return cli_err(cli, &err);
    VEC_EACH (&walk.files, file)
        printf("%s %s/%s from %s\n", want->test ? "would write" : "wrote", want->output, file->path,
               file->from);
    print_omitted(&walk);
    printf("%zu of these files end in .sls and run unchanged: they mean what they mean in Salt\n",
           walk.kept);
    if (walk.changed > 0)
        printf("%zu end in .sls and need changes: the remarks say where\n", walk.changed);
    printf("Check it: zester --local %s %s\n", check, want->output);
    return report_remarks(&remarks);
}

static int migrate_states(struct cli *cli, const void *args, struct param_strs operands)
{
    return migrate_tree(cli, args, operands, "state.check REF --states-dir", true);
}

static int run_pillar(struct cli *cli, const void *args, struct param_strs operands)
{
    return migrate_tree(cli, args, operands, "settings.items --settings-dir", false);
}

#undef ARGS
#define ARGS struct tree_args

static const struct param tree_options[] = {
    PARAM("output", STR, ARGS, output, "the folder of the new tree", .kind_text = "DIR",
          .flags = PARAM_REQUIRED),
    PARAM("test", BOOL, ARGS, test, "only show what would be written"),
    { 0 },
};

/* --- top files ------------------------------------------------------------------------ */

struct top_args {
    bool test;
};

#undef ARGS
#define ARGS struct top_args

static const struct param top_options[] = {
    PARAM("test", BOOL, ARGS, test, "show the difference instead of the result"),
    { 0 },
};

static int refuse_template(struct cli *cli, const char *path, struct str text, struct diags *diags)
{
    static const char *const marks[] = { "{%", "{{" };

    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        const size_t at = str_find(text, str_from(marks[i]), 0);
        uint32_t line = 1;

        for (size_t j = 0; at != STR_NONE && j < at; j++)
            line += text.p[j] == '\n';
        if (at != STR_NONE) {
            (void)diag_add(diags, (struct place){ .file = path, .line = line },
                           "a top file with a template is not converted");
            diag_hint(diags, "keep it as top.sls: it runs unchanged");
            return cli_diags(cli, diags);
        }
    }
    return CLI_OK;
}

static int migrate_top(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct yaml_options options = { .dialect = YAML_DIALECT_SALT };
    const char *path = operands.p[0];
    struct diags mistakes = DIAGS_INIT(cli->arena), remarks = DIAGS_INIT(cli->arena);
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT), diff = BUF_INIT(BUF_NO_LIMIT);
    struct value top, result;
    struct str text;
    struct err err;
    int status;

    if (fs_read(cli->arena, path, FILE_LIMIT, &text, &err) < 0)
        return cli_err(cli, &err);
    if (!text.p)
        return cli_error(cli, "file '%s' does not exist", path);
    status = refuse_template(cli, path, text, &mistakes);
    if (status != CLI_OK)
        return status;
    if (yaml_parse(cli->arena, path, text, &options, &top, &mistakes) < 0)
        return cli_diags(cli, &mistakes);
    if (top.kind != VALUE_MAP)
        return cli_error(cli, "%s: expected a map of environments", path);
    result = salt_top_convert(cli->arena, &top, &remarks);
    if (yaml_print(&out, &result, &err) < 0)
        return cli_err(cli, &err);
    textdiff(text, buf_view(&out), path, "top.zy", &diff);
    (void)fputs(buf_text(((const struct top_args *)args)->test ? &diff : &out), stdout);
    return report_remarks(&remarks);
}

static const struct param no_options[] = { { 0 } };

static const struct command commands[] = {
    {
        .name = "beacons",
        .operands = "FILE...",
        .summary = "beacons of a minion's configuration or pillar, as settings",
        .details = "Prints the section 'beacons' for settings or peel.yaml.\n",
        .examples = "  zester-migrate beacons /etc/salt/minion > beacons.zy\n",
        .options = no_options,
        .least = 1,
        .most = COMMAND_MANY,
        .run = migrate_beacons,
    },
    {
        .name = "pillar",
        .operands = "DIR...",
        .summary = "trees of pillar as one folder of settings",
        .details =
            "DIR is a folder of pillar_roots; of files with the same path the first one counts.\n"
            "Files that end in .sls run unchanged and are copied; remarks name the place of what\n"
            "does not: other renderers, and values that are encrypted with GPG. Nothing is\n"
            "overwritten.\n",
        .examples = "  zester-migrate pillar /srv/pillar --output /srv/zester/settings\n",
        .options = tree_options,
        .args_size = sizeof(struct tree_args),
        .least = 1,
        .most = COMMAND_MANY,
        .run = run_pillar,
    },
    {
        .name = "reactor",
        .operands = "FILE...",
        .summary = "the reactor of a master's configuration, as a tree of rules",
        .details =
            "FILE is /etc/salt/master, or a folder such as /etc/salt/master.d. Writes top.zy and\n"
            "one file for each file of reactions that 'reactor' names; nothing is overwritten.\n"
            "Read the remarks: each names the place of something that was left out or means\n"
            "something else here.\n",
        .examples = "  zester-migrate reactor /etc/salt/master --output reactor\n",
        .options = reactor_options,
        .args_size = sizeof(struct reactor_args),
        .least = 1,
        .most = COMMAND_MANY,
        .run = run_reactor,
    },
    {
        .name = "states",
        .operands = "DIR...",
        .summary = "trees of states as one tree",
        .details =
            "DIR is a folder of file_roots, or of a formula; of files with the same path the "
            "first\n"
            "one counts. Files that end in .sls run unchanged, in Salt's order and with Salt's\n"
            "meaning, and are copied with all others; remarks name the place of what does not:\n"
            "states and functions that are not here, other renderers, modules in Python. Files of "
            "a\n"
            "formula that are not states, as .github, Gemfile and test are, are left out.\n"
            "Nothing is overwritten.\n",
        .examples =
            "  zester-migrate states /srv/salt /srv/formulas/nginx --output /srv/zester/states\n",
        .options = tree_options,
        .args_size = sizeof(struct tree_args),
        .least = 1,
        .most = COMMAND_MANY,
        .run = migrate_states,
    },
    {
        .name = "top",
        .operands = "FILE",
        .summary = "a top file of Salt in our own form",
        .details =
            "Prints top.zy: types of targets ('match: grain') become letters ('G@os:Debian').\n"
            "A top.sls runs unchanged as well.\n",
        .examples = "  zester-migrate top /srv/salt/top.sls > /srv/zester/states/top.zy\n"
                    "  zester-migrate top /srv/salt/top.sls --test\n",
        .options = top_options,
        .args_size = sizeof(struct top_args),
        .least = 1,
        .most = 1,
        .run = migrate_top,
    },
    { 0 },
};

int main(int argc, char **argv)
{
    const struct program program = {
        .name = "zester-migrate",
        .summary = "convert the configuration of Salt",
        .details = "Reads Salt's files and never changes them. What has no counterpart here is\n"
                   "reported with its place.\n"
                   "\n"
                   "  zester-migrate reactor /etc/salt/master --output reactor\n",
        .statuses = "0 everything was converted; 1 nothing was written; 2 written, with remarks",
        .commands = commands,
    };

    return command_main(&program, argc, argv);
}
