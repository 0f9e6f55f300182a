/*
 * build - the version and commit of this build.
 *
 * The build writes build_info (tools/gen-build) and links it with programs only, so that a new
 * commit compiles one small file; tests have one of their own. Memory: constant.
 */
#ifndef CORE_BASE_BUILD_H
#define CORE_BASE_BUILD_H

#include <stddef.h>

#define BUILD_TEXT_MAX 256

struct build {
    const char *version; /* "1.2.3" */
    const char *commit;  /* with "-dirty" when files differ from it; or "unknown" */
    const char *built;   /* "2026-07-05T10:00:00Z", or "unknown" */
};

extern const struct build build_info;

/* The output of --version: a line with the name and the version, which other programs read, then
 * the commit and the time. */
void build_print(const char *program, char ret_text[static BUILD_TEXT_MAX]);

#endif
