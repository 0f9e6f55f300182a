#include "fleet/nats/object.h"

#include "js_scene.h"
#include "fleet/nats/object_layout.h"

struct object_outcome {
    int count;
    struct nats_error error; /* text "" when it succeeded */
    struct nats_object_info info;
    struct sha256 sha;
    uint64_t size;
    struct nats_object_reading *reading; /* that waits for us */
};

static void on_object(void *self, const struct nats_error *error,
                      const struct nats_object_info *info)
{
    struct object_outcome *outcome = self;

    outcome->count++;
    outcome->error = error ? *error : (struct nats_error){ .text = "" };
    if (info)
        outcome->info = *info;
}

static void on_data(void *self, struct str data)
{
    struct object_outcome *outcome = self;

    outcome->size += data.n;
    sha256_add(&outcome->sha, data.p, data.n);
}

#define OBJECT_WAIT(world, outcome, call)                                                          \
    do {                                                                                           \
        *(outcome) = (struct object_outcome){ 0 };                                                 \
        sha256_init(&(outcome)->sha);                                                              \
        if ((call) < 0)                                                                            \
            CHECK_STR((world)->scene.err.text, "");                                                \
        SCENE_RUN(&(world)->scene, (outcome)->count == 1);                                         \
    } while (0)

static struct nats_objects begin(struct js_scene *world)
{
    js_scene_begin(world);
    JS_OK(world, nats_objects_ensure(&world->js, &(struct nats_objects_config){ .bucket = "files" },
                                     js_on_done, &done, &world->scene.err));
    return (struct nats_objects){ .js = world->js, .bucket = "files" };
}

/* A file of so many bytes, none of them like the next. */
static int make_file(size_t size)
{
    char path[300];
    uint32_t chance = 12345;
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/file", test_folder());
    file = fopen(path, "we");
    for (size_t i = 0; i < size; i++) {
        chance = chance * 1664525 + 1013904223;
        (void)fputc((int)(chance >> 24), file);
    }
    (void)fclose(file);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void put_file(struct js_scene *world, const struct nats_objects *objects, const char *name,
                     size_t size, struct object_outcome *outcome)
{
    int fd = make_file(size);

    OBJECT_WAIT(world, outcome,
                nats_object_put(objects, &(struct nats_object_put){ .name = name, .fd = fd },
                                on_object, outcome, &world->scene.err));
    CHECK_STR(outcome->error.text, "");
    (void)close(fd);
}

static const size_t sizes[] = {
    0, 1, NATS_OBJECT_CHUNK - 1, NATS_OBJECT_CHUNK, NATS_OBJECT_CHUNK + 1, 5 * 1000 * 1000
};

TEST(objects_of_any_size_come_back_as_they_went)
{
    struct object_outcome put, got;
    struct js_scene world;
    struct nats_objects objects = begin(&world);

    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        unsigned char digest[SHA256_SIZE];

        put_file(&world, &objects, "dir/a file", sizes[i], &put);
        CHECK_INT(put.info.size, sizes[i]);
        CHECK_INT(put.info.chunks, (sizes[i] + NATS_OBJECT_CHUNK - 1) / NATS_OBJECT_CHUNK);
        OBJECT_WAIT(
            &world, &got,
            nats_object_get(&objects, "dir/a file", on_data, on_object, &got, &world.scene.err));
        CHECK_STR(got.error.text, "");
        CHECK_INT(got.size, sizes[i]);
        sha256_end(&got.sha, digest);
        CHECK(memcmp(digest, put.info.digest, sizeof(digest)) == 0);
    }
    js_scene_end(&world);
}

static int64_t count_messages(struct js_scene *world)
{
    struct js_outcome outcome;

    JS_WAIT(world, &outcome,
            nats_stream_info(&world->js, "OBJ_files", js_on_stream, &outcome, &world->scene.err));
    return outcome.messages;
}

/* Holds every part until it has counted it. */
static bool on_part(void *self, struct nats_object_reading *reading, struct str data)
{
    struct object_outcome *outcome = self;

    on_data(self, data);
    outcome->reading = reading;
    return false;
}

TEST(an_object_is_read_at_the_pace_of_its_reader)
{
    struct object_outcome o = { 0 };
    struct js_scene world;
    struct nats_objects objects = begin(&world);

    put_file(&world, &objects, "a", 2 * NATS_OBJECT_CHUNK + 1, &o);
    o = (struct object_outcome){ 0 };
    sha256_init(&o.sha);
    CHECK_INT(nats_object_read(&objects, "a", on_part, on_object, &o, &world.scene.err), 0);
    for (int i = 0; i < 3; i++) {
        struct nats_object_reading *reading;

        SCENE_RUN(&world.scene, o.reading != NULL);
        CHECK_INT(o.count, 0);
        reading = o.reading;
        o.reading = NULL;
        nats_object_continue(reading);
    }
    SCENE_RUN(&world.scene, o.count == 1);
    CHECK_STR(o.error.text, "");
    CHECK_INT(o.size, 2 * NATS_OBJECT_CHUNK + 1);
    js_scene_end(&world);
}

TEST(an_object_whose_reader_stops_is_read_no_further)
{
    struct object_outcome o = { 0 };
    struct js_scene world;
    struct nats_objects objects = begin(&world);

    put_file(&world, &objects, "a", 2 * NATS_OBJECT_CHUNK, &o);
    o = (struct object_outcome){ 0 };
    sha256_init(&o.sha);
    CHECK_INT(nats_object_read(&objects, "a", on_part, on_object, &o, &world.scene.err), 0);
    SCENE_RUN(&world.scene, o.reading != NULL);
    nats_object_stop(o.reading);
    js_scene_end(&world);
    CHECK_INT(o.size, NATS_OBJECT_CHUNK);
    CHECK_INT(o.count, 0);
}

TEST(a_new_version_replaces_the_old_one_and_a_delete_leaves_a_mark)
{
    struct object_outcome o;
    struct js_scene world;
    struct nats_objects objects = begin(&world);

    put_file(&world, &objects, "a", 10 * NATS_OBJECT_CHUNK, &o);
    put_file(&world, &objects, "a", 2 * NATS_OBJECT_CHUNK, &o);
    CHECK_INT(count_messages(&world), 3); /* two chunks and the description */
    OBJECT_WAIT(&world, &o, nats_object_info(&objects, "a", on_object, &o, &world.scene.err));
    CHECK_INT(o.info.size, 2 * NATS_OBJECT_CHUNK);
    CHECK_STR(o.info.name, "a");
    OBJECT_WAIT(&world, &o, nats_object_delete(&objects, "a", on_object, &o, &world.scene.err));
    CHECK_STR(o.error.text, "");
    CHECK_INT(count_messages(&world), 1);
    OBJECT_WAIT(&world, &o,
                nats_object_get(&objects, "a", on_data, on_object, &o, &world.scene.err));
    CHECK_INT(o.error.fault, NATS_FAULT_NOT_FOUND);
    CHECK_STR(o.error.text, "object 'a' of bucket 'files': not found");
    OBJECT_WAIT(&world, &o, nats_object_delete(&objects, "b", on_object, &o, &world.scene.err));
    CHECK_INT(o.error.fault, NATS_FAULT_NOT_FOUND);
    js_scene_end(&world);
}

struct listing {
    struct buf text;
    int ends;
};

static void on_listed(void *self, const struct nats_error *error,
                      const struct nats_object_info *info)
{
    struct listing *listing = self;

    CHECK(!error);
    if (info)
        buf_printf(&listing->text, "%s:%llu ", info->name, (unsigned long long)info->size);
    else
        listing->ends++;
}

TEST(a_list_names_what_is_there)
{
    struct listing listing = { .text = BUF_INIT(BUF_NO_LIMIT) };
    struct object_outcome o;
    struct js_scene world;
    struct nats_objects objects = begin(&world);

    put_file(&world, &objects, "b", 7, &o);
    put_file(&world, &objects, "a", 3, &o);
    put_file(&world, &objects, "c", 1, &o);
    OBJECT_WAIT(&world, &o, nats_object_delete(&objects, "c", on_object, &o, &world.scene.err));
    CHECK_INT(nats_object_list(&objects, on_listed, &listing, &world.scene.err), 0);
    SCENE_RUN(&world.scene, listing.ends == 1);
    CHECK_STR(buf_text(&listing.text), "b:7 a:3 ");
    buf_done(&listing.text);
    js_scene_end(&world);
}

TEST(an_object_that_was_damaged_is_refused)
{
    AUTO_BUF struct buf chunks = BUF_INIT(200);
    struct object_outcome o;
    struct js_scene world;
    struct nats_objects objects = begin(&world);

    put_file(&world, &objects, "a", 3 * NATS_OBJECT_CHUNK, &o);
    nats_object_layout_chunks(&objects, o.info.id, &chunks);
    JS_OK(&world, nats_stream_purge(&world.js, "OBJ_files",
                                    &(struct nats_purge){ .subject = buf_text(&chunks), .keep = 2 },
                                    js_on_done, &done, &world.scene.err));
    OBJECT_WAIT(&world, &o,
                nats_object_get(&objects, "a", on_data, on_object, &o, &world.scene.err));
    CHECK_STR(o.error.text, "object 'a' of bucket 'files': chunks are missing");
    publish_text(world.conn.conn, buf_text(&chunks), "foreign");
    OBJECT_WAIT(&world, &o,
                nats_object_get(&objects, "a", on_data, on_object, &o, &world.scene.err));
    CHECK_STR(o.error.text, "object 'a' of bucket 'files': the size does not match");
    js_scene_end(&world);
}

TEST(a_file_that_cannot_be_read_leaves_nothing_behind)
{
    struct object_outcome o;
    struct js_scene world;
    struct nats_objects objects = begin(&world);
    int fd = open(test_folder(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    OBJECT_WAIT(&world, &o,
                nats_object_put(&objects, &(struct nats_object_put){ .name = "a", .fd = fd },
                                on_object, &o, &world.scene.err));
    CHECK_STR(o.error.text, "object 'a' of bucket 'files': read: Is a directory");
    CHECK_INT(count_messages(&world), 0);
    (void)close(fd);
    js_scene_end(&world);
}

TEST(a_put_goes_on_after_a_crash_of_the_server)
{
    enum { SIZE = 40 << 20 };
    struct object_outcome o = { 0 }, got;
    struct js_scene world;
    struct nats_objects objects = begin(&world);
    int fd = make_file(SIZE);

    CHECK_INT(nats_object_put(&objects, &(struct nats_object_put){ .name = "a", .fd = fd },
                              on_object, &o, &world.scene.err),
              0);
    SCENE_RUN(&world.scene, count_messages(&world) > 20);
    server_stop(&world.server, SIGKILL);
    server_start(&world.server);
    SCENE_RUN(&world.scene, o.count == 1);
    CHECK_STR(o.error.text, "");
    OBJECT_WAIT(&world, &got,
                nats_object_get(&objects, "a", on_data, on_object, &got, &world.scene.err));
    CHECK_STR(got.error.text, "");
    CHECK_INT(got.size, SIZE);
    (void)close(fd);
    js_scene_end(&world);
}

TEST(closing_the_connection_ends_a_put_once)
{
    struct object_outcome o = { 0 };
    struct js_scene world;
    struct nats_objects objects = begin(&world);
    int fd = make_file(20 * NATS_OBJECT_CHUNK);

    CHECK_INT(nats_object_put(&objects, &(struct nats_object_put){ .name = "a", .fd = fd },
                              on_object, &o, &world.scene.err),
              0);
    scene_turn(&world.scene);
    nats_conn_free(world.conn.conn);
    scene_turn(&world.scene);
    scene_end(&world.scene);
    CHECK_INT(o.count, 1);
    CHECK_INT(o.error.fault, NATS_FAULT_CANCELED);
    (void)close(fd);
    server_stop(&world.server, SIGTERM);
}

TEST(an_erased_object_leaves_nothing)
{
    struct object_outcome o;
    struct js_scene world;
    struct nats_objects objects = begin(&world);

    put_file(&world, &objects, "a", 2 * NATS_OBJECT_CHUNK, &o);
    put_file(&world, &objects, "b", 3, &o);
    OBJECT_WAIT(&world, &o, nats_object_erase(&objects, "a", on_object, &o, &world.scene.err));
    CHECK_STR(o.error.text, "");
    CHECK_STR(o.info.name, "a");
    CHECK_INT(count_messages(&world), 2); /* those of the other one */
    OBJECT_WAIT(&world, &o, nats_object_erase(&objects, "a", on_object, &o, &world.scene.err));
    CHECK_INT(o.error.fault, NATS_FAULT_NOT_FOUND);
    OBJECT_WAIT(&world, &o, nats_object_delete(&objects, "b", on_object, &o, &world.scene.err));
    OBJECT_WAIT(&world, &o, nats_object_erase(&objects, "b", on_object, &o, &world.scene.err));
    CHECK_STR(o.error.text, "");
    CHECK_INT(count_messages(&world), 0);
    js_scene_end(&world);
}

static void on_id(void *self, const struct nats_error *error, const char *id)
{
    struct listing *listing = self;

    CHECK(!error);
    if (id)
        buf_printf(&listing->text, "%s ", id);
    else
        listing->ends++;
}

TEST(ids_that_have_chunks_are_listed_and_purged)
{
    struct listing listing = { .text = BUF_INIT(BUF_NO_LIMIT) };
    struct object_outcome o;
    struct js_scene world;
    struct nats_objects objects = begin(&world);
    AUTO_BUF struct buf expected = BUF_INIT(64);

    put_file(&world, &objects, "a", 2 * NATS_OBJECT_CHUNK, &o);
    buf_printf(&expected, "%s ", o.info.id);
    CHECK_INT(nats_object_list_ids(&objects, on_id, &listing, &world.scene.err), 0);
    SCENE_RUN(&world.scene, listing.ends == 1);
    CHECK_STR(buf_text(&listing.text), buf_text(&expected));
    CHECK_INT(nats_object_purge_id(&objects, "a.>", js_on_done, NULL, &world.scene.err), -1);
    JS_OK(&world, nats_object_purge_id(&objects, o.info.id, js_on_done, &done, &world.scene.err));
    CHECK_INT(count_messages(&world), 1); /* the description */
    buf_clear(&listing.text);
    CHECK_INT(nats_object_list_ids(&objects, on_id, &listing, &world.scene.err), 0);
    SCENE_RUN(&world.scene, listing.ends == 2);
    CHECK_STR(buf_text(&listing.text), "");
    buf_done(&listing.text);
    js_scene_end(&world);
}
