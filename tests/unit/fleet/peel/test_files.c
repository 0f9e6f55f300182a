#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/base64.h"
#include "core/base/log.h"
#include "core/base/sha256.h"
#include "fleet/bus/mirror.h"
#include "core/data/msgpack.h"
#include "fleet/nats/xkey.h"
#include "fleet/peel/agent.h"
#include "fleet/peel/peel_settings.h"
#include "test.h"
#include "fleet/wire/canary.h"
#include "fleet/wire/fileset.h"
#include "fleet/wire/signature.h"

#define PAIR(key)                                                                                  \
    (const struct ed25519_pair[])                                                                  \
    {                                                                                              \
        nats_nkey_pair(key)                                                                        \
    }

/* --- a publisher -------------------------------------------------------------------- */

struct file {
    const char *path, *text;
};

static void on_put(void *self, const struct nats_error *error, uint64_t revision)
{
    int *count = self;

    (void)revision;
    if (error)
        print_error("%s\n", error->text);
    CHECK(error == NULL);
    (*count)++;
}

static void put_key(struct agent *agent, enum store_bucket bucket, const char *key, struct str text)
{
    const struct nats_kv kv = { .js = agent->js, .bucket = store_bucket_name(bucket) };
    int count = 0;

    CHECK_INT(nats_kv_put(&kv, key, text, on_put, &count, &agent->scene.err), 0);
    SCENE_RUN(&agent->scene, count == 1);
}

static void encode_manifest(struct agent *agent, const struct file *files, size_t count,
                            struct buf *out)
{
    struct fileset_manifest manifest = { 0 };

    for (size_t i = 0; i < count; i++) {
        char *hash = arena_alloc(&agent->arena, SHA256_HEX_SIZE);

        sha256_hex(files[i].text, strlen(files[i].text), hash);
        VEC_PUSH_IN(&agent->arena, &manifest.files.list,
                    (struct fileset_file){ .key = files[i].path, .sha256 = hash, .path = "" });
    }
    CHECK_INT(record_encode(out, &fileset_manifest_type, &manifest, &agent->scene.err), 0);
}

static void put_manifest(struct agent *agent, enum store_bucket bucket, const struct file *files,
                         size_t count)
{
    AUTO_BUF struct buf bytes = BUF_INIT(1 << 20);
    static int revision;

    encode_manifest(agent, files, count, &bytes);
    put_key(agent, bucket, FILESET_MANIFEST, buf_view(&bytes));
    put_key(agent, bucket, FILESET_REVISION,
            str_from(arena_printf(&agent->arena, "%d", ++revision)));
}

static void publish(struct agent *agent, enum store_bucket bucket, const struct file *files,
                    size_t count)
{
    for (size_t i = 0; i < count; i++)
        put_key(agent, bucket, files[i].path, str_from(files[i].text));
    put_manifest(agent, bucket, files, count);
}

static bool has_text(struct agent *agent, const char *path, const char *text)
{
    struct str got;

    CHECK_INT(fs_read(&agent->arena,
                      arena_printf(&agent->arena, "%s/%s", agent->conf.states_cache, path), 1 << 20,
                      &got, &agent->scene.err),
              0);
    return text ? got.p && str_eq_text(got, text) : !got.p;
}

/* --- files of states ---------------------------------------------------------------- */

TEST(files_of_states_come_change_and_go_as_masters_publish_them)
{
    static const struct file first[] = { { "web.zy", "said:\n  cmd.run:\n    - name: echo one\n" },
                                         { "a/b/c.txt", "deep" },
                                         { "old.zy", "{}" } };
    static const struct file second[] = { { "web.zy", "said:\n  cmd.run:\n    - name: echo two\n" },
                                          { "a/b/c.txt", "deep" } };
    struct agent agent;

    agent_begin(&agent, "web-01");
    publish(&agent, STORE_STATE_FILES, first, ARRAY_LEN(first));
    agent_start(&agent);
    agent_wait_connected(&agent);
    SCENE_RUN(&agent.scene, has_text(&agent, "a/b/c.txt", "deep"));
    CHECK(has_text(&agent, "old.zy", "{}"));
    agent_wait_settings(&agent);
    (void)agent_ask(&agent, "state.apply", "web", "state=web");
    CHECK_STR(value_get_text(&agent.response.results.list.p[0].details, "stdout"), "one");
    publish(&agent, STORE_STATE_FILES, second, ARRAY_LEN(second));
    SCENE_RUN(&agent.scene, has_text(&agent, "old.zy", NULL));
    CHECK(has_text(&agent, "a/b/c.txt", "deep"));
    (void)agent_ask(&agent, "state.apply", "web", "state=web");
    CHECK_STR(value_get_text(&agent.response.results.list.p[0].details, "stdout"), "two");
    agent_end(&agent);
}

/* --- on disk ------------------------------------------------------------------------ */

/* What a sync of a file system found: a tree that is whole beside, and not yet in its place. */
static struct {
    const char *_Atomic text;       /* of web.zy; NULL: syncs are not watched */
    _Atomic int early, late, fails; /* early: before the new tree is in its place */
    _Atomic bool is_broken;
} disk;

static bool has_line(const char *path, const char *text)
{
    char line[64];
    FILE *file = fopen(path, "re");
    const bool found = file && fgets(line, sizeof(line), file) && strcmp(line, text) == 0;

    if (file)
        (void)fclose(file);
    return found;
}

int syncfs(int fd)
{
    char link[64], staged[512], path[600];
    const char *text = disk.text;
    ssize_t n;

    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, staged, sizeof(staged) - 1);
    staged[n > 0 ? n : 0] = '\0';
    if (!text || !strstr(staged, "states") || !strstr(staged, ".staging"))
        return 0;
    if (disk.is_broken) {
        disk.fails++;
        errno = EIO;
        return -1;
    }
    (void)snprintf(path, sizeof(path), "%s/web.zy", staged);
    const bool is_whole = has_line(path, text);
    *strstr(staged, ".staging") = '\0';
    (void)snprintf(path, sizeof(path), "%s/web.zy", staged);
    disk.early += is_whole && !has_line(path, text);
    disk.late += !is_whole || has_line(path, text);
    return 0;
}

TEST(a_tree_is_on_disk_before_it_takes_the_place_of_the_old_one)
{
    static const struct file first[] = { { "web.zy", "one: {}\n" } };
    static const struct file second[] = { { "web.zy", "two: {}\n" } };
    struct agent agent;

    disk.text = "one: {}\n";
    agent_begin(&agent, "web-01");
    publish(&agent, STORE_STATE_FILES, first, ARRAY_LEN(first));
    agent_start(&agent);
    SCENE_RUN(&agent.scene, has_text(&agent, "web.zy", "one: {}\n"));
    CHECK_INT(disk.early, 1);
    disk.text = "two: {}\n";
    disk.is_broken = true;
    publish(&agent, STORE_STATE_FILES, second, ARRAY_LEN(second));
    SCENE_RUN(&agent.scene, disk.fails > 0);
    CHECK(has_text(&agent, "web.zy", "one: {}\n"));
    disk.is_broken = false;
    SCENE_RUN(&agent.scene, has_text(&agent, "web.zy", "two: {}\n"));
    CHECK_INT(disk.early, 2);
    CHECK_INT(disk.late, 0);
    agent_end(&agent);
}

TEST(a_tree_that_was_left_aside_by_a_machine_that_stopped_is_found_again)
{
    const char *aside;
    struct agent agent;

    agent_begin(&agent, "web-01");
    aside = arena_printf(&agent.arena, "%s.old", agent.conf.states_cache);
    CHECK_INT(fs_mkdirs(aside, 0755, &agent.scene.err), 0);
    CHECK_INT(fs_write(arena_printf(&agent.arena, "%s/web.zy", aside), STR("old: {}\n"), 0644,
                       &agent.scene.err),
              0);
    agent_start(&agent);
    CHECK(has_text(&agent, "web.zy", "old: {}\n"));
    agent_end(&agent);
}

/* News are looked at seconds later, unless somebody needs them. */
TEST(a_run_of_states_begins_with_the_files_that_are_published_by_then)
{
    static const struct file old_states[] = {
        { "web.zy", "said:\n  cmd.run:\n    - name: echo one {{ pillar['color'] }}\n" }
    };
    static const struct file new_states[] = {
        { "web.zy", "said:\n  cmd.run:\n    - name: echo two {{ pillar['color'] }}\n" }
    };
    static const struct file red[] = { { "top.zy", "base:\n  '*':\n    - color\n" },
                                       { "color.zy", "color: red\n" } };
    static const struct file green[] = { { "top.zy", "base:\n  '*':\n    - color\n" },
                                         { "color.zy", "color: green\n" } };
    struct agent agent;

    agent_begin(&agent, "web-01");
    agent.is_patient = true;
    publish(&agent, STORE_STATE_FILES, old_states, ARRAY_LEN(old_states));
    publish(&agent, STORE_SETTINGS_FILES, red, ARRAY_LEN(red));
    agent_start(&agent);
    agent_wait_connected(&agent);
    (void)agent_ask(&agent, "state.apply", "web", "state=web");
    CHECK_STR(value_get_text(&agent.response.results.list.p[0].details, "stdout"), "one red");
    publish(&agent, STORE_STATE_FILES, new_states, ARRAY_LEN(new_states));
    publish(&agent, STORE_SETTINGS_FILES, green, ARRAY_LEN(green));
    (void)agent_ask(&agent, "state.apply", "web", "state=web");
    CHECK_STR(value_get_text(&agent.response.results.list.p[0].details, "stdout"), "two green");
    agent_end(&agent);
}

/* What cannot be fetched is not waited for. */
TEST(a_run_of_states_begins_with_the_old_files_when_the_new_ones_are_not_whole)
{
    static const struct file good[] = { { "web.zy", "said:\n  cmd.run:\n    - name: echo one\n" } };
    static const struct file promised[] = { { "web.zy", "two" } };
    struct agent agent;

    agent_begin(&agent, "web-01");
    agent.is_patient = true;
    publish(&agent, STORE_STATE_FILES, good, ARRAY_LEN(good));
    agent_start(&agent);
    agent_wait_connected(&agent);
    agent_wait_settings(&agent);
    put_manifest(&agent, STORE_STATE_FILES, promised, ARRAY_LEN(promised));
    for (int i = 0; i < 2; i++) {
        (void)agent_ask(&agent, "state.apply", "web", "state=web");
        CHECK_STR(value_get_text(&agent.response.results.list.p[0].details, "stdout"), "one");
    }
    agent_end(&agent);
}

TEST(a_set_whose_hashes_do_not_fit_is_not_taken_over)
{
    static const struct file good[] = { { "a.zy", "one" }, { "b.zy", "one" } };
    static const struct file promised[] = { { "a.zy", "two" }, { "b.zy", "two" } };
    struct agent agent;

    agent_begin(&agent, "web-01");
    publish(&agent, STORE_STATE_FILES, good, ARRAY_LEN(good));
    agent_start(&agent);
    agent_wait_connected(&agent);
    SCENE_RUN(&agent.scene, has_text(&agent, "b.zy", "one"));
    put_key(&agent, STORE_STATE_FILES, "a.zy", STR("two"));
    put_manifest(&agent, STORE_STATE_FILES, promised, ARRAY_LEN(promised)); /* b is not there yet */
    CHECK_STR(agent_ask(&agent, "test.ping", "ping", ""), "true");
    CHECK(has_text(&agent, "a.zy", "one") && has_text(&agent, "b.zy", "one"));
    put_key(&agent, STORE_STATE_FILES, "b.zy", STR("two"));
    SCENE_RUN(&agent.scene, has_text(&agent, "b.zy", "two")); /* by itself, after a while */
    CHECK(has_text(&agent, "a.zy", "two"));
    agent_end(&agent);
}

/* --- signatures ---------------------------------------------------------------------- */

/* What a master publishes: signed by the account. */
static void publish_signed(struct agent *agent, const struct file *files, size_t count,
                           int64_t time)
{
    AUTO_BUF struct buf bytes = BUF_INIT(1 << 20);
    const struct signature_mark mark = { .revision = 1, .time = time };
    char sum[SHA256_HEX_SIZE];
    struct nats_nkey account;

    CHECK_INT(identity_read_key(agent->fleet.auth_dir, IDENTITY_ACCOUNT_SEED, &account,
                                &agent->scene.err),
              0);
    encode_manifest(agent, files, count, &bytes);
    sha256_hex(bytes.p, bytes.n, sum);
    put_key(agent, STORE_STATE_FILES, FILESET_SIGNATURE,
            signature_sign_tree(&agent->arena, PAIR(&account), "state-files/" FILESET_MANIFEST, sum,
                                &mark));
    publish(agent, STORE_STATE_FILES, files, count);
}

/* Lines of the agent about files that it does not use. */
static struct {
    char text[4096];
} refusals;

static void note_refusal(void *context, enum log_level level, int64_t ns, struct str text)
{
    const size_t n = strlen(refusals.text);

    (void)context;
    (void)ns;
    if (level <= LOG_LEVEL_WARNING && str_starts(text, STR("files not synced")))
        (void)snprintf(refusals.text + n, sizeof(refusals.text) - n, "%.*s\n", STR_ARG(text));
}

static bool was_refused(const char *why)
{
    return strstr(refusals.text, why) != NULL;
}

/* Somebody with the power of a server offers other files, without the key of the account. */
TEST(a_tree_that_was_signed_is_replaced_by_signed_and_later_ones_only)
{
    static const struct file good[] = { { "web.zy", "one: {}" } };
    static const struct file forged[] = { { "web.zy", "forged: {}" } };
    static const struct file later[] = { { "web.zy", "two: {}" } };
    static const struct log log = { .sink = note_refusal };
    struct agent agent;

    log_use(&log);
    agent_begin(&agent, "web-01");
    publish_signed(&agent, good, ARRAY_LEN(good), 1000);
    agent_start(&agent);
    agent_wait_connected(&agent);
    SCENE_RUN(&agent.scene, has_text(&agent, "web.zy", "one: {}"));
    publish(&agent, STORE_STATE_FILES, forged, ARRAY_LEN(forged));
    SCENE_RUN(&agent.scene, was_refused("not that of the account"));
    publish_signed(&agent, forged, ARRAY_LEN(forged), 999);
    SCENE_RUN(&agent.scene, was_refused("was signed before"));
    CHECK(has_text(&agent, "web.zy", "one: {}"));
    agent_stop(&agent); /* and after a restart */
    agent_start(&agent);
    agent_wait_connected(&agent);
    CHECK_STR(agent_ask(&agent, "test.ping", "ping", ""), "true");
    CHECK(has_text(&agent, "web.zy", "one: {}"));
    publish_signed(&agent, later, ARRAY_LEN(later), 1001);
    SCENE_RUN(&agent.scene, has_text(&agent, "web.zy", "two: {}"));
    agent_end(&agent);
}

/* --- canaries ------------------------------------------------------------------------ */

static void put_canary(struct agent *agent, enum canary_phase phase)
{
    AUTO_BUF struct buf bytes = BUF_INIT(4096);
    const struct canary canary = {
        .target = "web*", .phase = phase, .operator= "root", .ended_by = "", .manifest = ""
    };

    CHECK_INT(record_encode(&bytes, &canary_type, &canary, &agent->scene.err), 0);
    put_key(agent, STORE_STATE_FILES, CANARY_RECORD, buf_view(&bytes));
}

/* One file, which all others have as `a.zy`, too. */
static void put_canary_manifest(struct agent *agent, const char *text)
{
    AUTO_BUF struct buf bytes = BUF_INIT(4096);
    struct fileset_manifest manifest = { .revision = 9 };
    char hash[SHA256_HEX_SIZE];

    sha256_hex(text, strlen(text), hash);
    VEC_PUSH_IN(&agent->arena, &manifest.files.list,
                (struct fileset_file){ .key = CANARY_FILE "x", .sha256 = hash, .path = "a.zy" });
    CHECK_INT(record_encode(&bytes, &fileset_manifest_type, &manifest, &agent->scene.err), 0);
    put_key(agent, STORE_STATE_FILES, CANARY_MANIFEST, buf_view(&bytes));
}

TEST(a_canary_is_followed_when_its_set_is_whole_and_left_when_it_ends)
{
    static const struct file all[] = { { "a.zy", "one" }, { "b.zy", "one" } };
    struct agent agent;

    agent_begin(&agent, "web-01");
    publish(&agent, STORE_STATE_FILES, all, ARRAY_LEN(all));
    agent_start(&agent);
    agent_wait_connected(&agent);
    SCENE_RUN(&agent.scene, has_text(&agent, "b.zy", "one"));
    put_canary_manifest(&agent, "two");
    put_key(&agent, STORE_STATE_FILES, CANARY_FILE "x", STR("torn"));
    put_canary(&agent, CANARY_RUNNING);
    put_key(&agent, STORE_STATE_FILES, FILESET_REVISION, STR("98"));
    CHECK_STR(agent_ask(&agent, "test.ping", "ping", ""), "true");
    CHECK(has_text(&agent, "a.zy", "one") && has_text(&agent, "b.zy", "one"));
    put_key(&agent, STORE_STATE_FILES, CANARY_FILE "x", STR("two"));
    SCENE_RUN(&agent.scene, has_text(&agent, "a.zy", "two")); /* by itself, after a while */
    CHECK(has_text(&agent, "b.zy", NULL));
    put_canary(&agent, CANARY_ABORTING);
    put_key(&agent, STORE_STATE_FILES, FILESET_REVISION, STR("99"));
    SCENE_RUN(&agent.scene, has_text(&agent, "a.zy", "one"));
    CHECK(has_text(&agent, "b.zy", "one"));
    agent_end(&agent);
}

TEST(paths_that_lead_elsewhere_are_refused)
{
    CHECK(fileset_path_is_safe("a/b.zy"));
    CHECK(!fileset_path_is_safe(""));
    CHECK(!fileset_path_is_safe("/etc/passwd"));
    CHECK(!fileset_path_is_safe("../a"));
    CHECK(!fileset_path_is_safe("a/../../b"));
    CHECK(!fileset_path_is_safe("a//b"));
    CHECK(!fileset_path_is_safe("a/./b"));
}

/* --- settings ----------------------------------------------------------------------- */

static bool has_setting(struct agent *agent, const char *key, const char *text)
{
    return strcmp(agent_ask(agent, "settings.get", key,
                            arena_printf(&agent->arena, "key=%s;default=none", key)),
                  text) == 0;
}

static void on_destroyed(void *self, const struct nats_error *error)
{
    int *count = self;

    CHECK(error == NULL);
    (*count)++;
}

TEST(settings_are_rendered_here_and_survive_without_a_bus)
{
    static const struct file files[] = {
        { "top.zy", "base:\n  '*': [common]\n  'web*': [web]\n" },
        { "common.zy", "ports: {http: 80}\n" },
        { "web.zy", "ports: {https: 443}\nname: '{{ facts.id }}'\n" },
    };
    struct agent agent;
    int destroyed = 0;

    agent_begin(&agent, "web-01");
    publish(&agent, STORE_SETTINGS_FILES, files, ARRAY_LEN(files));
    agent_start(&agent);
    agent_wait_connected(&agent);
    SCENE_RUN(&agent.scene, has_setting(&agent, "name", "web-01"));
    CHECK(has_setting(&agent, "ports.http", "80") && has_setting(&agent, "ports.https", "443"));
    agent_stop(&agent);
    CHECK_INT(nats_kv_destroy(&agent.js, store_bucket_name(STORE_SETTINGS_FILES), on_destroyed,
                              &destroyed, &agent.scene.err),
              0);
    SCENE_RUN(&agent.scene, destroyed == 1);
    agent_start(&agent);
    agent_wait_connected(&agent);
    CHECK(has_setting(&agent, "name", "web-01"));
    agent_end(&agent);
}

/* What the machine's own key can open, under the path of a secret. */
static void put_secret(struct agent *agent, const char *path, const char *text)
{
    AUTO_BUF struct buf box = BUF_INIT(4096), coded = BUF_INIT(4096), bytes = BUF_INIT(4096);
    static const unsigned char nonce[BOX_NONCE_SIZE] = { 1 };
    struct value map = value_map(value_map_new(&agent->arena, 1));
    char public_key[NATS_NKEY_TEXT_SIZE];
    struct nats_creds creds = { 0 };
    struct nats_xkey sender, receiver;
    struct nats_nkey account;
    struct str text_of_creds;

    CHECK_INT(fs_read(&agent->arena,
                      arena_printf(&agent->arena, "%s/auth/%s.creds", agent->folder, agent->id),
                      NATS_CREDS_MAX, &text_of_creds, &agent->scene.err),
              0);
    CHECK_INT(nats_creds_parse(text_of_creds, &creds, &agent->scene.err), 0);
    nats_xkey_of(&creds.key, &receiver);
    nats_creds_done(&creds);
    CHECK_INT(identity_read_key(agent->fleet.auth_dir, IDENTITY_ACCOUNT_SEED, &account,
                                &agent->scene.err),
              0);
    nats_xkey_of(&account, &sender);
    nats_xkey_print(&sender, public_key);
    CHECK_INT(nats_xkey_seal(&account, &receiver, nonce, str_from(text), &box, &agent->scene.err),
              0);
    base64_encode(buf_view(&box), BASE64_STANDARD, &coded);
    value_map_set(&agent->arena, map.map, value_text(path),
                  value_text(arena_printf(&agent->arena, "ENC[nkey,%s]", buf_text(&coded))));
    CHECK_INT(msgpack_encode(&bytes, &map, &agent->scene.err), 0);
    put_key(agent, STORE_SECRETS, STORE_CURVE_KEY, str_from(public_key));
    put_key(agent, STORE_SECRETS, agent->id, buf_view(&bytes));
}

TEST(secrets_are_opened_here_and_never_shown)
{
    static const struct file files[] = {
        { "top.zy", "base: {'*': [db]}\n" },
        { "db.zy", "db: {user: app, password: '__ZESTER_SECRET:db.password__'}\n" },
    };
    static const struct file states[] = {
        { "use.zy",
          "length:\n  cmd.run:\n    - name: printf '%s' '{{ settings.db.password }}' | wc -c\n"
          "shown:\n  cmd.run:\n    - name: echo {{ settings.db.password }}\n" },
    };
    struct agent agent;

    agent_begin(&agent, "web-01");
    publish(&agent, STORE_STATE_FILES, states, ARRAY_LEN(states));
    publish(&agent, STORE_SETTINGS_FILES, files, ARRAY_LEN(files));
    agent_start(&agent);
    agent_wait_connected(&agent);
    CHECK_STR(agent_ask(&agent, "settings.get", "db.user", "key=db.user"), PEEL_SETTINGS_UNKNOWN);
    put_secret(&agent, "db.password", "hunter2-hunter2");
    SCENE_RUN(&agent.scene, has_setting(&agent, "db.user", "app"));
    CHECK_STR(agent_ask(&agent, "settings.get", "db.password", "key=db.password"), "********");
    SCENE_RUN(&agent.scene, has_text(&agent, "use.zy", states[0].text));
    (void)agent_ask(&agent, "state.apply", "use", "state=use");
    CHECK_INT(agent.response.results.list.n, 2);
    VEC_EACH (&agent.response.results.list, one) {
        const char *out = value_get_text(&one->details, "stdout");

        CHECK(strcmp(out, "15") == 0 || strcmp(out, "********") == 0);
    }
    agent_stop(&agent); /* and not after a start from the snapshot either */
    agent_start(&agent);
    agent_wait_connected(&agent);
    CHECK_STR(agent_ask(&agent, "settings.get", "db.password", "key=db.password"), "********");
    agent_end(&agent);
}

/* As an enrollment leaves it. */
static void pin_account(struct agent *agent)
{
    char key[NATS_NKEY_TEXT_SIZE], curve[NATS_NKEY_TEXT_SIZE];
    struct nats_nkey account;
    struct nats_xkey sealer;

    CHECK_INT(identity_read_key(agent->fleet.auth_dir, IDENTITY_ACCOUNT_SEED, &account,
                                &agent->scene.err),
              0);
    nats_nkey_print_public(&account, key);
    nats_xkey_of(&account, &sealer);
    nats_xkey_print(&sealer, curve);
    CHECK_INT(
        fs_replace(arena_printf(&agent->arena, "%s/auth/%s.account", agent->folder, agent->id),
                   str_from(arena_printf(&agent->arena, "%s\n%s\n", key, curve)), NULL,
                   &agent->scene.err),
        0);
}

/* Else a server could seal secrets of its own. */
TEST(a_key_of_the_bucket_does_not_count_when_the_enrollment_told_who_seals)
{
    static const struct file files[] = {
        { "top.zy", "base: {'*': [db]}\n" },
        { "db.zy", "db: {user: app, password: '__ZESTER_SECRET:db.password__'}\n" },
    };
    char forged[NATS_NKEY_TEXT_SIZE];
    struct nats_nkey other;
    struct nats_xkey sealer;
    struct agent agent;

    nats_nkey_make(NATS_NKEY_ACCOUNT, (const unsigned char[ED25519_SEED_SIZE]){ 9 }, &other);
    nats_xkey_of(&other, &sealer);
    nats_xkey_print(&sealer, forged);
    agent_begin(&agent, "web-01");
    publish(&agent, STORE_SETTINGS_FILES, files, ARRAY_LEN(files));
    put_secret(&agent, "db.password", "hunter2-hunter2");
    put_key(&agent, STORE_SECRETS, STORE_CURVE_KEY, str_from(forged));
    pin_account(&agent);
    agent_start(&agent);
    agent_wait_connected(&agent);
    SCENE_RUN(&agent.scene, has_setting(&agent, "db.user", "app"));
    agent_end(&agent);
}
