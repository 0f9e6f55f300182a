/* zester-master verify: reads a whole backup, and says what is in it. */
#include <stdio.h>

#include "commands/cli/fleet/backup/backup_file.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/link.h"
#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/data/time_text.h"
#include "core/data/value.h"

struct verify_args {
    struct backup_key_options key;
    enum fleet_format format;
};

#define ARGS struct verify_args

/* clang-format off */
static const struct param verify_options[] = {
    BACKUP_KEY_OPTIONS(ARGS, key),
    PARAM("format", CHOICE, ARGS, format, "output format", .choices = "text|json|yaml", .default_text = "text"),
    { 0 },
};
/* clang-format on */

struct verify {
    struct arena *arena;
    struct value_list *streams;
    int64_t counts[ARCHIVE_PART_KINDS];
    int64_t messages, bytes;
    int64_t part_began; /* bytes before the current part */
};

static void set_key(struct arena *arena, struct value_map *map, const char *key, struct value value)
{
    value_map_set(arena, map, value_text(key), value);
}

static void note_verified(struct verify *verify, const struct archive_item *item)
{
    struct value_map *stream;

    if (item->step == ARCHIVE_PART)
        verify->part_began = item->bytes;
    if (item->step != ARCHIVE_END)
        return;
    verify->counts[item->part->kind]++;
    if (item->part->kind != ARCHIVE_STREAM)
        return;
    verify->messages += item->part->messages;
    stream = value_map_new(verify->arena, 4);
    set_key(verify->arena, stream, "name",
            value_text(arena_strdup(verify->arena, item->part->name)));
    set_key(verify->arena, stream, "messages", value_int(item->part->messages));
    set_key(verify->arena, stream, "last_seq", value_int((int64_t)item->part->last_seq));
    set_key(verify->arena, stream, "bytes", value_int(item->bytes - verify->part_began));
    value_list_push(verify->arena, verify->streams, value_map(stream));
}

static int read_whole(struct verify *verify, struct backup_file *file, struct err *err)
{
    struct archive_item item;

    do {
        if (backup_file_next(file, &item, err) < 0)
            return -1;
        note_verified(verify, &item);
    } while (item.step != ARCHIVE_CLOSE);
    verify->bytes = item.bytes;
    return 0;
}

static int print_verified(struct cli *cli, enum fleet_format format, const struct verify *verify,
                          const struct archive_info *info)
{
    struct value_map *map = value_map_new(cli->arena, 12);
    const struct value result = value_map(map);

    set_key(cli->arena, map, "id", value_text(info->id));
    set_key(cli->arena, map, "made", value_text(time_text(cli->arena, info->made)));
    set_key(cli->arena, map, "host", value_text(info->host));
    set_key(cli->arena, map, "zester", value_text(info->zester));
    set_key(cli->arena, map, "nats_server", value_text(info->server));
    set_key(cli->arena, map, "fleet", value_text(info->fleet));
    set_key(cli->arena, map, "config", value_text(info->conf));
    set_key(cli->arena, map, "files", value_int(verify->counts[ARCHIVE_FILE]));
    set_key(cli->arena, map, "messages", value_int(verify->messages));
    set_key(cli->arena, map, "bytes", value_int(verify->bytes));
    set_key(cli->arena, map, "streams", value_list(verify->streams));
    return fleet_print(cli, format, &result);
}

static void print_verified_text(struct cli *cli, const char *path, const struct verify *verify,
                                const struct archive_info *info)
{
    printf("%s: complete and undamaged\n", path);
    printf("  made     %s on %s, with zester %s and nats-server %s\n",
           time_text(cli->arena, info->made), info->host, info->zester, info->server);
    printf("  fleet    %s (%s)\n", info->fleet, info->conf);
    printf("  files    %lld in %lld folders\n", (long long)verify->counts[ARCHIVE_FILE],
           (long long)verify->counts[ARCHIVE_FOLDER]);
    printf("  streams  %lld with %lld messages\n", (long long)verify->counts[ARCHIVE_STREAM],
           (long long)verify->messages);
    for (size_t i = 0; i < verify->streams->count; i++) {
        const struct value *stream = &verify->streams->items[i];

        if (value_get_int(stream, "messages", 0) > 0)
            printf("    %-22s %lld\n", value_get_text(stream, "name"),
                   (long long)value_get_int(stream, "messages", 0));
    }
}

static int run_verify(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct verify_args *want = args;
    struct verify verify = { .arena = cli->arena, .streams = value_list_new(cli->arena, 0) };
    struct backup_file file;
    struct err err;
    int status = CLI_OK;

    if (backup_file_open(operands.p[0], &want->key, &file, &err) < 0 ||
        read_whole(&verify, &file, &err) < 0)
        status = cli_err(cli, &err);
    else if (want->format == FLEET_TEXT)
        print_verified_text(cli, operands.p[0], &verify, &file.reader.info);
    else
        status = print_verified(cli, want->format, &verify, &file.reader.info);
    backup_file_done(&file);
    return status;
}

const struct command command_verify = {
    .name = "verify",
    .operands = "FILE",
    .summary = "read a whole backup, check every part, and show what it contains",
    .details = "Needs the passphrase or key file, and neither a bus nor a master. A damaged or\n"
               "truncated file, and a wrong key, are reported as such.\n",
    .examples =
        "  zester-master verify /backup/fleet.zb\n"
        "  zester-master verify /backup/fleet.zb --key-file /root/backup.key --format json\n",
    .options = verify_options,
    .args_size = sizeof(struct verify_args),
    .least = 1,
    .most = 1,
    .run = run_verify,
};
