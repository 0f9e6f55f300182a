#include "states/facts/facts.h"

#include <pthread.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "core/data/yaml_print.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "golden_tree.h"
#include "test.h"

/* A case has a section "file PATH" for each file of the tree; "show" names facts, one a line, which
 * are printed as "name: value". */
static int run_case(const struct golden *golden, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    const char *root = golden_tree(&arena, golden);
    struct facts_options options = { .root = root,
                                     .families = FACTS_ALL & ~(unsigned)FACTS_NETWORK };
    struct str rest = golden_section(golden, "show");
    const struct value *facts;
    struct err err;

    if (facts_collect(&arena, &options, &facts, &diags) < 0) {
        golden_mistakes(&diags, root, "", out);
        return -1;
    }
    while (rest.p && rest.n > 0) {
        struct str name = str_cut(&rest, '\n');
        bool salt = str_starts(name, STR("grains."));
        const struct value *tree = salt ? facts_grains(&arena, facts) : facts;
        const struct value *v = value_path(tree, str_from_offset(name, salt ? 7 : 0), '.');

        buf_printf(out, "%.*s: ", STR_ARG(name));
        if (!v)
            buf_add_text(out, "(none)");
        else if (yaml_print_flow(out, v, &err) < 0)
            fail_msg("%s", err.text);
        buf_add_char(out, '\n');
    }
    return 0;
}

TEST(the_tree_of_a_machine_gives_its_facts)
{
    test_golden("states/facts/machines.txt", run_case);
}

static const struct value *collect(struct arena *arena, const char *root, unsigned families)
{
    struct diags diags = DIAGS_INIT(arena);
    struct facts_options options = { .root = root, .families = families };
    const struct value *facts = NULL;

    CHECK_INT(facts_collect(arena, &options, &facts, &diags), 0);
    return facts;
}

TEST(this_machine_has_names_processors_memory_and_addresses)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct value *facts = collect(&arena, NULL, 0);
    const struct value *ipv4 = value_get(facts, "ipv4");

    CHECK(value_get(facts, "id")->s.n > 0);
    CHECK_STR(value_get(facts, "kernel")->s.p, "Linux");
    CHECK(value_path(facts, STR("os.family"), '.')->s.n > 0);
    CHECK_INT(value_get(facts, "num_cpus")->i, sysconf(_SC_NPROCESSORS_ONLN));
    CHECK(value_path(facts, STR("memory.total"), '.')->i > 0);
    CHECK(value_path(facts, STR("memory.used_percent"), '.')->d <= 100);
    CHECK_INT(value_get(facts, "uid")->i, geteuid());
    CHECK(value_is(ipv4, VALUE_LIST));
    for (size_t i = 0; i < ipv4->list->count; i++)
        CHECK(str_find_char(ipv4->list->items[i].s, '.', 0) != STR_NONE);
    CHECK(value_is(value_path(facts, STR("disk.mounts"), '.'), VALUE_LIST));
    CHECK(value_is(value_get(facts, "virtual"), VALUE_STR));
}

TEST(loopback_is_listed_but_not_in_the_network_addresses)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct value *facts = collect(&arena, NULL, FACTS_NETWORK);
    const struct value *lo = value_path(facts, STR("ip4_interfaces.lo"), '.');
    const struct value *ipv4 = value_path(facts, STR("network.ipv4"), '.');

    for (size_t i = 0; lo && i < lo->list->count; i++)
        CHECK(str_starts(lo->list->items[i].s, STR("127.")));
    for (size_t i = 0; i < ipv4->list->count; i++)
        CHECK(!str_starts(ipv4->list->items[i].s, STR("127.")));
}

TEST(only_requested_families_are_collected)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct value *facts = collect(&arena, NULL, FACTS_OS);

    CHECK(value_get(facts, "os") != NULL);
    CHECK(value_get(facts, "cpu") == NULL);
    CHECK(value_get(facts, "network") == NULL);
}

TEST(a_given_id_is_used)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct facts_options options = { .id = "web-01", .families = FACTS_HOST };
    const struct value *facts;

    CHECK_INT(facts_collect(&arena, &options, &facts, &diags), 0);
    CHECK_STR(value_get(facts, "id")->s.p, "web-01");
}

TEST(links_do_not_lead_outside_a_root)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *root = test_folder();
    struct err err;

    golden_put(root, STR("other/release"), STR("ID=alpine\n"));
    CHECK_INT(fs_mkdirs(path_join(&arena, root, "etc"), 0755, &err), 0);
    CHECK_INT(symlink("/other/release", path_join(&arena, root, "etc/os-release")), 0);
    CHECK_STR(value_path(collect(&arena, root, FACTS_OS), STR("os.family"), '.')->s.p, "alpine");
}

TEST(a_missing_root_is_an_error)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct diags diags = DIAGS_INIT(&arena);
    struct facts_options options = { .root = "/no/such/root" };
    const struct value *facts;

    CHECK_INT(facts_collect(&arena, &options, &facts, &diags), -1);
    CHECK_STR(diags.list.p[0].text, "open the root '/no/such/root': No such file or directory");
}

static const char *facts_file(struct arena *arena, const char *root)
{
    return arena_printf(arena, "%s" FACTS_FILE, root);
}

TEST(facts_that_are_set_persist)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *root = test_folder();
    struct value web = value_text("web"), eu = value_text("eu"), us = value_text("us");
    struct fs_info info;
    struct err err;

    CHECK_INT(facts_set(facts_file(&arena, root), STR("role"), &web, &err), 0);
    CHECK_INT(facts_set(facts_file(&arena, root), STR("site.region"), &eu, &err), 0);
    CHECK_INT(facts_set(facts_file(&arena, root), STR("site.region"), &us, &err), 0);
    CHECK_INT(facts_set(facts_file(&arena, root), STR("os.name"), &web, &err), 0);

    const struct value *facts = collect(&arena, root, FACTS_OS | FACTS_CUSTOM);

    CHECK_STR(value_get(facts, "role")->s.p, "web");
    CHECK_STR(value_path(facts, STR("site.region"), '.')->s.p, "us");
    CHECK_STR(value_path(facts, STR("os.name"), '.')->s.p, "web");
    CHECK(value_path(facts, STR("os.family"), '.') != NULL);
    CHECK_INT(fs_stat(arena_printf(&arena, "%s" FACTS_FILE, root), &info, &err), 0);
    CHECK_INT(info.mode, 0644);
}

#define SETTERS   8
#define SETS_EACH 10

/* A few facts of its own. */
static void *set_some(void *arg)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct err err;

    for (int i = 0; i < SETS_EACH; i++) {
        const struct value v = value_int(i);
        const char *key = arena_printf(&arena, "%s%d", (const char *)arg, i);

        if (facts_set(facts_file(&arena, test_folder()), str_from(key), &v, &err) < 0)
            return arg;
    }
    return NULL;
}

TEST(facts_set_concurrently_are_all_stored)
{
    static char names[SETTERS][2] = { "a", "b", "c", "d", "e", "f", "g", "h" };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *root = test_folder();
    pthread_t threads[SETTERS];
    void *failed;

    for (size_t i = 0; i < SETTERS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, set_some, names[i]), 0);
    for (size_t i = 0; i < SETTERS; i++) {
        CHECK_INT(pthread_join(threads[i], &failed), 0);
        CHECK(!failed);
    }

    const struct value *facts = collect(&arena, root, FACTS_CUSTOM);

    for (size_t i = 0; i < SETTERS; i++)
        for (int n = 0; n < SETS_EACH; n++)
            CHECK(value_get(facts, arena_printf(&arena, "%s%d", names[i], n)) != NULL);
}

TEST(facts_do_not_overwrite_other_values)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *root = test_folder();
    struct value v = value_int(1);
    struct err err;

    CHECK_INT(facts_set(facts_file(&arena, root), STR("role"), &v, &err), 0);
    CHECK_INT(facts_set(facts_file(&arena, root), STR("role.name"), &v, &err), -1);
    CHECK_STR(err.text, "set 'role.name': 'role' is an integer and not a map");
    CHECK_INT(facts_set(facts_file(&arena, root), STR("a..b"), &v, &err), -1);
    CHECK_STR(err.text, "'a..b' is not a valid fact key");
    golden_put(root, STR("etc/zester/facts"), STR("a: [\n"));
    CHECK_INT(facts_set(facts_file(&arena, root), STR("b"), &v, &err), -1);
    CHECK_HAS(err.text, "etc/zester/facts:");
}

TEST(facts_are_collected_quickly)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct timespec begin, end;
    double best = 1e9;

    for (int i = 0; i < 20; i++) {
        double ms;

        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
        CHECK(collect(&arena, NULL, 0) != NULL);
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
        ms =
            (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6;
        best = ms < best ? ms : best;
    }
    print_message("facts: %.2f ms\n", best);
    CHECK(best < 50); /* well under 2 ms without sanitizers */
}
