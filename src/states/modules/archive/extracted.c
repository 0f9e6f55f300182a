/* archive.extracted - extract an archive into a folder. */
#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/base/digest.h"
#include "states/modules/file/attrs.h"
#include "states/modules/archive/ownership.h"
#include "states/modules/archive/unpacked.h"
#include "states/modules/file/content.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "core/sys/fs.h"

#define ARGS struct extracted_args

#define STRIP_MAX 64

struct extracted_args {
    const char *name, *source, *if_missing, *options, *user, *group, *password;
    int format;
    int64_t strip;
    struct source_trust trust;
    bool makedirs, clean, clean_parent, overwrite, skip_list;
    enum param_tristate source_hash_update, enforce_toplevel, force;
};

/* clang-format off */
static const struct param extracted_params[] = {
    PARAM("name", PATH, ARGS, name, "the folder", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("source", STR, ARGS, source, "the archive: a path in the state tree or on this machine, or a URL", .flags = PARAM_REQUIRED | PARAM_FILLED),
    PARAM("source_hash", STR, ARGS, trust.hash, "hash of the source: sha256=... (or sha512, sha1, md5), or a file of checksums", .flags = PARAM_FILLED),
    PARAM("source_hash_name", STR, ARGS, trust.name, "name in the file of checksums (default: that of the source)"),
    PARAM("skip_verify", BOOL, ARGS, trust.skip_verify, "accept an archive from the network without a hash"),
    PARAM("archive_format", CHOICE, ARGS, format, "its format (default: detect it)", .choices = "auto|tar|zip|7zip|rar|cpio", .default_text = "auto"),
    PARAM("if_missing", PATH, ARGS, if_missing, "do nothing if this path exists; nothing else is checked (in a Salt file: only if it exists)"),
    PARAM("makedirs", BOOL, ARGS, makedirs, "create missing parent folders, with the owner", .default_text = "true"),
    PARAM("strip_components", INT, ARGS, strip, "strip this many leading components from each path", PARAM_RANGE(0, STRIP_MAX)),
    PARAM("options", STR, ARGS, options, "options as for tar: '--strip-components=N'; compression options are accepted but not needed", .flags = PARAM_FILLED),
    PARAM("user", STR, ARGS, user, "owner of the extracted files, existing ones included"),
    PARAM("group", STR, ARGS, group, "group of the extracted files, existing ones included"),
    PARAM("password", STR, ARGS, password, "password of an encrypted zip", .flags = PARAM_SECRET),
    PARAM("clean", BOOL, ARGS, clean, "in a Salt file: first remove the top entries of the archive; else the same as clean_parent"),
    PARAM("clean_parent", BOOL, ARGS, clean_parent, "remove everything else from the folder, except paths that other states of the run manage"),
    PARAM("source_hash_update", TRISTATE, ARGS, source_hash_update, "another source_hash extracts again (default: true, and false in a Salt file)"),
    PARAM("skip_files_list_verify", BOOL, ARGS, skip_list, "while the source_hash is the same, do not look for the files"),
    PARAM("overwrite", BOOL, ARGS, overwrite, "extract on every run"),
    PARAM("enforce_toplevel", TRISTATE, ARGS, enforce_toplevel, "refuse archives with more than one top-level entry (default: false, and true in a Salt file)"),
    PARAM_IDLE("list_options", "archives are read without tar and unzip"),
    PARAM_IDLE("use_cmd_unzip", "archives are read without tar and unzip"),
    PARAM_IDLE("trim_output", "the result does not list the files"),
    PARAM_IDLE("use_etag", "downloads are checked by hash"),
    PARAM_IDLE("keep_source", "sources are not kept in a cache"),
    PARAM_IDLE("keep", "sources are not kept in a cache"),
    CONTENT_SIGNATURES,
    PARAM("force", TRISTATE, ARGS, force, "replace what is in the way of the archive and of another kind, such as a file where it has a folder; false: that is an error (default: true, and false in a Salt file)"),
    PARAM_REFUSED("signature", "signatures are not verified; give a source_hash"),
    PARAM_REFUSED("extract_perms", "files have the permissions of the archive", .default_text = "true"),
    PARAM_REFUSED("enforce_ownership_on", "user and group apply to the extracted files"),
    { 0 },
};
/* clang-format on */

/* Options of tar for compression and verbosity, which are ignored: the format is detected. */
static const char *const needless[] = {
    "-z", "--gzip",    "-j", "--bzip2",         "-J", "--xz", "--zstd",
    "-v", "--verbose", "-a", "--auto-compress",
};

static struct str next_archive_word(struct str *rest)
{
    *rest = str_trim(*rest);
    return str_cut(rest, ' ');
}

/* "=N", or N as the next argument. */
static bool read_archive_number(struct str word, struct str *rest, int64_t *ret)
{
    struct err ignored;
    const size_t equals = str_find_char(word, '=', 0);
    struct str digits =
        equals != STR_NONE ? str_slice(word, equals + 1, word.n) : next_archive_word(rest);

    return number_parse_int(digits, ret, &ignored) == 0 && *ret >= 0 && *ret <= STRIP_MAX;
}

/* The number of "--strip-components=1"; false for any other option. */
static bool read_archive_options(const char *options, int64_t *ret)
{
    struct str rest = str_from(options), word;

    while (rest.p && (word = next_archive_word(&rest)).n > 0) {
        bool known = false;

        for (size_t i = 0; i < ARRAY_LEN(needless); i++)
            known |= str_is(word, needless[i]) || str_is(word, needless[i] + 1);
        if (!known && (!str_starts(word, STR("--strip")) || !read_archive_number(word, &rest, ret)))
            return false;
    }
    return true;
}

static bool is_archive_remote(const char *source)
{
    return strstr(source, "://") && !str_starts(str_from(source), STR("salt://")) &&
           !str_starts(str_from(source), STR("zester://")) &&
           !str_starts(str_from(source), STR("file://"));
}

/* Its options are those of unzip: "-j" means something else there. */
static bool is_zip(const struct extracted_args *want)
{
    return want->format == UNPACK_ZIP ||
           (want->format == UNPACK_ANY && str_ends(str_from(want->source), STR(".zip")));
}

static int extracted_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct extracted_args *want = args;
    int64_t strip;
    int result = 0;

    if (want->options && is_zip(want))
        result = value_diag(diags, value_point(where, "options"),
                            "'options' of unzip are not supported, got '%s'", want->options);
    else if (want->options && !read_archive_options(want->options, &strip))
        result = value_diag(
            diags, value_point(where, "options"),
            "'options' accepts '--strip-components=N' and compression options only, got '%s'",
            want->options);
    if (want->clean && want->clean_parent)
        result = value_diag(diags, where, "'clean' and 'clean_parent' are mutually exclusive");
    if (is_archive_remote(want->source) && !want->trust.hash && !want->trust.skip_verify) {
        result = value_diag(diags, where, "an archive from the network requires 'source_hash'");
        diag_hint(diags, "skip_verify: true accepts it without one");
    }
    return result;
}

/* --- arguments --------------------------------------------------------------------------- */

static int find_options(struct state_run *run, const struct extracted_args *want,
                        struct unpack_options *ret, struct err *err)
{
    int64_t strip = want->strip;

    if (want->options)
        (void)read_archive_options(want->options, &strip);
    *ret = (struct unpack_options){
        .name = want->source,
        .format = (enum unpack_format)want->format,
        .strip = (unsigned)strip,
        .password = want->password,
        .uid = FS_KEEP,
        .gid = FS_KEEP,
    };
    if (want->user && attrs_find_user(run, want->user, &ret->uid, err) < 0)
        return -1;
    return want->group ? attrs_find_group(run, want->group, &ret->gid, err) : 0;
}

/* How the archive is identified: by the declared hash, else its own hash, else its source. */
static int find_extract_mark(struct state_run *run, const struct extracted_args *want,
                             struct unpacked_wish *wish, struct err *err)
{
    const struct source_trust trust = { 0 };
    char hex[DIGEST_HEX_MAX];

    wish->mark = want->trust.hash;
    if (wish->mark || is_archive_remote(want->source)) {
        wish->mark = wish->mark ? wish->mark : want->source;
        return 0;
    }
    if (state_source_content(run, want->source, &trust, &wish->archive, err) < 0 ||
        state_source_digest(&wish->archive, digest_find(STR("sha256")), hex, err) < 0)
        return -1;
    wish->at_hand = true;
    wish->mark = arena_printf(run->arena, "sha256=%s", hex);
    return 0;
}

static bool is_following_hash(const struct state_run *run, const struct extracted_args *want)
{
    return param_choose(want->source_hash_update, !run->salt);
}

static int find_wanted_archive(struct state_run *run, const struct extracted_args *want,
                               struct unpacked_wish *ret, struct err *err)
{
    *ret = (struct unpacked_wish){
        .folder = want->name,
        .source = want->source,
        .clean = want->clean_parent || (want->clean && !run->salt),
        .cleans_tops = want->clean && run->salt,
        .makedirs = want->makedirs,
        .one_top = param_choose(want->enforce_toplevel, run->salt),
        .top_is_folder = run->salt,
        .keeps_others = !param_choose(want->force, !run->salt),
        .follows_hash = is_following_hash(run, want),
        .trusts_list = want->skip_list,
    };
    if (find_options(run, want, &ret->options, err) < 0)
        return -1;
    return find_extract_mark(run, want, ret, err);
}

static int get_archive(struct state_run *run, const struct extracted_args *want,
                       struct unpacked_wish *wish, struct err *err)
{
    return wish->at_hand
               ? 0
               : state_source_content(run, want->source, &want->trust, &wish->archive, err);
}

/* Nothing remembers it, but others may have extracted it: compare with the archive itself. */
static int check_unknown(struct state_run *run, const struct extracted_args *want,
                         struct unpacked_wish *wish, struct err *err)
{
    if (get_archive(run, want, wish, err) < 0)
        return -1;
    return unpacked_compare(run, wish, err);
}

static int check_if_missing(struct state_run *run, const struct extracted_args *want,
                            struct err *err)
{
    struct fs_info info;

    if (fs_stat(want->if_missing, &info, err) < 0)
        return -1;
    if (info.kind == FS_NONE)
        state_differs(run, "if_missing path %s does not exist", want->if_missing);
    else
        state_say(run, "if_missing path %s exists; already extracted", want->if_missing);
    return 0;
}

static bool is_archive_needed(const struct state_run *run, const struct extracted_args *want)
{
    return !want->overwrite && (!want->if_missing || run->salt);
}

/* Is it extracted? By its list, or else by the archive itself. */
static int check_extracted(struct state_run *run, const struct extracted_args *want,
                           struct unpacked_wish *wish, struct err *err)
{
    bool known;

    if (want->overwrite) {
        state_differs(run, "%s is extracted every time (overwrite)", want->source);
        return 0;
    }
    if (want->if_missing && !run->salt)
        return check_if_missing(run, want, err);
    if (unpacked_check(run, wish, &known, err) < 0)
        return -1;
    return known ? 0 : check_unknown(run, want, wish, err);
}

/* Whether what is there belongs to the user and group. */
static int check_archive_owner(struct state_run *run, const struct extracted_args *want,
                               const struct unpacked_wish *wish, struct err *err)
{
    return is_archive_needed(run, want) && !run->differs ? ownership_check(run, wish, err) : 0;
}

/* As in Salt, a missing path alone does not extract the archive again, but one that is there ends
 * it. */
static int is_skipped(const struct state_run *run, const struct extracted_args *want, bool *ret,
                      struct err *err)
{
    struct fs_info info;

    *ret = false;
    if (!run->salt || !want->if_missing)
        return 0;
    if (fs_stat(want->if_missing, &info, err) < 0)
        return -1;
    *ret = info.kind != FS_NONE;
    return 0;
}

static int extracted_check(struct state_run *run, const void *args, struct err *err)
{
    const struct extracted_args *want = args;
    struct unpacked_wish wish;
    bool skipped;

    if (is_skipped(run, want, &skipped, err) < 0)
        return -1;
    if (skipped)
        return check_if_missing(run, want, err);
    if (is_archive_needed(run, want) && find_wanted_archive(run, want, &wish, err) < 0)
        return -1;
    if (check_extracted(run, want, &wish, err) < 0)
        return -1;
    return check_archive_owner(run, want, &wish, err);
}

/* `ret_acts`: it is there, and nothing remembers it yet. */
static int is_already_extracted(struct state_run *run, const struct extracted_args *want,
                                struct unpacked_wish *wish, bool *ret, bool *ret_acts,
                                struct err *err)
{
    struct state_run look = *run;
    int result;

    look.differs = look.acts = false;
    look.text = (struct buf)BUF_INIT(run->text.max);
    result = check_extracted(&look, want, wish, err);
    *ret = !look.differs;
    *ret_acts = look.acts;
    buf_done(&look.text);
    return result;
}

/* Existing content is not extracted again, but changes its owner. `wish` NULL: skipped. */
static int apply_owner(struct state_run *run, const struct extracted_args *want,
                       const struct unpacked_wish *wish, struct err *err)
{
    if (wish && is_archive_needed(run, want))
        return ownership_apply(run, wish, err);
    state_unchanged(run);
    return 0;
}

static int extracted_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct extracted_args *want = args;
    struct unpacked_wish wish;
    bool done = true, acts = false, skipped;

    if (is_skipped(run, want, &skipped, err) < 0)
        return -1;
    if (!skipped && is_archive_needed(run, want) && find_wanted_archive(run, want, &wish, err) < 0)
        return -1;
    if (!skipped && is_already_extracted(run, want, &wish, &done, &acts, err) < 0)
        return -1;
    if (done && !acts)
        return apply_owner(run, want, skipped ? NULL : &wish, err);
    if ((!is_archive_needed(run, want) && find_wanted_archive(run, want, &wish, err) < 0) ||
        get_archive(run, want, &wish, err) < 0)
        return -1;
    if (done && unpacked_remember(run, &wish, err) < 0)
        return -1;
    if (done)
        return apply_owner(run, want, &wish, err);
    if (unpacked_apply(run, &wish, err) < 0)
        return -1;
    state_detail(run, "source", "%s", want->source);
    state_detail(run, "target", "%s", want->name);
    return 0;
}

static int extracted_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct extracted_args *want = args;

    return unpacked_revert(run, want->name, err);
}

const struct module module_archive_extracted = {
    .name = "archive.extracted",
    .summary = "extract an archive into a folder",
    .details = "Reads tar, zip, 7z, cpio and rar with any compression. What was extracted is "
               "remembered in the data folder: a path that has gone extracts it again, and so does "
               "another hash with `source_hash_update`. What others have extracted is not "
               "extracted again. A revert removes what was extracted, and restores what it "
               "replaced.",
    .example = "name: /opt/app\nsource: https://example.org/app-1.2.tar.gz\nsource_hash: "
               "sha256=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n",
    .params = extracted_params,
    .flags = MODULE_TREE | MODULE_DRY_REVERT,
    .args_size = sizeof(struct extracted_args),
    .validate = extracted_validate,
    .check = extracted_check,
    .apply = extracted_apply,
    .revert = extracted_revert,
};
