/*
 * wish - acceptable versions of a package: "1.2", "1.2.*", ">=1.2", ">=1.2,<2".
 *
 * Conditions are joined by commas and must all hold. Without an operator, a version matches
 * exactly, or as a pattern if it contains '*', '?' or '['.
 *
 * Memory: views of the parsed text. Threads: any.
 */
#ifndef STATES_PROVIDER_PACKAGE_WISH_H
#define STATES_PROVIDER_PACKAGE_WISH_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"
#include "states/provider/package/version.h"

struct err;

enum wish_operator { WISH_EQ, WISH_NE, WISH_GE, WISH_GT, WISH_LE, WISH_LT, WISH_LIKE };

#define WISH_CONDITIONS_MAX 8

struct wish {
    size_t count;      /* 0: any version */
    bool ignore_epoch; /* "1.2" also matches "5:1.2"; set by the caller */
    struct {
        enum wish_operator test;
        struct str version;
    } conditions[WISH_CONDITIONS_MAX];
};

/* An empty text is any version. */
int wish_parse(struct str text, struct wish *ret_wish, struct err *err);
bool wish_holds(const struct wish *wish, struct str version, version_compare_fn compare);
/* The version if the wish is for exactly one; else a NULL view. */
struct str wish_exact(const struct wish *wish);

#endif
