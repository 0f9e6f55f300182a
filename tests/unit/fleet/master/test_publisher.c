#include "fleet/master/files/publisher.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/hex.h"
#include "core/base/sha256.h"
#include "core/data/record.h"
#include "fleet/master/lease.h"
#include "fleet/nats/js_scene.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/nkey.h"
#include "fleet/nats/object.h"
#include "fleet/nats/stream.h"
#include "core/sys/background_task.h"
#include "core/sys/fs.h"
#include "test.h"
#include "fleet/wire/canary.h"
#include "fleet/wire/fileset.h"
#include "fleet/wire/signature.h"

#define LARGE (FILESET_INLINE_MAX + 1)

static const struct publisher_kind states = { .name = "states",
                                              .bucket = STORE_STATE_FILES,
                                              .prefix = "" };
static const struct publisher_kind kept_states = {
    .name = "states", .bucket = STORE_STATE_FILES, .prefix = "", .history = "states"
};
static const struct publisher_kind rules = { .name = "reactor",
                                             .bucket = STORE_REACTOR_FILES,
                                             .prefix = "reactor/" };

/* A folder with one large file, a lease, and a publisher, on a real server. */
struct shop {
    struct js_scene world;
    struct arena arena;
    struct background_tasks background_tasks;
    struct lease lease;
    struct publisher *publisher;
    const char *folder, *file;
    char sum[SHA256_HEX_SIZE], stored[SHA256_HEX_SIZE];
    int ready, rounds;
    bool failed, is_new, is_changed;
    uint64_t revision; /* recorded by the last round */
    int64_t keep;
    size_t read;
    struct nats_nkey account;
};

/* The wall clock of this process is ahead by so many seconds: files that were just written are old
 * then. */
static _Atomic time_t ahead;

int clock_gettime(clockid_t clock_id, struct timespec *tp)
{
    const int rc = (int)syscall(SYS_clock_gettime, clock_id, tp);

    if (clock_id == CLOCK_REALTIME)
        tp->tv_sec += ahead;
    return rc;
}

static void on_ready(void *self, const struct store_result *result)
{
    CHECK_INT(result->problem_count, 0);
    ((struct shop *)self)->ready++;
}

static void write_file(struct shop *shop, const char *name, char fill)
{
    char *bytes = arena_alloc(&shop->arena, LARGE);
    struct err err;

    memset(bytes, fill, LARGE);
    CHECK_INT(fs_replace(name, (struct str){ bytes, LARGE }, NULL, &err), 0);
    sha256_hex(bytes, LARGE, shop->sum);
}

static void shop_begin(struct shop *shop, const struct publisher_kind *kind)
{
    struct err *err = &shop->world.scene.err;

    *shop = (struct shop){ .arena = ARENA_INIT, .keep = 10 };
    js_scene_begin(&shop->world);
    CHECK_INT(store_ensure(&shop->world.js, &(struct store_options){ 0 }, on_ready, shop, err), 0);
    SCENE_RUN(&shop->world.scene, shop->ready == 1);
    shop->folder = arena_printf(&shop->arena, "%s/tree", test_folder());
    shop->file = arena_printf(&shop->arena, "%s/large", shop->folder);
    CHECK_INT(fs_mkdirs(shop->folder, 0755, err), 0);
    CHECK_INT(
        background_tasks_open_workers(&shop->background_tasks, shop->world.scene.loop, 1, err), 0);
    shop->lease = (struct lease){ .js = shop->world.js, .key = "publisher", .holder = "master-1" };
    lease_start(&shop->lease);
    SCENE_RUN(&shop->world.scene, lease_is_held(&shop->lease));
    nats_nkey_make(NATS_NKEY_ACCOUNT, (const unsigned char[ED25519_SEED_SIZE]){ 1 },
                   &shop->account);
    shop->publisher =
        publisher_new(&(struct publisher_options){ .js = shop->world.js,
                                                   .kind = kind,
                                                   .folder = shop->folder,
                                                   .background_tasks = &shop->background_tasks,
                                                   .lease = &shop->lease,
                                                   .keep = &shop->keep,
                                                   .master = "master-1",
                                                   .account = &shop->account },
                      err);
    CHECK(shop->publisher);
}

static void shop_end(struct shop *shop)
{
    publisher_free(shop->publisher);
    (void)lease_stop(&shop->lease, NULL, NULL);
    background_tasks_close(&shop->background_tasks);
    js_scene_end(&shop->world);
    arena_done(&shop->arena);
}

static void on_object(void *self, const struct nats_error *error,
                      const struct nats_object_info *info)
{
    struct shop *shop = self;

    CHECK(!error);
    hex_write(info->digest, sizeof(info->digest), shop->stored);
    shop->ready++;
}

/* Store the content of a file under this object name. */
static void put_object(struct shop *shop, const char *name, const char *file)
{
    const struct nats_objects objects = { .js = shop->world.js, .bucket = STORE_FILES };
    int fd = open(file, O_RDONLY | O_CLOEXEC);

    shop->ready = 0;
    CHECK_INT(nats_object_put(&objects, &(struct nats_object_put){ .name = name, .fd = fd },
                              on_object, shop, &shop->world.scene.err),
              0);
    SCENE_RUN(&shop->world.scene, shop->ready == 1);
    (void)close(fd);
}

static void read_object(struct shop *shop, const char *name)
{
    const struct nats_objects objects = { .js = shop->world.js, .bucket = STORE_FILES };

    shop->ready = 0;
    CHECK_INT(nats_object_info(&objects, name, on_object, shop, &shop->world.scene.err), 0);
    SCENE_RUN(&shop->world.scene, shop->ready == 1);
}

static void on_round(void *self, const struct publisher_outcome *outcome)
{
    struct shop *shop = self;

    shop->rounds++;
    shop->failed = outcome->error[0] != '\0';
    shop->read = outcome->read;
    shop->is_new = outcome->is_new;
    shop->is_changed = outcome->changed;
    shop->revision = outcome->revision;
}

static void begin_round(struct shop *shop, const struct publisher_cause *cause)
{
    publisher_round(shop->publisher,
                    &(struct publisher_wish){ .cause = cause, .fn = on_round, .self = shop });
}

static void publish(struct shop *shop)
{
    shop->rounds = 0;
    begin_round(shop, NULL);
    SCENE_RUN(&shop->world.scene, shop->rounds == 1);
    CHECK(!shop->failed);
}

TEST(an_object_whose_content_does_not_match_its_name_is_replaced)
{
    struct shop shop;
    char wanted[SHA256_HEX_SIZE];

    shop_begin(&shop, &states);
    write_file(&shop, shop.file, 'a');
    memcpy(wanted, shop.sum, sizeof(wanted));
    write_file(&shop, arena_printf(&shop.arena, "%s/other", test_folder()), 'b');
    put_object(&shop, wanted, arena_printf(&shop.arena, "%s/other", test_folder()));
    CHECK(strcmp(shop.stored, wanted) != 0);
    publish(&shop);
    read_object(&shop, wanted);
    CHECK_STR(shop.stored, wanted);
    shop_end(&shop);
}

/* --- the order of writes ------------------------------------------------------------- */

/* Positions of a round's writes in the bucket's stream. */
struct order {
    uint64_t last_file, manifest, signature, revision;
    size_t files;
    bool is_read;
};

static void on_entry(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct order *order = self;

    CHECK(!error);
    if (!entry) {
        order->is_read = true;
    } else if (str_is(entry->key, FILESET_MANIFEST)) {
        order->manifest = entry->revision;
    } else if (str_is(entry->key, FILESET_SIGNATURE)) {
        order->signature = entry->revision;
    } else if (str_is(entry->key, FILESET_REVISION)) {
        order->revision = entry->revision;
    } else {
        order->files++;
        if (entry->revision > order->last_file)
            order->last_file = entry->revision;
    }
}

static struct order read_order(struct shop *shop)
{
    const struct nats_kv kv = { .js = shop->world.js, .bucket = "reactor-files" };
    struct order order = { 0 };

    CHECK_INT(nats_kv_list(&kv, ">", on_entry, &order, &shop->world.scene.err), 0);
    SCENE_RUN(&shop->world.scene, order.is_read);
    return order;
}

static void write_rule(struct shop *shop, const char *name, const char *text)
{
    CHECK_INT(fs_replace(arena_printf(&shop->arena, "%s/%s", shop->folder, name), str_from(text),
                         NULL, &shop->world.scene.err),
              0);
}

TEST(files_come_before_the_manifest_and_the_manifest_before_the_revision)
{
    struct shop shop;
    struct order first, second;

    shop_begin(&shop, &rules);
    write_rule(&shop, "top.zy", "reactor: [{'*': [reactor.a]}]\n");
    write_rule(&shop, "a.zy", "x: {log: a}\n");
    write_rule(&shop, "b.zy", "x: {log: b}\n");
    publish(&shop);
    first = read_order(&shop);
    CHECK_INT(first.files, 3);
    CHECK(first.last_file < first.manifest && first.manifest < first.revision);
    CHECK(first.manifest < first.signature && first.signature < first.revision);
    write_rule(&shop, "a.zy", "x: {log: changed}\n");
    publish(&shop);
    second = read_order(&shop);
    CHECK(second.last_file > first.revision);
    CHECK(second.last_file < second.manifest && second.manifest < second.revision);
    CHECK(second.manifest < second.signature && second.signature < second.revision);
    shop_end(&shop);
}

/* --- reading ----------------------------------------------------------------------- */

/* The text of a key in the rules bucket; NULL: missing. */
struct lookup {
    struct arena *arena;
    const char *text;
    struct str bytes;
    int count;
};

static void on_key(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct lookup *lookup = self;

    lookup->bytes = error ? (struct str){ NULL, 0 } : arena_str(lookup->arena, entry->value);
    lookup->text = lookup->bytes.p;
    lookup->count++;
}

static const char *read_key(struct shop *shop, const char *key)
{
    const struct nats_kv kv = { .js = shop->world.js, .bucket = "reactor-files" };
    struct lookup lookup = { .arena = &shop->arena };

    CHECK_INT(nats_kv_get(&kv, key, on_key, &lookup, &shop->world.scene.err), 0);
    SCENE_RUN(&shop->world.scene, lookup.count == 1);
    return lookup.text;
}

static void write_rules(struct shop *shop, int count)
{
    for (int i = 0; i < count; i++)
        write_rule(shop, arena_printf(&shop->arena, "%d.zy", i), "x: {log: a}\n");
}

TEST(only_changed_files_are_read_again)
{
    struct shop shop;

    ahead = 60;
    shop_begin(&shop, &rules);
    write_rules(&shop, 20);
    write_file(&shop, shop.file, 'a');
    publish(&shop);
    CHECK_INT(shop.read, 21);
    publish(&shop);
    CHECK_INT(shop.read, 0);
    write_rule(&shop, "7.zy", "x: {log: b}\n"); /* as long as before */
    publish(&shop);
    CHECK_INT(shop.read, 1);
    CHECK_STR(read_key(&shop, "reactor/7.zy"), "x: {log: b}\n");
    CHECK_INT(unlink(arena_printf(&shop.arena, "%s/8.zy", shop.folder)), 0);
    publish(&shop);
    CHECK_INT(shop.read, 0);
    CHECK(!read_key(&shop, "reactor/8.zy"));
    shop_end(&shop);
}

/* It may change again within the time resolution. */
TEST(a_file_changed_just_now_is_read_again)
{
    struct shop shop;

    shop_begin(&shop, &rules);
    ahead = 60;
    write_rules(&shop, 3);
    publish(&shop);
    ahead = 0;
    write_rule(&shop, "1.zy", "x: {log: b}\n");
    publish(&shop);
    CHECK_INT(shop.read, 1);
    publish(&shop);
    CHECK_INT(shop.read, 1);
    ahead = 60;
    publish(&shop);
    CHECK_INT(shop.read, 1);
    publish(&shop);
    CHECK_INT(shop.read, 0);
    shop_end(&shop);
}

static void on_deleted(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)revision;
    CHECK(!error);
    ((struct shop *)self)->ready++;
}

TEST(an_unchanged_file_that_the_bucket_lost_is_published_again)
{
    const char *text = NULL;
    struct shop shop;

    ahead = 60;
    shop_begin(&shop, &rules);
    write_rules(&shop, 3);
    publish(&shop);

    const struct nats_kv kv = { .js = shop.world.js, .bucket = "reactor-files" };
    shop.ready = 0;
    CHECK_INT(nats_kv_purge(&kv, "reactor/1.zy", 0, on_deleted, &shop, &shop.world.scene.err), 0);
    SCENE_RUN(&shop.world.scene, shop.ready == 1);
    /* the publisher's watch reports it */
    for (int i = 0; i < 1000 && !text; i++) {
        publish(&shop);
        text = read_key(&shop, "reactor/1.zy");
    }
    CHECK_STR(text, "x: {log: a}\n");
    shop_end(&shop);
}

/* --- signatures --------------------------------------------------------------------- */

/* A NULL view: missing. */
static struct str find_value(struct shop *shop, const char *key)
{
    const struct nats_kv kv = { .js = shop->world.js, .bucket = "reactor-files" };
    struct lookup lookup = { .arena = &shop->arena };

    CHECK_INT(nats_kv_get(&kv, key, on_key, &lookup, &shop->world.scene.err), 0);
    SCENE_RUN(&shop->world.scene, lookup.count == 1);
    return lookup.text ? lookup.bytes : (struct str){ NULL, 0 };
}

/* Reads the signature of this manifest; time 0: unsigned. */
static struct signature_mark read_mark(struct shop *shop, const char *manifest)
{
    const struct str set = find_value(shop, manifest);
    const struct str stored = find_value(shop, signature_key(&shop->arena, manifest));
    struct signature_mark mark = { 0 };
    char sum[SHA256_HEX_SIZE];
    struct err err;

    sha256_hex(set.p, set.n, sum);
    if (!set.p || !stored.p ||
        signature_check_tree(shop->account.public_key,
                             signature_place(&shop->arena, "reactor-files", manifest), sum, stored,
                             &mark, &err) < 0)
        return (struct signature_mark){ 0 };
    return mark;
}

/* Is the set in the bucket signed for its number? */
static bool is_signed(struct shop *shop)
{
    const struct signature_mark mark = read_mark(shop, FILESET_MANIFEST);
    const struct str number = find_value(shop, FILESET_REVISION);

    return mark.time && number.p && mark.revision == strtoull(number.p, NULL, 10);
}

static void tell(struct shop *shop)
{
    shop->rounds = 0;
    publisher_tell(shop->publisher, on_round, shop);
    SCENE_RUN(&shop->world.scene, shop->rounds == 1);
    CHECK(!shop->failed);
}

/* So an ended canary is not mistaken for a running one: readers compare the times. */
TEST(a_canary_is_signed_later_than_its_base_and_earlier_than_its_successor)
{
    struct signature_mark before, canary, after;
    struct shop shop;

    shop_begin(&shop, &rules);
    write_rules(&shop, 3);
    publish(&shop);
    before = read_mark(&shop, FILESET_MANIFEST);
    publisher_divert(shop.publisher, true);
    publish(&shop);
    canary = read_mark(&shop, CANARY_MANIFEST);
    CHECK(before.time && before.time < canary.time);
    CHECK_INT(canary.revision, publisher_canary(shop.publisher));
    tell(&shop);
    publish(&shop); /* a number that has risen is no change of the set */
    CHECK(read_mark(&shop, CANARY_MANIFEST).time == canary.time);
    CHECK(read_mark(&shop, FILESET_MANIFEST).time == before.time);
    publisher_divert(shop.publisher, false);
    publish(&shop); /* the same files as before it */
    after = read_mark(&shop, FILESET_MANIFEST);
    CHECK(is_signed(&shop) && after.time > canary.time);
    publish(&shop);
    CHECK(read_mark(&shop, FILESET_MANIFEST).time == after.time);
    CHECK(!find_value(&shop, CANARY_MANIFEST).p && !find_value(&shop, CANARY_SIGNATURE).p);
    shop_end(&shop);
}

/* Published by an older master, or by an attacker: it is signed again, with a new number. */
TEST(an_unchanged_set_without_a_valid_signature_is_signed)
{
    static const bool is_gone[] = { true, false };
    struct shop shop;

    shop_begin(&shop, &rules);
    write_rules(&shop, 3);
    publish(&shop);
    CHECK(is_signed(&shop));
    for (size_t i = 0; i < ARRAY_LEN(is_gone); i++) {
        const struct nats_kv kv = { .js = shop.world.js, .bucket = "reactor-files" };
        const uint64_t before = publisher_number(shop.publisher);
        int result;

        shop.ready = 0;
        result = is_gone[i] ? nats_kv_delete(&kv, FILESET_SIGNATURE, 0, on_deleted, &shop,
                                             &shop.world.scene.err)
                            : nats_kv_put(&kv, FILESET_SIGNATURE, STR("forged"), on_deleted, &shop,
                                          &shop.world.scene.err);
        CHECK_INT(result, 0);
        SCENE_RUN(&shop.world.scene, shop.ready == 1);
        for (int round = 0; round < 1000 && publisher_number(shop.publisher) == before; round++)
            publish(&shop); /* its watch reports it */
        CHECK_INT(publisher_number(shop.publisher), before + 1);
        CHECK(is_signed(&shop));
        publish(&shop);
        CHECK_INT(publisher_number(shop.publisher), before + 1);
    }
    shop_end(&shop);
}

/* --- causes --------------------------------------------------------------------------- */

/* The revision recorded by the last round. */
static struct fileset_revision read_recorded(struct shop *shop)
{
    const struct nats_kv kv = { .js = shop->world.js, .bucket = "tree-history", .indirect = true };
    struct lookup lookup = { .arena = &shop->arena };
    struct fileset_revision revision = { 0 };
    struct err err;

    CHECK(shop->revision);
    CHECK_INT(nats_kv_get(
                  &kv, arena_printf(&shop->arena, FILESET_PAST_REVISION, "states", shop->revision),
                  on_key, &lookup, &shop->world.scene.err),
              0);
    SCENE_RUN(&shop->world.scene, lookup.count == 1);
    CHECK_INT(record_decode(&shop->arena, &fileset_revision_type, 1, lookup.bytes, &revision, &err),
              0);
    return revision;
}

/* So an operator who ends a canary need not do it again. */
TEST(a_queued_round_is_recorded_with_its_own_cause)
{
    const struct publisher_cause cause = { .by = "alice", .restored = 7, .note = "a note" };
    struct fileset_revision revision;
    struct shop shop;

    shop_begin(&shop, &kept_states);
    write_rule(&shop, "web.zy", "a: {test.nop: []}\n");
    publish(&shop);
    CHECK_STR(read_recorded(&shop).operator, "");
    publisher_divert(shop.publisher, true);
    write_rule(&shop, "web.zy", "b: {test.nop: []}\n");
    shop.rounds = 0;
    begin_round(&shop, NULL);
    CHECK(publisher_is_busy(shop.publisher));
    begin_round(&shop, &cause);
    SCENE_RUN(&shop.world.scene, shop.rounds == 1);
    CHECK_INT(shop.revision, 0); /* the first one is that of a canary which goes on */
    SCENE_RUN(&shop.world.scene, shop.rounds == 2);
    revision = read_recorded(&shop);
    CHECK_STR(revision.operator, "alice");
    CHECK_STR(revision.note, "a note");
    CHECK_INT(revision.restored, 7);
    write_rule(&shop, "web.zy", "c: {test.nop: []}\n");
    publish(&shop);
    CHECK_INT(shop.revision, 0); /* the cause was that of one round */
    shop_end(&shop);
}

/* A waiter that requests another round at the end of one. */
static void on_ended(void *self, const struct publisher_outcome *outcome)
{
    CHECK(!outcome->error[0]);
    begin_round(self, NULL);
}

/* A waiter that changes the folder after a round. */
static void on_last_look(void *self, const struct publisher_outcome *outcome)
{
    struct shop *shop = self;

    CHECK(!outcome->error[0]);
    publisher_pause(shop->publisher);
    shop->ready = 1;
}

TEST(no_round_begins_before_all_waiters_of_the_last_one_were_called)
{
    struct shop shop;

    shop_begin(&shop, &kept_states);
    write_rule(&shop, "web.zy", "a: {test.nop: []}\n");
    shop.rounds = shop.ready = 0;
    publisher_pause(shop.publisher);
    publisher_round(shop.publisher, &(struct publisher_wish){ .fn = on_ended, .self = &shop });
    publisher_round(shop.publisher, &(struct publisher_wish){ .fn = on_last_look, .self = &shop });
    publisher_resume(shop.publisher);
    SCENE_RUN(&shop.world.scene, shop.ready == 1);
    CHECK(!publisher_is_busy(shop.publisher) && shop.rounds == 0);
    publisher_resume(shop.publisher);
    SCENE_RUN(&shop.world.scene, shop.rounds == 1);
    shop_end(&shop);
}

TEST(a_forced_round_writes_all_files_but_its_set_is_not_new)
{
    struct shop shop;

    shop_begin(&shop, &kept_states);
    write_rule(&shop, "web.zy", "a: {test.nop: []}\n");
    publish(&shop);
    CHECK(shop.is_new && shop.is_changed);
    shop.rounds = 0;
    publisher_round(shop.publisher,
                    &(struct publisher_wish){ .force = true, .fn = on_round, .self = &shop });
    SCENE_RUN(&shop.world.scene, shop.rounds == 1);
    CHECK(!shop.is_new && shop.is_changed);
    publish(&shop);
    CHECK(!shop.is_new && !shop.is_changed);
    shop_end(&shop);
}

static void on_removed_stream(void *self, const struct nats_error *error)
{
    CHECK(!error);
    ((struct shop *)self)->ready++;
}

/* A rollback needs a record of the current publication. */
TEST(a_revision_is_recorded_again_after_a_failed_record)
{
    struct shop shop;
    struct err *err = &shop.world.scene.err;

    shop_begin(&shop, &kept_states);
    write_rule(&shop, "web.zy", "a: {test.nop: []}\n");
    publish(&shop);
    CHECK(shop.revision);
    shop.ready = 0;
    CHECK_INT(nats_stream_delete(&shop.world.js, "KV_tree-history", on_removed_stream, &shop, err),
              0);
    SCENE_RUN(&shop.world.scene, shop.ready == 1);
    write_rule(&shop, "web.zy", "b: {test.nop: []}\n");
    publish(&shop);
    CHECK_INT(shop.revision, 0);
    CHECK_INT(store_ensure(&shop.world.js, &(struct store_options){ 0 }, on_ready, &shop, err), 0);
    SCENE_RUN(&shop.world.scene, shop.ready == 2);
    write_rule(&shop, "web.zy", "a: {test.nop: []}\n");
    publish(&shop);
    CHECK_STR(read_recorded(&shop).master, "master-1");
    shop_end(&shop);
}
