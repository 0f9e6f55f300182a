#include "commands/cli/fleet/backup/backup_key.h"

#include <unistd.h>

#include "commands/cli/shared/terminal.h"
#include "core/base/ed25519.h"
#include "core/base/err.h"
#include "core/sys/fs.h"
#include "fleet/bus/link.h"

/* Only the owner may be able to read what opens a backup. */
static int read_secret_file(struct arena *arena, const char *path, size_t max, struct str *ret,
                            struct err *err)
{
    struct fs_info info;

    if (fs_stat(path, &info, err) < 0 || fs_read(arena, path, max, ret, err) < 0)
        return -1;
    if (!ret->p)
        return err_set(err, ERR_NOT_FOUND, "'%s' does not exist", path);
    if (info.mode & LINK_OTHERS_MODE)
        return err_set(err, ERR_UNSAFE, "others can read '%s'; try 'chmod 600 %s'", path, path);
    return 0;
}

static int read_key_file(const char *path, const struct archive_head *head, unsigned char *ret_key,
                         struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str content;

    if (read_secret_file(&arena, path, BACKUP_KEY_FILE_MAX, &content, err) < 0)
        return -1;
    if (content.n < BACKUP_KEY_FILE_MIN)
        return err_set(err, ERR_INVALID,
                       "'%s' has %zu bytes; a key file needs %d random ones, as from 'head -c %d "
                       "/dev/urandom'",
                       path, content.n, BACKUP_KEY_FILE_MIN, BACKUP_KEY_FILE_MIN);
    secret_stream_key_of_file(content, head->salt, ret_key);
    ed25519_wipe((void *)(uintptr_t)content.p, content.n);
    return 0;
}

static int ask_passphrase(bool is_new, struct buf *out, struct err *err)
{
    AUTO_BUF struct buf again = BUF_INIT(BACKUP_PASSPHRASE_MAX);

    if (!isatty(STDIN_FILENO))
        return err_set(err, ERR_INVALID,
                       "there is no terminal to ask for the passphrase; give --passphrase-file or "
                       "--key-file");
    if (terminal_ask_secret("Passphrase of the backup: ", out, err) < 0)
        return -1;
    if (!is_new)
        return 0;
    if (terminal_ask_secret("The same again: ", &again, err) < 0)
        return -1;
    if (!str_eq(buf_view(out), buf_view(&again)))
        return err_set(err, ERR_INVALID, "the two passphrases differ");
    ed25519_wipe(again.p, again.n);
    return 0;
}

static int read_passphrase(const char *path, bool is_new, struct buf *out, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str content, line;

    if (!path)
        return ask_passphrase(is_new, out, err);
    if (read_secret_file(&arena, path, BACKUP_PASSPHRASE_MAX, &content, err) < 0)
        return -1;
    line = str_line_at(content, 0);
    buf_add_str(out, line);
    ed25519_wipe((void *)(uintptr_t)content.p, content.n);
    return 0;
}

static int derive_key(const char *path, const struct archive_head *head, bool is_new,
                      unsigned char *ret_key, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(BACKUP_PASSPHRASE_MAX);
    int result = read_passphrase(path, is_new, &text, err);

    if (result == 0 && text.n == 0)
        result = err_set(err, ERR_INVALID, "the passphrase is empty");
    if (result == 0 &&
        !secret_stream_key_of_passphrase(buf_view(&text), head->salt, &head->cost, ret_key))
        result = err_set(err, ERR_LIMIT, "no %llu MiB of memory to make a key of the passphrase",
                         (unsigned long long)(head->cost.memory >> 20));
    if (text.p)
        ed25519_wipe(text.p, text.n);
    return result;
}

static int check_key_options(const struct backup_key_options *options, struct err *err)
{
    if (options->passphrase_file && options->key_file)
        return err_set(err, ERR_INVALID, "--passphrase-file and --key-file exclude each other");
    return 0;
}

int backup_key_make(const struct backup_key_options *options, struct archive_head *ret_head,
                    unsigned char ret_key[static SECRET_STREAM_KEY_SIZE], struct err *err)
{
    *ret_head = (struct archive_head){
        .kind = options->key_file ? ARCHIVE_KEY_FILE : ARCHIVE_KEY_PASSPHRASE,
        .cost = { SECRET_STREAM_PASSES, SECRET_STREAM_MEMORY },
    };
    secret_stream_random(ret_head->salt, sizeof(ret_head->salt));
    if (check_key_options(options, err) < 0)
        return -1;
    return options->key_file ? read_key_file(options->key_file, ret_head, ret_key, err)
                             : derive_key(options->passphrase_file, ret_head, true, ret_key, err);
}

int backup_key_find(const struct backup_key_options *options, const struct archive_head *head,
                    unsigned char ret_key[static SECRET_STREAM_KEY_SIZE], struct err *err)
{
    if (check_key_options(options, err) < 0)
        return -1;
    if (head->kind == ARCHIVE_KEY_FILE && !options->key_file)
        return err_set(err, ERR_INVALID, "it is sealed with a key file: give --key-file");
    if (head->kind == ARCHIVE_KEY_PASSPHRASE && options->key_file)
        return err_set(err, ERR_INVALID, "it is sealed with a passphrase, not with a key file");
    return options->key_file ? read_key_file(options->key_file, head, ret_key, err)
                             : derive_key(options->passphrase_file, head, false, ret_key, err);
}
