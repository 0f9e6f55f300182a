/* file.decode - writes a file from base64. */
#include "core/base/base64.h"
#include "core/base/err.h"
#include "states/modules/file/desired_file.h"
#include "states/modules/settings/datapath.h"
#include "states/state/module.h"

#define ARGS        struct decode_args
#define DECODED_MAX ((size_t)64 << 20)

struct decode_args {
    const char *name, *peel_settings;
    struct str data;
    bool has_data;
    int type;
};

/* clang-format off */
static const struct param decode_params[] = {
    PARAM("name", PATH, ARGS, name, "the file", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),
    PARAM("encoded_data", TEXT, ARGS, data, "its content, encoded", PARAM_GIVEN(ARGS, has_data)),
    PARAM("contents_pillar", STR, ARGS, peel_settings, "path of the encoded content in the settings", .aliases = "contents_settings"),
    PARAM("encoding_type", CHOICE, ARGS, type, "its encoding", .choices = "base64", .default_text = "base64"),
    PARAM_IDLE("checksum", "ignored: the content is compared"),
    { 0 },
};
/* clang-format on */

static int decode_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct decode_args *want = args;

    if (want->has_data == (want->peel_settings != NULL))
        return value_diag(diags, where, "set either 'encoded_data' or 'contents_pillar'");
    return 0;
}

static int find_encoded_data(struct state_run *run, const struct decode_args *want, struct str *ret,
                             struct err *err)
{
    const struct value *found;

    *ret = want->data;
    if (want->has_data)
        return 0;
    found = datapath_find(state_settings(run), want->peel_settings);
    if (!found || found->kind != VALUE_STR)
        return err_set(err, ERR_NOT_FOUND, "no text '%s' in the settings", want->peel_settings);
    *ret = found->s;
    return 0;
}

static int find_decoded_file(struct state_run *run, const struct decode_args *want,
                             struct desired_file *ret, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(DECODED_MAX);
    struct str text;

    *ret = (struct desired_file){ .path = want->name, .has_content = true };
    if (find_encoded_data(run, want, &text, err) < 0 ||
        attrs_read(run, NULL, NULL, NULL, &ret->attrs, err) < 0)
        return -1;
    if (base64_decode(text, BASE64_STANDARD, &out, err) < 0)
        return err_wrap(err, "decode the content of %s", want->name);
    ret->content = buf_copy(&out, run->arena);
    return 0;
}

static int decode_check(struct state_run *run, const void *args, struct err *err)
{
    struct desired_file wanted;

    return find_decoded_file(run, args, &wanted, err) < 0 ? -1
                                                          : desired_file_check(run, &wanted, err);
}

static int decode_apply(struct state_run *run, const void *args, struct err *err)
{
    enum desired_file_done done;
    struct desired_file wanted;

    if (find_decoded_file(run, args, &wanted, err) < 0 ||
        desired_file_apply(run, &wanted, &done, err) < 0)
        return -1;
    return desired_file_report(run, &wanted, done, err);
}

const struct module module_file_decode = {
    .name = "file.decode",
    .summary = "write a file from base64",
    .example = "name: ROOT/decoded\nencoded_data: aGVsbG8K\n",
    .params = decode_params,
    .args_size = sizeof(struct decode_args),
    .flags = MODULE_WHOLE | MODULE_LOCAL,
    .validate = decode_validate,
    .check = decode_check,
    .apply = decode_apply,
};
