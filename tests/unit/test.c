#include "test.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/build.h"

/* A test that takes longer is stuck. Telling where has its own limit. */
#ifndef TEST_SECONDS
#define TEST_SECONDS 240
#endif
#define STACK_SECONDS 20
#define STACK_SIGNAL  SIGUSR2
#define GOLDEN_MAX    ((size_t)16 << 20)

/* Programs have it from the build. */
const struct build build_info = { .version = "1.2.3", .commit = "0123abc", .built = "unknown" };

static struct test *tests;
static char folder[64];

/* Constructors run in the order of the file: keep it. */
void test_register(struct test *test)
{
    struct test **end = &tests;

    while (*end)
        end = &(*end)->next;
    *end = test;
}

void test_fail(const char *expression, const char *file, int line)
{
    print_error("%s:%d: not true: %s\n", file, line, expression);
    _fail(file, line);
    abort(); /* cmocka has left already, and does not say so in its header */
}

void test_check(bool ok, const char *expression, const char *file, int line)
{
    if (!ok)
        test_fail(expression, file, line);
}

void test_check_int(intmax_t got, intmax_t want, const char *expression, const char *file, int line)
{
    if (got == want)
        return;
    print_error("%s:%d: %s\n  got  %jd\n  want %jd\n", file, line, expression, got, want);
    _fail(file, line);
}

void test_check_str(const char *got, const char *want, const char *expression, const char *file,
                    int line)
{
    if (got && want && strcmp(got, want) == 0)
        return;
    print_error("%s:%d: %s\n  got  %s\n  want %s\n", file, line, expression, got ? got : "(null)",
                want ? want : "(null)");
    _fail(file, line);
}

void test_check_has(const char *got, const char *part, const char *expression, const char *file,
                    int line)
{
    if (got && strstr(got, part))
        return;
    print_error("%s:%d: %s\n  got  %s\n  lacks %s\n", file, line, expression, got ? got : "(null)",
                part);
    _fail(file, line);
}

/* --- scratch folder --------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    (void)remove(path); /* what is left behind is in the system's folder for such things */
    return 0;
}

static void remove_folder(void)
{
    if (folder[0])
        (void)nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    folder[0] = '\0';
}

const char *test_folder(void)
{
    const char *parent = getenv("TMPDIR");

    if (!folder[0]) {
        (void)snprintf(folder, sizeof(folder), "%s/zester-test-XXXXXX", parent ? parent : "/tmp");
        assert_non_null(mkdtemp(folder));
    }
    return folder;
}

/* --- golden cases ----------------------------------------------------------- */

struct str golden_section(const struct golden *golden, const char *name)
{
    for (size_t i = 0; i < golden->count; i++)
        if (strcmp(golden->sections[i].name, name) == 0)
            return golden->sections[i].text;
    return (struct str){ NULL, 0 };
}

static void read_file(const char *path, struct buf *out)
{
    FILE *file = fopen(path, "re");
    char chunk[4096];
    size_t n;

    if (!file) {
        print_error("cannot open %s (run from the top folder)\n", path);
        fail();
    }
    while ((n = fread(chunk, 1, sizeof(chunk), file)) > 0)
        buf_add(out, chunk, n);
    (void)fclose(file);
}

static void begin_section(struct golden *golden, struct arena *arena, struct str name,
                          const char *text)
{
    assert_true(golden->count < ARRAY_LEN(golden->sections));
    golden->sections[golden->count].name = arena_strndup(arena, name.p, name.n);
    golden->sections[golden->count].text = (struct str){ text, 0 };
    golden->count++;
}

/* Take the next case off `rest`; false at the end. */
static bool next_case(struct str *rest, struct arena *arena, struct golden *golden)
{
    *golden = (struct golden){ 0 };
    while (rest->p && rest->n > 0) {
        const char *at = rest->p;
        struct str before = *rest;
        struct str line = str_cut(rest, '\n');

        if (str_starts(line, STR("## "))) {
            if (golden->name) {
                *rest = before;
                return true;
            }
            golden->name = arena_strndup(arena, line.p + 3, line.n - 3);
        } else if (str_starts(line, STR("--- "))) {
            begin_section(golden, arena, str_from_offset(line, 4), at + line.n + 1);
        } else if (golden->count > 0) {
            struct str *text = &golden->sections[golden->count - 1].text;

            text->n = (size_t)(at + line.n + (rest->p ? 1 : 0) - text->p);
        }
    }
    return golden->name != NULL;
}

static bool run_case(const struct golden *golden,
                     int (*run)(const struct golden *golden, struct buf *out))
{
    AUTO_BUF struct buf out = BUF_INIT(GOLDEN_MAX);
    const char *section = run(golden, &out) < 0 ? "error" : "output";
    struct str want = str_trim_right(golden_section(golden, section));
    struct str got = str_trim_right(buf_view(&out));

    if (want.p && str_eq(want, got))
        return true;
    /* Not print_error, which cuts what is long. */
    (void)fprintf(stderr, "## %s: section '%s'\n--- got\n%.*s\n--- want\n%.*s\n", golden->name,
                  section, STR_ARG(got), STR_ARG(want));
    return false;
}

void test_golden(const char *path, int (*run)(const struct golden *golden, struct buf *out))
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf text = BUF_INIT(GOLDEN_MAX);
    char full[256];
    struct golden golden;
    struct str rest;
    size_t cases = 0;
    bool ok = true;

    (void)snprintf(full, sizeof(full), "tests/golden/%s", path);
    read_file(full, &text);
    rest = buf_view(&text);
    for (; next_case(&rest, &arena, &golden); cases++)
        ok = run_case(&golden, run) && ok;
    assert_true(cases > 0);
    arena_done(&arena);
    buf_done(&text);
    assert_true(ok);
}

/* --- a test that is stuck ------------------------------------------------------ */

/* Of the runtime of the address sanitizer; NULL without one. */
static void (*print_stack)(void);
static volatile sig_atomic_t printed;

static void on_stack_asked(int signo)
{
    (void)signo;
    print_stack();
    printed = 1;
}

/* One after the other; a thread that blocks all signals is left out after a second. */
static void ask_thread(pid_t thread)
{
    const struct timespec step = { 0, 10000000 };

    printed = 0;
    (void)fprintf(stderr, "thread %d:\n", thread);
    if (syscall(SYS_tgkill, getpid(), thread, STACK_SIGNAL) < 0)
        return;
    for (int i = 0; i < 100 && !printed; i++)
        (void)nanosleep(&step, NULL);
}

/* In the stuck test itself, which is about to end: what may not be called in a handler can do no
 * harm but to hang, and for that the next alarm comes. */
static void on_stuck(int signo)
{
    const pid_t self = (pid_t)syscall(SYS_gettid);
    const int errnum = errno;
    const struct dirent *entry;
    DIR *threads;

    (void)signal(SIGALRM, SIG_DFL);
    (void)alarm(STACK_SECONDS);
    (void)fprintf(stderr, "stuck: it took more than %d seconds\n", TEST_SECONDS);
    threads = print_stack ? opendir("/proc/self/task") : NULL;
    while (threads && (entry = readdir(threads))) {
        const pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);

        if (thread > 0 && thread != self)
            ask_thread(thread);
    }
    if (print_stack) {
        (void)fprintf(stderr, "thread %d:\n", self);
        print_stack();
    }
    (void)raise(signo); /* once this handler is left */
    errno = errnum;
}

/* The thread sanitizer holds signals back, and takes a handler that does so much for a mistake.
 * POSIX says how a function is made of what dlsym returns: by the bytes. */
static void watch_over_test(void)
{
    void *symbol = dlsym(RTLD_DEFAULT, "__sanitizer_print_stack_trace");

    if (!dlsym(RTLD_DEFAULT, "__tsan_init"))
        memcpy(&print_stack, &symbol, sizeof(symbol));
    if (print_stack)
        (void)sigaction(STACK_SIGNAL, &(struct sigaction){ .sa_handler = on_stack_asked }, NULL);
    (void)sigaction(SIGALRM, &(struct sigaction){ .sa_handler = on_stuck }, NULL);
    (void)alarm(TEST_SECONDS);
}

/* --- running ------------------------------------------------------------------ */

static void call(void **state)
{
    const struct test *test = *state;

    test->function();
}

static int run_here(struct test *test)
{
    const struct CMUnitTest unit = { test->name, call, NULL, NULL, test };
    int failed;

    watch_over_test();
    failed = _cmocka_run_group_tests(test->name, &unit, 1, NULL, NULL);
    remove_folder();
    return failed;
}

/* In a child, whose output is shown only when it fails. */
static bool run_apart(struct test *test)
{
    FILE *output = tmpfile();
    int status = 0;
    pid_t pid;
    int c;

    assert_non_null(output);
    (void)fflush(NULL);
    pid = fork();
    if (pid == 0) {
        (void)dup2(fileno(output), STDOUT_FILENO);
        (void)dup2(fileno(output), STDERR_FILENO);
        exit(run_here(test) ? 1 : 0);
    }
    (void)waitpid(pid, &status, 0);
    if (status != 0) {
        printf("FAIL %s (status 0x%x)\n", test->name, (unsigned)status);
        rewind(output);
        while ((c = fgetc(output)) != EOF)
            (void)putchar(c);
    }
    (void)fclose(output);
    return status == 0;
}

int main(int argc, char **argv)
{
    int passed = 0, failed = 0;

    for (struct test *test = tests; test; test = test->next) {
        bool wanted = argc == 1;

        for (int i = 1; i < argc; i++)
            wanted = wanted || strcmp(argv[i], test->name) == 0;
        if (!wanted)
            continue;
        if (argc == 1 ? run_apart(test) : run_here(test) == 0)
            passed++;
        else
            failed++;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0 || passed == 0;
}
