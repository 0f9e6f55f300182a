#include "states/provider/package/armor.h"

#include "core/base/arena.h"
#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/err.h"

#define BEGIN "-----BEGIN PGP "
#define END   "-----END PGP "

bool armor_is(struct str text)
{
    return str_starts(str_trim_left(text), STR(BEGIN));
}

/* The base64 of a block, without its headers and the optional checksum. */
static int read_armor_block(struct str *text, struct buf *letters, struct err *err)
{
    bool body = false;

    while (text->p) {
        const struct str line = str_trim(str_cut(text, '\n'));

        if (str_starts(line, STR(END)))
            return 0;
        if (line.n == 0)
            body = true;
        else if (body && line.p[0] != '=')
            buf_add_str(letters, line);
    }
    return err_set(err, ERR_INVALID, "a key has no line '" END "...'");
}

int armor_decode(struct arena *arena, struct str text, struct str *ret_bytes, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);

    while (text.p) {
        AUTO_BUF struct buf letters = BUF_INIT(BUF_NO_LIMIT);

        if (!str_starts(str_trim(str_cut(&text, '\n')), STR(BEGIN)))
            continue;
        if (read_armor_block(&text, &letters, err) < 0)
            return -1;
        if (base64_decode(buf_view(&letters), BASE64_STANDARD, &bytes, err) < 0)
            return err_wrap(err, "an armored key");
    }
    *ret_bytes = buf_copy(&bytes, arena);
    return 0;
}
