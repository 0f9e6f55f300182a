/*
 * packages - the packages of a state, and the package manager.
 *
 *     packages_validate (when the state is read)
 *     packages_open -> packages_wants -> packages_look ... packages_install, packages_act
 *
 * The manager is chosen by the setting `providers.pkg`, else by os.family, else it is the first one
 * found. Without one, states that need it fail.
 *
 * Memory: the arena of the run. Threads: states hold the lock PACKAGES_LOCK; reading needs none.
 */
#ifndef STATES_MODULES_PKG_PACKAGES_H
#define STATES_MODULES_PKG_PACKAGES_H

#include <stdbool.h>

#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/data/params.h"
#include "states/provider/package/db.h"
#include "states/provider/package/manager.h"
#include "states/provider/package/offers.h"
#include "states/provider/package/wish.h"

struct cancel;
struct diags;
struct err;
struct state_run;
struct value;

#define PACKAGES_LOCK "packages"

struct packages {
    struct state_run *run;
    const struct package_manager *manager;
    struct package_host host;
};

/* The parameters that name packages. */
struct packages_args {
    const char *name, *version;
    const struct value *pkgs;      /* instead of the name: names, or maps of name to version */
    enum param_tristate normalize; /* false: take names literally */
    bool ignore_epoch;
};

/* clang-format off */
#define PACKAGES_PARAMS(type, field)                                                                                               \
    PARAM("name", STR, type, field.name, "the package", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED, .aliases = "package,pkg"), \
    PARAM("pkgs", ANY, type, field.pkgs, "several packages instead, each a name or 'name: version'"),                                 \
    PARAM("normalize", TRISTATE, type, field.normalize, "false: do not strip the machine's own architecture from names")
#define PACKAGES_VERSION(type, field)                                                                                              \
    PARAM("version", STR, type, field.version, "its version: '1.2', '1.2.*', conditions: '>=1.2,<2', or 'latest'"),                   \
    PARAM("ignore_epoch", BOOL, type, field.ignore_epoch, "'1.2' also matches '5:1.2'")
#define PACKAGES_AGGREGATE(type, field)                                                                                            \
    PARAM("aggregate", TRISTATE, type, field, "false: run the manager separately (default: together with similar states of the level)")
/* clang-format on */

/* One package of a state. */
struct packages_want {
    const char *name;
    const char *version; /* as it was written; NULL: any */
    struct wish wish;
    const char *source; /* a package file, as a source; NULL */

    /* Found by packages_look. */
    struct package found;          /* state PACKAGE_ABSENT: no record */
    const struct package *standin; /* another package that provides the name; NULL */
};

struct packages_wants {
    VEC(struct packages_want) list;
};

int packages_validate(const struct packages_args *args, const struct value *where,
                      struct diags *diags);

int packages_open(struct state_run *run, struct packages *ret_packages, struct err *err);

/* For work that must be done after a cancel, too: packages that are not canceled until it ends. */
struct packages_cleanup {
    struct packages packages;
    const struct cancel *heeded;
};
void packages_cleanup_begin(struct packages_cleanup *cleanup, const struct packages *packages);
void packages_cleanup_end(const struct packages_cleanup *cleanup);
int packages_wants(struct packages *packages, const struct packages_args *args,
                   struct packages_wants *ret_wants, struct err *err);

/* Look up the installed version of each, without a process for each. */
int packages_look(struct packages *packages, struct packages_wants *wants, struct err *err);
/* Installed, in an acceptable version. */
bool packages_is_met(const struct packages *packages, const struct packages_want *want);
/* The available versions, from the index as it is. */
int packages_offers(struct packages *packages, const struct packages_wants *wants,
                    struct package_offers *ret_offers, struct err *err);

/* Resolve 'latest' to the version that the index offers now, for packages that were looked up.
 * `ret_any`: whether there is one. */
int packages_aim(struct packages *packages, struct packages_wants *wants, bool *ret_any,
                 struct err *err);

/* Install what the request says, including held packages if allowed; an unknown name gets the
 * nearest one as a suggestion. */
int packages_install(struct packages *packages, const struct packages_wants *unmet,
                     const struct package_request *request, const struct package_offers *offers,
                     struct err *err);
/* Run the manager, and read the installed packages again afterwards. */
int packages_act(struct packages *packages, const struct package_request *request, struct err *err);
/* The version to name in a request for `version` of an offer: NULL if it is the default anyway,
 * so that managers that record a choice do not pin it. */
const char *packages_pin(const struct packages *packages, const struct packages_want *want,
                         const struct package_offer *offer, const char *version);
/* The version to request to satisfy the wish; NULL: the default. Fails with ERR_NOT_FOUND when
 * no available version satisfies it. */
int packages_choose(struct packages *packages, const struct packages_want *item,
                    const struct package_offers *offers, const char **ret, struct err *err);
/* The names as a request. */
struct package_request packages_request(struct packages *packages, enum package_action action,
                                        const struct packages_wants *wants);
void packages_request_add(struct packages *packages, struct package_request *request,
                          const char *name, const char *version);
/* A package that was looked up, in this version; NULL: the default. */
void packages_request_version(struct packages *packages, struct package_request *request,
                              const struct packages_want *want, const char *version);

/* "a", or "a, b and 3 more", for messages. */
const char *packages_names(struct packages *packages, const struct packages_wants *wants);

#endif
