#include "states/provider/tool_cause.h"

#include "core/base/mem.h"

#define LOCKED                                                                                     \
    "another program is using the package manager; wait until it has ended, or give the state "    \
    "'retry'"
#define NAMELESS                                                                                   \
    "the name of a host cannot be resolved; check the name, the network, and /etc/resolv.conf"
#define UNKNOWN_PACKAGE                                                                            \
    "no repository has such a package; check its name, and refresh the lists ('refresh: true', "   \
    "or pkg.refresh_db)"
#define OFFLINE "the network does not reach that host; check the network and the route"
#define UNTRUSTED                                                                                  \
    "the certificate of the server is not trusted; check the clock, and that ca-certificates is "  \
    "installed"
#define NO_ROOM  "the disk is full; 'df -h' and 'df -i' show where"
#define NO_RIGHT "a right is missing; run this as root, or check the owner and the mode of the path"
#define NO_REPO  "there is no repository, or no right to read it; check the URL"

/* The first one that is found counts: what is special comes before what is general. */
/* clang-format off */
static const struct {
    const char *text, *cause;
} causes[] = {
    /* package managers */
    { "Could not get lock", LOCKED },
    { "Unable to acquire the dpkg frontend lock", LOCKED },
    { "is another process using it", LOCKED },
    { "System management is locked", LOCKED },
    { "nable to lock database", LOCKED },
    { "dpkg was interrupted", "an earlier installation was interrupted; run 'dpkg --configure -a'" },
    { "Unable to locate package", UNKNOWN_PACKAGE },
    { "has no installation candidate", UNKNOWN_PACKAGE },
    { "No match for argument", UNKNOWN_PACKAGE },
    { "Unable to find a match", UNKNOWN_PACKAGE },
    { "target not found", UNKNOWN_PACKAGE },
    { "404  Not Found", "the lists of packages are older than the repository; refresh them ('refresh: true', or pkg.refresh_db)" },
    { "unmet dependencies", "the dependencies of packages contradict each other; 'apt-get -f install' shows which" },
    { "held broken packages", "the dependencies of packages contradict each other, or some are held ('apt-mark showhold')" },
    { "NO_PUBKEY", "the key of a repository is missing; give pkgrepo.managed a 'key_url'" },
    { "is not signed", "a repository is not signed; check its URL, and the key in pkgrepo.managed" },
    /* git and ssh */
    { "Host key verification failed", "the key of the host is not known; declare it with ssh_known_hosts.present" },
    { "Permission denied (publickey", "the server accepts no key of this user; give 'identity', and check the key there" },
    { "could not read Username", "the server requires a login; give 'https_user' and 'https_pass'" },
    { "Authentication failed", "the server refuses the login; check user and password" },
    { "does not appear to be a git repository", NO_REPO },
    { "epository not found", NO_REPO },
    { "fatal: repository '", NO_REPO },
    /* the network */
    { "Temporary failure in name resolution", NAMELESS },
    { "Temporary failure resolving", NAMELESS },
    { "Could not resolve", NAMELESS },
    { "Name or service not known", NAMELESS },
    { "Network is unreachable", OFFLINE },
    { "No route to host", OFFLINE },
    { "Connection timed out", "the host does not answer; check the address, and firewalls on the way" },
    { "Connection refused", "nothing listens at that address; check host and port, and that the server runs" },
    { "certificate verif", UNTRUSTED },
    { "certificate problem", UNTRUSTED },
    /* accounts and mounts */
    { "is currently used by process", "processes of the account are running; end them first" },
    { "cannot lock /etc/", "another program is changing accounts; wait until it has ended, or give the state 'retry'" },
    { "wrong fs type", "the device has no file system of this type, or its mount helper is missing; 'blkid' shows the type" },
    { "unknown filesystem type", "the kernel does not know this type of file system; check 'fstype', and that its packages are installed" },
    { "special device", "there is no such device; 'lsblk' lists those that there are" },
    { "target is busy", "something is using the file system; 'fuser -vm PATH' shows what" },
    /* the machine */
    { "No space left on device", NO_ROOM },
    { "Disk quota exceeded", "the quota of the user is used up; 'quota -s' shows it" },
    { "Read-only file system", "the file system is read-only; 'findmnt --target PATH' and 'dmesg' show why" },
    { "Cannot allocate memory", "there is no memory left; 'free -h' shows it" },
    { "Permission denied", NO_RIGHT },
    { "Operation not permitted", NO_RIGHT },
    { "are you root", NO_RIGHT },
};
/* clang-format on */

const char *tool_cause(struct str output)
{
    for (size_t i = 0; i < ARRAY_LEN(causes); i++)
        if (str_find(output, str_from(causes[i].text), 0) != STR_NONE)
            return causes[i].cause;
    return NULL;
}
