#include "kepler/config/reason.h"

#include "core/base/buf.h"
#include "test.h"

TEST(documented_reasons_become_sentences_and_all_else_stays)
{
    static const struct {
        const char *documented, *words;
    } cases[] = {
        { "dependency `job` exited with exit code Some(3), won't restart (policy: No)",
          "dependency `job` exited with status 3; not restarted because its restart policy is no" },
        { "dependency `job` exited with exit code None, won't restart (policy: OnFailure)",
          "dependency `job` exited; not restarted because its restart policy is on-failure" },
        { "dependency `a` was killed by SIGKILL, won't restart (policy: OnSuccess|OnUnhealthy)",
          "dependency `a` was killed by SIGKILL; not restarted because its restart policy is "
          "on-success|on-unhealthy" },
        { "dependency `a` failed with exit code Some(2), won't restart (policy: Always)",
          "dependency `a` failed with status 2" },
        { "dependency `a` failed to start, won't restart (policy: No); hook pre_start: step 1",
          "dependency `a` failed to start; hook pre_start: step 1" },
        { "dependency `db` was not started, won't restart (policy: No)",
          "dependency `db` was not started" },
        { "dependency `web` was skipped", "dependency `web` was skipped" },
        { "dependency `web", "dependency `web" },
        { "dependency `web` x, won't restart (policy: No",
          "dependency `web` x, won't restart (policy: No" },
        { "`if` condition evaluated to false: `service.debug`",
          "`if` condition evaluated to false: `service.debug`" },
        { "", "" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

        reason_print(str_from(cases[i].documented), &out);
        CHECK_STR(buf_text(&out), cases[i].words);
    }
}

TEST(a_service_skipped_for_a_dependency_that_is_down_is_told_what_starts_it)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    reason_print_skip("web", STR("dependency `db` was stopped, won't restart (policy: Always)"),
                      &out);
    CHECK_STR(buf_text(&out), "service 'web' was skipped: dependency `db` was stopped; 'kepler up "
                              "web' starts it as well");
    buf_clear(&out);
    reason_print_skip("web", STR("dependency `db` was skipped"), &out);
    CHECK_STR(buf_text(&out), "service 'web' was skipped: dependency `db` was skipped");
}
