/* zester-migrate - converts configuration of Salt, and reports what it could not. */
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/diag.h"
#include "base/err.h"
#include "cli/command.h"
#include "data/yaml.h"
#include "data/yaml_print.h"
#include "migrate/salt_beacons.h"
#include "migrate/salt_reactor.h"
#include "sys/fs.h"
#include "sys/newfiles.h"
#include "sys/path.h"

#define FILE_LIMIT ((size_t)4 << 20)
#define FILES_MAX  1000
#define FILE_MODE  0644
#define SCHEME     "salt://"

/* --- configuration of Salt -------------------------------------------------------- */

/* What files and folders (master.d) say, as one map; lists of `reactor` are joined. */
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

static int read_conf(struct salt_conf *conf, const char *path, struct err *err)
{
    const struct yaml_options options = { .dialect = YAML_DIALECT_SALT };
    const struct value *beacons;
    struct value map;
    struct str text;

    if (fs_read(conf->arena, path, FILE_LIMIT, &text, err) < 0)
        return -1;
    if (!text.p)
        return err_set(err, ERR_NOT_FOUND, "there is no file '%s'", path);
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
        return read_conf(conf, path, err);
    if (fs_list(conf->arena, path, &names, err) < 0)
        return -1;
    VEC_EACH (&names.list, name)
        if (str_ends(str_from(*name), STR(".conf")) &&
            read_conf(conf, path_join(conf->arena, path, *name), err) < 0)
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

static bool add_source(struct fetching *fetching, const struct value *at, const char *path,
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

static bool add_matches(struct fetching *fetching, const struct value *at, const char *pattern,
                        struct salt_reactor_sources *ret)
{
    glob_t found = { 0 };
    bool any = false;

    if (glob(pattern, GLOB_NOCHECK, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && i < FILES_MAX; i++)
            any |= add_source(fetching, at, found.gl_pathv[i], ret);
    globfree(&found);
    return any;
}

static void fetch_files(void *self, const struct value *at, const char *ref,
                        struct salt_reactor_sources *ret)
{
    struct fetching *fetching = self;
    const struct salt_conf *conf = fetching->conf;

    if (strncmp(ref, SCHEME, strlen(SCHEME)) != 0) {
        if (!add_matches(fetching, at, ref, ret))
            (void)value_diag(fetching->remarks, at, "there is no file '%s'", ref);
        return;
    }
    for (size_t i = 0; i < conf->roots.n; i++)
        if (add_matches(fetching, at,
                        path_join(conf->arena, conf->roots.p[i], ref + strlen(SCHEME)), ret))
            return;
    (void)value_diag(fetching->remarks, at, "'%s' is in none of the file_roots", ref);
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
        return cli_error(cli, "there is no list 'reactor' in these files");
    list = value_list(conf.reactor);
    salt_reactor_convert(&reactor, &list);
    if (write_tree(cli, &reactor, want->output, &err) < 0)
        return cli_err(cli, &err);
    printf("Check it: zester reactor check %s\n", want->output);
    return report_remarks(&remarks);
}

static int run_beacons(struct cli *cli, const void *args, struct param_strs operands)
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
        return cli_error(cli, "there is no map 'beacons' in these files");
    result = salt_beacons_convert(cli->arena, &conf.beacons, &remarks);
    if (yaml_print(&out, &result, &err) < 0)
        return cli_err(cli, &err);
    (void)fputs(buf_text(&out), stdout);
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
        .run = run_beacons,
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
    { 0 },
};

int main(int argc, char **argv)
{
    const struct program program = {
        .name = "zester-migrate",
        .version = ZESTER_VERSION,
        .summary = "convert configuration of Salt",
        .statuses = "0 everything was converted; 1 nothing was written; 2 written, with remarks",
        .commands = commands,
    };

    return command_main(&program, argc, argv);
}
