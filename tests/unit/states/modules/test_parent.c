#include "states/modules/file/parent.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stage.h"

/* Looks at a missing folder that a state needs, on the way up, before it is made. */
#define LOOKS 4

/* Another state makes this folder right after it was found missing so many times. */
static const char *folder;
static int misses, made_after;

int fstatat(int fd, const char *restrict file, struct stat *restrict buf, int flag)
{
    const int rc = (int)syscall(SYS_newfstatat, fd, file, buf, flag);
    const int errnum = errno;

    if (rc < 0 && folder && strcmp(file, folder) == 0 && ++misses == made_after)
        CHECK_INT(mkdir(folder, 0755), 0);
    errno = errnum;
    return rc;
}

TEST(a_folder_that_another_state_makes_meanwhile_is_no_obstacle)
{
    static const char text[] =
        "a: {file.managed: [{name: ROOT/x/y/f, makedirs: true, contents: a}]}\n";

    for (int i = 1; i <= LOOKS; i++) {
        AUTO_BUF struct buf mistakes = BUF_INIT(BUF_NO_LIMIT);
        struct stage stage;

        stage_init(&stage);
        CHECK_INT(stage_load(&stage, stage_fill(&stage, str_from(text)), &mistakes), 0);
        folder = arena_printf(&stage.arena, "%s/x", stage.root);
        misses = 0;
        made_after = i;
        stage_run(&stage, RUN_APPLY);
        folder = NULL;
        CHECK_STR(stage_word(&stage.result.states.p[0]), "changed");
        CHECK_STR(stage_shell(&stage, str_from("cat x/y/f")).p, "a\n");
        stage_done(&stage);
    }
    CHECK(misses >= 2); /* it was made on the way */
}
